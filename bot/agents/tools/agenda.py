"""`tasks`, `reminders` and `events`: the person's to-do list, reminders and calendar."""

from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bot.agents.agenda import event_scheduling, reminder_scheduling
from bot.agents.agenda.reminder_scheduling import on_clocks
from bot.agents.agenda.tasks import TaskChanges, find_task, tree
from bot.agents.context.quotes import PromptText, joined, line, say
from bot.agents.context.situation import task_line
from bot.agents.owner_notices import Notices
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.permissions.roles_and_rights import Selves
from bot.agents.tools.base import Arguments, ArgumentsT_contra, Brief, Needs, Outcome, Rarely, StoreTool, ToolContext
from bot.errors import ToolError
from memory.agenda import calendar_events, reminders, tasks
from memory.agenda.calendar_events import Event
from memory.agenda.reminders import ListedReminder, Reminder
from memory.agenda.tasks import Priority, Status, Task
from memory.people import person_settings
from memory.people.audience import may_write_down
from memory.store.clock import to_text
from memory.store.database import Rows, Tx
from memory.store.ids import PersonId, PlaceId, place_source
from scheduler.triggers import rule_of
from sources.api import SOURCE as API
from texts import gettext_noop, join_lazy, packed

Fields = Annotated[
    dict[str, str],
    Field(default_factory=dict, description="add, update: custom fields, by name; an empty value removes one"),
]


class AgendaTool(StoreTool[ArgumentsT_contra]):
    """A person's agenda. `zone` is for people who set none; `selves` returns all accounts of a person."""

    caution = Caution(bound=("operation",))

    def __init__(self, zone: str, selves: Selves) -> None:
        self._zone = zone
        self._selves = selves

    def _people(self, context: ToolContext) -> tuple[PersonId, ...]:
        """All accounts of the person who talks to the agent, the current one first."""
        if context.turn.person is None:
            raise ToolError("Nobody is talking to you at the moment.")
        return self._selves(context.turn.person)

    def _clocks(self, rows: Rows, people: tuple[PersonId, ...]) -> str:
        return person_settings.zone_for(rows, people, self._zone) if people else self._zone


class TaskArguments(Arguments):
    operation: Literal["add", "list", "update", "start", "done", "cancel", "reopen"]
    title: str = Field(default="", max_length=tasks.LONGEST_TITLE, description="add: what to do; update: a new title")
    notes: str = Field(default="", max_length=tasks.LONGEST_NOTES, description="add, update: details worth knowing")
    priority: Literal["low", "medium", "high", "urgent", ""] = Field(default="", description="add, update")
    due: str = Field(default="", max_length=200, description='add, update: due, as "Friday at 18:00"')
    under: str = Field(default="", description="add, update: the task it is a step of, by number or words from it")
    after: str = Field(default="", description="add, update: a task that must come first")
    fields: Fields
    which: str = Field(default="", description="all others: its number, or words from it")
    needs: ClassVar[Needs] = {
        "add": ("title",),
        **dict.fromkeys(("update", "start", "done", "cancel", "reopen"), ("which",)),
    }


_MOST_LISTED = 200
_MOVES = {"start": Status.IN_PROGRESS, "done": Status.DONE, "cancel": Status.CANCELLED, "reopen": Status.OPEN}


