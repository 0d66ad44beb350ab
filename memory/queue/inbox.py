"""Events from outside, as rows, each handled exactly once.

`accept` is one unit of work: it records the place and its cursor, refuses what was accepted before, and applies the
event to the transcript. An edit or deletion therefore takes effect in the order of arrival, whatever turn is running;
the turn notices when it next reads the store. A row that needs an answer stays `received` until a turn claims it; the
transaction that writes the answer sets it to `done`.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from memory.people import hidden_people
from memory.people.audience import Audience, Scope, Trust
from memory.queue import erasure_follow_ups, message_files, messages, payloads
from memory.queue.messages import Message
from memory.queue.notifications import Kind, Notification, Place
from memory.queue.payloads import PAYLOAD, Extras, Payload, about
from memory.store.clock import from_text
from memory.store.database import Rows, Tx, Value
from memory.store.ids import AgentId, GroupId, InboxId, MessageId, PersonId, PlaceId, TurnId, place_person, snowflakes
from memory.store.records import replace
from memory.store.row_mapper import RowMapper, UnreadableRow, json_rows
from texts import gettext_noop, unpacked

OVER_LIMIT = gettext_noop("over the rate limit")
"""Why a row waits: the rate limit."""
NOBODY = gettext_noop("nobody in the group answers")
"""Why a row was given up: no agent of the group is active."""
DISCARDED = gettext_noop("discarded")
"""Why a given-up row is done: somebody decided that it needs no answer."""


class Status(StrEnum):
    RECEIVED = "received"
    CLAIMED = "claimed"
    DONE = "done"
    DEAD = "dead"


class AcceptedRow(Struct, frozen=True):
    """The result of accepting a notification. `turn` is the running turn whose input it changed, if any."""

    id: InboxId
    place: PlaceId
    group: GroupId | None
    turn: TurnId | None = None


class InRow(Struct, frozen=True):
    id: InboxId
    source: str
    external_id: str
    kind: str
    place: PlaceId
    person: PersonId | None
    group: GroupId | None
    message: MessageId | None
    payload: Payload | UnreadableRow
    audience: Audience
    status: Status
    alone: bool
    attempts: int
    next_attempt_at: datetime | None
    last_error: str
    turn: TurnId | None
    received_at: datetime
    ran: bool = False
    """Whether the last attempt reached a model call or a tool call."""
    starts: int = 0
    """How many attempts in a row ended with the process before that."""

    @property
    def over(self) -> bool:
        """Whether nothing works on it any more: it is done or given up."""
        return self.status in (Status.DONE, Status.DEAD)

    @property
    def origin(self) -> MessageId | None:
        """The message that caused this row: its own, or the one that an event is about."""
        return about(self.payload) or self.message


def accept(tx: Tx, heard: Notification, group: GroupId | None, now: datetime) -> AcceptedRow | None:
    """Accept a notification; None if it was accepted before, or is about a message that was never heard.

    `group` answers it, or stores again what an edit removes. The commit of this must be durable.
    """
    about_other = heard.kind in (Kind.EDIT, Kind.DELETE)
    old = messages.by_external(tx, heard.source, heard.subject) if about_other else None
    if about_other and old is None:
        return None
    if not about_other:  # a deletion may carry less about its place than the message did
        note_place(tx, heard, now)
    identifier, message = InboxId(snowflakes.next()), MessageId(snowflakes.next())
    waiting = group is not None and not about_other
    values: dict[str, Value] = {
        "id": identifier,
        "source": heard.source,
        "external_id": heard.external_id,
        "kind": heard.kind,
        "place_id": heard.place.id,
        "person_id": heard.person,
        "group_id": group if waiting else None,
        "message_id": None if about_other else message,
        "payload": PAYLOAD.dump(heard.extras if waiting else Extras()),
        "audience": heard.place.audience,
        "status": Status.RECEIVED if waiting else Status.DONE,
        "alone": int(heard.alone),
        "received_at": now,
        "done_at": None if waiting else now,
    }
    if not tx.insert("inbox", values, ignore=True):
        return None
    turn = None
    if old is None:
        _apply(tx, heard, (identifier, message), now)
    elif heard.kind == Kind.EDIT:
        turn = _apply_edit(tx, heard, old, group)
    else:
        turn = _apply_delete(tx, heard, old, now)
    return AcceptedRow(identifier, heard.place.id, group if waiting else None, turn)


def _apply(tx: Tx, heard: Notification, stored: tuple[InboxId, MessageId], now: datetime) -> None:
    who = heard.speaker
    if who is not None and who.unshown is not None:
        hidden_people.note(tx, who.id, hidden_people.HiddenReason.LABEL, now, holds=who.unshown)
    identifier, new = stored
    said = messages.NewMessage(
        place=heard.place.id, person=heard.person, speaker=who.name if who else "", text=heard.text,
        source=heard.source, external_id=heard.external_id, audience=heard.place.audience,
        trust=heard.trust, at=heard.at,
    )  # fmt: skip
    message = messages.add(tx, said, new)
    if heard.keeps_files:
        message_files.add(tx, message, heard.extras.attachments, heard.place.audience)
    if message != new:  # otherwise it was known already
        tx.run("UPDATE inbox SET message_id = ? WHERE id = ?", (message, identifier))


def _apply_edit(tx: Tx, heard: Notification, old: Message, group: GroupId | None) -> TurnId | None:
    """Edit the message itself; returns the running turn whose input it changed. The rest follows later."""
    learners = erasure_follow_ups.learners(tx, old.id)
    if not messages.edit(tx, old, heard.text, heard.at):
        return None
    running = _running_turn(tx, old.id)
    ask = None
    if running is None and group is not None:  # a running turn sees the edit itself
        within = heard.place.within if heard.place.audience == old.audience else ()
        ask = erasure_follow_ups.Ask(group, f"{heard.source}/{heard.external_id}", within)
    erasure_follow_ups.queue(tx, old, heard.at, learners, ask)
    return running


def _apply_delete(tx: Tx, heard: Notification, old: Message, now: datetime) -> TurnId | None:
    if not messages.redact(tx, [old.id], heard.at):
        return None
    forget_payload(tx, old.id, now)
    erasure_follow_ups.queue(tx, old, heard.at)
    return _running_turn(tx, old.id)


def forget_payload(tx: Tx, message: MessageId, now: datetime) -> None:
    """Erase the payload of a message that was taken back; a row that no turn has claimed is not answered."""
    sql = """UPDATE inbox SET payload = '{}', status = iif(status = 'received', 'done', status),
             done_at = iif(status = 'received', ?, done_at) WHERE message_id = ?"""
    tx.run(sql, (now, message))


def _running_turn(rows: Rows, message: MessageId) -> TurnId | None:
    return rows.value("SELECT turn_id FROM inbox WHERE message_id = ? AND status = 'claimed'", (message,), TurnId)


def note_place(tx: Tx, heard: Notification, now: datetime) -> None:
    """Record only the place of an event and how far it was read."""
    sql = """INSERT INTO places (id, source, kind, name, audience, within, bindings, cursor, heard_at)
        VALUES (:id, :source, :kind, :name, :audience, :within, :bindings, nullif(:cursor, ''), :now)
        ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, audience = excluded.audience, within = excluded.within,
          bindings = excluded.bindings, heard_at = excluded.heard_at,
          name = iif(excluded.name = '', name, excluded.name),
          cursor = CASE WHEN excluded.cursor IS NULL THEN cursor
            WHEN cursor IS NULL OR length(excluded.cursor) > length(cursor) THEN excluded.cursor
            WHEN length(excluded.cursor) = length(cursor) THEN max(cursor, excluded.cursor) ELSE cursor END"""
    place = heard.place
    if place.kind == "direct":
        place = replace(place, bindings=())  # they identify the person
    tx.run(sql, {**_place.values(place), "source": heard.source, "cursor": heard.position, "now": now})


def cursors(rows: Rows, source: str) -> dict[PlaceId, str]:
    """How far each place of a source has been read: the newest accepted external message id."""
    sql = "SELECT id, cursor FROM places WHERE source = ? AND cursor IS NOT NULL"
    return {PlaceId(row["id"]): row["cursor"] for row in rows.all(sql, (source,))}


def place(rows: Rows, identifier: PlaceId) -> Place | None:
    return _place.first(rows, "SELECT * FROM places WHERE id = ?", (identifier,))


def place_within(rows: Rows, identifier: PlaceId, scope: Scope) -> Place | None:
    """The same, without a name that the scope may not know: a channel can be renamed after it became private."""
    found = place(rows, identifier)
    return found if found is None or scope.may_use(found.audience) else replace(found, name="")


def conversation_place(rows: Rows, place: PlaceId) -> PlaceId:
    """The place itself or, if it names a person, the one of their latest direct message."""
    sql = """SELECT p.id FROM places p WHERE p.kind = 'direct' AND EXISTS (SELECT 1 FROM messages m
             WHERE m.place_id = p.id AND m.person_id = ? AND m.role = 'user') ORDER BY p.heard_at DESC LIMIT 1"""
    person = place_person(place)
    return PlaceId((rows.value(sql, (person,), str) if person else None) or place)


def known_places(rows: Rows, scope: Scope, limit: int = 500) -> list[Place]:
    """The places that the scope may know, the most recently active first."""
    sql = "SELECT * FROM places WHERE KNOWN(audience) ORDER BY heard_at DESC LIMIT +?"
    return _place.all(rows, *scope.bind(sql, limit))


def open_conversations(rows: Rows) -> list[tuple[PlaceId, GroupId]]:
    """Places and groups with rows that wait for an answer."""
    sql = """SELECT DISTINCT place_id, group_id FROM inbox
             WHERE status IN ('received', 'claimed') AND group_id IS NOT NULL"""
    return [(PlaceId(row["place_id"]), GroupId(row["group_id"])) for row in rows.all(sql)]


def oldest(rows: Rows, place_id: PlaceId, group: GroupId, now: datetime) -> list[InRow]:
    """The oldest waiting rows of a conversation; at most two, since usually there is one.

    Messages between agents wait until people are answered. A postponed row blocks nothing until it is due.
    """
    sql = """SELECT * FROM inbox WHERE place_id = ? AND group_id = ? AND status IN ('received', 'claimed')
             ORDER BY iif(status = 'received' AND next_attempt_at > ?, next_attempt_at, ''),
               status = 'received' AND source IN ('task', 'agent', 'sleeptime'), id LIMIT 2"""
    return _row.all(rows, sql, (place_id, group, now))


def is_waiting(rows: Rows, place_id: PlaceId) -> bool:
    """Whether anything in a place waits for an answer, or is being answered."""
    sql = "SELECT 1 FROM inbox WHERE place_id = ? AND status IN ('received', 'claimed') LIMIT 1"
    return rows.one(sql, (place_id,)) is not None


def put_off(tx: Tx, identifier: InboxId, until: datetime, why: str = "") -> None:
    """Postpone a row for a reason that is not its fault."""
    sql = "UPDATE inbox SET next_attempt_at = ?, last_error = coalesce(nullif(?, ''), last_error) WHERE id = ?"
    tx.run(sql, (until, why, identifier))


def joinable(rows: Rows, first: InRow) -> list[InRow]:
    """Unclaimed messages after `first` by the same speaker to the same hearers in its conversation, in order."""
    return _beside(rows, first, "alone = 0 AND id > :first", 50)


def unclaimed(rows: Rows, first: InRow) -> list[InRow]:
    """A row and those that are answered with it, in order; empty if it is claimed or gone."""
    found = _beside(rows, first, "(id = :first OR (alone = 0 AND id > :first))", 1 if first.alone else 51)
    return found if found and found[0].id == first.id else []


def _beside(rows: Rows, first: InRow, which: str, most: int) -> list[InRow]:
    sql = f"""SELECT * FROM inbox WHERE place_id = :place AND group_id = :group AND person_id IS :person
              AND audience = :audience AND status = 'received' AND status IN ('received', 'claimed') AND {which}
              ORDER BY id LIMIT +:most"""  # the partial index needs both conditions
    who = {"place": first.place, "group": first.group, "person": first.person, "audience": first.audience}
    return _row.all(rows, sql, {**who, "first": first.id, "most": most})


def claim(tx: Tx, rows: list[InRow], turn: TurnId) -> None:
    for row in rows:
        sql = "UPDATE inbox SET status = 'claimed', turn_id = ?, last_error = nullif(last_error, ?) WHERE id = ?"
        tx.run(sql, (turn, OVER_LIMIT, row.id))


def of_turn(rows: Rows, turn: TurnId) -> list[InRow]:
    """The rows that a turn has claimed, in order."""
    return _row.all(rows, "SELECT * FROM inbox WHERE turn_id = ? ORDER BY id", (turn,))


def finish(tx: Tx, turn: TurnId, now: datetime) -> None:
    """Mark every row of a turn as done, and erase the payloads, such as quotes of others."""
    sql = """UPDATE inbox SET status = 'done', done_at = ?, payload = '{}' WHERE turn_id = ? AND status = 'claimed'
             RETURNING source"""
    if any(row["source"] == "api" for row in tx.all(sql, (now, turn))):
        message_files.forget_of_programs(tx, turn)


def set_aside(tx: Tx, rows: list[InRow], why: str, now: datetime) -> None:
    """Close rows that nobody will answer; their messages stay in the transcript."""
    sql = "UPDATE inbox SET status = 'done', done_at = ?, last_error = ?, payload = '{}' WHERE id = ?"
    for row in rows:
        tx.run(sql, (now, why, row.id))
        if row.source == "api" and row.turn is not None:
            message_files.forget_of_programs(tx, row.turn)


def revive(tx: Tx, identifier: InboxId) -> InRow | None:
    """Retry a dead row from the beginning; None if it is not dead or its text is gone."""
    sql = """UPDATE inbox SET status = 'received', attempts = 0, ran = 0, starts = 0, alone = 1, turn_id = NULL,
             next_attempt_at = NULL, done_at = NULL WHERE id = ? AND status = 'dead' AND group_id IS NOT NULL"""
    return get(tx, identifier) if tx.run(sql, (identifier,)) else None


def given_up(rows: Rows, persons: Iterable[PersonId], limit: int) -> list[InRow]:
    """The given-up rows of a person's accounts, newest first."""
    sql = """SELECT * FROM inbox WHERE status = 'dead' AND person_id IN (SELECT value FROM json_each(?))
             ORDER BY id DESC LIMIT +?"""
    return _row.all(rows, sql, (list(persons), limit))


