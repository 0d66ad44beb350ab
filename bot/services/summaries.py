"""Summaries for people: of a conversation, of agents, of days and weeks, as far as the caller may know them there."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bot.agents.permissions.policy import Action
from bot.models.catalog import OFFLINE
from bot.services.block_names import where
from bot.services.caller import Caller
from bot.services.named import find_living
from bot.services.parameters import Arguments, Param
from bot.services.registry import Options, operation
from bot.services.results import Ink, Listing, Row
from memory import agents
from memory.knowledge import sessions, summaries
from memory.knowledge.sessions import Session
from memory.knowledge.summaries import AgentSummary, Compaction, ConstellationSummary
from memory.store.database import Database, Rows
from texts import _, gettext_noop

_NEWEST, _MOST = 3, 60
_SESSIONS = 5  # the last ones, shown with what agents did
_LOOKS = Options(file_name="summary.md")
_SPANS = {"day": gettext_noop("day"), "week": gettext_noop("week")}


class SummarizeAgents(Arguments):
    agent: Annotated[
        str, Field(max_length=64), Param("Only this agent", metavar="AGENT", suggests="agents", positional=True)
    ] = ""


class SummarizeDays(Arguments):
    of: Annotated[
        Literal["day", "week"] | None, Param("Only days or only weeks", labels={"day": "Days", "week": "Weeks"})
    ] = None
    count: Annotated[int, Field(ge=1, le=_MOST), Param("How many")] = 7


class SummaryRow(Row):
    """A summary: of what, whose or when, where that is known, and by which model it was written."""

    of: str
    name: str
    heard_in: str
    messages: int | None
    made: datetime
    by: str
    text: str

    def line(self, ink: Ink) -> str:
        by = _(", an extract by rules") if self.by == OFFLINE else ""
        return f"{ink.text(f'{self.name} ({self.of}, {self.heard_in}{by})')}: {ink.text(self.text)}"


class SummaryList(Listing[SummaryRow]):
    """Summaries that the caller may know."""

    empty: str = Field(default=gettext_noop("There are no summaries that you can see here yet."), exclude=True)


@dataclass(frozen=True)
class Summaries:
    """The summaries of one constellation."""

    titles: ClassVar = {"summary": "Show summaries of conversations, agents, days and nights"}

    database: Database

    @operation(
        "summary.show", "Show the latest summaries of all kinds", Action.READ_MEMORY,
        Options(file_name="summary.md", default=True),
    )  # fmt: skip
    async def show_latest(self, caller: Caller) -> SummaryList:
        """Of the conversation here, of agents, and of the newest days and weeks."""
        talk = await self.summarize_conversation(caller)
        did = await self.summarize_agents(caller, SummarizeAgents())
        days = await self.summarize_days(caller, SummarizeDays(count=_NEWEST))
        return SummaryList(rows=(*talk.rows, *did.rows, *days.rows))

    @operation("summary.conversation", "Show a summary of the earlier conversation here", Action.READ_MEMORY, _LOOKS)
    async def summarize_conversation(self, caller: Caller) -> SummaryList:
        """Earlier talk of the place of the call."""

        def read(rows: Rows) -> tuple[SummaryRow, ...]:
            names = {agent.id: agent.name for agent in agents.agents(rows)}
            found = summaries.of_place(rows, caller.place, caller.scope, 1)
            return tuple(
                _talk(one, names.get(one.agent, one.agent), where(rows, one.audience, caller.scope)) for one in found
            )

        return SummaryList(rows=await self.database.read(read))

    @operation("summary.agent", "Show a summary of what agents did recently", Action.READ_MEMORY, _LOOKS)
    async def summarize_agents(self, caller: Caller, arguments: SummarizeAgents) -> SummaryList:
        """Or one of them, and their last sessions."""
        name, scope = arguments.agent, caller.scope

        def read(rows: Rows) -> tuple[SummaryRow, ...]:
            known = agents.agents(rows)
            of = find_living(rows, name).id if name.strip() else None
            names = {agent.id: agent.name for agent in known}
            did = [_did(each, where(rows, each.audience, scope)) for each in summaries.agent_summaries(rows, scope, of)]
            last = sessions.recent(rows, scope, _SESSIONS, of)
            ended = [
                _session(each, names.get(each.agent, each.agent), where(rows, each.audience, scope)) for each in last
            ]
            return (*did, *ended)

        return SummaryList(rows=await self.database.read(read))

    @operation("summary.constellation", "Show summaries of recent days and weeks", Action.READ_MEMORY, _LOOKS)
    async def summarize_days(self, caller: Caller, arguments: SummarizeDays) -> SummaryList:
        """To all, the newest first."""

        def read(rows: Rows) -> tuple[SummaryRow, ...]:
            found = summaries.constellation_summaries(rows, caller.scope, _MOST)
            wanted = [each for each in found if arguments.of in (None, each.span)][: arguments.count]
            return tuple(_all(each, where(rows, each.audience, caller.scope)) for each in wanted)

        return SummaryList(rows=await self.database.read(read))


def _talk(found: Compaction, name: str, heard: str) -> SummaryRow:
    told = {"made": found.created_at, "by": found.model, "text": found.summary}
    return SummaryRow.from_record(found, of=_("this conversation"), name=name, heard_in=heard, **told)


def _did(found: AgentSummary, heard: str) -> SummaryRow:
    told = {"made": found.generated_at, "by": found.model, "text": found.summary}
    return SummaryRow.from_record(found, of=_("agent"), name=found.agent_name, heard_in=heard, **told)


def _session(found: Session, name: str, heard: str) -> SummaryRow:
    """Put in short by rules, whatever model there is."""
    parts = [found.what, _listed(_("Decided"), found.decisions), _listed(_("Files"), found.files)]
    parts += [_listed(_("Commits"), found.commits), _listed(_("Open"), found.unfinished)]
    text = " ".join(filter(None, parts))
    of, at = _("session"), found.last_at
    return SummaryRow(of=of, name=name, heard_in=heard, messages=None, made=at, by=OFFLINE, text=text)


def _all(found: ConstellationSummary, heard: str) -> SummaryRow:
    day = f"{found.start:%Y-%m-%d}"
    parts = [found.summary, _listed(_("Decided"), found.decisions), _listed(_("Open"), found.threads)]
    told = {"made": found.created_at or found.end, "by": found.model, "text": " ".join(filter(None, parts))}
    name = day if found.span == "day" else _("week of {start}", start=day)
    return SummaryRow.from_record(found, of=_(_SPANS[found.span]), name=name, heard_in=heard, **told)


def _listed(title: str, lines: Sequence[str]) -> str:
    return f"{title}: {'; '.join(lines)}".rstrip(".") + "." if lines else ""
