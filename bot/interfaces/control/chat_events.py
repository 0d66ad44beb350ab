"""Events of a chat at the terminal; over the control socket as JSON with the name of the class as "kind"."""

from typing import TypeAlias

from msgspec import Struct

from sources.terminal import Shown


class Event(Struct, frozen=True, tag=True, tag_field="kind"):
    pass


class PersonLine(Event, frozen=True):
    """One of the person's last messages."""

    text: str


class History(Event, frozen=True):
    """A line from before."""

    speaker: str
    text: str


class Listening(Event, frozen=True):
    """From here on it is live."""


class Stream(Event, frozen=True):
    """An answer as far as it is written."""

    text: str


class Idle(Event, frozen=True):
    """A turn has ended, and all it said was shown."""


ChatEvent: TypeAlias = Shown | PersonLine | History | Listening | Stream | Idle


class LineResult(Struct, frozen=True, omit_defaults=True):
    """What came of a line: an `answer` without an agent, unless it is empty; if it was `refused`, why."""

    id: str
    answer: str = ""
    refused: bool = False
