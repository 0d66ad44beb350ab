"""Learned facts for people: seen, entered by hand, confirmed, corrected, forgotten. Scoped as a message there is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from bot import policy
from bot.desks.desk import Asker
from bot.errors import UserError
from bot.policy import Action, Approver, Change, Held, People
from bot.turns.knowing import fact_data
from memory import agents, facts, sessions
from memory.agents import Agent
from memory.audience import OWNER, Scope, Trust
from memory.clock import Clock
from memory.constellation import Constellations
from memory.database import Rows, Tx
from memory.errors import Refused
from memory.facts import Category, Fact, Source, Statement
from memory.faults import commit_point
from memory.ids import ConstellationId, FactId, PersonId, SessionId, snowflakes
from sources.terminal import PERSON

T = TypeVar("T")

_CHANGE = commit_point("facts.change")

_OWNER = Approver(PERSON, door="command line")
_OWNER_ASKER = Asker(PERSON, Scope(OWNER), is_owner=True)


@dataclass(frozen=True)
class Entered:
    """What somebody enters by hand; without an agent the first one keeps it."""

    text: str
    category: str = Category.PREFERENCE.value
    agent: str = ""


@dataclass(frozen=True)
class Facts:
    """The facts of one constellation. Everything raises UserError with words for who asked.

    `withheld` says of whom nothing is kept.
    """

    constellations: Constellations
    house: ConstellationId
    people: People
    clock: Clock
    withheld: Callable[[PersonId | None], bool]

    async def known(self, asker: Asker, agent: str = "", *, mine: bool = False) -> list[Fact]:
        """What was learned that the asker may know, the weightiest first; of one agent, of the asker alone."""
        selves = self.people.selves(asker.person) if mine else ()

        def read(rows: Rows) -> list[Fact]:
            of = _agent(rows, agent).id if agent else None
            return facts.listing(rows, asker.scope, of, selves)

        async with self.constellations.use(self.house) as database:
            return await database.read(read)

    async def add(self, asker: Asker, trust: Trust, entered: Entered) -> Fact:
        """Keep a fact as words of the asker, known where they are answered alone."""
        policy.require(self.people, Approver(asker.person), Action.KEEP)
        said = _statement(entered)
        self._check(asker)

        def work(tx: Tx) -> Fact:
            agent = _agent(tx, entered.agent).id
            session = self._session(tx, facts.listing(tx, asker.scope, agent, (asker.person,)), said)
            source = Source("hand", agent, session, None, asker.person, asker.scope.audience, trust)
            (learned,) = facts.learn(tx, [said], source, self.clock())
            if learned.fact is None:
                raise Refused("That says too little: write one whole statement.")
            return _get(tx, learned.fact, asker.scope)

        return await self._change(work)

    async def confirm(self, asker: Asker, who: Approver, which: str) -> Fact:
        """Say that a fact holds, as if it was said once more; the person's own facts, and the owner those of all."""

        def work(tx: Tx) -> Fact:
            found = self._changeable(tx, asker, who, which, Change.CORRECT)
            said = Statement(found.category, found.text)
            session = self._session(tx, [found], said)
            source = Source("hand", found.agent, session, None, found.person, found.audience, found.trust)
            facts.learn(tx, [said], source, self.clock())
            return _get(tx, found.id, asker.scope)

        return await self._change(work)

    async def correct(self, asker: Asker, who: Approver, which: str, text: str) -> Fact:
        """Put other words in the place of a fact: the old ones hold no more, whatever was said before."""

        def work(tx: Tx) -> Fact:
            old = self._changeable(tx, asker, who, which, Change.CORRECT)
            said = _statement(Entered(text, old.category.value))
            session = SessionId(snowflakes.next())
            source = Source("hand", old.agent, session, None, old.person, old.audience, old.trust)
            facts.forget(tx, old.id)
            (learned,) = facts.learn(tx, [said], source, self.clock())
            if learned.fact is None:
                raise Refused("That says too little: write one whole statement.")
            return _get(tx, learned.fact, asker.scope)

        self._check(asker)
        return await self._change(work)

    async def forget(self, asker: Asker, who: Approver, which: str) -> str:
        """Take a fact away, with those that it had replaced; words for who asked."""

        def work(tx: Tx) -> str:
            found = self._changeable(tx, asker, who, which, Change.FORGET)
            facts.forget(tx, found.id)
            return f"Forgotten: {found.text}. The message it was learned from stays."

        return await self._change(work)

    def _session(self, rows: Rows, known: list[Fact], said: Statement) -> SessionId:
        """What is entered by hand counts anew after half an hour, as what is said in a talk does."""
        now = self.clock()
        same = [fact for fact in known if facts.relation(said.text, fact.text) is facts.Relation.SAME]
        recent = [fact for fact in same if now - fact.last_seen < sessions.GAP]
        return facts.session_of(rows, recent[0].id) if recent else SessionId(snowflakes.next())

    def _changeable(self, tx: Tx, asker: Asker, who: Approver, which: str, change: Change) -> Fact:
        """The fact, where somebody may change it so."""
        found = _get(tx, _number(which), asker.scope)
        held = Held(() if found.person is None else (found.person,), found.audience, (change,))
        if refused := policy.change_refusal(self.people, who, change, held):
            raise Refused(refused)
        return found

    def _check(self, asker: Asker) -> None:
        if self.withheld(asker.person):
            raise UserError("You chose that nothing of yours is kept; `/privacy resume` ends that.")

    async def _change(self, work: Callable[[Tx], T]) -> T:
        async with self.constellations.use(self.house) as database:
            try:
                return await database.write(_CHANGE, work)
            except Refused as error:
                raise UserError(str(error)) from error

    # ------------------------------------------------------------------ the owner's command line

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "facts.list": self.owner_list,
            "facts.add": self.owner_add,
            "facts.confirm": self.owner_confirm,
            "facts.correct": self.owner_correct,
            "facts.forget": self.owner_forget,
        }

    async def owner_list(self, agent: str = "") -> list[dict[str, Any]]:
        """What was learned that the owner may know."""
        return [fact_data(fact) for fact in await self.known(_OWNER_ASKER, agent)]

    async def owner_add(self, text: str, category: str = "user_preference", agent: str = "") -> list[dict[str, Any]]:
        """Keep a fact that is known in the owner's own places."""
        return [fact_data(await self.add(_OWNER_ASKER, Trust.OWNER, Entered(text, category, agent)))]

    async def owner_confirm(self, which: str) -> list[dict[str, Any]]:
        """Say that a fact holds."""
        return [fact_data(await self.confirm(_OWNER_ASKER, _OWNER, which))]

    async def owner_correct(self, which: str, text: str) -> list[dict[str, Any]]:
        """Put other words in its place."""
        return [fact_data(await self.correct(_OWNER_ASKER, _OWNER, which, text))]

    async def owner_forget(self, which: str) -> list[dict[str, Any]]:
        """Take a fact away."""
        return [{"text": await self.forget(_OWNER_ASKER, _OWNER, which)}]


def _statement(entered: Entered) -> Statement:
    text = " ".join(entered.text.split())
    if not text or len(text) > facts.LONGEST:
        raise UserError(f"A fact is one statement of 1 to {facts.LONGEST} characters; this has {len(text)}.")
    if entered.category not in list(Category):
        raise UserError(f"There is no category {entered.category!r}: {', '.join(Category)}.")
    return Statement(Category(entered.category), text)


def _number(which: str) -> FactId:
    digits = which.strip().lstrip("#")
    if not digits.isdecimal() or len(digits) > 18:
        raise Refused(f"{which[:40]!r} is no number of a fact; the list of facts shows them.")
    return FactId(int(digits))


def _get(rows: Rows, identifier: FactId, scope: Scope) -> Fact:
    found = facts.get(rows, identifier, scope)
    if found is None:
        raise Refused(f"There is no fact {identifier} that you may know here; the list of facts shows which there are.")
    return found


def _agent(rows: Rows, name: str) -> Agent:
    found = agents.agents(rows)
    named = [agent for agent in found if agent.name.casefold() == name.casefold()] if name else found
    if not named:
        raise UserError(f"There is no agent {name!r}; there are: {', '.join(agent.name for agent in found)}.")
    return named[0]
