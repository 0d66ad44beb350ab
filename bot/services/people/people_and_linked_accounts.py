"""Commands for people: linked accounts, who talked to agents, their states, and what is known about them.

A link says that accounts are one person. Rights stay with the account: a link makes nobody owner, admin or approved.
The owner's ids are linked by configuration; other links need codes entered from both accounts.
"""

from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, ClassVar

from pydantic import Field

from bot.agents.groups.settings import State
from bot.agents.permissions.roles_and_rights import Action, People
from bot.errors import UserError
from bot.runtime.intake import AudienceResolver
from bot.services.caller import Caller
from bot.services.people.admission_of_strangers import new_code, read_code, shown_code
from bot.services.registry import AT_TERMINAL, CHANGES, KEEPS, Param, Suggestions, operation, suggestions
from bot.services.results import ActionReport, Listing, Markup, Result, Row, relative, report
from bot.services.transactions import MemoryService, commit, reads
from memory import agent_groups
from memory.erasure.person_in_one_constellation import must_separate, separate
from memory.knowledge import graph
from memory.people import identities, person_states
from memory.people.audience import Scope
from memory.people.identities import Link
from memory.store.clock import Clock
from memory.store.constellations import Constellations
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId, PersonId, TurnId, code
from memory.store.logs import Log
from sources.text import one_line
from texts import _

_PART = commit_point("identities.part")

_WRONG = 5  # wrong codes that a person may enter within `_WINDOW`
_WINDOW = timedelta(minutes=10)
_REMEMBERED = 1_000

_log = Log("bot.services.people.people_and_linked_accounts")


_Code = Annotated[str, Param("The code, such as ABCD-2345", example="ABCD-2345")]


class AccountRow(Row):
    account: str

    def line(self, markup: Markup) -> str:
        return _("the terminal") if self.account.startswith("terminal:") else markup.person(self.account)


class AccountList(Listing[AccountRow]):
    def lines(self, markup: Markup) -> list[str]:
        own = [row.line(markup) for row in self.rows]
        if len(own) == 1:
            return [_("You have no linked accounts, only {first}.", first=own[0])]
        return [_("I treat these accounts as one person:"), *(f"- {each}" for each in own)]


@dataclass
class Accounts:
    """Links and unlinks accounts. `people.links` always equals the store.

    `settle` waits until earlier messages are stored; `moved` makes running turns reload.
    """

    titles: ClassVar = {"link": "Link your accounts on different platforms"}

    constellations: Constellations
    people: People
    audience: AudienceResolver
    clock: Clock
    settle: Callable[[], Awaitable[object]]
    moved: Callable[[ConstellationId, Sequence[TurnId]], None]
    _wrong: dict[PersonId, deque[datetime]] = field(default_factory=lambda: defaultdict(deque), init=False)

    async def load(self) -> None:
        """Read the links; call this before accepting any message, and after an erasure."""
        found = await self.constellations.registry.read(identities.links)
        self.people.links.clear()
        self.people.links.update(found)

    # ------------------------------------------------------------------ linking

    @operation("link.start", "Get a code to enter with your other account", Action.LINK, CHANGES)
    async def start(self, caller: Caller) -> str:
        now, code = self.clock(), new_code()

        def work(tx: Tx) -> bool:
            return identities.issue_code(tx, caller.person, code, now)

        if not await commit(self.constellations.registry, work):
            raise UserError("Too many people are linking accounts at the moment. Try again in 10 minutes.")
        return _(
            "Enter this code with your other account within 10 minutes: `{shown_code}`\nUse `/my "
            "link say` on Discord. You will get a second code to enter here.",
            shown_code=shown_code(code),
        )

    @operation("link.say", "Enter the code that your other account received", Action.LINK, CHANGES)
    async def say(self, caller: Caller, code: _Code) -> ActionReport:
        now, second = self.clock(), new_code()
        self._require_patience(caller.person, now)

        def work(tx: Tx) -> Link | None:
            return identities.redeem_code(tx, caller.person, read_code(code), second, now)

        done = await commit(self.constellations.registry, work)
        match done:
            case Link(other, proven=False):
                return report(
                    _(
                        "The code that you entered was given to {{other}}. If that is you, enter this code "
                        "there within 10 minutes: `{shown_code}`\nI'll then treat both accounts as one "
                        "person: I may use what you tell me privately with one account in private "
                        "conversations with the other, and your privacy choices cover both. If somebody else "
                        "gave you the code, stop here: they are trying to learn what I know about you.",
                        shown_code=shown_code(second),
                    ),
                    other=other,
                    code=shown_code(second),
                )
            case Link(other):
                await self.load()
                _log.info("accounts_linked", person=caller.person, other=other, interface=caller.approver.interface)
                text = _("Done. I now treat {person} and {other} as one person. `carina link remove` ends that.")
                return report(text, person=caller.person, other=other)
            case _:
                self._wrong[caller.person].append(now)
                raise UserError(
                    "You cannot enter this code. It was used, has expired, was mistyped, or belongs to this same "
                    "account. `carina link start` gives you a new one."
                )

    @operation("link.list", "List your linked accounts", Action.LINK)
    async def list_accounts(self, caller: Caller) -> AccountList:
        return AccountList.of(AccountRow(account=each) for each in self.people.selves(caller.person))

    @operation("link.remove", "Unlink this account", Action.LINK, CHANGES)
    async def remove(self, caller: Caller) -> ActionReport:
        person = caller.person
        others = [each for each in self.people.links.get(person, ()) if each != person]
        if not others:
            hint = _(" The configuration links the owner's accounts.") if person in self.people.owner else ""
            raise UserError("This account is not linked to another one.{hint}", hint=hint)
        await commit(self.constellations.registry, lambda tx: identities.unlink(tx, person))
        await self.load()
        await self.settle()
        await self.narrow()
        _log.info("account_unlinked", person=person, others=others, interface=caller.approver.interface)
        text = _("Unlinked {person}. What was said while the accounts were linked stays where it was said.")
        return report(text, person=person)

    async def narrow(self) -> None:
        """After an unlink, stop running and waiting work that combines accounts of different people."""
        for each in self.constellations.all():
            async with self.constellations.use(each.id) as database:
                await self.narrow_here(each.id, database)

    async def narrow_here(self, constellation: ConstellationId, database: Database) -> None:
        if await database.read(lambda rows: must_separate(rows, self.audience.audiences)):
            turns = await database.write(_PART, lambda tx: separate(tx, self.audience.audiences), durable=True)
            self.moved(constellation, turns)

    def _require_patience(self, person: PersonId, now: datetime) -> None:
        if len(self._wrong) > _REMEMBERED:
            self._wrong.clear()
        wrong = self._wrong[person]
        while wrong and wrong[0] <= now - _WINDOW:
            wrong.popleft()
        if len(wrong) >= _WRONG:
            raise UserError(
                "You entered the wrong code {WRONG} times. Try again {relative}.",
                WRONG=_WRONG,
                relative=relative(wrong[0] + _WINDOW, now),
            )


