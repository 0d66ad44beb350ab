"""Time zones, conversion from local to absolute time, and quiet hours.

Local time skips an hour in spring and repeats one in autumn. A skipped time is read with the old offset (02:30 becomes
03:30), and of a repeated one the first is taken: the rule of RFC 5545, 3.3.5.
"""

import difflib
import functools
from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from msgspec import Struct
from tzlocal import get_localzone_name

from memory.store.errors import Refused
from texts import _


@functools.lru_cache(maxsize=256)
def zone_of(name: str) -> tzinfo:
    """The zone of an IANA name such as "Europe/Vienna". Raises Refused, suggesting one for a city or a similar name."""
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    wanted, known = name.casefold().replace(" ", "_"), {each.casefold(): each for each in sorted(available_timezones())}
    cities = [each for each in known if each.rpartition("/")[2] == wanted]
    near = cities or difflib.get_close_matches(wanted, known, n=1, cutoff=0.8)
    hint = _(" Did you mean {meant}?", meant=known[near[0]]) if near else ""
    raise Refused(
        "There is no time zone “{name}”. Use a name like Europe/Vienna, America/New_York or UTC.{hint}",
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


class Quiet(Struct, frozen=True):
    """Daily hours in a time zone in which somebody is not disturbed; they may pass midnight."""

    begin: time
    end: time
    zone: str

    def until(self, moment: datetime) -> datetime | None:
        """The end of the quiet hours that contain this time; None if it is not quiet."""
        zone = zone_of(self.zone)
        local = moment.astimezone(zone)
        clock = local.time()
        if self.begin == self.end:
            return None
        over_midnight = self.begin > self.end
        within = clock >= self.begin or clock < self.end if over_midnight else self.begin <= clock < self.end
        if not within:
            return None
        tomorrow = over_midnight and clock >= self.begin
        day = local.date() + timedelta(days=1) if tomorrow else local.date()
        end = instant(datetime.combine(day, self.end), zone)
        return end if end > moment else moment + timedelta(minutes=1)  # clocks repeat this hour: try the next minute
