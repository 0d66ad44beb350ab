"""Who may talk to the agents: strangers who ask to be let in by a code; people, roles and guilds let in or shut out.

A stranger who writes directly is told a code, once; nothing of what they wrote is looked at or stored, and no model is
asked. Whoever is in charge gets the code from them by another way and enters it, which shows that this account is
theirs. What is decided holds until it is taken back, also over restarts.
"""

import asyncio
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog

from bot import policy
from bot.broker import Terms
from bot.config import Config
from bot.errors import UserError
from bot.policy import Action, Approver
from memory import admission, outbox
from memory.admission import Knock, Rule, Ruled
from memory.audience import person_audience
from memory.clock import Clock, to_text
from memory.constellation import Constellations
from memory.database import Tx
from memory.errors import StoreError
from memory.faults import commit_point
from memory.ids import ConstellationId, PersonId, PlaceId, place_source
from sources.base import Speaker
from sources.terminal import PERSON

_KNOCK = commit_point("admission.knock")
_RULE = commit_point("admission.rule")
_REDEEM = commit_point("admission.redeem")
_WITHDRAW = commit_point("admission.withdraw")

_SIGNS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
"""What codes are made of: digits and capital letters that are not mistaken for one another."""
_LENGTH = 8  # 30**8 codes; only those in charge can try one
_QUEUE = 100  # strangers who wait to be told a code; more are not told one
_REMEMBERED = 1_000
_SUBJECT = re.compile(r"discord:(?:(?:role|guild):)?[0-9]{1,20}|bluesky:did:[a-z]+:[A-Za-z0-9._:%-]{1,200}")

_LET_IN = "You were let in: write to me as you like."
_OWNER = Approver(PERSON, door="command line")
_log = structlog.get_logger("bot.desks.admission")


def new_code() -> str:
    """A code that nobody can guess, without its dash."""
    return "".join(secrets.choice(_SIGNS) for _ in range(_LENGTH))


def shown_code(code: str) -> str:
    """A code as people read it: two halves with a dash."""
    return f"{code[: _LENGTH // 2]}-{code[_LENGTH // 2 :]}"


def read_code(typed: str) -> str:
    """A code as it was typed: case, spaces and dashes do not matter."""
    return re.sub(r"[\s-]", "", typed).upper()


def configured_rules(config: Config) -> dict[str, Rule]:
    """What the configuration says, by the subjects that commands use; a denial wins."""
    found: dict[str, Rule] = {}
    for rule, people in ((Rule.ALLOW, config.discord.allow), (Rule.DENY, config.discord.deny)):
        found |= {f"discord:{person}": rule for person in people.persons}
        found |= {f"discord:role:{role}": rule for role in people.roles}
        found |= {f"discord:guild:{guild}": rule for guild in people.guilds}
    return found


@dataclass(frozen=True)
class Listed:
    """Everybody about whom something was decided, and who waits."""

    configured: Mapping[str, Rule]
    ruled: tuple[Ruled, ...]
    waiting: tuple[Knock, ...]


