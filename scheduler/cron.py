"""Crontab lines as in crontab(5): five fields, 0 and 7 are Sunday; if day and weekday are both given, one is enough.

`scheduler.triggers.next_run` has the next time of every kind of rule.

We parse crontab lines ourselves, since APScheduler takes 0 as Monday, fires 02:30 twice in the night in which clocks go
back, and does not know `@daily`. At a change of clocks, fixed hours happen once (`zones.instant`), and `*` hours follow
elapsed time.
"""

import functools
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from msgspec import Struct

from memory.store.errors import Refused
from scheduler.zones import instant, zone_of
from texts import gettext_lazy, gettext_noop

_NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES.split(), 1)}
_DAY_NAMES = "sun mon tue wed thu fri sat"
_WEEKDAYS = {name: number for number, name in enumerate(_DAY_NAMES.split())}
_PART = re.compile(r"(?:(\*)|([a-z]{3}|\d{1,2})(?:-([a-z]{3}|\d{1,2}))?)(?:/(\d{1,2}))?")
_LONGEST_DAYS = 8 * 366 + 2
"""Around 2100, two consecutive 29 Februaries are eight years apart."""


class _Field(Struct, frozen=True):
    """One field: its name, its limits, and names for numbers."""

    name: str
    least: int
    most: int
    names: dict[str, int]

    def numbers(self, text: str) -> frozenset[int]:
        found: set[int] = set()
        for part in text.split(","):
            found.update(self._part(part))
        return frozenset(found)

    def _part(self, part: str) -> range:
        match = _PART.fullmatch(part)
        every, first, last, step = match.groups() if match else ("", "", None, None)
        low = self.least if every else self._number(first)
        high = self.most if every or (step and last is None) else self._number(last or first)
        if low < self.least or not low <= high <= self.most or int(step or 1) == 0:
            raise Refused(
                "“{part}” cannot be the {name} of a cron expression: use {least} to {most}, as in 5, 1-5, */10 or 1,15",
                part=part[:20],
                name=gettext_lazy(self.name),
                least=self.least,
                most=self.most,
            )
        return range(low, high + 1, int(step or 1))

    def _number(self, text: str) -> int:
        return self.names.get(text, int(text) if text.isdigit() else -1)


_FIELDS = (
    _Field(gettext_noop("minute"), 0, 59, {}),
    _Field(gettext_noop("hour"), 0, 23, {}),
    _Field(gettext_noop("day of the month"), 1, 31, {}),
    _Field(gettext_noop("month"), 1, 12, _MONTHS),
    _Field(gettext_noop("day of the week"), 0, 7, _WEEKDAYS),
)


class Crontab(Struct, frozen=True):
    """A line in a time zone. `either`: day and weekday are both restricted, and one of them is enough."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool
    zone: tzinfo

    def on(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return of_month or of_week if self.either else of_month and of_week

    def following(self, after: datetime) -> datetime | None:
        """The first time after `after`, in UTC; None if there is none within eight years."""
        by_elapsed = len(self.hours) == 24
        return next((each for each in (self._elapsed(after) if by_elapsed else self._fixed(after))), None)

    def _fixed(self, after: datetime) -> Iterator[datetime]:
        first = after.astimezone(self.zone).date() - timedelta(days=1)  # its last hour may have been moved into today
        for offset in range(_LONGEST_DAYS):
            day = first + timedelta(days=offset)
            if self.on(day):
                walls = (datetime.combine(day, time(hour, minute)) for hour in self.hours for minute in self.minutes)
                yield from sorted({moment for wall in walls if (moment := instant(wall, self.zone)) > after})

    def _elapsed(self, after: datetime) -> Iterator[datetime]:
        """Every hour, in elapsed time, so that an hour that clocks repeat is no gap."""
        moment = after.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        end = moment + timedelta(days=_LONGEST_DAYS)
        while moment < end:
            local = moment.astimezone(self.zone)
            if not self.on(local.date()):
                tomorrow = datetime.combine(local.date() + timedelta(days=1), time())
                moment = max(instant(tomorrow, self.zone), moment + timedelta(minutes=1))
                continue
            if local.minute in self.minutes:
                yield moment
            moment += timedelta(minutes=1)


@functools.lru_cache(maxsize=1024)
def read_crontab(line: str, zone: str) -> Crontab:
    """Parse a line such as "0 9 * * 1-5". Raises Refused for an invalid one, and for one that never fires."""
    text = " ".join(line.casefold().split())
    fields = _NAMED.get(text, text).split(" ")
    if len(fields) != len(_FIELDS) or len(text) > 200:
        raise Refused(
            "“{line}” is not a cron expression: it needs five fields for minute, hour, day, month and weekday (0 is "
            'Sunday), such as "0 9 * * 1-5" for 9:00 on weekdays',
            line=line[:60],
        )
    minutes, hours, days, months, weekdays = (field.numbers(part) for field, part in zip(_FIELDS, fields, strict=True))
    made = Crontab(
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        either=not fields[2].startswith("*") and not fields[4].startswith("*"),
        zone=zone_of(zone),
    )
    if not any(made.on(date(2096, 1, 1) + timedelta(days=offset)) for offset in range(_LONGEST_DAYS)):
        raise Refused("“{line}” never comes due: none of its months has such a day", line=line[:60])
    return made
