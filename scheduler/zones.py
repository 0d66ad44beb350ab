"""Time zones, and conversion from local to absolute time.

Local time skips an hour in spring and repeats one in autumn. A skipped time is read with the old offset (02:30 becomes
03:30), and of a repeated one the first is taken: the rule of RFC 5545, 3.3.5.
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
    """The zone of an IANA name such as "Europe/Vienna". Raises Refused, suggesting a similar name."""
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
    """The name of this machine's zone; UTC if it has no known name."""
    try:
        name = get_localzone_name() or "UTC"  # None without any file that names one, as in a slim container
        zone_of(name)
    except (ZoneInfoNotFoundError, LookupError, ValueError, OSError, Refused):
        return "UTC"
    return "UTC" if name == "Etc/UTC" else str(name)


def instant(wall: datetime, zone: tzinfo) -> datetime:
    """The UTC time of a naive local time in the zone."""
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
