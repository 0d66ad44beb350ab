"""What a turn is shown of learned facts: the weightiest of its agent's, and of what all agents know.

They share a bound with the roster, and stand behind it in the tail of the newest message. What does not fit is cut by
rank; the order stays the same as long as nothing is learned.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.quoting import estimate_tokens
from memory import facts
from memory.audience import Trust
from memory.clock import to_text
from memory.database import Rows
from memory.facts import Fact
from memory.ids import FactId
from memory.turns import Turn
from sources.text import flatten, one_line

TOKENS = 330
"""Of facts and roster together."""
MOST_OWN, MOST_SHARED = 10, 5
_SHARED_TOKENS = 100
OWN_HEAD, SHARED_HEAD = "what you learned", "what all agents learned"


@dataclass(frozen=True)
class Knowledge:
    """What an agent learned by itself, and what all know; the weightiest first."""

    own: tuple[Fact, ...] = ()
    shared: tuple[Fact, ...] = ()

    @property
    def ids(self) -> list[FactId]:
        """Of all of them."""
        return [fact.id for fact in (*self.own, *self.shared)]


def knowledge(rows: Rows, turn: Turn) -> Knowledge:
    """What was learned before a turn that those who hear it may know."""
    own = facts.known_to(rows, turn.agent, turn.scope, MOST_OWN, turn.person, turn.started_at)
    shared = facts.known_to_all(rows, turn.scope, MOST_SHARED, turn.started_at)
    return Knowledge(tuple(own), tuple(shared))


def knowledge_parts(known: Knowledge, roster: str) -> Iterator[tuple[str, str]]:
    """The parts of a prompt's tail: where each is quoted from, and its lines; `roster` is what stands there already."""
    room = TOKENS - (estimate_tokens(roster) if roster else 0)
    shared = list(_fitting(known.shared, SHARED_HEAD, min(room, _SHARED_TOKENS)))
    if shared:
        room -= estimate_tokens(part(SHARED_HEAD, "\n".join(shared)))
    if own := list(_fitting(known.own, OWN_HEAD, room)):
        yield OWN_HEAD, "\n".join(own)
    if shared:
        yield SHARED_HEAD, "\n".join(shared)


def part(origin: str, lines: str) -> str:
    """A part as it stands in the prompt."""
    return f'<quoted from="{origin}">\n{lines}\n</quoted>'


def _fitting(found: Sequence[Fact], head: str, room: int) -> Iterator[str]:
    """The first of them that fit, as lines."""
    text = part(head, "")
    for fact in found:
        line = fact_line(fact)
        text += f"{line}\n"
        if estimate_tokens(text) > room:
            return
        yield line


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
