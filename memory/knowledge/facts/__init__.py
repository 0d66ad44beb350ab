"""Learned facts: short statements that agents take from what people say and tools give, without a model.

`rules` finds them in a text, `similarity` compares two, `merge` decides what a new one means for what is known,
`fairness` whose goes when there is no room; `rows` keeps them. See docs/facts.md.
"""

from memory.knowledge.facts.fairness import Held, Room, victims
from memory.knowledge.facts.merge import (
    KNOWN,
    PROMOTED_AT,
    SHARED,
    Decision,
    Learned,
    Step,
    confirm,
    decide,
    learn,
    promote,
    relearn,
)
from memory.knowledge.facts.patterns import Category
from memory.knowledge.facts.rows import (
    Fact,
    Origin,
    Source,
    forget,
    get,
    known_to,
    known_to_all,
    listing,
    note_shown,
    remove,
    session_of,
)
from memory.knowledge.facts.rules import LONGEST, READ, Statement, shortened, statements
from memory.knowledge.facts.similarity import SAME, Relation, fingerprint, jaccard, relation, words

__all__ = [
    "KNOWN",
    "LONGEST",
    "PROMOTED_AT",
    "READ",
    "SAME",
    "SHARED",
    "Category",
    "Decision",
    "Fact",
    "Held",
    "Learned",
    "Origin",
    "Relation",
    "Room",
    "Source",
    "Statement",
    "Step",
    "confirm",
    "decide",
    "fingerprint",
    "forget",
    "get",
    "jaccard",
    "known_to",
    "known_to_all",
    "learn",
    "listing",
    "note_shown",
    "promote",
    "relation",
    "relearn",
    "remove",
    "session_of",
    "shortened",
    "statements",
    "victims",
    "words",
]
