"""Learned facts: short statements that agents extract from messages and tool results, without a model (docs/facts.md).

`memory.knowledge.fact_extraction` finds statements, and `memory.knowledge.fact_comparison` compares two. Here they are
stored and read through a scope, and it is decided what a new one means for the known ones and which fact is dropped
when there are too many.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from memory.knowledge.fact_comparison import (
    LEAST_WORDS,
    VALUE,
    Relation,
    are_near,
    fingerprint,
    is_unspaced,
    jaccard,
    names_same_property,
    relation,
    says_instead,
    speaks_of_the_same,
    words,
)
from memory.knowledge.fact_extraction import Category, Statement, statements
from memory.people.audience import Audience, Scope, Trust
from memory.people.identities import person_called
from memory.queue.messages import Message
from memory.queue.turns import Turn
from memory.store.clock import to_text
from memory.store.database import Rows, Tx, Value
from memory.store.fulltext import index_text, storable
from memory.store.ids import AgentId, FactId, MessageId, PersonId, SessionId, snowflakes
from memory.store.records import replace
from memory.store.row_mapper import RowMapper
from texts import gettext_noop

Origin: TypeAlias = Literal["said", "tool", "agent", "hand"]
"""Where it came from: a person's message, a tool's result, an agent's note, or manual entry."""

LABELS: Mapping[str, str] = {
    Category.PREFERENCE: gettext_noop("Preference"),
    Category.PATTERN: gettext_noop("Codebase"),
    Category.HABIT: gettext_noop("Habit"),
    Category.LESSON: gettext_noop("Note"),
}


class Source(Struct, frozen=True):
    """The source of a statement. `message` holds its words; None if it was entered by hand."""

    origin: Origin
    agent: AgentId
    session: SessionId
    message: MessageId | None
    person: PersonId | None
    audience: Audience
    trust: Trust


class Fact(NamedTuple):
    """One learned fact. `speaker` is the name under which it was first said; empty if no person said it."""

    id: FactId
    agent: AgentId
    text: str
    person: PersonId | None
    speaker: str
    reinforcements: int
    shared: bool
    by_person: bool
    """Whether a person said or entered it, not only a tool or an agent."""
    audience: Audience
    category: Category
    confirmed_by: tuple[AgentId, ...]
    trust: Trust
    created_at: datetime
    last_seen: datetime
    superseded: bool
    """Whether a newer fact contradicts it."""

    @property
    def of_partner(self) -> bool:
        return self.trust >= Trust.OWNER

    @property
    def whose(self) -> tuple[PersonId | None, bool]:
        """The person whose limit it counts against. A web page in the owner's turn is not the owner's statement."""
        return self.person, self.of_partner

    @property
    def label(self) -> str:
        """The kind of fact, in a word."""
        return LABELS[self.category]

    @property
    def worth(self) -> int:
        """How often it was said, and by how many agents learned."""
        return self.reinforcements + max(0, len(self.confirmed_by) - 1)


_COLUMNS = """f.*, (SELECT m.speaker FROM fact_sources s JOIN messages m ON m.id = s.message_id
    WHERE s.fact_id = f.id AND m.role = 'user' ORDER BY s.id LIMIT 1) AS speaker, f.shared_at IS NOT NULL AS shared,
  f.superseded_by IS NOT NULL AS superseded,
  EXISTS (SELECT 1 FROM fact_sources s WHERE s.fact_id = f.id AND s.origin IN ('said', 'hand')) AS by_person"""
_RANK = f"f.trust >= {int(Trust.APPROVED)} DESC"
_BY_WORTH = "json_array_length(f.confirmed_by) DESC, f.reinforcements DESC, f.last_seen DESC, f.id"


def get(rows: Rows, identifier: FactId, scope: Scope) -> Fact | None:
    """One current fact, if the scope may see it."""
    sql = f"SELECT {_COLUMNS} FROM facts f WHERE f.id = ? AND f.superseded_by IS NULL AND KNOWN(f.audience)"
    return to_fact.first(rows, *scope.bind(sql, identifier))


