"""Signs browsers in to the dashboard or to a person's own page: creates links and accepts each only once."""

from collections.abc import Callable
from typing import Annotated, ClassVar

from msgspec import Struct

from bot.agents.permissions.roles_and_rights import Action, People
from bot.errors import UserError
from bot.services.caller import DISCORD_ONLY, TERMINAL_ONLY, Caller
from bot.services.people.privacy import named
from bot.services.registry import Options, Param, operation
from bot.services.results import Markup, Result
from memory.people import web_sessions_and_tokens
from memory.people.web_sessions_and_tokens import KeyScope, Kind, WebKey
from memory.queue import messages
from memory.store.clock import Clock
from memory.store.constellations import Constellations
from memory.store.faults import commit_point
from memory.store.ids import PersonId
from texts import _

_SIGN_IN = commit_point("web.sign_in")
_OPENS = Options(via=TERMINAL_ONLY, changes=True, running=True, default=True)
_OPENS_OWN = Options(via=DISCORD_ONLY, changes=True, running=True)
_Person = Annotated[
    str, Param("Somebody else, who gets a link to their own page: a name, or an ID such as discord:1234")
]


def sign_in_words() -> str:
    return _("Open this link to see the dashboard. It signs in one browser once and expires after five minutes.")


class SignInLink(Result):
    """A link that signs in one browser, to the dashboard or to a person's own page."""

    url: str
    person: str = ""
    phrase = "{url}"

    def aside(self, markup: Markup) -> str:
        if not self.person:
            return sign_in_words()
        return _(
            "This link opens {person}'s page, where they can see and erase what is kept about them. Do not "
            "give it to anyone else. It signs in one browser once and expires after five minutes.",
            person=markup.person(self.person),
        )


class SignInLinks(Struct, frozen=True):
    """`address` is the dashboard's URL, empty if it is off; `public_url` is the one that everybody can reach."""

    titles: ClassVar = {"dashboard": "Open the dashboard and see who is signed in"}

    constellations: Constellations
    people: People
    clock: Clock
    address: Callable[[], str]
    public_url: str

    @operation("dashboard.open", "Get a link that signs you in to the dashboard", Action.WEB, _OPENS)
    async def open_dashboard(self, _caller: Caller, person: _Person = "") -> SignInLink:
        return await self._link(await self._called(person) if person else None)

    @operation("privacy.page", "Get a link to a page that shows what is kept about you", Action.PRIVACY, _OPENS_OWN)
    async def open_own_page(self, caller: Caller) -> SignInLink:
        """Open the caller's own page; the link is shown only to them. The owner's leads to the dashboard."""
        if not self.public_url:
            raise UserError("There is no such page here. `/privacy see` shows the same.")
        return await self._link(None if self._is_owner(caller.person) else caller.person)

    async def _link(self, person: PersonId | None) -> SignInLink:
        """A link to a person's page; for None, the owner, to the dashboard. Raises UserError."""
        if not (address := self.address()):
            raise UserError("The dashboard is off or could not start. `carina status` says why.")
        return SignInLink(url=f"{address}/login?code={await self._code(person)}", person=person or "")

    async def _called(self, said: str) -> PersonId:
        """The person with that id, or the only one who ever spoke under that name. Raises UserError."""
        if ":" in said:
            found = {named(said)}
        else:
            called = await self.constellations.read_each(lambda rows: messages.people_called(rows, said))
            found = set[PersonId]().union(*called.values())
        if len(found) != 1:
            if not found:
                raise UserError(
                    "Nobody called “{said}” has talked to me. Name a person by ID, such as discord:1234.", said=said
                )
            ids = ", ".join(sorted(found)[:10])
            raise UserError("Several people are called “{said}”. Choose one by ID: {ids}.", said=said, ids=ids)
        (person,) = found
        if self._is_owner(person):
            raise UserError("That is you: `carina dashboard` opens everything.")
        return person

    def _is_owner(self, person: PersonId) -> bool:
        """Whether the account is the owner's by configuration; an account linked to it does not have all its rights."""
        return person in self.people.owner

    async def first_link(self) -> str:
        """The URL of a new sign-in link if no key exists at all; else empty."""
        if await self.constellations.registry.read(web_sessions_and_tokens.any_made):
            return ""
        return (await self._link(None)).url

    async def of_code(self, code: str) -> WebKey | None:
        """The link with that code, if it is valid."""
        now = self.clock()
        return await self.constellations.registry.read(
            lambda rows: web_sessions_and_tokens.find(rows, Kind.CODE, code, now)
        )

    async def sign_in(self, code: str, browser: str) -> str | None:
        """Use up a code for a new session; returns its secret, or None if the code is invalid."""
        now = self.clock()
        return await self.constellations.registry.write(
            _SIGN_IN, lambda tx: web_sessions_and_tokens.use_sign_in_code(tx, code, browser, now), durable=True
        )

    async def code_for(self, person: PersonId, *, known: bool) -> str | None:
        """A code for a person whose account is proven: the owner's opens everything, others' their own page.

        None for unknown people.
        """
        if self._is_owner(person):
            return await self._code(None)
        return await self._code(person) if known else None

    async def _code(self, person: PersonId | None) -> str:
        scope, now = KeyScope.ADMIN if person is None else KeyScope.OWN, self.clock()
        new = WebKey(Kind.CODE, scope, "sign-in link", now, person)
        return await self.constellations.registry.write(
            _SIGN_IN, lambda tx: web_sessions_and_tokens.add(tx, new), durable=True
        )
