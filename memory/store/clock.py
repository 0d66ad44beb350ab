"""Time, injected: whoever needs it takes a `Clock`, so that tests move it."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeAlias

Clock: TypeAlias = Callable[[], datetime]
"""Gives the present moment, aware, in UTC."""


def utc_now() -> datetime:
    return datetime.now(tz=UTC)


@lru_cache(maxsize=256)  # a unit of work writes its moment into every row
def to_text(moment: datetime) -> str:
    """As stored: ISO 8601 in UTC with milliseconds and a Z; sorts as text."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def from_text(text: str) -> datetime:
    """Back from `to_text`."""
    return datetime.fromisoformat(text)
