"""Undelivered messages: shown to the owner, sent again on command, or dropped."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, ClassVar

from msgspec import Struct
from pydantic import Field

from bot.agents.permissions.roles_and_rights import Action
from bot.errors import UserError
from bot.services.caller import Caller
from bot.services.registry import ASKS, Param, operation, suggestions
from bot.services.results import Entry, Listing, Markup, Row
from bot.services.system.inbox import shown_error
from memory.people.audience import OWNER, Scope
from memory.people.identities import place_named
from memory.queue import outbox
from memory.queue.outbox import OutRow, Status, Undelivered
from memory.store.database import Database, Rows, Tx
from memory.store.ids import OutboxId
from memory.store.row_mapper import ending
from sources.names import place_title
from sources.text import one_line
from texts import _, gettext_noop, ngettext

_MOST = 1_000
_SHOWN = 200  # length of a row's text
_KINDS = {"turn": "answer", "tool": "message", "notice": "notice"}
"""The kind of a row, by the prefix of its key; all others are notices of the service to a person."""

_NAMES = {
    "answer": gettext_noop("Answer"),
    "message": gettext_noop("Message"),
    "notice": gettext_noop("Notice"),
    "service": gettext_noop("Service message"),
}
_STATES = {
    "failed": gettext_noop("not delivered"),
    "unknown": gettext_noop("perhaps delivered"),
    "pending": gettext_noop("not delivered yet"),
}

MAY_REPEAT = gettext_noop(
    "I don't know whether this was delivered. I'll look for it there first. If that isn't possible, I'll send "
    "it again, and it may appear twice."
)


_Limit = Annotated[int, Field(ge=1, le=_MOST), Param("Maximum number to show, newest first", metavar="ROWS")]
_Row = Annotated[str, Param("Message, as listed", example="1", metavar="NUMBER", suggests="undelivered")]


class UndeliveredRow(Row):
    """An undelivered item, with the later parts of the same answer."""

    id: str
    status: str
    what: str
    place: str
    made: datetime = Field(validation_alias="created_at")
    pieces: int
    next: datetime | None
    """The next automatic try."""
    reason: str
    text: str
    suggested = "brief"

    @property
    def brief(self) -> str:
        return _("{what} in {place}: {text}", what=_(_NAMES[self.what]), place=self.place, text=self.text)

    def line(self, markup: Markup) -> str:
        more = ", " + ngettext("{count} piece", "{count} pieces", self.pieces) if self.pieces > 1 else ""
        told = {"what": _(_NAMES[self.what]), "more": more, "status": _(_STATES.get(self.status, self.status))}
        head = self.told(markup, gettext_noop("{what} in {place}{more}, {status}: {reason}"), **told)
        again = self.told(markup, gettext_noop("; next attempt {next}")) if self.next else ""
        return f"{head}{again}{markup.number(self.id)}\n> {markup.text(self.text)}"


class Outbox(Struct, frozen=True):
    """Undelivered messages of one constellation. `announce` sends queued messages."""

    titles: ClassVar = {"outbox": "Manage undelivered messages"}

    database: Database
    announce: Callable[[], None]

    @operation("outbox.list", "List undelivered messages and why", Action.OUTBOX)
    @suggestions("undelivered")
    def list_rows(self, rows: Rows, _caller: Caller, limit: _Limit = 20) -> Listing[UndeliveredRow]:
        found = (_line(rows, each) for each in outbox.list_undelivered(rows, limit))
        return Listing.of(found, _("There are no undelivered messages."))

    @operation("outbox.retry", "Send a message again", Action.OUTBOX, ASKS)
    def retry(self, tx: Tx, caller: Caller, row: _Row) -> Entry[UndeliveredRow]:
        """Send an item again, with the later parts of its answer; if it may have been delivered, only when the caller
        is sure."""
        found = _found(tx, row)
        if found.row.status is Status.UNKNOWN:
            caller.confirm(_(MAY_REPEAT))
        shown = _line(tx, found)
        outbox.retry(tx, found)
        return Entry(done=_("Will be sent again, now or when the service next starts"), row=shown)

    @operation("outbox.drop", "Discard an undelivered message", Action.OUTBOX)
    def drop(self, tx: Tx, _caller: Caller, row: _Row) -> Entry[UndeliveredRow]:
        found = _found(tx, row)
        shown = _line(tx, found)
        outbox.drop(tx, found)
        return Entry(done=_("Discarded"), row=shown)


def _found(rows: Rows, which: str) -> Undelivered:
    if (found := outbox.undelivered(rows, OutboxId(ending(rows, "outbox", which)))) is None:
        raise UserError("There is no undelivered message “{which}”. `carina outbox list` shows them.", which=which)
    return found


def _line(rows: Rows, found: Undelivered) -> UndeliveredRow:
    row = found.row
    return UndeliveredRow.from_record(
        row,
        what=_KINDS.get(row.key.partition("/")[0], "service"),
        place=place_title(place_named(rows, row.place, Scope(OWNER))),
        pieces=1 + len(found.held),
        next=row.next_attempt_at if row.status is Status.PENDING else None,
        reason=shown_error(row.last_error, row.audience, Scope(OWNER)),
        text=_text(row),
    )


def _text(row: OutRow) -> str:
    if not Scope(OWNER).may_use(row.audience):
        return _("(you cannot read it)")
    return one_line(row.content, _SHOWN)
