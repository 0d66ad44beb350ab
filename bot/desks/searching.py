"""Finding what was said or stored, for people: by words, and by conditions as they write them, scoped as a message."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar, get_args

from bot.desks.archive import agents_called
from bot.desks.desk import Asker
from bot.desks.remembering_names import MOMENTS, moment_said
from bot.errors import ToolError, UserError
from bot.policy import People
from bot.tools.conditions import author_meant, category_meant, tags_meant
from bot.tools.found import beside_data, nothing_searched, place_meant, why_data, why_found
from bot.turns.kit import Understood, not_understood
from memory import inbox
from memory.audience import OWNER, Scope
from memory.clock import Clock, to_text
from memory.constellation import Constellations
from memory.database import Rows
from memory.ids import AgentId, ConstellationId, PlaceId
from memory.messages import Role
from memory.people import hours
from memory.search import DOMAINS, Domain, Hit, Query, Results, naming, search
from scheduler.zones import zone_of
from sources.terminal import PERSON
from sources.text import one_line

T = TypeVar("T")

PLACES: tuple[Domain, ...] = get_args(Domain)
"""Where one can look by name; without one it is looked in the usual ones."""
ROLES: dict[Role, str] = {"user": "people", "assistant": "agents"}
ME = "me"
_OFFERED = 200  # names that can be chosen
_OWNER_ASKER = Asker(PERSON, Scope(OWNER), is_owner=True)


@dataclass(frozen=True)
class Wanted:
    """What somebody looks for, as they write it; what is empty is no condition.

    `author` is a name, or "me"; `since` is included, and so is a day that `until` names. Each of `tags` may be several
    with commas between. A domain that is not named is one of the usual. Without text the newest that meet the
    conditions are wanted.
    """

    text: str = ""
    domain: str = ""
    author: str = ""
    role: str = ""
    place: str = ""
    since: str = ""
    until: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    agent: str = ""
    limit: int = 8


@dataclass(frozen=True)
class Searching:
    """The search of one constellation. `zone` is that of people who named none."""

    constellations: Constellations
    house: ConstellationId
    people: People
    clock: Clock
    zone: str = "UTC"
    understood: Callable[[str], Awaitable[Understood]] = not_understood

    async def search(self, asker: Asker, wanted: Wanted) -> Results:
        """Look in what the asker may know, of an agent (its own conversations too) or of all.

        Raises UserError for a condition that names nothing, with what it can name.
        """
        asked = await self.understood(wanted.text) if wanted.text.strip() else Understood()

        def look(rows: Rows) -> Results:
            query = replace(self._query(rows, asker, wanted), meaning=asked.meaning)
            return search(rows, query, asker.scope)

        return replace(await self._read(look), words_alone=asked.why)

    async def places(self, asker: Asker) -> list[tuple[str, str]]:
        """The places that the asker may know of, by id and name."""
        known = await self._read(lambda rows: inbox.known_places(rows, asker.scope, _OFFERED))
        return [(each.id, each.name or each.id) for each in known]

    async def authors(self, asker: Asker) -> list[str]:
        """Whose words the asker may know."""
        return [ME, *await self._read(lambda rows: naming.speakers(rows, asker.scope, _OFFERED))]

    async def categories(self, asker: Asker) -> list[str]:
        """The categories of what the asker may know."""
        return await self._read(lambda rows: naming.categories(rows, frozenset(PLACES), None, asker.scope))

    async def tags(self, asker: Asker) -> list[str]:
        """The tags of what the asker may know."""
        return await self._read(lambda rows: naming.tags(rows, None, asker.scope))

    def _query(self, rows: Rows, asker: Asker, wanted: Wanted) -> Query:
        """What is asked of the store. Raises UserError."""
        domains, agent = _domains(wanted.domain), _agent(rows, wanted.agent)
        mine = wanted.author.strip().casefold() == ME
        role = _role(wanted.role)
        if mine and role == "assistant":
            raise UserError("What you said yourself is of the role user; leave the role out, or name an agent.")
        zone = hours.zone_for(rows, self.people.selves(asker.person), self.zone)
        since, until = _times(wanted, self.clock(), zone)
        try:
            return Query(
                text=wanted.text,
                agent=agent,
                domains=domains,
                talking=agent,
                person=asker.person if mine else None,
                author=None if mine else author_meant(rows, wanted.author.strip(), asker.scope),
                role="user" if mine and "messages" in domains else role,
                place=_place(rows, wanted.place.strip(), asker.scope),
                since=since,
                until=until,
                category=category_meant(rows, wanted.category.strip(), domains, agent, asker.scope),
                tags=tags_meant(rows, wanted.tags, domains, agent, asker.scope),
                limit=wanted.limit,
            )
        except ToolError as error:
            raise UserError(str(error)) from error

    async def _read(self, read: Callable[[Rows], T]) -> T:
        async with self.constellations.use(self.house) as database:
            return await database.read(read, indexed=True)

    # ------------------------------------------------------------------ the owner's command line

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {"search": self.owner_search}

    async def owner_search(self, text: str = "", *, tags: Sequence[str] = (), **conditions: Any) -> dict[str, Any]:
        """Look in all that the owner may read, by the names of `Wanted`: the hits, and without any what was searched.

        `unmet` is why nothing was searched, if nothing was; `newest` whether they are a listing, without words.
        """
        found = await self.search(_OWNER_ASKER, Wanted(text, tags=tuple(tags), **conditions))
        return {
            "hits": [_hit_data(hit) for hit in found.hits],
            "searched": dict(found.seen),
            "unmet": nothing_searched(found.unmet),
            "words_alone": found.words_alone,
            "newest": found.newest,
        }


def words_alone_text(why: str) -> str:
    """That a search went without meaning, as one short line; empty when it did not."""
    return f"Searched by words alone: {one_line(why, 120)}." if why else ""


def _hit_data(hit: Hit) -> dict[str, Any]:
    """A hit as plain data: what it is, why it was found, what was said before and after it."""
    found = {"kind": hit.kind, "id": hit.id, "label": hit.label or "", "text": hit.text, "by": hit.speaker or ""}
    found |= {"audience": hit.audience, "when": to_text(hit.when), "why": why_found(hit)}
    return {**found, **why_data(hit), "before": beside_data(hit.before), "after": beside_data(hit.after)}


# ------------------------------------------------------------------------------------------------------ conditions


def _domains(name: str) -> frozenset[Domain]:
    wanted = name.strip().casefold()
    found = [each for each in PLACES if each == wanted]
    if wanted and not found:
        raise UserError(f"There is no domain {name!r}; there are: {', '.join(PLACES)}.")
    return frozenset(found) or DOMAINS


def _agent(rows: Rows, name: str) -> AgentId | None:
    return agents_called(rows, name)[0].id if name else None


def _role(name: str) -> Role | None:
    wanted = name.strip().casefold()
    found = next((role for role, words in ROLES.items() if wanted in (role, words)), None)
    if wanted and found is None:
        raise UserError(f"There is no role {name!r}; there are: user (people) and assistant (agents).")
    return found


def _times(wanted: Wanted, now: datetime, zone: str) -> tuple[datetime | None, datetime | None]:
    since = _moment(wanted.since, now, zone)
    until = _moment(_day_after(wanted.until), now, zone)
    if since is not None and until is not None and since >= until:
        raise UserError(f"Nothing can be from {wanted.since} on and before the end of {wanted.until}.")
    return since, until


def _moment(said: str, now: datetime, zone: str) -> datetime | None:
    if not said.strip():
        return None
    found = moment_said(said, now, zone_of(zone))
    if found is None:
        raise UserError(f"{said!r} is no moment: {MOMENTS}.")
    return found.astimezone(UTC)


def _day_after(said: str) -> str:
    """The day after a day, as that counts whole; anything else as it is."""
    try:
        return (date.fromisoformat(said.strip()) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return said


def _place(rows: Rows, name: str, scope: Scope) -> PlaceId | None:
    return place_meant(inbox.known_places(rows, scope), name).id if name else None
