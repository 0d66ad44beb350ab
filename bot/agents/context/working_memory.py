"""What a turn is shown of working memory: which entries there are, never what they hold.

As it stood when the turn began, so that all steps of it see the same. What people began is shown what patrols found
and members left as indexes; a patrol, and a member at its task, is shown its own entries and what is for all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from bot.agents.context.quotes import Quoted, joined, say
from memory.agents import Agent
from memory.knowledge import working
from memory.knowledge.working import Entry
from memory.queue.turns import Turn
from memory.store.database import Rows

TOOL = "working_memory"
"""Whoever has this tool is shown what there is for it."""
_MOST_OTHERS = 20


@dataclass(frozen=True)
class Inventory:
    """The turn's own namespace with its entries, and those of others; all newest first."""

    at: datetime
    namespace: str
    own: tuple[Entry, ...]
    others: tuple[Entry, ...]


def inventory(rows: Rows, turn: Turn, agent: Agent) -> Inventory | None:
    """Read it; None for an agent without the tool."""
    if TOOL not in agent.tools:
        return None
    namespace = working.namespace_of(rows, turn)
    others = [working.SHARED]
    if namespace.startswith(f"{working.SESSION}/"):  # of people
        others += [working.SUBAGENT, working.PATROL]
    own, shared, *more = working.before(rows, [namespace, *others], turn)
    left, patrols = more or ([], [])
    indexes = [each for each in left if each.key.endswith(working.INDEX)]
    return Inventory(turn.started_at, namespace, tuple(own), (*patrols, *indexes, *shared))


def inventory_parts(found: Inventory) -> Iterator[tuple[str, Quoted]]:
    """The parts of a prompt that change each turn: where each is quoted from, and its lines."""
    if found.own:
        lines = [line(each, found.at, each.key.removeprefix(f"{found.namespace}/")) for each in found.own]
        yield f"your working memory, {found.namespace}", joined(lines)
    if found.others:
        lines = [line(each, found.at) for each in found.others[:_MOST_OTHERS]]
        more = len(found.others) - len(lines)
        yield "working memory of others", joined([*lines, *([say("- and {more} more", more=more)] if more else [])])


def line(entry: Entry, now: datetime, key: str = "") -> Quoted:
    """An entry without its content; `key` is shown instead of the whole path."""
    category = f", category: {entry.category}" if entry.category else ""
    tags = f", tags: {', '.join(entry.tags)}" if entry.tags else ""
    kept = f"expires in {lasting(entry, now)}{category}{tags}"
    return say("- {key}: {kept}", key=key or entry.key, kept=kept)


def lasting(entry: Entry, now: datetime) -> str:
    """How long an entry is still kept, as people say it."""
    seconds = int((entry.expires_at - now).total_seconds())
    if seconds < 60:
        return f"{max(seconds, 0)} s"
    minutes = round(seconds / 60)  # 5 minutes are 5 also for who reads it a moment later
    hours = minutes // 60
    if minutes < 120:
        return f"{minutes} min"
    return f"{hours} h {minutes % 60} min" if hours < 48 else f"{hours // 24} days"
