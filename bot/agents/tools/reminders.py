"""`reminders`: telling somebody something at a time."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal

from pydantic import Field

from bot.agents.agenda import reminders as reminding
from bot.agents.agenda.reminders import on_clocks
from bot.agents.context.quotes import joined, line, say
from bot.agents.permissions.policy import Caution
from bot.agents.tools.base import Arguments, Outcome, StoreTool, ToolContext
from bot.errors import ToolError
from memory.agenda import reminders
from memory.agenda.reminders import Listed, Reminder
from memory.people import quiet_hours
from memory.store.clock import to_text
from memory.store.database import Tx
from memory.store.ids import PersonId, PlaceId
from scheduler.triggers import rule_of


class ReminderArguments(Arguments):
    operation: Literal["set", "list", "done", "snooze", "cancel"]
    text: str = Field(default="", max_length=reminders.LONGEST, description="set: what to say then, as you will say it")
    when: str = Field(
        default="",
        max_length=200,
        description='set: "in 20 minutes", "tomorrow at 9", "every monday and friday at 8", a date and time of the '
        "person's clocks such as 2026-12-31 18:00, or a rule such as FREQ=MONTHLY;BYDAY=-1FR at 17:00",
    )
    privately: bool = Field(default=False, description="set: in a direct message, even if you talk elsewhere now")
    urgent: bool = Field(default=False, description="set: also in the person's quiet hours; only if they want that")
    which: str = Field(default="", description="done, snooze, cancel: its number, or words that stand in it")
    minutes: int = Field(default=reminding.SNOOZE_MINUTES, ge=1, le=44_640, description="snooze: for how long")
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "set": ("text", "when"),
        **dict.fromkeys(("done", "snooze", "cancel"), ("which",)),
    }


class RemindersTool(StoreTool[ReminderArguments]):
    name = "reminders"
    description = (
        "Remind the person you are talking to of something at a time: set keeps a reminder (once or repeating), list "
        "shows theirs, done, snooze and cancel change one. It is said where you talk now, or privately. Say back the "
        "day and time that you are given, so that a misunderstanding is seen. If the time is not clear, ask."
    )
    arguments: type[Arguments] = ReminderArguments
    caution = Caution(bound=("operation",))

    def __init__(self, zone: str, selves: Callable[[PersonId], tuple[PersonId, ...]]) -> None:
        self._zone = zone
        self._selves = selves

    def work(self, tx: Tx, context: ToolContext, arguments: ReminderArguments) -> Outcome:
        person = context.turn.person
        if person is None:
            raise ToolError("Nobody is talking to you at the moment, so there is nobody to remind.")
        if arguments.operation == "set":
            return self._set(tx, context, arguments, person)
        found = reminders.listing(tx, context.turn.scope, self._selves(person))
        zone = quiet_hours.zone_for(tx, self._selves(person), self._zone)
        if arguments.operation == "list":
            text = joined(map(line, reminding.lines(found, zone))) or say(
                "They have no reminders that may be spoken of here."
            )
            return Outcome(text, {"reminders": [_listed(each, zone) for each in found]})
        reminder = reminding.meant([each.reminder for each in found], arguments.which)
        match arguments.operation:
            case "snooze":
                at = reminding.snooze(tx, reminder, timedelta(minutes=arguments.minutes), context.now)
                return Outcome(line(f"it comes again at {on_clocks(at, zone)}: {reminder.text}"), _data(reminder))
            case "done":
                reminding.finish(tx, reminder, context.now)
                return Outcome(line(f"done: {reminder.text}"), _data(reminder))
            case _:
                reminding.cancel(tx, reminder, context.now)
                return Outcome(line(f"cancelled: {reminder.text}"), _data(reminder))

    def _set(self, tx: Tx, context: ToolContext, arguments: ReminderArguments, person: PersonId) -> Outcome:
        turn = context.turn
        source, _, name = person.partition(":")
        place = PlaceId(f"{source}:user:{name}") if arguments.privately and source != "terminal" else turn.place
        wanted = reminding.Wanted(
            text=arguments.text,
            when=arguments.when,
            person=person,
            place=place,
            scope=turn.scope,
            trust=turn.trust,
            agent=turn.agent,
            urgent=arguments.urgent,
        )
        planned = reminding.plan(tx, wanted, self._selves(person), self._zone, context.now)
        text = line(f"reminder {planned.reminder.id} is set for {planned.when}. {planned.note}")
        data = _timed(planned.reminder, planned.at) | {"when": planned.when, "note": planned.note}
        return Outcome(text, data)


def _data(reminder: Reminder) -> dict[str, Any]:
    return {"id": str(reminder.id), "text": reminder.text, "status": reminder.status.value}


def _listed(each: Listed, zone: str) -> dict[str, Any]:
    how = reminding.stand(each.reminder.status, paused=each.paused)
    when = ", ".join(filter(None, (on_clocks(each.next_at, zone), reminding.repetition(each.reminder), how)))
    return _timed(each.reminder, each.next_at) | {"when": when}


def _timed(reminder: Reminder, at: datetime | None) -> dict[str, Any]:
    return _data(reminder) | {"at": at and to_text(at), "rule": rule_of(reminder.trigger)}
