"""Access to the dashboard and the API: browser sessions and API tokens."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from msgspec import Struct
from pydantic import Field

from bot.agents.permissions.roles_and_rights import Action
from bot.config.values import pattern
from bot.errors import UserError
from bot.services.caller import Caller
from bot.services.names import find_living
from bot.services.registry import AT_TERMINAL, CHANGES_AT_TERMINAL, Param, Suggestions, operation, suggestions
from bot.services.results import Listing, Markup, Result, Row
from memory import agents
from memory.people import web_sessions_and_tokens
from memory.people.web_sessions_and_tokens import KeyScope, Kind, WebKey
from memory.store.clock import Clock
from memory.store.database import Database
from memory.store.faults import commit_point
from memory.store.ids import AgentId, PersonId, code
from sources.api import DASHBOARD
from texts import _, gettext_noop, ngettext

_WRITE = commit_point("web.write")

_NAME = pattern(r"[\w.-]{1,40}", gettext_noop("1 to 40 letters, digits, - . and _"))
_Name = Annotated[
    str, Field(min_length=1, max_length=40), _NAME, Param("Name for the token, such as the program's", example="editor")
]
_Scope = Annotated[Literal["chat", "read", "admin"], Param("What it may do")]
_Agent = Annotated[str, Param("The only agent that it can talk to", metavar="NAME", suggests="agents")]
_Token = Annotated[str, Param("Name of the token", example="editor", suggests="tokens")]
_Session = Annotated[str, Param("Session number, or `all`", example="1", suggests="sessions")]


class NewSecret(Result):
    name: str
    scope: KeyScope
    token: str
    phrase = "{token}"

    def aside(self, markup: Markup) -> str:
        return self.told(
            markup, gettext_noop("This is the token “{name}” ({scope}). Save it now: it will not be shown again.")
        )


class KeyRow(Row):
    id: str
    name: str
    scope: KeyScope
    person: str
    agent: str
    created: datetime = Field(validation_alias="created_at")
    used: datetime | None = Field(validation_alias="used_at")
    expires: datetime | None = Field(validation_alias="expires_at")
    number: str = Field(exclude=True)
    """The end of the id, by which a session is signed out; a token is revoked by name."""

    @classmethod
    def of(cls, key: WebKey, agents: Mapping[AgentId, str]) -> "KeyRow":
        number = code(key.id) if key.kind is Kind.SESSION else ""
        return cls.from_record(key, number=number, agent=agents.get(key.agent, "nobody") if key.agent else "")

    def line(self, markup: Markup) -> str:
        used = _("not used yet") if self.used is None else self.told(markup, gettext_noop("used {used}"))
        used += f", {markup.person(self.person)}" if self.person else ""
        used += self.told(markup, gettext_noop(", only for {agent}")) if self.agent else ""
        number = markup.number(self.number) if self.number else ""
        text = gettext_noop("{name} ({scope}), created {created}, {last}{number}")
        return self.told(markup, text, last=used, number=number)


class WebAccess(Struct, frozen=True):
    """The keys of one data folder; `bot.services.people.sign_in_links` starts the sessions."""

    titles: ClassVar = {"token": "Manage API tokens"}

    registry: Database
    home: Database
    """The database of the constellation that the dashboard and the API show."""
    clock: Clock
    spoken: Callable[[PersonId], str]
    """The language that a person chose; empty without a choice, so that the browser's is used."""

    @operation("dashboard.sessions", "List the browsers that are signed in", Action.WEB, AT_TERMINAL)
    async def list_sessions(self, _caller: Caller) -> Listing[KeyRow]:
        return Listing.of(await self._rows(Kind.SESSION), _("No browser is signed in."))

    @operation("dashboard.sign-out", "Sign out a browser, or all of them", Action.WEB, CHANGES_AT_TERMINAL)
    async def sign_out(self, _caller: Caller, session: _Session) -> str:
        wanted = [each.id for each in await self._rows(Kind.SESSION) if session in (each.id, each.number, "all")]
        if not wanted:
            raise UserError("There is no such session. `carina dashboard sessions` shows them.")
        for each in wanted:
            await self.drop(each)
        return ngettext("Signed out {count} browser.", "Signed out {count} browsers.", len(wanted))

    @operation("token.create", "Create an API token", Action.WEB, CHANGES_AT_TERMINAL)
    async def create_token(self, _caller: Caller, name: _Name, scope: _Scope = "chat", agent: _Agent = "") -> NewSecret:
        may = KeyScope(scope)
        only = None
        if name == DASHBOARD:
            raise UserError("The name {name} is reserved. Choose another one.", name=name)
        if agent and may is not KeyScope.CHAT:
            raise UserError("A token for one agent must have the scope chat: other scopes can see everything.")
        if agent:
            only = await self.home.read(lambda rows: find_living(rows, agent).id)
        new = WebKey(Kind.PROGRAM, may, name, self.clock(), agent=only)
        try:
            token = await self.registry.write(_WRITE, lambda tx: web_sessions_and_tokens.add(tx, new), durable=True)
        except ValueError:
            raise UserError("There is already a token “{name}”. Revoke it first.", name=name) from None
        return NewSecret(name=name, scope=may, token=token)

    @operation("token.list", "List the API tokens", Action.WEB, AT_TERMINAL)
    async def list_tokens(self, _caller: Caller) -> Listing[KeyRow]:
        empty = _("There are no tokens. `carina token create NAME` creates one.")
        return Listing.of(await self._rows(Kind.PROGRAM), empty)

    @operation("token.revoke", "Revoke an API token", Action.WEB, CHANGES_AT_TERMINAL)
    async def revoke_token(self, _caller: Caller, name: _Token) -> str:
        found = next((each for each in await self._rows(Kind.PROGRAM) if each.name == name), None)
        if found is None or not await self.drop(found.id):
            raise UserError("There is no token “{name}”. `carina token list` shows them.", name=name)
        return _("Revoked the token “{name}”.", name=name)

    @suggestions("tokens")
    async def suggest_tokens(self, _caller: Caller) -> Suggestions:
        return [each.name for each in await self._rows(Kind.PROGRAM)]

    @suggestions("sessions")
    async def suggest_sessions(self, _caller: Caller) -> Suggestions:
        return [("all", _("All")), *((each.id, each.name) for each in await self._rows(Kind.SESSION))]

    # ------------------------------------------------------------------ server

    async def holder(self, kind: Kind, secret: str) -> WebKey | None:
        """The key with that secret; its use is recorded once a minute."""
        now = self.clock()
        found = await self.registry.read(lambda rows: web_sessions_and_tokens.find(rows, kind, secret, now))
        if found is not None and not web_sessions_and_tokens.is_noted(found, now):
            key = found
            await self.registry.write(_WRITE, lambda tx: web_sessions_and_tokens.note_used(tx, key, now))
        return found

    async def drop(self, identifier: str) -> bool:
        return await self.registry.write(_WRITE, lambda tx: web_sessions_and_tokens.drop(tx, identifier), durable=True)

    async def _rows(self, kind: Kind) -> tuple[KeyRow, ...]:
        now = self.clock()
        names = await self.home.read(lambda rows: {each.id: each.name for each in agents.every_agent(rows)})
        found = await self.registry.read(lambda rows: web_sessions_and_tokens.listing(rows, kind, now))
        return tuple(KeyRow.of(each, names) for each in found)