NOTHING = "none"
"""The input that clears the last state."""


_State = Annotated[
    str | None,
    Field(max_length=person_states.LONGEST),
    Param(f"A few words; “{NOTHING}” clears it (default: show it)", positional=True, suggests="states"),
]
_About = Annotated[str, Param("Show only what is related to this name", metavar="NAME", positional=True)]
_Limit = Annotated[int, Field(ge=1, le=5_000), Param("Maximum number to show, newest first")]


class TripleRow(Row):
    subject: str
    subject_kind: str
    relation: str
    object: str
    object_kind: str
    agent: str
    entry: str = Field(validation_alias="entry_id")
    says: str = Field(validation_alias="content")
    at: datetime

    def line(self, markup: Markup) -> str:
        return self.told(markup, "{subject} {relation} {object}{number}", number=markup.number(code(self.entry)))


class Graph(Result):
    """What is known about people; `total` counts all that the caller may know."""

    about: str
    total: int
    triples: tuple[TripleRow, ...]

    def lines(self, markup: Markup) -> list[str]:
        return [each.line(markup) for each in self.triples] or [_("There is nothing to show yet.")]


class KnownPeople(MemoryService, frozen=True):
    """People who talked to agents of one constellation, what is known about them, and their states."""

    @operation(
        "graph",
        "Show the people and things agents know about, and how they are related",
        Action.READ_MEMORY,
        AT_TERMINAL,
    )
    def show_graph(self, rows: Rows, caller: Caller, about: _About = "", limit: _Limit = 200) -> Graph:
        found, total = graph.shown(rows, about, caller.scope, limit)
        return Graph(about=about, total=total, triples=tuple(map(TripleRow.from_record, found)))

    # ------------------------------------------------------------------ states

    @operation("state", "Show or set how you are doing, which can decide who answers you", Action.KEEP, KEEPS)
    async def state(self, caller: Caller, state: _State = None) -> str:
        scope = caller.scope if caller.here is None else caller.here.scope
        word = (state or "").strip()
        return await (self._say(caller.person, scope, word) if word else self._seen(caller.person, scope))

    @suggestions("states")
    async def suggest(self, _caller: Caller) -> Suggestions:
        known = await self._known()
        return (*known, NOTHING) if known else []

    @reads
    def _known(self, rows: Rows) -> list[str]:
        found = (State.model_validate(each).said for group in agent_groups.groups(rows) for each in group.states)
        return sorted({said for said in found if said}, key=str.casefold)

    async def _seen(self, person: PersonId, scope: Scope) -> str:
        """A person's latest state, if it may be known here."""
        people = self.people.selves(person)
        found = await self.database.read(lambda rows: person_states.of(rows, people, scope, self.clock()))
        known = ", ".join(await self._known())
        now = _("Your state is “{found}”.", found=found) if found else _("You haven't told me how you are doing.")
        return _("{now} Groups respond to these states: {known}.", now=now, known=known) if known else now

    async def _say(self, person: PersonId, scope: Scope, word: str) -> str:
        """Store a state for the audience of this scope, until another one or `none` is entered."""
        state = one_line(word, person_states.LONGEST)
        state = "" if state.casefold() == NOTHING else state
        now = self.clock()

        def work(tx: Tx) -> None:
            for each in self.people.selves(person):
                person_states.put(tx, each, scope.audience, state if each == person else "", now)

        await commit(self.database, work)
        if not state:
            return _("Cleared. Your state no longer decides who answers you here.")
        known = {each.casefold() for each in await self._known()}
        heard = (
            _("what you tell me privately")
            if scope.audience.startswith(("person:", "owner"))
            else _("what you say here")
        )
        if state.casefold() not in known:
            return _("Saved: “{state}”. No group responds to it, so the same agents answer as before.", state=state)
        until = _("until you change it or choose “{NOTHING}”, for at most a day", NOTHING=NOTHING)
        return _(
            "Saved: “{state}”. The group that responds to it answers {heard}, {until}.",
            state=state,
            heard=heard,
            until=until,
        )
