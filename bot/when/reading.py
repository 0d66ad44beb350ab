"""Reading a time that somebody said, on their clocks. Pure: text, a moment and a zone go in, a trigger comes out.

A small grammar of our own: the libraries for it take a tenth of a second and more, know no repetition, and read
明日の午後3時 as another hour. What is understood is always said back as a date, so a mistake is seen at once.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from dateutil.relativedelta import relativedelta

from bot.when.spelled import in_figures
from bot.when.table import WhenTable
from bot.when.tables import TABLES
from memory.errors import Refused
from scheduler.triggers import At, Recurring, Trigger, next_run, require
from scheduler.wording import rule_words
from scheduler.zones import instant, zone_of

_LONGEST = 2_000
_MORNING = 9
_ISO = re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)?", re.IGNORECASE)
_RULE_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_AFTERNOON = ("pm", "p.m.", "午後", "夜", "夜の")
_FORENOON = ("am", "a.m.", "午前", "朝", "朝の")
_EXAMPLES = '"in 20 minutes", "tomorrow at 9", "every monday at 8" or 2026-12-31 18:00'


@dataclass(frozen=True)
class Found:
    """A time in a text: when; the text without it; that without what may be left of a time; the words of the time."""

    trigger: Trigger
    rest: str
    left: str
    said: str


def read_when(text: str, now: datetime, zone: str) -> Trigger:
    """A text that is nothing but a time. Raises Refused, in words, for anything else and for what is past."""
    found = find_when(text, now, zone)
    if found is None or any(letter.isalnum() for letter in found.left):
        raise Refused(f'"{text.strip()[:80]}" is no time that I understand; it is like {_EXAMPLES}')
    require(found.trigger, now)
    return found.trigger


def find_when(text: str, now: datetime, zone: str) -> Found | None:
    """The time that a text speaks of, in the language that makes most of it; None when it names none.

    Raises Refused for a day that does not exist.
    """
    text = in_figures(unicodedata.normalize("NFKC", text[:_LONGEST]))
    local = zone_of(zone)
    if found := _ISO.search(text):
        rest = _without(text, found)
        return Found(_iso(found[0], local), rest, TABLES[0].filler.sub(" ", rest), found[0])
    read = [each for table in TABLES if (each := _Reading(text, table).read(now, zone)) is not None]
    return min(read, key=lambda each: len("".join(each.left.split())), default=None)


def shown(trigger: Trigger, now: datetime, zone: str) -> str:
    """When it is due next, on the clocks of a zone, and how it repeats."""
    moment = next_run(trigger, now)
    if moment is None:
        return "never again"
    again = f", {rule_words(trigger.rule)}" if isinstance(trigger, Recurring) else ""
    return f"{moment.astimezone(zone_of(zone)):%a %Y-%m-%d %H:%M} ({zone}{again})"


def _iso(text: str, zone: tzinfo) -> At:
    try:
        moment = datetime.fromisoformat(text.replace(" ", "T") if ":" in text else f"{text}T{_MORNING:02}:00")
    except ValueError:
        raise Refused(f"{text} is no day or time that exists") from None
    return At(instant(moment, zone) if moment.tzinfo is None else moment.astimezone(UTC))


def _without(text: str, found: re.Match[str]) -> str:
    """The text with blanks in place of what was read."""
    return f"{text[: found.start()]}{' ' * len(found[0])}{text[found.end() :]}"


class _Reading:
    """One text in one language; what was read is taken out of it, piece by piece."""

    def __init__(self, text: str, table: WhenTable) -> None:
        self._whole = text
        self._text = text
        self._table = table

    def read(self, now: datetime, zone: str) -> Found | None:
        local = now.astimezone(zone_of(zone))
        span = self._span(local, zone_of(zone))
        if span is not None:
            return self._found(At(span))
        rule = self._rule()
        day = self._day(local.date())
        clock, guessed = self._clock(named=day is not None or bool(rule))
        if not rule and day is None and clock is None:
            return None
        wall = _wall(local.replace(tzinfo=None), day, clock, guessed=guessed, weekly="BYDAY" in rule)
        if rule:
            return self._found(Recurring(rule, wall, zone))
        return self._found(At(instant(wall, zone_of(zone))))

    def _found(self, trigger: Trigger) -> Found:
        said = "".join(" " if one == left else one for one, left in zip(self._whole, self._text, strict=True))
        left = self._table.filler.sub(" ", self._text)
        return Found(trigger, " ".join(self._text.split()), left, " ".join(said.split()))

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.search(self._text)
        if found is not None:
            self._text = _without(self._text, found)
        return found

    def _span(self, local: datetime, zone: tzinfo) -> datetime | None:
        for pattern in self._table.spans:
            if found := self._take(pattern):
                said, unit = found["n"].casefold(), found["unit"].casefold()
                number = self._table.numbers.get(said)
                number = float(said.replace(",", ".")) if number is None else number
                name = self._table.units.get(unit) or self._table.units[unit.removesuffix("s")]
                if name in ("seconds", "minutes", "hours"):
                    return instant(local.replace(tzinfo=None), zone) + timedelta(**{name: number})
                ahead = relativedelta(months=int(number)) if name == "months" else timedelta(**{name: number})
                wall = local.replace(tzinfo=None) + ahead
                clock, _ = self._clock(named=True)
                return instant(wall if clock is None else datetime.combine(wall.date(), clock), zone)
        return None

    def _rule(self) -> str:
        for pattern, rule in self._table.repeats:
            if found := self._take(pattern):
                if rule == "WEEKDAYS":
                    return "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"
                if rule == "BYDAY":
                    return f"FREQ=WEEKLY;BYDAY={_RULE_DAYS[self._weekday(found)]}"
                return f"FREQ={rule}"
        return ""

    def _weekday(self, found: re.Match[str]) -> int:
        groups = found.groupdict()
        return self._table.weekdays.index((groups["weekday"] or groups["weekday2"]).casefold())

    def _day(self, today: date) -> date | None:
        for pattern in self._table.dates:
            if found := self._take(pattern):
                return _date(found, self._table, today)
        if found := self._take(self._table.weekday):
            ahead = (self._weekday(found) - today.weekday() - 1) % 7 + 1
            return today + timedelta(days=ahead)
        for pattern, days in self._table.days:
            if self._take(pattern):
                return today + timedelta(days=days)
        return None

    def _clock(self, *, named: bool) -> tuple[time | None, bool]:
        """The time of day, and whether the half of the day was left open; `named`: a day was said."""
        for pattern in self._table.times:
            found = pattern.search(self._text)
            if found is None:
                continue
            self._text = _without(self._text, found)
            groups = found.groupdict()
            hour, minute = int(groups["hour"]), int(groups.get("minute") or groups.get("minute2") or 0)
            half, ampm = groups.get("half"), (groups.get("ampm") or "").casefold()
            if half:  # halb zehn is 9:30, 9時半 too
                hour, minute = (hour - 1, 30) if half == half.casefold() == "halb" else (hour, 30)
            part = next((hours for part, hours in self._table.parts if self._take(part)), 0)
            late = ampm in _AFTERNOON or (part >= 12 and hour <= 11 and part != 24)
            hour = hour % 12 + 12 if late and hour <= 12 else 0 if ampm in _FORENOON and hour == 12 else hour
            open_half = not ampm and not part and not half and hour <= 12 and not groups.get("minute")
            if open_half and named and self._table.afternoon and 1 <= hour <= 6:
                hour += 12
            if hour > 24 or minute > 59 or (hour == 24 and minute):
                raise Refused(f"there is no time {hour}:{minute:02}")
            return time(hour % 24, minute), open_half
        for pattern, hours in self._table.parts:
            if self._take(pattern):
                return time(hours % 24), False
        return None, False


def _date(found: re.Match[str], table: WhenTable, today: date) -> date:
    month = found["month"].casefold()
    number = int(month) if month.isdigit() else table.months.index(month) + 1
    year = int(found["year"]) if found["year"] else today.year
    try:
        day = date(year, number, int(found["day"]))
        return day if found["year"] or day >= today else day.replace(year=year + 1)
    except ValueError:
        raise Refused(f"there is no day {found['day']} {found['month']} in {year}") from None


def _wall(now: datetime, day: date | None, clock: time | None, *, guessed: bool, weekly: bool) -> datetime:
    """On clocks: the day that was said, or the next day on which that time is still to come."""
    if day is not None:
        return datetime.combine(day, clock or time(_MORNING))
    wall = datetime.combine(now.date(), clock or time(_MORNING))
    if wall > now or weekly:
        return wall
    later = wall + timedelta(hours=12)
    if guessed and later > now and later.date() == now.date():
        return later
    return wall + timedelta(days=1)
