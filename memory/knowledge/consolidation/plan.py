"""What is to be done with entries: a value that was thought out beforehand, and is checked again when it is done."""

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from memory.knowledge.archival import Entry, NewEntry
from memory.knowledge.graph import Triple
from memory.people.audience import Audience, Trust
from memory.store.ids import AgentId, MessageId, PersonId

OWN_KINDS = ("anti-patterns", "user-preferences")
"""Categories whose entries are only ever merged with others of the same category."""


class Pass(StrEnum):
    """Kinds of upkeep; each has its own marks and does not need the others."""

    DUPLICATES = "duplicates"
    """The same said twice, merged by rule."""
    CONSOLIDATION = "consolidation"
    """What needs judgement: near-duplicates, noise, categories and tags."""
    LESSONS = "lessons"
    """Anti-patterns from corrections."""
    PREFERENCES = "preferences"
    """What people seem to want, from what they said."""
    ENTITIES = "entities"
    """Who and what entries speak of, and how these belong together."""
    CONTRADICTIONS = "contradictions"
    """What says otherwise than something newer, or than a correction."""


class Part(NamedTuple):
    """Entries of one agent, audience and trust: what a pass looks at together, and never beyond."""

    agent: AgentId
    audience: Audience
    trust: Trust


class Kin(NamedTuple):
    """Entries that may become one: of a part, of the same people, of the same kind."""

    part: Part
    people: tuple[PersonId, ...]
    kind: str


@dataclass(frozen=True)
class Merge:
    """Entries that become a new one of these words."""

    by: Pass
    sources: tuple[Entry, ...]
    content: str
    category: str
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Retire:
    by: Pass
    entry: Entry


@dataclass(frozen=True)
class Refine:
    """An entry that gets another category and other tags."""

    by: Pass
    entry: Entry
    category: str
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Learned:
    """A new entry from what one person said; `waiting` is one that is not used before they said yes."""

    by: Pass
    part: Part
    new: NewEntry
    messages: tuple[MessageId, ...]
    waiting: bool = False


@dataclass(frozen=True)
class Linked:
    """What an entry says of whom and what it speaks of."""

    by: Pass
    entry: Entry
    triples: tuple[Triple, ...]


Item: TypeAlias = Merge | Retire | Refine | Learned | Linked


@dataclass(frozen=True)
class Mark:
    """How far a pass has come in a part; stored with what came of it."""

    of: Pass
    part: Part
    position: int


@dataclass(frozen=True)
class Plan:
    """All that one run does. `again` are entries that have to be looked at again: there was no room for them now."""

    items: tuple[Item, ...] = ()
    marks: tuple[Mark, ...] = ()
    again: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()
    """What was left and why: words of ours, never of people."""


def kin_of(entry: Entry) -> Kin:
    kind = entry.category if entry.category.partition("/")[0] in OWN_KINDS else ""
    return Kin(Part(entry.agent, entry.audience, entry.trust), tuple(sorted(entry.people)), kind)


def digest_of(entry: Entry) -> str:
    """Says whether an entry is as it was: its words, its place, and how often it was said."""
    told = [entry.content, entry.category, entry.tags, dict(entry.metadata), entry.importance, entry.reinforcement]
    where = [entry.label, entry.audience, int(entry.trust), entry.people, entry.messages]
    return hashlib.blake2b(json.dumps([told, where], sort_keys=True).encode(), digest_size=16).hexdigest()
