"""The people that agents know: who talked to them, where, and when last; and what is known of whom, as a graph."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from bot.agents.groups.settings import State
from bot.agents.permissions.policy import Action
from bot.errors import UserError
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.registry import Options, Param, Suggestions, operation, suggestions
from bot.services.results import Ink, Listing, Result, Row
from bot.services.transactions import MemoryService, reads
from memory import agents
from memory.knowledge import graph
from memory.people import states
from memory.people.audience import Scope
from memory.queue import messages
from memory.store.clock import Clock, from_text
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import PersonId, place_source
from sources.text import one_line
from texts import _, gettext_noop

_LOOKS = Options(via=TERMINAL_ONLY)
_MOST = 500


_About = Annotated[
    str, Field(max_length=100), Param("Show only what is related to this name", metavar="NAME", positional=True)
]
_Limit = Annotated[int, Field(ge=1, le=5_000), Param("Maximum number to show, newest first")]


class KnownRow(Row):
    person: str
    name: str
    source: str
    messages: int
    last: datetime

    phrase = gettext_noop("{name} ({who}): {messages}, last {last}")

    def line(self, ink: Ink) -> str:
        return self.told(ink, who=ink.person(self.person))


class TripleRow(Row):
    subject: str
    subject_kind: str
    relation: str
    object: str
    object_kind: str
    agent: str
    entry: str
    says: str
    at: datetime

    phrase = gettext_noop("{subject} {relation} {object} (entry {entry})")


class Graph(Result):
    """What is known of whom; `total` of all that the caller may know."""

    about: str
    total: int
    triples: tuple[TripleRow, ...]

    def lines(self, ink: Ink) -> list[str]:
        return [each.line(ink) for each in self.triples] or [_("Nothing is known there yet.")]


@dataclass(frozen=True)
class KnownPeople:
    database: Database
    clock: Clock

    @operation("people.known", "List who talked to agents, and when last", Action.PEOPLE, _LOOKS)
    @reads
    def list_known(self, rows: Rows, caller: Caller) -> Listing[KnownRow]:
        empty = _("Nobody has talked to your agents yet.")
        return Listing(
            rows=tuple(
                KnownRow(
                    person=row["person_id"],
                    name=row["speaker"],
                    source=place_source(row["person_id"]),
                    messages=row["n"],
                    last=from_text(row["last"]),
                )
                for row in messages.speakers(rows, caller.scope, _MOST)
            ),
            empty=empty,
        )

    @operation(
        "graph", "Show the people and things agents know about, and how they are related", Action.READ_MEMORY, _LOOKS
    )
    @reads
    def show_graph(self, rows: Rows, caller: Caller, about: _About = "", limit: _Limit = 200) -> Graph:
        found, total = graph.shown(rows, about, caller.scope, limit)
        triples = tuple(
            TripleRow.model_validate(
                {
                    **dict(row),
                    "agent": row["agent"] or "",
                    "entry": row["entry_id"],
                    "says": row["content"],
                    "at": from_text(row["at"]),
                }
            )
            for row in found
        )
        return Graph(about=about, total=total, triples=triples)


_SAY = commit_point("state.say")
_SAYS = Options(changes=True, keeps=True)

NOTHING = "none"
"""Said instead of a state, it takes back what was said."""


_State = Annotated[
    str | None,
    Field(max_length=60),
    Param(
        f'A few words; "{NOTHING}" clears it (default: show it)',
        positional=True,
        suggests="states",
    ),
]


@dataclass(frozen=True)
class States(MemoryService):
    @operation("state", "Show or set how you are; it can decide who answers you", Action.KEEP, _SAYS)
    async def state(self, caller: Caller, state: _State = None) -> str:
        scope = caller.scope if caller.here is None else caller.here.scope
        word = (state or "").strip()
        return await (self._say(caller.person, scope, word) if word else self._seen(caller.person, scope))

    @suggestions("states")
    async def suggest(self, _caller: Caller) -> Suggestions:
        known = await self._known()
        return (*known, NOTHING) if known else []

    @reads
    def _known(self, rows: Rows) -> list[str]:
        found = (State.model_validate(each).said for group in agents.groups(rows) for each in group.states)
        return sorted({said for said in found if said}, key=str.casefold)

    async def _seen(self, person: PersonId, scope: Scope) -> str:
        """What somebody said last of how they are, as far as that is known here."""
        people = self.people.selves(person)
        found = await self.database.read(lambda rows: states.of(rows, people, scope, self.clock()))
        known = ", ".join(await self._known())
        now = _('Your state is "{found}".', found=found) if found else _("You have not said how you are.")
        return _("{now} Groups respond to these states: {known}.", now=now, known=known) if known else now

    async def _say(self, person: PersonId, scope: Scope, word: str) -> str:
        """Take a state for what holds where this scope hears it, until another is said or `none`."""
        state = one_line(word, states.LONGEST + 1)
        if len(state) > states.LONGEST:
            raise UserError("Use a few words, at most {LONGEST} characters.", LONGEST=states.LONGEST)
        state = "" if state.casefold() == NOTHING else state
        now = self.clock()

        def work(tx: Tx) -> None:
            for each in self.people.selves(person):
                states.put(tx, each, scope.audience, state if each == person else "", now)

        await self.database.write(_SAY, work, durable=True)
        if not state:
            return _("Cleared. Your state no longer decides who answers you here.")
        known = {each.casefold() for each in await self._known()}
        heard = (
            _("what you tell me privately")
            if scope.audience.startswith(("person:", "owner"))
            else _("what you say here")
        )
        if state.casefold() not in known:
            return _('Saved: "{state}". No group responds to it, so the same agents answer as before.', state=state)
        until = _('until you change it or choose "{NOTHING}", for at most a day', NOTHING=NOTHING)
        return _(
            'Saved: "{state}". The group that responds to it answers {heard}, {until}.',
            state=state,
            heard=heard,
            until=until,
        )
