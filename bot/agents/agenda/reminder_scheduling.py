"""Setting reminders and queueing their messages, in the transaction that completes a due job. Where they are delivered
and what holds them back is in `delivery_to_a_person.py`; `bot.runtime.outbox_delivery` delivers them. One that nobody
acknowledges is repeated once.
"""

import dataclasses
import re
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from bot.agents.agenda.delivery_to_a_person import PersonalMessages
from bot.agents.agenda.quiet_hours import after_quiet, quiet_of, quiet_until
from bot.agents.agenda.tasks import find_one
from bot.agents.owner_notices import Notices, own_place
from memory import jobs
from memory.agenda import reminders
from memory.agenda.calendar_events import ANNOUNCED
from memory.agenda.reminders import ListedReminder, Reminder, Status, job_id
from memory.jobs import NewJob, ReminderDue
from memory.people import person_settings
from memory.people.audience import OWNER, Audience, Scope, person_audience
from memory.queue import inbox, outbox
from memory.queue.outbox import OutRow
from memory.store.clock import to_text
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.ids import PersonId, PlaceId, ReminderId, place_source
from memory.store.records import replace
from scheduler import triggers
from scheduler.dates import find_when, read_when
from scheduler.job_kinds import DueJob, JobResult, Kinds, QueueJob
from scheduler.times_in_words import clock_words, rule_words, time_words
from scheduler.triggers import DateTrigger, RecurrenceTrigger, shown
from scheduler.zones import Quiet, zone_of
from sources.api import SOURCE as API
from sources.bluesky.identifiers import NAME as BLUESKY
from sources.bluesky.identifiers import user_of
from texts import _, gettext_lazy, gettext_noop, language, source, speaking, timestamp

REMIND = "reminder"
"""The key prefix of outbox rows for reminders."""
ESCALATE = "reminder.again"
OFFERS = ("snooze", "done")
SNOOZE_MINUTES = 10

LATE = timedelta(seconds=30)
"""Deliveries after more than this are called late: normal ones take seconds even when the service is busy."""
_MOST_MINUTES = 60 * 24 * 31
_NEVER = datetime.max.replace(tzinfo=UTC)
_SHOWN = 8  # messages of one reminder that are updated when it is done


class PlannedReminder(Struct, frozen=True):
    """A stored reminder: its time in words in its person's zone, and a remark to translate with `_`."""

    reminder: Reminder
    at: datetime
    when: str
    note: str = ""


def plan(
    tx: Tx, new: Reminder, when: str, people: tuple[PersonId, ...], default_zone: str, now: datetime
) -> PlannedReminder:
    """Store a reminder for a time in words or ISO 8601, with its job. Raises Refused with a message.

    `people` are all accounts of its person, whose time zone applies.
    """
    require_speaking_later(new.place, new.audience)
    if not 0 <= new.escalate_minutes <= _MOST_MINUTES:
        raise Refused(
            "The time until a reminder is repeated must be 0 (never) to {MOST_MINUTES} minutes.",
            MOST_MINUTES=f"{_MOST_MINUTES:,}",
        )
    times = person_settings.of(tx, people)
    zone = times.zone or default_zone
    trigger = read_when(when, now, zone, new.text)
    first = triggers.require(trigger, now)
    kept = reminders.add(tx, replace(new, trigger=triggers.dump(trigger), zone=zone), now)
    jobs.put(tx, _job(kept, first, ""), now)
    note = "" if new.urgent else _quiet_note(quiet_until(tx, people, default_zone, first), zone)
    return PlannedReminder(kept, first, shown(trigger, now, zone), note)


def listing(rows: Rows, scope: Scope, people: tuple[PersonId, ...], default_zone: str) -> list[ListedReminder]:
    """The open reminders of these people that may be used here, the next one first, taking quiet hours into account."""
    found, quiet = reminders.listing(rows, scope, people), quiet_of(rows, people, default_zone)
    held = [replace(each, next_at=each.next_at and _arrival(each.reminder, each.next_at, quiet)) for each in found]
    return sorted(held, key=lambda each: each.next_at or _NEVER)


