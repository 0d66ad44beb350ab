"""What agents know of each other: activity, tasks and notes. Scoped as a message there is.

People in charge assign, hand over and note as agents do with `coord`, and change tasks by `tasks` (task_lists.py). What
they write is known to those who hear the place where they call, and at the terminal to the audience they name.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import Field

from bot.agents.context.situation import ago, event_line, handoff_line
from bot.agents.permissions.policy import Action
from bot.errors import UserError
from bot.services.caller import TERMINAL_ONLY, Caller, is_offered
from bot.services.named import find_living
from bot.services.parameters import Arguments, Param
from bot.services.registry import Options, operation
from bot.services.results import Ink, Listing, Result, Row, Sentence
from bot.services.task_lists import TaskRow, tree_lines
from memory import activity, coordination, presence
from memory.activity import Event, Importance, Kind, Wanted
from memory.agenda import tasks
from memory.agents import Agent
from memory.knowledge.items import By
from memory.people.audience import Scope, parse_audience
from memory.search.hybrid import search
from memory.search.query import MAX_HITS, Query
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.errors import Refused
from memory.store.faults import commit_point
from memory.store.ids import AgentId
from sources.text import one_line
from texts import _, error_sentence, error_text, gettext_noop

T = TypeVar("T")

_ARRANGE = commit_point("coordination.arrange")

_LISTED, _SHOWN = 20, 600
_SHORT = 120  # characters of what a tool was told, and of what it gave
_KEEPS = Options(changes=True, keeps=True)

_Agent = Annotated[str, Field(max_length=64)]
_Words = Annotated[str, Field(min_length=1, max_length=2_000)]
_Importance = Annotated[Importance, Param("Importance; from medium up, absent agents are told on return")]
_Audience = Annotated[
    str,
    Field(max_length=100),
    Param("Who can see it: owner, public, guild:discord:1234 or channel:discord:1234", via=TERMINAL_ONLY),
]


class ListActivity(Arguments):
    hours: Annotated[float, Field(ge=0.1, le=24 * 366), Param("How many hours to look back")] = 24.0
    agent: Annotated[_Agent, Param("Show only this agent", metavar="NAME", suggests="agents")] = ""
    kind: Annotated[Kind | None, Param("Show only events of this kind")] = None
    text: Annotated[str, Field(max_length=200), Param("Show only events with these words", metavar="WORDS")] = ""
    limit: Annotated[int, Field(ge=1, le=200), Param("Maximum number to show, newest first", metavar="ROWS")] = 50


class AssignTask(Arguments):
    task: Annotated[_Words, Param("What to do")]
    agent: Annotated[_Agent, Param("Agent to do it (default: any)", metavar="NAME", suggests="agents")] = ""
    importance: Annotated[Importance, Param("How urgent it is")] = "medium"
    audience: _Audience = "owner"


class HandOver(Arguments):
    note: Annotated[_Words, Param("What the agent needs to know")]
    agent: Annotated[_Agent, Param("Agent to read it (default: the next one)", metavar="NAME", suggests="agents")] = ""
    audience: _Audience = "owner"


class AddNote(Arguments):
    note: Annotated[_Words, Param("What was decided or is important")]
    importance: _Importance = "medium"
    audience: _Audience = "owner"


class EventRow(Row):
    """Something that happened."""

    at: datetime
    kind: str
    agent: str
    place: str
    text: str
    importance: str
    audience: str
    details: dict[str, Any]
    arguments: str = ""
    """What a tool was told, in short; with `result` as far as the conversation still has it."""
    result: str = ""

    @classmethod
    def of(cls, event: Event, call: tuple[str, str] = ("", "")) -> "EventRow":
        names = {"agent": event.agent_name, "place": event.place_name}
        text, (given, gave) = event_line(event), (one_line(each, _SHORT) for each in call)
        given = "" if given == "{}" else given
        return cls.from_record(
            event, **names, text=text, importance=event.importance or "", arguments=given, result=gave
        )

    def line(self, ink: Ink) -> str:
        seconds = self.details.get("seconds")
        took = "" if seconds is None else _(" ({seconds} s)", seconds=f"{seconds:.1f}")
        words = " → ".join(filter(None, (self.arguments, self.result)))
        return self.told(ink, "{at} {text}") + took + (f": {ink.text(words)}" if words else "")


class Present(Row):
    """An agent that is here."""

    name: str
    description: str
    last_active: str
    """How long ago."""

    def line(self, ink: Ink) -> str:
        about = f": {self.description}" if self.description else ""
        active = _(" (last active {last_active})", last_active=self.last_active) if self.last_active else ""
        return ink.text(f"{self.name}{about}{active}")


class Arranged(Row):
    """A task, a handoff or a note."""

    id: str
    text: str

    def line(self, ink: Ink) -> str:
        return self.told(ink, "{text}")


class Noted(Arranged):
    importance: str
    by: str


class Coordinated(Result):
    """How things stand among agents."""

    agents: tuple[Present, ...]
    tasks: tuple[TaskRow, ...]
    handoffs: tuple[Arranged, ...]
    notes: tuple[Noted, ...]

    def lines(self, ink: Ink) -> list[str]:
        lines = [each.line(ink) for each in self.agents]
        parts = (
            (_("Open tasks"), tree_lines(self.tasks, ink)),
            (_("Handoff notes"), [f"- {row.line(ink)}" for row in self.handoffs]),
            (_("Notes"), [f"- {row.line(ink)}" for row in self.notes]),
        )
        for title, told in parts:
            if told:
                lines += [f"{title}:", *told]
        return lines if any(told for _title, told in parts) else [*lines, _("There are no open tasks.")]


class Assigned(Result):
    """A task that was given to somebody."""

    id: str
    to: str
    phrase = gettext_noop("Assigned to {to}.{id}")


@dataclass(frozen=True)
class Coordination:
    """The coordination of one constellation."""

    titles: ClassVar = {"coord": "Manage the tasks, handoffs and notes that agents share"}

    database: Database
    clock: Clock

    @operation("activity", "List what agents did recently", Action.READ_MEMORY, Options(file_name="activity.md"))
    async def list_activity(self, caller: Caller, arguments: ListActivity) -> Listing[EventRow]:
        """As far as the caller may know it, newest first."""
        since = self.clock() - timedelta(hours=arguments.hours)

        def read(rows: Rows) -> tuple[EventRow, ...]:
            named = _agent(rows, arguments.agent)
            wanted = Wanted(since, arguments.kind, None if named is None else named.id)
            if arguments.text.strip():
                query = Query(arguments.text, AgentId(""), frozenset({"activity"}), since=since, limit=MAX_HITS)
                found = search(rows, query, caller.scope).hits
                wanted = replace(wanted, among=tuple(int(hit.id) for hit in found))
            events = activity.recent(rows, wanted, caller.scope, arguments.limit)
            words = activity.calls(rows, events, caller.scope)
            return tuple(EventRow.of(each, words.get(each.id, ("", ""))) for each in events)

        empty = _("Nothing that you can see here happened in that time.")
        return Listing(rows=await self._read(read), empty=empty)

    @operation(
        "coord.status", "Show present agents, open tasks, handoffs and notes", Action.READ_MEMORY,
        Options(file_name="coord.md"),
    )  # fmt: skip
    async def show_status(self, caller: Caller) -> Coordinated:
        """As far as the caller may know it."""
        now, scope = self.clock(), caller.scope

        def read(rows: Rows) -> Coordinated:
            return Coordinated(
                agents=tuple(
                    Present(
                        name=each.name,
                        description=each.description,
                        last_active="" if each.last_active is None else ago(now - each.last_active),
                    )
                    for each in presence.others(rows, AgentId(""), scope)
                ),
                tasks=tuple(TaskRow.of(each, "UTC") for each in tasks.shared(rows, scope, _LISTED)),
                handoffs=tuple(
                    Arranged(id=each.id, text=handoff_line(each).removeprefix("- "))
                    for each in coordination.handoffs(rows, scope, _LISTED)
                ),
                notes=tuple(
                    Noted(id=each.id, text=one_line(each.text, _SHOWN), importance=each.importance, by=each.by_name)
                    for each in coordination.notes(rows, scope, _LISTED)
                ),
            )

        return await self._read(read)

    @operation("coord.assign", "Assign a task to an agent", Action.COORDINATE, _KEEPS)
    async def assign_task(self, caller: Caller, arguments: AssignTask) -> Assigned:
        """To an agent, or to anyone."""
        by = self._by(caller, arguments.audience)

        def work(tx: Tx) -> Assigned:
            task = coordination.assign(tx, by, arguments.task, *_to(tx, arguments.agent), arguments.importance)
            return Assigned(id=str(task.id), to=task.to_name or _("anyone"))

        return await self._arrange(work)

    @operation("coord.handoff", "Leave a note for an agent to read in its next turn", Action.COORDINATE, _KEEPS)
    async def hand_over(self, caller: Caller, arguments: HandOver) -> Sentence:
        """To an agent, or to whoever comes next."""
        by = self._by(caller, arguments.audience)

        def work(tx: Tx) -> Sentence:
            note = coordination.hand_over(tx, by, arguments.note, *_to(tx, arguments.agent))
            return Sentence(
                text=_("{to_name} will read it in the next turn.", to_name=note.to_name or _("The next agent"))
            )

        return await self._arrange(work)

    @operation("coord.note", "Leave a note for all agents", Action.COORDINATE, _KEEPS)
    async def add_note(self, caller: Caller, arguments: AddNote) -> Sentence:
        """What was decided or matters."""
        by = self._by(caller, arguments.audience)

        def work(tx: Tx) -> Sentence:
            coordination.add_note(tx, by, arguments.note, arguments.importance)
            return Sentence(text=_("Noted for all agents."))

        return await self._arrange(work)

    def _by(self, caller: Caller, audience: str) -> By:
        """Who writes it, for those who may know."""
        if not is_offered(caller.via, TERMINAL_ONLY):
            return By((caller.here or caller.alone).scope, caller.trust, self.clock(), person=caller.person)
        try:
            return By(Scope(parse_audience(audience)), caller.trust, self.clock(), person=caller.person)
        except ValueError as error:
            raise UserError(error_text(error)) from error

    async def _arrange(self, work: Callable[[Tx], T]) -> T:
        try:
            return await self.database.write(_ARRANGE, work)
        except Refused as error:
            raise Refused(error_sentence(error)) from error

    async def _read(self, read: Callable[[Rows], T]) -> T:
        return await self.database.read(read)


def _to(rows: Rows, name: str) -> tuple[AgentId | None, str]:
    agent = _agent(rows, name)
    return (None, "") if agent is None else (agent.id, agent.name)


def _agent(rows: Rows, name: str) -> Agent | None:
    """The agent of that name; None for an empty one. Raises UserError."""
    return find_living(rows, name) if name.strip() else None
