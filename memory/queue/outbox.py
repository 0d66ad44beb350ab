"""The messages to send, as rows: memory's half of the promise that nothing is sent twice; `bot.runtime.outbox_delivery`
keeps the other.

A row is pending until a delivery picks it up, `sending` (durably) before the first byte leaves, then sent, failed for
good, or unknown when nobody can tell; an unknown row is sent again only if the owner asks for that. A `preview` row is
the message that shows an answer while it is written: it is created before its first send, and is either replaced by the
answer's first row or withdrawn.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar, TypeAlias

from msgspec import Struct
from pydantic import ConfigDict, Field

from memory.people.audience import Audience
from memory.queue import messages
from memory.queue.message_files import File as File
from memory.queue.message_files import Image as Image
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from memory.store.ids import (
    AgentId,
    EntryId,
    InboxId,
    MessageId,
    OutboxId,
    PersonId,
    PlaceId,
    ReminderId,
    RequestId,
    TurnId,
    place_source,
    snowflakes,
)
from memory.store.row_mapper import Codec, RowMapper, UnreadableRow, json_rows, tagged


class Status(StrEnum):
    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    UNKNOWN = "unknown"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class CardButtons:
    request: RequestId
    offers: tuple[str, ...]
    language: str = ""
    """That of the text above them, for their labels; empty in a row of an earlier version."""


@dataclass(frozen=True)
class PressButtons:
    """The buttons under a reminder, an inferred fact, a message that was given up, or a pairing request."""

    kind: str
    id: ReminderId | EntryId | InboxId | PersonId
    offers: tuple[str, ...]
    language: str = ""


class _Detail:
    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class TextDetail(_Detail):
    """Options of a text. `after` and `preview` are keys of the row before it and of the preview that it replaces.

    `behind` is the failed row that holds this one back; `twice`: the owner wants it sent although it may have arrived.
    """

    reply_to: str = ""
    mentions: tuple[PersonId, ...] = ()
    speaker: str = ""
    avatar: str = ""
    preview: str = ""
    after: str = ""
    files: tuple[File, ...] = ()
    press: PressButtons | None = None
    behind: OutboxId | None = None
    twice: bool = False


@dataclass(frozen=True)
class CardDetail(_Detail):
    """An approval card; `others` are fallback places if this one takes no message."""

    card: CardButtons
    others: Annotated[tuple[PlaceId, ...], Field(alias="else")] = ()
    files: tuple[File, ...] = ()


@dataclass(frozen=True)
class EditDetail(_Detail):
    """Change the message of the row with the key `edits` to this text, or delete it (`away`)."""

    edits: str
    buttons: CardButtons | None = None
    away: bool = False


@dataclass(frozen=True)
class ActDetail(_Detail):
    """An action of the account: what, and on what. `earlier` are rows that did the same before."""

    act: str
    target: str = ""
    images: tuple[Image, ...] = ()
    earlier: tuple[OutboxId, ...] = ()
    behind: OutboxId | None = None
    twice: bool = False


Detail: TypeAlias = TextDetail | CardDetail | EditDetail | ActDetail
_DETAIL = Codec[Detail](tagged(TextDetail, edit=EditDetail, card=CardDetail, act=ActDetail))


class NewRow(Struct, frozen=True):
    """A message to send. `key` makes it unique: adding the same key again adds nothing."""

    key: str
    place: PlaceId
    content: str
    audience: Audience
    kind: str = "text"
    turn: TurnId | None = None
    message: MessageId | None = None
    person: PersonId | None = None
    agent: AgentId | None = None
    detail: Detail = TextDetail()

    @classmethod
    def of_turn(cls, turn: Turn, key: str, place: PlaceId, content: str = "") -> "NewRow":
        """What a turn sends to a place, for those who hear the turn."""
        return cls(key, place, content, turn.scope.audience, turn=turn.id, person=turn.person, agent=turn.agent)


class OutRow(Struct, frozen=True):
    id: OutboxId
    key: str
    place: PlaceId
    source: str
    kind: str
    content: str
    detail: Detail | UnreadableRow
    status: Status
    attempts: int
    turn: TurnId | None
    message: MessageId | None
    agent: AgentId | None
    audience: Audience
    external_id: str
    created_at: datetime
    sending_at: datetime | None
    next_attempt_at: datetime | None
    last_error: str


def add(tx: Tx, new: NewRow, now: datetime) -> OutboxId | None:
    """Queue a message; None if a row with that key exists."""
    identifier = OutboxId(snowflakes.next())
    values = {**_new.values(new), "id": identifier, "detail": _DETAIL.dump(new.detail)}
    values |= {"source": place_source(new.place), "status": Status.PENDING, "created_at": now}
    return identifier if tx.insert("outbox", values, ignore=True) else None


def add_edit(tx: Tx, row: OutRow, suffix: str, text: str, now: datetime, *, person: PersonId | None = None) -> None:
    """Queue another text for a row's message, without buttons, or (empty) its deletion; once per suffix."""
    detail = EditDetail(row.key, away=not text)
    add(tx, NewRow(f"{row.key}/{suffix}", row.place, text, row.audience, person=person, detail=detail), now)


