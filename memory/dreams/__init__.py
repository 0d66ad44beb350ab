"""What upkeep makes of archival entries while nobody talks: which are candidates, what may be done, and undoing it.

Nothing here asks a model. `candidates` chooses, whoever thinks makes a `Plan` of it, and `apply` carries it out in one
transaction that holds every promise by itself: the loss bound, specifics that survive, one person's words, one
audience, one trust. Whatever breaks one raises `Broken`, and nothing has changed.
"""

from memory.dreams.applying import Broken, apply
from memory.dreams.candidates import Choice, choose, fresh
from memory.dreams.plan import (
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
from memory.dreams.records import (
    Item,
    Run,
    allowance,
    count_person,
    erase_person,
    export_person,
    latest_run,
    mark_of,
    refused,
    reported,
    runs,
)
from memory.dreams.specifics import invented, lost, same_words, specifics, unsaid
from memory.dreams.undoing import undo

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
    "count_person",
    "digest_of",
    "erase_person",
    "export_person",
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
