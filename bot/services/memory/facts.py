"""Commands for learned facts, scoped like messages in the place: list, enter by hand, confirm, correct, forget.

What agents were asked to remember are entries (`archival`). `memory.erasure.forgotten_entries` says what goes with one.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import Field

from bot.agents.agenda.tasks import find_one
from bot.agents.permissions.roles_and_rights import Action, Change, MemoryRights
from bot.errors import UserError
from bot.services.caller import Caller
from bot.services.names import find_living
from bot.services.registry import ASKS, FORM, KEEPS, LISTS, Param, Suggestions, operation, suggestions
from bot.services.results import Entry, Listing, Markup, Row
from bot.services.transactions import MemoryService
from memory import agents
from memory.knowledge import entries, fact_extraction, facts, sessions
from memory.knowledge.fact_comparison import Relation, relation
from memory.knowledge.fact_extraction import Category, Statement
from memory.knowledge.facts import LABELS, Fact, Source
from memory.knowledge.project_learnings import LONGEST
from memory.people.audience import Scope, Trust
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.ids import FactId, PersonId, SessionId, code, snowflakes
from memory.store.row_mapper import ending
from sources.text import one_line
from texts import _, gettext_noop

_Which = Annotated[str, Param("Words from the fact, or its number", example="peanuts", suggests="facts")]
_Agent = Annotated[str, Param("Name of the agent", metavar="NAME", suggests="agents")]
_Words = Annotated[str, Field(min_length=1, max_length=fact_extraction.LONGEST)]
_Mine = Annotated[bool, Param("Show only facts learned from you")]
_Fact = Annotated[
    _Words, Param("One statement about you or your work", example="I'm allergic to peanuts.", metavar="TEXT")
]
_Category = Annotated[
    Category | None,
    Param("What kind of fact it is (default: chosen from its wording)", labels=LABELS),
]
_NO_FACT = gettext_noop("There is no fact “{which}” here.")
_SEVERAL_FACTS = gettext_noop("Several facts match “{which}”. Choose one: {listed}.")
_Text = Annotated[_Words, Param("What is true instead", example="I'm allergic to walnuts.")]


def _written(fact: Fact, own: Collection[PersonId]) -> str:
    """A fact on one line: its kind and, unless the reader said it, the speaker and whether it is doubtful."""
    theirs = fact.person in own
    by = f" ({one_line(fact.speaker, 24)})" if fact.speaker and not theirs else ""
    doubt = "" if fact.trust >= Trust.APPROVED or theirs else _(" [unverified]")
    return f"{_(fact.label)}{by}: {one_line(fact.text)}{doubt}"


class FactRow(Row):
    suggested = "written"
    id: str
    category: str
    text: str
    by: str = Field(validation_alias="speaker")
    person: str
    sessions: int = Field(validation_alias="reinforcements")
    shared: bool
    confirmed_by: tuple[str, ...]
    audience: str
    last_seen: datetime
    label: str = Field(exclude=True)
    """Its category in a word."""
    written: str = Field(exclude=True)
    """The text with its category, the speaker, and whether it is doubtful."""

    @classmethod
    def of(cls, fact: Fact, own: Collection[PersonId]) -> "FactRow":
        return cls.from_record(fact, written=_written(fact, own))

    def line(self, markup: Markup) -> str:
        shared = _(", visible to everyone, confirmations: {count}", count=len(self.confirmed_by)) if self.shared else ""
        often = self.shared or self.sessions > 1
        return self.told(markup, "{written} ({sessions}{shared}){id}" if often else "{written}{id}", shared=shared)


class Facts(MemoryService, frozen=True):
    titles: ClassVar = {"facts": "Manage facts that agents learned in conversations"}

    @operation("facts.list", "List the facts you can see here", Action.READ_MEMORY, LISTS)
    @suggestions("facts")
    def list_facts(self, rows: Rows, caller: Caller, agent: _Agent = "", mine: _Mine = False) -> Listing[FactRow]:
        own = self.people.selves(caller.person)
        of = find_living(rows, agent).id if agent else None
        found = facts.listing(rows, caller.scope, of, own if mine else ())
        none = _("There are no facts to show here. `carina archival list` shows what agents were asked to remember.")
        return Listing.of((FactRow.of(fact, own) for fact in found), none)

    @operation("facts.add", "Add a fact, used only in private conversations with you", Action.KEEP, KEEPS)
    def add_fact(
        self, tx: Tx, caller: Caller, fact: _Fact, category: _Category = None, agent: _Agent = ""
    ) -> Entry[FactRow]:
        said = _statement(fact, category)
        agent = find_living(tx, agent).id
        session = self._session(tx, facts.listing(tx, caller.scope, agent, (caller.person,)), said)
        source = Source("hand", agent, session, None, caller.person, caller.scope.audience, caller.trust)
        return Entry(done=_("Saved"), row=self._row(caller, self._learned(tx, said, source, caller.scope)))

    @operation("facts.confirm", "Confirm one of your facts", Action.CHANGE_OWN)
    def confirm_fact(self, tx: Tx, caller: Caller, fact: _Which) -> Entry[FactRow]:
        """Confirm a fact as if it were said again; after three sessions all agents know it."""
        found = self._changeable(tx, caller, fact, Change.CORRECT)
        said = Statement(found.category, found.text)
        session = self._session(tx, [found], said)
        source = Source("hand", found.agent, session, None, found.person, found.audience, found.trust)
        facts.learn(tx, [said], source, self.clock())
        return Entry(done=_("Confirmed"), row=self._row(caller, _get(tx, str(found.id), caller.scope)))

    @operation("facts.correct", "Correct one of your facts", Action.CHANGE_OWN, KEEPS)
    def correct_fact(self, tx: Tx, caller: Caller, fact: _Which, text: _Text) -> Entry[FactRow]:
        """Replace a fact's text; the old one is no longer valid, whatever was said before."""
        old = self._changeable(tx, caller, fact, Change.CORRECT)
        said = _statement(text, old.category)
        session = SessionId(snowflakes.next())
        source = Source("hand", old.agent, session, None, old.person, old.audience, old.trust)
        also = _also_kept(tx, old, caller.scope)
        facts.forget(tx, old.id)
        return Entry(
            done=_("Corrected"), row=self._row(caller, self._learned(tx, said, source, caller.scope)), more=also
        )

    @operation("facts.form", "Open a form with one of your facts", Action.CHANGE_OWN, FORM)
    def open_form(self, rows: Rows, caller: Caller, fact: _Which) -> Entry[FactRow]:
        return Entry(done=_("Corrected"), row=self._row(caller, self._changeable(rows, caller, fact, Change.CORRECT)))

    @operation("facts.forget", "Forget one of your facts", Action.CHANGE_OWN, ASKS)
    def forget_fact(self, tx: Tx, caller: Caller, fact: _Which) -> str:
        """Forget a fact and those that it replaced. One that is found by words is shown first."""
        found = self._changeable(tx, caller, fact, Change.FORGET)
        if fact.removeprefix("#") not in (str(found.id), code(found.id)):
            caller.confirm(_("Forget this fact? “{text}”", text=one_line(found.text)))
        heard, also = facts.messages_of(tx, found.id), _also_kept(tx, found, caller.scope)
        facts.forget(tx, found.id)
        if not heard:
            return _("Forgotten: {text}", text=found.text)
        told = _("Forgotten: {gone}. The message it was learned from stays.", gone=found.text)
        return f"{told}\n{also}" if also else told

    @suggestions("agents")
    def suggest_agents(self, rows: Rows, _caller: Caller) -> Suggestions:
        return [agent.name for agent in agents.agents(rows)]

    def _row(self, caller: Caller, fact: Fact) -> FactRow:
        """Without its kind: the caller has just said it, or read it in a list."""
        row = FactRow.of(fact, self.people.selves(caller.person))
        return row.model_copy(update={"written": row.text})

    def _learned(self, tx: Tx, said: Statement, source: Source, scope: Scope) -> Fact:
        (learned,) = facts.learn(tx, [said], source, self.clock())
        if learned.fact is None:
            raise Refused("That is too short. Write one complete statement.")
        return _get(tx, str(learned.fact), scope)

    def _session(self, rows: Rows, known: list[Fact], said: Statement) -> SessionId:
        """The session of a manual entry; a new one begins after half an hour, as with messages."""
        now = self.clock()
        same = [fact for fact in known if relation(said.text, fact.text) is Relation.SAME]
        recent = [fact for fact in same if now - fact.last_seen < sessions.GAP]
        return facts.session_of(rows, recent[0].id) if recent else SessionId(snowflakes.next())

    def _changeable(self, rows: Rows, caller: Caller, which: str, change: Change) -> Fact:
        """The fact, if the caller may change it in this way. Raises Refused."""
        found = _get(rows, which, caller.scope)
        held = MemoryRights(() if found.person is None else (found.person,), found.audience, (change,))
        self.require_change(caller, change, held)
        return found