class TasksTool(AgendaTool[TaskArguments]):
    name = "tasks"
    shown = gettext_noop("the task list")
    rarely = Rarely("to-do lists of people", "in public")
    description = (
        "Keep the person's to-do list: add saves a task, list shows the open ones, start, done, cancel and reopen "
        'change its status, update changes the rest. Break big tasks into steps with under. In update, "none" removes '
        "due, under or after. Write a title in their words. A task does not remind anybody by itself: set a reminder "
        "for that."
    )
    brief = Brief(
        "The person's lists: to-do list, shopping list. add puts something on the list, list shows what is open, done "
        "and cancel take one off. It does not remind anybody: set a reminder for that.",
        {
            "title": "add: what to do or buy, in their words",
            "due": 'add: due, as "Friday at 18:00"',
            "which": "done, cancel: its number, or words from it",
        },
        "steps of tasks, priorities, changes",
        operations=("add", "list", "done", "cancel"),
    )

    def work(self, tx: Tx, context: ToolContext, arguments: TaskArguments) -> Outcome:
        people, scope = self._people(context), context.turn.scope
        found = tasks.listing(tx, scope, people, done=arguments.operation == "reopen")
        zone = self._clocks(tx, people)
        match arguments.operation:
            case "list":
                found = found[:_MOST_LISTED]
                shown = (
                    say("{indent}{task}", indent=say("  " * n), task=task_line(t, zone)) for n, t in tree(found, _place)
                )
                text = joined(shown) or say("They have no open tasks that may be mentioned here.")
                return Outcome(
                    text, {"tasks": [_task_data(task) | {"when": on_clocks(task.due_at, zone)} for task in found]}
                )
            case "add":
                turn = context.turn
                new = Task(arguments.title, people[0], scope.audience, turn.trust, context.now, turn.agent)
                task = self._changed(tx, context, arguments, tasks.add(tx, new), found, zone)
                return Outcome(
                    say("task {id} is written down: {task}", id=task.id, task=task_line(task, zone)), _task_data(task)
                )
            case "update":
                task = self._changed(tx, context, arguments, find_task(found, arguments.which), found, zone)
                return Outcome(say("changed: {task}", task=task_line(task, zone)), _task_data(task))
            case operation:
                status = {"status": _MOVES[operation]}
                task, _ = tasks.change(tx, find_task(found, arguments.which), status, scope, context.now)
                return Outcome(state_words(task), _task_data(task))

    def _changed(
        self, tx: Tx, context: ToolContext, arguments: TaskArguments, task: Task, among: list[Task], zone: str
    ) -> Task:
        priority = Priority(arguments.priority) if arguments.priority else None
        given = {name: getattr(arguments, name) for name in ("title", "notes", "due", "under", "after", "fields")}
        columns = TaskChanges(priority=priority, **given).columns(tx, task, among, context.now, zone)
        if not columns:
            raise ToolError("update needs a title, notes, priority, due, under, after or fields.")
        if not may_write_down(context.turn.scope, task.audience):
            raise ToolError(f"People who are not here can see the task {task.title!r}. Change it where they are.")
        return tasks.change(tx, task, columns, context.turn.scope, context.now)[0]


def state_words(task: Task) -> PromptText:
    """The reply about a task whose state changed."""
    status = task.status.value.replace("_", " ")
    waits = "" if not task.waits_for else f", but it waits for {', '.join(task.waits_for)}"
    return say("{title} is {status} now{waits}", title=task.title, status=status, waits=waits)


def _place(task: Task) -> tuple[str, str]:
    return str(task.id), str(task.parent or "")


def _task_data(task: Task) -> dict[str, Any]:
    due = None if task.due_at is None else to_text(task.due_at)
    own, parent = _place(task)
    return {"id": own, "under": parent, "text": task.title, "status": task.status.value, "due": due}


class EventArguments(Arguments):
    operation: Literal["add", "list", "cancel"]
    title: str = Field(default="", max_length=calendar_events.LONGEST, description="add: what happens")
    when: str = Field(
        default="", max_length=200, description='add: when it begins, as "Friday at 18:00" or "every Monday at 08:00"'
    )
    ends: str = Field(default="", max_length=200, description='add: when it ends, as "at 19:30"')
    reminder_minutes: int = Field(
        default=event_scheduling.REMINDER_MINUTES,
        ge=-1,
        le=44_640,
        description="add: how long before to tell them; -1: never",
    )
    days: int = Field(default=31, ge=1, le=3_660, description="list: how many days ahead")
    which: str = Field(default="", description="cancel: its number, or words from it")
    needs: ClassVar[Needs] = {"add": ("title", "when"), "cancel": ("which",)}


