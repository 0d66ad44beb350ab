"""`events`: what happens when, in the person's calendar."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import ClassVar, Literal

from pydantic import Field

from bot.agents.agenda import calendar
from bot.agents.agenda.reminders import Wanted
from bot.agents.context.quotes import joined, line, say
from bot.agents.permissions.policy import Caution
from bot.agents.tools.base import Arguments, Outcome, StoreTool, ToolContext
from bot.errors import ToolError
from memory.agenda import calendar as appointments
from memory.agenda.calendar import Event
from memory.people import quiet_hours
from memory.store.clock import to_text
from memory.store.database import Tx
from memory.store.ids import PersonId
from scheduler.triggers import rule_of


class EventArguments(Arguments):
    operation: Literal["add", "list", "cancel"]
    title: str = Field(default="", max_length=appointments.LONGEST, description="add: what happens")
    when: str = Field(
        default="", max_length=200, description='add: when it begins, as "friday at 18:00" or "every monday at 8"'
    )
    ends: str = Field(default="", max_length=200, description='add: when it ends, as "at 19:30"')
    reminder_minutes: int = Field(
        default=calendar.REMINDER_MINUTES, ge=-1, le=44_640, description="add: so long before it they are told; -1: not"
    )
    days: int = Field(default=31, ge=1, le=3_660, description="list: how many days ahead")
    which: str = Field(default="", description="cancel: its number, or words of its title")
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {"add": ("title", "when"), "cancel": ("which",)}


class EventsTool(StoreTool[EventArguments]):
    name = "events"
    description = (
        "The person's calendar: add writes down what happens at a time (once or repeating) and tells them before, list "
        "shows what comes, cancel takes one out. Say back the day and time that you are given."
    )
    arguments: type[Arguments] = EventArguments
    caution = Caution(bound=("operation",))

    def __init__(self, zone: str, selves: Callable[[PersonId], tuple[PersonId, ...]]) -> None:
        self._zone = zone
        self._selves = selves

    def work(self, tx: Tx, context: ToolContext, arguments: EventArguments) -> Outcome:
        turn, person = context.turn, context.turn.person
        if person is None:
            raise ToolError("Nobody is talking to you at the moment.")
        people = self._selves(person)
        if arguments.operation == "add":
            wanted = Wanted(arguments.title, arguments.when, person, turn.place, turn.scope, turn.trust, turn.agent)
            given = calendar.Plan(wanted, arguments.ends, arguments.reminder_minutes)
            event = calendar.plan(tx, given, people, self._zone, context.now)
            (planned,) = calendar.lines([(event.starts_at, event)], event.zone)
            return Outcome(say("written down: {event}", event=planned), _data(event.starts_at, event, event.zone))
        found = appointments.listing(tx, turn.scope, people)
        if arguments.operation == "cancel":
            event = calendar.meant(found, arguments.which)
            appointments.cancel(tx, event, context.now)
            return Outcome(say("cancelled: {title}", title=event.title), {"id": str(event.id), "text": event.title})
        comes = calendar.coming(found, context.now, arguments.days)
        zone = quiet_hours.zone_for(tx, people, self._zone)
        data = [_data(at, each, zone) for at, each in comes]
        shown = joined(map(line, calendar.lines(comes, zone))) or say("Nothing is planned that may be spoken of here.")
        return Outcome(shown, {"events": data})


def _data(at: datetime, event: Event, zone: str) -> dict[str, str]:
    when = calendar.on_clocks(at, event, zone)
    ends = calendar.end_of(at, event)
    return {
        "id": str(event.id),
        "text": event.title,
        "at": to_text(at),
        "ends": "" if ends is None else to_text(ends),
        "rule": rule_of(event.trigger),
        "when": when,
    }
