"""The situation of a turn: other agents, recent events, open work, and what its agent missed while it was away.

Everything is read through the turn's scope and as of its beginning, so that all steps of a turn see the same. It comes
right before the newest message, so that the earlier text stays the same from turn to turn. How much an agent is told of
what it missed depends on how long it was away and on its role in the group: supervisors are told more.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Protocol, TypeVar

from msgspec import Struct

from bot.agents.context.quotes import NOTHING, PromptText, display_name, joined, line, place_name, say
from memory import activity, coordination
from memory.activity import Details, Event, EventFilter, Kind, Neighbor, ToolUsed
from memory.agenda import tasks
from memory.agenda.tasks import Priority, Status, Task
from memory.coordination import Handoff, Note
from memory.knowledge import summaries
from memory.knowledge.summaries import AgentSummary
from memory.people.audience import Trust
from memory.queue.turns import Turn
from memory.store.database import Rows
from memory.store.records import replace
from scheduler.zones import zone_of
from texts import DAY_END, many

AWAY = timedelta(hours=1)
"""An agent that was away for less is told nothing."""
_DAY, _WEEK = timedelta(days=1), timedelta(days=7)
_SUMMARIES = 20  # summaries that are read
_MISSED = 300  # characters of a decision, a thread or a summary


class CatchUp(Struct, frozen=True):
    """What an agent missed while it was away."""

    at: datetime
    away: timedelta
    happened: tuple[str, ...]
    decisions: tuple[Note, ...]
    threads: tuple[str, ...]
    agents: tuple[tuple[Neighbor, AgentSummary], ...]


def catch_up(rows: Rows, turn: Turn, others: Sequence[Neighbor]) -> CatchUp | None:
    """What the turn's agent missed and its audience may know; None if nothing."""
    if turn.away_since is None or turn.started_at - turn.away_since <= AWAY:
        return None
    away = turn.started_at - turn.away_since
    # More after a day and after a week; double for a supervisor, half for a listener.
    size = (1 + (away >= _DAY) + (away >= _WEEK)) * {"supervisor": 2, "observer": 0.5}.get(_role(rows, turn), 1)
    happened, threads = int(3 * size), int(2 * size)
    found = CatchUp(
        turn.started_at,
        away,
        tuple(_happened(rows, turn, turn.away_since))[:happened],
        tuple(coordination.notes(rows, turn.scope, happened, turn.away_since, "medium", turn.started_at)),
        tuple(_threads(rows, turn, threads)),
        tuple(_did(rows, turn, others))[:threads],
    )
    return found if found.happened or found.decisions or found.threads or found.agents else None


def _role(rows: Rows, turn: Turn) -> str:
    row = rows.one("SELECT role FROM group_members WHERE group_id = ? AND agent_id = ?", (turn.group, turn.agent))
    return "regular" if row is None else str(row["role"])


def _happened(rows: Rows, turn: Turn, since: datetime) -> Iterator[str]:
    wanted = EventFilter(since, others_than=turn.agent, before=turn.id)
    counted = activity.counted(rows, wanted, turn.scope)
    if received := sum(n for _name, kind, n in counted if kind is Kind.RECEIVED):
        yield f"{many(received, 'message')} processed across the constellation"
    completed, new = tasks.shared_between(rows, since, turn.started_at, turn.scope)
    if completed or new:
        yield f"{many(completed, 'task')} completed, {many(new, 'new task')} created"
    for name, kind, n in counted:
        if what := _DONE.get(kind):
            yield f"{name or 'People'} {what[0]} {many(n, *what[1:])}"


_DONE = {
    Kind.SENT: ("gave", "answer"),
    Kind.BLOCK: ("made", "change of memory blocks", "changes of memory blocks"),
    Kind.HANDOFF: ("left", "handoff note"),
}


def _threads(rows: Rows, turn: Turn, limit: int) -> list[str]:
    """Open threads: from the newest summaries, then tasks of others; the agent's own are shown anyway."""
    told = summaries.constellation_summaries(rows, turn.scope, _SUMMARIES, turn.started_at)
    newest = {each.audience: each for each in reversed(told)}
    named = dict.fromkeys(thread for summary in newest.values() for thread in summary.threads)
    given = [
        f"task {task.id} for {task.to_name}: {task.title}"
        for task in tasks.shared(rows, turn.scope, 4 * limit, before=turn.started_at)
        if task.assignee not in (None, turn.agent)
    ]
    return [*named, *given][:limit]