_SHOWN = "o.kind = 'preview' AND o.status IN ('sending', 'sent') AND o.status = 'sent'"
"""A visible preview, in the words of its index."""


def for_delivery(rows: Rows, place: PlaceId) -> tuple[list[OutRow], list[OutRow]]:
    """The unsent rows of a place, in order, and the visible previews."""
    sql = f"""SELECT * FROM outbox WHERE place_id = :place AND status IN ('pending', 'sending')
        UNION ALL SELECT * FROM outbox o WHERE place_id = :place AND {_SHOWN} ORDER BY id"""
    found = _row.all(rows, sql, {"place": place})
    return [row for row in found if row.status is not Status.SENT], [row for row in found if row.status is Status.SENT]


# Two halves, as each has an index of its own: the outbox grows without limit.
OPEN = f"""SELECT source, place_id FROM outbox WHERE status IN ('pending', 'sending')
    UNION SELECT source, place_id FROM outbox o WHERE {_SHOWN}"""


def open_places(rows: Rows) -> list[tuple[str, PlaceId]]:
    """Source and id of places with unsent rows, or with a preview that may be left over."""
    return sorted((source, PlaceId(place)) for source, place in json_rows(rows, "source, place_id", OPEN))


def get(rows: Rows, identifier: OutboxId) -> OutRow | None:
    """One row by id, for the delivery that owns it."""
    return _row.first(rows, "SELECT * FROM outbox WHERE id = ?", (identifier,))


def of_key(rows: Rows, key: str) -> OutRow | None:
    """One row by its key, for the turn or notice that created it."""
    return _row.first(rows, "SELECT * FROM outbox WHERE key = ?", (key,))


def of_prefix(rows: Rows, prefix: str) -> list[OutRow]:
    """The rows with that key prefix, for whatever created them."""
    sql = "SELECT * FROM outbox WHERE key >= ? AND key < ? ORDER BY id"
    return _row.all(rows, sql, (prefix, f"{prefix}\U0010ffff"))


def withdraw(tx: Tx, identifier: OutboxId) -> bool:
    """Withdraw a row that is not being sent yet; False if it is."""
    sql = "UPDATE outbox SET status = 'withdrawn', content = '', detail = '{}' WHERE id = ? AND status = 'pending'"
    return tx.run(sql, (identifier,)) == 1


def empty(tx: Tx, identifier: OutboxId) -> None:
    """Erase what a row says, here and in fallbacks; the fact that it was sent stays."""
    sql = "UPDATE outbox SET content = '', detail = json_remove(detail, '$.files', '$.images', '$.else') WHERE id = ?"
    tx.run(sql, (identifier,))


def of_turn(rows: Rows, turn: TurnId) -> list[OutRow]:
    """Everything that one turn has sent or will send, in order."""
    return _row.all(rows, "SELECT * FROM outbox WHERE turn_id = ? ORDER BY id", (turn,))