class EventsTool(AgendaTool[EventArguments]):
    name = "events"
    shown = gettext_noop("the calendar")
    rarely = Rarely("the calendar: appointments and birthdays", "in public")
    description = (
        "The person's calendar: appointments, birthdays, whatever has a time. add enters one (once or repeating) and "
        "tells them beforehand, list shows what is coming, reminders too, cancel removes one. Repeat back the day and "
        "time you are given."
    )

    def work(self, tx: Tx, context: ToolContext, arguments: EventArguments) -> Outcome:
        turn, people = context.turn, self._people(context)
        if arguments.operation == "add":
            by = people[0], turn.place, turn.scope.audience, turn.trust
            times = event_scheduling.EventTimes(arguments.when, arguments.ends, arguments.reminder_minutes)
            new = Event(arguments.title, *by, agent=turn.agent)
            event = event_scheduling.plan(tx, new, times, people, self._zone, context.now)
            (planned,) = event_scheduling.lines([(event.starts_at, event)], event.zone)
            return Outcome(say("written down: {event}", event=planned), _event_data(event.starts_at, event, event.zone))
        found = calendar_events.listing(tx, turn.scope, people)
        if arguments.operation == "cancel":
            event = event_scheduling.find(found, arguments.which)
            calendar_events.cancel(tx, event, context.now)
            return Outcome(say("canceled: {title}", title=event.title), {"id": str(event.id), "text": event.title})
        comes = event_scheduling.upcoming(found, context.now, arguments.days)
        zone = self._clocks(tx, people)
        data = [_event_data(at, each, zone) for at, each in comes]
        until = context.now + timedelta(days=arguments.days)
        due = reminder_scheduling.listing(tx, turn.scope, people, self._zone)
        due = [each for each in due if each.next_at is not None and each.next_at <= until]
        told = event_scheduling.lines(comes, zone) + (
            ["Reminders:", *reminder_scheduling.lines(due, zone)] if due else []
        )
        shown = joined(map(line, told)) or say("Nothing is planned that may be mentioned here.")
        return Outcome(shown, {"events": data, "reminders": [_listed(each, zone, context.turn.place) for each in due]})


def _event_data(at: datetime, event: Event, zone: str) -> dict[str, Any]:
    when = event_scheduling.on_clocks(at, event, zone)
    ends = event_scheduling.end_of(at, event)
    return {
        "id": str(event.id),
        "text": event.title,
        "at": to_text(at),
        "ends": "" if ends is None else to_text(ends),
        "rule": rule_of(event.trigger),
        "ahead": -1 if event.reminder_minutes is None else event.reminder_minutes,
        "when": when,
    }


class ReminderArguments(Arguments):
    operation: Literal["set", "list", "done", "snooze", "cancel"]
    text: str = Field(default="", max_length=reminders.LONGEST, description="set: what to say then, as you will say it")
    when: str = Field(
        default="",
        max_length=200,
        description='set: "in 20 minutes", "tomorrow at 09:00", "every Monday and Friday at 08:00", a date and time of '
        "the person's clocks such as 2026-12-31 18:00, or a rule such as FREQ=MONTHLY;BYDAY=-1FR at 17:00; "
        "snooze: until when, instead of minutes; also moves one that has not gone off yet",
    )
    privately: bool = Field(default=False, description="set: in a direct message, even if you talk elsewhere now")
    urgent: bool = Field(default=False, description="set: also in the person's quiet hours; only if they want that")
    which: str = Field(default="", description="done, snooze, cancel: its number, or words from it")
    minutes: int = Field(
        default=reminder_scheduling.SNOOZE_MINUTES,
        ge=1,
        le=44_640,
        description="snooze: for how long, once it went off",
    )
    needs: ClassVar[Needs] = {"set": ("text", "when"), **dict.fromkeys(("done", "snooze", "cancel"), ("which",))}


