"""`events`: what happens when, in the person's calendar."""

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from pydantic import Field, model_validator

from bot import planning
from bot.errors import ToolError
from bot.policy import Caution
from bot.reminding import Wanted
from bot.tools.base import Arguments, Outcome, ToolContext
from memory import appointments
from memory.appointments import Event
from memory.clock import to_text
from memory.database import Tx
from memory.ids import PersonId
from memory.people import hours


class EventArguments(Arguments):
    operation: Literal["add", "list", "cancel"]
    title: str = Field(default="", max_length=appointments.LONGEST, description="add: what happens")
    when: str = Field(
        default="", max_length=200, description='add: when it begins, as "friday at 18:00" or "every monday at 8"'
    )
    ends: str = Field(default="", max_length=200, description='add: when it ends, as "at 19:30"')
    reminder_minutes: int = Field(
        default=planning.REMINDER_MINUTES, ge=-1, le=44_640, description="add: so long before it they are told; -1: not"
    )
    days: int = Field(default=31, ge=1, le=3_660, description="list: how many days ahead")
    which: str = Field(default="", description="cancel: its number, or words of its title")

    @model_validator(mode="after")
    def _complete(self) -> "EventArguments":
        if self.operation == "add" and not (self.title.strip() and self.when.strip()):
            raise ValueError("add needs title and when")
        if self.operation == "cancel" and not self.which.strip():
            raise ValueError("cancel needs which")
        return self


class EventsTool:
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
            given = planning.Plan(wanted, arguments.ends, arguments.reminder_minutes)
            event = planning.plan(tx, given, people, self._zone, context.now)
            (line,) = planning.lines([(event.starts_at, event)], event.zone)
            return Outcome(f"written down: {line}", _data(event.starts_at, event, event.zone))
        found = appointments.listing(tx, turn.scope, people)
        if arguments.operation == "cancel":
            event = planning.meant(found, arguments.which)
            appointments.cancel(tx, event, context.now)
            return Outcome(f"cancelled: {event.title}", {"id": str(event.id), "text": event.title})
        comes = planning.coming(found, context.now, arguments.days)
        zone = hours.zone_for(tx, people, self._zone)
        data = [_data(at, each, zone) for at, each in comes]
        shown = "\n".join(planning.lines(comes, zone)) or "Nothing is planned that may be spoken of here."
        return Outcome(shown, {"events": data})


def _data(at: datetime, event: Event, zone: str) -> dict[str, str]:
    when = planning.on_clocks(at, event, zone)
    return {"id": str(event.id), "text": event.title, "at": to_text(at), "when": when}