def occurrences(
    rows: Rows, scope: Scope, people: tuple[PersonId, ...], default_zone: str, until: datetime
) -> list[tuple[datetime, Reminder]]:
    """The times of the listed reminders up to then, once per repetition."""
    quiet, found = quiet_of(rows, people, default_zone), []
    for each in reminders.listing(rows, scope, people):
        trigger = triggers.load(each.reminder.trigger)
        times = [each.next_at] if each.next_at is not None and each.next_at <= until else []
        if times and isinstance(trigger, RecurrenceTrigger):
            times += triggers.due_between(trigger, times[0], until)
        found += [(_arrival(each.reminder, at, quiet), each.reminder) for at in times]
    return found


def _arrival(reminder: Reminder, planned: datetime, quiet: Quiet | None) -> datetime:
    return planned if reminder.urgent else after_quiet(quiet, planned)


def require_speaking_later(place: PlaceId, audience: Audience) -> None:
    """Raises Refused where no later message to one person is possible: a post is for everybody, a program only asks."""
    if place_source(place) == API and audience != OWNER:
        raise Refused(
            "I can't remind you here, because this program only gets replies to what you send. Ask me on Discord."
        )
    if place_source(place) == BLUESKY and not user_of(place):
        raise Refused(
            "I can't remind you in a thread on Bluesky, because everyone could read it. Ask me on Discord or "
            "in a direct message."
        )


PRIVATELY = gettext_noop("It will arrive in a direct message.")


def diversion_note(rows: Rows, people: tuple[PersonId, ...], place: PlaceId) -> str:
    """A note, to translate with `_`, that a person's setting keeps a reminder from arriving in this place."""
    known = inbox.place(rows, place)
    shown = known is not None and known.kind != "direct"
    return gettext_lazy(PRIVATELY) if shown and person_settings.of(rows, people).reminders == "privately" else ""


def elsewhere(notices: Notices) -> str:
    """Where a reminder of the owner arrives that was set where only answers are read, to translate with `_`."""
    if place_source(notices.place) == "discord":
        return gettext_lazy("I'll tell you in a direct message on Discord, not here.")
    return gettext_lazy("I'll tell you at the terminal, in `carina chat`, not here.")


def postpone(
    tx: Tx, reminder: Reminder, until: str | timedelta, zone: str, now: datetime, *, commanded: bool
) -> tuple[datetime, bool]:
    """Snooze a reminder that went off, for a span or until a time in words; or move one that did not go off yet, if
    the words name a time: a span could only be meant from when it rings.

    Gives the new time, and whether it was moved. Raises Refused, which says how a command moves it, or else words.
    """
    if isinstance(until, timedelta):
        at, span = now + until, True
    else:
        at, span = triggers.require(read_when(until, now, zone, reminder.text), now), is_span(until, now, zone)
    later = jobs.get(tx, job_id(reminder.id, "later"))
    snoozed = reminder.told_key and later is not None and later.next_at is not None
    ahead = reminder.status is Status.WAITING and not snoozed
    if ahead and span:
        if commanded:
            raise Refused(
                "“{text}” hasn't gone off yet, so it can't be snoozed. To move it, give a time as “until”.",
                text=reminder.text,
            )
        raise Refused(
            "“{text}” hasn't gone off yet, so it can't be snoozed. To move it, say “move {text} to tomorrow at 9”.",
            text=reminder.text,
        )
    snooze(tx, reminder, at, now)
    return at, ahead


def is_span(said: str, now: datetime, zone: str) -> bool:
    """Whether a text says how long to wait, and so means another time when it is said later."""
    later = now + timedelta(seconds=1)
    first, second = (triggers.require(read_when(said, each, zone), each) for each in (now, later))
    return second - first == later - now


