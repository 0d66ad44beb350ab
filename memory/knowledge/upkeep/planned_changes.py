"""A plan of changes to entries: made in advance as a plain value, and checked again when it is applied."""

from enum import StrEnum
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from memory.knowledge.entries import Entry, NewEntry
from memory.knowledge.graph import Triple
from memory.people.audience import Audience, Trust
from memory.store.ids import AgentId, MessageId, PersonId

OWN_KINDS = ("anti-patterns", "user-preferences")
"""Categories whose entries are only merged with others of the same category."""


class Pass(StrEnum):
    """Kinds of upkeep; each has its own marks and works without the others."""

    DUPLICATES = "duplicates"
    """The same said twice, merged by rule."""
    CONSOLIDATION = "consolidation"
    """What needs judgment: near-duplicates, noise, categories and tags."""
    LESSONS = "lessons"
    """Anti-patterns from corrections."""
    PREFERENCES = "preferences"
    """What people seem to want, from what they said."""
    ENTITIES = "entities"
    """Who and what entries mention, and how these are related."""
    CONTRADICTIONS = "contradictions"
    """What contradicts something newer, or a correction."""


class Part(NamedTuple):
    """Entries of one agent, audience and trust: what a pass looks at together."""

    agent: AgentId
    audience: Audience
    trust: Trust


class MergeGroup(NamedTuple):
    """Entries that may be merged: of one part, the same people and the same kind."""

    part: Part
    people: tuple[PersonId, ...]
    kind: str


class Merge(Struct, frozen=True):
    """Entries to be merged into a new one with these words."""

    by: Pass
    sources: tuple[Entry, ...]
    content: str
    category: str
    tags: tuple[str, ...]


class Retire(Struct, frozen=True):
    by: Pass
    entry: Entry


class Refine(Struct, frozen=True):
    """An entry to get another category and other tags."""

    by: Pass
    entry: Entry
    category: str
    tags: tuple[str, ...]


class Learn(Struct, frozen=True):
    """A new entry from what one person said; a `waiting` one is not used before they approve it."""

    by: Pass
    part: Part
    new: NewEntry
    messages: tuple[MessageId, ...]
    waiting: bool = False


class Link(Struct, frozen=True):
    """The relations between things that an entry mentions."""

    by: Pass
    entry: Entry
    triples: tuple[Triple, ...]


Item: TypeAlias = Merge | Retire | Refine | Learn | Link


class Mark(Struct, frozen=True):
    """How far a pass has come in a part; stored with the run's results."""

    of: Pass
    part: Part
    position: int


class Plan(Struct, frozen=True):
    """Everything that one run does. `again` are entries for the next run: there was no room for them in this one."""

    items: tuple[Item, ...] = ()
    marks: tuple[Mark, ...] = ()
    again: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()
    """What was skipped and why: words of ours, never of people."""


def kin_of(entry: Entry) -> MergeGroup:
    kind = entry.category if entry.category.partition("/")[0] in OWN_KINDS else ""
    return MergeGroup(Part(entry.agent, entry.audience, entry.trust), tuple(sorted(entry.people)), kind)