def _also_kept(rows: Rows, fact: Fact, scope: Scope) -> str:
    """A note on the long-term entries that contain words of the same messages; empty without any."""
    learned = (each for message in facts.messages_of(rows, fact.id) for each in entries.learned_from(rows, message))
    held = {each.id: each for each in learned}
    seen = (each for each in held.values() if scope.may_use(each.audience) and entries.stands(rows, each.id))
    if not (kept := "; ".join(_("“{text}”", text=one_line(each.content, LONGEST).rstrip(".")) for each in seen)):
        return ""
    words = _("Entries in long-term memory from the same message stay: {entries}.", entries=kept)
    return f"{words} {_('`carina archival delete` deletes an entry along with your messages that it came from.')}"


def _statement(given: str, category: Category | None) -> Statement:
    """The statement that was given; a note, unless the category or the words tell its kind."""
    text = " ".join(given.split())
    if not text:
        raise UserError("That is too short. Write one complete statement.")
    read = next(iter(fact_extraction.statements(text, own=True)), None)
    return Statement(category or (read.category if read else Category.LESSON), text)


def _get(rows: Rows, which: str, scope: Scope) -> Fact:
    """The fact with this number or text, or with part of it. Raises Refused."""
    found = facts.get(rows, FactId(ending(rows, "facts", which)), scope)
    return found or find_one(facts.listing(rows, scope), which, lambda each: each.text, _NO_FACT, _SEVERAL_FACTS)
