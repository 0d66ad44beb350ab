"""The meaning of a line that is typed in a chat: a message, or a command of the chat itself.

A command is a slash and a word, alone or with something after a space. Everything else is a message: `/ …`, `//`, a
path with a second slash, and every line that begins with a space.
"""

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias

from texts import _, gettext_noop

_OWN = (
    ("/help", gettext_noop("show this help")),
    ("/why", gettext_noop("show what the last answer was based on")),
    ("/approve REQUEST [once|hour|always]", gettext_noop("allow what an agent asks for")),
    ("/deny REQUEST", gettext_noop("deny what an agent asks for")),
    ("/quit, /exit", gettext_noop("end the chat (also Ctrl-D)")),
)
"""The chat's own commands."""

_COMMAND = re.compile(r"/(?P<word>[^\W\d_][\w-]*)(?P<rest>\s.*)?", re.DOTALL)
ALONE = ("help", "quit", "exit")
SERVED = ("why", "approve", "deny")
"""What the service understands (`bot.interfaces.chat.Chat.say`)."""


def own_help() -> str:
    width = max(len(typed) for typed, _does in _OWN) + 2
    rest = _("Everything else is sent to the agent. To send a line that begins with a slash, put a space before it.")
    return "\n".join([*(f"{typed:<{width}}{_(does)}" for typed, does in _OWN), rest])


@dataclass(frozen=True)
class Say:
    """A message, or a command that the service understands, in its spelling."""

    text: str


@dataclass(frozen=True)
class Refused:
    """An unknown command; the words say what to type instead."""

    words: str


@dataclass(frozen=True)
class Command:
    """A command of the command line, without its slash."""

    words: str


class Help:
    """Show what can be typed."""


class Quit:
    """End the chat."""


class Clear:
    """Clear the screen."""


Typed: TypeAlias = Say | Refused | Command | Help | Quit | Clear
_BARE: dict[str, type[Quit | Clear]] = {"exit": Quit, "quit": Quit, "clear": Clear, "cls": Clear}
"""Words that a shell understands, and so does a person's chat."""


def understood(line: str, commands: Collection[str] = ()) -> Typed:
    """The meaning of a line. With `commands`, these work after a slash, and "exit" and "clear" work without one."""
    if commands and (meant := _BARE.get(line.strip().casefold())):
        return meant()
    found = _COMMAND.fullmatch(line.rstrip())
    if found is None:
        return Say(line)
    word, rest = found["word"].casefold(), found["rest"] or ""
    if word in SERVED:
        return Say(f"/{word}{rest}")
    if word not in ALONE:
        return Command(word + rest) if word in commands else Refused(_unknown(word, commands))
    if rest:
        return Refused(_("/{word} takes no arguments.", word=word))
    return Help() if word == "help" else Quit()


def _unknown(word: str, commands: Collection[str]) -> str:
    near = difflib.get_close_matches(word, (*ALONE, *SERVED, *commands), n=1)
    meant = _("Did you mean /{near}? ", near=near[0]) if near else ""
    return _(
        "There is no /{word} in this chat. {meant}/help lists the commands. To send the line as "
        "it is, put a space before it.",
        word=word,
        meant=meant,
    )


def help_text(commands: Collection[str], hint: str) -> str:
    """Help for a chat with commands: the chat's own, then the others by name."""
    *own, end = own_help().splitlines()
    every = "  ".join(f"/{each}" for each in sorted({*commands} - {*ALONE, *SERVED}))
    keys = _(
        "Alt-Enter starts a new line, Tab completes, the arrow keys recall earlier lines, and Ctrl-C stops an answer."
    )
    return "\n".join(filter(None, (*own, every, _("/COMMAND --help explains a command."), keys, end, hint)))
