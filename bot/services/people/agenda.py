"""Commands and buttons for a person's own reminders, events and quiet hours; `bot.agents.agenda` does the work."""

from collections.abc import Callable
from datetime import datetime, time, timedelta
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bot.agents.agenda import event_scheduling, reminder_scheduling
from bot.agents.agenda.event_scheduling import EventTimes
from bot.agents.owner_notices import Notices
from bot.agents.permissions.roles_and_rights import Action
from bot.services.caller import DISCORD_ONLY, Caller, Via
from bot.services.registry import KEEPS, LISTS, Arguments, Options, Param, operation, suggestions
from bot.services.results import Entry, Listing, Markup, Result, Row, relative
from bot.services.transactions import ZonedService
from memory import jobs
from memory.agenda import calendar_events, reminders
from memory.agenda.calendar_events import Event
from memory.agenda.reminders import Reminder
from memory.people import person_settings
from memory.people.audience import Scope
from memory.people.person_settings import Times
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.ids import PersonId, ReminderId
from memory.store.row_mapper import ending
from scheduler.times_in_words import time_words
from scheduler.zones import zone_of
from texts import _, gettext_noop, moment_text

_When = Annotated[str, Field(min_length=1, max_length=200)]
_Named = Annotated[str, Field(min_length=1, max_length=300)]
_Text = Annotated[
    str,
    Field(min_length=1, max_length=1_000),
    Param("What to remind you of, and optionally when", example="call mom in 20 minutes", words=True),
]
_Due = Annotated[
    str, Field(max_length=200), Param("When, such as “in 20 minutes” or “every Monday at 8”", positional=True)
]
_Where = Annotated[
    Literal["privately", "here"] | None,
    Param("Where to remind you (default: as you set it, or privately)", via=DISCORD_ONLY),
]
_REMINDERS = {"here": gettext_noop("Where you set them"), "privately": gettext_noop("In direct messages")}
_ARRIVAL = {
    "here": gettext_noop("where you set them"),
    "privately": gettext_noop("in direct messages"),
    "": gettext_noop("where you ask an agent for them, but in direct messages if you use a command"),
}
_Reminder = Annotated[_Named, Param("Words from the reminder", example="mom", suggests="reminders")]
_Until = Annotated[str, Field(max_length=200), Param("Until when, such as “tomorrow morning” or “Friday at 9”")]
_Days = Annotated[int, Field(ge=1, le=3_660), Param("How many days ahead")]
_Event = Annotated[_Named, Param("Title of the event, or words from it", example="dinner", suggests="events")]
_Moved = Annotated[_When, Param("The new time, such as “Saturday” or “at 19:00”", example="Saturday")]
_MINUTES = 31 * 24 * 60
_Minutes = Annotated[int, Field(ge=1, le=_MINUTES), Param("For how many minutes")]


class AddEvent(Arguments):
    title: Annotated[_Named, Param("Title of the event", example="dinner")]
    when: Annotated[
        _When, Param("When it starts, such as “Friday at 6 PM” or “every Monday at 8”", example="Friday at 6 PM")
    ]
    ends: Annotated[str, Field(max_length=200), Param("When it ends, such as “at 7:30 PM”")] = ""
    minutes: Annotated[
        int, Field(ge=-1, le=_MINUTES), Param("How many minutes before the event to remind you; -1 for never")
    ] = event_scheduling.REMINDER_MINUTES


class SetClocks(Arguments):
    begin: Annotated[
        str | None, Param("Start of quiet hours, such as 22:30; “off” to turn them off", flag="--from")
    ] = None
    end: Annotated[str | None, Param("End of quiet hours, such as 7:00", flag="--until")] = None
    zone: Annotated[str | None, Param("Your time zone, such as Europe/Vienna")] = None
    reminders: Annotated[Literal["here", "privately"] | None, Param("Where reminders arrive", labels=_REMINDERS)] = None


