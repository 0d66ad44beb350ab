"""What a sentence wants of reminders, tasks, events and of the past. Pure: a text goes in, a wish comes out."""

import functools
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from bot.models.offline.language import Language
from bot.models.offline.text import content_words, date_words, month_and_day
from memory.store.errors import StoreError
from scheduler.dates import Found, find_when
from scheduler.triggers import next_run

_TRAILING = " \t\n.!。！…?？"
_QUOTED = "\"“”„«»「」'"
_SNOOZED = 10  # minutes, where none are said
_ISO = r"\b(\d{4})-(\d{2})-(\d{2})\b"
_MARK = r"[:.]\d\d(?: ?[ap]m)?|時(?:半|\d{1,2}分)?| ?[ap]m| ?uhr|"
_FROM_TO = (
    rf"(?i)(?:\b(?:from|von|at|um) )?(?<![0-9A-Za-z:.-])(?P<hour>\d{{1,2}})(?P<mark>{_MARK})"
    rf" ?(?:to|until|till|bis|-|–|から) ?(?P<hour2>\d{{1,2}})(?P<mark2>{_MARK})(?:まで)?(?![0-9A-Za-z:-])"
)


class Span(NamedTuple):
    """From one day to another, both inside; in UTC, as everything is stored."""

    first: date
    last: date

    @property
    def bounds(self) -> dict[str, str]:
        """As a search takes them."""
        return {
            "since": f"{self.first.isoformat()}T00:00:00Z",
            "until": f"{_shift(self.last, 1).isoformat()}T00:00:00Z",
        }

    def words(self, language: Language) -> str:
        days = dict.fromkeys((self.first, self.last))
        return " – ".join(date_words(day, language) for day in days)


@dataclass(frozen=True)
class LookBack:
    """What was said in a span of days, perhaps about something."""

    span: Span
    topic: tuple[str, ...]


@dataclass(frozen=True)
class Remind:
    """Something to be told at a time; `when` in the person's words. `instead` is the text of the one it replaces."""

    text: str
    when: str
    instead: str = ""


@dataclass(frozen=True)
class AddTask:
    title: str


@dataclass(frozen=True)
class AddEvent:
    """Something that happens at a time; `when` in the person's words."""

    title: str
    when: str
    ends: str = ""


@dataclass(frozen=True)
class Listing:
    """What a tool keeps: reminders, tasks or events; perhaps of so many days only."""

    tool: str
    days: int = 0


@dataclass(frozen=True)
class Finish:
    """A task or reminder is done. Where that is only `perhaps` meant and none fits, it was just said."""

    what: str
    perhaps: bool = False


@dataclass(frozen=True)
class Cancel:
    """A task, a reminder or an event is not wanted any more."""

    what: str


@dataclass(frozen=True)
class Snooze:
    """A reminder is to come again later."""

    what: str
    minutes: int


@dataclass(frozen=True)
class Unclear:
    """What is missing of a wish is asked for; `said` is what there is of it."""

    question: str
    said: str = ""


Agenda: TypeAlias = Remind | AddTask | AddEvent | Listing | Finish | Cancel | Snooze | Unclear
# ------------------------------------------------------------------------------------------------------- looking back


def look_back(sentence: str, language: Language, now: datetime) -> LookBack | None:
    if language.begins("talked", sentence) is None:
        return None
    today = now.date()
    span, rest = _span(sentence, language, today), sentence
    days = [pattern for pattern, _ in language.days]
    for pattern in (*language.patterns("search", "date"), *days, *language.patterns("search", "weekdays")):
        rest = pattern.sub(" ", rest)
    rest = re.sub(_ISO, " ", rest)
    filler = language.words("filler")
    topic = tuple(word for word in content_words(rest, language) if word not in filler)
    if span is None and topic:
        return None
    return LookBack(span or Span(_shift(today, -6), today), topic)


def _span(text: str, language: Language, today: date) -> Span | None:
    """The days a text speaks of; None when it names none."""
    for pattern, rule in language.days:
        if pattern.search(text):
            return _by_rule(rule, today)
    for number, weekday in enumerate(language.patterns("search", "weekdays")):
        if weekday.search(text):
            day = _shift(today, -((today.weekday() - number - 1) % 7 + 1))
            return Span(day, day)
    try:
        if iso := re.search(_ISO, text):
            day = date(int(iso[1]), int(iso[2]), int(iso[3]))
            return Span(day, day)
        if found := language.search("date", text):
            day = date(today.year, *month_and_day(found, language))
            day = day if day <= today else date(today.year - 1, *month_and_day(found, language))
            return Span(day, day)
    except ValueError:
        pass
    return None


def _by_rule(rule: str, today: date) -> Span:
    unit, number = rule.split(":")
    if unit == "day":
        return Span(_shift(today, int(number)), _shift(today, int(number)))
    if unit == "week":
        monday = _shift(today, 7 * int(number) - today.weekday())
        return Span(monday, _shift(monday, 6))
    first = today.replace(day=1)
    first = _shift(first, -1).replace(day=1) if int(number) < 0 else first
    return Span(first, _shift(_shift(first, 31).replace(day=1), -1))


def _shift(day: date, days: int) -> date:
    """Some days later, or the end of the calendar."""
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return date.max if days > 0 else date.min


# ------------------------------------------------------------------------------------------- reminders, tasks, events


