"""Parses times as people write them, in their time zone. Pure: a text, the current time and a zone give a trigger.

We use a small grammar of our own: libraries take a tenth of a second or more to load, do not know repetition, and
misread 明日の午後3時. The result is always shown to the person as a date, so that mistakes are noticed at once.
"""

import functools
import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from pathlib import Path
from typing import Any

from dateutil.relativedelta import relativedelta
from msgspec import Struct

from memory.store.errors import Refused
from scheduler.triggers import DateTrigger, RecurrenceTrigger, Trigger, require
from scheduler.zones import instant, zone_of
from texts import _, gettext_noop


@functools.cache
def grammar(code: str) -> "Grammar":
    path = Path(__file__).with_name(f"{code}.toml")
    return Grammar(tomllib.loads(path.read_text("utf-8")))


class Grammar:
    """The words of a language for times: a TOML file, compiled when that language is first read.

    `spans` have the groups "n" and "unit" (by `units`: seconds to years), perhaps "half" (and a half) and a second
    pair, "n2" and "unit2"; `numbers` are words for numbers. `figures` turn words into figures before anything is read,
    with {hour} or the one {before} it, and the minutes {past} or {to} it, {before_half} or {past_half}.
    `days` give days from today, or a change of today; `past_days` the first and the last day, as such changes;
    `parts` an hour of the day. `dates` have "day", perhaps "month" (number or name), "year" and "weekday";
    `weekday` has "weekday", and "week" for the one of next week. `times` have "hour", perhaps "minute", "half" and
    "ampm". `unread` is more of a time beside what was read (which is NUL there), `loose` no text. `repeats` give a
    rule of RFC 5545 with what they found: "days" (weekdays, by `named`), "day" of the month, "unit" as {frequency},
    "n" of them, and {nth} by a group of that name (first to fourth, last). A line break in a pattern is none of it;
    {{name}} stands for a fragment.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        numbers: dict[str, float] = data["numbers"]
        self._fragments = {
            **data["fragments"],
            "numbers": "|".join(sorted(numbers, key=len, reverse=True)) or "(?!)",
            "hours": "|".join(data["hours"]) or "(?!)",
            "days": "|".join(data["weekdays"].split()),
            "months": "|".join(data["months"].split()),
        }
        self.numbers = numbers
        self.hours: dict[str, int] = data["hours"]
        """Words for hours."""
        self.units: dict[str, str] = {word: unit for unit, listed in data["units"].items() for word in listed.split()}
        self.weekdays, self.months = data["weekdays"].split(), data["months"].split()
        self.alone: list[str] = data["alone"]
        """What makes a time from now of a number alone, one of the day of an hour, and one from now of a unit."""
        self.counted = self._said(data["counted"])
        self.weekday, self.named, self.filler, self.unread, self.loose = (
            self._said(data[each]) for each in ("weekday", "named", "filler", "unread", "loose")
        )
        """The weekday of a sentence, one in a list, and words that may remain."""
        self.early, self.late, self.evening = (self._said(data[each]) for each in ("early", "late", "evening"))
        """What is early, what is late but not at 10, and what is late at 10, too."""
        self.spans, self.dates, self.times = (
            tuple(self._said(each) for each in data[name]) for name in ("spans", "dates", "times")
        )
        self.beside = self._said(data["beside"])
        self.day_alone, self.before_day = self._said(data["day_alone"][0]), str(data["day_alone"][1])
        self.replaceable = tuple(self._said(data[each]) for each in ("named_day", "named_clock"))
        """The day and the time of day that a text names, each with the part that may change alone."""
        self.past_days = tuple((self._said(pattern), *changes) for pattern, *changes in data["past_days"])
        self.figures, self.days, self.parts, self.repeats = (
            tuple((self._said(pattern), rule) for pattern, rule in data[name])
            for name in ("figures", "days", "parts", "repeats")
        )

    def _said(self, text: str) -> re.Pattern[str]:
        while found := re.search(r"\{\{(\w+)\}\}", text):
            text = text.replace(found[0], self._fragments[found[1]])
        return re.compile(text.replace("\n", ""), re.IGNORECASE)

    def in_figures(self, text: str) -> str:
        """The text with times of day in figures: "at half past seven" becomes "at 7:30"."""
        for pattern, instead in self.figures:
            text = pattern.sub(functools.partial(self._figure, instead), text)
        return text

    def _figure(self, instead: str, found: re.Match[str]) -> str:
        groups = found.groupdict("")
        said, minute = _folded(groups.get("hour", "0")), int(self.number(groups.get("minute", "0")))
        hour = self.hours[said] if said in self.hours else int(said)
        before = (hour - 2) % 12 + 1 if hour <= 12 else hour - 1
        minutes = {"past": minute, "to": 60 - minute, "before_half": 30 - minute, "past_half": 30 + minute}
        return str(instead).format(hour=hour, before=before, at=groups.get("at", ""), **minutes)

    def number(self, said: str) -> float:
        known = self.numbers.get(" ".join(_folded(said).split()))
        return float(said.replace(",", ".")) if known is None else known

    def unit(self, said: str) -> str:
        """The name that timedelta has for a unit of time."""
        return self.units.get(_folded(said)) or self.units[_folded(said).removesuffix("s")]

    def weekdays_of(self, said: str) -> list[int]:
        """The weekdays in a list, as numbers from Monday on; names may be shortened."""
        found = self.named.findall(_folded(said))
        return [next(at for at, day in enumerate(self.weekdays) if day.startswith(each)) for each in found]


def _folded(said: str) -> str:
    """In small letters; without the i that Turkish has besides, which patterns take for an i, too."""
    return said.casefold().replace("i\u0307", "i").replace("ı", "i")


_LONGEST = 2_000
_OF_A_DAY = frozenset({"seconds", "minutes", "hours"})
MORNING = time(9)
_ISO = r"\b\d{4}-\d\d-\d\d(?:[Tt ]\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?(?:[Zz]|[+-]\d\d:?\d\d)?)?"
_RULE = r"(?i)\b(?:RRULE:)?(FREQ=[A-Z0-9=;,+-]*[A-Z0-9])"
_RULE_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_FREQUENCIES = {"hours": "HOURLY", "days": "DAILY", "weeks": "WEEKLY", "months": "MONTHLY", "years": "YEARLY"}
_NTHS = ("first", "second", "third", "fourth", "last")
_LEAP_YEARS = 8  # the most between two 29 Februaries
_PARTS = {"am": 1, "a.m.": 1, "午前": 1, "朝": 9, "朝の": 9, "pm": 13, "p.m.": 13, "午後": 13}
_LATE, _NOON, _EVENING, _NIGHT, _MIDNIGHT, _NIGHT_ENDS = 10, 12, 18, 20, 24, 6  # no dinner is at 10 pm
_WAKING = range(7, 23)
"""The hours in which a time is meant of which nobody says whether it is before or after noon."""
_SOON = timedelta(hours=2)  # at 22:30, "at 11" is in the same night
_NEW_DAY = time(4)  # who says "tomorrow" before did not sleep yet, and means the day that began; not at 0:00 itself,
# which is a day's beginning to those who calculate with it
_LATER = timedelta(minutes=90)  # at 20:10, "tonight" is at 21:00
_EXAMPLES = gettext_noop("“in 20 minutes”, “tomorrow at 9”, “every Monday at 8” or 2026-12-31 18:00")
_SECOND_TIME = r"(?i)(?:^|\s{2,})(?:(?:and|or|und|oder)\s|と|か)\s*$"
"""A conjunction directly after the removed first time, so that a second one follows."""
_FIRST_TIME = r"(?i)^\s*(?:(?:and|or|und|oder)|と|か)(?:\s{2,}|$)"
"""The same before the time that was read."""
_BETWEEN_TIMES = r"(?i)\0\s+(?:and|or|until|till|und|oder|bis)\s+\0"
"""What stands between two parts of a time that were both read, of which one would be left out."""


class FoundTime(Struct, frozen=True):
    """A time in a text: the trigger; the text without it; that without leftover prepositions; the words of the time.

    `dated`: the day is given, too; a time of day alone means its next occurrence.
    """

    trigger: Trigger
    rest: str
    left: str
    said: str
    dated: bool = True


def read_when(text: str, now: datetime, zone: str, about: str | None = "", alone: time = MORNING) -> Trigger:
    """Parse a text that is only a time. Raises Refused with a message for anything else and for past times.

    `about` is what happens then: "tomorrow at 7" to wake up is in the morning, for dinner in the evening. With None, an
    hour alone is the next one of day and night. A day alone means the time `alone`.
    """
    for said in (text, f"in {text}"):  # "20 min" alone means a span
        found = find_when(said, now, zone, about=about, alone=alone)
        if found is not None and not any(letter.isalnum() for letter in found.left):
            require(found.trigger, now)
            return found.trigger
    raise _not_understood(text.strip())


def _not_understood(text: str) -> Refused:
    return Refused(
        "I don't understand the time “{strip}”. Write it like {EXAMPLES}.", strip=text[:80], EXAMPLES=_(_EXAMPLES)
    )


def find_when(
    text: str, now: datetime, zone: str, code: str = "", *, about: str | None = "", alone: time = MORNING
) -> FoundTime | None:
    """The time in a text, by the language that explains most of it; None if there is none.

    `code` is the speaker's language, which is tried first, and decides if it finds a time. Raises Refused for a day
    that does not exist, for two times, and where more of the time is not understood. Else as in read_when.
    """
    text = unicodedata.normalize("NFKC", text[:_LONGEST])
    codes = _codes(text, code)
    if rule := re.search(_RULE, text):
        return _Reading(text, grammar(codes[0]), about, alone).by(rule, now, zone)
    if found := re.search(_ISO, text):
        rest = _without(text, found)
        return FoundTime(_iso(found[0], zone_of(zone), alone), rest, grammar(codes[0]).filler.sub(" ", rest), found[0])
    best: FoundTime | None = None
    for each in codes:
        words = grammar(each)
        read = _Reading(words.in_figures(text), words, about, alone).read(now, zone)
        if read is not None and (best is None or _size(read) < _size(best)):
            best = read
        if best is not None and (each == code or not _size(best)):
            break
    return best


def moved(said: str, to: str, code: str) -> str:
    """The words of a time with another time of day: "tomorrow at 5 am" and "at 6" give "tomorrow at 6 am"."""
    words = grammar(code)
    was, new = (next((found for each in words.times if (found := each.search(text))), None) for text in (said, to))
    bare = new and not new.groupdict().get("ampm") and not any(part.search(to) for part, _hour_of_day in words.parts)
    if was and new and bare:
        clock = was[0].replace(was.groupdict("").get("ampm", ""), "").strip()
        return f"{said[: was.start()]}{was[0].replace(clock, new[0])}{said[was.end() :]}"
    return " ".join(f"{_without(said, was) if was else said} {to}".split())


def _codes(text: str, code: str) -> list[str]:
    """The possible languages of a text, in the order in which they are tried."""
    written = ["ja", "en", "de"] if any("\u3041" <= letter <= "\u9fff" for letter in text) else ["en", "de"]
    return sorted(written, key=lambda each: each != code)


def _size(found: FoundTime) -> int:
    """How much of a text is left over."""
    return len("".join(found.left.split()))


def _iso(text: str, zone: tzinfo, alone: time) -> DateTrigger:
    try:
        moment = datetime.fromisoformat(text.replace(" ", "T") if ":" in text else f"{text}T{alone}")
        return DateTrigger(instant(moment, zone) if moment.tzinfo is None else moment.astimezone(UTC))
    except (ValueError, OverflowError):  # also one that has no time in UTC
        raise Refused("There is no such date or time: {text}.", text=text) from None


def _without(text: str, found: re.Match[str]) -> str:
    """The text with blanks in place of a match."""
    return f"{text[: found.start()]}{' ' * len(found[0])}{text[found.end() :]}"


def _step(unit: str, number: float) -> relativedelta:
    """So many units; half a month is 15 days."""
    if unit == "months":
        return relativedelta(months=int(number), days=15 if number % 1 else 0)
    if unit == "years":
        return relativedelta(months=int(number * 12))
    return relativedelta(seconds=round(timedelta(**{unit: number}).total_seconds()))


class _Reading:
    """One text in one language; matches are removed from it one by one."""

    def __init__(self, text: str, table: Grammar, about: str | None, alone: time) -> None:
        self._about, self._alone = about, alone
        self._night = self._begins = self._evening = self._bare = self._ahead = False
        """Whether the time is one of a night, which may end on the next day; of the night that begins on the day that
        is given; of an evening without an hour; an hour without the half of the day; of tomorrow or the day after."""
        self._whole = text
        self._text = text
        self._table = table

    def read(self, now: datetime, zone: str) -> FoundTime | None:
        local = now.astimezone(zone_of(zone))
        span = self._span(local, zone_of(zone))
        if span is not None:
            return self._found(DateTrigger(span))
        if rule := self._rule():
            return self._repeating(rule, local.replace(tzinfo=None), zone)
        day = self._day(local.date())
        clock, either = self._clock()
        if day is None and clock is None:
            return None
        now = local.replace(tzinfo=None)
        wall = _wall(now, day, clock or self._alone, bare=self._bare, either=either)
        if self._night and day and wall.hour < _NIGHT_ENDS and (wall <= now if day == now.date() else self._begins):
            wall += timedelta(days=1)
        if self._evening and day == now.date() and wall <= now and (now + _LATER).date() == day:
            wall = (now + _LATER).replace(minute=0, second=0, microsecond=0)
        if self._ahead and time.min < now.time() < _NEW_DAY <= wall.time():
            wall -= timedelta(days=1)
        return self._found(DateTrigger(instant(wall, zone_of(zone))), dated=day is not None)

    def by(self, rule: re.Match[str], now: datetime, zone: str) -> FoundTime:
        """An RFC 5545 rule, with the day and time of day given beside it."""
        self._text = _without(self._text, rule)
        local = now.astimezone(zone_of(zone)).replace(tzinfo=None)
        if begins := self._take(re.compile(_ISO)):
            start = _iso(begins[0], zone_of(zone), self._alone).when.astimezone(zone_of(zone)).replace(tzinfo=None)
            return self._found(RecurrenceTrigger(rule[1].upper(), start, zone))
        return self._repeating(rule[1].upper(), local, zone)

    def _repeating(self, rule: str, local: datetime, zone: str) -> FoundTime:
        """A trigger from a day and time of day on that hold for every occurrence, whatever the time is now."""
        day = self._day(local.date())
        clock, _ = self._clock()
        if "FREQ=HOURLY" in rule and day is None and clock is None:
            return self._found(RecurrenceTrigger(rule, local.replace(microsecond=0), zone))
        wall = datetime.combine(day or local.date(), clock or self._alone)
        days = range(8 if "INTERVAL" in rule or "BY" not in rule else 0)
        named = re.search(r"BYDAY=([A-Z,]+)", rule)  # several weeks are counted from that of the first time
        coming = (each for ahead in days if (each := wall + timedelta(days=ahead)) > local)
        wall = next((each for each in coming if not named or _RULE_DAYS[each.weekday()] in named[1]), wall)
        return self._found(RecurrenceTrigger(rule, wall, zone))

    def _found(self, trigger: Trigger, *, dated: bool = True) -> FoundTime:
        self._refuse_a_second_time()
        pairs = list(zip(self._whole, self._text, strict=True))
        said = " ".join("".join(" " if one == left else one for one, left in pairs).split())
        marked = "".join(left if one == left else "\0" for one, left in pairs)
        if more := re.search(_BETWEEN_TIMES, marked) or self._table.unread.search(marked):
            begin, end = min(marked.index("\0"), more.start()), max(marked.rindex("\0") + 1, more.end())
            raise _not_understood(" ".join(self._whole[begin:end].split()))
        left, rest = self._table.filler.sub(" ", self._text), " ".join(self._text.split())
        return FoundTime(trigger, self._table.loose.sub("", rest), left, said, dated)

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.search(self._text)
        if found is not None:
            self._text = _without(self._text, found)
        return found

    def _refuse_a_second_time(self) -> None:
        table = self._table
        for pattern in (*table.dates, table.weekday, *(day for day, _name in table.days), *table.times):
            if found := pattern.search(self._text):
                before, behind = self._text[: found.start()], self._text[found.end() :]
                if re.search(_SECOND_TIME, before) or re.search(_FIRST_TIME, behind):
                    raise Refused("That names more than one time. Enter each one separately.")

    def _span(self, local: datetime, zone: tzinfo) -> datetime | None:
        found = next(filter(None, map(self._take, self._table.spans)), None)
        if found is None:
            return None
        groups, wall = found.groupdict(), local.replace(tzinfo=None)
        number, unit = self._table.number(groups["n"]), self._table.unit(groups["unit"])
        step, more = _step(unit, number + (0.5 if groups.get("half") else 0)), relativedelta()
        if groups.get("n2"):
            unit2 = self._table.unit(groups["unit2"])
            more = _step(unit2, self._table.number(groups["n2"]))
            if not {unit, unit2} & _OF_A_DAY:  # the clock may change on the way
                step, more = step + more, relativedelta()
        try:
            if unit in _OF_A_DAY:
                return instant(wall, zone) + step + more
            wall += step
            clock, _ = self._clock()
            return instant(wall if clock is None else datetime.combine(wall.date(), clock), zone) + more
        except (ValueError, OverflowError):  # after the year 9999
            raise Refused("There is no such date or time: {text}.", text=found[0]) from None

    def _rule(self) -> str:
        for pattern, rule in self._table.repeats:
            if found := self._take(pattern):
                return str(rule).format(**self._rule_parts(found.groupdict()))
        return ""

    def _rule_parts(self, groups: dict[str, str | None]) -> dict[str, object]:
        parts: dict[str, object] = {
            name: int(self._table.number(said)) for name in ("n", "day") if (said := groups.get(name))
        }
        if days := groups.get("days"):
            parts["days"] = ",".join(_RULE_DAYS[day] for day in dict.fromkeys(self._table.weekdays_of(days)))
        if unit := groups.get("unit"):
            if (named := self._table.unit(unit)) not in _FREQUENCIES:
                raise Refused("Nothing can repeat more often than once an hour.")
            parts["frequency"] = _FREQUENCIES[named]
        if nth := next((each for each in _NTHS if groups.get(each)), ""):
            parts["nth"] = -1 if nth == "last" else _NTHS.index(nth) + 1
        return parts

    def _day(self, today: date) -> date | None:
        """The first day that is named."""
        named: list[tuple[re.Pattern[str], int | dict[str, int] | None]]
        named = [(pattern, None) for pattern in (*self._table.dates, self._table.weekday)]
        found = [
            (match.start(), order, match, days)
            for order, (pattern, days) in enumerate((*named, *self._table.days))
            if (match := pattern.search(self._text))
        ]
        if not found:
            return None
        _, _, match, days = min(found, key=lambda each: each[:2])
        self._text = _without(self._text, match)
        if isinstance(days, dict):
            return today + relativedelta(**days)
        if days is not None:
            self._ahead = days in (1, 2)
            return today + timedelta(days=days)
        if "day" in match.groupdict():
            return _date(match, self._table, today)
        (weekday,) = self._table.weekdays_of(match["weekday"])
        if match.groupdict().get("week"):
            return today + timedelta(days=7 - today.weekday() + weekday)
        return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)

    def _clock(self) -> tuple[time | None, bool]:
        """The time of day, and whether it may as well be twelve hours later."""
        for pattern in self._table.times:
            found = self._take(pattern)
            if found is None:
                continue
            groups = found.groupdict()
            hour, minute = int(groups["hour"]), int(groups.get("minute") or groups.get("minute2") or 0)
            half, ampm = groups.get("half"), (groups.get("ampm") or "").casefold()
            if half:  # halb zehn is 9:30, and so is 9時半
                hour, minute = (hour - 1 or 12, 30) if half == half.casefold() == "halb" else (hour, 30)
            before = self._text[: found.start()]
            part = next((hours for part, hours in self._table.parts if self._take(part)), 0)
            part = _PARTS.get(ampm, _NIGHT) if ampm else part
            part = _MIDNIGHT if part == _EVENING and hour == 12 else part
            self._night, self._begins = part >= _NIGHT, bool(ampm) or not self._text.startswith(before)
            self._bare = not part and 1 <= hour <= 12 and groups["hour"][0] != "0"
            either = self._bare and not self._is(lambda words: words.early)
            if part:
                hour = _hour(hour, part)
            elif either and self._about is not None:
                late = (hour < _LATE and self._is(lambda words: words.late)) or (
                    hour < _NOON and self._is(lambda words: words.evening)
                )
                either = hour + 12 in _WAKING and hour in _WAKING and not late
                hour += 12 if late or hour not in _WAKING else 0
            if hour > 24 or minute > 59 or (hour == 24 and minute):
                raise Refused("There is no such time: {hour}:{minute}.", hour=hour, minute=f"{minute:02}")
            return time(hour % 24, minute), either
        for pattern, hours in self._table.parts:
            if self._take(pattern):
                self._night, self._evening = hours >= _NIGHT, _EVENING <= hours < _MIDNIGHT
                return time(hours % 24), False
        return None, False

    def _is(self, kind: Callable[[Grammar], re.Pattern[str]]) -> bool:
        """Whether it is about waking up or dinner, in whatever language."""
        said = (self._whole, self._about or "")
        return any(kind(grammar(code)).search(text) for text in said for code in _codes(text, ""))


def _hour(said: int, part: int) -> int:
    """The hour of 24 for one that is said with a part of the day, which is known by its usual hour."""
    if not 1 <= said <= 12 or (said == 12 and MORNING.hour <= part <= 12):
        return said
    if part < 12 or part == _MIDNIGHT or (part >= _NIGHT and said % 12 < _NIGHT_ENDS):  # at 3 at night
        return said % 12
    return said if part == 12 and said > 9 else said % 12 + 12  # just before noon


def _date(found: re.Match[str], table: Grammar, today: date) -> date:
    """A date; without a year or a month, its next occurrence."""
    groups, day = found.groupdict(), int(table.number(found["day"]))
    named_days = table.weekdays_of(groups["weekday"]) if groups.get("weekday") else range(7)
    if not groups.get("month"):
        months = (today.replace(day=1) + relativedelta(months=ahead) for ahead in range(12 * _LEAP_YEARS))
        coming = (each for first in months if (each := _existing(first.year, first.month, day)) and each > today)
        following = next((each for each in coming if each.weekday() in named_days), None)
        if following is None:
            raise Refused("No month has a day {day}.", day=day)
        return following
    month = _folded(groups["month"])
    names = table.months
    number = int(month) if month.isdigit() else next(i for i, name in enumerate(names, 1) if name[:3] == month[:3])
    if number > 12 >= day:  # 24/12 where 12/24 is usual
        number, day = day, number
    years = [int(groups["year"])] if groups.get("year") else range(today.year, today.year + _LEAP_YEARS + 1)
    for year in years:
        if (named := _existing(year, number, day)) and (groups.get("year") or named >= today):
            if named.weekday() not in named_days:  # one of the two is a mistake
                raise _not_understood(found[0])
            return named
    begins = min(found.start("day"), found.start("month"))  # after "on"
    raise Refused("There is no such date or time: {text}.", text=found.string[begins : found.end()].strip())


def _existing(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _wall(now: datetime, day: date | None, clock: time, *, bare: bool, either: bool) -> datetime:
    """The local time: on the given day, or on the next day where that time is not past yet."""
    wall = datetime.combine(day or now.date(), clock)
    if bare and day in (None, now.date()):
        soon = next(each for ahead in (-12, 0, 12, 24) if (each := wall + timedelta(hours=ahead)) > now)
        if soon - now < _SOON:
            return soon
    if wall > now:
        return wall
    later = wall + timedelta(hours=12)
    if later > now and (either or (bare and later.date() == day)):
        return later
    return wall if day else wall + timedelta(days=1)
