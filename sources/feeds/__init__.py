"""Feeds, calendars and folders as data sources: their items. Read-only."""

from dataclasses import dataclass
from datetime import datetime

from texts import TextError


@dataclass(frozen=True)
class Item:
    """An item of a source. It is news if its key is new, or if its `mark` has changed."""

    key: str
    mark: str
    title: str
    text: str = ""
    link: str = ""
    at: datetime | None = None


class SourceUnreadable(TextError):
    """A source cannot be read as its kind; the text says why."""
