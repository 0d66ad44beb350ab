"""Triggers: once, at intervals, by a crontab line, or by an RFC 5545 rule. Values, and pure functions.

`next_run` returns the first time after another. A trigger is stored as JSON (`dump` and `load`). It is checked when it
is created (`require`) or imported (`require_stored`), so that none never fires or is too expensive to compute.
"""

import json
import re
from datetime import datetime, timedelta
from typing import TypeAlias, assert_never

from msgspec import Struct

from memory.store.clock import from_text, to_text
from memory.store.errors import Refused
from memory.store.records import asdict
from scheduler.cron import read_crontab
from scheduler.rrules import Rule, check_rule
from scheduler.times_in_words import clock_words, crontab_words, rule_words
from scheduler.zones import instant, zone_of
from texts import _, ngettext, source

SHORTEST = timedelta(seconds=1)
_UNITS = (("DAILY", 86_400), ("HOURLY", 3_600), ("MINUTELY", 60))
_OF_A_ZONE = re.compile(r"BY\w+=[^;]*,|\d:\d\d")
"""Several days in a rule, or a time of day in its words."""
_GAP = timedelta(hours=3)  # more than any clock change


class DateTrigger(Struct, frozen=True):
    """Once. `when` is in UTC."""

    when: datetime


class IntervalTrigger(Struct, frozen=True):
    """At intervals from `start`, in elapsed time."""

    interval: timedelta
    start: datetime


class CronTrigger(Struct, frozen=True):
    """By a crontab line, in a time zone."""

    line: str
    zone: str = "UTC"


class RecurrenceTrigger(Struct, frozen=True):
    """By an RFC 5545 rule from `start` (naive local time); each time is `ahead` before the occurrence."""

    rule: str
    start: datetime
    zone: str
    ahead: timedelta = timedelta()


Trigger: TypeAlias = DateTrigger | IntervalTrigger | CronTrigger | RecurrenceTrigger


