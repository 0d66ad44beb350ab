"""Received messages and their results: shown to the owner and admins, and retried by command."""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import Annotated, ClassVar

from pydantic import Field

from bot.agents.permissions import roles_and_rights
from bot.agents.permissions.roles_and_rights import Action
from bot.errors import UserError
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.memory.context_preview import Section, sections
from bot.services.registry import AT_TERMINAL, KEEPS, Param, Suggestions, operation, suggestions
from bot.services.results import Entry, Listing, Markup, Result, Row, relative
from bot.services.transactions import ZonedService
from memory.people.audience import Audience, Scope
from memory.people.identities import place_named
from memory.queue import inbox, messages, outbox, telemetry
from memory.queue.inbox import InRow, Status
from memory.queue.outbox import TextDetail
from memory.store.clock import from_text, to_text
from memory.store.database import Row as StoredRow
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.ids import InboxId, TurnId
from memory.store.row_mapper import ending
from scheduler.times_in_words import date_words
from scheduler.zones import instant, zone_of
from sources.bluesky.identifiers import NAME as BLUESKY
from sources.names import place_title, source_name
from sources.text import one_line
from texts import _, gettext_noop, money_text, ngettext

_SUGGESTED = 100
_STATES = {
    Status.RECEIVED: gettext_noop("waiting"),
    Status.CLAIMED: gettext_noop("being answered"),
    Status.DONE: gettext_noop("done"),
    Status.DEAD: gettext_noop("failed"),
}

_OnlyDead = Annotated[bool, Param("Show only failed messages")]
_Limit = Annotated[int, Field(ge=1, le=1_000), Param("Maximum number to show, newest first", metavar="ROWS")]
_Before = Annotated[
    int | None,
    Field(ge=1, le=2**63 - 1),
    Param("Show only those before this number", metavar="NUMBER", via=TERMINAL_ONLY),
]
_Row = Annotated[str, Param("Message, as listed", example="1", metavar="NUMBER", suggests="inbox")]
_Dead = Annotated[str, Param("Message, as listed", example="1", metavar="NUMBER", suggests="dead")]
_OWN_SUGGESTED = 25
_SHOWN = 80  # length of a message
_NONE = gettext_noop("You have no failed messages to retry.")
_NOT_FAILED = gettext_noop("Message {which} has not failed. `carina inbox list` shows which have.")
_GONE = gettext_noop("I can no longer answer that message. Send it again.")
_Message = Annotated[str, Param("Message that was not answered", example="1", metavar="NUMBER", suggests="unanswered")]
_HIDDEN = gettext_noop("(you cannot read it, or it is gone)")
_Days = Annotated[int, Field(ge=1, le=366), Param("How many days to look back")]


def shown_error(error: str, audience: Audience, scope: Scope) -> str:
    """An error without the text after its type, which may quote messages."""
    return error if scope.may_use(audience) else error.partition(":")[0]


_DELIVERIES = {
    "sending": gettext_noop("being sent"),
    "unknown": gettext_noop("perhaps delivered"),
    "withdrawn": gettext_noop("withdrawn"),
}
_KINDS = {
    "message": gettext_noop("Message"),
    "edit": gettext_noop("Edited message"),
    "delete": gettext_noop("Deleted message"),
    "reaction": gettext_noop("Reaction"),
    "event": gettext_noop("Internal event"),
}


class InboxRow(Row):
    """A received item and, if the caller may know, its sender; only pages show its first words."""

    id: int
    source: str
    kind: str
    place: str
    place_name: str = Field(exclude=True)
    status: Status
    attempts: int
    last_error: str
    received_at: datetime
    again_at: datetime | None = Field(validation_alias="next_attempt_at")
    text: str = Field("", exclude=True)
    speaker: str = Field("", exclude=True)

    @classmethod
    def of(cls, rows: Rows, row: InRow, scope: Scope) -> "InboxRow":
        error = _(shown_error(row.last_error, row.audience, scope))
        place = place_title(place_named(rows, row.place, scope))
        said = messages.by_ids(rows, () if row.message is None else (row.message,), scope)
        text, speaker = next(((one_line(each.text, _SHOWN), each.speaker) for each in said), ("", ""))
        return cls.from_record(row, last_error=error, place_name=place, text=text, speaker=speaker)

    @property
    def what(self) -> str:
        kind = _(_KINDS.get(self.kind, self.kind.capitalize()))
        return _("{what} from {who}", what=kind, who=self.speaker) if self.speaker else kind

    def line(self, markup: Markup) -> str:
        where = markup.place(self.place) if self.place_name == self.place else markup.text(self.place_name)
        what = markup.text(self.what)
        head = self.told(markup, gettext_noop("{what} in {where}, {received_at}"), what=what, where=where)
        error = f": {markup.text(self.last_error)}" if self.last_error else ""
        return f"{head}, {_(_STATES[self.status])}{error}{markup.number(str(self.id))}"