def files_of_turn(rows: Rows, turn: TurnId, place: PlaceId) -> list[OutRow]:
    """The rows with files of a turn and its members' turns in a place, without those taken back."""
    sql = """SELECT * FROM outbox WHERE (turn_id = :turn OR turn_id IN (
               SELECT turn_id FROM group_parts WHERE run_id = :turn)) AND place_id = :place
             AND status IN ('sending', 'sent') AND iif(json_valid(detail), json_array_length(detail, '$.files'), 0) > 0
             ORDER BY id"""
    return _row.all(rows, sql, {"turn": turn, "place": place})


def said_by_us(rows: Rows, source: str, external_id: str) -> OutRow | None:
    """The row that became that message on the platform."""
    return _row.first(rows, "SELECT * FROM outbox WHERE source = ? AND external_id = ?", (source, external_id))


def answers_to(rows: Rows, source: str, external_id: str) -> list[OutRow]:
    """The pieces of our answer to that message of the platform that were sent."""
    sql = """SELECT * FROM outbox WHERE source = :source AND status = 'sent' AND kind = 'text' AND turn_id IN (
               SELECT turn_id FROM outbox WHERE source = :source AND json_extract(detail, '$.reply_to') = :message)
             AND key GLOB 'turn/*' ORDER BY id"""
    return _row.all(rows, sql, {"source": source, "message": external_id})


def sent_since(rows: Rows, place: PlaceId, since: datetime) -> set[str]:
    """Platform ids of what was certainly sent in a place since then, so that they are not matched to another row."""
    sql = "SELECT external_id FROM outbox WHERE place_id = ? AND external_id IS NOT NULL AND sent_at >= ?"
    return {row["external_id"] for row in rows.all(sql, (place, since))}


def claim(tx: Tx, place: PlaceId, now: datetime) -> tuple[OutRow, bool] | None:
    """Claim the first row of a place for sending; None if it is claimed already, or not due, or there is none. Also
    returns whether a preview is shown there.

    The commit of this must be durable.
    """
    sql = f"""UPDATE outbox SET status = 'sending', attempts = attempts + 1, sending_at = :now
        WHERE id = (SELECT id FROM outbox WHERE place_id = :place AND status IN ('pending', 'sending')
          ORDER BY id LIMIT 1) AND status = 'pending' AND coalesce(next_attempt_at, '') <= :now
        RETURNING *, EXISTS (SELECT 1 FROM outbox o WHERE o.place_id = :place AND {_SHOWN}) AS previews"""
    row = tx.one(sql, {"place": place, "now": now})
    return None if row is None else (_row(row), bool(row["previews"]))


def mark_sending(tx: Tx, identifier: OutboxId, now: datetime) -> OutRow | None:
    """Claim a row for sending; None if it must not be sent any more. The commit of this must be durable."""
    sql = """UPDATE outbox SET status = 'sending', attempts = attempts + 1,
             sending_at = coalesce(sending_at, :now) WHERE id = :id AND status IN ('pending', 'sending') RETURNING *"""
    return _row.first(tx, sql, {"id": identifier, "now": now})


def mark_sent(tx: Tx, identifier: OutboxId, external_id: str, now: datetime) -> bool:
    """A row was sent; returns whether anything else in its place is unsent, or a preview that may be left over.

    That is unknown, so True, if the row was erased meanwhile.
    """
    sql = f"""UPDATE outbox SET status = 'sent', external_id = ?, sent_at = ?, last_error = NULL WHERE id = ?
        RETURNING EXISTS (SELECT 1 FROM outbox o WHERE o.place_id = outbox.place_id AND o.id <> outbox.id
            AND o.status IN ('pending', 'sending'))
          OR EXISTS (SELECT 1 FROM outbox o WHERE o.place_id = outbox.place_id AND {_SHOWN})"""
    return tx.value(sql, (external_id, now, identifier), bool) is not False


def take(tx: Tx, row: OutRow, external_id: str, now: datetime) -> None:
    """A waiting caller received the text directly: unless the row, read in this unit, is being sent, it is sent."""
    if row.status is Status.PENDING:
        mark_sent(tx, row.id, external_id, now)


def drop_images(tx: Tx, identifier: OutboxId) -> None:
    tx.run("UPDATE outbox SET detail = json_remove(detail, '$.images') WHERE id = ?", (identifier,))


