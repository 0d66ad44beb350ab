"""What upkeep makes of archival entries while nobody talks: which are candidates, what may be done, and undoing it.

Nothing here asks a model. `candidates` chooses, whoever thinks makes a `Plan` of it, and `apply` carries it out in one
transaction that holds every promise by itself: the loss bound, specifics that survive, one person's words, one
audience, one trust. Whatever breaks one raises `Broken`, and nothing has changed.
"""

from memory.knowledge.consolidation.apply import Broken, apply
from memory.knowledge.consolidation.candidates import Choice, choose, fresh
from memory.knowledge.consolidation.plan import (
    PASS_ORDER,
    Learned,
    Linked,
    Mark,
    Merge,
    Part,
    Pass,
    Plan,
    Refine,
    Retire,
    digest_of,
    kin_of,
)
from memory.knowledge.consolidation.run_records import (
    Item,
    Run,
    allowance,
    latest_run,
    mark_of,
    refused,
    reported,
    runs,
)
from memory.knowledge.consolidation.specifics import invented, lost, same_words, specifics, unsaid
from memory.knowledge.consolidation.undo import undo

__all__ = [
    "PASS_ORDER",
    "Broken",
    "Choice",
    "Item",
    "Learned",
    "Linked",
    "Mark",
    "Merge",
    "Part",
    "Pass",
    "Plan",
    "Refine",
    "Retire",
    "Run",
    "allowance",
    "apply",
    "choose",
    "digest_of",
    "fresh",
    "invented",
    "kin_of",
    "latest_run",
    "lost",
    "mark_of",
    "refused",
    "reported",
    "runs",
    "same_words",
    "specifics",
    "undo",
    "unsaid",
]