class Inbox(ZonedService, frozen=True):
    """The inbox of one constellation. `announce` handles messages that wait for an answer, unless all is `halted`."""

    titles: ClassVar = {"inbox": "Show incoming messages and retry failed ones"}

    announce: Callable[[], None]
    halted: Callable[[], bool]

    @operation("inbox.list", "List recent messages and their status", Action.INBOX)
    def list_rows(
        self, rows: Rows, caller: Caller, dead: _OnlyDead = False, limit: _Limit = 20, before: _Before = None
    ) -> Listing[InboxRow]:
        empty = _("There are no failed messages.") if dead else _("Nothing has arrived yet.")
        return Listing.of(_listed(rows, caller, dead, limit, before), empty)

    @operation("inbox.show", "Show a message and its status", Action.INBOX)
    def show(self, rows: Rows, caller: Caller, row: _Row) -> "Trace":
        """Show a message with each step on its way to the answer."""
        return _trace(rows, find_message(rows, row), caller.scope, self.clock())

    @operation("inbox.days", "Show the number of messages per day", Action.INBOX, AT_TERMINAL)
    def show_days(self, rows: Rows, caller: Caller, days: _Days = 7) -> "Listing[DayRow]":
        zone = zone_of(self.zone_of(rows, caller))
        today = self.clock().astimezone(zone).date()
        every = [today - timedelta(days=back) for back in reversed(range(days))]
        heard, answered, cost = telemetry.by_day(rows, instant(datetime.combine(every[0], time.min), zone), zone)
        return Listing.of(
            DayRow(day=f"{day}", heard=heard.get(day, 0), answered=answered.get(day, 0), cost_usd=cost.get(day, 0))
            for day in every
        )

    @operation("inbox.retry", "Retry a failed message", Action.INBOX)
    def retry(self, tx: Tx, caller: Caller, row: _Dead) -> Entry[InboxRow]:
        if (revived := _revive(tx, find_message(tx, row).id, self.clock())) is None:
            raise UserError(_NOT_FAILED, which=row)
        return Entry(done=_("Retrying"), row=InboxRow.of(tx, revived, caller.scope))

    @operation("inbox.drop", "Discard a failed message; it stays in the conversation", Action.INBOX)
    def drop(self, tx: Tx, caller: Caller, row: _Dead) -> Entry[InboxRow]:
        """Stop counting a message as failed; it can no longer be answered."""
        if (found := find_message(tx, row)).status is not Status.DEAD:
            raise UserError(_NOT_FAILED, which=row)
        inbox.set_aside(tx, [found], inbox.DISCARDED, self.clock())
        _withdraw_buttons(tx, found.id, self.clock())
        return Entry(done=_("Discarded"), row=InboxRow.of(tx, find_message(tx, str(found.id)), caller.scope))

    @suggestions("inbox")
    def suggest(self, rows: Rows, caller: Caller) -> Suggestions:
        found = _listed(rows, caller)
        return [(str(row.id), f"{self._named(row)}: {_(_STATES[row.status])}") for row in found]

    @suggestions("dead")
    def suggest_dead(self, rows: Rows, caller: Caller) -> Suggestions:
        found = _listed(rows, caller, dead=True)
        return [(str(row.id), f"{self._named(row)}: {_(row.last_error)}") for row in found]

    def _named(self, row: InboxRow) -> str:
        ago = relative(row.received_at, self.clock())
        return _("{what} in {where}, {received_at}", what=row.what, where=row.place_name, received_at=ago)

    # ------------------------------------------------------------------ for the sender

    @operation("retry", "Retry a message that I couldn't answer", Action.CHANGE_OWN, KEEPS)
    def retry_own(self, tx: Tx, caller: Caller, message: _Message) -> str:
        row = self._answerable(tx, caller, message)
        if row.status is Status.DONE and row.last_error == inbox.DISCARDED:
            raise Refused(_GONE)
        if row.status is not Status.DEAD:
            return (
                _("I'm already working on it.")
                if row.status is not Status.DONE
                else _("That has already been answered.")
            )
        said = None if row.message is None else messages.of_id(tx, row.message)
        if said is not None and said.deleted_at is not None:
            raise Refused("The message was deleted, so there is nothing to answer.")
        if _revive(tx, row.id, self.clock()) is None:
            raise Refused(_GONE)
        if self.halted():
            return _("Everything is halted. I'll try again when the halt is released.")
        return _("I'm trying again now.")

    @suggestions("unanswered")
    def suggest_own(self, rows: Rows, caller: Caller) -> Suggestions:
        found = inbox.given_up(rows, self.people.selves(caller.person), _OWN_SUGGESTED)
        said = messages.by_ids(rows, (row.message for row in found if row.message is not None), caller.scope)
        words = {each.id: one_line(each.text, _SHOWN) for each in said}
        return [(str(row.id), words[row.message]) for row in found if row.message in words]

    def _answerable(self, rows: Rows, caller: Caller, which: str) -> InRow:
        """The message in question. Raises Refused, with the same text if it does not exist or is another person's."""
        row = inbox.get(rows, InboxId(ending(rows, "inbox", which)))
        theirs = row is not None and row.person in self.people.selves(caller.person)
        if row is None or not (theirs or roles_and_rights.may(self.people, caller.approver, Action.INBOX)):
            raise Refused(_(_NONE))
        return row


