"""Tasks, reminders and quiet hours for people: what commands and buttons call. Everybody has their own."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import time
from typing import Any, TypeVar

from bot import planning, policy, reminding
from bot.desks.schedule import Schedule
from bot.errors import ToolError, UserError
from bot.planning import Plan
from bot.policy import Action, Approver, People
from bot.reminding import Wanted
from bot.tools.tasks import lines, meant
from bot.when import read_when
from memory import appointments, reminders, tasks
from memory.audience import OWNER, Scope, Trust
from memory.clock import Clock
from memory.constellation import Constellations
from memory.database import Rows, Tx
from memory.errors import Refused
from memory.faults import commit_point
from memory.ids import ConstellationId, PersonId, PlaceId, ReminderId
from memory.people import hours
from memory.people.hours import Times
from memory.reminders import Reminder
from memory.tasks import NewTask, Priority, Status, Task
from scheduler.triggers import At
from scheduler.zones import local_text, zone_of
from sources.terminal import PERSON, PLACE

T = TypeVar("T")

_CHANGE = commit_point("agenda.change")
_OWNER = Approver(PERSON, door="command line")
_OWNERS = Scope(OWNER)
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Asked:
    """Where somebody asked for something, before whose ears, and how far their words are trusted."""

    scope: Scope
    place: PlaceId
    trust: Trust


_TYPED = Asked(_OWNERS, PLACE.id, Trust.OWNER)


@dataclass(frozen=True)
class Agenda:
    """The front door. `zone` is that of people who named none; `withheld` says of whom nothing is kept."""

    constellations: Constellations
    house: ConstellationId
    people: People
    clock: Clock
    schedule: Schedule
    zone: str
    withheld: Callable[[PersonId | None], bool]

    # ------------------------------------------------------------------ reminders

    async def remind(self, text: str, when: str, who: Approver, asked: Asked) -> str:
        """Keep a reminder that is said in a place; gives words for who asked. Raises UserError."""
        self._check(who)
        wanted = Wanted(text, when, who.person, asked.place, asked.scope, asked.trust)
        selves = self.people.selves(who.person)
        planned = await self._change(lambda tx: reminding.plan(tx, wanted, selves, self.zone, self.clock()))
        self.schedule.changed()
        return (
            f"I will remind you, {planned.when}: {planned.reminder.text} `{planned.reminder.id}` {planned.note}".strip()
        )

    async def reminders(self, who: Approver, scope: Scope) -> list[str]:
        """Somebody's open reminders, as far as they may be spoken of where they ask, as lines."""
        selves = self.people.selves(who.person)

        def read(rows: Rows) -> list[str]:
            return reminding.lines(reminders.listing(rows, scope, selves), self._zone(rows, who))

        return await self._read(read)

    async def cancel_reminder(self, which: str, who: Approver, scope: Scope) -> str:
        """Take back the reminder with that number, or with those words; gives words for who asked. Raises UserError.

        Its person takes back by its number also what may not be spoken of here.
        """
        if (number := which.strip().lstrip("#")).isdecimal():
            return await self.press(int(number), "cancel", who)
        selves = self.people.selves(who.person)

        def find(rows: Rows) -> int:
            return reminding.meant([each for each, _ in reminders.listing(rows, scope, selves)], which).id

        try:
            found = await self._read(find)
        except Refused as error:
            raise UserError(str(error)) from error
        return await self.press(found, "cancel", who)

    async def press(self, reminder: int, offer: str, who: Approver, minutes: int = reminding.SNOOZE_MINUTES) -> str:
        """Snooze, finish or cancel a reminder; gives words for its person. Raises UserError for anybody else."""

        def work(tx: Tx) -> str:
            found = reminders.by_id(tx, ReminderId(min(reminder, _LARGEST)))
            if found is None:
                raise Refused("There is no such reminder any more.")
            self._check_own(found, who)
            match offer:
                case "snooze":
                    at = reminding.snooze(tx, found, minutes, self.clock())
                    zone = self._zone(tx, who)
                    return f"I say it again at {at.astimezone(zone_of(zone)):%H:%M} ({zone}): {found.text}"
                case "done":
                    reminding.finish(tx, found, self.clock())
                    return f"Done: {found.text}"
                case "cancel":
                    reminding.cancel(tx, found, self.clock())
                    return f"Cancelled: {found.text}"
                case _:
                    raise Refused("This button means nothing to me.")

        words = await self._change(work)
        self.schedule.changed()
        self.schedule.queued()
        return words

    # ------------------------------------------------------------------ tasks

    async def add_task(self, title: str, due: str, priority: str, who: Approver, asked: Asked) -> str:
        """Write a task down; gives words for who asked. Raises UserError."""
        self._check(who)
        if priority not in list(Priority):
            raise UserError(f"There is no priority {priority!r}: {', '.join(Priority)}.")

        def work(tx: Tx) -> str:
            now, at = self.clock(), None
            zone = self._zone(tx, who)
            if due:
                trigger = read_when(due, now, zone)
                if not isinstance(trigger, At):
                    raise Refused("A task is due once.")
                at = trigger.when
            new = NewTask(title, who.person, asked.scope.audience, asked.trust, priority=Priority(priority), due_at=at)
            return "\n".join(lines([tasks.add(tx, new, now)], zone))

        return await self._change(work)

    async def tasks(self, who: Approver, scope: Scope, *, done: bool = False) -> list[str]:
        """Somebody's tasks, as far as they may be spoken of where they ask, as lines."""
        selves = self.people.selves(who.person)

        def read(rows: Rows) -> list[str]:
            return lines(tasks.listing(rows, scope, selves, done=done), self._zone(rows, who))

        return await self._read(read)

    async def end_task(self, which: str, who: Approver, scope: Scope, *, status: Status = Status.COMPLETED) -> str:
        """A task is done, or not wanted any more; gives words for who asked. Raises UserError."""

        def work(tx: Tx) -> str:
            task = meant(tasks.listing(tx, scope, self.people.selves(who.person)), which)
            done = tasks.set_status(tx, task, status, self.clock())
            return f"{done.title}: {done.status.value}."

        return await self._change(work)

    # ------------------------------------------------------------------ events

    async def add_event(self, given: Plan, who: Approver) -> str:
        """Write an event down; gives words for who asked. Raises UserError."""
        self._check(who)
        selves = self.people.selves(who.person)
        kept = await self._change(lambda tx: planning.plan(tx, given, selves, self.zone, self.clock()))
        self.schedule.changed()
        return "\n".join(planning.lines([(kept.starts_at, kept)], kept.zone))

    async def events(self, who: Approver, scope: Scope, days: int = 31) -> list[str]:
        """What comes in somebody's calendar, as far as it may be spoken of where they ask, as lines."""
        selves = self.people.selves(who.person)

        def read(rows: Rows) -> list[str]:
            coming = planning.coming(appointments.listing(rows, scope, selves), self.clock(), days)
            return planning.lines(coming, self._zone(rows, who))

        return await self._read(read)

    async def cancel_event(self, which: str, who: Approver, scope: Scope) -> str:
        """Take an event out; gives words for who asked. Raises UserError."""

        def work(tx: Tx) -> str:
            event = planning.meant(appointments.listing(tx, scope, self.people.selves(who.person)), which)
            appointments.cancel(tx, event, self.clock())
            return f"Cancelled: {event.title}"

        words = await self._change(work)
        self.schedule.changed()
        return words

    # ------------------------------------------------------------------ clocks

    async def times(self, who: Approver) -> str:
        """By whose clocks somebody lives, in words."""
        found = await self._read(lambda rows: hours.of(rows, self.people.selves(who.person)))
        quiet = f"from {found.quiet_from} to {found.quiet_until}" if found.quiet_from else "none"
        return f"Your clocks: {found.zone or f'{self.zone} (the house’s)'}. Quiet hours: {quiet}."

    async def set_times(self, who: Approver, zone: str | None, quiet: tuple[str, str] | None) -> str:
        """Set somebody's zone, their quiet hours, or both; two empty texts end quiet hours. Raises UserError."""
        self._check(who)
        selves = self.people.selves(who.person)

        def work(tx: Tx) -> bool:
            before = hours.of(tx, selves)
            begin, end = (before.quiet_from, before.quiet_until) if quiet is None else map(_hour, quiet)
            if bool(begin) != bool(end):
                raise Refused("Quiet hours have a beginning and an end, such as 22:30 and 7:00.")
            if begin and begin == end:
                raise Refused(
                    f"Quiet hours that end at {end}, when they begin, are none; leave both empty to end them."
                )
            kept = before.zone if zone is None else zone
            zone_of(kept or "UTC")
            hours.put(tx, selves, Times(kept, begin, end), self.clock())
            return kept != before.zone

        moved = await self._change(work)
        note = " What repeats already keeps the clocks by which it was set; set it anew to have it follow."
        return f"{await self.times(who)}{note if moved else ''}"

    # ------------------------------------------------------------------ the owner's command line

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "remind.set": self.owner_remind,
            "remind.list": self.owner_reminders,
            "remind.press": self.owner_press,
            "remind.cancel": self.owner_cancel,
            "tasks.add": self.owner_add,
            "tasks.list": self.owner_tasks,
            "tasks.end": self.owner_end,
            "quiet": self.owner_quiet,
            "events.add": self.owner_plan,
            "events.list": self.owner_events,
            "events.cancel": self.owner_cancel_event,
        }

    async def owner_remind(self, text: str, when: str) -> list[dict[str, Any]]:
        """Keep a reminder of the owner's."""
        return [{"text": await self.remind(text, when, _OWNER, _TYPED)}]

    async def owner_reminders(self) -> list[dict[str, Any]]:
        """The owner's reminders."""
        selves = self.people.selves(PERSON)

        def read(rows: Rows) -> list[dict[str, Any]]:
            zone = self._zone(rows, _OWNER)
            return [
                {
                    "id": str(each.id),
                    "text": each.text,
                    "state": each.status.value,
                    "next": "" if at is None else local_text(at, zone),
                    "repeats": reminding.repetition(each),
                }
                for each, at in reminders.listing(rows, _OWNERS, selves)
            ]

        return await self._read(read)

    async def owner_cancel(self, which: str) -> list[dict[str, Any]]:
        """Take one back."""
        return [{"text": await self.cancel_reminder(which, _OWNER, _OWNERS)}]

    async def owner_press(self, reminder: int, offer: str, minutes: int = 10) -> list[dict[str, Any]]:
        """Snooze or finish one."""
        return [{"text": await self.press(reminder, offer, _OWNER, minutes)}]

    async def owner_add(self, title: str, due: str = "", priority: str = "medium") -> list[dict[str, Any]]:
        """Write a task of the owner's down."""
        return [{"text": await self.add_task(title, due, priority, _OWNER, _TYPED)}]

    async def owner_tasks(self, done: bool = False) -> list[dict[str, Any]]:
        """The owner's tasks."""
        selves = self.people.selves(PERSON)

        def read(rows: Rows) -> tuple[list[Task], str]:
            return tasks.listing(rows, _OWNERS, selves, done=done), self._zone(rows, _OWNER)

        found, zone = await self._read(read)
        return [
            {
                "id": str(each.id),
                "text": each.title,
                "status": each.status.value,
                "priority": each.priority.value,
                "due": "" if each.due_at is None else local_text(each.due_at, zone),
            }
            for each in found
        ]

    async def owner_end(self, which: str, cancelled: bool = False) -> list[dict[str, Any]]:
        """One is done, or not wanted any more."""
        status = Status.CANCELLED if cancelled else Status.COMPLETED
        return [{"text": await self.end_task(which, _OWNER, _OWNERS, status=status)}]

    async def owner_plan(
        self, title: str, when: str, ends: str = "", minutes: int = planning.REMINDER_MINUTES
    ) -> list[dict[str, Any]]:
        """Write an event of the owner's down."""
        wanted = Wanted(title, when, PERSON, PLACE.id, _OWNERS, Trust.OWNER)
        return [{"text": await self.add_event(Plan(wanted, ends, minutes), _OWNER)}]

    async def owner_events(self, days: int = 31) -> list[dict[str, Any]]:
        """What comes in the owner's calendar."""
        selves = self.people.selves(PERSON)

        def read(rows: Rows) -> list[dict[str, Any]]:
            zone = self._zone(rows, _OWNER)
            comes = planning.coming(appointments.listing(rows, _OWNERS, selves), self.clock(), days)
            return [planning.row(at, each, zone) for at, each in comes]

        return await self._read(read)

    async def owner_cancel_event(self, which: str) -> list[dict[str, Any]]:
        """Take one out."""
        return [{"text": await self.cancel_event(which, _OWNER, _OWNERS)}]

    async def owner_quiet(
        self, zone: str | None = None, begin: str | None = None, end: str | None = None
    ) -> list[dict[str, Any]]:
        """See or set the owner's zone and quiet hours."""
        if zone is None and begin is None and end is None:
            return [{"text": await self.times(_OWNER)}]
        quiet = None if begin is None and end is None else (begin or "", end or "")
        return [{"text": await self.set_times(_OWNER, zone, quiet)}]

    # ------------------------------------------------------------------ inside

    def _check(self, who: Approver) -> None:
        policy.require(self.people, who, Action.AGENDA)
        if self.withheld(who.person):
            raise UserError("You chose that nothing of yours is kept; `/privacy resume` ends that.")

    def _check_own(self, reminder: Reminder, who: Approver) -> None:
        if reminder.person not in self.people.selves(who.person):
            raise Refused("This reminder is somebody else's.")

    def _zone(self, rows: Rows, who: Approver) -> str:
        return hours.zone_for(rows, self.people.selves(who.person), self.zone)

    async def _change(self, work: Callable[[Tx], T]) -> T:
        try:
            async with self.constellations.use(self.house) as database:
                return await database.write(_CHANGE, work, durable=True)
        except (Refused, ToolError) as error:
            raise UserError(str(error)) from error

    async def _read(self, work: Callable[[Rows], T]) -> T:
        async with self.constellations.use(self.house) as database:
            return await database.read(work)


def _hour(text: str) -> str:
    """A time of day as it is kept; empty stays empty. Raises Refused."""
    if not text.strip():
        return ""
    try:
        hour, _, minute = text.strip().partition(":")
        return f"{time(int(hour), int(minute or 0)):%H:%M}"
    except ValueError:
        raise Refused(f'"{text[:20]}" is no time of day; it is like 22:30') from None