def _did(rows: Rows, turn: Turn, others: Sequence[Neighbor]) -> Iterator[tuple[Neighbor, AgentSummary]]:
    by_id = {each.id: each for each in others}
    for summary in summaries.agent_summaries(rows, turn.scope):
        if summary.agent in by_id and summary.created_at <= turn.started_at:
            yield by_id.pop(summary.agent), summary


def catch_up_lines(missed: CatchUp) -> Iterator[PromptText]:
    yield say("## Constellation Update (you were last active {ago})", ago=ago(missed.away))
    yield from _part("What's Happened", missed.happened)
    yield from _part("Key Decisions", (f"{note.text}{_by(note)}" for note in missed.decisions))
    yield from _part("Open Threads", missed.threads)
    if missed.agents:
        yield say("\n### Agent Activity")
    for agent, summary in missed.agents:
        away = None if agent.last_active is None else missed.at - agent.last_active
        since = NOTHING if away is None else say(" (last active: {ago})", ago=ago(away))
        yield say("**{name}**{since}", name=display_name(agent.name), since=since)
        yield line(summary.summary, _MISSED)


def _by(note: Note) -> str:
    return f" ({note.importance}, noted by {note.by_name})" if note.by_name else f" ({note.importance})"


def _part(title: str, lines: Iterable[str]) -> Iterator[PromptText]:
    found = [say("- {line}", line=line(each, _MISSED)) for each in lines]
    if found:
        yield from (say("\n### {title}", title=title), *found)


