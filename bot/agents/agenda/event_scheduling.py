"""Events: set, listed, and announced once each, some minutes before. `memory.agenda.calendar_events` has the rows."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from bot.agents.agenda.delivery_to_a_person import PersonalMessages
from bot.agents.agenda.reminder_scheduling import clock_text, is_span, lateness, repetition, require_speaking_later
from bot.agents.agenda.tasks import find_one
from memory import jobs
from memory.agenda import calendar_events
from memory.agenda.calendar_events import ANNOUNCED, Event
from memory.jobs import EventDue, NewJob
from memory.people import person_settings
from memory.queue import outbox
from memory.store.clock import to_text
from memory.store.database import Tx
from memory.store.errors import Refused
from memory.store.ids import EventId, PersonId, snowflakes
from memory.store.records import replace
from scheduler import triggers
from scheduler.dates import later, read_when
from scheduler.job_kinds import DueJob, JobResult, Kinds, QueueJob
from scheduler.times_in_words import clock_words, time_words
from scheduler.triggers import DateTrigger, RecurrenceTrigger, Trigger
from scheduler.zones import zone_of
from texts import _, gettext_lazy, gettext_noop, language

EVENT = "event"
REMINDER_MINUTES = 15
_MOST_MINUTES = 60 * 24 * 31
_EVENING = 17
_GRACE = timedelta(hours=12)  # an event that began longer ago is not announced


class EventTimes(Struct, frozen=True):
    """When an event happens, in words or ISO 8601; the end is relative to the day of the beginning."""

    when: str
    ends: str = ""
    minutes: int = REMINDER_MINUTES
    """Minutes before the event at which it is announced; 0 means at its start, -1 not at all."""


def plan(
    tx: Tx, new: Event, times: EventTimes, people: tuple[PersonId, ...], default_zone: str, now: datetime
) -> Event:
    """Store an event with its job. Raises Refused with a message."""
    if not -1 <= times.minutes <= _MOST_MINUTES:
        raise Refused(
            "A reminder can come 0 to {MOST_MINUTES} minutes before an event.", MOST_MINUTES=f"{_MOST_MINUTES:,}"
        )
    if times.minutes >= 0:
        require_speaking_later(new.place, new.audience)
    zone = person_settings.of(tx, people).zone or default_zone
    trigger = read_when(times.when, now, zone, new.title)
    first = triggers.require(trigger, now)
    ends = None if not times.ends else _end(times.ends, first, now, zone)
    minutes = None if times.minutes < 0 else times.minutes
    return _keep(tx, replace(new, zone=zone, starts_at=first, ends_at=ends, reminder_minutes=minutes), trigger, now)


def move(tx: Tx, event: Event, when: str, people: tuple[PersonId, ...], default_zone: str, now: datetime) -> Event:
    """Reschedule an event with the same duration: a day alone keeps the time, a time alone the day. Raises Refused."""
    zone = person_settings.of(tx, people).zone or default_zone
    was = event.starts_at.astimezone(zone_of(zone))
    at = later(when, was, now.astimezone(zone_of(zone)), language(), event.title)
    if at is not None and repetition(event.trigger):
        raise Refused("This event repeats. Give its new schedule, such as “every Monday at 8”.")
    trigger = DateTrigger(at.astimezone(UTC)) if at else read_when(when, now, zone, event.title, was.time())
    first = triggers.require(trigger, now)
    moved = replace(event, id=EventId(snowflakes.next()), zone=zone, starts_at=first, ends_at=end_of(first, event))
    calendar_events.cancel(tx, event, now)
    return _keep(tx, moved, trigger, now)


def _keep(tx: Tx, new: Event, trigger: Trigger, now: datetime) -> Event:
    kept = calendar_events.add(tx, replace(new, trigger=triggers.dump(trigger)), now)
    if kept.reminder_minutes is not None:
        _remember(tx, kept, trigger, now)
    return kept


def _end(said: str, first: datetime, now: datetime, zone: str) -> datetime:
    """When an event ends: a time without a day is on the day it begins; a day is relative to now. Raises Refused."""
    moments = [triggers.next_run(read_when(said, now, zone), now)]
    if (early := _since(said, now, zone)) and early - first < timedelta(hours=12):  # from 5 am to 6:30
        moments.append(early)
    dated, span = _names_a_day(said, now, zone), is_span(said, now, zone)
    if not dated:
        moments += [_since(said, since, zone) for since in ([] if span else [_midnight(first, zone)]) + [first]]
    ends = min((moment for moment in moments if moment is not None and moment > first), default=None)
    if ends is None or not (dated or span or _same_night(first, ends, zone)):
        raise Refused("The event would end before it starts.")
    return ends


def _same_night(first: datetime, ends: datetime, zone: str) -> bool:
    """Whether an event is over on the day on which it begins, or in the night or morning after its evening."""
    begun, over = (each.astimezone(zone_of(zone)) for each in (first, ends))
    return begun.date() == over.date() or (begun.hour >= _EVENING and over.hour < 12)


def _names_a_day(said: str, now: datetime, zone: str) -> bool:
    """Whether a text names a certain day, so that its meaning depends on now; a duration does not."""
    midnight = _midnight(now, zone)
    early = None if is_span(said, now, zone) else _since(said, midnight, zone)
    return early is not None and early.astimezone(zone_of(zone)).date() != midnight.date()


def _midnight(moment: datetime, zone: str) -> datetime:
    return moment.astimezone(zone_of(zone)).replace(hour=0, minute=0, second=0, microsecond=0)


def _since(said: str, since: datetime, zone: str) -> datetime | None:
    """The time that a text means when written at `since`; None if that is earlier."""
    with suppress(Refused):
        return triggers.next_run(read_when(said, since, zone, None), since)
    return None


def _remember(tx: Tx, event: Event, trigger: Trigger, now: datetime) -> None:
    """Store the job that announces the event; if that time has passed, it is announced at once."""
    ahead = timedelta(minutes=event.reminder_minutes or 0)
    planned = event.starts_at - ahead
    first = max(planned, now + timedelta(seconds=1))
    sooner = ""
    before: Trigger = DateTrigger(first)
    if isinstance(trigger, RecurrenceTrigger):
        before = replace(trigger, ahead=ahead)
        sooner = to_text(first) if first > planned else ""
    named, made = calendar_events.job_id(event.id), triggers.dump(before)
    payload = EventDue(event.id, sooner)
    job = NewJob(named, EVENT, made, first, payload, event.person, event.audience, _GRACE)
    jobs.put(tx, job, now)


def upcoming(found: list[Event], now: datetime, days: int = 31) -> list[tuple[datetime, Event]]:
    """The events within so many days, with their times, the next first; a repeating one with its next time."""
    until = now + timedelta(days=days)
    timed = [(triggers.next_run(triggers.load(each.trigger), now), each) for each in found]
    return sorted(
        ((at, each) for at, each in timed if at is not None and at <= until), key=lambda one: (one[0], one[1].id)
    )


def occurrences(found: list[Event], now: datetime, until: datetime) -> list[tuple[datetime, Event]]:
    """When these events begin up to then, once per repetition."""
    return [(at, each) for each in found for at in triggers.due_between(triggers.load(each.trigger), now, until)]


def lines(found: list[tuple[datetime, Event]], zone: str) -> list[str]:
    """Events as lines for a person, in their time zone."""
    return [
        f"- {clock_words(at, zone)}{_until(at, each, zone)} {each.title}{_again(each)} `{each.id}`"
        for at, each in found
    ]


def end_of(at: datetime, event: Event) -> datetime | None:
    """When the occurrence that begins at `at` ends, or None."""
    return None if event.ends_at is None else at + (event.ends_at - event.starts_at)


def on_clocks(at: datetime, event: Event, zone: str) -> str:
    """When it happens in a time zone, with the zone's name, and how it repeats."""
    span = f"{clock_words(at, zone)}{_until(at, event, zone)} {zone}"
    return ", ".join(filter(None, (span, repetition(event.trigger))))


