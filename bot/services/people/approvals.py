"""Answers to permission requests, from all interfaces (buttons, commands, the terminal, the control socket)."""

from collections.abc import Callable
from datetime import timedelta

from msgspec import Struct

from bot.agents.notices import own_place
from bot.agents.permissions import cards, policy
from bot.agents.permissions.broker import Broker, Ruling, Terms
from bot.agents.permissions.policy import Approver, People
from bot.config import Config
from bot.errors import UserError
from bot.services.names import LARGEST
from bot.services.transactions import reads
from bot.storage_retry import repeat
from memory import requests
from memory.people.audience import OWNER, Scope
from memory.requests import Request, Status, Verdict
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import SHORTEST, PersonId, PlaceId, RequestId, place_source
from sources.terminal import PERSON, PLACE
from texts import _

_ANSWER = commit_point("approval.answer")
_EXPIRE = commit_point("approval.expire")

_LOOK_SECONDS = 15.0  # between checks for expired requests
_OPEN = (Status.WAITING, Status.APPROVED)


def approval_terms(config: Config) -> Terms:
    """Who is in charge and where they are asked, from the configuration."""
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
        own_place,
        timedelta(hours=given.expires_hours),
        tuple(PlaceId(f"discord:user:{person}") for person in others),
    )


class Approvals(Struct, frozen=True):
    """The requests and grants of one constellation. `resume` handles what an answer has queued."""

    database: Database
    broker: Broker
    clock: Clock
    resume: Callable[[], None]

    @property
    def people(self) -> People:
        return self.broker.terms.people

    async def answer(self, request: int, who: Approver, verdict: Verdict) -> Ruling:
        now = self.clock()

        def work(tx: Tx) -> Ruling:
            return self.broker.answer(tx, RequestId(min(request, LARGEST)), who, verdict, now)

        ruling = await self.database.write(_ANSWER, work, durable=True)
        self.resume()
        return ruling

    async def answer_by_code(self, code: str, who: Approver, verdict: Verdict) -> Ruling:
        """Answer the person's request whose number is `code`, or is the only one that ends in it.

        If that is not clear, nothing is decided, and the text lists the open requests. It is empty if there are none
        and no code was given.
        """
        now = self.clock()

        def asked(rows: Rows) -> Ruling:
            if not code and not requests.is_asked(rows, who.identities):
                return Ruling("", counted=False)
            own = requests.asking(rows, who.identities)
            waiting = [each for each in own if each.status is Status.WAITING and each.expires_at > now]
            if waiting:
                return Ruling(cards.which_request(waiting, [each.id for each in own]), counted=False)
            return Ruling(_("There is no such request.") if code else "", counted=False)

        def work(tx: Tx) -> Ruling:
            exact = requests.get(tx, RequestId(min(int(code), LARGEST) if code.isdecimal() else 0))
            if exact is not None:
                return self.broker.answer(tx, exact.id, who, verdict, now)
            own = requests.asking(tx, who.identities)
            meant = [each for each in own if len(code) >= SHORTEST and str(each.id).endswith(code)]
            if len(meant) == 1:
                return self.broker.answer(tx, meant[0].id, who, verdict, now)
            return asked(tx)

        if not code:
            return await self.database.read(asked)
        ruling = await self.database.write(_ANSWER, work, durable=True)
        self.resume()
        return ruling

    @reads
    def details(self, rows: Rows, request: int, who: Approver) -> tuple[str, str]:
        """A request with all arguments, and its state, for those who are asked. Raises UserError."""
        found = requests.get(rows, RequestId(min(request, LARGEST)))
        if found is None or not requests.may_answer(found, who.identities):
            raise UserError("There is no such request for you to answer.")
        decision = self.broker.decision(rows, found, place_source(who.person))
        stands = _("It is waiting for an answer.") if found.status is Status.WAITING else decision
        private = not Scope(OWNER).may_use(found.hearers.audience) and found.person != who.person
        hidden = _("(hidden, because they come from somebody's direct messages)")
        shown = hidden if private else cards.visible_text(found.arguments)
        return _("`{tool}`\n{reason}\n{stands}", tool=found.tool, reason=_(found.reason), stands=stands), shown

    @reads
    def waiting(self, rows: Rows, who: Approver) -> list[Request]:
        """The open requests that ask this person, newest first."""
        found = requests.of_status(rows, _OPEN, 1000)
        return [each for each in found if requests.may_answer(each, who.identities)]

    async def expire(self) -> None:
        """Close expired requests, once."""
        now = self.clock()
        if not await self.database.read(lambda rows: requests.due(rows, now)):
            return
        await self.database.write(_EXPIRE, lambda tx: self.broker.expire(tx, now))
        self.resume()

    async def watch(self) -> None:
        """Close expired requests at intervals until canceled."""
        await repeat("expiry of requests", self.expire, _LOOK_SECONDS)


class UsesApprovals(Struct, frozen=True):
    """A service that uses its constellation's requests."""

    approvals: Approvals

    @property
    def database(self) -> Database:
        return self.approvals.database
