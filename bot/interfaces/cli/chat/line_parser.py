"""What a line typed in the terminal chat means: a message, a command, or the chat's own help and end."""

import difflib
import re
from collections.abc import Collection
from typing import TypeAlias

from msgspec import Struct

from bot.interfaces.command_headings import HEADINGS
from texts import _, gettext_noop

_OWN = (("/help", gettext_noop("show this help")), ("/quit, /exit", gettext_noop("end the chat (also Ctrl-D)")))
"""The chat's own commands."""

_COMMAND = re.compile(r"/(?P<word>[^\W\d_][\w-]*)(?P<rest>\s.*)?", re.DOTALL)
ALONE = ("help", "quit", "exit")


def own_help() -> str:
    width = max(len(typed) for typed, _does in _OWN) + 2
    rest = _("Everything else is sent to the agent. To send a line that begins with a slash, put a space before it.")
    return "\n".join([*(f"{typed:<{width}}{_(does)}" for typed, does in _OWN), rest])


class TextLine(Struct, frozen=True):
    """A message."""

    text: str


class UnknownCommand(Struct, frozen=True):
    """An unknown command; the words say what to type instead."""

    words: str


class Command(Struct, frozen=True):
    """A command of the command line, without its slash."""

    words: str


class Help:
    """Show what can be typed."""


class Quit:
    """End the chat."""


class Clear:
    """Clear the screen."""


Typed: TypeAlias = TextLine | UnknownCommand | Command | Help | Quit | Clear
_BARE: dict[str, type[Quit | Clear]] = {"exit": Quit, "quit": Quit, "clear": Clear, "cls": Clear}
"""Command words of shells, which also work in a chat."""


def parse_line(line: str, commands: Collection[str] = ()) -> Typed:
    """The meaning of a line. With `commands`, these work after a slash, and "exit" and "clear" work without one."""
    if commands and (meant := _BARE.get(line.strip().casefold())):
        return meant()
    found = _COMMAND.fullmatch(line.rstrip())
    if found is None:
        return TextLine(line)
    word, rest = found["word"].casefold(), found["rest"] or ""
    if word not in ALONE:
        return Command(word + rest) if word in commands else UnknownCommand(_unknown(word, commands))
    if word == "help" and commands and (about := rest.strip().removeprefix("/")):
        first = about.split()[0]
        return Command(f"{about} --help") if first in commands else UnknownCommand(_unknown(first, commands))
    if word == "help":
        return Help()
    return UnknownCommand(_("/{word} takes no arguments.", word=word)) if rest else Quit()


def _unknown(word: str, commands: Collection[str]) -> str:
    if not commands and any(word in names for names in HEADINGS.values()):
        return _("/{word} works only in a chat at a terminal. Outside of a chat, use `carina {word}`.", word=word)
    names = (*ALONE, *commands)
    begun = [each for each in names if each.startswith(word)]
    near = begun or difflib.get_close_matches(word, names, n=1)
    meant = _(" Did you mean {meant}?", meant=f"/{near[0]}") if near else ""
    return _(
        "There is no /{word} in this chat.{meant} /help lists the commands. To send the line as "
        "it is, put a space before it.",
        word=word,
        meant=meant,
    )


def help_text(commands: Collection[str], hint: str) -> str:
    """Help for a chat with commands: the chat's own, then the others by name."""
    *own, end = own_help().splitlines()
    kinds = ((_(kind), [f"/{each}" for each in names if each in commands]) for kind, names in HEADINGS.items())
    every = "\n".join(f"{kind}: {'  '.join(names)}" for kind, names in kinds if names)
    keys = _(
        "Alt-Enter starts a new line, Tab completes, the arrow keys recall earlier lines, and Ctrl-C stops an answer."
    )
    return "\n".join(filter(None, (*own, every, _("/help COMMAND explains a command."), keys, end, hint)))
