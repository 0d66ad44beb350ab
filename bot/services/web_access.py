"""Who gets into the dashboard and the API: sign-in links, sessions of browsers, tokens of programs."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import Field

from bot.agents.permissions.policy import Action
from bot.errors import UserError
from bot.services.caller import TERMINAL_ONLY, Caller, owner_at_terminal
from bot.services.parameters import Arguments, Param
from bot.services.registry import Suggestions, Told, operation, suggestions
from bot.services.results import Ink, Listing, Result, Row, Sentence
from memory.people import web_keys
from memory.people.web_keys import KeyScope, Kind, WebKey
from memory.store.clock import Clock
from memory.store.database import Database
from memory.store.faults import commit_point
from texts import _, gettext_noop, ngettext

_ADD = commit_point("web.add_key")
_DROP = commit_point("web.drop_key")
_USE = commit_point("web.use_key")
_LOOKS, _CHANGES = Told(via=TERMINAL_ONLY), Told(via=TERMINAL_ONLY, changes=True)


class NewToken(Arguments):
    name: Annotated[
        str, Field(min_length=1, max_length=40, pattern=r"^[\w.-]+$"), Param("What you call it, such as a program")
    ]
    scope: Annotated[KeyScope, Param("What it may do")] = KeyScope.CHAT


class OneToken(Arguments):
    name: Annotated[str, Field(min_length=1, max_length=40), Param("Its name", suggests="tokens")]


class OneSession(Arguments):
    session: Annotated[str, Field(min_length=1, max_length=40), Param("Its number, or `all`", suggests="sessions")]


def sign_in_words() -> str:
    """What is said with the address of a sign-in link."""
    return _("Open this address to see the dashboard. It signs in one browser, once, within five minutes.")


class SignInLink(Result):
    """An address that signs in one browser."""

    url: str

    def lines(self, ink: Ink) -> list[str]:
        del ink
        return [self.url]

    def aside(self, ink: Ink) -> str:
        del ink
        return sign_in_words()


class NewSecret(Result):
    """A token, shown this once."""

    name: str
    scope: KeyScope
    token: str

    def lines(self, ink: Ink) -> list[str]:
        del ink
        return [self.token]

    def aside(self, ink: Ink) -> str:
        return self.told(ink, gettext_noop("This is the token {name} ({scope}). Keep it now: it is not shown again."))


class KeyRow(Row):
    """A session or a token."""

    id: str
    name: str
    scope: KeyScope
    created: datetime
    used: datetime | None
    expires: datetime | None

    @classmethod
    def of(cls, key: WebKey) -> "KeyRow":
        return cls.from_record(key, created=key.created_at, used=key.used_at, expires=key.expires_at)

    def line(self, ink: Ink) -> str:
        used = _("not used yet") if self.used is None else self.told(ink, gettext_noop("used {used}"))
        return self.told(ink, gettext_noop("{name} ({scope}), created {created}, {last}{id}"), last=used)


@dataclass(frozen=True)
class WebAccess:
    """The keys of one data folder. `address` is where the dashboard answers; empty where it does not."""

    titles: ClassVar = {"dashboard": "Open the dashboard and see who is signed in", "token": "Manage API tokens"}

    registry: Database
    clock: Clock
    address: Callable[[], str]

    @operation(
        "dashboard.open", "Get a link that signs you in to the dashboard", Action.WEB,
        Told(via=TERMINAL_ONLY, changes=True, running=True, default=True),
    )  # fmt: skip
    async def open_dashboard(self, _caller: Caller) -> SignInLink:
        """For five minutes, and for one browser."""
        if not (address := self.address()):
            raise UserError(_("The dashboard is off or could not start. `carina status` says why."))
        return SignInLink(url=f"{address}/login?code={await self._add(Kind.CODE, KeyScope.ADMIN, 'sign-in link')}")

    async def first_link(self) -> str:
        """The address of a fresh sign-in link where there is no key at all yet; else empty."""
        if await self.registry.read(web_keys.any_made):
            return ""
        return (await self.open_dashboard(owner_at_terminal())).url

    @operation("dashboard.sessions", "List the browsers that are signed in", Action.WEB, _LOOKS)
    async def list_sessions(self, _caller: Caller) -> Listing[KeyRow]:
        """Newest first."""
        return Listing(rows=await self._rows(Kind.SESSION), empty=_("No browser is signed in."))

    @operation("dashboard.sign-out", "Sign out a browser, or all of them", Action.WEB, _CHANGES)
    async def sign_out(self, _caller: Caller, arguments: OneSession) -> Sentence:
        """At once."""
        wanted = [each.id for each in await self._rows(Kind.SESSION) if arguments.session in (each.id, "all")]
        if not wanted:
            raise UserError(_("There is no such session. `carina dashboard sessions` lists them."))
        for each in wanted:
            await self.drop(each)
        return Sentence(text=ngettext("Signed out {count} browser.", "Signed out {count} browsers.", len(wanted)))

    @operation("token.create", "Create an API token", Action.WEB, _CHANGES)
    async def create_token(self, _caller: Caller, arguments: NewToken) -> NewSecret:
        """Its secret is shown this once."""
        try:
            token = await self._add(Kind.PROGRAM, arguments.scope, arguments.name)
        except ValueError:
            raise UserError(_("There is already a token {name}. Revoke it first.", name=arguments.name)) from None
        return NewSecret(name=arguments.name, scope=arguments.scope, token=token)

    @operation("token.list", "List the API tokens", Action.WEB, _LOOKS)
    async def list_tokens(self, _caller: Caller) -> Listing[KeyRow]:
        """Without their secrets."""
        empty = _("There are no tokens. `carina token create NAME` creates one.")
        return Listing(rows=await self._rows(Kind.PROGRAM), empty=empty)

    @operation("token.revoke", "Revoke an API token", Action.WEB, _CHANGES)
    async def revoke_token(self, _caller: Caller, arguments: OneToken) -> Sentence:
        """At once."""
        found = next((each for each in await self._rows(Kind.PROGRAM) if each.name == arguments.name), None)
        if found is None or not await self.drop(found.id):
            raise UserError(_("There is no token {name}. `carina token list` shows them.", name=arguments.name))
        return Sentence(text=_("Revoked the token {name}.", name=arguments.name))

    @suggestions("tokens")
    async def suggest_tokens(self, _caller: Caller) -> Suggestions:
        """Their names."""
        return [(each.name, each.name) for each in await self._rows(Kind.PROGRAM)]

    @suggestions("sessions")
    async def suggest_sessions(self, _caller: Caller) -> Suggestions:
        """Their browsers."""
        return [("all", _("All")), *((each.id, each.name) for each in await self._rows(Kind.SESSION))]

    # ------------------------------------------------------------------ for the server

    async def sign_in(self, code: str, browser: str) -> str | None:
        """Use a code up for a new session; its secret, or None where the code opens nothing."""
        now = self.clock()
        if await self.registry.read(lambda rows: web_keys.find(rows, Kind.CODE, code, now)) is None:
            return None  # a wrong code costs no write
        return await self.registry.write(_ADD, lambda tx: web_keys.exchange(tx, code, browser, now), durable=True)

    async def holder(self, kind: Kind, secret: str) -> WebKey | None:
        """The key with that secret; that it is used is noted once an hour."""
        now = self.clock()
        found = await self.registry.read(lambda rows: web_keys.find(rows, kind, secret, now))
        if found is not None and not web_keys.is_noted(found, now):
            key = found
            await self.registry.write(_USE, lambda tx: web_keys.note_used(tx, key, now))
        return found

    async def drop(self, identifier: str) -> bool:
        """End a session or a token."""
        return await self.registry.write(_DROP, lambda tx: web_keys.drop(tx, identifier), durable=True)

    async def _add(self, kind: Kind, scope: KeyScope, name: str) -> str:
        now = self.clock()
        return await self.registry.write(_ADD, lambda tx: web_keys.add(tx, kind, scope, name, now), durable=True)

    async def _rows(self, kind: Kind) -> tuple[KeyRow, ...]:
        now = self.clock()
        return tuple(map(KeyRow.of, await self.registry.read(lambda rows: web_keys.listing(rows, kind, now))))
