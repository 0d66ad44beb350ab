"""Answering requests: what every door calls (buttons, commands, the terminal, the control socket)."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bot import cards, policy
from bot.broker import Broker, Ruling, Terms
from bot.config import Config
from bot.errors import UserError
from bot.policy import Action, Approver, People
from bot.retrying import until_stored
from memory import agents, grants, requests
from memory.audience import OWNER, Scope
from memory.blocks import CONSTELLATION_OWNER
from memory.called import person_called, person_named, place_named
from memory.clock import Clock, to_text
from memory.constellation import Constellations
from memory.database import Rows, Tx
from memory.faults import commit_point
from memory.grants import Grant
from memory.ids import AgentId, ConstellationId, GrantId, PersonId, PlaceId, RequestId, place_source
from memory.requests import Request, Status, Verdict
from sources.terminal import PERSON, PLACE

_ANSWER = commit_point("approval.answer")
_EXPIRE = commit_point("approval.expire")
_REVOKE = commit_point("approval.revoke")

_LOOK_SECONDS = 15.0  # between looks for requests whose time is over
_OWNER = Approver(PERSON, door="command line")
_OWNERS = Scope(OWNER)
_LARGEST = 2**63 - 1  # of what SQLite takes as an integer
_OPEN = (Status.WAITING, Status.APPROVED)


def approval_terms(config: Config) -> Terms:
    """Who is in charge and where they are asked, as the configuration says."""
    given, discord = config.approvals, config.discord
    owner = [PERSON]
    chain = [PLACE.id]
    if config.discord_token is not None and config.discord_owner:
        owner.append(PersonId(f"discord:{config.discord_owner}"))
        chain.insert(0, PlaceId(f"discord:user:{config.discord_owner}"))
    if config.serves_bluesky and config.bluesky.owner:
        owner.append(PersonId(f"bluesky:{config.bluesky.owner}"))
        if config.bluesky.direct_messages:
            chain.insert(-1, PlaceId(f"bluesky:user:{config.bluesky.owner}"))
    if config.discord_token is not None and given.channel:
        chain.insert(0, PlaceId(f"discord:{given.channel}"))
    admins = [f"discord:{person}" for person in sorted(discord.admins.persons)]
    for guild, roles in sorted(discord.admins.roles.items()):
        admins += [policy.role_identity(int(guild), int(role)) for role in sorted(roles)]
    people = People(tuple(owner), tuple(admins), given.quorum)
    alone = config.discord_token is not None and not given.channel
    others = sorted(discord.admins.persons - {config.discord_owner}) if alone else ()
    return Terms(
        people,
        tuple(chain),
        _private,
        timedelta(hours=given.expires_hours),
        tuple(PlaceId(f"discord:user:{person}") for person in others),
    )


def _private(person: PersonId) -> PlaceId:
    source, _, identifier = person.partition(":")
    return PLACE.id if person == PERSON else PlaceId(f"{source}:user:{identifier}")


@dataclass(frozen=True)
class Approvals:
    """The requests and grants of one constellation. `resume` sees to what an answer has queued."""

    constellations: Constellations
    house: ConstellationId
    broker: Broker
    clock: Clock
    resume: Callable[[], None]

    @property
    def people(self) -> People:
        return self.broker.terms.people

    async def answer(self, request: int, who: Approver, verdict: Verdict) -> Ruling:
        """Give an answer; the words of the ruling are for who gave it."""
        if request > _LARGEST:
            return Ruling("There is no such request.", counted=False)
        now = self.clock()

        def work(tx: Tx) -> Ruling:
            return self.broker.answer(tx, RequestId(request), who, verdict, now)

        async with self.constellations.use(self.house) as database:
            ruling = await database.write(_ANSWER, work, durable=True)
        self.resume()
        return ruling

    async def answer_by_code(self, code: str, who: Approver, verdict: Verdict) -> Ruling:
        """Give an answer to the request whose number is `code`, or ends so and is the only one of theirs that does.

        Whatever leaves a doubt decides nothing: then the words say which wait. They are empty when none does and
        no code was given.
        """
        now = self.clock()

        def asked(rows: Rows) -> Ruling:
            if not code and not requests.is_asked(rows, who.identities):
                return Ruling("", counted=False)
            own = requests.asking(rows, who.identities)
            waiting = [each for each in own if each.status is Status.WAITING and each.expires_at > now]
            if waiting:
                return Ruling(cards.which(waiting, [each.id for each in own]), counted=False)
            return Ruling("There is no such request." if code else "", counted=False)

        def work(tx: Tx) -> Ruling:
            exact = requests.get(tx, RequestId(int(code))) if int(code) <= _LARGEST else None
            if exact is not None:
                return self.broker.answer(tx, exact.id, who, verdict, now)
            own = requests.asking(tx, who.identities)
            meant = [each for each in own if len(code) >= requests.SHORTEST and str(each.id).endswith(code)]
            if len(meant) == 1:
                return self.broker.answer(tx, meant[0].id, who, verdict, now)
            return asked(tx)

        async with self.constellations.use(self.house) as database:
            if not code:
                return await database.read(asked)
            ruling = await database.write(_ANSWER, work, durable=True)
        self.resume()
        return ruling

    async def details(self, request: int, who: Approver) -> tuple[str, str]:
        """A request with all its arguments, and how it stands: for those who are asked. Raises UserError."""

        def read(rows: Rows) -> tuple[str, str]:
            found = requests.get(rows, RequestId(request)) if request <= _LARGEST else None
            if found is None or not requests.may_answer(found, who.identities):
                raise UserError("There is no such request that asks you.")
            decision = self.broker.decision(rows, found, place_source(who.person))
            stands = "It waits for an answer." if found.status is Status.WAITING else decision
            private = not Scope(OWNER).may_use(found.hearers.audience) and found.person != who.person
            withheld = "(withheld: they come from somebody's direct messages)"
            shown = withheld if private else cards.exactly(found.arguments)
            return f"Request {found.id}: {found.tool}\n{found.reason}\n{stands}", shown

        async with self.constellations.use(self.house) as database:
            return await database.read(read)

    async def waiting(self, who: Approver) -> list[Request]:
        """The open requests that ask this person, newest first."""
        async with self.constellations.use(self.house) as database:
            found = await database.read(lambda rows: requests.of_status(rows, _OPEN, 1000))
        return [each for each in found if requests.may_answer(each, who.identities)]

    async def standing(self, who: Approver) -> list[Grant]:
        """Every lasting permission. Raises UserError for those who may not see them."""
        self._check(who, Action.PERMITS)
        async with self.constellations.use(self.house) as database:
            return await database.read(lambda rows: grants.standing(rows, self.clock()))

    async def shown(self, found: Sequence[Grant]) -> list[dict[str, Any]]:
        """Lasting permissions by names, as plain data; for those who may see them."""
        async with self.constellations.use(self.house) as database:
            return await database.read(lambda rows: [grant_data(rows, each) for each in found])

    async def revoke(self, grant: int, who: Approver) -> Grant:
        """End a lasting permission. Raises UserError."""
        self._check(who, Action.REVOKE)
        now = self.clock()

        def work(tx: Tx) -> Grant | None:
            found = grants.revoke(tx, GrantId(grant), now) if grant <= _LARGEST else None
            if found is not None:
                grants.note(tx, _revoked(found, who, now))
            return found

        async with self.constellations.use(self.house) as database:
            found = await database.write(_REVOKE, work)
        if found is None:
            raise UserError(f"There is no lasting permission {grant}; `permits list` shows them.")
        return found

    async def record(self, who: Approver, limit: int) -> list[dict[str, Any]]:
        """The newest lines of the record. Raises UserError for those who may not read it."""
        self._check(who, Action.AUDIT)
        async with self.constellations.use(self.house) as database:
            return await database.read(lambda rows: [_recorded(rows, each) for each in grants.record(rows, limit)])

    async def expire(self) -> None:
        """Close the requests whose time is over, once."""
        now = self.clock()
        async with self.constellations.use(self.house) as database:
            if not await database.read(lambda rows: requests.due(rows, now)):
                return
            await database.write(_EXPIRE, lambda tx: self.broker.expire(tx, now))
        self.resume()

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "permits.list": self.owner_list,
            "permits.show": self.owner_show,
            "permits.answer": self.owner_answer,
            "permits.revoke": self.owner_revoke,
            "permits.audit": self.owner_audit,
        }

    async def owner_list(self) -> dict[str, Any]:
        """The requests that wait for the owner, and every grant."""
        waiting, held = await self.waiting(_OWNER), await self.standing(_OWNER)
        async with self.constellations.use(self.house) as database:
            asked = await database.read(lambda rows: [request_data(rows, each) for each in waiting])
        return {"requests": asked, "grants": await self.shown(held)}

    async def owner_show(self, request: int) -> dict[str, Any]:
        """One request with its arguments."""
        words, arguments = await self.details(request, _OWNER)
        return {"id": str(request), "text": words, "arguments": arguments}

    async def owner_answer(self, request: int, verdict: str) -> dict[str, Any]:
        """Answer one."""
        if verdict not in list(Verdict):
            raise UserError(f"there is no answer {verdict!r}: {', '.join(Verdict)}")
        ruling = await self.answer(request, _OWNER, Verdict(verdict))
        return {"id": str(request), "counted": ruling.counted, "text": ruling.words}

    async def owner_revoke(self, grant: int) -> dict[str, Any]:
        """End a grant."""
        (ended,) = await self.shown([await self.revoke(grant, _OWNER)])
        return ended

    async def owner_audit(self, limit: int = 100) -> list[dict[str, Any]]:
        """The record, newest first."""
        return await self.record(_OWNER, max(1, min(limit, 100_000)))

    async def watch(self) -> None:
        """Expire what is due, now and then, until cancelled."""
        while True:
            await until_stored("expiry of requests", self.expire)
            await asyncio.sleep(_LOOK_SECONDS)

    def _check(self, who: Approver, action: Action) -> None:
        if not policy.may(self.people, who, action):
            least = dict(policy.table())[action].value
            raise UserError(f"Only {least} may {action.value}.")


def request_data(rows: Rows, request: Request) -> dict[str, Any]:
    """A request as plain data for the owner, without its arguments."""
    return {
        "id": str(request.id),
        "tool": request.tool,
        "subject": _subject(rows, request.subject),
        "reason": request.reason,
        "person": person_named(rows, request.person, _OWNERS) if request.person else "",
        "place": place_named(rows, request.place, _OWNERS),
        "status": request.status.value,
        "asked": to_text(request.created_at),
        "until": to_text(request.expires_at),
    }


def grant_data(rows: Rows, grant: Grant) -> dict[str, Any]:
    """A grant as plain data for the owner."""
    return {
        "id": str(grant.id),
        "scope": grant.kind.value,
        "subject": _subject(rows, grant.subject),
        "agent": agents.agent(rows, grant.agent).name,
        "arguments": dict(grant.pattern),
        "audience": grant.audience,
        "by": person_named(rows, grant.person, _OWNERS) if grant.person else "",
        "until": None if grant.expires_at is None else to_text(grant.expires_at),
    }


def _recorded(rows: Rows, line: dict[str, Any]) -> dict[str, Any]:
    """A line of the record, with the name under which whoever did it spoke last."""
    person = line["person_id"]
    return {**line, "called": person_called(rows, PersonId(person), _OWNERS) if person else ""}


def _subject(rows: Rows, subject: str) -> str:
    """What a request or grant is about; a block by the name of whose it is, who need not be who asks, not by the id."""
    of, slash, label = subject.partition("/")
    names = {each.id: each.name for each in agents.every_agent(rows)} | {CONSTELLATION_OWNER: "everybody"}
    name = names.get(AgentId(of)) if slash else None
    return f"{name}/{label}" if name else subject


def _revoked(grant: Grant, who: Approver, now: datetime) -> grants.Entry:
    return grants.Entry(
        "revoked", now, grant.audience, who.person, grant.request, grant.id, grant.agent, grant.kind, detail=who.door
    )
