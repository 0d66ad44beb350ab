"""Upkeep of archival entries: which are candidates, what may be done with them, and undoing it.

Nothing here asks a model. `candidates` chooses, the caller's model or rules make a `Plan`, and `apply` carries it out
in one transaction that checks every promise itself: the loss bound, specifics that survive, one person's words, one
audience, one trust. A plan that breaks one raises `BrokenPlan` and changes nothing.
"""

from memory.knowledge.consolidation.apply import BrokenPlan as BrokenPlan
from memory.knowledge.consolidation.apply import apply as apply
from memory.knowledge.consolidation.apply import undo as undo
from memory.knowledge.consolidation.candidates import Candidates as Candidates
from memory.knowledge.consolidation.candidates import choose as choose
from memory.knowledge.consolidation.candidates import fresh as fresh
from memory.knowledge.consolidation.plan import Learn as Learn
from memory.knowledge.consolidation.plan import Link as Link
from memory.knowledge.consolidation.plan import Mark as Mark
from memory.knowledge.consolidation.plan import Merge as Merge
from memory.knowledge.consolidation.plan import Part as Part
from memory.knowledge.consolidation.plan import Pass as Pass
from memory.knowledge.consolidation.plan import Plan as Plan
from memory.knowledge.consolidation.plan import Refine as Refine
from memory.knowledge.consolidation.plan import Retire as Retire
from memory.knowledge.consolidation.plan import kin_of as kin_of
from memory.knowledge.consolidation.run_records import Item as Item
from memory.knowledge.consolidation.run_records import Run as Run
from memory.knowledge.consolidation.run_records import allowance as allowance
from memory.knowledge.consolidation.run_records import begin_run as begin_run
from memory.knowledge.consolidation.run_records import latest_run as latest_run
from memory.knowledge.consolidation.run_records import reported as reported
from memory.knowledge.consolidation.specifics import invented as invented
from memory.knowledge.consolidation.specifics import lost as lost
from memory.knowledge.consolidation.specifics import same_words as same_words
from memory.knowledge.consolidation.specifics import specifics as specifics
from memory.knowledge.consolidation.specifics import unsaid as unsaid
