"""The context of a turn, for its prompt: the place's name, the person's time zone, short items; in few reads."""

import json
from collections.abc import Mapping, Sequence, Set

from msgspec import Struct

from memory.knowledge import entries, items, project_learnings, summaries
from memory.knowledge.items import Item, Kind
from memory.knowledge.summaries import Compaction
from memory.people import hidden_people, person_settings
from memory.queue.turns import Turn
from memory.store.database import Rows
from memory.store.ids import PersonId


class TurnContext(Struct, frozen=True):
    place_name: str
    zone: str
    """The person's time zone; empty if they set none."""
    unshown: Set[PersonId]
    """Others whose words are left out."""
    remembers: bool
    """Whether the agent has entries that may be recalled."""
    compacted: Compaction | None
    """The newest summary of the conversation, for its hearers."""
    items: Mapping[Kind, Sequence[Item]]


_SQL = f"""SELECT (SELECT name FROM places WHERE id = ?), ({person_settings.ZONE}), ({hidden_people.PEOPLE}),
           EXISTS ({entries.ANY})"""
_TABLES = ("places", "person_times", "unshown_people", "archival_entries")


def turn_context(rows: Rows, turn: Turn, namespaces: Sequence[str]) -> TurnContext:
    """The context of a turn that is shown working memory in these namespaces."""
    asked = turn.place, turn.person, turn.agent
    (name, zone, hidden, remembers) = rows.cached(_TABLES, ("around", asked), lambda: tuple(rows.all(_SQL, asked)[0]))
    stored = items.of_turn(rows, turn, namespaces, project_learnings.KINDS, project_learnings.READ)
    compacted = next(map(summaries.compaction, stored[Kind.CONVERSATION]), None)
    return TurnContext(
        name or "", zone or "", {*json.loads(hidden)} - {turn.person}, bool(remembers), compacted, stored
    )
