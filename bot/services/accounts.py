"""One person with several accounts: linked by codes that are said on both sides, and unlinked by one word.

A link says who somebody is. What they may do hangs on the account still: nobody becomes the owner, an admin or approved
by it. The owner's ids are linked by configuration.
"""

from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, ClassVar

import structlog
from pydantic import Field

from bot.agents.permissions.policy import Action, People
from bot.errors import UserError
from bot.runtime.intake import AudienceResolver
from bot.services.access import new_code, read_code, shown_code
from bot.services.caller import Caller
from bot.services.registry import Options, Param, operation
from bot.services.results import Ink, Listing, Notice, Row, relative
from memory.erasure.person import is_to_part, part
from memory.people import identities
from memory.people.identities import Half, Linked
from memory.store.clock import Clock
from memory.store.constellation import Constellations
from memory.store.database import Database, Tx
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId, PersonId, TurnId
from texts import _

_OFFER = commit_point("identities.offer")
_SAY = commit_point("identities.say")
_UNLINK = commit_point("identities.unlink")
_PART = commit_point("identities.part")

_WRONG = 5  # codes that somebody may get wrong in `_WINDOW`
_WINDOW = timedelta(minutes=10)
_REMEMBERED = 1_000

_CHANGES = Options(changes=True)
_log = structlog.get_logger("bot.services.accounts")


_Code = Annotated[str, Field(min_length=1, max_length=40), Param("The code, such as ABCD-2345")]


class AccountRow(Row):
    account: str

    def line(self, ink: Ink) -> str:
        return _("the terminal") if self.account.startswith("terminal:") else ink.person(self.account)


class AccountList(Listing[AccountRow]):
    def lines(self, ink: Ink) -> list[str]:
        first, *others = (row.line(ink) for row in self.rows)
        if not others:
            return [_("You have no linked accounts; I know you as {first}.", first=first)]
        return [_("You are {first}, linked with:", first=first), *(f"- {each}" for each in others)]


@dataclass
class Accounts:
    """Links and unlinks accounts. `people.links` is kept as the store has it.

    `settle` waits until what was heard before is stored; `moved` tells running turns to look again.
    """

    titles: ClassVar = {"link": "Link your accounts on different platforms"}

    constellations: Constellations
    people: People
    audience: AudienceResolver
    clock: Clock
    settle: Callable[[], Awaitable[None]]
    moved: Callable[[ConstellationId, Sequence[TurnId]], None]
    _wrong: dict[PersonId, deque[datetime]] = field(default_factory=lambda: defaultdict(deque), init=False)

    async def load(self) -> None:
        """Read what is linked; to be done before anything is heard, and after an erasure."""
        found = await self.constellations.registry.read(identities.links)
        self.people.links.clear()
        self.people.links.update(found)

    # ------------------------------------------------------------------ linking

    @operation("link.start", "Get a code to enter with your other account", Action.LINK, _CHANGES)
    async def start(self, caller: Caller) -> Notice:
        now, code = self.clock(), new_code()

        def work(tx: Tx) -> bool:
            return identities.offer(tx, caller.person, code, now)

        if not await self.constellations.registry.write(_OFFER, work):
            raise UserError("Too many people are linking accounts at the moment. Try again in ten minutes.")
        return Notice(
            text=_(
                "Enter this code with your other account within ten minutes: `{shown_code}`\nUse `/my link "
                "say` on Discord, or `carina link say` at a terminal. You will get a second code to "
                "enter here.",
                shown_code=shown_code(code),
            )
        )

    @operation("link.say", "Enter the code that your other account received", Action.LINK, _CHANGES)
    async def say(self, caller: Caller, code: _Code) -> Notice:
        now = self.clock()
        self._require_patience(caller.person, now)

        def work(tx: Tx) -> Half | Linked | None:
            return identities.say(tx, caller.person, read_code(code), new_code(), now)

        done = await self.constellations.registry.write(_SAY, work, durable=True)
        match done:
            case Half(other, code):
                return Notice(
                    text=_(
                        "This code was given to {{other}}. If that is you, enter this one there within ten "
                        "minutes: `{shown_code}`\nThen I treat both accounts as one person: I may use what either "
                        "told me privately when I talk to the other privately, and `/privacy` covers both. If "
                        "somebody else gave you the code, stop here: they are trying to learn what I know about "
                        "you.",
                        shown_code=shown_code(code),
                    ),
                    people={"other": other},
                )
            case Linked(other):
                await self.load()
                _log.info("linked", person=caller.person, other=other, door=caller.approver.door)
                end = caller.command("link remove")
                text = _("Done. I now treat {{person}} and {{other}} as one person. {end} ends that.", end=end)
                return Notice(text=text, people={"person": caller.person, "other": other})
            case _:
                self._wrong[caller.person].append(now)
                raise UserError(
                    "There is no open code like that for you to enter. It was used, has expired, was "
                    "mistyped, or was given to this same account. {command} gives you a new one.",
                    command=caller.command("link start"),
                )

    @operation("link.list", "List your linked accounts", Action.LINK)
    async def list_accounts(self, caller: Caller) -> AccountList:
        return AccountList(rows=tuple(AccountRow(account=each) for each in self.people.selves(caller.person)), empty="")

    @operation("link.remove", "Unlink this account", Action.LINK, _CHANGES)
    async def remove(self, caller: Caller) -> Notice:
        person = caller.person
        others = [each for each in self.people.links.get(person, ()) if each != person]
        if not others:
            hint = _(" The owner's accounts are linked by DISCORD_OWNER_ID.") if person in self.people.owner else ""
            raise UserError("This account is not linked with another one.{hint}", hint=hint)
        await self.constellations.registry.write(_UNLINK, lambda tx: identities.unlink(tx, person), durable=True)
        await self.load()
        await self.settle()
        await self.narrow()
        _log.info("unlinked", person=person, others=others, door=caller.approver.door)
        text = _("{person} is unlinked. What was said while the accounts were linked stays where it was said.")
        return Notice(text=text, people={"person": person})

    async def narrow(self) -> None:
        """Let what waits and runs use nothing together that is not one person's now; also after a death in between."""
        for each in self.constellations.all():
            async with self.constellations.use(each.id) as database:
                await self.narrow_here(each.id, database)

    async def narrow_here(self, constellation: ConstellationId, database: Database) -> None:
        """The same in one constellation."""
        if await database.read(lambda rows: is_to_part(rows, self.audience.audiences)):
            turns = await database.write(_PART, lambda tx: part(tx, self.audience.audiences), durable=True)
            self.moved(constellation, turns)

    def _require_patience(self, person: PersonId, now: datetime) -> None:
        if len(self._wrong) > _REMEMBERED:
            self._wrong.clear()
        wrong = self._wrong[person]
        while wrong and wrong[0] <= now - _WINDOW:
            wrong.popleft()
        if len(wrong) >= _WRONG:
            raise UserError(
                "That was the wrong code {WRONG} times. Try again {relative}.",
                WRONG=_WRONG,
                relative=relative(wrong[0] + _WINDOW, now),
            )