class Admission:
    """Lets in and shuts out, for one constellation. `resume` sees to what is to be said."""

    def __init__(
        self,
        constellations: Constellations,
        house: ConstellationId,
        terms: Terms,
        clock: Clock,
        resume: Callable[[], None],
    ) -> None:
        self._constellations = constellations
        self._house = house
        self._people, self._private = terms.people, terms.private
        self._clock = clock
        self._resume = resume
        self._knocks: asyncio.Queue[tuple[Speaker, PlaceId]] = asyncio.Queue(_QUEUE)
        self._told: dict[PersonId, datetime] = {}
        self.configured: Mapping[str, Rule] = {}
        """What the configuration says, by subject: shown beside what was decided since."""
        self.rules: dict[str, Rule] = {}
        """What was decided, by subject, as the store has it; the same object as long as the service runs."""

    async def load(self) -> None:
        """Read what was decided before, or what an erasure left of it."""
        async with self._constellations.use(self._house) as database:
            found = await database.read(admission.ruled)
        self.rules.clear()
        self.rules |= {each.subject: each.rule for each in found}

    # ------------------------------------------------------------------ strangers

    def knocks(self, stranger: Speaker, place: PlaceId) -> None:
        """Somebody who is not let in wrote: tell them how to be, if they were not told already."""
        if self._told.get(stranger.id, self._clock()) > self._clock() or self._knocks.full():
            return
        self._knocks.put_nowait((stranger, place))

    async def run(self) -> None:
        """Tell strangers their codes until cancelled."""
        while True:
            stranger, place = await self._knocks.get()
            try:
                await self._tell_code(stranger, place)
            except StoreError as error:
                _log.error("stranger_not_told", person=stranger.id, reason=str(error))

    async def _tell_code(self, stranger: Speaker, place: PlaceId) -> None:
        now = self._clock()

        def work(tx: Tx) -> Knock | None:
            found = admission.knock(tx, stranger.id, stranger.name, new_code(), now)
            if found is not None:
                _say(tx, f"pair/{found.person}/{to_text(now)}", place, found.person, _asked_in(found), now)
            return found

        async with self._constellations.use(self._house) as database:
            knock = await database.write(_KNOCK, work)
        if len(self._told) >= _REMEMBERED:
            self._told.clear()
        self._told[stranger.id] = now + admission.CODE_LIFE
        if knock is not None:
            _log.info("stranger_asks_in", person=stranger.id, until=to_text(knock.expires_at))
            self._resume()

    # ------------------------------------------------------------------ those in charge

    async def approve(self, code: str, who: Approver) -> str:
        """Let in whoever was given that code, and tell them. Raises UserError."""
        self._check(who)
        now, wanted = self._clock(), read_code(code)

        def work(tx: Tx) -> Knock | None:
            found = admission.redeem(tx, wanted, who.person, now)
            if found is not None:
                key = f"paired/{found.person}/{to_text(now)}"
                _say(
                    tx, key, self._private(found.person), found.person, "You were let in: write to me as you like.", now
                )
            return found

        async with self._constellations.use(self._house) as database:
            found = await database.write(_REDEEM, work, durable=True)
        if found is None:
            raise UserError(
                "There is no open code like that: it was used, it is over, or it reads differently. Who waits is in "
                "`pair list`; somebody whose code is over writes again and is given a new one."
            )
        self._hold(found.person, Rule.ALLOW, who)
        self._resume()
        return f"{found.name} ({found.person}) was let in, and is told so."

    async def rule(self, subject: str, rule: Rule, who: Approver) -> str:
        """Let a person, role or guild in, or shut it out. Raises UserError."""
        self._check(who)
        _require(subject)
        if rule is Rule.DENY and subject in self._people.owner:
            raise UserError("That is the owner, who cannot be shut out.")
        if rule is Rule.ALLOW and self.configured.get(subject) is Rule.DENY:
            raise UserError(f"{subject} stands in [discord.deny] of the configuration, which wins: take it out there.")
        now = self._clock()
        async with self._constellations.use(self._house) as database:
            await database.write(_RULE, lambda tx: admission.set_rule(tx, subject, rule, who.person, now), durable=True)
        self._hold(subject, rule, who)
        done = "is let in" if rule is Rule.ALLOW else "is shut out: nothing they say is heard or answered"
        return f"{subject} {done}, until you take it back with `people forget`."

    async def forget(self, subject: str, who: Approver) -> str:
        """Take back what was decided about a subject, and an open code of theirs. Raises UserError."""
        self._check(who)
        _require(subject)
        now = self._clock()

        def work(tx: Tx) -> tuple[bool, bool]:
            return admission.drop_rule(tx, subject), admission.withdraw(tx, PersonId(subject), now)

        async with self._constellations.use(self._house) as database:
            ruled, waited = await database.write(_WITHDRAW, work, durable=True)
        self.rules.pop(subject, None)
        if not ruled and not waited:
            hint = " It stands in the configuration: change it there." if subject in self.configured else ""
            raise UserError(f"Nothing was decided about {subject} by command, and no code of theirs is open.{hint}")
        _log.info("admission_forgotten", subject=subject, by=who.person, door=who.door)
        return f"{subject}: {'what was decided' if ruled else 'their code'} is taken back."

    async def listed(self, who: Approver) -> Listed:
        """All that holds, and who waits, without the codes: those come from the strangers. Raises UserError."""
        self._check(who)
        now = self._clock()
        async with self._constellations.use(self._house) as database:
            ruled, waiting = await database.read(lambda rows: (admission.ruled(rows), admission.waiting(rows, now)))
        return Listed(self.configured, tuple(ruled), tuple(waiting))

    # ------------------------------------------------------------------ the owner's command line

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "pair.list": self.owner_waiting,
            "pair.approve": self.owner_approve,
            "people.list": self.owner_listed,
            "people.rule": self.owner_rule,
            "people.forget": self.owner_forget,
        }

    async def owner_waiting(self) -> list[dict[str, Any]]:
        """Who waits to be let in."""
        return [knock_data(each) for each in (await self.listed(_OWNER)).waiting]

    async def owner_approve(self, code: str) -> list[dict[str, Any]]:
        """Let somebody in by their code."""
        return [{"text": await self.approve(code, _OWNER)}]

    async def owner_listed(self) -> list[dict[str, Any]]:
        """What holds, by command and by configuration."""
        found = await self.listed(_OWNER)
        configured = [
            {"subject": subject, "rule": rule.value, "via": "configuration", "by": "", "at": ""}
            for subject, rule in sorted(found.configured.items())
        ]
        return [*map(ruled_data, found.ruled), *configured]

    async def owner_rule(self, subject: str, rule: str) -> list[dict[str, Any]]:
        """Let in or shut out."""
        if rule not in list(Rule):
            raise UserError(f"there is no rule {rule!r}: {', '.join(Rule)}")
        return [{"text": await self.rule(subject, Rule(rule), _OWNER)}]

    async def owner_forget(self, subject: str) -> list[dict[str, Any]]:
        """Take a word back."""
        return [{"text": await self.forget(subject, _OWNER)}]

    def _hold(self, subject: str, rule: Rule, who: Approver) -> None:
        self.rules[subject] = rule
        self._told.pop(PersonId(subject), None)
        _log.info("admission_decided", subject=subject, rule=rule.value, by=who.person, door=who.door)

    def _check(self, who: Approver) -> None:
        policy.require(self._people, who, Action.PEOPLE)


