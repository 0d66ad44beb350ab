"""What a turn is shown of what was learned: the weightiest facts of its agent and of all, and what projects taught.

They share a bound with the roster, and stand behind it in the tail of the newest message. What does not fit is cut by
rank; the order stays the same as long as nothing is learned.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.quoting import estimate_tokens
from memory import facts, projects
from memory.audience import Trust
from memory.clock import to_text
from memory.database import Rows
from memory.facts import Fact
from memory.ids import FactId
from memory.projects import Kind, Learned, Learning
from memory.turns import Turn
from sources.text import flatten, one_line

TOKENS = 330
"""Of facts and roster together."""
MOST_OWN, MOST_SHARED = 10, 5
_SHARED_TOKENS = 100
_PROJECT_TOKENS = 100
OWN_HEAD, SHARED_HEAD = "what you learned", "what all agents learned"
PROJECTS_HEAD = "learned from previous projects"


@dataclass(frozen=True)
class Knowledge:
    """What an agent learned by itself, and what all know; the weightiest first."""

    own: tuple[Fact, ...] = ()
    shared: tuple[Fact, ...] = ()
    projects: Learned = field(default_factory=Learned)

    @property
    def ids(self) -> list[FactId]:
        """Of all of them."""
        return [fact.id for fact in (*self.own, *self.shared)]


def knowledge(rows: Rows, turn: Turn) -> Knowledge:
    """What was learned before a turn that those who hear it may know."""
    own = facts.known_to(rows, turn.agent, turn.scope, MOST_OWN, turn.person, turn.started_at)
    shared = facts.known_to_all(rows, turn.scope, MOST_SHARED, turn.started_at)
    return Knowledge(tuple(own), tuple(shared), projects.learned(rows, turn.scope, turn.started_at))


def knowledge_parts(known: Knowledge, roster: str) -> Iterator[tuple[str, str]]:
    """The parts of a prompt's tail: where each is quoted from, and its lines; `roster` is what stands there already."""
    room = TOKENS - (estimate_tokens(roster) if roster else 0)
    shared = list(_fitting(known.shared, SHARED_HEAD, min(room, _SHARED_TOKENS)))
    if shared:
        room -= estimate_tokens(part(SHARED_HEAD, "\n".join(shared)))
    taught = list(_within(project_lines(known.projects), PROJECTS_HEAD, min(room, _PROJECT_TOKENS)))
    if taught:
        room -= estimate_tokens(part(PROJECTS_HEAD, "\n".join(taught)))
    if own := list(_fitting(known.own, OWN_HEAD, room)):
        yield OWN_HEAD, "\n".join(own)
    if shared:
        yield SHARED_HEAD, "\n".join(shared)
    if taught:
        yield PROJECTS_HEAD, "\n".join(taught)


def part(origin: str, lines: str) -> str:
    """A part as it stands in the prompt."""
    return f'<quoted from="{origin}">\n{lines}\n</quoted>'


def _fitting(found: Sequence[Fact], head: str, room: int) -> Iterator[str]:
    return _within(map(fact_line, found), head, room)


def _within(lines: Iterable[str], head: str, room: int) -> Iterator[str]:
    """The first of them that fit."""
    text = part(head, "")
    for line in lines:
        text += f"{line}\n"
        if estimate_tokens(text) > room:
            return
        yield line


def project_lines(found: Learned) -> Iterator[str]:
    """What projects taught, what weighs most first: where it was weak, what reviews find again, what is wanted."""
    if found.weak:
        yield f"- weak in the last projects, do better: {', '.join(found.weak)}"
    yield from map(project_line, (*found.issues, *found.wishes, *found.rated))


def project_line(each: Learning) -> str:
    """One thing that was learned from projects."""
    text = one_line(each.text, projects.LONGEST)
    match each.kind:
        case Kind.REVIEW:
            return f"- found in {each.times} review{'s' if each.times != 1 else ''}: {text}"
        case Kind.PREFERENCE:
            return f"- wanted for projects: {text}"
        case Kind.PROJECT:
            tech = f" ({one_line(each.tech, projects.LONGEST_TECH)})" if each.tech else ""
            rated = ", ".join(f"{axis} {each.ratings[axis]}/5" for axis in projects.AXES if axis in each.ratings)
            return f"- project{' rated ' + rated if rated else ''}: {text}{tech}"


def fact_line(fact: Fact) -> str:
    """A fact in one line: what kind it is, who said it, and whether that is to be doubted."""
    by = f" ({flatten(fact.speaker, 24)})" if fact.speaker else ""
    doubt = "" if fact.trust >= Trust.APPROVED else " [from somebody who is not approved, or the web]"
    return f"- {fact.label}{by}: {one_line(fact.text, facts.LONGEST)}{doubt}"


def numbered_line(fact: Fact) -> str:
    """A fact in one line, with its number and how often it was said."""
    often = f"{fact.reinforcements} session{'s' if fact.reinforcements != 1 else ''}"
    shared = f", known to all, confirmed by {len(fact.confirmed_by)}" if fact.shared else ""
    return f"{fact_line(fact)} ({often}{shared}) {fact.id}"


def fact_data(fact: Fact) -> dict[str, Any]:
    """A fact as plain data."""
    return {
        "id": str(fact.id),
        "category": fact.category.value,
        "text": fact.text,
        "by": fact.speaker,
        "person": fact.person or "",
        "sessions": fact.reinforcements,
        "shared": fact.shared,
        "confirmed_by": [*fact.confirmed_by],
        "audience": fact.audience,
        "last_seen": to_text(fact.last_seen),
    }