def waiting_messages(rows: Rows, place_id: PlaceId) -> set[MessageId]:
    """Messages of a place that wait for a turn or are part of an unfinished one."""
    sql = """SELECT message_id FROM inbox WHERE place_id = ? AND status IN ('received', 'claimed')
             AND message_id IS NOT NULL"""
    return {MessageId(message) for (message,) in json_rows(rows, "message_id", sql, (place_id,))}


def get(rows: Rows, identifier: InboxId) -> InRow | None:
    """One row, for the command `carina inbox show`."""
    return _row.first(rows, "SELECT * FROM inbox WHERE id = ?", (identifier,))


def of_messages(rows: Rows, said: Iterable[MessageId]) -> dict[MessageId, InboxId]:
    """The row with which each message arrived or, for an answer, the first row of its turn; numbers only."""
    sql = """SELECT m.id AS message, coalesce((SELECT min(id) FROM inbox WHERE message_id = m.id),
                 (SELECT min(id) FROM inbox WHERE turn_id = m.batch_id)) AS row
             FROM messages m WHERE m.id IN (SELECT value FROM json_each(?)) AND row IS NOT NULL"""
    return {MessageId(message): InboxId(row) for message, row in rows.all(sql, (list(said),))}


def by_external(rows: Rows, source: str, external_id: str) -> InRow | None:
    """The row with that id at its source, for a caller that waits for its result."""
    return _row.first(rows, "SELECT * FROM inbox WHERE source = ? AND external_id = ?", (source, external_id))


