"""Times relative to what was said before: those that are moved, those of the past, and where something ends."""

import re
from calendar import monthrange
from contextlib import suppress
from datetime import date, datetime, time, timedelta

from dateutil.relativedelta import relativedelta

from memory.store.errors import StoreError
from scheduler.dates.parser import MORNING, FoundTime, find_when, grammar, moved
from scheduler.triggers import DateTrigger, RecurrenceTrigger, next_run

_HALF_A_DAY = timedelta(hours=12)
_WORD = re.compile(r"[^\W_]+")
_CLOCK_MARK = r"[:.]\d\d(?: ?[ap]m)?|時(?:半|\d{1,2}分)?| ?[ap]m| ?uhr|"
_FROM_TO = (
    rf"(?i)(?:\b(?:from|von|at|um) )?(?<![0-9A-Za-z:.-])(?P<hour>\d{{1,2}})(?P<mark>{_CLOCK_MARK})"
    rf" ?(?:to|until|till|bis|-|–|から) ?(?P<hour2>\d{{1,2}})(?P<mark2>{_CLOCK_MARK})(?:まで)?(?![0-9A-Za-z:-])"
)


def try_find(text: str, now: datetime, code: str, about: str | None = "", alone: time = MORNING) -> FoundTime | None:
    """Like find_when, on the clocks of `now`; also None where that raises."""
    with suppress(StoreError):
        return find_when(text, now, str(now.tzinfo), code, about=about, alone=alone) if text else None
    return None


def coming(text: str, now: datetime, code: str) -> datetime | None:
    """When the time in a text comes next, on the clocks of `now`."""
    found = try_find(text, now, code)
    moment = next_run(found.trigger, now) if found else None
    return moment.astimezone(now.tzinfo) if moment else None


def alone(said: str, now: datetime, code: str) -> str:
    """The words of a time, where there is nothing else; a number of minutes alone is a time from now."""
    forms = (said, *(form.format(said) for form in grammar(code).alone))
    times = ((text, try_find(text, now, code)) for text in forms)
    return next((text for text, found in times if found and not any(map(str.isalnum, found.left))), "")


def span(said: str, code: str) -> str:
    """How long it is until a time from now: "in 5 minutes" is "5 minutes"."""
    begin, end = grammar(code).alone[0].split("{}")
    return said.removeprefix(begin).removesuffix(end)


def corrected(said: str, was: str, now: datetime, code: str) -> str:
    """The words of a time said instead of another one: an hour alone is of the same day, a day alone keeps the hour,
    a number alone its unit. Empty where they are no time."""
    same, spans = grammar(code).counted.subn(lambda _found: said, was, 1)
    when = alone(same if spans and said.isdecimal() else said, now, code)
    new, before = try_find(when, now, code), None if spans else coming(was, now, code)
    if new is None:  # "pm", "abends"; not "please", which leaves the time as it is
        both = alone(f"{was} {said}", now, code) if was and said else ""
        return both if coming(both, now, code) != coming(was, now, code) else ""
    old, days = try_find(was, now, code), grammar(code).named
    if old and isinstance(old.trigger, RecurrenceTrigger) and (day := days.search(said)) and days.search(was):
        return alone(days.sub(day[0], was, 1), now, code)  # another day of the week, as often as before
    kept = f"{when} {grammar(code).alone[1].format(f'{before:%H:%M}')}" if before else ""
    return alone(kept if new.dated else moved(was, new.said, code), now, code) or when


def replaced(said: str, text: str, code: str) -> str | None:
    """A text with the day and the time of day that are said instead of its own; None if something else is said, too.

    An hour alone is of the same half of the day, a day alone of the same month. Empty unless the text names exactly one
    of each kind that is said.
    """
    said = grammar(code).day_alone.sub(grammar(code).before_day, said)
    left, known = said, {*_WORD.findall(text.casefold())}
    for pattern in grammar(code).replaceable:
        new, old = list(pattern.finditer(said)), list(pattern.finditer(text))
        left = pattern.sub(" ", left)
        if new and len(new) == len(old) == 1:
            named = [name for name, words in new[0].groupdict().items() if words]
            part = "part" if named == ["part"] and old[0]["part"] else 0
            text = f"{text[: old[0].start(part)]}{new[0][part]}{text[old[0].end(part) :]}"
        elif new:
            text = ""
    more = {*_WORD.findall(grammar(code).beside.sub(" ", left.casefold()))} - known
    return None if left == said or more else text


