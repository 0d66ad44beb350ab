"""Learning a statement: what it means for what is known already, and doing that.

Compared is only what one agent knows from one person in one audience: nobody confirms, corrects or pushes out what
somebody else said, and nothing passes from one audience to another.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from memory.knowledge.facts import rows as store
from memory.knowledge.facts.rows import Fact, Source
from memory.knowledge.facts.rules import Category, Statement, statements
from memory.knowledge.facts.similarity import (
    LEAST_WORDS,
    Relation,
    are_near,
    is_unspaced,
    jaccard,
    relation,
    speaks_of_the_same,
    words,
)
from memory.queue.messages import Message
from memory.store.database import Tx
from memory.store.ids import AgentId, FactId, SessionId


@dataclass(frozen=True)
class Room:
    """How many facts there may be: of all together, of the partner's, and of each other person's."""

    all: int
    partner: int
    other: int


def victims(held: Sequence[Fact], newest: FactId, room: Room) -> list[FactId]:
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


def _weakest(left: Sequence[Fact], mine: Fact) -> list[Fact]:
    """Those of whom one has to go: of who has most beside the partner, else of its own person's."""
    others = [each for each in left if not each.of_partner and each.id != mine.id]
    if not others:
        return [each for each in left if each.whose == mine.whose]
    counted = Counter(each.whose for each in others)
    most = max(counted.values())
    return [each for each in others if counted[each.whose] == most]


def _take(left: list[Fact], among: Sequence[Fact], newest: FactId) -> FactId:
    found = min(
        (each for each in among if each.id != newest),
        key=lambda each: (not each.superseded, each.shared, each.worth, each.created_at, each.id),
    )
    left.remove(found)
    return found.id


KNOWN = Room(all=50, partner=40, other=10)
"""Facts of one agent in one audience. The partner's words have most of it, so that there is room for others too."""
SHARED = Room(all=20, partner=15, other=5)
"""Facts that all agents know, in one audience."""
PROMOTED_AT = 3
"""Said in so many sessions, a fact is known to all agents."""


class Step(Enum):
    SKIP = "skip"
    ADD = "add"
    REINFORCE = "reinforce"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Decision:
    """`fact` is the one that is reinforced, or that forbids it; `replaces` are those that do not hold any more."""

    step: Step
    fact: Fact | None = None
    replaces: tuple[FactId, ...] = ()


def decide(said: Statement, source: Source, known: Sequence[Fact]) -> Decision:
    """What a statement means for what is known. Pure.

    Contradictions are looked for first. The newer one wins, but what a tool gave or an agent wrote down never wins
    over what the person said. A correction is also meant for what was learned in this session of the same thing.
    """
    mine = words(said.text)
    if len(mine) < LEAST_WORDS - (said.category is Category.PREFERENCE) and not is_unspaced(said.text):
        return Decision(Step.SKIP)
    near = [fact for fact in known if are_near(mine, words(fact.text))]
    related = {fact.id: relation(said.text, fact.text) for fact in near}
    opposed = [fact for fact in near if related[fact.id] is Relation.OPPOSED]
    if said.corrects:
        opposed += [fact for fact in near if related[fact.id] is Relation.OTHER and _is_meant(said, fact)]
    if source.origin in ("tool", "agent") and (older := next((each for each in opposed if each.by_person), None)):
        return Decision(Step.REFUSE, older)
    replaces = tuple(fact.id for fact in opposed)
    same = [fact for fact in near if related[fact.id] is Relation.SAME]
    if not same:
        return Decision(Step.ADD, None, replaces)
    best = max(same, key=lambda fact: (jaccard(mine, words(fact.text)), -fact.id))
    return Decision(Step.REINFORCE, best, replaces)


def _is_meant(said: Statement, fact: Fact) -> bool:
    return fact.category is said.category and speaks_of_the_same(said.text, fact.text)


@dataclass(frozen=True)
class Learned:
    """What came of a statement: the fact that holds it, or that forbids it."""

    step: Step
    fact: FactId | None


def learn(tx: Tx, said: Iterable[Statement], source: Source, now: datetime) -> list[Learned]:
    """Keep statements, in the transaction of whoever brings them. The same message is learned from once."""
    return [_learn(tx, each, source, now) for each in said]


def _learn(tx: Tx, said: Statement, source: Source, now: datetime) -> Learned:
    found = decide(said, source, store.of_subject(tx, source))
    match found.step:
        case Step.SKIP:
            return Learned(Step.SKIP, None)
        case Step.REFUSE:
            return Learned(Step.REFUSE, None if found.fact is None else found.fact.id)
        case Step.ADD:
            identifier = store.add(tx, said, source, now)
        case Step.REINFORCE:
            identifier = _reinforce(tx, found, said, source, now)
    store.supersede(tx, found.replaces, identifier)
    if found.step is Step.ADD:
        store.remove(tx, victims(store.of_agent(tx, source.agent, source.audience), identifier, KNOWN))
    return Learned(found.step, identifier)


def _reinforce(tx: Tx, found: Decision, said: Statement, source: Source, now: datetime) -> FactId:
    """Note that a fact was said again; said in enough sessions it is known to all."""
    if found.fact is None:
        raise ValueError("nothing is known that could be reinforced")
    if store.add_source(tx, found.fact.id, said.text, source, now) >= PROMOTED_AT:
        promote(tx, found.fact, now)
    return found.fact.id


def promote(tx: Tx, fact: Fact, now: datetime) -> FactId:
    """Let all agents know a fact, or confirm the same where they know it already. Gives the one that they know."""
    if fact.shared:
        return fact.id
    for each in store.shared_in(tx, fact.audience):
        if each.trust <= fact.trust and relation(fact.text, each.text) is Relation.SAME:
            confirm(tx, each, fact.agent, now)
            return each.id
    store.set_confirmed(tx, fact.id, [fact.agent], now)
    store.unshare(tx, victims(store.shared_in(tx, fact.audience), fact.id, SHARED))
    return fact.id


def confirm(tx: Tx, fact: Fact, agent: AgentId, now: datetime) -> bool:
    """Note that another agent learned the same as all know; False when it is noted already."""
    if agent in fact.confirmed_by:
        return False
    store.set_confirmed(tx, fact.id, [*fact.confirmed_by, agent], now)
    return True


# --------------------------------------------------------------------------------------------------------- edits


def relearn(tx: Tx, edited: Message, by: Iterable[tuple[AgentId, SessionId]], now: datetime) -> None:
    """Learn from an edited message as it is now; what was learned from its old words went with them, by triggers."""
    said = statements(edited.text, own=True)
    for agent, session in by:
        source = Source("said", agent, session, edited.id, edited.person, edited.audience, edited.trust)
        learn(tx, said, source, now)
