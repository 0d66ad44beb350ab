"""Feeds, calendars and folders, of which agents can be told: what each has. Reading alone."""

from dataclasses import dataclass
from datetime import datetime

from texts import TextError


@dataclass(frozen=True)
class Item:
    """Something that a source has. It is news when its key is new, or looks otherwise than its `mark` said."""

    key: str
    mark: str
    title: str
    text: str = ""
    link: str = ""
    at: datetime | None = None


class SourceUnreadable(TextError):
    """A source cannot be read as what it is said to be; the text says why."""
