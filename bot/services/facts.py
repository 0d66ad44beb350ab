"""Learned facts: listed, entered by hand, confirmed, corrected, forgotten. Scoped as a message there is."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import Field

from bot.agents.context.known_facts import fact_line
from bot.agents.permissions import policy
from bot.agents.permissions.policy import Action, Change, MemoryRights, People
from bot.errors import UserError
from bot.services.caller import Caller
from bot.services.named import find_living, row_number
from bot.services.parameters import Arguments, Param
from bot.services.registry import Options, Suggestions, operation, suggestions
from bot.services.results import Entry, Ink, Listing, Row, Sentence
from memory import agents
from memory.knowledge import facts, sessions
from memory.knowledge.facts import Category, Fact, Source, Statement
from memory.people.audience import Scope
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.errors import Refused
from memory.store.faults import commit_point
from memory.store.ids import FactId, SessionId, snowflakes
from texts import _

_CHANGE = commit_point("facts.change")

_Which = Annotated[str, Field(min_length=1, max_length=20), Param("Number of the fact, as listed", suggests="facts")]
_Agent = Annotated[str, Field(max_length=64), Param("Name of the agent", metavar="NAME", suggests="agents")]
_Words = Annotated[str, Field(min_length=1, max_length=facts.LONGEST)]
_CHANGES = Options(changes=True)
_KEEPS = Options(changes=True, keeps=True)


class ListFacts(Arguments):
    agent: _Agent = ""
    mine: Annotated[bool, Param("Show only facts learned from you")] = False


class AddFact(Arguments):
    fact: Annotated[_Words, Param("One statement about you or your work", metavar="TEXT")]
    category: Annotated[Category, Param("What kind of fact it is")] = Category.PREFERENCE
    agent: _Agent = ""


class OneFact(Arguments):
    fact: _Which


class CorrectFact(OneFact):
    text: Annotated[_Words, Param("What is true instead")]


class FactRow(Row):
    """A fact as it is shown."""

    id: str
    category: str
    text: str
    by: str
    person: str
    sessions: int
    shared: bool
    confirmed_by: tuple[str, ...]
    audience: str
    last_seen: datetime
    written: str = Field(exclude=True)
    """With its category, who said it, and whether that is to be doubted."""

    @classmethod
    def of(cls, fact: Fact) -> "FactRow":
        more = {"by": fact.speaker, "person": fact.person or "", "sessions": fact.reinforcements}
        return cls.from_record(fact, **more, written=fact_line(fact).removeprefix("- "))

    def line(self, ink: Ink) -> str:
        shared = _(", known to all, confirmed by {count}", count=len(self.confirmed_by)) if self.shared else ""
        return self.told(ink, "{written} ({sessions}{shared}){id}", shared=shared)


@dataclass(frozen=True)
class Facts:
    """The facts of one constellation."""

    titles: ClassVar = {"facts": "Manage facts that agents learned in conversations"}

    database: Database
    people: People
    clock: Clock

    @operation("facts.list", "List the facts you can see here", Action.READ_MEMORY, Options(file_name="facts.md"))
    async def list_facts(self, caller: Caller, arguments: ListFacts) -> Listing[FactRow]:
        """The weightiest first; of one agent, of the caller alone."""
        selves = self.people.selves(caller.person) if arguments.mine else ()

        def read(rows: Rows) -> list[Fact]:
            of = find_living(rows, arguments.agent).id if arguments.agent else None
            return facts.listing(rows, caller.scope, of, selves)

        found = await self.database.read(read)
        return Listing(rows=tuple(map(FactRow.of, found)), empty=_("There are no facts that I can show you here."))

    @operation("facts.add", "Add a fact, used only in private conversations with you", Action.KEEP, _KEEPS)
    async def add_fact(self, caller: Caller, arguments: AddFact) -> Entry[FactRow]:
        """Keep a fact as words of the caller."""
        said = _statement(arguments.fact, arguments.category)

        def work(tx: Tx) -> Fact:
            agent = find_living(tx, arguments.agent).id
            session = self._session(tx, facts.listing(tx, caller.scope, agent, (caller.person,)), said)
            source = Source("hand", agent, session, None, caller.person, caller.scope.audience, caller.trust)
            return self._learned(tx, said, source, caller.scope)

        return Entry(done=_("Kept"), row=FactRow.of(await self.database.write(_CHANGE, work)))

    @operation("facts.confirm", "Confirm one of your facts", Action.CHANGE_OWN, _CHANGES)
    async def confirm_fact(self, caller: Caller, arguments: OneFact) -> Entry[FactRow]:
        """As if it was said once more: after three sessions all agents know it."""

        def work(tx: Tx) -> Fact:
            found = self._changeable(tx, caller, arguments.fact, Change.CORRECT)
            said = Statement(found.category, found.text)
            session = self._session(tx, [found], said)
            source = Source("hand", found.agent, session, None, found.person, found.audience, found.trust)
            facts.learn(tx, [said], source, self.clock())
            return _get(tx, found.id, caller.scope)

        return Entry(done=_("Confirmed"), row=FactRow.of(await self.database.write(_CHANGE, work)))

    @operation("facts.correct", "Correct one of your facts", Action.CHANGE_OWN, _KEEPS)
    async def correct_fact(self, caller: Caller, arguments: CorrectFact) -> Entry[FactRow]:
        """Put other words in its place: the old ones hold no more, whatever was said before."""

        def work(tx: Tx) -> Fact:
            old = self._changeable(tx, caller, arguments.fact, Change.CORRECT)
            said = _statement(arguments.text, old.category)
            session = SessionId(snowflakes.next())
            source = Source("hand", old.agent, session, None, old.person, old.audience, old.trust)
            facts.forget(tx, old.id)
            return self._learned(tx, said, source, caller.scope)

        return Entry(done=_("Now"), row=FactRow.of(await self.database.write(_CHANGE, work)))

    @operation("facts.forget", "Forget one of your facts", Action.CHANGE_OWN, _CHANGES)
    async def forget_fact(self, caller: Caller, arguments: OneFact) -> Sentence:
        """Take it away, with those that it had replaced."""

        def work(tx: Tx) -> str:
            found = self._changeable(tx, caller, arguments.fact, Change.FORGET)
            facts.forget(tx, found.id)
            return found.text

        gone = await self.database.write(_CHANGE, work)
        return Sentence(text=_("Forgotten: {gone}. The message it was learned from stays.", gone=gone))

    @suggestions("facts")
    async def suggest(self, caller: Caller) -> Suggestions:
        """Facts that the caller may know."""
        found = await self.database.read(lambda rows: facts.listing(rows, caller.scope, None, ()))
        return [(str(fact.id), fact_line(fact).removeprefix("- ")) for fact in found]

    @suggestions("agents")
    async def suggest_agents(self, _caller: Caller) -> Suggestions:
        """The names of the agents, which are nobody's words."""
        return [(agent.name, agent.name) for agent in await self.database.read(agents.agents)]

    def _learned(self, tx: Tx, said: Statement, source: Source, scope: Scope) -> Fact:
        (learned,) = facts.learn(tx, [said], source, self.clock())
        if learned.fact is None:
            raise Refused(_("That is too short. Write one complete statement."))
        return _get(tx, learned.fact, scope)

    def _session(self, rows: Rows, known: list[Fact], said: Statement) -> SessionId:
        """What is entered by hand counts anew after half an hour, as what is said in a talk does."""
        now = self.clock()
        same = [fact for fact in known if facts.relation(said.text, fact.text) is facts.Relation.SAME]
        recent = [fact for fact in same if now - fact.last_seen < sessions.GAP]
        return facts.session_of(rows, recent[0].id) if recent else SessionId(snowflakes.next())

    def _changeable(self, tx: Tx, caller: Caller, which: str, change: Change) -> Fact:
        """The fact, where the caller may change it so. Raises Refused."""
        found = _get(tx, _number(which), caller.scope)
        held = MemoryRights(() if found.person is None else (found.person,), found.audience, (change,))
        if refused := policy.change_refusal(self.people, caller.approver, change, held):
            raise Refused(refused)
        return found


def _statement(given: str, category: Category) -> Statement:
    text = " ".join(given.split())
    if not text:
        raise UserError(_("The statement is empty."))
    return Statement(category, text)


def _number(which: str) -> FactId:
    if not (number := row_number(which)):
        raise Refused(_("{which} is not the number of a fact. The list of facts shows them.", which=repr(which[:40])))
    return FactId(number)


def _get(rows: Rows, identifier: FactId, scope: Scope) -> Fact:
    found = facts.get(rows, identifier, scope)
    if found is None:
        text = _("There is no fact {number} that you can see here. The list of facts shows them.", number=identifier)
        raise Refused(text)
    return found
