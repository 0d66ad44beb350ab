"""One request to the dashboard: its caller, the services it can call, and how a response is made."""

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from bot.agents.permissions.roles_and_rights import Approver
from bot.errors import CallError, UserError
from bot.interfaces.web.refusals import Refusal
from bot.interfaces.web.render import field_label, render
from bot.interfaces.web.server import WebServer
from bot.services.caller import Caller, PlaceScope, Unconfirmed, Via, is_offered, owner_at_terminal
from bot.services.names import where
from bot.services.people.privacy import PersonCounts
from bot.services.registry import Operation
from bot.services.results import Result
from memory.people.audience import Audience, Scope, Trust, person_audience
from memory.people.web_sessions_and_tokens import WebKey
from memory.store.errors import StoreError
from memory.store.ids import PersonId, PlaceId
from memory.store.records import replace
from sources.api import SOURCE
from sources.terminal import PERSON
from texts import _, error_text

FAILURES = (UserError, CallError, StoreError)
"""Errors of operations that carry a message for the caller."""


class Question(Struct, frozen=True):
    """An action that needs the viewer's confirmation: the question, and the form to send on yes."""

    words: str
    fields: Mapping[str, str]


def owner_on_the_web() -> Caller:
    return replace(owner_at_terminal(), via=Via.WEB, approver=Approver(PERSON, interface="dashboard"))


def on_own_page(person: PersonId, others: tuple[Audience, ...]) -> Caller:
    """A person on their own page, which only they see: it may show what they said in private.

    `others` are the audiences of their other accounts' private messages.
    """
    scope = Scope(person_audience(person), frozenset(others))
    alone = PlaceScope(PlaceId(f"{SOURCE}:page/{person}"), scope)
    return Caller(Approver(person, interface="own page"), Via.PAGE, scope, alone, Trust.STRANGER)


class Context(Struct, frozen=True):
    """The context of a page handler."""

    web: WebServer
    request: Request

    @property
    def is_own_page(self) -> bool:
        """Whether the caller is not the owner and sees only their own page."""
        return self.key is not None and self.key.person is not None

    @property
    def key(self) -> WebKey | None:
        """The key of the request."""
        found: WebKey | None = self.request.state.key
        return found

    def caller(self, *, sure: bool = False, shown: str = "") -> Caller:
        """The caller, determined by the key alone."""
        if self.key is None:
            raise CallError("You are not signed in.")
        person = self.key.person
        caller = owner_on_the_web() if person is None else on_own_page(person, self.web.other_audiences(person))
        return replace(caller, sure=sure, shown=shown)

    @property
    def part(self) -> bool:
        """Whether only a part of the page is requested."""
        return "hx-request" in self.request.headers

    def query(self, name: str, default: str = "") -> str:
        return self.request.query_params.get(name, default)

    def number(self, name: str) -> int | None:
        """A query parameter as a number; None if missing."""
        text = self.query(name)
        return int(text) if text.isdecimal() and len(text) < 19 else None

    async def form(self) -> dict[str, str]:
        return dict(await self._fields())

    async def chosen(self, name: str) -> list[str]:
        """All values of a repeated form field."""
        return [value for field, value in await self._fields() if field == name]

    async def _fields(self) -> list[tuple[str, str]]:
        return parse_qsl((await self.request.body()).decode("utf-8", "replace"), keep_blank_values=True)

    async def json(self) -> dict[str, Any]:
        """The JSON body of a program's request. Raises Refusal."""
        try:
            given = await asyncio.to_thread(json.loads, await self.request.body())
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            raise Refusal(400, _("The body is not a JSON object."))
        return given

    def stream(self, events: AsyncIterator[str]) -> StreamingResponse:
        """Stream events until the caller is signed out or the token is revoked."""

        async def allowed() -> AsyncIterator[str]:
            async for each in events:
                if await self.request.state.holder() is None:
                    return
                yield each

        return StreamingResponse(allowed(), media_type="text/event-stream")

    async def call(self, operation: str, /, **given: Any) -> Any:
        """Call an operation as the caller. Raises the errors in `FAILURES`."""
        return await self.web.services.registry.call(operation, self.caller(), given)

    async def try_call(self, operation: str, /, **given: Any) -> Any:
        """Call an operation; return its error message if it fails, for optional parts of a page."""
        try:
            return await self.call(operation, **given)
        except FAILURES as error:
            return error_text(error)

    async def rows(self, operation: str, /, **given: Any) -> tuple[Any, ...]:
        """The rows of a list; none if it cannot be read."""
        found = await self.try_call(operation, **given)
        return () if isinstance(found, str) else tuple(found.rows)

    async def act(self, operation: str, given: Mapping[str, Any], form: Mapping[str, str]) -> Result | Question | str:
        """Run the operation of a form: returns its result, a question first, or the reason it failed."""
        caller = self.caller(sure="sure" in form, shown=form.get("shown", ""))
        try:
            return await self.web.services.registry.call(operation, caller, given, lambda each: field_label(each.name))
        except Unconfirmed as question:
            return Question(str(question), {**form, "sure": "yes", "shown": str(question)})
        except FAILURES as error:
            return error_text(error)

    async def words(self, result: Result | Question | str, *, numbered: bool = False) -> str:
        """`numbered` adds the numbers that a form refers to."""
        if isinstance(result, Result):
            plain = await self.web.services.registry.plain(self.caller())
            return "\n".join([*filter(None, [result.aside(plain)]), *result.lines(replace(plain, numbered=numbered))])
        return result.words if isinstance(result, Question) else result

    async def kept(self, seen: PersonCounts) -> list[str]:
        """The data stored about a person, as lines below a heading with their name."""
        markup = await self.web.services.registry.plain(self.caller())
        return [line.removeprefix("- ") for line in (*seen.held(markup)[1:], *seen.decided(markup))]

    async def readers(self, found: Iterable[Any]) -> dict[str, str]:
        """Who can read each of these rows, described by its audience."""
        scope, wanted = self.caller().scope, {each.audience for each in found}
        return await self.web.talk.database.read(lambda rows: {each: where(rows, each, scope) for each in wanted})

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        state = self.request.state
        shared = {
            "path": self.request.url.path,
            "csrf": state.csrf,
            "constellation": self.web.config.constellation.name,
            "halted": self.web.services.halt.since,
            "own": self.is_own_page,
            "told": "",
            "answered": self.request.method == "POST" and status < 400,
        }
        return HTMLResponse(render(template, **{**shared, **values}), status)


