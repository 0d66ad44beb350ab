"""Days and weeks as summaries count them: from four in the morning on, in the service's time zone. Pure functions."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from scheduler.zones import instant, zone_of

_BEGINS = time(4)  # who is up late is still up on the day before


@dataclass(frozen=True)
class Period:
    """From `start` until before `end`, both in UTC; `name` is the date on which it begins there."""

    start: datetime
    end: datetime
    name: str


def days_before(now: datetime, zone: str, count: int) -> list[Period]:
    """The newest days that are over, oldest first."""
    return _periods(now, zone, count, timedelta(days=1))


def weeks_before(now: datetime, zone: str, count: int) -> list[Period]:
    """The newest weeks that are over, from Monday on, oldest first."""
    return _periods(now, zone, count, timedelta(days=7))


def night(date: datetime, zone: str) -> Period:
    """The night that begins on the date of a moment there: from noon to noon."""
    day = date.astimezone(zone_of(zone)).date()
    start, end = (datetime.combine(each, time(12)) for each in (day, day + timedelta(days=1)))
    return Period(instant(start, zone_of(zone)), instant(end, zone_of(zone)), f"{day:%Y-%m-%d}")


def night_of(moment: datetime, zone: str) -> Period:
    """The night that a moment belongs to."""
    found = night(moment, zone)
    return found if found.start <= moment else night(moment - timedelta(days=1), zone)


def last_night(now: datetime, zone: str) -> Period:
    """The night that began yesterday."""
    return night(now - timedelta(days=1), zone)


def night_named(text: str, zone: str) -> Period:
    """The night that begins on a date such as 2026-11-22. Raises ValueError."""
    day = datetime.strptime(text.strip(), "%Y-%m-%d").replace(tzinfo=UTC)
    return night(instant(day.replace(hour=12, tzinfo=None), zone_of(zone)), zone)


def _periods(now: datetime, zone: str, count: int, span: timedelta) -> list[Period]:
    where = zone_of(zone)
    day = now.astimezone(where).date()
    if span.days == 7:
        day -= timedelta(days=day.weekday())
    found: list[Period] = []
    while len(found) < count:
        start, end = (instant(datetime.combine(each, _BEGINS), where) for each in (day, day + span))
        if end <= now:
            found.append(Period(start, end, f"{day:%Y-%m-%d}"))
        day -= span
    return found[::-1]