def _until(at: datetime, event: Event, name: str) -> str:
    """The end: the time, and the day if it is another one."""
    if (ends := end_of(at, event)) is None:
        return ""
    zone = zone_of(name)
    same = ends.astimezone(zone).date() == at.astimezone(zone).date()
    return f"–{time_words(ends.astimezone(zone))}" if same else _(" to {clock}", clock=clock_words(ends, name))


def find(found: list[Event], which: str) -> Event:
    """The event that a text refers to. Raises Refused."""
    return find_one(
        found,
        which,
        lambda event: event.title,
        gettext_noop("There is no event “{which}” here."),
        gettext_noop("Several events match “{which}”. Choose one: {listed}."),
    )


class EventJob(Struct, frozen=True):
    """Announces an event, by the rules for reminders."""

    messages: PersonalMessages

    def kinds(self) -> Kinds:
        return {EVENT: QueueJob(self.announce)}

    def announce(self, tx: Tx, firing: DueJob) -> JobResult:
        event = calendar_events.by_id(tx, firing.job.read(EventDue).event)
        if event is None or event.person is None or event.cancelled:
            return JobResult(gettext_lazy("no longer needed"))
        if self.messages.opted_out(event.person):
            calendar_events.cancel(tx, event, firing.now)
        if kept := self.messages.kept_back(tx, event.person, firing.now):
            return kept
        zone = person_settings.zone_for(tx, self.messages.selves(event.person), event.zone)
        with self.messages.speaking_to(event.person):
            where = self.messages.read_on(tx, event.person, event.place, event.audience)
            at = clock_text(_announced(event, firing), zone, where)
            text = f"📅 {at}: {event.title}{lateness(firing, zone, where)}"
        key = f"{ANNOUNCED}/{event.id}/{to_text(firing.due)}"
        row = outbox.NewRow(key, event.place, text, event.audience, person=event.person)
        self.messages.say(tx, row, firing.now)
        return JobResult(gettext_lazy("sent"))


def _announced(event: Event, firing: DueJob) -> datetime:
    """The occurrence that a due time announces."""
    first = firing.job.read(EventDue).sooner == to_text(firing.due)  # announced later than planned
    if first or not isinstance(triggers.load(event.trigger), RecurrenceTrigger):
        return event.starts_at
    return firing.due + timedelta(minutes=event.reminder_minutes or 0)


def _again(event: Event) -> str:
    words = repetition(event.trigger)
    return f" ({words})" if words else ""
