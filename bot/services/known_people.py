"""The people that agents know: who talked to them, where, and when last; and what is known of whom, as a graph."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from bot.agents.permissions.policy import Action
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.parameters import Arguments, Param
from bot.services.registry import Options, operation
from bot.services.results import Ink, Listing, Result, Row
from memory.knowledge import graph
from memory.queue import messages
from memory.store.clock import Clock, from_text
from memory.store.database import Database, Rows
from memory.store.ids import place_source
from texts import _, gettext_noop

_LOOKS = Options(via=TERMINAL_ONLY)
_MOST = 500


class AskGraph(Arguments):
    about: Annotated[
        str, Field(max_length=100), Param("Only what is around this name", metavar="NAME", positional=True)
    ] = ""
    limit: Annotated[int, Field(ge=1, le=5_000), Param("How many at most, the newest")] = 200


class KnownRow(Row):
    """Somebody who talked to agents, as far as the caller may know it."""

    person: str
    name: str
    source: str
    messages: int
    last: datetime

    phrase = gettext_noop("{name} ({who}): {messages}, last {last}")

    def line(self, ink: Ink) -> str:
        return self.told(ink, who=ink.person(self.person))


class TripleRow(Row):
    """That a subject stands in a relation to an object, and the entry that says so."""

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
    """Of one constellation."""

    database: Database
    clock: Clock

    @operation("people.known", "List who talked to agents, and when last", Action.PEOPLE, _LOOKS)
    async def list_known(self, caller: Caller) -> Listing[KnownRow]:
        """Those who were heard last first."""

        def read(rows: Rows) -> tuple[KnownRow, ...]:
            return tuple(
                KnownRow(
                    person=row["person_id"],
                    name=row["speaker"],
                    source=place_source(row["person_id"]),
                    messages=row["n"],
                    last=from_text(row["last"]),
                )
                for row in messages.speakers(rows, caller.scope, _MOST)
            )

        empty = _("Nobody has talked to your agents yet.")
        return Listing(rows=await self.database.read(read), empty=empty)

    @operation("graph", "Show what is known of whom, and how it belongs together", Action.READ_MEMORY, _LOOKS)
    async def show_graph(self, caller: Caller, arguments: AskGraph) -> Graph:
        """The newest, or what is around a name, as far as the caller may know it."""

        def read(rows: Rows) -> Graph:
            found, total = graph.shown(rows, arguments.about, caller.scope, arguments.limit)
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
            return Graph(about=arguments.about, total=total, triples=triples)

        return await self.database.read(read)