def snooze(tx: Tx, reminder: Reminder, at: datetime, now: datetime) -> None:
    """Postpone a reminder to that time, replacing occurrences up to then. Raises Refused if it is over."""
    if reminder.status in (Status.DONE, Status.CANCELLED):
        raise Refused("That reminder is already done.")
    jobs.drop(tx, job_id(reminder.id, "again"))
    _skip(tx, reminder, at)
    jobs.put(tx, _job(reminder, at, "later"), now)
    if reminder.status is not Status.WAITING:
        reminders.set_status(tx, reminder.id, Status.WAITING, now)
    _show_snoozed(tx, reminder, at, now)


def _skip(tx: Tx, reminder: Reminder, until: datetime) -> None:
    """Skip planned occurrences: the only one, or those up to `until` of a repeating reminder; also the next one, if
    that is the one being moved, that is, if nothing is due and nothing was moved before."""
    planned, moved = jobs.get(tx, job_id(reminder.id)), jobs.get(tx, job_id(reminder.id, "later"))
    if planned is None or planned.next_at is None:
        return
    if reminder.status is Status.WAITING and (moved is None or moved.next_at is None):
        until = max(until, planned.next_at)
    trigger = triggers.load(reminder.trigger)
    following = triggers.next_run(trigger, until) if isinstance(trigger, RecurrenceTrigger) else None
    if following is None:
        jobs.drop(tx, planned.id)
    elif planned.next_at <= until:
        jobs.plan(tx, planned.id, following)


def finish(tx: Tx, reminder: Reminder, now: datetime) -> None:
    """Acknowledge a reminder; a repeating one continues. Its messages are updated."""
    if isinstance(triggers.load(reminder.trigger), RecurrenceTrigger):
        for suffix in ("again", "later"):
            jobs.drop(tx, job_id(reminder.id, suffix))
        reminders.set_status(tx, reminder.id, Status.WAITING, now)
    else:
        reminders.end(tx, reminder, Status.DONE, now)
    _show(tx, reminder, "✓ ", now)


def cancel(tx: Tx, reminder: Reminder, now: datetime) -> None:
    """Cancel a reminder with all repetitions."""
    reminders.end(tx, reminder, Status.CANCELLED, now)
    _show(tx, reminder, "✗ ", now)


def find(found: list[ListedReminder], which: str, zone: str) -> Reminder:
    """The reminder that a text refers to. Raises Refused."""
    due: dict[int | str, str] = {
        each.reminder.id: f", {clock_words(each.next_at, zone)}" for each in found if each.next_at
    }
    none = gettext_noop("There is no open reminder “{which}” here.")
    several = gettext_noop("Several reminders match “{which}”. Choose one: {listed}.")
    return find_one([each.reminder for each in found], which, lambda each: each.text, none, several, due)


def split_request(text: str, now: datetime, zone: str) -> tuple[str, str]:
    """Split a text into what to be reminded of, and when. Raises Refused if one is missing."""
    found = find_when(text, now, zone)
    what = "" if found is None else re.sub(r"^(to|of|about|that)\s+", "", found.rest.strip(" ,;:"), flags=re.IGNORECASE)
    if found is None:
        raise Refused("Please also say when, such as “in 20 minutes”, “tomorrow at 9” or “every Monday at 8”.")
    if not what:
        raise Refused("Please also say what to remind you of.")
    return what, found.said


def is_swapped(text: str, when: str, now: datetime, zone: str) -> bool:
    """Whether the text is only a time, and the time has none."""
    found = None if find_when(when, now, zone) else find_when(text, now, zone)
    return found is not None and not found.left.strip()


def clock_text(moment: datetime, zone: str, read_on: str) -> str:
    """A time as it is read there: on Discord a timestamp, which each reader sees in their own zone."""
    return timestamp(moment) if read_on == "discord" else clock_words(moment, zone)


