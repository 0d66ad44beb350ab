"""Times as commands take them, such as `8h` or `2026-11-22 03:00`; `parser.py` reads those that people say."""

import re
from datetime import UTC, datetime, timedelta, tzinfo

from scheduler.zones import instant
from texts import gettext_noop

MOMENTS = gettext_noop("a day such as 2026-11-22, a time such as 2026-11-22 03:00, or an age such as 8h, 2d or 30m")
"""What `moment_said` accepts."""
_AGO = re.compile(r"(\d{1,5})\s*(m|h|d)")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def moment_said(text: str, now: datetime, zone: tzinfo) -> datetime | None:
    """The time that a text names (`MOMENTS`), in the zone; for a day, its beginning. None if it is not a time."""
    said = text.strip()
    try:
        if ago := _AGO.fullmatch(said.lower()):
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        moment = datetime.fromisoformat(said)
        return moment.astimezone(UTC) if moment.tzinfo else instant(moment, zone)
    except (ValueError, OverflowError):
        return None
