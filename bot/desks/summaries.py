"""Summaries for people: of a conversation, of agents, of days and weeks, as far as who asks may know them there."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from bot.config import Config
from bot.desks.approving import Approvals
from bot.desks.desk import Asker
from bot.desks.nights import Nights
from bot.desks.remembering_names import where
from bot.errors import UserError
from bot.models.catalog import OFFLINE
from memory import agents, sessions, summaries
from memory.audience import OWNER, Scope
from memory.clock import to_text
from memory.constellation import Constellations
from memory.database import Rows
from memory.ids import ConstellationId, PlaceId
from memory.sessions import Session
from memory.summaries import AgentSummary, Compaction, ConstellationSummary
from sources.terminal import PERSON, PLACE

T = TypeVar("T")
_LISTED, _MOST = 7, 60
_SESSIONS = 5  # the last ones, shown with what agents did
_OWNER = Asker(PERSON, Scope(OWNER), is_owner=True)

Of: TypeAlias = Literal["", "day", "week"]


@dataclass(frozen=True)
class Summaries:
    """The summaries of one constellation, and the reports of its nights. Raises UserError with words for who asked."""

    constellations: Constellations
    house: ConstellationId
    nights: Nights

    async def agent(self, asker: Asker, name: str = "") -> list[dict[str, Any]]:
        """What agents did lately, or one of them, and their last sessions."""

        def read(rows: Rows) -> list[dict[str, Any]]:
            known = agents.agents(rows)
            wanted = name.strip().removeprefix("@").casefold()
            found = next((each for each in known if each.name.casefold() == wanted), None)
            if wanted and found is None:
                there = ", ".join(each.name for each in known)
                raise UserError(f"There is no agent {name!r}; there are: {there}.")
            of = None if found is None else found.id
            names = {agent.id: agent.name for agent in known}
            did = summaries.agent_summaries(rows, asker.scope, of)
            last = sessions.recent(rows, asker.scope, _SESSIONS, of)
            return [
                *(_did(each, where(rows, each.audience, asker.scope)) for each in did),
                *(
                    _session(each, names.get(each.agent, each.agent), where(rows, each.audience, asker.scope))
                    for each in last
                ),
            ]

        return await self._read(read)

    async def constellation(self, asker: Asker, of: Of = "", count: int = _LISTED) -> list[dict[str, Any]]:
        """What happened to all, the newest first: days, weeks, or both."""

        def read(rows: Rows) -> list[dict[str, Any]]:
            found = summaries.constellation_summaries(rows, asker.scope, _MOST)
            wanted = [each for each in found if of in ("", each.span)][: max(1, min(count, _MOST))]
            return [_all(each, where(rows, each.audience, asker.scope)) for each in wanted]

        return await self._read(read)

    async def conversation(self, asker: Asker, place: PlaceId) -> list[dict[str, Any]]:
        """Earlier talk of a place in short."""

        def read(rows: Rows) -> list[dict[str, Any]]:
            names = {agent.id: agent.name for agent in agents.agents(rows)}
            found = summaries.of_place(rows, place, asker.scope, 1)
            heard = [where(rows, each.audience, asker.scope) for each in found]
            return [_talk(one, names.get(one.agent, one.agent), at) for one, at in zip(found, heard, strict=True)]

        return await self._read(read)

    async def names(self) -> list[str]:
        """The agents there are; nobody's words."""
        return await self._read(lambda rows: [agent.name for agent in agents.agents(rows)])

    async def _read(self, read: Callable[[Rows], T]) -> T:
        async with self.constellations.use(self.house) as database:
            return await database.read(read)

    # ------------------------------------------------------------------ the owner's command line

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "summary": self.owner_all,
            "summary.agent": self.owner_agent,
            "summary.constellation": self.owner_constellation,
            "summary.conversation": self.owner_conversation,
            **self.nights.handlers(),
        }

    async def owner_agent(self, name: str = "") -> list[dict[str, Any]]:
        """What agents did."""
        return await self.agent(_OWNER, name)

    async def owner_constellation(self, of: Of = "", count: int = _LISTED) -> list[dict[str, Any]]:
        """What happened."""
        return await self.constellation(_OWNER, of, count)

    async def owner_conversation(self) -> list[dict[str, Any]]:
        """Earlier talk at the terminal."""
        return await self.conversation(_OWNER, PLACE.id)

    async def owner_all(self) -> list[dict[str, Any]]:
        """All of it, the newest of what happened."""
        talk, did = await self.owner_conversation(), await self.owner_agent()
        return [*talk, *did, *await self.owner_constellation(count=3)]


def open_summaries(config: Config, approvals: Approvals) -> Summaries:
    """The summaries of one constellation, with its nights on the clocks of the house."""
    store, zone = (approvals.constellations, approvals.house), config.schedule.zone_name()
    nights = Nights(*store, approvals.people, approvals.clock, zone, config.memory.checkpoints())
    return Summaries(*store, nights)


def summary_lines(found: Iterable[dict[str, Any]]) -> list[str]:
    """Summaries for a person: what each is of, then its words."""
    return [f"{row['name']} ({row['of']}, {row['heard_in']}{_by(row)}): {row['text']}" for row in found]


def _by(row: dict[str, Any]) -> str:
    return ", an extract by rules" if row["by"] == OFFLINE else ""


def _talk(found: Compaction, name: str, heard: str) -> dict[str, Any]:
    made = to_text(found.created_at)
    return _data(("this conversation", heard), name, found.messages, made, found.model, found.summary)


def _did(found: AgentSummary, heard: str) -> dict[str, Any]:
    made = to_text(found.generated_at)
    return _data(("agent", heard), found.agent_name, found.messages, made, found.model, found.summary)


def _session(found: Session, name: str, heard: str) -> dict[str, Any]:
    """Put in short by rules, whatever model there is."""
    parts = [found.what, _listed("Decided", found.decisions), _listed("Files", found.files)]
    parts += [_listed("Commits", found.commits), _listed("Open", found.unfinished)]
    text = " ".join(part for part in parts if part)
    return _data(("session", heard), name, None, to_text(found.last_at), OFFLINE, text)


def _all(found: ConstellationSummary, heard: str) -> dict[str, Any]:
    parts = [found.summary, _listed("Decided", found.decisions), _listed("Open", found.threads)]
    made = to_text(found.created_at or found.end)
    name = f"{found.start:%Y-%m-%d}" if found.span == "day" else f"week of {found.start:%Y-%m-%d}"
    text = " ".join(part for part in parts if part)
    return _data((found.span, heard), name, found.messages, made, found.model, text)


def _listed(title: str, lines: Sequence[str]) -> str:
    return f"{title}: {'; '.join(lines)}".rstrip(".") + "." if lines else ""


def _data(of: tuple[str, str], name: str, messages: int | None, made: str, model: str, text: str) -> dict[str, Any]:
    about = {"of": of[0], "name": name, "heard_in": of[1]}
    return {**about, "messages": messages, "made": made, "by": model, "text": text}