def _listed(
    rows: Rows, caller: Caller, dead: bool = False, limit: int = _SUGGESTED, before: int | None = None
) -> list[InboxRow]:
    found = inbox.listing(rows, Status.DEAD if dead else None, limit, before)
    return [InboxRow.of(rows, row, caller.scope) for row in found]


def find_message(rows: Rows, which: str) -> InRow:
    """The message of that number. Raises UserError."""
    if (row := inbox.get(rows, InboxId(ending(rows, "inbox", which)))) is None:
        raise UserError("There is no message “{which}”. `carina inbox list` shows them.", which=which[:40])
    return row


def _revive(tx: Tx, row: InboxId, now: datetime) -> InRow | None:
    revived = inbox.revive(tx, row)
    if revived is not None:
        _withdraw_buttons(tx, row, now)
    return revived


def _withdraw_buttons(tx: Tx, row: InboxId, now: datetime) -> None:
    """Remove the buttons from the notice that a message was given up; Bluesky has none."""
    for told in (*outbox.of_prefix(tx, f"given_up/{row}/"), *outbox.of_prefix(tx, f"notice/dead/{row}/")):
        pressed = isinstance(told.detail, TextDetail) and told.detail.press is not None
        if pressed and told.source != BLUESKY and not outbox.withdraw(tx, told.id) and told.content:
            outbox.add_edit(tx, told, "shown", told.content, now)


class DayRow(Row):
    """A day in the caller's zone: messages, answers, and the costs if the price is known."""

    day: str
    heard: int
    answered: int
    cost_usd: float

    def line(self, markup: Markup) -> str:
        text = gettext_noop("{day}: {heard} received, {answered} answered, {cost}")
        return self.told(markup, text, day=date_words(date.fromisoformat(self.day)), cost=money_text(self.cost_usd))