def keeps_times(old: str, new: str, code: str) -> bool:
    """Whether a text names as many days and times of day as another one."""
    return all(len(each.findall(new)) >= len(each.findall(old)) for each in grammar(code).replaceable)


def coming_days(begin: str, end: str, now: datetime, code: str) -> list[date]:
    """The days of two times that come next, the second after the first; today for a first one that is none.

    Empty if the second one is none.
    """
    today = now.replace(hour=min(now.hour, 4), minute=0)
    first = coming(begin, today, code) or today
    last = coming(end, first, code)
    return [first.date(), last.date()] if last else []


def days_ahead(span: str, ahead: int, now: datetime) -> range:
    """The days, counted from today, of the day, week or month that begins with the last of so many days; for "agenda",
    all of those days. Empty for other spans."""
    if span == "agenda":
        return range(ahead)
    first = now.date() + timedelta(days=ahead - 1)
    lasts = {"day": 1, "week": 7, "month": monthrange(first.year, first.month)[1]}.get(span, 0)
    return range(ahead - 1, ahead - 1 + lasts)


def past_days(text: str, now: datetime, code: str) -> tuple[list[date], str]:
    """The first and the last day in the past that a text names, if it names one, and the text without it."""
    today, rest, days = now.date(), text, list[date]()
    for pattern, *changes in grammar(code).past_days:
        if pattern.search(rest):
            days, rest = days or [today + relativedelta(**change) for change in changes], pattern.sub(" ", rest)
    found = try_find(rest, now, code)
    with suppress(OverflowError):  # a day that has no time here
        if found and found.dated and isinstance(found.trigger, DateTrigger):
            rest, day = found.rest, found.trigger.when.astimezone(now.tzinfo).date()
            while day > today and str(day.year) not in text:  # without a year it is the last one
                day -= relativedelta(years=1)
            days = days or [day, day]
    return days, rest


def later(said: str, was: datetime, now: datetime, code: str, about: str) -> datetime | None:
    """The new time of what was planned: a day alone keeps the time of day, a time of day alone the day.

    An hour alone is of that half of the day in which it is nearer. None where the words are no single time.
    """
    was = was.astimezone(now.tzinfo)
    new = try_find(said, now, code, about, was.time())
    if new is not None and not new.dated:
        new = try_find(said, was - _HALF_A_DAY / 2, code, None)
    if new is None or not isinstance(new.trigger, DateTrigger):
        return None
    moment = new.trigger.when.astimezone(now.tzinfo)
    if not new.dated:
        return datetime.combine(was.date(), moment.time(), was.tzinfo)
    in_days = moment.time() == now.time()  # "in 3 days" is a day alone, too
    return datetime.combine(moment.date(), was.time(), was.tzinfo) if in_days else moment


def moved_to(said: str, was: datetime, now: datetime, code: str, about: str, *, by: bool) -> datetime | None:
    """The new time of what was planned, moved by a span or to a time; the next such time, if today's is over."""
    at = coming(said, was, code) if by else later(said, was, now, code, about)
    return coming(said, now, code) if at and at <= now else at


def is_at(said: str, planned: datetime, now: datetime, code: str, about: str) -> bool:
    """Whether these words name the time for which something is planned."""
    at = later(said, planned, now, code, about)
    return at is not None and abs(at - planned) < timedelta(minutes=1)


def without_due(text: str, due: re.Match[str], now: datetime, code: str) -> tuple[str, str]:
    """A text without its due time, which begins the group "when", and the words of that time; none if they are none."""
    found = try_find(due["when"], now, code)
    said = "" if found is None else found.said if any(map(str.isalnum, found.left)) else due["when"]
    if not said or not due["when"].startswith(said):
        return text, ""
    return " ".join(f"{text[: due.start()]}{due['when'].removeprefix(said)}{text[due.end() :]}".split()), said


def without_end(said: str) -> tuple[str, str]:
    """A text without "to 22:00" of "from 20:00 to 22:00", and that end where there is one."""
    found = re.search(_FROM_TO, said)
    if found is None or not (found["mark"] or found["mark2"] or found[0][0].isalpha()):  # 2-3 may be a number
        return said, ""
    half = found["mark2"] if found["mark2"].strip().casefold()[:1] in ("a", "p") else ""  # from 8 to 10pm
    begin = f"{found['hour']}{found['mark'] or half or ':00'}"
    return f"{said[: found.start()]}{begin}{said[found.end() :]}", f"{found['hour2']}{found['mark2'] or ':00'}"