def lateness(firing: DueJob, zone: str, read_on: str) -> str:
    """A remark after a reminder that comes late because the service was down; else empty.

    A reminder delayed by quiet hours was due at their end.
    """
    held = firing.job.held_until
    promised = firing.due if held is None else max(firing.due, held)
    if firing.asked or firing.now - promised < LATE:
        return ""
    return _(" (due {clock}, while I wasn't running)", clock=clock_text(promised, zone, read_on))


def lines(found: list[ListedReminder], zone: str) -> list[str]:
    """Open reminders as numbered lines for a person, in their time zone."""
    return [f"- {each.reminder.text} ({_state(each, zone)}) `{each.reminder.id}`" for each in found]


def status_words(listed: ListedReminder) -> str:
    """The status of a reminder, to translate with `_`; empty if it only waits for its time."""
    if listed.paused:
        return gettext_lazy("paused")
    if listed.undelivered:
        return gettext_lazy("due, not delivered yet")
    return "" if listed.reminder.status is Status.WAITING else gettext_lazy("went off, not done yet")


class ReminderJob(Struct, frozen=True):
    """Queues due reminders."""

    messages: PersonalMessages

    def kinds(self) -> Kinds:
        return {REMIND: QueueJob(self.remind), ESCALATE: QueueJob(self.remind)}

    def remind(self, tx: Tx, firing: DueJob) -> JobResult:
        """Queue the message, and plan its repetition; or repeat a message that nobody has acknowledged."""
        reminder, again = reminders.by_id(tx, firing.job.read(ReminderDue).reminder), firing.job.kind == ESCALATE
        if reminder is None or reminder.person is None or reminder.status in (Status.DONE, Status.CANCELLED):
            return JobResult(gettext_lazy("no longer needed"))
        if again and reminder.status is not Status.TOLD:
            return JobResult(gettext_lazy("no longer needed"))
        if self.messages.opted_out(reminder.person):
            reminders.end(tx, reminder, Status.CANCELLED, firing.now)
        if kept := self.messages.kept_back(tx, reminder.person, firing.now, urgent=reminder.urgent):
            return kept
        zone = person_settings.zone_for(tx, self.messages.selves(reminder.person), reminder.zone or self.messages.zone)
        key = f"{reminder.told_key}/again" if again else f"{REMIND}/{reminder.id}/{to_text(firing.due)}"
        with self.messages.speaking_to(reminder.person):
            audience, person, agent = reminder.audience, reminder.person, reminder.agent
            read_on = self.messages.read_on(tx, person, reminder.place, audience)
            text = f"⏰ {reminder.text}{lateness(firing, zone, read_on)}"
            text = _("⏰ Still open: {reminder_text}", reminder_text=reminder.text) if again else text
            row = outbox.NewRow(key, reminder.place, text, audience, person=person, agent=agent)
            self.messages.say(tx, row, firing.now, outbox.PressButtons(REMIND, reminder.id, OFFERS, language()))
        reminders.set_status(tx, reminder.id, Status.ESCALATED if again else Status.TOLD, firing.now, key)
        if reminder.escalate_minutes and not again:
            at = firing.now + timedelta(minutes=reminder.escalate_minutes)
            jobs.put(tx, _job(reminder, at, "again", ESCALATE), firing.now)
        return JobResult(gettext_lazy("sent"))


def send_privately(tx: Tx, row: OutRow, now: datetime) -> bool:
    """Send a message to its person alone if its place refuses it; False if there is nothing to do."""
    what, _slash, rest = row.key.partition("/")
    if what not in (REMIND, ANNOUNCED) or not isinstance(row.detail, outbox.TextDetail) or not row.detail.mentions:
        return False
    person = row.detail.mentions[0]
    words = row.content.removeprefix(f"<@{person.partition(':')[2]}> ")
    key, detail = f"{row.key}/alone", dataclasses.replace(row.detail, mentions=())
    text = _("{words} (I can no longer reach the place where you set this)", words=words)
    new = outbox.NewRow(key, own_place(person), text, person_audience(person), person=person, detail=detail)
    outbox.add(tx, new, now)
    outbox.mark_closed(tx, row.id, outbox.Status.WITHDRAWN, row.last_error)
    if what == REMIND:
        reminders.follow(tx, ReminderId(int(rest.partition("/")[0])), row.key, key)
    return True


