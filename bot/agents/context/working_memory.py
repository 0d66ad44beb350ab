"""Working memory as a model is shown it: which entries there are, never what they hold; and results that are too long.

The entries stand as they did when the turn began, so that all steps of it see the same. What people began is shown what
patrols found and members left as indexes; a patrol, and a member at its task, is shown its own entries and what is for
all.

While the turn runs a result is shown whole, up to `LONGEST` characters. A longer one is kept in working memory, in
parts that the model reads as it needs them, in the transaction that stores the result; what it is shown is how the
result begins and where the rest is. Later turns are shown the first `PAST` characters of either."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.agents.context.quotes import Quoted, joined, quotation, say
from memory.agents import Agent
from memory.knowledge import working
from memory.knowledge.working import By, Entry, NewEntry
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from sources.text import one_line

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


LONGEST = 16_000
PAST = 2_000
PART = 10_000
"""Characters of a part at most; it breaks between paragraphs, lines or words."""
KEPT = timedelta(minutes=20)
_HEAD = 1_000  # characters of the beginning that are shown: with the keys they are still there in later turns
_CATEGORY = "tool-result"
_OUTLINE = 80  # characters of a part's beginning in the index


def past(text: str) -> str:
    return text if len(text) <= PAST else f"{text[:PAST]}… [{len(text) - PAST:,} more characters are not shown again]"


def fitted(tx: Tx, by: By, tool: str, text: str, *, readable: bool) -> str:
    """What the model is shown of a result; what is too long for it is kept in parts.

    `readable`: whether the agent has working memory to read the parts from; without it the rest is left out, and that
    is said.
    """
    if len(text) <= LONGEST or tool == TOOL:  # what that tool shows is of limited size anyway, and is kept already
        return text
    if not readable:
        rest = len(text) - LONGEST
        left = f"({rest:,} of {len(text):,} characters are left out below: ask for less at once)"
        return f"{left}\n{quotation(tool, text[:LONGEST])}"
    parts = list(cut(text))
    while (free := working.room(tx, by.namespace, by)) < len(parts) + 1 and working.drop_oldest_result(tx, by):
        pass
    kept = parts[: max(free - 1, 0)]
    if not kept:
        full = f"{by.namespace} is full: delete entries that you no longer need and call {tool} again"
        return (
            f"({len(text) - LONGEST:,} of {len(text):,} characters are left out below, since {full})\n"
            f"{quotation(tool, text[:LONGEST])}"
        )
    name = _keep(tx, by, tool, kept)
    rest = sum(map(len, parts[len(kept) :]))
    lost = f" The last {rest:,} characters found no room and are not kept." if rest else ""
    return (
        f"({tool} gave {len(text):,} characters, too many to show at once. They are kept for "
        f"{KEPT.seconds // 60} minutes in {len(kept)} parts, {name}/1 to {name}/{len(kept)}; {name}{working.INDEX} "
        f"says how each begins. Read one with {TOOL} get, or search with key {name}.{lost} This is the beginning:)\n"
        f"{quotation(tool, text[:_HEAD])}"
    )


def _keep(tx: Tx, by: By, tool: str, parts: list[str]) -> str:
    """Keep the parts and their index; gives the name under which they stand in the namespace.

    Named after the time of day, so that what was said of earlier parts does not seem to be about these.
    """
    first = name = f"{tool}-{by.now:%H%M%S}"
    number = 1
    while working.is_taken(tx, f"{by.namespace}/{name}", by.scope.audience):
        number += 1
        name = f"{first}-{number}"
    index = NewEntry(f"{name}{working.INDEX}", "\n".join(_outline(name, parts)), KEPT, _CATEGORY)
    kept = working.save(tx, by, index)
    for count, part in enumerate(parts, 1):
        working.save(tx, by, NewEntry(f"{name}/{count}", part, KEPT, _CATEGORY, index_key=kept.key))
    return name


def _outline(name: str, parts: list[str]) -> Iterator[str]:
    for count, part in enumerate(parts, 1):
        yield f"{name}/{count} ({len(part):,} characters): {one_line(part.strip(), _OUTLINE)}"


def cut(text: str, most: int = PART) -> Iterator[str]:
    """The text in parts of at most `most` characters, which together are the text again."""
    while len(text) > most:
        ends = (text.rfind(mark, most // 2, most) + len(mark) for mark in ("\n\n", "\n", " "))
        end = next((end for end in ends if end > most // 2), most)
        yield text[:end]
        text = text[end:]
    if text:
        yield text
