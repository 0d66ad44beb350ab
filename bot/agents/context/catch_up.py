"""What an agent is told after more than an hour away: events, decisions, open threads, and who did what.

The amount depends on how long it was away and on its role in the group: supervisors are told more.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bot.agents.context.quotes import NOTHING, PromptText, display_name, line, say
from memory import activity, coordination
from memory.activity import EventFilter, Kind, Neighbor
from memory.agenda import tasks
from memory.coordination import Note
from memory.knowledge import summaries
from memory.knowledge.summaries import AgentSummary
from memory.queue.turns import Turn
from memory.store.database import Rows
from texts import many

AWAY = timedelta(hours=1)
"""An agent that was away for less is told nothing."""
_DAY, _WEEK = timedelta(days=1), timedelta(days=7)
_SUMMARIES = 20  # summaries that are read
_WORDS = 300  # characters of a decision, a thread or a summary


class CatchUp(Struct, frozen=True):
    """What an agent missed while it was away."""

    at: datetime
    away: timedelta
    happened: tuple[str, ...]
    decisions: tuple[Note, ...]
    threads: tuple[str, ...]
    agents: tuple[tuple[Neighbor, AgentSummary], ...]


def catch_up(rows: Rows, turn: Turn, others: Sequence[Neighbor]) -> CatchUp | None:
    """What the turn's agent missed and the hearers of the turn may know; None if nothing."""
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
        if summary.agent in by_id and summary.generated_at <= turn.started_at:
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
        yield line(summary.summary, _WORDS)


def _by(note: Note) -> str:
    return f" ({note.importance}, noted by {note.by_name})" if note.by_name else f" ({note.importance})"


def _part(title: str, lines: Iterable[str]) -> Iterator[PromptText]:
    found = [say("- {line}", line=line(each, _WORDS)) for each in lines]
    if found:
        yield from (say("\n### {title}", title=title), *found)


def ago(away: timedelta) -> str:
    """How long ago, in words."""
    minutes = int(away.total_seconds() // 60)
    for size, name in ((1440, "day"), (60, "hour"), (1, "minute")):
        if count := max(minutes // size, 0):
            return "yesterday" if (count, name) == (1, "day") else f"{many(count, name)} ago"
    return "just now"