def _job(reminder: Reminder, at: datetime, suffix: str, kind: str = REMIND) -> NewJob:
    trigger = triggers.dump(DateTrigger(at)) if suffix else reminder.trigger
    payload = ReminderDue(reminder.id)
    return NewJob(job_id(reminder.id, suffix), kind, trigger, at, payload, reminder.person, reminder.audience)


def _show(tx: Tx, reminder: Reminder, mark: str, now: datetime) -> None:
    """Mark a reminder's messages as done and remove the buttons; unsent ones are withdrawn.

    Of a repeating reminder only the last message: earlier ones were not done by that.
    """
    repeats, last = isinstance(triggers.load(reminder.trigger), RecurrenceTrigger), _last_told(reminder)
    for row in _messages(tx, reminder)[-_SHOWN:]:
        if outbox.withdraw(tx, row.id) or not row.content:
            continue
        earlier = repeats and not row.key.startswith(last)
        if earlier and outbox.of_prefix(tx, f"{row.key}/snoozed/"):
            continue  # its text has the new time, and the buttons are gone
        shown = row.content if earlier else f"{mark}{row.content}"
        outbox.add_edit(tx, row, "shown", shown, now, person=reminder.person)


def _show_snoozed(tx: Tx, reminder: Reminder, at: datetime, now: datetime) -> None:
    """Show the new time in the last messages of a reminder, in place of the buttons; unsent ones are withdrawn."""
    for row in _messages(tx, reminder):
        done = outbox.of_key(tx, f"{row.key}/shown") is not None
        if done or not row.key.startswith(_last_told(reminder)) or outbox.withdraw(tx, row.id) or not row.content:
            continue
        press = row.detail.press if isinstance(row.detail, outbox.TextDetail) else None
        with speaking((press and press.language) or language()):
            clock = clock_text(at, reminder.zone, row.source)
            shown = _("{reminder} (snoozed until {clock})", reminder=row.content, clock=clock)
        outbox.add_edit(tx, row, f"snoozed/{to_text(at)}", shown, now, person=reminder.person)


def _messages(rows: Rows, reminder: Reminder) -> list[OutRow]:
    found = outbox.of_prefix(rows, f"{REMIND}/{reminder.id}/")
    return [row for row in found if not isinstance(row.detail, outbox.EditDetail)]


def _last_told(reminder: Reminder) -> str:
    """The key of its last message, which is that of its repetition up to there."""
    return "/".join(reminder.told_key.split("/")[:3])


def _quiet_note(until: datetime | None, zone: str) -> str:
    if until is None:
        return ""
    clock = timestamp(until) if source() == "discord" else time_words(until.astimezone(zone_of(zone)))
    return gettext_lazy("That is during your quiet hours, so I'll remind you when they end ({clock}).", clock=clock)


def repetition(trigger: str) -> str:
    """How a stored trigger repeats, in words; empty if it does not."""
    rule = triggers.rule_of(trigger)
    return rule_words(rule) if rule else ""


def on_clocks(moment: datetime | None, zone: str) -> str:
    """A time in a zone, with the zone; empty for None."""
    return "" if moment is None else f"{clock_words(moment, zone)} {zone}"


def _state(each: ListedReminder, zone: str) -> str:
    reminder = each.reminder
    due = "" if each.next_at is None else clock_words(each.next_at, zone)
    how = status_words(each)
    return "; ".join(filter(None, (due, repetition(reminder.trigger), how, _("urgent") if reminder.urgent else "")))
