"""Summaries for people, limited to what the caller may know: of conversations, agents, days and weeks."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from msgspec import Struct
from pydantic import Field

from bot.agents.permissions.roles_and_rights import Action
from bot.config.values import OFFLINE
from bot.services.caller import Caller
from bot.services.names import find_living, is_shared, where
from bot.services.registry import Options, Param, operation
from bot.services.results import Listing, Markup, Row
from memory import agents
from memory.knowledge import sessions, summaries
from memory.knowledge.sessions import Session
from memory.knowledge.summaries import AgentSummary, Compaction, ConstellationSummary
from memory.store.database import Database, Rows
from scheduler.times_in_words import date_words
from texts import _, gettext_noop, sentence

_NEWEST, _MOST = 3, 60
_SESSIONS = 5  # recent ones, shown with the agents' activity
_NO_SUMMARIES = gettext_noop("There are no summaries to show here yet.")


_Agent = Annotated[str, Param("Only this agent", metavar="AGENT", suggests="agents", positional=True)]
_Of = Annotated[
    Literal["day", "week"] | None, Param("Only days or only weeks", labels={"day": "Days", "week": "Weeks"})
]
_Count = Annotated[int, Field(ge=1, le=_MOST), Param("Maximum number to show")]
_WEEK = gettext_noop("week of {start}")
_KINDS = {"agent": gettext_noop("recently"), "session": gettext_noop("earlier conversation"), "day": "", "week": ""}


class SummaryRow(Row):
    """A summary: its subject, agent and time where known, and the model that wrote it."""

    of: str
    name: str
    title: str = Field(default="", exclude=True)
    """Its name for people, if different."""
    heard_in: str
    audience: str = Field(exclude=True)
    messages: int | None
    made: datetime = Field(validation_alias="created_at")
    by: str = Field(validation_alias="model")
    text: str = Field(validation_alias="summary")

    def line(self, markup: Markup) -> str:
        where = self.heard_in if is_shared(self.audience) else ""
        by = _("made without a language model") if self.by == OFFLINE else ""
        name = self.title or self.name
        about = ", ".join(filter(None, (_(_KINDS.get(self.of, self.of)), where, by)))
        return f"{markup.text(f'{name} ({about})' if about else name)}: {markup.text(self.text)}"


class Summaries(Struct, frozen=True):
    titles: ClassVar = {"summary": "Show summaries of conversations, agents, days and nights"}

    database: Database

    @operation("summary.show", "Show the latest summaries of all kinds", Action.READ_MEMORY, Options(default=True))
    async def show_latest(self, caller: Caller) -> Listing[SummaryRow]:
        talk = await self.summarize_conversation(caller)
        did = await self.summarize_agents(caller)
        days = await self.summarize_days(caller, count=_NEWEST)
        return Listing.of((*talk.rows, *did.rows, *days.rows), _(_NO_SUMMARIES))

    @operation("summary.conversation", "Show a summary of the earlier conversation here", Action.READ_MEMORY)
    def summarize_conversation(self, rows: Rows, caller: Caller) -> Listing[SummaryRow]:
        names = {agent.id: agent.name for agent in agents.agents(rows)}
        found = summaries.of_place(rows, caller.place, caller.scope, 1)
        talk = (_talk(one, names.get(one.agent, one.agent), where(rows, one.audience, caller.scope)) for one in found)
        return Listing.of(talk, _(_NO_SUMMARIES))

    @operation("summary.agent", "Show a summary of what agents did recently", Action.READ_MEMORY)
    def summarize_agents(self, rows: Rows, caller: Caller, agent: _Agent = "") -> Listing[SummaryRow]:
        name, scope = agent, caller.scope
        known = agents.agents(rows)
        of = find_living(rows, name).id if name.strip() else None
        names = {agent.id: agent.name for agent in known}
        did = [_did(each, where(rows, each.audience, scope)) for each in summaries.agent_summaries(rows, scope, of)]
        last = sessions.recent(rows, scope, _SESSIONS, of)
        ended = [_session(each, names.get(each.agent, each.agent), where(rows, each.audience, scope)) for each in last]
        return Listing.of((*did, *ended), _(_NO_SUMMARIES))

    @operation("summary.constellation", "Show summaries of recent days and weeks", Action.READ_MEMORY)
    def summarize_days(self, rows: Rows, caller: Caller, of: _Of = None, count: _Count = 7) -> Listing[SummaryRow]:
        found = summaries.constellation_summaries(rows, caller.scope, _MOST)
        wanted = [each for each in found if of in (None, each.span)][:count]
        days = (_all(each, where(rows, each.audience, caller.scope)) for each in wanted)
        return Listing.of(days, _(_NO_SUMMARIES))


def _talk(found: Compaction, name: str, heard: str) -> SummaryRow:
    return SummaryRow.from_record(found, of=_("this conversation"), name=name, heard_in=heard)


def _did(found: AgentSummary, heard: str) -> SummaryRow:
    return SummaryRow.from_record(found, of="agent", name=found.agent_name, heard_in=heard)


def _session(found: Session, name: str, heard: str) -> SummaryRow:
    """A summary by rules, independent of any model."""
    parts = [found.what, _listed(_("Decided"), found.decisions), _listed(_("Files"), found.files)]
    parts += [_listed(_("Commits"), found.commits), _listed(_("Unfinished"), found.unfinished)]
    told = {"of": "session", "name": name, "heard_in": heard, "messages": None, "by": OFFLINE, "text": _one(parts)}
    return SummaryRow.from_record(found, made=found.last_at, **told)


def _all(found: ConstellationSummary, heard: str) -> SummaryRow:
    day, shown = f"{found.start:%Y-%m-%d}", date_words(found.start)
    parts = [found.summary, _listed(_("Decided"), found.decisions), _listed(_("Unfinished"), found.threads)]
    told = {"text": _one(parts), "heard_in": heard}
    name, title = (day, shown) if found.span == "day" else (_(_WEEK, start=day), _(_WEEK, start=shown))
    return SummaryRow.from_record(found, of=found.span, name=name, title=title, **told)


def _one(parts: Sequence[str]) -> str:
    """The parts that are not empty as one text, each a sentence of its own if there are several."""
    told = [*filter(None, parts)]
    return " ".join(map(sentence, told)) if len(told) > 1 else "".join(told)


def _listed(title: str, lines: Sequence[str]) -> str:
    return f"{title}: {'; '.join(lines)}" if lines else ""
