"""What a line means that is typed in a chat: something to say, or a command of the chat itself.

A command is a slash and a word, alone or with something after a space. Everything else is said: `/ …`, `//`, a path
with a second slash, and every line that begins with a space.
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
ALONE = ("help", "why", "quit", "exit")
WITH_REQUEST = ("approve", "deny")
_LEAVING = ("exit", "quit")


def own_help() -> str:
    width = max(len(typed) for typed, _does in _OWN) + 2
    rest = _("Everything else is sent to the agent. To send a line that begins with a slash, put a space before it.")
    return "\n".join([*(f"{typed:<{width}}{_(does)}" for typed, does in _OWN), rest])


@dataclass(frozen=True)
class Say:
    """To be passed on; a command that the service understands is spelled as it knows it."""

    text: str


@dataclass(frozen=True)
class Refused:
    """No command, though it looks like one; the words say what to type instead."""

    words: str


@dataclass(frozen=True)
class Command:
    """A command of the command line, without its slash."""

    words: str


class Help:
    """What can be typed is to be listed."""


class Quit:
    """The chat ends."""


Typed: TypeAlias = Say | Refused | Command | Help | Quit


def understood(line: str, commands: Collection[str] = ()) -> Typed:
    """What a line means. With `commands`, these can be typed with a slash, and "exit" and "quit" leave without one."""
    if commands and line.strip().casefold() in _LEAVING:
        return Quit()
    found = _COMMAND.fullmatch(line.rstrip())
    if found is None:
        return Say(line)
    word, rest = found["word"].casefold(), found["rest"] or ""
    if word in WITH_REQUEST:
        return Say(f"/{word}{rest}")
    if word not in ALONE:
        return Command(word + rest) if word in commands else Refused(_unknown(word, commands))
    if rest:
        return Refused(_("/{word} takes no arguments.", word=word))
    match word:
        case "help":
            return Help()
        case "why":
            return Say("/why")
        case _:
            return Quit()


def _unknown(word: str, commands: Collection[str]) -> str:
    near = difflib.get_close_matches(word, (*ALONE, *WITH_REQUEST, *commands), n=1)
    meant = _("Did you mean /{near}? ", near=near[0]) if near else ""
    return _(
        "There is no /{word} in this chat. {meant}/help lists the commands. To send the line as "
        "it is, put a space before it.",
        word=word,
        meant=meant,
    )


def help_text(commands: Collection[str], hint: str) -> str:
    """What can be typed where commands can be: the chat's own, then the rest by name."""
    *own, end = own_help().splitlines()
    every = "  ".join(f"/{each}" for each in sorted({*commands} - {*ALONE, *WITH_REQUEST}))
    keys = _(
        "Alt-Enter starts a new line, Tab completes, the arrow keys recall earlier lines, and Ctrl-C stops an answer."
    )
    return "\n".join(filter(None, (*own, every, _("/COMMAND --help explains a command."), keys, end, hint)))
