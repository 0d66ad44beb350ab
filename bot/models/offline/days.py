"""Days as people say them, in UTC: "yesterday", "last week", "on Monday", "22 November"."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from bot.models.offline.language import Calendar

_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")


@dataclass(frozen=True)
class Span:
    """From the beginning of one day to the beginning of another."""

    first: date
    last: date
    """The last day that is still inside."""

    @property
    def since(self) -> str:
        return f"{self.first.isoformat()}T00:00:00Z"

    @property
    def until(self) -> str:
        return f"{_shift(self.last, 1).isoformat()}T00:00:00Z"

    def written(self, calendar: Calendar) -> str:
        if self.first == self.last:
            return write_date(self.first, calendar)
        return f"{write_date(self.first, calendar)} – {write_date(self.last, calendar)}"


def _shift(day: date, days: int) -> date:
    """Some days later, or the end of the calendar."""
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return date.max if days > 0 else date.min


def write_date(day: date, calendar: Calendar) -> str:
    return calendar.written.format(day=day.day, month=calendar.months[day.month - 1], number=day.month, year=day.year)


def _by_rule(rule: str, today: date) -> Span:
    unit, _, number = rule.partition(":")
    match unit:
        case "day":
            day = _shift(today, int(number))
            return Span(day, day)
        case "week":
            monday = _shift(today, 7 * int(number) - today.weekday())
            return Span(monday, _shift(monday, 6))
        case _:
            first = today.replace(day=1)
            if int(number) < 0:
                first = _shift(first, -1).replace(day=1)
            return Span(first, _shift(_shift(first, 31).replace(day=1), -1))


def _month_and_day(found: re.Match[str], calendar: Calendar) -> tuple[int, int]:
    groups = found.groupdict()
    number, name = groups["day"] or groups["day2"], groups["month"] or groups["month2"]
    lowered = [month.lower() for month in calendar.months]
    return int(name) if name.isdigit() else lowered.index(name.lower()) + 1, int(number)


def dates_as_words(text: str, calendar: Calendar) -> str:
    """A text with each date as a word that is the same in every language (5 May, May 5th, 5. Mai: m05d05)."""

    def word(found: re.Match[str]) -> str:
        month, day = _month_and_day(found, calendar)
        name = "" if month > 12 else calendar.months[month - 1]
        return f" {name} m{month:02}d{day:02} "

    return calendar.date.sub(word, text)


def _by_date(text: str, calendar: Calendar, today: date) -> Span | None:
    try:
        if iso := _ISO.search(text):
            day = date(int(iso[1]), int(iso[2]), int(iso[3]))
            return Span(day, day)
        found = calendar.date.search(text)
        if found is None:
            return None
        month, number = _month_and_day(found, calendar)
        day = date(today.year, month, number)
        if day > today:
            day = date(today.year - 1, month, number)
    except (ValueError, KeyError):
        return None
    return Span(day, day)


def find_span(text: str, calendar: Calendar, now: datetime) -> Span | None:
    """The days a text speaks of, seen from now; None when it names none."""
    today = now.astimezone(UTC).date()
    for when, rule in calendar.days:
        if when.search(text):
            return _by_rule(rule, today)
    for number, weekday in enumerate(calendar.weekdays):
        if re.search(weekday, text, re.IGNORECASE):
            day = _shift(today, -((today.weekday() - number - 1) % 7 + 1))
            return Span(day, day)
    return _by_date(text, calendar, today)


def without_days(text: str, calendar: Calendar) -> str:
    """A text without the days it speaks of."""
    for when in (_ISO, calendar.date, *(when for when, _ in calendar.days)):
        text = when.sub(" ", text)
    for weekday in calendar.weekdays:
        text = re.sub(weekday, " ", text, flags=re.IGNORECASE)
    return text


def lately(now: datetime) -> Span:
    """The last seven days."""
    today = now.astimezone(UTC).date()
    return Span(_shift(today, -6), today)


def read_time(text: str) -> datetime | None:
    """An ISO time in UTC; None when it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