def whose(rows: Rows, identifier: FactId, scope: Scope) -> tuple[PersonId | None, str]:
    """From whom a fact is, and their name; None and no name for what only a tool or an agent said."""
    found = get(rows, identifier, scope)
    if found is None or found.person is None:
        return None, ""
    return found.person, found.speaker or person_called(rows, found.person, scope)


def of_subject(rows: Rows, source: Source) -> list[Fact]:
    """What an agent knows from a person in one audience: a new statement is compared with these."""
    sql = f"""SELECT {_COLUMNS} FROM facts f WHERE f.agent_id = ? AND f.audience = ? AND f.person_id IS ?
              AND f.superseded_by IS NULL ORDER BY f.id"""
    return to_fact.all(rows, sql, (source.agent, source.audience, source.person))


def said_before(rows: Rows, source: Source, *, alone: bool = False) -> frozenset[FactId]:
    """The facts of the person's last message there before this one in the same session, and of this one.

    With `alone`, for what may be a value alone, questions between the two do not count; and after a question of ours
    there are none, since it is the answer to that.
    """
    sql = """SELECT fact_id FROM fact_sources WHERE session_id = :session AND message_id IN (:message,
             (SELECT max(b.id) FROM messages m JOIN messages b ON b.person_id = m.person_id AND b.place_id = m.place_id
              WHERE m.id = :message AND b.id < m.id AND b.role = 'user'
                AND NOT (:alone AND (rtrim(b.content) GLOB '*[?？]' OR coalesce((
                  SELECT rtrim(content) GLOB '*[?？]' FROM messages WHERE place_id = m.place_id AND id < m.id
                    AND role = 'assistant' AND content <> '' ORDER BY id DESC LIMIT 1), 0)))))"""
    given = {"session": source.session, "message": source.message, "alone": alone}
    found = rows.all(sql, given)
    return frozenset(FactId(row["fact_id"]) for row in found)


def of_agent(rows: Rows, agent: AgentId, audience: Audience) -> list[Fact]:
    """All facts of an agent in one audience, superseded ones too."""
    sql = f"SELECT {_COLUMNS} FROM facts f WHERE f.agent_id = ? AND f.audience = ?"
    return to_fact.all(rows, sql, (agent, audience))


def shared_in(rows: Rows, audience: Audience) -> list[Fact]:
    sql = f"""SELECT {_COLUMNS} FROM facts f WHERE f.shared_at IS NOT NULL AND f.superseded_by IS NULL
              AND f.audience = ? ORDER BY f.id"""
    return to_fact.all(rows, sql, (audience,))


def weightiest(
    rows: Rows,
    agent: AgentId,
    scope: Scope,
    most: tuple[int, int],
    person: PersonId | None = None,
    until: datetime | None = None,
) -> tuple[list[Fact], list[Fact]]:
    """The strongest facts of an agent and those shared by all, at most `most` of each; of its own, those by `person`
    come first. Speakers are looked up only for the result."""
    if not rows.may_have("facts", "superseded_by IS NULL"):
        return [], []
    usable = "f.superseded_by IS NULL AND f.created_at <= ? AND KNOWN(f.audience)"
    sql = f"""SELECT {_COLUMNS} FROM (SELECT * FROM facts f WHERE f.agent_id = ? AND f.shared_at IS NULL AND {usable}
                ORDER BY {_RANK}, f.person_id IS ? DESC, f.reinforcements DESC, f.last_seen DESC, f.id LIMIT +?) f
              UNION ALL SELECT {_COLUMNS} FROM (SELECT * FROM facts f WHERE f.shared_at IS NOT NULL AND {usable}
                ORDER BY {_RANK}, {_BY_WORTH} LIMIT +?) f"""
    moment = "~" if until is None else until
    found = to_fact.all(rows, *scope.bind(sql, agent, moment, person, most[0], moment, most[1]))
    return [fact for fact in found if not fact.shared], [fact for fact in found if fact.shared]


def listing(rows: Rows, scope: Scope, agent: AgentId | None = None, people: Sequence[PersonId] = ()) -> list[Fact]:
    """Facts for people to read: of one agent or all, of some people or all; strongest first, at most 200."""
    sql = f"""SELECT {_COLUMNS} FROM facts f WHERE f.superseded_by IS NULL AND KNOWN(f.audience)
              AND (? IS NULL OR f.agent_id = ?)
              AND (? = '[]' OR f.person_id IN (SELECT value FROM json_each(?))) ORDER BY {_BY_WORTH} LIMIT 200"""
    marks = list(people)
    return to_fact.all(rows, *scope.bind(sql, agent, agent, marks, marks))