def mark_closed(tx: Tx, identifier: OutboxId, status: Status, reason: str) -> None:
    """End a row without success: failed, unknown or withdrawn."""
    tx.run("UPDATE outbox SET status = ?, last_error = ? WHERE id = ?", (status, reason, identifier))


def mark_retry(tx: Tx, identifier: OutboxId, reason: str, again: datetime, *, counted: bool = True) -> None:
    """It was certainly not delivered: pending again, not before `again`. An attempt in an outage is not `counted`."""
    sql = """UPDATE outbox SET status = 'pending', sending_at = NULL, last_error = ?, next_attempt_at = ?,
             attempts = attempts - ? WHERE id = ?"""
    tx.run(sql, (reason, again, 0 if counted else 1, identifier))


def withdraw_pending(tx: Tx, turn: TurnId) -> int:
    """Withdraw the rows of a canceled turn that are not being sent yet."""
    sql = "UPDATE outbox SET status = 'withdrawn', content = '' WHERE turn_id = ? AND status = 'pending'"
    return tx.run(sql, (turn,))


def withdraw_rest(tx: Tx, row: OutRow) -> int:
    """Hold back the unsent pieces of a text after one piece failed; other texts of the turn stay.

    Each keeps its text and records the row that it waits for.
    """
    sql = """UPDATE outbox SET status = 'withdrawn', detail = json_set(detail, '$.behind', :id)
             WHERE turn_id = :turn AND id > :id AND status = 'pending' AND substr(key, 1, length(:text)) = :text"""
    return tx.run(sql, {"id": row.id, "turn": row.turn, "text": f"{row.key.rpartition('/')[0]}/"})


def anything_said(rows: Rows, turn: TurnId) -> bool:
    """Whether an answer of this turn was sent, or may have been. A preview is no answer."""
    sql = """SELECT 1 FROM outbox WHERE turn_id = ? AND kind = 'text'
             AND status IN ('sending', 'sent', 'unknown') LIMIT 1"""
    return rows.one(sql, (turn,)) is not None


def orphan_previews(rows: Rows, place: PlaceId) -> list[OutRow]:
    """Previews in a place whose turn is over and that no answer will replace."""
    sql = """SELECT o.* FROM outbox o JOIN turns t ON t.id = o.turn_id
        WHERE o.place_id = ? AND o.kind = 'preview' AND o.status IN ('sending', 'sent')
          AND t.status NOT IN ('running', 'suspended') AND NOT EXISTS (SELECT 1 FROM outbox x
            WHERE x.turn_id = o.turn_id AND x.kind = 'text' AND x.status IN ('pending', 'sending')) ORDER BY o.id"""
    return _row.all(rows, sql, (place,))


def replace_preview(tx: Tx, preview: OutboxId) -> None:
    """The preview's message now shows the answer and belongs to the answer's row."""
    tx.run("UPDATE outbox SET status = 'withdrawn', content = '', external_id = NULL WHERE id = ?", (preview,))


def restart_sending(tx: Tx, identifier: OutboxId, now: datetime) -> None:
    """The next attempt counts as the first: the message is not there, or may be sent twice, which this uses up.

    The commit of this must be durable.
    """
    sql = """UPDATE outbox SET sending_at = ?, detail = json_remove(detail, '$.twice')
             WHERE id = ? AND status = 'sending'"""
    tx.run(sql, (now, identifier))


def release(tx: Tx, place: PlaceId) -> None:
    """Try at once the rows that wait for the place to be reachable."""
    tx.run("UPDATE outbox SET next_attempt_at = NULL WHERE place_id = ? AND status = 'pending'", (place,))


_FORGET = """WITH gone (id) AS (SELECT value FROM json_each(?))
UPDATE outbox SET content = '', detail = '{}' WHERE status NOT IN ('pending', 'sending')
AND turn_id IN (SELECT batch_id FROM messages WHERE id IN gone AND agent_id IS NOT NULL)
AND (message_id IN gone OR (message_id IS NULL AND kind = 'text' AND key GLOB 'tool/[0-9]*'))"""


def forget(tx: Tx, messages: Iterable[MessageId]) -> int:
    """Erase sent and given-up rows of these messages of ours; unsent ones stay.

    Rows that tools of their turns sent elsewhere, or as files, are erased too.
    """
    return tx.run(_FORGET, (list(messages),))