class StageRow(Row):
    """One stage: its kind, start, end and details."""

    kind: str
    """"queue", "model", "approval", "tool", "commit" or "delivery"."""
    name: str
    agent: str = ""
    """The agent that took the step."""
    at: datetime
    ended: datetime
    detail: str = ""
    """Text of the stage, if the caller may read it: a tool's arguments and result."""
    reasoning: str = ""
    """The model's thinking, if its provider shows that."""
    context: tuple[Section, ...] = ()
    """The parts of the prompt, by size."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None

    @property
    def milliseconds(self) -> int:
        return max(0, round((self.ended - self.at) / timedelta(milliseconds=1)))

    def line(self, markup: Markup) -> str:
        counted = gettext_noop("{name}: {milliseconds}, {tokens_in} tokens in, {tokens_out} out")
        return self.told(markup, "{name}: {milliseconds}" if self.tokens_in is None else counted)


class Trace(Result):
    row: InboxRow
    text: str
    answer: str
    agent: str
    state: str
    turn: TurnId | None
    stages: tuple[StageRow, ...]

    def lines(self, markup: Markup) -> list[str]:
        told = [self.row.line(markup), markup.text(self.text), *(f"- {each.line(markup)}" for each in self.stages)]
        return [*told, markup.text(self.answer)] if self.answer else told


def _trace(rows: Rows, row: InRow, scope: Scope, now: datetime) -> Trace:
    held = messages.by_ids(rows, [row.message] if row.message else [], scope)
    stages, answer, agent, state = [], "", "", str(row.status)
    turn = next(iter(telemetry.with_parts(rows, row.turn)), None) if row.turn else None
    if turn is None:
        stages.append(StageRow(kind="queue", name=_("Waiting"), at=row.received_at, ended=now))
    else:
        begun = from_text(turn["started_at"])
        stages.append(StageRow(kind="queue", name=_("Queued"), at=row.received_at, ended=max(begun, row.received_at)))
        stages += turn_stages(rows, TurnId(turn["id"]), now, scope)
        said = [each for each in messages.of_batch(rows, TurnId(row.turn or 0), scope) if each.role == "assistant"]
        answer = "\n\n".join(each.text for each in said if each.text)
        agent, state = turn["agent"], turn["status"]
    text = held[0].text if held else _(_HIDDEN)
    shown = InboxRow.of(rows, row, scope)
    return Trace(row=shown, text=text, answer=answer, agent=agent, state=state, turn=row.turn, stages=tuple(stages))


def turn_stages(rows: Rows, turn: TurnId, now: datetime, scope: Scope) -> list[StageRow]:
    """The stages of a turn and its members' turns, in order, and the delivery of the answers."""
    whole, *parts = telemetry.with_parts(rows, turn)
    found = [stage for each in (whole, *parts) for stage in _steps(rows, each, now, scope)]
    found.sort(key=lambda stage: stage.ended)
    ended = from_text(whole["ended_at"]) if whole["ended_at"] else now
    last = max((stage.ended for stage in found), default=from_text(whole["started_at"]))
    stored = StageRow(kind="commit", name=_("Stored"), at=min(last, ended), ended=ended)
    return [*found, stored, *_deliveries(rows, turn, now, scope)]


def _steps(rows: Rows, turn: StoredRow, now: datetime, scope: Scope) -> list[StageRow]:
    """Model calls, approvals and tool calls in order; a call lasts from the previous step until it was stored."""
    batch, thoughts = messages.of_batch(rows, turn["id"], scope), messages.reasoning(rows, turn["id"], scope)
    found = list[StageRow]()
    for row in telemetry.model_calls(rows, turn["id"]):
        at = from_text(row["at"])
        more = {"tokens_in": row["input_tokens"], "tokens_out": row["output_tokens"], "cost_usd": row["cost_usd"]}
        read = row["cache_read_tokens"]
        cached = ngettext("{count} token from the cache", "{count} tokens from the cache", read) if read else ""
        if (thought := thoughts.get(row["at"])) is not None:
            more |= {"reasoning": thought.reasoning, "context": sections(thought.sizes, row["input_tokens"])}
        found.append(StageRow(kind="model", name=row["model"], at=at, ended=at, detail=cached, **more))
    for row in telemetry.approvals(rows, turn["id"]):
        until = row["decided_at"] or (to_text(now) if row["status"] == "waiting" else row["expires_at"])
        name = _("Approval ({state})", state=_(row["status"]))
        found.append(StageRow(kind="approval", name=name, at=from_text(row["created_at"]), ended=from_text(until)))
    for row in telemetry.tool_calls(rows, turn["id"]):
        at = from_text(row["at"])
        held = [each.tool_args or each.text for each in batch if row["call"] == each.tool_call_id]
        detail = "\n\n".join(filter(None, held)) if held else _(_HIDDEN)
        found.append(StageRow(kind="tool", name=row["tool"], at=at, ended=at, detail=detail))
    stages, before = list[StageRow](), from_text(turn["started_at"])
    for stage in sorted(found, key=lambda each: each.ended):
        begun = stage.at if stage.kind == "approval" else min(before, stage.at)
        stages.append(stage.model_copy(update={"at": begun, "agent": turn["agent"]}))
        before = stage.ended
    return stages


def _deliveries(rows: Rows, turn: TurnId, now: datetime, scope: Scope) -> list[StageRow]:
    found = []
    for row in telemetry.deliveries(rows, turn):
        ended = from_text(row["sent_at"]) if row["sent_at"] else now if row["status"] == "pending" else None
        at = from_text(row["created_at"])
        status = _(_DELIVERIES.get(row["status"], row["status"]))
        name = _("Delivery via {source} ({status})", source=source_name(row["source"]), status=status)
        detail = shown_error(row["last_error"] or "", row["audience"], scope)
        found.append(StageRow(kind="delivery", name=name, at=at, ended=ended or at, detail=detail))
    return found