def listing(rows: Rows, status: Status | None, limit: int, before: int | None = None) -> list[InRow]:
    """The newest rows, or those before one, for the command `carina inbox list`; numbers and states, no text."""
    sql = """SELECT * FROM inbox WHERE (:status IS NULL OR status = :status) AND id < coalesce(:before, id + 1)
             ORDER BY id DESC LIMIT +:limit"""
    return _row.all(rows, sql, {"status": status, "limit": limit, "before": before})


def counts(rows: Rows) -> dict[str, int]:
    """How many rows wait, and how many were given up."""
    waiting = rows.number("SELECT count(*) FROM inbox WHERE status IN ('received', 'claimed')")
    return {"waiting": waiting, "dead": rows.number("SELECT count(*) FROM inbox WHERE status = 'dead'")}


_place = RowMapper(Place)
_row = RowMapper(
    InRow, payload=lambda row: payloads.read(row["payload"]), last_error=lambda row: unpacked(row["last_error"] or "")
)


# ---------------------------------------------------------------------------------------------------------- what waits


_SQL = """SELECT min(at) AS at FROM (
    SELECT min(coalesce(next_attempt_at, received_at)) AS at FROM inbox WHERE status IN ('received', 'claimed')
    UNION ALL SELECT min(coalesce(next_attempt_at, created_at)) FROM outbox WHERE status IN ('pending', 'sending')
    UNION ALL SELECT min(next_attempt_at) FROM follow_ups
    UNION ALL SELECT min(expires_at) FROM permission_requests WHERE status = 'waiting'
)"""