def offered(ctx: Context) -> dict[str, Operation]:
    found = ctx.web.services.registry.operations.values()
    there = [each for each in found if is_offered(Via.WEB, each.via) and each.offered]
    on_disk = {each.name for each in there for one in each.parameters if one.kind == "path" and one.required}
    return {each.name: each for each in there if each.name not in on_disk}


def arguments(
    declared: Operation, form: Mapping[str, str], via: Via = Via.WEB, before: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """The form's values as arguments of the operation; empty fields are omitted, unless they had a text `before`."""
    given: dict[str, Any] = {}
    for each in declared.taken(via):
        text = form.get(each.name)
        emptied = before.get(each.name) and each.kind in ("content", "text") and not each.choices
        if text is None or (text == "" and not each.required and not each.piped and not emptied):
            continue
        match each.kind:
            case "many":
                given[each.name] = [line.strip() for line in text.splitlines() if line.strip()]
            case "content" | "text":
                given[each.name] = text.replace("\r\n", "\n")
            case _:
                given[each.name] = text
    return given


async def outcome(ctx: Context, offers: Collection[str] | None = None) -> dict[str, Any]:
    """Run the operation of a submitted form and return its message; empty if the page was only opened.

    `offers` lists the operations that the page allows; None allows all, on pages that only the owner sees.
    """
    if ctx.request.method != "POST":
        return {}
    form = await ctx.form()
    declared = ctx.web.services.registry.operations.get(form.get("op", ""))
    if declared is None or (offers is not None and declared.name not in offers):
        raise CallError("This form does not name an action that is available here.")
    return await told(ctx, await ctx.act(declared.name, arguments(declared, form, ctx.caller().via), form))


async def told(ctx: Context, result: Result | Question | str) -> dict[str, Any]:
    if isinstance(result, Question):
        return {"question": result}
    failed = isinstance(result, str) or result.code > 0
    return {"told": await ctx.words(result), "told_kind": "bad" if failed else "good"}