def next_run(trigger: Trigger, after: datetime) -> datetime | None:
    """The first due time after `after`, in UTC; None if there is none."""
    match trigger:
        case DateTrigger(when):
            return when if when > after else None
        case IntervalTrigger(interval, start):
            return start + ((after - start) // interval + 1) * interval
        case CronTrigger(line, zone):
            return read_crontab(line, zone).following(after)
        case RecurrenceTrigger():
            return _recurrence(trigger, after)
        case _:
            assert_never(trigger)


def due_between(trigger: Trigger, first: datetime, last: datetime, most: int = 10_000) -> list[datetime]:
    """The due times after `first` up to `last`, at most the first `most`."""
    found: list[datetime] = []
    moment = next_run(trigger, first)
    while moment is not None and moment <= last and len(found) < most:
        found.append(moment)
        moment = next_run(trigger, moment)
    return found


def newest_due(trigger: Trigger, first: datetime, now: datetime) -> datetime:
    """The newest due time up to now, starting with `first`."""
    if isinstance(trigger, IntervalTrigger):
        return first + (now - first) // trigger.interval * trigger.interval
    for back in (timedelta(hours=1), timedelta(days=1), timedelta(days=31), timedelta(days=366), now - first):
        if recent := due_between(trigger, max(first, now - back), now):
            return recent[-1]
    return first


def require(trigger: Trigger, now: datetime) -> datetime:
    """The first due time. Raises Refused with a message for an invalid trigger or one that never fires."""
    found = _checked_run(trigger, now)
    if found is None:
        if isinstance(trigger, DateTrigger):
            raise Refused("That time is in the past.")
        raise Refused("That will never occur again. Choose a time in the future.")
    return found


def _checked_run(trigger: Trigger, now: datetime) -> datetime | None:
    match trigger:
        case IntervalTrigger(interval) if interval < SHORTEST:
            raise Refused("an interval must be at least one second")
        case RecurrenceTrigger(rule):
            check_rule(rule)
        case _:
            pass
    return next_run(trigger, now)


def dump(trigger: Trigger) -> str:
    match trigger:
        case DateTrigger(when):
            return json.dumps({"at": to_text(when)})
        case IntervalTrigger(interval, start):
            return json.dumps({"every": interval.total_seconds(), "start": to_text(start)})
        case CronTrigger():
            return json.dumps({"cron": trigger.line, "zone": trigger.zone})
        case RecurrenceTrigger():
            kept = asdict(trigger) | {"start": trigger.start.isoformat(), "ahead": trigger.ahead.total_seconds()}
            return json.dumps(kept)
        case _:
            assert_never(trigger)


def load(text: str) -> Trigger:
    kept = json.loads(text)
    if "at" in kept:
        return DateTrigger(from_text(kept["at"]))
    if "every" in kept:
        return IntervalTrigger(timedelta(seconds=kept["every"]), from_text(kept["start"]))
    if "cron" in kept:
        return CronTrigger(kept["cron"], kept["zone"])
    ahead = timedelta(seconds=kept["ahead"])
    return RecurrenceTrigger(kept["rule"], datetime.fromisoformat(kept["start"]), kept["zone"], ahead)


def require_stored(text: str, now: datetime) -> None:
    """Raise Refused or ValueError for a stored trigger that could not be computed; it may be over."""
    try:
        _checked_run(load(text), now)
    except (LookupError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError("this is no trigger") from error


def next_after_failure(text: str, now: datetime) -> datetime | None:
    """The next due time of a stored trigger; None also for one that cannot be read."""
    try:
        return next_run(load(text), now)
    except (Refused, ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return None


def rule_of(text: str) -> str:
    """The RFC 5545 rule of a stored trigger; empty for any other kind."""
    trigger = load(text)
    return trigger.rule if isinstance(trigger, RecurrenceTrigger) else ""


def shown(trigger: Trigger, now: datetime, zone: str) -> str:
    """The next due time in a zone, and how it repeats."""
    moment = next_run(trigger, now)
    if moment is None:
        return "never again"
    again = f", {rule_words(trigger.rule)}" if isinstance(trigger, RecurrenceTrigger) else ""
    return f"{clock_words(moment, zone)} ({zone}{again})"


def rule_text(trigger: Trigger) -> str:
    """The rule as it was entered, for programs."""
    match trigger:
        case DateTrigger(when):
            return to_text(when)
        case IntervalTrigger(interval):
            return f"every {interval.total_seconds():g} s"
        case CronTrigger(rule, zone) | RecurrenceTrigger(rule, _, zone):
            return f"{rule} ({zone})"
        case _:
            assert_never(trigger)


def words(trigger: Trigger) -> str:
    match trigger:
        case DateTrigger(when):
            return _("once, {at}", at=when)
        case IntervalTrigger(interval):
            return _every(int(interval.total_seconds()))
        case CronTrigger(line, zone):
            return _in_zone(crontab_words(line, zone), line, zone)
        case RecurrenceTrigger(rule, _start, zone):
            return _in_zone(rule_words(rule, dated=source() != "discord"), rule, zone)
        case _:
            assert_never(trigger)


def _in_zone(said: str, rule: str, zone: str) -> str:
    """The zone is said beside times and days of it; Discord's timestamps are each reader's own.

    On Discord, a rule that has no words is not shown.
    """
    if source() == "discord" and said == rule:
        return _("at set times")
    return f"{said} ({zone})" if said == rule or _OF_A_ZONE.search(f"{rule} {said}") else said


def _every(seconds: int) -> str:
    if seconds % 60:
        return ngettext("every second", "every {count} seconds", seconds)
    unit, size = next(each for each in _UNITS if seconds % each[1] == 0)
    return rule_words(f"FREQ={unit};INTERVAL={seconds // size}")


def _recurrence(trigger: RecurrenceTrigger, after: datetime) -> datetime | None:
    zone = zone_of(trigger.zone)
    around = (after + trigger.ahead).astimezone(zone).replace(tzinfo=None) - _GAP
    for wall in Rule(trigger.rule, trigger.start, trigger.zone).walls(around):
        moment = instant(wall, zone) - trigger.ahead
        if moment > after:
            return moment
    return None