def wish(sentence: str, language: Language, now: datetime) -> Agenda | None:
    """What is wanted of reminders, tasks and events; None where a sentence wants nothing of the kind."""
    for tool in ("reminders", "tasks", "events"):
        if found := language.begins(f"agenda_{tool}", sentence):
            groups = found.groupdict()
            return Listing(tool, next((int(name[4:]) for name, said in groups.items() if said), 0))
    for pattern in language.patterns("begin", "agenda_remind"):
        if (found := pattern.match(sentence)) and _begins_with_time(found, now, language):
            said = " ".join(filter(None, found.groups()))
            return _timed(said, language, now, Remind, ("remind_when", "remind_what"), sentence)
    for kind in ("timer", "alarm"):
        if found := language.begins(f"agenda_{kind}", sentence):
            return _alarm(found, kind, language, now)
    if found := language.begins("agenda_event", sentence):
        said, ends = _without_end(found["what"])
        made = functools.partial(AddEvent, ends=ends)
        return _timed(said, language, now, made, ("event_when", "event_what"), sentence)
    if found := language.begins("agenda_snooze", sentence):
        return _snooze(found, language, now)
    kinds: dict[str, Callable[[str], Agenda]] = {
        "task": AddTask,
        "done": Finish,
        "cancel": Cancel,
        "done_perhaps": functools.partial(Finish, perhaps=True),
    }
    for name, make in kinds.items():
        if (found := language.begins(f"agenda_{name}", sentence)) and (what := _unquoted(found["what"])):
            return make(what)
    return None


def _unquoted(what: str) -> str:
    """A title without the quotation marks around it."""
    what = what.strip(_TRAILING + ":")
    return what.strip(_QUOTED) if what[:1] in _QUOTED and what[-1:] in _QUOTED else what


def _alarm(found: re.Match[str], kind: str, language: Language, now: datetime) -> Agenda:
    """A timer for so long, perhaps of something; or being waked at a time."""
    text = (found.groupdict().get("for") or "").strip(_TRAILING) or language.say(kind)
    when = time_alone(found["when"].replace("-", " "), now, language)
    return Remind(text, when) if when else Unclear("remind_when", found[0].strip(_TRAILING))


def _snooze(found: re.Match[str], language: Language, now: datetime) -> Agenda:
    """A reminder by its words, and for how long."""
    when = time_alone(found["for"] or "", now, language)
    later = _moment(_found(when, now, language), now) if when else None
    minutes = _SNOOZED if later is None else max(1, round((later - now).total_seconds() / 60))
    return Snooze(_unquoted(found["what"]), minutes)


def corrected(wanted: Remind, said: str, now: datetime, language: Language) -> Remind | None:
    """A reminder at another time, which was said right after it: an hour alone is of the same day."""
    when = time_alone(said, now, language)
    old, new = _found(wanted.when, now, language), _found(when, now, language) if when else None
    if when is None or new is None:
        return None
    was = _moment(old, now)
    if old and old.dated and not new.dated and was:
        midnight = was.astimezone(now.tzinfo).replace(hour=0, minute=0)
        meant = _moment(_found(when, midnight, language), midnight)
        when = f"{(meant or was).astimezone(now.tzinfo):%Y-%m-%d %H:%M}"
    return Remind(wanted.text, when, instead=wanted.text)


def _moment(found: Found | None, now: datetime) -> datetime | None:
    return None if found is None else next_run(found.trigger, now)


def _without_end(said: str) -> tuple[str, str]:
    """What is said of an event without "to 22:00" of "from 20:00 to 22:00", and that end; empty where there is none."""
    found = re.search(_FROM_TO, said)
    if found is None or not (found["mark"] or found["mark2"]):
        return said, ""
    half = found["mark2"] if found["mark2"].strip().casefold()[:1] in ("a", "p") else ""  # from 8 to 10pm
    begin = f"{found['hour']}{found['mark'] or half or ':00'}"
    return f"{said[: found.start()]}{begin}{said[found.end() :]}", f"{found['hour2']}{found['mark2'] or ':00'}"


def _zone(now: datetime) -> str:
    return now.tzinfo.key if isinstance(now.tzinfo, ZoneInfo) else "UTC"


def _found(said: str, now: datetime, language: Language) -> Found | None:
    """The time in some words; None as well for a day that does not exist."""
    with suppress(StoreError):
        return find_when(said, now, _zone(now), language.code)
    return None


def time_alone(said: str, now: datetime, language: Language) -> str | None:
    """The words of a time, where there is nothing else; a number of minutes alone is a time from now."""
    said = said.strip(_TRAILING)
    for text in (said, *language.spans(said)):
        found = _found(text, now, language)
        if found is not None and not any(letter.isalnum() for letter in found.left):
            return text
    return None


def _begins_with_time(found: re.Match[str], now: datetime, language: Language) -> bool:
    """Whether what stands before a wish is nothing but its time; nothing may stand there, too."""
    first = found.groupdict().get("first")
    return first is None or time_alone(first, now, language) is not None


def _timed(
    said: str,
    language: Language,
    now: datetime,
    kind: Callable[[str, str], Agenda],
    questions: tuple[str, str],
    sentence: str,
) -> Agenda:
    """Words with a time in them; `questions` ask when, and what."""
    try:
        found = find_when(said, now, _zone(now), language.code)
    except StoreError:  # a day that does not exist: the tool says so
        return kind(said, said)
    if found is None:
        return Unclear(questions[0], sentence.strip(_TRAILING))
    (lead,) = language.patterns("search", "agenda_lead")
    text = lead.sub("", lead.sub("", found.rest)).strip()
    return kind(_unquoted(text), found.said) if text else Unclear(questions[1])
