"""Requests and permissions of agents: answered from all interfaces, granted, revoked, and their log."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bot.agents.permissions import approval_card_text, calls_needing_approval, roles_and_rights
from bot.agents.permissions.approval_codes import answer_by_code
from bot.agents.permissions.approval_requests import Broker, Ruling, target_named
from bot.agents.permissions.roles_and_rights import Action, Approver, People
from bot.agents.permissions.who_may_approve import may_answer
from bot.agents.tools.base import Tool, Toolset
from bot.agents.tools.recall import OBSERVATIONS
from bot.errors import CallError, UserError
from bot.services.caller import DISCORD_ONLY, TERMINAL_ONLY, Caller
from bot.services.names import find_living, named_audience, require_suggested, shown_block, where
from bot.services.registry import AT_TERMINAL, Arguments, Options, Param, Suggestions, operation, suggestions
from bot.services.results import Entry, Listing, Markup, Plain, Result, Row
from bot.services.transactions import Service, reads
from bot.storage_retry import repeat
from memory import agents, blocks, permission_grants, permission_requests
from memory.agents import Agent
from memory.blocks import CONSTELLATION_OWNER, BlockType
from memory.people.audience import OWNER, Audience, Scope
from memory.people.identities import label_called, person_called, person_named, place_named
from memory.permission_grants import Grant
from memory.permission_requests import Kind, Request, Status, Verdict
from memory.store.clock import from_text
from memory.store.database import Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import LARGEST, AgentId, GrantId, PersonId, RequestId, code, place_source, snowflakes
from memory.store.row_mapper import ending
from sources.names import place_title
from texts import _, gettext_noop, many

_ANSWER = commit_point("approval.answer")
_EXPIRE = commit_point("approval.expire")

_LOOK_SECONDS = 15.0  # between checks for expired requests
_NO_REQUEST = gettext_noop("There is no such request for you to answer. `carina permits list` shows what is waiting.")
_OPEN = (Status.WAITING, Status.APPROVED)
_OWNERS = Scope(OWNER)
_BLOCK = "block:"


_Request = Annotated[str, Param("Request, as listed", example="1", metavar="NUMBER", suggests="requests")]
_Length = Annotated[
    Literal["once", "hour", "always"],
    Param("How long to allow the same request", via=DISCORD_ONLY, labels={"hour": "1 hour"}),
]
_Hour = Annotated[bool, Param("Allow the same for an hour", via=TERMINAL_ONLY)]
_Always = Annotated[bool, Param("Allow the same until you revoke it", via=TERMINAL_ONLY)]
_Permit = Annotated[str, Param("Permission, as listed", example="1", metavar="NUMBER", suggests="permits")]
_Limit = Annotated[int, Field(ge=1, le=100_000), Param("Maximum number to show, newest first", metavar="LINES")]


class GrantPermit(Arguments):
    agent: Annotated[str, Param("Name of the agent", example="Carina", suggests="agents")]
    what: Annotated[
        str,
        Field(max_length=100),
        Param(
            "A tool to use, or a block to write to", typed="TOOL, block:LABEL", example="recall", suggests="permitted"
        ),
    ]
    audience: Annotated[
        str,
        Param(
            "Where it applies (default: here)",
            typed="public, owner, guild:ID, channel:ID",
            positional=True,
            suggests="audiences",
        ),
    ] = ""
    arguments: Annotated[
        str,
        Field(max_length=1_000),
        Param("Arguments the call must have, as JSON", metavar="JSON", via=TERMINAL_ONLY),
    ] = ""
    hours: Annotated[
        float | None,
        Field(gt=0, le=24 * 366),
        Param("For how many hours (default: until you revoke it)", metavar="HOURS"),
    ] = None


class RequestRow(Row):
    """A request as shown to those who may answer it, without its arguments."""

    id: str
    agent: str
    tool: str
    subject: str
    reason: str
    person: str
    place: str
    status: str
    asked: datetime = Field(validation_alias="created_at")
    until: datetime = Field(validation_alias="expires_at")
    words: str = Field(default="", exclude=True)
    """A description in Markdown; empty if there is none, and for requests from direct messages."""
    name: str = Field(default="", exclude=True)
    called: str = Field(default="", exclude=True)
    """What people read in place of the tool's name."""

    @classmethod
    def of(cls, rows: Rows, request: Request, called: str) -> "RequestRow":
        readable = _OWNERS.may_use(request.hearers.audience)
        return cls.from_record(
            request,
            agent=agents.agent(rows, request.agent).name,
            subject=_subject(rows, request.subject),
            reason=re.sub(rf"\b{re.escape(request.tool)}\b", _("“{text}”", text=called), _(request.reason)),
            person=person_named(rows, request.person, _OWNERS) if request.person else "",
            place=place_title(place_named(rows, request.place, _OWNERS)),
            words=approval_card_text.in_words(request, target_named(rows, request)) if readable else "",
            name=person_called(rows, request.person, _OWNERS) if request.person else "",
            called=called,
        )

    phrase = gettext_noop("{tool}: {reason}; expires {until}{id}")

    @property
    def choice(self) -> tuple[str, str]:
        """Also with its number and who asked, as several may be alike."""
        asked = ", " + _("asked by {person}", person=self.name) if self.name else ""
        return self.id, f"{self.called} #{code(self.id)}{asked}: {self.reason}"

    def line(self, markup: Markup) -> str:
        if isinstance(markup, Plain):
            return self.told(markup)
        asked = [self.words, _("asked by {person}", person=markup.text(self.name)) if self.name else ""]
        told = self.told(markup, tool=markup.text(self.called))
        return "; ".join([told, *filter(None, asked)]) + f" #{code(self.id)}"


