"""Injected time: whoever needs the time takes a `Clock`, so that tests can set it."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeAlias

Clock: TypeAlias = Callable[[], datetime]
"""Returns the current time, timezone-aware, in UTC."""


def utc_now() -> datetime:
    return datetime.now(tz=UTC)


@lru_cache(maxsize=256)  # a unit of work writes its time into every row
def to_text(moment: datetime) -> str:
    """The stored form: ISO 8601 in UTC with milliseconds and a Z; sorts as text."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


from_text = datetime.fromisoformat
"""The inverse of `to_text`."""