def count_open(rows: Rows) -> int:
    return rows.number("SELECT count(*) FROM outbox WHERE status IN ('pending', 'sending')")


_row = RowMapper(OutRow, detail=lambda row: _DETAIL.read(row["detail"]))
_new = RowMapper(NewRow, detail=lambda row: _DETAIL.read(row["detail"]))


# --------------------------------------------------------------------------------------------------- what was given up


_TEXT = """kind = 'text' AND (content <> '' OR json_extract(detail, '$.files') IS NOT NULL)
    AND json_extract(detail, '$.card') IS NULL AND json_extract(detail, '$.edits') IS NULL"""
_GIVEN_UP = f"status IN ('failed', 'unknown') AND {_TEXT}"
_LISTED = f"({_GIVEN_UP} OR status = 'pending' AND last_error IS NOT NULL AND {_TEXT})"
_HELD = "turn_id = :turn AND json_extract(detail, '$.behind') = :id"


class Undelivered(Struct, frozen=True):
    """A row that was given up, or failed and is tried again; `held` are the later pieces of its text, which wait."""

    row: OutRow
    held: tuple[OutboxId, ...]


def count_undelivered(rows: Rows) -> dict[str, int]:
    """The number of rows not delivered (`failed`) and of those where nobody can tell (`unknown`)."""
    found = Counter(row["status"] for row in rows.all(f"SELECT status FROM outbox WHERE {_GIVEN_UP}"))
    return {"failed": found[Status.FAILED], "unknown": found[Status.UNKNOWN]}


def list_undelivered(rows: Rows, limit: int) -> list[Undelivered]:
    """The newest undelivered rows, newest first."""
    sql = f"SELECT id FROM outbox WHERE {_LISTED} ORDER BY id DESC LIMIT +?"
    found = (undelivered(rows, OutboxId(row["id"])) for row in rows.all(sql, (limit,)))
    return [each for each in found if each is not None]


def undelivered(rows: Rows, identifier: OutboxId) -> Undelivered | None:
    """One undelivered row; None for any other."""
    row = _row.first(rows, f"SELECT * FROM outbox WHERE id = ? AND {_LISTED}", (identifier,))
    if row is None:
        return None
    sql = f"SELECT id FROM outbox WHERE {_HELD} ORDER BY id"
    held = rows.all(sql, {"turn": row.turn, "id": row.id})
    return Undelivered(row, tuple(OutboxId(each["id"]) for each in held))


def retry(tx: Tx, found: Undelivered) -> None:
    """Queue it again with the pieces that wait for it.

    A failed row is sent again, and one that waits for its next attempt at once. An unknown one becomes `sending` with
    `twice` set: the place's history is checked first, and if that cannot be read, it is sent anyway.
    """
    again = "attempts = 0, next_attempt_at = NULL, last_error = NULL"
    row = found.row
    if row.status is Status.UNKNOWN:
        sql = f"UPDATE outbox SET status = 'sending', detail = json_set(detail, '$.twice', 1), {again} WHERE id = ?"
    else:
        sql = f"UPDATE outbox SET status = 'pending', sending_at = NULL, {again} WHERE id = ?"
    tx.run(sql, (row.id,))
    sql = f"UPDATE outbox SET status = 'pending', detail = json_remove(detail, '$.behind'), {again} WHERE {_HELD}"
    tx.run(sql, {"turn": row.turn, "id": row.id})
    if row.message is not None:
        messages.note_delivery(tx, row.message, "")


def drop(tx: Tx, found: Undelivered) -> None:
    """Erase the text of the row and the pieces that wait for it; the fact that they were given up stays."""
    row, gone = found.row, "UPDATE outbox SET status = 'withdrawn', content = '', detail = '{}'"
    if row.status is Status.PENDING:  # it was not given up before
        withdraw_rest(tx, row)
        if row.message is not None:
            messages.note_delivery(tx, row.message, f"{Status.FAILED}: {row.last_error}")
    tx.run(f"{gone} WHERE {_HELD}", {"turn": row.turn, "id": row.id})
    tx.run(f"{gone} WHERE id = ?", (row.id,))
