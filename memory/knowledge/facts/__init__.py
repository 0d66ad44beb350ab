"""Learned facts: short statements that agents extract from messages and tool results, without a model.

`rules` finds them in a text and compares two; `rows` stores them, and decides what a new one means for the known ones
and which fact is dropped when there are too many. See docs/facts.md.
"""

from memory.knowledge.facts.rows import KNOWN as KNOWN
from memory.knowledge.facts.rows import SHARED as SHARED
from memory.knowledge.facts.rows import Fact as Fact
from memory.knowledge.facts.rows import FactLimits as FactLimits
from memory.knowledge.facts.rows import Source as Source
from memory.knowledge.facts.rows import Step as Step
from memory.knowledge.facts.rows import confirm as confirm
from memory.knowledge.facts.rows import forget as forget
from memory.knowledge.facts.rows import get as get
from memory.knowledge.facts.rows import learn as learn
from memory.knowledge.facts.rows import listing as listing
from memory.knowledge.facts.rows import messages_of as messages_of
from memory.knowledge.facts.rows import note_shown as note_shown
from memory.knowledge.facts.rows import relearn as relearn
from memory.knowledge.facts.rows import session_of as session_of
from memory.knowledge.facts.rows import victims as victims
from memory.knowledge.facts.rows import weightiest as weightiest
from memory.knowledge.facts.rules import LONGEST as LONGEST
from memory.knowledge.facts.rules import READ as READ
from memory.knowledge.facts.rules import Category as Category
from memory.knowledge.facts.rules import Relation as Relation
from memory.knowledge.facts.rules import Statement as Statement
from memory.knowledge.facts.rules import fingerprint as fingerprint
from memory.knowledge.facts.rules import jaccard as jaccard
from memory.knowledge.facts.rules import relation as relation
from memory.knowledge.facts.rules import shortened as shortened
from memory.knowledge.facts.rules import statements as statements
from memory.knowledge.facts.rules import words as words