class Clocks(Result):
    """The settings; empty if not set."""

    zone: str
    quiet_from: str
    quiet_until: str
    reminders: str
    usual: str = Field(exclude=True)
    """The zone of people who have not set one."""
    note: str = Field(exclude=True)

    def lines(self, markup: Markup) -> list[str]:
        text = gettext_noop("Time zone: {zone}. Quiet hours: {quiet}. Reminders arrive {reminders}.")
        quiet = _("none")
        if self.quiet_from:
            begin, end = (time_words(time.fromisoformat(each)) for each in (self.quiet_from, self.quiet_until))
            quiet = _("from {quiet_from} to {quiet_until}", quiet_from=begin, quiet_until=end)
        zone = self.zone or _("{zone} (the default)", zone=self.usual)
        return [self.told(markup, text, zone=zone, quiet=quiet, reminders=_(_ARRIVAL[self.reminders])) + self.note]


class ReminderSet(Result):
    id: str
    text: str
    when: str
    note: str
    at: datetime = Field(exclude=True)
    """The first time it is due."""
    repeats: str = Field(exclude=True)

    def lines(self, markup: Markup) -> list[str]:
        when = ", ".join(filter(None, (markup.time(self.at), self.repeats)))
        return [
            self.told(markup, gettext_noop("I'll remind you on {when}: {text}"), when=when),
            *filter(None, [self.note]),
        ]


class ReminderRow(Row):
    suggested = "called"
    id: str = Field(validation_alias="reminder.id")
    text: str = Field(validation_alias="reminder.text")
    state: str = Field(validation_alias="reminder.status")
    next: datetime | None
    repeats: str
    urgent: bool = Field(validation_alias="reminder.urgent")
    paused: bool
    words: str = Field(exclude=True)
    ahead: str = Field(exclude=True)

    @property
    def called(self) -> str:
        """The text with its first time, as several reminders may have the same text."""
        return ", ".join(filter(None, (self.text, self.ahead)))

    def line(self, markup: Markup) -> str:
        due = "" if self.next is None else markup.time(self.next)
        about = "; ".join(filter(None, (due, self.repeats, self.words, _("urgent") if self.urgent else "")))
        return f"{markup.text(self.text)} – {about}"


class EventRow(Row):
    suggested = "text"
    id: str
    at: datetime
    ends: datetime | None
    repeats: str
    text: str = Field(validation_alias="title")

    def line(self, markup: Markup) -> str:
        until = "" if self.ends is None else _(", until {ends}", ends=markup.time(self.ends))
        again = f" ({self.repeats})" if self.repeats else ""
        return f"{markup.text(self.text)} – {markup.time(self.at)}{until}{again}"


class CalendarRow(Row):
    """One occurrence of a reminder or event."""

    id: str
    at: datetime
    kind: Literal["reminder", "event"]
    text: str

    phrase = "{at}: {text}"


