"""One person with several accounts: linked by codes that are said on both sides, and unlinked by one word.

A link says who somebody is. What they may do hangs on the account still: nobody becomes the owner, an admin or approved
by it. The owner's ids are linked by configuration.
"""

from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import structlog

from bot import policy
from bot.desks.admission import new_code, read_code, shown_code
from bot.errors import UserError
from bot.policy import Action, Approver, People
from memory.audience import OWNER, Audience, person_audience
from memory.clock import Clock
from memory.constellation import Constellations
from memory.database import Tx
from memory.faults import commit_point
from memory.ids import ConstellationId, PersonId, TurnId
from memory.people import identities
from memory.people.identities import Half, Linked
from memory.people.parting import is_to_part, part
from sources.base import Place
from sources.terminal import PERSON

_OFFER = commit_point("identities.offer")
_SAY = commit_point("identities.say")
_UNLINK = commit_point("identities.unlink")
_PART = commit_point("identities.part")

_WRONG = 5  # codes that somebody may get wrong in `_WINDOW`
_WINDOW = timedelta(minutes=10)
_REMEMBERED = 1_000

_OWNER = Approver(PERSON, door="command line")
_log = structlog.get_logger("bot.desks.identities")


@dataclass
class Identities:
    """Links and unlinks accounts. `people.links` is kept as the store has it.

    `settle` waits until what was heard before is stored; `moved` tells running turns to look again.
    """

    constellations: Constellations
    people: People
    clock: Clock
    settle: Callable[[], Awaitable[None]]
    moved: Callable[[ConstellationId, Sequence[TurnId]], None]
    _wrong: dict[PersonId, deque[datetime]] = field(default_factory=lambda: defaultdict(deque), init=False)

    async def load(self) -> None:
        """Read what is linked; to be done before anything is heard, and after an erasure."""
        found = await self.constellations.registry.read(identities.links)
        self.people.links.clear()
        self.people.links.update(found)

    def heard_by(self, place: Place) -> Place:
        """A place, with what its hearers know as the person that they are: what their other accounts were told."""
        own = self._audiences(place.audience)
        return replace(place, within=(*place.within, *own)) if own else place

    def other_audiences(self, person: PersonId) -> tuple[Audience, ...]:
        """What was said alone to the other accounts of a person."""
        others = [each for each in self.people.selves(person) if each != person]
        return tuple(person_audience(each) for each in others if each not in self.people.owner)

    def _audiences(self, audience: Audience) -> tuple[Audience, ...]:
        if audience == OWNER:
            return self.other_audiences(self.people.owner[0]) if self.people.owner else ()
        kind, _, person = audience.partition(":")
        return self.other_audiences(PersonId(person)) if kind == "person" else ()

    # ------------------------------------------------------------------ linking

    async def start(self, who: Approver) -> str:
        """Tell somebody a code to say from their other account; gives it with what to do. Raises UserError."""
        self._check(who)
        now, code = self.clock(), new_code()

        def work(tx: Tx) -> bool:
            return identities.offer(tx, who.person, code, now)

        if not await self.constellations.registry.write(_OFFER, work):
            raise UserError("Too many people are linking accounts at the moment. Try again in ten minutes.")
        return (
            f"Say this code from your other account within ten minutes: `{shown_code(code)}`\nOn Discord that is "
            "`/link say`, at the terminal `carina link say`. You are then told a second code to say here."
        )

    async def say(self, typed: str, who: Approver) -> str:
        """Somebody says a code that another account was told. Raises UserError."""
        self._check(who)
        now = self.clock()
        self._require_patience(who.person, now)

        def work(tx: Tx) -> Half | Linked | None:
            return identities.say(tx, who.person, read_code(typed), new_code(), now)

        done = await self.constellations.registry.write(_SAY, work, durable=True)
        match done:
            case Half(other, code):
                return (
                    f"This code was told to {other}. If that is you, say this one there, within ten minutes: "
                    f"`{shown_code(code)}`\nThen both are one person to me: what was said to one of them alone may be "
                    "used when I talk to the other alone, and `/privacy` is about both. If somebody else gave you that "
                    "code, stop here: they want to know what I know of you."
                )
            case Linked(other):
                await self.load()
                _log.info("linked", person=who.person, other=other, door=who.door)
                return f"Done: {who.person} and {other} are one person to me. `link remove` ends that."
            case _:
                self._wrong[who.person].append(now)
                raise UserError(
                    "There is no open code like that for you to say: it was used, it is over, it was told to this very "
                    "account, or it reads differently. `link start` gives a new one."
                )

    async def remove(self, who: Approver) -> str:
        """Take the account that asks out of its person's others. Raises UserError."""
        self._check(who)
        person = who.person
        others = [each for each in self.people.links.get(person, ()) if each != person]
        if not others:
            hint = " The owner's accounts are linked by DISCORD_OWNER_ID." if person in self.people.owner else ""
            raise UserError(f"{person} is linked with no other account.{hint}")
        await self.constellations.registry.write(_UNLINK, lambda tx: identities.unlink(tx, person), durable=True)
        await self.load()
        await self.settle()
        await self.narrow()
        _log.info("unlinked", person=person, others=others, door=who.door)
        return f"{person} stands by itself again. What was said while they were linked stays where it was said."

    async def narrow(self) -> None:
        """Let what waits and runs use nothing together that is not one person's now; also after a death in between."""
        for house in self.constellations.all():
            async with self.constellations.use(house.id) as database:
                if not await database.read(lambda rows: is_to_part(rows, self._audiences)):
                    continue
                turns = await database.write(_PART, lambda tx: part(tx, self._audiences), durable=True)
            self.moved(house.id, turns)

    async def listed(self, who: Approver) -> list[PersonId]:
        """All accounts of who asks, the one that asks first. Raises UserError."""
        self._check(who)
        return list(self.people.selves(who.person))

    def _require_patience(self, person: PersonId, now: datetime) -> None:
        if len(self._wrong) > _REMEMBERED:
            self._wrong.clear()
        wrong = self._wrong[person]
        while wrong and wrong[0] <= now - _WINDOW:
            wrong.popleft()
        if len(wrong) >= _WRONG:
            raise UserError(f"That were {_WRONG} wrong codes. Try again at {wrong[0] + _WINDOW:%H:%M} UTC.")

    def _check(self, who: Approver) -> None:
        policy.require(self.people, who, Action.LINK)

    # ------------------------------------------------------------------ the owner's command line

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "link.start": self.owner_start,
            "link.say": self.owner_say,
            "link.remove": self.owner_remove,
            "link.list": self.owner_listed,
        }

    async def owner_start(self) -> list[dict[str, Any]]:
        """A code for the owner."""
        return [{"text": await self.start(_OWNER)}]

    async def owner_say(self, code: str) -> list[dict[str, Any]]:
        """The owner says a code."""
        return [{"text": await self.say(code, _OWNER)}]

    async def owner_remove(self) -> list[dict[str, Any]]:
        """The terminal stands by itself again."""
        return [{"text": await self.remove(_OWNER)}]

    async def owner_listed(self) -> list[dict[str, Any]]:
        """The owner's accounts."""
        return [{"account": each} for each in await self.listed(_OWNER)]
