"""What arrived and what became of it: shown to those in charge, and tried again at their word."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar, TypeAlias

from pydantic import Field

from bot.agents.permissions.policy import Action
from bot.errors import UserError
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.named import row_number
from bot.services.parameters import Arguments, Param
from bot.services.registry import Options, Suggestions, operation, suggestions
from bot.services.results import Entry, Ink, Listing, Result, Row, relative
from bot.services.tables import record_lines
from memory.people.audience import Audience, Scope
from memory.people.identities import spot_named
from memory.queue import inbox, messages
from memory.queue.inbox import InRow, Status
from memory.store.clock import Clock
from memory.store.database import Database, Rows
from memory.store.faults import commit_point
from memory.store.ids import GroupId, InboxId, PlaceId, TurnId
from texts import _, gettext_noop

_REVIVE = commit_point("inbox.revive")
_SUGGESTED = 100
_STATES = {
    Status.RECEIVED: gettext_noop("waiting"),
    Status.CLAIMED: gettext_noop("being answered"),
    Status.DONE: gettext_noop("done"),
    Status.DEAD: gettext_noop("failed"),
}

Wake: TypeAlias = Callable[[PlaceId, GroupId], None]


class ListInbox(Arguments):
    dead: Annotated[bool, Param("Show only failed messages")] = False
    limit: Annotated[int, Field(ge=1, le=1_000), Param("Maximum number to show, newest first", metavar="ROWS")] = 20
    before: Annotated[int | None, Field(ge=1), Param("Only those before this number", via=TERMINAL_ONLY)] = None


class OneRow(Arguments):
    row: Annotated[str, Field(min_length=1, max_length=30), Param("Number in the list", suggests="inbox")]


class RetryRow(Arguments):
    row: Annotated[str, Field(min_length=1, max_length=30), Param("Number in the list", suggests="dead")]


def shown_error(error: str, audience: Audience, scope: Scope) -> str:
    """An error as far as somebody may read it: what follows its kind may quote what was said."""
    return error if scope.may_use(audience) else error.partition(":")[0]


class InboxRow(Row):
    """Something that arrived, without its words."""

    id: int
    source: str
    kind: str
    place: str
    place_name: str = Field(exclude=True)
    status: Status
    attempts: int
    last_error: str
    received_at: datetime
    again_at: datetime | None

    @classmethod
    def of(cls, rows: Rows, row: InRow, scope: Scope) -> "InboxRow":
        error = shown_error(row.last_error, row.audience, scope)
        more = {"place_name": spot_named(rows, row.place, scope), "again_at": row.next_attempt_at}
        return cls.from_record(row, last_error=error, **more)

    def line(self, ink: Ink) -> str:
        what, where = self.kind.capitalize(), ink.text(self.place_name) or ink.place(self.place)
        head = self.told(ink, gettext_noop("{what} in {where}, {received_at}"), what=what, where=where)
        error = f": {ink.text(self.last_error)}" if self.last_error else ""
        return f"{head}, {_(_STATES[self.status])}{error}{ink.number(str(self.id))}"

    def cells(self, ink: Ink) -> dict[str, object]:
        return {name: value for name, value in super().cells(ink).items() if name != "place_name"}


class WholeRow(Result):
    """One thing that arrived, with its words as far as the caller may read them."""

    row: InboxRow
    text: str
    turn: TurnId | None

    def lines(self, ink: Ink) -> list[str]:
        return [self.row.line(ink), ink.text(self.text)]

    def data(self) -> dict[str, object]:
        return {**self.row.model_dump(mode="json"), "text": self.text, "turn": self.turn}

    def terminal(self, ink: Ink, width: int | None) -> str:
        del width
        return "\n".join(record_lines({**self.row.cells(ink), "text": self.text, "turn": self.turn}))


@dataclass(frozen=True)
class Inbox:
    """The inbox of one constellation. `wake` is told of a conversation in which something waits again."""

    titles: ClassVar = {"inbox": "Show incoming messages and retry failed ones"}

    database: Database
    wake: Wake
    clock: Clock

    @operation("inbox.list", "List recent messages and their status", Action.INBOX, Options(file_name="inbox.md"))
    async def list_rows(self, caller: Caller, arguments: ListInbox) -> Listing[InboxRow]:
        """The newest first, without words."""
        found = await self._listed(caller, arguments)
        return Listing(
            rows=tuple(found),
            empty=_("There are no failed messages.") if arguments.dead else _("Nothing has arrived yet."),
        )

    @operation("inbox.show", "Show a message and its status", Action.INBOX)
    async def show(self, caller: Caller, arguments: OneRow) -> WholeRow:
        """With its words as far as the caller may read them."""

        def read(rows: Rows) -> WholeRow:
            row = find_message(rows, arguments.row, caller)
            held = messages.by_ids(rows, [row.message] if row.message else [], caller.scope)
            text = held[0].text if held else _("(you cannot read it, or it is gone)")
            return WholeRow(row=InboxRow.of(rows, row, caller.scope), text=text, turn=row.turn)

        return await self.database.read(read)

    @operation("inbox.retry", "Retry a failed message", Action.INBOX, Options(changes=True))
    async def retry(self, caller: Caller, arguments: RetryRow) -> Entry[InboxRow]:
        """By the running service, or the next one."""
        which = (await self.database.read(lambda rows: find_message(rows, arguments.row, caller))).id
        row = await self.database.write(_REVIVE, lambda tx: inbox.revive(tx, which))
        if row is None:
            command = caller.command("inbox list")
            raise UserError(
                _("Message {which} has not failed. {command} shows which have.", which=which, command=command)
            )
        if row.group is not None:
            self.wake(row.place, row.group)
        shown = await self.database.read(lambda rows: InboxRow.of(rows, row, caller.scope))
        return Entry(done=_("Retrying"), row=shown)

    @suggestions("inbox")
    async def suggest(self, caller: Caller) -> Suggestions:
        """The newest."""
        found = await self._listed(caller, ListInbox(limit=_SUGGESTED))
        return [(str(row.id), f"{self._named(row)}: {_(_STATES[row.status])}") for row in found]

    @suggestions("dead")
    async def suggest_dead(self, caller: Caller) -> Suggestions:
        """What was given up."""
        found = await self._listed(caller, ListInbox(dead=True, limit=_SUGGESTED))
        return [(str(row.id), f"{self._named(row)}: {row.last_error}") for row in found]

    def _named(self, row: InboxRow) -> str:
        ago = relative(row.received_at, self.clock())
        return _("{what} in {where}, {ago}", what=row.kind.capitalize(), where=row.place_name or row.place, ago=ago)

    async def _listed(self, caller: Caller, arguments: ListInbox) -> list[InboxRow]:
        wanted = Status.DEAD if arguments.dead else None

        def read(rows: Rows) -> list[InboxRow]:
            return [
                InboxRow.of(rows, row, caller.scope)
                for row in inbox.listing(rows, wanted, arguments.limit, arguments.before)
            ]

        return await self.database.read(read)


def find_message(rows: Rows, which: str, caller: Caller) -> InRow:
    """The one of that number. Raises UserError."""
    if (row := inbox.get(rows, InboxId(row_number(which)))) is None:
        command = caller.command("inbox list")
        raise UserError(_("There is no message {which}. {command} shows them.", which=which[:40], command=command))
    return row
