"""RFC 5545 rules by python-dateutil, with a bounded run time for every rule.

The library checks a rule's end only at an occurrence, so it searches until the year 9999 for a rule that has none.
Therefore parts that only exclude dates are removed from the rule and applied here, if it repeats by weeks or shorter;
months and years are computed 7,600 years ahead, where the calendar is the same (it repeats every 400) and the library's
own end is near.
"""

import calendar
import importlib
import itertools
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from memory.store.errors import Refused
from scheduler.zones import zone_of

_LONGEST = 300  # characters
_MOST_LISTED = 24  # numbers in one part of a rule
_MOST_LOOKED_AT = 100_000  # occurrences of one rule, from its beginning
_CALENDARS = 19 * 400  # years
_FIRST_YEAR, _LAST_YEAR = 1900, 2200
_PERIODS = {"HOURLY": timedelta(hours=1), "DAILY": timedelta(days=1), "WEEKLY": timedelta(weeks=1)}
_HORIZONS = {"HOURLY": timedelta(days=366), "DAILY": timedelta(days=3_660), "WEEKLY": timedelta(days=3_660)}
_FAR = timedelta(days=36_600)  # for monthly and yearly rules
_ALWAYS = "FREQ INTERVAL COUNT UNTIL WKST BYDAY BYMONTH BYHOUR BYMINUTE"
_PARTS = {
    "HOURLY": f"{_ALWAYS} BYMONTHDAY",
    "DAILY": f"{_ALWAYS} BYMONTHDAY",
    "WEEKLY": _ALWAYS,
    "MONTHLY": f"{_ALWAYS} BYMONTHDAY BYSETPOS",
    "YEARLY": f"{_ALWAYS} BYMONTHDAY BYSETPOS BYYEARDAY BYWEEKNO",
}
_LIMITS = {
    "HOURLY": ("BYMONTH", "BYMONTHDAY", "BYDAY", "BYHOUR"),
    "DAILY": ("BYMONTH", "BYMONTHDAY", "BYDAY"),
    "WEEKLY": ("BYMONTH",),
}
_DAYS = "MO TU WE TH FR SA SU"
_ANY_DAY = datetime.fromisoformat("2026-01-01T09:00")


class Rule(Struct, frozen=True):
    """A checked rule from `start` on; all times are naive, local to the zone."""

    text: str
    start: datetime
    zone: str

    def walls(self, since: datetime) -> Iterator[datetime]:
        """Its times from `since` on, within a limit: a year for hourly rules, ten for daily ones, else a hundred."""
        parts = _parts(self.text)
        frequency, count = parts["FREQ"], int(parts.pop("COUNT", 0))
        until, limits = _until(parts.pop("UNTIL", ""), self.zone), _limits(parts)
        start = self.start if count else _forwarded(self.start, parts, since)
        if not _FIRST_YEAR <= start.year <= _LAST_YEAR:
            raise Refused(
                "a recurrence rule must begin between {first_year} and {last_year}",
                first_year=_FIRST_YEAR,
                last_year=_LAST_YEAR,
            )
        end = max(since, start) + _HORIZONS.get(frequency, _FAR)
        end = end if until is None else min(end, until)
        found = (wall for wall in _expanded(parts, start, end) if limits.allow(wall))
        for wall in itertools.islice(found, count or _MOST_LOOKED_AT):
            if wall >= since:
                yield wall