def earliest(rows: Rows) -> datetime | None:
    """When the next thing is due: a message, an outbox row, an edit, or the expiry of a request."""
    return rows.value(_SQL, (), from_text)


# ---------------------------------------------------------------------------------------- events of the service itself


class Event(Struct, frozen=True):
    """An event inside the service that an agent should act on in a place, such as a decision.

    `source` and `external_id` make it unique. `hearers` and `trust` come from what it belongs to.
    """

    source: str
    external_id: str
    place: PlaceId
    person: PersonId | None
    group: GroupId
    text: str
    hearers: Scope
    trust: Trust
    payload: payloads.Event
    by: tuple[AgentId | None, str] | None = None
    """The agent that wrote the text, with its name; None for a text of the service itself."""


def add_event(tx: Tx, event: Event, now: datetime) -> InboxId | None:
    """Queue an event after what waits in its place, for a turn of its own; None if it was queued before."""
    identifier = InboxId(snowflakes.next())
    values: dict[str, Value] = {
        "id": identifier,
        "source": event.source,
        "external_id": event.external_id,
        "kind": "event",
        "place_id": event.place,
        "person_id": event.person,
        "group_id": event.group,
        "payload": payloads.PAYLOAD.dump(event.payload),
        "audience": event.hearers.audience,
        "status": Status.RECEIVED,
        "alone": 1,
        "about_id": payloads.about(event.payload),
        "received_at": now,
    }
    if not tx.insert("inbox", values, ignore=True):
        return None
    told = messages.NewMessage(
        place=event.place,
        person=None,
        speaker="" if event.by is None else event.by[1],
        text=event.text,
        source=event.source,
        external_id=event.external_id,
        audience=event.hearers.audience,
        trust=event.trust,
        at=now,
        role="system",
        agent=None if event.by is None else event.by[0],
    )
    tx.run("UPDATE inbox SET message_id = ? WHERE id = ?", (messages.add(tx, told), identifier))
    return identifier