def add(tx: Tx, said: Statement, source: Source, now: datetime) -> FactId:
    identifier, text, at = FactId(snowflakes.next()), storable(said.text), to_text(now)
    values: dict[str, Value] = {
        "id": identifier,
        "agent_id": source.agent,
        "category": said.category.value,
        "fact": text,
        "person_id": source.person,
        "audience": source.audience,
        "trust": int(source.trust),
        "created_at": at,
        "last_seen": at,
        "search_text": index_text(text),
    }
    tx.insert("facts", values)
    add_source(tx, identifier, text, source, now)
    return identifier


def add_source(tx: Tx, fact: FactId, text: str, source: Source, now: datetime) -> int:
    """Add a source to a fact; returns in how many sessions it was said. Each message counts once."""
    known = "SELECT 1 FROM fact_sources WHERE fact_id = ? AND message_id = ?"
    if source.message is None or tx.one(known, (fact, source.message)) is None:
        values: dict[str, Value] = {
            "id": snowflakes.next(),
            "fact_id": fact,
            "origin": source.origin,
            "session_id": source.session,
            "message_id": source.message,
            "wording": storable(text),
            "search_text": index_text(text),
            "audience": source.audience,
            "trust": int(source.trust),
            "at": now,
        }
        tx.insert("fact_sources", values)
    sql = """UPDATE facts SET last_seen = max(last_seen, ?), trust = min(trust, ?), reinforcements =
             (SELECT count(DISTINCT session_id) FROM fact_sources WHERE fact_id = facts.id) WHERE id = ?"""
    tx.run(sql, (now, int(source.trust), fact))
    return tx.number("SELECT reinforcements FROM facts WHERE id = ?", (fact,))


def session_of(rows: Rows, fact: FactId) -> SessionId:
    row = rows.one("SELECT session_id FROM fact_sources WHERE fact_id = ? ORDER BY id DESC LIMIT 1", (fact,))
    if row is None:
        raise KeyError(fact)
    return SessionId(row["session_id"])


def messages_of(rows: Rows, fact: FactId) -> list[MessageId]:
    """The messages that a fact, and those that it replaced, were learned from."""
    sql = """SELECT DISTINCT s.message_id FROM facts f JOIN fact_sources s ON s.fact_id = f.id
             WHERE (f.id = :fact OR f.superseded_by = :fact) AND s.message_id IS NOT NULL ORDER BY s.message_id"""
    return [MessageId(row[0]) for row in rows.all(sql, {"fact": fact})]


def learned_from(rows: Rows, held: Iterable[MessageId], scope: Scope) -> list[Fact]:
    """The current facts that were learned from these messages, as far as the scope may see them."""
    sql = f"""SELECT {_COLUMNS} FROM facts f WHERE f.superseded_by IS NULL AND KNOWN(f.audience) AND EXISTS
              (SELECT 1 FROM fact_sources s JOIN json_each(?) e ON e.value = s.message_id WHERE s.fact_id = f.id)
              ORDER BY f.id"""
    return to_fact.all(rows, *scope.bind(sql, list(held)))


def note_shown(tx: Tx, turn: Turn, shown: Sequence[FactId]) -> None:
    """Record that a turn was shown these facts: by the messages that their wording comes from."""
    sql = """INSERT INTO turn_uses (turn_id, kind, row_id, audience) SELECT :turn, 'message', message_id, :audience
             FROM (SELECT message_id, min(id) FROM fact_sources WHERE fact_id IN (SELECT value FROM json_each(:facts))
                   GROUP BY fact_id) WHERE message_id IS NOT NULL ON CONFLICT DO NOTHING"""
    if shown:
        tx.run(sql, {"turn": turn.id, "audience": turn.scope.audience, "facts": list(shown)})


