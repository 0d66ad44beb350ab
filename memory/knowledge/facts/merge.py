"""Learning a statement: decide what it means for the known facts, and apply that.

Only facts that one agent has from one person in one audience are compared: nobody confirms, corrects or displaces
another person's statements, and nothing passes from one audience to another.
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
    """How many facts are kept: in total, of the partner, and of each other person."""

    all: int
    partner: int
    other: int


def victims(held: Sequence[Fact], newest: FactId, room: Room) -> list[FactId]:
    """The facts to drop for the newest, which always stays; usually one, since facts are added one at a time.

    First the limit of the newest fact's person is enforced, then the total. Superseded facts go first, then the least
    repeated, of those the oldest.
    """
    order = sorted(held, key=lambda each: (not each.superseded, each.shared, each.worth, each.created_at, each.id))
    mine = next(each for each in held if each.id == newest)
    theirs = [each for each in order if each.whose == mine.whose]
    share = room.partner if mine.of_partner else room.other
    gone = [each.id for each in theirs if each.id != newest][: max(0, len(theirs) - share)]
    while len(left := [each for each in order if each.id not in gone]) > room.all:
        gone.append(next(each.id for each in _weakest(left, mine) if each.id != newest))
    return gone


def _weakest(left: Sequence[Fact], mine: Fact) -> list[Fact]:
    """The facts of which one must go: those of the person (not the partner) with most; else of the newest's person."""
    counted = Counter(each.whose for each in left if not each.of_partner and each.id != mine.id)
    most = max(counted.values(), default=0)
    return [each for each in left if (counted[each.whose] == most if most else each.whose == mine.whose)]


KNOWN = Room(all=50, partner=40, other=10)
"""Facts of one agent in one audience. The partner gets most of the room, and others some."""
SHARED = Room(all=20, partner=15, other=5)
"""Facts shared by all agents, in one audience."""
PROMOTED_AT = 3
"""The number of sessions after which a repeated fact is shared with all agents."""


class Step(Enum):
    SKIP = "skip"
    ADD = "add"
    REINFORCE = "reinforce"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Decision:
    """`fact` is the one to reinforce, or the one that blocks the statement; `replaces` are those it supersedes."""

    step: Step
    fact: Fact | None = None
    replaces: tuple[FactId, ...] = ()


def decide(said: Statement, source: Source, known: Sequence[Fact]) -> Decision:
    """What a statement means for the known facts. Pure.

    Contradictions are looked for first. The newer one wins, but the result of a tool or an agent's note never wins over
    what the person said. A correction also replaces facts about the same thing from the same session.
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
    """The result of a statement: the fact that holds it, or that blocks it."""

    step: Step
    fact: FactId | None


def learn(tx: Tx, said: Iterable[Statement], source: Source, now: datetime) -> list[Learned]:
    """Store statements, in the caller's transaction. Each message is learned from once."""
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
    """Record that a fact was repeated; after enough sessions it is shared with all agents."""
    if found.fact is None:
        raise ValueError("nothing is known that could be reinforced")
    if store.add_source(tx, found.fact.id, said.text, source, now) >= PROMOTED_AT:
        promote(tx, found.fact, now)
    return found.fact.id


def promote(tx: Tx, fact: Fact, now: datetime) -> FactId:
    """Share a fact with all agents, or confirm the shared one if it exists. Returns the shared fact."""
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
    """Record that another agent learned a shared fact; False if that is recorded already."""
    if agent in fact.confirmed_by:
        return False
    store.set_confirmed(tx, fact.id, [*fact.confirmed_by, agent], now)
    return True


# --------------------------------------------------------------------------------------------------------- edits


def relearn(tx: Tx, edited: Message, by: Iterable[tuple[AgentId, SessionId]], now: datetime) -> None:
    """Learn from the new text of an edited message; triggers have removed what came from the old text."""
    said = statements(edited.text, own=True)
    for agent, session in by:
        source = Source("said", agent, session, edited.id, edited.person, edited.audience, edited.trust)
        learn(tx, said, source, now)
