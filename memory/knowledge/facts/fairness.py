"""Which facts go when there is no room: a pure function, so that nobody's facts push out those of somebody else.

Facts are counted by whose they are. The partner's are those that the owner's own words made: nobody else's fact ever
takes the place of one of them, and what others say has a small share each.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.people.audience import Trust
from memory.store.ids import FactId, PersonId


@dataclass(frozen=True)
class Room:
    """How many facts there may be: of all together, of the partner's, and of each other person's."""

    all: int
    partner: int
    other: int


@dataclass(frozen=True)
class WeighedFact:
    """A fact as it is weighed. `worth` says how often it was said; `spent`: a newer one says otherwise."""

    id: FactId
    person: PersonId | None
    trust: Trust
    worth: int
    since: datetime
    spent: bool = False
    shared: bool = False

    @property
    def of_partner(self) -> bool:
        return self.trust >= Trust.OWNER

    @property
    def whose(self) -> tuple[PersonId | None, bool]:
        """The share it counts for. What a web page said in the owner's turn is not the owner's word."""
        return self.person, self.of_partner


def victims(held: Sequence[WeighedFact], newest: FactId, room: Room) -> list[FactId]:
    """Which facts make room for the newest, which is never one of them; few steps, as one is added at a time.

    First the share of its own person is kept, then the whole. What nobody needs goes first, then what was said
    least, of those the oldest.
    """
    left = list(held)
    mine = next(each for each in left if each.id == newest)
    gone: list[FactId] = []
    share = room.partner if mine.of_partner else room.other
    while sum(each.whose == mine.whose for each in left) > share:
        gone.append(_take(left, [each for each in left if each.whose == mine.whose], newest))
    while len(left) > room.all:
        gone.append(_take(left, _weakest(left, mine), newest))
    return gone


def _weakest(left: Sequence[WeighedFact], mine: WeighedFact) -> list[WeighedFact]:
    """Those of whom one has to go: of who has most beside the partner, else of its own person's."""
    others = [each for each in left if not each.of_partner and each.id != mine.id]
    if not others:
        return [each for each in left if each.whose == mine.whose]
    counted = Counter(each.whose for each in others)
    most = max(counted.values())
    return [each for each in others if counted[each.whose] == most]


def _take(left: list[WeighedFact], among: Sequence[WeighedFact], newest: FactId) -> FactId:
    found = min(
        (each for each in among if each.id != newest),
        key=lambda each: (not each.spent, each.shared, each.worth, each.since, each.id),
    )
    left.remove(found)
    return found.id