def _require(subject: str) -> None:
    if not _SUBJECT.fullmatch(subject):
        raise UserError(
            f"{subject!r} names nobody: a person is named like discord:1234 or bluesky:did:plc:…, "
            "a role like discord:role:1234, a server like discord:guild:1234"
        )


def _asked_in(knock: Knock) -> str:
    return (
        "I do not know you yet, so I have not looked at what you wrote. To be let in, give this code to the person who "
        f"runs me, by {knock.expires_at:%H:%M} UTC: `{shown_code(knock.code)}`\nThey enter it with `/pair approve`, "
        "and I will tell you. What you wrote before is not kept; write it again then."
    )


def _say(tx: Tx, key: str, place: PlaceId, person: PersonId, text: str, now: datetime) -> None:
    row = outbox.NewRow(key, place, place_source(place), text, person_audience(person), person=person)
    outbox.add(tx, row, now)


def knock_data(knock: Knock) -> dict[str, Any]:
    """A stranger who waits, as plain data, without the code."""
    return {"person": knock.person, "name": knock.name, "until": to_text(knock.expires_at)}


def ruled_data(ruled: Ruled) -> dict[str, Any]:
    """A word that holds, as plain data."""
    data = {"subject": ruled.subject, "rule": ruled.rule.value, "via": ruled.via}
    return {**data, "by": ruled.by, "at": to_text(ruled.at)}