def supersede(tx: Tx, old: Sequence[FactId], new: FactId) -> None:
    sql = """UPDATE facts SET superseded_by = ?, shared_at = NULL, confirmed_by = '[]'
             WHERE id IN (SELECT value FROM json_each(?))"""
    tx.run(sql, (new, list(old)))


def set_confirmed(tx: Tx, fact: FactId, by: Sequence[AgentId], now: datetime) -> None:
    """Share a fact with all agents, with those that learned it."""
    sql = "UPDATE facts SET shared_at = coalesce(shared_at, ?), confirmed_by = ? WHERE id = ?"
    tx.run(sql, (now, list(by), fact))


def unshare(tx: Tx, found: Sequence[FactId]) -> None:
    """Limit shared facts to the agents that learned them."""
    sql = "UPDATE facts SET shared_at = NULL, confirmed_by = '[]' WHERE id IN (SELECT value FROM json_each(?))"
    tx.run(sql, (list(found),))


def remove(tx: Tx, found: Sequence[FactId]) -> int:
    """Remove facts; those that they superseded are current again."""
    return tx.run("DELETE FROM facts WHERE id IN (SELECT value FROM json_each(?))", (list(found),))


def forget(tx: Tx, fact: FactId) -> int:
    """Remove a fact with all that it superseded, so that none becomes current again; returns how many."""
    sql = """WITH RECURSIVE gone(id) AS (
               SELECT :fact UNION SELECT f.id FROM facts f JOIN gone g ON f.superseded_by = g.id)
             DELETE FROM facts WHERE id IN gone"""
    return tx.run(sql, {"fact": fact})


to_fact = RowMapper(Fact, text="fact")


class FactLimits(Struct, frozen=True):
    """How many facts are kept: in total, of the partner, and of each other person."""

    all: int
    partner: int
    other: int


def victims(held: Sequence[Fact], newest: FactId, room: FactLimits) -> list[FactId]:
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


KNOWN = FactLimits(all=50, partner=40, other=10)
"""Facts of one agent in one audience. The partner gets most of the room, and others some."""
SHARED = FactLimits(all=20, partner=15, other=5)
"""Facts shared by all agents, in one audience."""
PROMOTED_AT = 3
"""The number of sessions after which a repeated fact is shared with all agents."""


class Step(Enum):
    SKIP = "skip"
    ADD = "add"
    REINFORCE = "reinforce"
    REFUSE = "refuse"


class Decision(Struct, frozen=True):
    """`fact` is the one to reinforce, or the one that blocks the statement; `replaces` are those it supersedes."""

    step: Step
    fact: Fact | None = None
    replaces: tuple[FactId, ...] = ()


def decide(said: Statement, source: Source, known: Sequence[Fact], before: frozenset[FactId] = frozenset()) -> Decision:
    """What a statement means for the known facts. Pure.

    Contradictions are looked for first. The newer one wins, but the result of a tool or an agent's note never wins over
    what the person said. A correction also replaces facts about the same thing, and the last one of those said right
    `before` it if the verb is the same.
    """
    mine = words(said.text)
    if said.only_replaces:
        return _corrected(said, known)
    short = said.category is Category.PREFERENCE or source.origin == "hand"
    if len(mine) < LEAST_WORDS - short and not is_unspaced(said.text):
        return Decision(Step.SKIP)
    near = [fact for fact in known if are_near(mine, words(fact.text))]
    related = {fact.id: relation(said.text, fact.text) for fact in near}
    opposed = [fact for fact in near if related[fact.id] is Relation.OPPOSED]
    if said.corrects:
        opposed += [fact for fact in near if related[fact.id] is Relation.OTHER and _is_meant(said, fact)]
        last = [fact for fact in known if fact.id in before and says_instead(said.text, fact.text)][-1:]
        opposed += [fact for fact in last if fact.category is said.category and fact not in opposed]
    if source.origin in ("tool", "agent") and (older := next((each for each in opposed if each.by_person), None)):
        return Decision(Step.REFUSE, older)
    replaces = tuple(fact.id for fact in opposed)
    same = [fact for fact in near if related[fact.id] is Relation.SAME]
    if not same:
        return Decision(Step.ADD, None, replaces)
    best = max(same, key=lambda fact: (jaccard(mine, words(fact.text)), -fact.id))
    return Decision(Step.REINFORCE, best, replaces)


