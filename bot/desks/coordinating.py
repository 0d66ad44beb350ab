"""What agents know of each other, for people: activity, tasks and notes. Scoped as a message there is.

People in charge assign, complete, hand over and note as agents do with `coord`; what they write is known to those who
hear the place where they give the command, and on the command line to the audience they name.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar

from bot import policy
from bot.desks.desk import Asker
from bot.errors import UserError
from bot.policy import Action, Approver, People
from bot.turns.surroundings import ago, event_line, handoff_line, task_line
from memory import activity, agents, coordination, presence
from memory.activity import Event, Importance, Kind, Wanted
from memory.agents import Agent
from memory.audience import OWNER, Scope, Trust, parse_audience
from memory.clock import Clock, to_text
from memory.constellation import Constellations
from memory.coordination import By
from memory.database import Rows, Tx
from memory.errors import Refused
from memory.faults import commit_point
from memory.ids import AgentId, ConstellationId
from memory.search import MAX_HITS, Query, search
from sources.terminal import PERSON
from sources.text import one_line

T = TypeVar("T")

_ARRANGE = commit_point("coordination.arrange")

_MOST_HOURS = 24 * 366
_LISTED, _SHOWN = 20, 600
_OWNER = Approver(PERSON, door="command line")
_OWNER_ASKER = Asker(PERSON, Scope(OWNER), is_owner=True)


@dataclass(frozen=True)
class Wish:
    """What somebody wants arranged: `act` is assign, complete, handoff or note, as for the tool."""

    act: str
    content: str = ""
    agent: str = ""
    task: str = ""
    importance: str = "medium"


@dataclass(frozen=True)
class Sought:
    """Which events somebody wants to see: of the last hours, by an agent, of a kind, with words."""

    hours: float = 24
    agent: str = ""
    kind: str = ""
    text: str = ""
    limit: int = 20


@dataclass(frozen=True)
class Coordinating:
    """The coordination of one constellation. Everything raises UserError with words for who asked."""

    constellations: Constellations
    house: ConstellationId
    people: People
    clock: Clock

    async def activity(self, asker: Asker, sought: Sought) -> list[Event]:
        """What happened, newest first."""
        kind = sought.kind
        if kind and kind not in list(Kind):
            raise UserError(f"there is no kind of event {kind!r}; the kinds are: {', '.join(Kind)}")
        since = self.clock() - timedelta(hours=max(0.0, min(sought.hours, _MOST_HOURS)))

        def read(rows: Rows) -> list[Event]:
            named = _agent(rows, sought.agent)
            wanted = Wanted(since, Kind(kind) if kind else None, None if named is None else named.id)
            if sought.text.strip():
                query = Query(sought.text, AgentId(""), frozenset({"activity"}), since=since, limit=MAX_HITS)
                found = search(rows, query, asker.scope).hits
                wanted = replace(wanted, among=tuple(int(hit.id) for hit in found))
            return activity.recent(rows, wanted, asker.scope, sought.limit)

        return await self._read(read)

    async def status(self, asker: Asker) -> dict[str, list[dict[str, Any]]]:
        """Who is here, which tasks are open, what was handed over and noted last."""
        now = self.clock()

        def read(rows: Rows) -> dict[str, list[dict[str, Any]]]:
            here = presence.others(rows, AgentId(""), asker.scope)
            tasks = coordination.open_tasks(rows, asker.scope, _LISTED)
            handed = coordination.handoffs(rows, asker.scope, _LISTED)
            noted = coordination.notes(rows, asker.scope, _LISTED)
            return {
                "agents": [
                    {
                        "name": each.name,
                        "description": each.description,
                        "last_active": "" if each.last_active is None else ago(now - each.last_active),
                    }
                    for each in here
                ],
                "tasks": [{"id": task.id, "status": task.status, "line": task_line(task)[2:]} for task in tasks],
                "handoffs": [{"id": note.id, "line": handoff_line(note)[2:]} for note in handed],
                "notes": [
                    {
                        "id": note.id,
                        "importance": note.importance,
                        "by": note.by_name,
                        "line": one_line(note.text, _SHOWN),
                    }
                    for note in noted
                ],
            }

        return await self._read(read)

    async def arrange(self, who: Approver, scope: Scope, trust: Trust, wish: Wish) -> str:
        """Do what is wished; what came of it, in words."""
        policy.require(self.people, who, Action.COORDINATE)
        by = By(scope, trust, self.clock(), person=who.person)
        async with self.constellations.use(self.house) as database:
            try:
                return await database.write(_ARRANGE, lambda tx: _arranged(tx, by, wish))
            except Refused as error:
                raise UserError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error

    async def _read(self, read: Callable[[Rows], T]) -> T:
        async with self.constellations.use(self.house) as database:
            return await database.read(read, indexed=True)

    # ------------------------------------------------------------------ the owner's command line

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "activity": self.owner_activity,
            "coord.status": self.owner_status,
            "coord.arrange": self.owner_arrange,
        }

    async def owner_activity(self, **sought: Any) -> list[dict[str, Any]]:
        """What happened, as far as the owner may know; `sought` as for people."""
        return [event_data(event) for event in await self.activity(_OWNER_ASKER, Sought(**sought))]

    async def owner_status(self) -> list[dict[str, Any]]:
        """How things stand among agents, a row for each."""
        found = await self.status(_OWNER_ASKER)
        return [{"what": what, **row} for what, rows in found.items() for row in rows]

    async def owner_arrange(self, audience: str = "owner", **wish: str) -> list[dict[str, Any]]:
        """Assign, complete, hand over or note."""
        try:
            scope = Scope(parse_audience(audience))
        except ValueError as error:
            raise UserError(str(error)) from error
        return [{"text": await self.arrange(_OWNER, scope, Trust.OWNER, Wish(**wish))}]


def event_data(event: Event) -> dict[str, Any]:
    """An event as plain data."""
    return {
        "at": to_text(event.at),
        "kind": str(event.kind),
        "agent": event.agent_name,
        "place": event.place_name,
        "text": event_line(event),
        "importance": event.importance or "",
        "audience": event.audience,
        "details": dict(event.details),
    }


def status_lines(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """How things stand among agents, for a person."""
    lines = [
        f"{each['name']}{': ' + each['description'] if each['description'] else ''}"
        f"{' (last active ' + each['last_active'] + ')' if each['last_active'] else ''}"
        for each in found["agents"]
    ]
    for title, key in (("Open tasks", "tasks"), ("Handoff notes", "handoffs"), ("Notes", "notes")):
        if found[key]:
            lines += [f"{title}:", *(f"- {row['line']}" for row in found[key])]
    return lines if any(found[key] for key in ("tasks", "handoffs", "notes")) else [*lines, "No task is open."]


def _arranged(tx: Tx, by: By, wish: Wish) -> str:
    agent = _agent(tx, wish.agent)
    to: tuple[AgentId | None, str] = (None, "") if agent is None else (agent.id, agent.name)
    importance = _importance(wish.importance)
    match wish.act:
        case "assign":
            task = coordination.assign(tx, by, wish.content, *to, importance)
            return f"Assigned as {task.id} to {task.to_name or 'anyone'}."
        case "complete":
            found = coordination.task(tx, wish.task.strip(), by.scope)
            # Whoever is in charge and may know the task says so themselves to all who may.
            done = coordination.complete(tx, replace(by, scope=Scope(found.audience)), found.id)
            return f"{done.id} is completed."
        case "handoff":
            note = coordination.hand_over(tx, by, wish.content, *to)
            return f"{note.to_name or 'Whoever comes next'} reads it in the next turn."
        case "note":
            return f"Noted for all as {coordination.add_note(tx, by, wish.content, importance).id}."
        case _:
            raise UserError(f"{wish.act!r} is none of assign, complete, handoff and note.")


def _importance(text: str) -> Importance:
    found = next((each for each in activity.IMPORTANCES if each == text), None)
    if found is None:
        raise UserError(f"{text!r} is no importance: {', '.join(activity.IMPORTANCES)}.")
    return found


def _agent(rows: Rows, name: str) -> Agent | None:
    """The agent of that name; None for an empty one. Raises UserError."""
    wanted = name.strip().removeprefix("@").casefold()
    if not wanted:
        return None
    known = agents.agents(rows)
    found = next((agent for agent in known if agent.name.casefold() == wanted), None)
    if found is None:
        raise UserError(f"There is no agent {name!r}; there are: {', '.join(agent.name for agent in known)}.")
    return found