def check_rule(text: str) -> None:
    """Raise Refused with a message for an invalid or unsupported rule."""
    if len(text) > _LONGEST or not re.fullmatch(r"[A-Z]+=[A-Z0-9,+-]+(;[A-Z]+=[A-Z0-9,+-]+)*", text.upper()):
        raise Refused("“{text}” is not a recurrence rule, such as FREQ=WEEKLY;BYDAY=MO,WE", text=text[:60])
    parts = _parts(text)
    known = _PARTS.get(parts.get("FREQ", ""), "")
    if not known:
        raise Refused("a recurrence rule needs FREQ=HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY")
    if unknown := sorted(set(parts) - set(known.split())):
        raise Refused(
            "a recurrence rule with FREQ={freq} cannot have {unknown} here", freq=parts["FREQ"], unknown=unknown[0]
        )
    if any(value.count(",") >= _MOST_LISTED for value in parts.values()):
        raise Refused("a recurrence rule can list at most {most_listed} values of each kind", most_listed=_MOST_LISTED)
    if "," in parts.get("BYMINUTE", "") and parts["FREQ"] == "HOURLY":
        raise Refused("an hourly recurrence rule can have only one minute")
    try:
        if int(parts.get("INTERVAL", 1)) < 1 or int(parts.get("COUNT", 1)) < 1:
            raise Refused("the interval and count of a recurrence rule must be at least 1")
        next(Rule(text, _ANY_DAY, "UTC").walls(_ANY_DAY), None)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise Refused("“{text}” is not a recurrence rule: {error}", text=text[:60], error=error) from error


def _parts(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.upper().split(";"))


def _until(text: str, zone: str) -> datetime | None:
    """A rule's own end in local time; one with a Z is in UTC."""
    if not text:
        return None
    found = re.fullmatch(r"(\d{8})(?:T(\d{6})(Z?))?", text)
    if found is None:
        raise Refused(
            "“{text}” cannot be the end of a rule: write it like 20261231 or 20261231T180000Z", text=text[:40]
        )
    end = datetime.fromisoformat(f"{found[1]}T{found[2] or '235959'}")
    return end.replace(tzinfo=UTC).astimezone(zone_of(zone)).replace(tzinfo=None) if found[3] else end


class _Limits(Struct, frozen=True):
    """Which times are excluded; an empty field excludes nothing."""

    months: frozenset[int]
    days: frozenset[int]
    weekdays: frozenset[int]
    hours: frozenset[int]

    def allow(self, wall: datetime) -> bool:
        last = calendar.monthrange(wall.year, wall.month)[1]
        return (
            (not self.months or wall.month in self.months)
            and (not self.days or not self.days.isdisjoint((wall.day, wall.day - last - 1)))
            and (not self.weekdays or wall.weekday() in self.weekdays)
            and (not self.hours or wall.hour in self.hours)
        )


def _limits(parts: dict[str, str]) -> _Limits:
    """The parts that only exclude times in a rule of that frequency, removed from it."""
    taken = {name: parts.pop(name, "") for name in _LIMITS.get(parts["FREQ"], ())}

    def numbers(name: str) -> frozenset[int]:
        return frozenset(int(each) for each in taken.get(name, "").split(",") if each)

    weekdays = frozenset(_DAYS.split().index(each) for each in taken.get("BYDAY", "").split(",") if each)
    return _Limits(numbers("BYMONTH"), numbers("BYMONTHDAY"), weekdays, numbers("BYHOUR"))


def _forwarded(start: datetime, parts: dict[str, str], since: datetime) -> datetime:
    """A later beginning of the same rule, to skip years."""
    period = _PERIODS.get(parts["FREQ"])
    if period is None:
        return start
    step = period * int(parts.get("INTERVAL", 1))
    return start + max((since - start) // step - 1, 0) * step


def _expanded(parts: dict[str, str], start: datetime, end: datetime) -> Iterator[datetime]:
    ahead = 0 if parts["FREQ"] in _PERIODS else _CALENDARS
    text = ";".join(f"{name}={value}" for name, value in parts.items())
    library = importlib.import_module("dateutil.rrule")  # few schedules need it
    made = library.rrulestr(text, dtstart=_shifted(start, ahead))
    if isinstance(made, library.rruleset):
        raise Refused("only a single rule can be stored, not a set of rules")
    bounded: Iterable[datetime] = made.replace(until=_shifted(end, ahead))
    for wall in bounded:
        yield _shifted(wall, -ahead)


def _shifted(moment: datetime, years: int) -> datetime:
    """The same day and time in a year with the same calendar."""
    return moment.replace(year=min(moment.year + years, 9999))