class GrantRow(Row):
    """A standing permission: what an agent may do, for which audience, until when, and who granted it."""

    id: str
    scope: str = Field(validation_alias="kind")
    subject: str
    agent: str
    arguments: dict[str, Any] = Field(validation_alias="pattern")
    audience: str
    readers: str = Field(exclude=True)
    by: str
    person: str = Field(exclude=True)
    name: str = Field(exclude=True)
    called: str = Field(exclude=True)
    """What people read in place of the tool's name."""
    until: datetime | None = Field(validation_alias="expires_at")

    @classmethod
    def of(cls, rows: Rows, grant: Grant, called: str) -> "GrantRow":
        return cls.from_record(
            grant,
            subject=_subject(rows, grant.subject),
            agent=agents.agent(rows, grant.agent).name,
            readers=where(rows, grant.audience, _OWNERS),
            by=person_named(rows, grant.person, _OWNERS) if grant.person else "",
            name=person_called(rows, grant.person, _OWNERS) if grant.person else "",
            called=called,
        )

    @property
    def choice(self) -> tuple[str, str]:
        return self.id, self._what(self.called)

    def line(self, markup: Markup) -> str:
        until = _("until you revoke it") if self.until is None else self.told(markup, gettext_noop("until {until}"))
        by = markup.text(self.name) or (markup.person(self.person) if self.person else _("somebody who was erased"))
        return self.told(
            markup,
            gettext_noop("{what}, {until}, for {readers}; allowed by {by}{id}"),
            what=markup.text(self._what(self.subject if isinstance(markup, Plain) else self.called)),
            until=until,
            by=by,
        )

    @property
    def bound(self) -> str:
        return approval_card_text.argument_words(self.arguments) or _("any arguments")

    def _what(self, subject: str) -> str:
        return f"{self.agent}: {subject} ({self.bound})" if self.arguments else f"{self.agent}: {subject}"


class PermitList(Result):
    """Requests that wait for the caller and, if they may see those, standing permissions."""

    requests: tuple[RequestRow, ...]
    grants: tuple[GrantRow, ...]
    whole: bool = Field(exclude=True)

    def lines(self, markup: Markup) -> list[str]:
        waiting = [_("Waiting for you:"), *(f"- {row.line(markup)}" for row in self.requests)]
        held = [_("Lasting permissions:"), *(f"- {row.line(markup)}" for row in self.grants)]
        asked = waiting if self.requests else [_("Nothing is waiting for you.")]
        lasting = held if self.grants else [_("There are no lasting permissions.")]
        return [*asked, *(lasting if self.whole else [])]


class RequestDetails(Result):
    """A request in full. `words` describes it in Markdown; empty if there is no description or it may not be read."""

    id: str
    text: str
    arguments: str
    given: dict[str, str] = Field(exclude=True)
    """Each argument with every character visible; empty if they are hidden or damaged."""
    words: str = Field(exclude=True)
    waiting: bool = Field(exclude=True)

    def lines(self, markup: Markup) -> list[str]:
        return [markup.text(self.text), markup.code(self.arguments, "json")]