def ago(away: timedelta) -> str:
    """How long ago, in words."""
    minutes = int(away.total_seconds() // 60)
    for size, name in ((1440, "day"), (60, "hour"), (1, "minute")):
        if count := max(minutes // size, 0):
            return "yesterday" if (count, name) == (1, "day") else f"{many(count, name)} ago"
    return "just now"


SHOWN_FOR = timedelta(hours=24)
MOST_EVENTS, MOST_OWN = 20, 3
"""Events shown, and how many of them may be the agent's own."""
_PASSED = 100  # own newest events that are read; most are messages in this place
ROSTER = "who else is here"
ROSTER_CHARACTERS = 480
"""For all lines together, about 130 tokens: with the facts, both have 330."""
_MOST_TASKS, _MOST_HANDOFFS = 5, 5
_DID = 60  # characters of another agent's last action
_WORDS = 160  # characters of an event, a description or a message
_LINE = 600  # characters of a task or handoff note
_NOW = timedelta(minutes=30)


class Situation(Struct, frozen=True):
    at: datetime
    others: tuple[Neighbor, ...] = ()
    events: tuple[Event, ...] = ()
    tasks: tuple[Task, ...] = ()
    """Open tasks of the turn's agent, and those for anyone."""
    handoffs: tuple[Handoff, ...] = ()
    missed: CatchUp | None = None


def load_situation(rows: Rows, turn: Turn) -> Situation:
    others = tuple(activity.others(rows, turn.agent, turn.scope))
    return Situation(
        at=turn.started_at,
        others=others,
        events=tuple(_events(rows, turn)),
        tasks=tuple(reversed(tasks.shared(rows, turn.scope, _MOST_TASKS, turn.agent, turn.started_at))),
        handoffs=tuple(coordination.unread(rows, turn, _MOST_HANDOFFS)),
        missed=catch_up(rows, turn, others),
    )


def _events(rows: Rows, turn: Turn) -> list[Event]:
    """Events of the last day in other places, newest first.

    Messages in this place are in view, and the agent's tools here are in its log.
    """
    elsewhere = EventFilter(turn.started_at - SHOWN_FOR, before=turn.id, unless_in=turn.place)
    of_others = replace(elsewhere, others_than=turn.agent)
    mine = replace(elsewhere, agent=turn.agent, passed=_PASSED, unlogged=turn.scope.audience, most=MOST_OWN)
    return activity.recent(rows, turn.scope, MOST_EVENTS, of_others, mine)


# ----------------------------------------------------------------------------------------------------- as words


def situation_parts(found: Situation) -> Iterator[tuple[str, PromptText]]:
    """The parts of a prompt that change each turn: the source and lines of each."""
    if found.others:
        yield ROSTER, joined(roster_lines(found.others, found.at))
    if found.missed is not None:
        yield "what happened while you were away", joined(catch_up_lines(found.missed))
    if found.events:
        yield "what happened lately", joined(_event_lines(found))
    if found.tasks:
        yield "open tasks of yours and for anyone (coord change and complete)", joined(map(task_line, found.tasks))
    if found.handoffs:
        yield "handoff notes for you, shown once", joined(map(handoff_line, found.handoffs))


def roster_lines(others: Sequence[Neighbor], now: datetime) -> list[PromptText]:
    """A line per other agent, as many as fit."""
    lines: list[PromptText] = []
    room = ROSTER_CHARACTERS
    for number, each in enumerate(others):
        about = say(": {it}", it=line(each.description, 80)) if each.description else NOTHING
        did = say('; last: "{did}"', did=line(each.did, _DID)) if each.did else NOTHING
        lately = _lately(each.last_active, now)
        shown = say("- {name}{about}{lately}{did}", name=display_name(each.name), about=about, lately=lately, did=did)
        room -= len(shown) + 1
        if room < 0:
            return [*lines, say("- and {more} more", more=len(others) - number)]
        lines.append(shown)
    return lines


def _lately(last_active: datetime | None, now: datetime) -> PromptText:
    if last_active is None:
        return NOTHING
    away = now - last_active
    if away < _NOW:
        return say(" (active now)")
    return say(" (active today)") if away < _DAY else say(" (last active {ago})", ago=ago(away))


class _Told(Protocol):
    @property
    def details(self) -> Details: ...


Told = TypeVar("Told", bound=_Told)


def folded(events: Iterable[Told], line: Callable[[Told], str]) -> Iterator[tuple[Told, int]]:
    """The first event of each run of calls of one tool that read alike, and how many they are; any other alone."""
    runs = groupby(events, lambda each: line(each) if isinstance(each.details, ToolUsed) else id(each))
    for first, *others in (run for _key, run in runs):
        yield first, 1 + len(others)


def _event_lines(found: Situation) -> Iterator[PromptText]:
    for event, count in folded(found.events, event_line):
        times = say(" ({count} times)", count=count) if count > 1 else NOTHING
        yield say("- [{ago}] {event}{times}", ago=ago(found.at - event.at), event=event_line(event), times=times)


def event_line(event: Event) -> PromptText:
    """An event in one line: who, what, where, and the beginning of the message."""
    who = display_name(event.agent_name or _by_hand(event.trust).capitalize())
    told = say("{who} {words}", who=who, words=line(event.words, 2 * _WORDS))
    if event.kind is Kind.RECEIVED and event.said and event.speaker:
        told = say("{told} from {speaker}", told=told, speaker=display_name(event.speaker))
    if event.kind in (Kind.RECEIVED, Kind.SENT) and event.said:
        told = say("{told} in {place}", told=told, place=place_name(event.place_name))
    if event.said:
        told = say('{told}: "{said}"', told=told, said=line(event.said, _WORDS))
    if event.kind is Kind.NOTABLE and event.importance:
        told = say("{told} ({importance})", told=told, importance=event.importance)
    return say("{told}{doubt}", told=told, doubt=_doubt(event.trust))


def task_line(task: Task, zone: str = "UTC") -> PromptText:
    by = f", from {display_name(task.by_name)}" if task.by_name else ""
    local = None if task.due_at is None else task.due_at.astimezone(zone_of(zone))
    due = "" if local is None else f"until {local:%Y-%m-%d}{'' if local.time() == DAY_END else f' {local:%H:%M}'}"
    about = (
        "" if task.status is Status.OPEN else task.status.value.replace("_", " "),
        "" if task.priority is Priority.MEDIUM else task.priority.value,
        due if not due or zone != "UTC" else f"{due} UTC",
        f"for {display_name(task.to_name) or 'anyone'}{by}" if task.shared else "",
        f"waits for {', '.join(map(repr, task.waits_for))}" if task.waits_for else "",
        *(f"{name}: {value}" for name, value in task.fields.items()),
    )
    told = "; ".join(filter(None, about))
    shown = say(" ({told})", told=told) if told else NOTHING
    head = say("- {title}{shown} `{id}`", title=task.title, shown=shown, id=task.id)
    notes = say(": {notes}", notes=line(task.notes, _LINE)) if task.notes else NOTHING
    return say("{head}{notes}{doubt}", head=head, notes=notes, doubt=_doubt(task.trust) if task.shared else NOTHING)


def handoff_line(note: Handoff) -> PromptText:
    by, to = display_name(note.from_name) or _by_hand(note.trust), display_name(note.to_name) or "anyone"
    return say("- {by} to {to}: {text}{doubt}", by=by, to=to, text=line(note.content, _LINE), doubt=_doubt(note.trust))


def _by_hand(trust: Trust) -> str:
    """The person who did something, if no agent did."""
    return "the owner" if trust is Trust.OWNER else "somebody"


def _doubt(trust: Trust) -> PromptText:
    return say(
        " [from a turn with words from the web or from somebody who is not approved]" if trust < Trust.APPROVED else ""
    )