def _corrected(said: Statement, known: Sequence[Fact]) -> Decision:
    """A new value in place of the one that was said last for the same property."""
    meant = [fact for fact in known if fact.category is said.category and names_same_property(said.text, fact.text)]
    last = max(meant, key=lambda fact: (fact.last_seen, fact.id), default=None)
    if last is None:
        return Decision(Step.SKIP)
    if fingerprint(last.text) == fingerprint(said.text):
        return Decision(Step.REINFORCE, last)
    return Decision(Step.ADD, None, (last.id,))


def _completed(said: Statement, before: Sequence[Fact]) -> Statement:
    """A correction that is a value alone, with the words that the last statement before it has ahead of its value."""
    values = [(fact, found) for fact in before if (found := VALUE.fullmatch(fact.text))]
    if not (said.only_replaces and values) or VALUE.fullmatch(said.text):
        return said
    fact, found = values[-1]
    return replace(said, text=f"{found[1]} {said.text}", category=fact.category)


def _is_meant(said: Statement, fact: Fact) -> bool:
    return fact.category is said.category and speaks_of_the_same(said.text, fact.text)


class LearnedFact(Struct, frozen=True):
    """The result of a statement: the fact that holds it, or that blocks it."""

    step: Step
    fact: FactId | None


def learn(tx: Tx, said: Iterable[Statement], source: Source, now: datetime) -> list[LearnedFact]:
    """Store statements, in the caller's transaction. Each message is learned from once."""
    return [_learn(tx, each, source, now) for each in said]


def _learn(tx: Tx, said: Statement, source: Source, now: datetime) -> LearnedFact:
    before = said_before(tx, source, alone=said.only_replaces) if said.corrects else frozenset()
    known = of_subject(tx, source)
    said = _completed(said, [fact for fact in known if fact.id in before])
    found = decide(said, source, known, before)
    match found.step:
        case Step.SKIP:
            return LearnedFact(Step.SKIP, None)
        case Step.REFUSE:
            return LearnedFact(Step.REFUSE, None if found.fact is None else found.fact.id)
        case Step.ADD:
            identifier = add(tx, said, source, now)
        case Step.REINFORCE:
            identifier = _reinforce(tx, found, said, source, now)
    supersede(tx, found.replaces, identifier)
    if found.step is Step.ADD:
        remove(tx, victims(of_agent(tx, source.agent, source.audience), identifier, KNOWN))
    return LearnedFact(found.step, identifier)


def _reinforce(tx: Tx, found: Decision, said: Statement, source: Source, now: datetime) -> FactId:
    """Record that a fact was repeated; after enough sessions it is shared with all agents."""
    if found.fact is None:
        raise ValueError("nothing is known that could be reinforced")
    if add_source(tx, found.fact.id, said.text, source, now) >= PROMOTED_AT and not found.fact.shared:
        promote(tx, found.fact, now)
    return found.fact.id


def promote(tx: Tx, fact: Fact, now: datetime) -> None:
    """Share a fact with all agents, or confirm the shared one that says the same."""
    for each in shared_in(tx, fact.audience):
        if each.trust <= fact.trust and relation(fact.text, each.text) is Relation.SAME:
            confirm(tx, each, fact.agent, now)
            return
    set_confirmed(tx, fact.id, [fact.agent], now)
    unshare(tx, victims(shared_in(tx, fact.audience), fact.id, SHARED))


def confirm(tx: Tx, fact: Fact, agent: AgentId, now: datetime) -> bool:
    """Record that another agent learned a shared fact; False if that is recorded already."""
    if agent in fact.confirmed_by:
        return False
    set_confirmed(tx, fact.id, [*fact.confirmed_by, agent], now)
    return True


# --------------------------------------------------------------------------------------------------------- edits


def relearn(tx: Tx, edited: Message, by: Iterable[tuple[AgentId, SessionId]], now: datetime) -> None:
    """Learn from the new text of an edited message; triggers have removed what came from the old text."""
    said = statements(edited.text, own=True)
    for agent, session in by:
        source = Source("said", agent, session, edited.id, edited.person, edited.audience, edited.trust)
        learn(tx, said, source, now)