class PermitAnswer(Result):
    id: str
    text: str

    def lines(self, _markup: Markup) -> list[str]:
        return [self.text]

    def data(self) -> dict[str, Any]:
        return {"id": self.id, "counted": True, "text": self.text}

    def terminal(self, _markup: Markup) -> str:
        return _("Request {id}: {text}", id=code(self.id), text=self.text)


class RecordRow(Row):
    values: dict[str, Any]
    tool: str = Field(exclude=True)
    """What people read in place of the tool's name."""

    @classmethod
    def of(cls, rows: Rows, line: Mapping[str, Any], tool: str) -> "RecordRow":
        """The log entry, with the latest name of whoever decided."""
        person = line["person_id"]
        called = person_called(rows, PersonId(person), _OWNERS) if person else ""
        return cls(values={**line, "called": called}, tool=tool)

    def line(self, markup: Markup) -> str:
        about = filter(None, (self.values[name] for name in ("event", "tool", "called", "detail")))
        return f"{markup.time(from_text(self.values['at']))}: {', '.join(map(markup.text, about))}"


class Record(Listing[RecordRow]):
    def data(self) -> list[Any]:
        return [row.model_dump(mode="json")["values"] for row in self.rows]


class Approvals(Service, frozen=True):
    """The requests and standing permissions of one constellation.

    `resume` handles what an answer has queued; `tools` returns an agent's tools.
    """

    titles: ClassVar = {"permits": "Manage agents' permissions"}

    broker: Broker
    resume: Callable[[], None]
    tools: Callable[[Agent], Toolset]

    @property
    def people(self) -> People:
        return self.broker.terms.people

    async def answer(self, request: int, who: Approver, verdict: Verdict) -> Ruling:
        number, now = RequestId(min(request, LARGEST)), self.clock()
        return await self._decide(lambda tx: self.broker.answer(tx, number, who, verdict, now))

    async def answer_by_code(self, code: str, who: Approver, verdict: Verdict) -> Ruling:
        now = self.clock()
        return await self._decide(lambda tx: answer_by_code(tx, self.broker, code, who, verdict, now))

    async def _decide(self, work: Callable[[Tx], Ruling]) -> Ruling:
        ruling = await self.database.write(_ANSWER, work, durable=True)
        self.resume()
        return ruling

    @reads
    def details(self, rows: Rows, request: int, who: Approver) -> RequestDetails:
        return self._details(rows, request, who)

    async def expire(self) -> None:
        """Close expired requests, once."""
        now = self.clock()
        if not await self.database.read(lambda rows: permission_requests.due(rows, now)):
            return
        await self.database.write(_EXPIRE, lambda tx: self.broker.expire(tx, now))
        self.resume()

    async def watch(self) -> None:
        """Close expired requests at intervals until canceled."""
        await repeat("expiry of requests", self.expire, _LOOK_SECONDS)

    # ------------------------------------------------------------------ commands

    @operation("permits.list", "List open requests and permissions", Action.ANSWER)
    def list_permits(self, rows: Rows, caller: Caller) -> PermitList:
        whole = roles_and_rights.may(self.people, caller.approver, Action.PERMITS)
        held = permission_grants.active_grants(rows, self.clock()) if whole else []
        return PermitList(
            requests=tuple(self._request(rows, each) for each in open_requests(rows, caller.approver)),
            grants=tuple(self._grant(rows, each) for each in held),
            whole=whole,
        )

    @operation("permits.show", "Show a request with all its arguments", Action.ANSWER)
    def show(self, rows: Rows, caller: Caller, request: _Request) -> RequestDetails:
        return self._details(rows, ending(rows, "permission_requests", request), caller.approver)

    @operation("approve", "Approve a request", Action.ANSWER, Options(changes=True, formerly=("permits.approve",)))
    async def approve(
        self, caller: Caller, request: _Request, length: _Length = "once", hour: _Hour = False, always: _Always = False
    ) -> PermitAnswer:
        if hour and always:
            raise CallError("Use --hour or --always, not both. To allow it once, use neither.")
        length = "always" if always else "hour" if hour else length
        return await self._answer(caller, request, Verdict(length))

    @operation("deny", "Deny a request", Action.ANSWER, Options(changes=True, formerly=("permits.deny",)))
    async def deny(self, caller: Caller, request: _Request) -> PermitAnswer:
        return await self._answer(caller, request, Verdict.DENY)

    @operation("permits.revoke", "Revoke a lasting permission", Action.REVOKE)
    def revoke(self, tx: Tx, caller: Caller, permit: _Permit) -> Entry[GrantRow]:
        number = ending(tx, "permission_grants", permit)
        now, who = self.clock(), caller.approver
        if (found := permission_grants.revoke(tx, GrantId(number), now)) is None:
            raise UserError(
                "There is no lasting permission “{number}”. `carina permits list` shows them.", number=permit
            )
        of = found.audience, who.person, found.request, found.id, found.agent, found.kind
        permission_requests.note(tx, permission_requests.Entry("revoked", now, *of, detail=who.interface))
        return Entry(done=_("Revoked"), row=self._grant(tx, found))

    @operation("permits.audit", "Show all requests, decisions and uses, newest first", Action.AUDIT, AT_TERMINAL)
    def read_record(self, rows: Rows, _caller: Caller, limit: _Limit = 100) -> Record:
        lines = permission_requests.record(rows, limit)
        tools = ((line, line["tool"] and self._called(rows, line["agent_id"], line["tool"])) for line in lines)
        found = (RecordRow.of(rows, line, tool) for line, tool in tools)
        return Record.of(found, _("There have been no requests."))

    @operation("permits.grant", "Give an agent a permission in advance", Action.GRANT)
    def grant(self, tx: Tx, caller: Caller, arguments: GrantPermit) -> Entry[GrantRow]:
        """Grant a tool with arguments, or writing a block, for requests from one audience.

        Besides tools, `observations` allows reading what other members of the agent's groups stored (`recall`).
        """
        heard = caller.alone if caller.here is None else caller.here
        audience = _allowable(named_audience(arguments.audience) if arguments.audience else heard.scope.audience)
        hours, now = arguments.hours, self.clock()
        who = caller.approver
        agent = find_living(tx, arguments.agent)
        kind, subject, pattern = self._subject(agent, arguments)
        until = None if hours is None else now + timedelta(hours=hours)
        identifier = GrantId(snowflakes.next())
        grant = Grant(identifier, kind, subject, agent.id, pattern, audience, who.person, None, now, until)
        permission_grants.give_grant(tx, grant)
        detail = f"{'until revoked' if hours is None else many(hours, 'hour')}, by {who.interface}, without a request"
        of = audience, who.person, None, grant.id, agent.id, kind
        permission_requests.note(tx, permission_requests.Entry("granted", now, *of, detail=detail))
        return Entry(done=_("Allowed"), row=self._grant(tx, grant))

    @suggestions("requests")
    def suggest_requests(self, rows: Rows, caller: Caller) -> Suggestions:
        """Suggest requests that can still be answered; an approved one that has not run yet cannot."""
        found = [each for each in open_requests(rows, caller.approver) if each.status is Status.WAITING]
        return [self._request(rows, each).choice for each in found]

    @suggestions("permits")
    def suggest_permits(self, rows: Rows, _caller: Caller) -> Suggestions:
        return [self._grant(rows, each).choice for each in permission_grants.active_grants(rows, self.clock())]

    @suggestions("permitted", within="agent")
    def suggest_permitted(self, rows: Rows, caller: Caller, agent: str) -> Suggestions:
        """Suggest what the agent has, or any agent if none is named: its tools, and blocks if it can write them."""
        every = agents.agents(rows)
        having = [(each, self.tools(each)) for each in every if agent.casefold() in ("", each.name.casefold())]
        found = {name: tools.called(name) for _each, tools in having for name in tools.tools}
        for each in (each for each, tools in having if "context" in tools.tools):
            for block in blocks.visible_blocks(rows, each.id, caller.scope, types=tuple(BlockType)):
                found[f"{_BLOCK}{block.label}"] = _writing(label_called(rows, block.label, caller.scope))
        return found.items()

    def _request(self, rows: Rows, request: Request) -> RequestRow:
        return RequestRow.of(rows, request, self._called(rows, request.agent, request.tool))

    def _grant(self, rows: Rows, grant: Grant) -> GrantRow:
        if grant.kind is Kind.EDIT:
            return GrantRow.of(rows, grant, _writing(_subject(rows, grant.subject)))
        return GrantRow.of(rows, grant, self._called(rows, grant.agent, grant.subject.partition("@")[0]))

    def _called(self, rows: Rows, agent: AgentId, tool: str) -> str:
        return self.tools(agents.agent(rows, agent)).called(tool) or tool

    def _details(self, rows: Rows, request: int, who: Approver) -> RequestDetails:
        """A request with all arguments and its state, for those who may answer it. Raises UserError."""
        found = permission_requests.get(rows, RequestId(min(request, LARGEST)))
        if found is None or not may_answer(found, who.identities):
            raise UserError(_NO_REQUEST)
        decision = self.broker.decision(rows, found, place_source(who.person))
        waiting = found.status is Status.WAITING
        stands = _("It is waiting for an answer.") if waiting else decision
        private = not _OWNERS.may_use(found.hearers.audience) and found.person != who.person
        hidden = _("(hidden, because they come from somebody's direct messages)")
        text = _("`{tool}`\n{reason}\n{stands}", tool=found.tool, reason=_(found.reason), stands=stands)
        words = "" if private else approval_card_text.in_words(found, target_named(rows, found))
        exact = hidden if private else approval_card_text.visible_text(found.arguments)
        given = {} if private else approval_card_text.visible_values(found.arguments)
        return RequestDetails(id=str(found.id), text=text, arguments=exact, given=given, words=words, waiting=waiting)

    async def _answer(self, caller: Caller, request: str, verdict: Verdict) -> PermitAnswer:
        number = await self.database.read(lambda rows: ending(rows, "permission_requests", request))
        ruling = await self.answer(number, caller.approver, verdict)
        if not ruling.counted:
            # People who may not answer it do not learn whether it exists.
            asked = ruling.request is not None and may_answer(ruling.request, caller.approver.identities)
            raise UserError(ruling.words if asked else _(_NO_REQUEST))
        return PermitAnswer(id=str(number), text=ruling.words)

    def _subject(self, agent: Agent, wanted: GrantPermit) -> tuple[Kind, str, dict[str, Any]]:
        pattern = _pattern(wanted.arguments)
        if wanted.what.startswith(_BLOCK):
            self._having(agent, "context", pattern)
            return Kind.EDIT, f"{agent.id}/{wanted.what.removeprefix(_BLOCK)}", pattern
        if wanted.what == OBSERVATIONS:
            self._having(agent, "recall", pattern)
            return Kind.TOOL, OBSERVATIONS, pattern
        tool = self._having(agent, wanted.what, pattern)
        return Kind.TOOL, calls_needing_approval.subject(tool.name, tool.caution), pattern

    def _having(self, agent: Agent, tool: str, pattern: dict[str, Any]) -> Tool:
        """The agent's tool of that name, if it accepts these arguments. Raises UserError."""
        known = self.tools(agent).tools
        if tool not in known:
            require_suggested(tool)
            there = ", ".join(sorted(known))
            raise UserError("{agent} has no tool “{tool}”. It has: {known}.", agent=agent.name, tool=tool, known=there)
        fields = known[tool].arguments.named()
        if unknown := ", ".join(sorted(set(pattern) - set(fields))):
            raise UserError(
                "{tool} does not accept {unknown}. It accepts: {fields}.",
                tool=tool,
                unknown=unknown,
                fields=", ".join(fields),
            )
        return known[tool]


def open_requests(rows: Rows, who: Approver) -> list[Request]:
    """The open requests that this person may answer, newest first."""
    return [each for each in permission_requests.of_status(rows, _OPEN, 1000) if may_answer(each, who.identities)]


def _subject(rows: Rows, subject: str) -> str:
    """The subject of a request or grant; a block with its owner's name instead of the id."""
    of, slash, label = subject.partition("/")
    names = {each.id: each.name for each in agents.every_agent(rows)} | {CONSTELLATION_OWNER: "everybody"}
    name = names.get(AgentId(of)) if slash else None
    return f"{name}/{label_called(rows, label, _OWNERS)}" if name else subject


def _writing(block: str) -> str:
    return _("writing to the block “{block}”", block=shown_block(block))


def _allowable(audience: Audience) -> Audience:
    if not _OWNERS.may_use(audience):
        raise UserError("Anything from somebody's direct messages needs approval each time. The agent asks for it.")
    return audience


def _pattern(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError as error:
        raise UserError(
            'The arguments are not valid JSON ({error}). An example: {{"operation": "insert"}}', error=error
        ) from None
    if not isinstance(found, dict):
        raise UserError(_('The arguments must be a JSON object, such as {{"operation": "insert"}}.').format())
    return found
