"""Time zones, and moments named by a wall clock.

A wall clock skips an hour in spring and repeats one in autumn. A time that is skipped is taken as if the clock had
not been moved yet (02:30 becomes 03:30), one that occurs twice is the first of the two: the rule of RFC 5545, 3.3.5.
"""

import difflib
import functools
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from tzlocal import get_localzone_name

from memory.store.errors import Refused
from texts import _


@functools.lru_cache(maxsize=256)
def zone_of(name: str) -> tzinfo:
    """The zone of an IANA name such as "Europe/Vienna". Raises Refused, with a name that may be meant."""
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    near = difflib.get_close_matches(name.casefold(), [each.casefold() for each in available_timezones()], n=1)
    meant = [each for each in available_timezones() if near and each.casefold() == near[0]]
    hint = _(" Did you mean {meant}?", meant=meant[0]) if meant else ""
    raise Refused(
        'There is no time zone "{name}". Use a name like Europe/Vienna, America/New_York or UTC.{hint}',
        name=name[:60],
        hint=hint,
    )


def local_zone() -> str:
    """The name of this machine's zone; UTC where it has no name that is known."""
    try:
        name = get_localzone_name()
        zone_of(name)
    except (ZoneInfoNotFoundError, LookupError, ValueError, OSError, Refused):
        return "UTC"
    return "UTC" if name == "Etc/UTC" else str(name)


def instant(wall: datetime, zone: tzinfo) -> datetime:
    """The moment, in UTC, at which clocks in the zone show this; `wall` is naive."""
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
