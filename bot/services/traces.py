"""The whole way of a message: heard, queued, answered step by step, delivered; and how many there were each day."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from bot.agents.permissions.policy import Action
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.inbox import InboxRow, OneRow, find_message, shown_error
from bot.services.parameters import Arguments, Param
from bot.services.registry import Options, operation
from bot.services.results import Ink, Listing, Result, Row
from memory.people.audience import Scope
from memory.queue import messages, metrics
from memory.queue.inbox import InRow
from memory.store.clock import Clock, from_text
from memory.store.database import Database, Rows
from memory.store.ids import TurnId
from texts import _, gettext_noop, ngettext

_HIDDEN = gettext_noop("(you cannot read it, or it is gone)")
_LOOKS = Options(via=TERMINAL_ONLY)


class Days(Arguments):
    days: Annotated[int, Field(ge=1, le=366), Param("How many days")] = 7


class DayRow(Row):
    """A day (UTC): what was heard, what was answered, and what it cost where the price is known."""

    day: str
    heard: int
    answered: int
    cost_usd: float

    def line(self, ink: Ink) -> str:
        text = gettext_noop("{day}: {heard} heard, {answered} answered, ${cost}")
        return self.told(ink, text, cost=f"{self.cost_usd:.2f}")


class StageRow(Row):
    """One stage: what it was, when it began and ended, and what is known of it."""

    kind: str
    """"queue", "model", "tool", "commit" or "delivery"."""
    name: str
    at: datetime
    ended: datetime
    detail: str = ""
    """Words of the stage, as far as the caller may read them: a tool's arguments and result."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None

    @property
    def milliseconds(self) -> int:
        """How long it took."""
        return max(0, round((self.ended - self.at) / timedelta(milliseconds=1)))

    def line(self, ink: Ink) -> str:
        counted = gettext_noop("{name}: {milliseconds}, {tokens_in} tokens in, {tokens_out} out")
        return self.told(ink, "{name}: {milliseconds}" if self.tokens_in is None else counted)


class Trace(Result):
    """What became of one message."""

    row: InboxRow
    text: str
    answer: str
    agent: str
    state: str
    stages: tuple[StageRow, ...]

    def lines(self, ink: Ink) -> list[str]:
        told = [self.row.line(ink), ink.text(self.text), *(f"- {each.line(ink)}" for each in self.stages)]
        return [*told, ink.text(self.answer)] if self.answer else told


@dataclass(frozen=True)
class Traces:
    """The messages of one constellation."""

    database: Database
    clock: Clock

    @operation("inbox.days", "Show how many messages there were each day", Action.INBOX, _LOOKS)
    async def show_days(self, _caller: Caller, arguments: Days) -> Listing[DayRow]:
        """The oldest first, also days without any."""
        today = self.clock().date()
        days = [(today - timedelta(days=back)).isoformat() for back in reversed(range(arguments.days))]

        def read(rows: Rows) -> Listing[DayRow]:
            heard, answered, cost = metrics.by_day(rows, days[0])
            found = [
                DayRow(day=day, heard=heard.get(day, 0), answered=answered.get(day, 0), cost_usd=cost.get(day, 0))
                for day in days
            ]
            return Listing(rows=tuple(found), empty="")

        return await self.database.read(read)

    @operation("inbox.trace", "Show the whole way of one message, step by step", Action.INBOX, _LOOKS)
    async def trace(self, caller: Caller, arguments: OneRow) -> Trace:
        """With the words of its steps as far as the caller may read them."""

        def read(rows: Rows) -> Trace:
            return _trace(rows, find_message(rows, arguments.row, caller), caller.scope, self.clock())

        return await self.database.read(read)


def _trace(rows: Rows, row: InRow, scope: Scope, now: datetime) -> Trace:
    held = messages.by_ids(rows, [row.message] if row.message else [], scope)
    turn = None if row.turn is None else rows.one("SELECT * FROM turns WHERE id = ?", (row.turn,))
    stages, answer, agent, state = [], "", "", str(row.status)
    if turn is None:
        stages.append(StageRow(kind="queue", name=_("Waits"), at=row.received_at, ended=now))
    else:
        begun = from_text(turn["started_at"])
        ended = from_text(turn["ended_at"]) if turn["ended_at"] else None
        stages.append(StageRow(kind="queue", name=_("Queued"), at=row.received_at, ended=max(begun, row.received_at)))
        stages += _steps(rows, TurnId(row.turn or 0), begun, ended or now, scope)
        stages += _deliveries(rows, TurnId(row.turn or 0), now, scope)
        said = [each for each in messages.of_batch(rows, TurnId(row.turn or 0), scope) if each.role == "assistant"]
        answer = "\n\n".join(each.text for each in said if each.text)
        named = rows.one("SELECT name FROM agents WHERE id = ?", (turn["agent_id"],))
        agent, state = (named["name"] if named else ""), turn["status"]
    text = held[0].text if held else _(_HIDDEN)
    return Trace(
        row=InboxRow.of(rows, row, scope), text=text, answer=answer, agent=agent, state=state, stages=tuple(stages)
    )


def _steps(rows: Rows, turn: TurnId, begun: datetime, ended: datetime, scope: Scope) -> list[StageRow]:
    """Model calls and tool calls in order; each lasts from the one before it to when it was written down."""
    calls = rows.all(
        "SELECT * FROM model_usage WHERE turn_id = ? OR turn_id IN (SELECT id FROM turns WHERE parent_id = ?)",
        (turn, turn),
    )
    tools = rows.all(
        "SELECT * FROM activity_events WHERE turn_id = ? AND json_extract(details, '$.tool') IS NOT NULL", (turn,)
    )
    said = {each.tool_name: each for each in messages.of_batch(rows, turn, scope) if each.role == "tool"}
    found: list[tuple[datetime, StageRow]] = []
    for row in calls:
        at = from_text(row["at"])
        more = {"tokens_in": row["input_tokens"], "tokens_out": row["output_tokens"], "cost_usd": row["cost_usd"]}
        read = row["cache_read_tokens"]
        cached = ngettext("{count} token from the cache", "{count} tokens from the cache", read) if read else ""
        found.append((at, StageRow(kind="model", name=row["model"], at=at, ended=at, detail=cached, **more)))
    for row in tools:
        at = from_text(row["at"])
        name = str(json.loads(row["details"]).get("tool", "tool"))
        held = said.get(name)
        detail = "\n\n".join(filter(None, (held.tool_args, held.text))) if held is not None else _(_HIDDEN)
        found.append((at, StageRow(kind="tool", name=name, at=at, ended=at, detail=detail)))
    stages, before = list[StageRow](), begun
    for at, stage in sorted(found, key=lambda each: each[0]):
        stages.append(stage.model_copy(update={"at": min(before, at)}))
        before = at
    return [*stages, StageRow(kind="commit", name=_("Stored"), at=min(before, ended), ended=ended)]


def _deliveries(rows: Rows, turn: TurnId, now: datetime, scope: Scope) -> list[StageRow]:
    sql = "SELECT * FROM outbox WHERE turn_id = ? AND kind = 'text' ORDER BY id"
    found = []
    for row in rows.all(sql, (turn,)):
        ended = from_text(row["sent_at"]) if row["sent_at"] else now if row["status"] == "pending" else None
        at = from_text(row["created_at"])
        name = _("Delivery by {source}: {status}", source=row["source"], status=row["status"])
        detail = shown_error(row["last_error"] or "", row["audience"], scope)
        found.append(StageRow(kind="delivery", name=name, at=at, ended=ended or at, detail=detail))
    return found
