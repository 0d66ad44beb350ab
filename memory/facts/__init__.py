"""Learned facts: short statements that agents take from what people say and tools give, without a model.

`rules` finds them in a text, `likeness` compares two, `learning` decides what a new one means for what is known,
`fairness` whose goes when there is no room; `rows` keeps them. See docs/facts.md.
"""

from memory.facts.fairness import Held, Room, victims
from memory.facts.learning import (
    KNOWN,
    PROMOTED_AT,
    SHARED,
    Decision,
    Learned,
    Step,
    confirm,
    decide,
    learn,
    learners,
    promote,
    relearn,
)
from memory.facts.likeness import SAME, Relation, fingerprint, jaccard, relation, words
from memory.facts.patterns import Category
from memory.facts.people import count_person, erase_person, export_person
from memory.facts.rows import (
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
from memory.facts.rules import LONGEST, READ, Statement, shortened, statements

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
    "count_person",
    "decide",
    "erase_person",
    "export_person",
    "fingerprint",
    "forget",
    "get",
    "jaccard",
    "known_to",
    "known_to_all",
    "learn",
    "learners",
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
