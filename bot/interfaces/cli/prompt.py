"""What a line means that is typed in a chat: something to say, or a command of the chat itself.

A command is a slash and a word, alone or with something after a space. Everything else is said: `/ …`, `//`, a path
with a second slash, and every line that begins with a space.
"""

import difflib
import re
from dataclasses import dataclass
from typing import TypeAlias

HELP = """\
/help                                what can be typed here
/why                                 what the last answer was made from
/approve REQUEST [once|hour|always]  let an agent do what it asks to do
/deny REQUEST                        refuse it
/quit or /exit                       end the chat, as Ctrl-D does
Everything else is said. To say a line that begins with a slash and another word, put a space before it."""

_COMMAND = re.compile(r"/(?P<word>[^\W\d_][\w-]*)(?P<rest>\s.*)?", re.DOTALL)
_ALONE = ("help", "why", "quit", "exit")
_WITH_REQUEST = ("approve", "deny")


@dataclass(frozen=True)
class Say:
    """To be passed on; a command that the service understands is spelled as it knows it."""

    text: str


@dataclass(frozen=True)
class Refused:
    """No command, though it looks like one; the words say what to type instead."""

    words: str


class Help:
    """What can be typed is to be listed."""


class Quit:
    """The chat ends."""


Typed: TypeAlias = Say | Refused | Help | Quit


def understood(line: str) -> Typed:
    """What a line means."""
    found = _COMMAND.fullmatch(line.rstrip())
    if found is None:
        return Say(line)
    word, rest = found["word"].casefold(), found["rest"] or ""
    if word in _WITH_REQUEST:
        return Say(f"/{word}{rest}")
    if word not in _ALONE:
        return Refused(_unknown(word))
    if rest:
        return Refused(f"/{word} stands alone: nothing comes after it.")
    match word:
        case "help":
            return Help()
        case "why":
            return Say("/why")
        case _:
            return Quit()


def _unknown(word: str) -> str:
    near = difflib.get_close_matches(word, (*_ALONE, *_WITH_REQUEST), n=1)
    meant = f"did you mean /{near[0]}? " if near else ""
    return (
        f"There is no /{word} in this chat: {meant}/help lists what there is. To say the line as it is, put a space "
        "before it."
    )
