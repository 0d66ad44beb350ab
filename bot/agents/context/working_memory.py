"""Working memory as a model sees it: a list of entries without their content; and results that are too long.

Entries are listed as of the turn's beginning, so that all its steps see the same. People's turns see what patrols found
and the indexes that members left; a patrol, and a member at its task, sees its own entries and the shared ones.

During the turn a result is shown whole, up to `LONGEST` characters. The transaction that stores a longer one also saves
it in working memory, in parts that the model reads as needed; the model sees the beginning and where the rest is. Later
turns see the first `PAST` characters of either.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bot.agents.context.quotes import PromptText, joined, quotation, say
from memory.agents import Agent
from memory.knowledge import working_memory
from memory.knowledge.entries import cut
from memory.knowledge.items import Item
from memory.knowledge.working_memory import By, Entry, NewEntry
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from sources.text import one_line

TOOL = "working_memory"
"""An agent with this tool is shown the list of entries."""
_MOST_OTHERS = 20


class Inventory(Struct, frozen=True):
    """The turn's own namespace with its entries, and those of others; newest first."""

    at: datetime
    namespace: str
    own: tuple[Entry, ...]
    others: tuple[Entry, ...]


def namespaces(rows: Rows, turn: Turn, agent: Agent) -> list[str]:
    """The turn's own namespace and the others that it is shown; none for an agent without the tool."""
    if TOOL not in agent.tools:
        return []
    own = working_memory.namespace_of(rows, turn)
    peoples = own.startswith(f"{working_memory.SESSION}/")
    return [own, working_memory.SHARED, *((working_memory.SUBAGENT, working_memory.PATROL) if peoples else ())]


def inventory(turn: Turn, named: Sequence[str], found: Sequence[Item]) -> Inventory | None:
    """The list of what was found in these namespaces."""
    if not found:
        return None
    own, shared, *more = working_memory.before(found, named, turn)
    left, patrols = more or ([], [])
    indexes = [each for each in left if each.key.endswith(working_memory.INDEX)]
    return Inventory(turn.started_at, named[0], tuple(own), (*patrols, *indexes, *shared))


def inventory_parts(found: Inventory) -> Iterator[tuple[str, PromptText]]:
    """The parts of a prompt that change each turn: the source and lines of each."""
    if found.own:
        lines = [line(each, found.at, each.key.removeprefix(f"{found.namespace}/")) for each in found.own]
        yield f"your working memory, {found.namespace}", joined(lines)
    if found.others:
        lines = [line(each, found.at) for each in found.others[:_MOST_OTHERS]]
        more = len(found.others) - len(lines)
        yield "working memory of others", joined([*lines, *([say("- and {more} more", more=more)] if more else [])])


def line(entry: Entry, now: datetime, key: str = "") -> PromptText:
    """An entry without its content; `key` replaces the full path."""
    category = f", category: {entry.category}" if entry.category else ""
    tags = f", tags: {', '.join(entry.tags)}" if entry.tags else ""
    kept = f"expires in {lasting(entry, now)}{category}{tags}"
    return say("- {key}: {kept}", key=key or entry.key, kept=kept)


def lasting(entry: Entry, now: datetime) -> str:
    """How long an entry is still kept, in words."""
    seconds = int((entry.expires_at - now).total_seconds())
    if seconds < 60:
        return f"{max(seconds, 0)} s"
    minutes = round(seconds / 60)  # 5 minutes stay 5 for a reader a moment later
    hours = minutes // 60
    if minutes < 120:
        return f"{minutes} min"
    return f"{hours} h {minutes % 60} min" if hours < 48 else f"{hours // 24} days"


LONGEST = 16_000
PAST = 2_000
PART = 10_000
"""Characters of a part at most; it ends between paragraphs, lines or words."""
KEPT = timedelta(minutes=20)
_HEAD = 1_000  # characters shown of the beginning: later turns still see the keys in it
_CATEGORY = "tool-result"
_OUTLINE = 80  # characters of a part's beginning in the index


def past(text: str) -> str:
    return text if len(text) <= PAST else f"{text[:PAST]}… [{len(text) - PAST:,} more characters are not shown again]"


def fitted(tx: Tx, by: By, tool: str, text: str, *, readable: bool) -> str:
    """The part of a result that the model sees; one that is too long is saved in parts.

    `readable`: whether the agent has working memory to read the parts from; if not, the rest is dropped and the text
    says so.
    """
    if len(text) <= LONGEST or tool == TOOL:  # that tool's results are limited and stored anyway
        return text
    left = f"({len(text) - LONGEST:,} of {len(text):,} characters are left out below"
    if not readable:
        return f"{left}: ask for less at once)\n{quotation(tool, text[:LONGEST])}"
    parts = list(cut(text, PART))
    while (free := working_memory.room(tx, by.namespace, by)) < len(parts) + 1 and working_memory.drop_oldest_result(
        tx, by
    ):
        pass
    kept = parts[: max(free - 1, 0)]
    if not kept:
        full = f"{by.namespace} is full: delete entries that you no longer need and call {tool} again"
        return f"{left}, since {full})\n{quotation(tool, text[:LONGEST])}"
    name = _keep(tx, by, tool, kept)
    rest = sum(map(len, parts[len(kept) :]))
    lost = f" The last {rest:,} characters found no room and are not kept." if rest else ""
    return (
        f"({tool} gave {len(text):,} characters, too many to show at once. They are kept for "
        f"{KEPT.seconds // 60} minutes in {len(kept)} parts, {name}/1 to {name}/{len(kept)}; "
        f"{name}{working_memory.INDEX} says how each begins. Read one with {TOOL} get, or search with "
        f"key {name}.{lost} This is the beginning:)\n"
        f"{quotation(tool, text[:_HEAD])}"
    )


def _keep(tx: Tx, by: By, tool: str, parts: list[str]) -> str:
    """Save the parts and their index; returns their name in the namespace.

    The name is the time of day, so that remarks about earlier parts do not seem to be about these.
    """
    first = name = f"{tool}-{by.now:%H%M%S}"
    number = 1
    while working_memory.is_taken(tx, f"{by.namespace}/{name}", by.scope.audience):
        number += 1
        name = f"{first}-{number}"
    index = NewEntry(f"{name}{working_memory.INDEX}", "\n".join(_outline(name, parts)), KEPT, _CATEGORY)
    kept = working_memory.save(tx, by, index)
    for count, part in enumerate(parts, 1):
        working_memory.save(tx, by, NewEntry(f"{name}/{count}", part, KEPT, _CATEGORY, index_key=kept.key))
    return name


def _outline(name: str, parts: list[str]) -> Iterator[str]:
    for count, part in enumerate(parts, 1):
        yield f"{name}/{count} ({len(part):,} characters): {one_line(part.strip(), _OUTLINE)}"