class RemindersTool(AgendaTool[ReminderArguments]):
    name = "reminders"
    shown = gettext_noop("reminders")
    rarely = Rarely("remind people at a time", "in public")
    description = (
        "Remind the person you are talking to of something at a time: set saves a reminder (once or repeating), list "
        "shows theirs, done, snooze and cancel change one. It is sent where you talk now, or privately. Repeat back "
        "the day and time you are given, so that a misunderstanding shows. If the time is unclear, ask."
    )

    def __init__(self, zone: str, selves: Selves, notices: Notices) -> None:
        super().__init__(zone, selves)
        self._notices = notices

    def work(self, tx: Tx, context: ToolContext, arguments: ReminderArguments) -> Outcome:
        people = self._people(context)
        if arguments.operation == "set":
            return self._set(tx, context, arguments, people)
        found = reminder_scheduling.listing(tx, context.turn.scope, people, self._zone)
        zone = self._clocks(tx, people)
        if arguments.operation == "list":
            none = say("They have no reminders that may be mentioned here.")
            text = joined(map(line, reminder_scheduling.lines(found, zone))) or none
            return Outcome(text, {"reminders": [_listed(each, zone, context.turn.place) for each in found]})
        reminder = reminder_scheduling.find(found, arguments.which, zone)
        data = _reminder_data(reminder)
        match arguments.operation:
            case "snooze":
                until = arguments.when or timedelta(minutes=arguments.minutes)
                at, moved = reminder_scheduling.postpone(tx, reminder, until, zone, context.now, commanded=False)
                data |= {"at": to_text(at)}
                done = f"{'moved to' if moved else 'it comes again at'} {on_clocks(at, zone)}"
            case "done":
                reminder_scheduling.finish(tx, reminder, context.now)
                done = "done"
            case _:
                reminder_scheduling.cancel(tx, reminder, context.now)
                done = "canceled"
        return Outcome(line(f"{done}: {reminder.text}"), data)

    def _set(self, tx: Tx, context: ToolContext, arguments: ReminderArguments, people: tuple[PersonId, ...]) -> Outcome:
        turn = context.turn
        source, _, name = people[0].partition(":")
        place = PlaceId(f"{source}:user:{name}") if arguments.privately and source != "terminal" else turn.place
        by = people[0], place, turn.scope.audience, turn.trust
        new = Reminder(arguments.text, *by, agent=turn.agent, urgent=arguments.urgent)
        planned = reminder_scheduling.plan(tx, new, arguments.when, people, self._zone, context.now)
        diverted = reminder_scheduling.diversion_note(tx, people, place)
        elsewhere = reminder_scheduling.elsewhere(self._notices) if place_source(place) == API else ""
        note = join_lazy(" ", filter(None, (planned.note, elsewhere, diverted)))
        text = line(f"reminder {planned.reminder.id} is set for {planned.when}. {note}")
        data = _timed(planned.reminder, planned.at) | {"when": planned.when, "note": packed(note)}
        return Outcome(text, data)


def _reminder_data(reminder: Reminder) -> dict[str, Any]:
    return {"id": str(reminder.id), "text": reminder.text, "status": reminder.status.value}


def _listed(each: ListedReminder, zone: str, here: PlaceId) -> dict[str, Any]:
    how = reminder_scheduling.status_words(each)
    words = on_clocks(each.next_at, zone), reminder_scheduling.repetition(each.reminder.trigger), how
    when = ", ".join(filter(None, words)) if each.next_at else packed(how)
    at = each.reminder.told_key.split("/")[2:3] if each.reminder.status is not reminders.Status.WAITING else ()
    rang = (each.reminder.place == here, *at) if at else None
    return _timed(each.reminder, each.next_at) | {"when": when, "rang": rang}


def _timed(reminder: Reminder, at: datetime | None) -> dict[str, Any]:
    return _reminder_data(reminder) | {"at": at and to_text(at), "rule": rule_of(reminder.trigger)}