class Agenda(ZonedService, frozen=True):
    """The agendas of one constellation.

    `notices` is where the owner is told things; `changed` is called when the next due time changes, `queued` when a
    message is queued.
    """

    titles: ClassVar = {"remind": "Set and manage reminders", "events": "Manage your calendar"}

    notices: Notices
    changed: Callable[[], None]
    queued: Callable[[], None]

    def announce(self) -> None:
        self.changed()
        self.queued()

    # ------------------------------------------------------------------ reminders

    @operation("remind.me", "Set a reminder", Action.AGENDA, KEEPS)
    def remind(self, tx: Tx, caller: Caller, text: _Text, when: _Due = "", where: _Where = None) -> ReminderSet:
        usual = person_settings.of(tx, self.people.selves(caller.person)).reminders
        chosen = where or usual
        at = caller.here if chosen == "here" and caller.here is not None else caller.alone
        if not when.strip() or reminder_scheduling.is_swapped(text, when, self.clock(), self.zone_of(tx, caller)):
            text, when = reminder_scheduling.split_request(f"{text} {when}", self.clock(), self.zone_of(tx, caller))
        new = Reminder(text, caller.person, at.place, at.scope.audience, caller.trust)
        planned = reminder_scheduling.plan(tx, new, when, self.people.selves(caller.person), self.zone, self.clock())
        kept = planned.reminder
        alone = at is caller.alone or usual == "privately"  # the setting is read when it is due
        elsewhere = alone and caller.location is not None and not caller.location.direct
        private = reminder_scheduling.PRIVATELY if elsewhere else ""
        notes = (_(planned.note), _(reminder_scheduling.elsewhere(self.notices) if caller.via is Via.WEB else private))
        said = {"when": planned.when, "note": " ".join(filter(None, notes)), "at": planned.at}
        return ReminderSet.from_record(kept, **said, repeats=reminder_scheduling.repetition(kept.trigger))

    @operation("remind.list", "List your open reminders", Action.AGENDA, LISTS)
    @suggestions("reminders")
    def reminders(self, rows: Rows, caller: Caller) -> Listing[ReminderRow]:
        zone = self.zone_of(rows, caller)
        found = (
            ReminderRow.from_record(
                each,
                next=_local(each.next_at, zone),
                repeats=reminder_scheduling.repetition(each.reminder.trigger),
                words=_(reminder_scheduling.status_words(each)),
                ahead=relative(each.next_at, self.clock()) if each.next_at else "",
            )
            for each in reminder_scheduling.listing(rows, *self._own(caller, rings=True), self.zone)
        )
        return Listing.of(found, _("You have no reminders here."))

    @operation("remind.done", "Mark a reminder as done", Action.AGENDA)
    def finish(self, tx: Tx, caller: Caller, reminder: _Reminder) -> str:
        found = self._reminder(tx, caller, reminder)
        reminder_scheduling.finish(tx, found, self.clock())
        return _("Done: {text}", text=found.text)

    @operation("remind.snooze", "Snooze a reminder, or move it to another time", Action.AGENDA)
    def snooze(
        self,
        tx: Tx,
        caller: Caller,
        reminder: _Reminder,
        minutes: _Minutes = reminder_scheduling.SNOOZE_MINUTES,
        until: _Until = "",
    ) -> str:
        found, zone, now = self._reminder(tx, caller, reminder), self.zone_of(tx, caller), self.clock()
        at, moved = reminder_scheduling.postpone(
            tx, found, until or timedelta(minutes=minutes), zone, now, commanded=True
        )
        if moved:
            return _("Moved to {when}: {text}", when=moment_text(at), text=found.text)
        return _("I'll remind you on {when}: {text}", when=moment_text(at), text=found.text)

    @operation("remind.cancel", "Cancel a reminder and its repetitions", Action.AGENDA)
    def cancel(self, tx: Tx, caller: Caller, reminder: _Reminder) -> str:
        found = self._reminder(tx, caller, reminder)
        reminder_scheduling.cancel(tx, found, self.clock())
        return _("Canceled: {text}", text=found.text)

    # ------------------------------------------------------------------ events

    @operation("events.add", "Add an event", Action.AGENDA, KEEPS)
    def add_event(self, tx: Tx, caller: Caller, arguments: AddEvent) -> Entry[EventRow]:
        alone, selves = caller.alone, self.people.selves(caller.person)
        new = Event(arguments.title, caller.person, alone.place, alone.scope.audience, caller.trust)
        times = EventTimes(arguments.when, arguments.ends, arguments.minutes)
        kept = event_scheduling.plan(tx, new, times, selves, self.zone, self.clock())
        return Entry(done=_("Added"), row=_event(kept.starts_at, kept, kept.zone))

    @suggestions("events")
    async def suggest_events(self, caller: Caller) -> Listing[EventRow]:
        return await self.list_events(caller, days=366)

    @operation("events.list", "List upcoming events", Action.AGENDA, LISTS)
    def list_events(self, rows: Rows, caller: Caller, days: _Days = 31) -> Listing[EventRow]:
        coming = event_scheduling.upcoming(calendar_events.listing(rows, *self._own(caller)), self.clock(), days)
        found = (_event(at, each, self.zone_of(rows, caller)) for at, each in coming)
        return Listing.of(found, _("You have no upcoming events here."))

    @operation("events.calendar", "Show each time of reminders and events", Action.AGENDA, Options(offered=False))
    def calendar(self, rows: Rows, caller: Caller, days: _Days = 31) -> Listing[CalendarRow]:
        own, now = self._own(caller), self.clock()
        until = now + timedelta(days=days)
        comes = reminder_scheduling.occurrences(rows, *own, self.zone, until)
        begins = event_scheduling.occurrences(calendar_events.listing(rows, *own), now, until)
        found = [CalendarRow.from_record(each, at=at, kind="reminder") for at, each in comes]
        found += [CalendarRow.from_record(each, at=at, kind="event", text=each.title) for at, each in begins]
        return Listing.of(found)

    @operation("events.move", "Move an event to another time", Action.AGENDA)
    def move_event(self, tx: Tx, caller: Caller, event: _Event, when: _Moved) -> Entry[EventRow]:
        found, selves = (
            event_scheduling.find(calendar_events.listing(tx, *self._own(caller)), event),
            self.people.selves(caller.person),
        )
        kept = event_scheduling.move(tx, found, when, selves, self.zone, self.clock())
        return Entry(done=_("Moved"), row=_event(kept.starts_at, kept, kept.zone))

    @operation("events.cancel", "Cancel an event and its repetitions", Action.AGENDA)
    def cancel_event(self, tx: Tx, caller: Caller, event: _Event) -> str:
        found = event_scheduling.find(calendar_events.listing(tx, *self._own(caller)), event)
        calendar_events.cancel(tx, found, self.clock())
        return _("Canceled: {title}", title=found.title)

    # ------------------------------------------------------------------ clocks

    @operation("quiet", "Show or set your time zone, quiet hours and where reminders arrive", Action.AGENDA, KEEPS)
    def quiet(self, tx: Tx, caller: Caller, arguments: SetClocks) -> Clocks:
        if arguments == SetClocks():
            return self._clocks(tx, caller)
        selves = self.people.selves(caller.person)
        before = person_settings.of(tx, selves)
        quiet = person_settings.changed(before, arguments.begin, arguments.end)
        kept = before.zone if arguments.zone is None else arguments.zone
        zone_of(kept or "UTC")
        person_settings.put(tx, selves, Times(kept, *quiet, arguments.reminders or before.reminders), self.clock())
        jobs.recheck(tx, selves)
        note = _(" Reminders and events that already repeat keep their old time zone until you set them again.")
        return self._clocks(tx, caller, note if kept != before.zone else "")

    # ------------------------------------------------------------------ helpers

    def _clocks(self, rows: Rows, caller: Caller, note: str = "") -> Clocks:
        found = person_settings.of(rows, self.people.selves(caller.person))
        return Clocks.from_record(found, usual=self.zone, note=note)

    def _own(self, caller: Caller, *, rings: bool = False) -> tuple[Scope, tuple[PersonId, ...]]:
        """The scope of their own entries that may be used here, and all their accounts."""
        selves = self.people.selves(caller.person)
        return caller.scope_of_own(selves, rings=rings), selves

    def _reminder(self, tx: Tx, caller: Caller, which: str) -> Reminder:
        """The reminder in question; a number also finds one that may not be mentioned here. Raises Refused."""
        if not (number := ending(tx, "reminders", which)):
            found = reminder_scheduling.listing(tx, *self._own(caller, rings=True), self.zone)
            return reminder_scheduling.find(found, which, self.zone_of(tx, caller))
        kept = reminders.by_id(tx, ReminderId(number))
        if kept is None or kept.person not in self.people.selves(caller.person):  # the same answer
            raise Refused("You have no such reminder. `carina remind list` shows yours.")
        return kept


def _event(at: datetime, event: calendar_events.Event, zone: str) -> EventRow:
    times = {"at": _local(at, zone), "ends": _local(event_scheduling.end_of(at, event), zone)}
    return EventRow.from_record(event, **times, repeats=reminder_scheduling.repetition(event.trigger))


def _local(moment: datetime | None, zone: str) -> datetime | None:
    return None if moment is None else moment.astimezone(zone_of(zone))
