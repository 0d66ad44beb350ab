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
    """An earlier line."""

    speaker: str
    text: str


class Listening(Event, frozen=True):
    """The following events are live."""


class Stream(Event, frozen=True):
    """The answer as written so far."""

    text: str


class Idle(Event, frozen=True):
    """A turn has ended, and its whole answer was shown."""


ChatEvent: TypeAlias = Shown | PersonLine | History | Listening | Stream | Idle


class LineResult(Struct, frozen=True, omit_defaults=True):
    """The result of a line: an `answer` without an agent, if not empty; if it was `refused`, the reason."""

    id: str
    answer: str = ""
    refused: bool = False
