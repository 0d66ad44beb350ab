"""The transcript: every message that was heard, and every message, tool call and result of our own.

A row is found by its text (`search_text`), keeps its place in the order when its text is deleted, and is read only
through a scope. Functions that take a `Tx` write; callers combine them in one unit of work.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from memory.people.audience import Audience, Scope, Trust
from memory.people.hidden_people import shown
from memory.store.clock import from_text, to_text
from memory.store.database import Row, Rows, Tx, Value
from memory.store.fulltext import date_words, index_text, storable
from memory.store.ids import AgentId, MessageId, PersonId, PlaceId, TurnId, snowflakes
from memory.store.row_mapper import Codec, RowMapper, json_rows

Role: TypeAlias = Literal["user", "assistant", "tool", "system"]

COLUMNS = """id, place_id, agent_id, person_id, speaker, batch_id, sequence_in_batch, role, content, tool_call_id,
    tool_name, tool_args, source, external_id, source_metadata ->> 'delivery' AS delivery, audience, trust, revision,
    edited_at, deleted_at, is_archived, created_at"""
"""The columns that `to_message` reads, in the order of its fields; without the text for the index."""

_AFTER = 20  # messages shown after one that was looked up

_TRUST = {int(level): level for level in Trust}


class Message(NamedTuple):
    """One stored row. After a deletion `text` is empty and `deleted_at` is set."""

    id: MessageId
    place: PlaceId
    agent: AgentId | None
    person: PersonId | None
    speaker: str
    batch: TurnId | None
    sequence: int | None
    role: Role
    text: str
    tool_call_id: str | None
    tool_name: str | None
    tool_args: str | None
    source: str
    external_id: str | None
    delivery: str
    """Why our answer did not arrive, or may not have; empty otherwise."""
    audience: Audience
    trust: Trust
    revision: int
    edited_at: datetime | None
    deleted_at: datetime | None
    archived: bool
    created_at: datetime


class NewMessage(Struct, frozen=True):
    """A message to store, written at `at`: a person's as it arrived, with its id on the platform, or a row of a turn of
    ours, with its `batch` and its position there: the agent's answer, its tool call, or a tool's result.

    With the role "system" it is an event inside the service, told to the agents in a place; with an `agent`, it is what
    that agent wrote to others. In a turn, `person` is the one whom the turn answers, `source` the source of the place.
    """

    place: PlaceId
    person: PersonId | None
    speaker: str
    text: str
    source: str
    external_id: str | None
    audience: Audience
    trust: Trust
    at: datetime
    role: Role = "user"
    agent: AgentId | None = None
    batch: TurnId | None = None
    sequence: int | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    tool_args: str | None = None
    thought: str = "{}"
    """A `Reasoning` in stored form."""


@dataclass(frozen=True)
class Reasoning:
    """A model's reasoning before its answer at `at`, and the number of characters of each part of its prompt."""

    at: datetime
    reasoning: str
    sizes: Mapping[str, int]


THOUGHT: Codec[Reasoning] = Codec(Reasoning, whole=True)


def of_id(rows: Rows, identifier: MessageId) -> Message | None:
    """One message without a scope check, for the message pipeline only."""
    return next(_read(rows, "id = ?", (identifier,)), None)


def _read(rows: Rows, which: str, parameters: Sequence[Value]) -> Iterator[Message]:
    return map(to_message, rows.all(f"SELECT {COLUMNS} FROM messages WHERE {which}", parameters))


def add(tx: Tx, new: NewMessage, identifier: MessageId | None = None) -> MessageId:
    """Store a message, with that id if given; one known by its source and external id stays unchanged.

    Tool results are stored for the transcript and are not searchable.
    """
    message = MessageId(snowflakes.next()) if identifier is None else identifier
    text, speaker = storable(new.text), storable(new.speaker)
    values = {**_new.values(new), "id": message, "content": text, "speaker": speaker}
    values["source_metadata"] = storable(new.thought)
    values["tool_args"] = None if new.tool_args is None else storable(new.tool_args)
    values["search_text"] = "" if new.role == "tool" else _search_text(new.at, speaker, text)
    if tx.insert("messages", values, ignore=True):
        return message
    known = tx.one("SELECT id FROM messages WHERE source = ? AND external_id = ?", (new.source, new.external_id))
    if known is None:  # an id was given twice: fail rather than lose the message
        raise ValueError(f"message {message} could not be stored")
    return MessageId(known["id"])


def edit(tx: Tx, old: Message, text: str, at: datetime) -> bool:
    """Apply an edit; False, without a change, if the message was deleted, or has this edit or a later one."""
    text = storable(text)
    moment = from_text(to_text(at))  # in the stored precision, to compare with the last edit
    last = old.edited_at or moment
    if old.deleted_at is not None or moment < last or (old.edited_at == moment and text == old.text):
        return False
    sql = "UPDATE messages SET content = ?, edited_at = ?, revision = revision + 1, search_text = ? WHERE id = ?"
    return tx.run(sql, (text, at, _search_text(old.created_at, old.speaker, text), old.id)) == 1


def redact(tx: Tx, messages: Iterable[MessageId], at: datetime) -> int:
    """Erase the texts of rows of any role, ours too; returns how many had any.

    The row, its place in the order and its tool call's id and name stay, so that calls and results still pair.
    """
    sql = """UPDATE messages SET content = '', source_metadata = '{}', search_text = '', deleted_at = ?,
             revision = revision + 1, tool_args = CASE WHEN tool_args IS NULL THEN NULL ELSE '{}' END
             WHERE deleted_at IS NULL AND id IN (SELECT value FROM json_each(?))"""
    return tx.run(sql, (at, list(messages)))


def narrow(tx: Tx, messages: Iterable[MessageId], audience: Audience) -> int:
    """Restrict these rows to that audience; a call and its result change together. Returns how many changed.

    For a person who restricts their own messages; the caller makes sure that the audience is a narrower one.
    """
    sql = """UPDATE messages SET audience = :audience WHERE audience <> :audience AND (
               id IN (SELECT value FROM json_each(:named)) OR (batch_id, tool_call_id) IN (
                 SELECT batch_id, tool_call_id FROM messages WHERE id IN (SELECT value FROM json_each(:named))))"""
    return tx.run(sql, {"audience": audience, "named": list(messages)})


def join_batch(tx: Tx, messages: Iterable[MessageId], turn: TurnId) -> int:
    """Record that a turn answers these messages; returns how many there were."""
    sql = "UPDATE messages SET batch_id = ? WHERE id IN (SELECT value FROM json_each(?))"
    return tx.run(sql, (turn, list(messages)))


def conversation(rows: Rows, place: PlaceId, scope: Scope, limit: int, *, finished: bool = False) -> Sequence[Message]:
    """The newest `limit` messages of a place, oldest first; if `finished`, without those that a turn is to answer.

    Archived ones are left out. Deleted ones are included, empty, since a tool call needs the row of its result.
    """
    waiting: tuple[Value, ...] = (place,) if finished else ()
    where = "place_id = ? AND id > ? AND is_archived = 0 AND KNOWN(audience)"
    if finished:
        where += """ AND id NOT IN (SELECT message_id FROM inbox WHERE place_id = ?
                     AND status IN ('received', 'claimed') AND message_id IS NOT NULL)"""
    sql = f"SELECT {COLUMNS} FROM messages WHERE {where} ORDER BY id DESC LIMIT +?"

    def read(after: int) -> list[Message]:
        found = json_rows(
            rows,
            COLUMNS.replace("source_metadata ->> 'delivery' AS ", ""),
            *scope.bind(sql, place, after, *waiting, max(limit, 0)),
            _of_json,
        )
        return sorted(found, key=attrgetter("id"))

    return rows.newest(place, (scope, limit), limit, read) if finished else read(0)


def of_batch(rows: Rows, turn: TurnId, scope: Scope) -> list[Message]:
    """What a turn answered and what it wrote, in order."""
    return list(_read(rows, *scope.bind("batch_id = ? AND KNOWN(audience) ORDER BY id", turn)))


def newest_in(
    rows: Rows, place: PlaceId, scope: Scope, limit: int, words: str = "", around: int | None = None
) -> list[Message]:
    """The newest `limit` messages of a place, oldest first, archived ones too: all, those with `words`, or those around
    the message with the id `around`. If a turn sent only files, its last message is included though it is empty."""
    sql = f"""SELECT {COLUMNS} FROM messages WHERE place_id = ? AND role IN ('user', 'assistant')
              AND (content <> '' OR EXISTS (SELECT 1 FROM message_files f WHERE f.message_id = messages.id)
                OR id = (SELECT m.id FROM outbox o JOIN messages m ON m.batch_id = o.turn_id AND m.role = 'assistant'
                  WHERE o.turn_id = messages.batch_id AND o.place_id = messages.place_id
                    AND iif(json_valid(o.detail), json_array_length(o.detail, '$.files'), 0) > 0
                  ORDER BY m.content = '', m.id DESC LIMIT 1))
              AND instr(lower(content), lower(?)) AND KNOWN(audience) AND (? IS NULL OR id <= ifnull((
                SELECT id FROM messages WHERE place_id = ? AND id > ? ORDER BY id LIMIT 1 OFFSET {_AFTER}), id))
              ORDER BY id DESC LIMIT +?"""
    found = rows.all(*scope.bind(sql, place, words, around, place, around, limit))
    return [to_message(row) for row in reversed(found)]


def reasoning(rows: Rows, turn: TurnId, scope: Scope) -> dict[str, Reasoning]:
    """The reasoning of models in a turn, by the time of the answer; empty until the turn is over."""
    sql = """SELECT source_metadata AS found FROM messages WHERE batch_id = ? AND KNOWN(audience)
              AND source_metadata ->> 'sizes' IS NOT NULL"""
    found = [THOUGHT.load(row["found"]) for row in rows.all(*scope.bind(sql, turn))]
    return {to_text(each.at): each for each in found}


def by_ids(rows: Rows, messages: Iterable[MessageId], scope: Scope) -> list[Message]:
    """Those of the messages that the scope may see, in order."""
    which = "id IN (SELECT value FROM json_each(?)) AND KNOWN(audience) ORDER BY id"
    return list(_read(rows, *scope.bind(which, list(messages))))


def by_external(rows: Rows, source: str, external_id: str) -> Message | None:
    """The message with that id on the platform.

    For the message pipeline only (edits, deletions, replies to us): it reads without a scope.
    """
    return next(_read(rows, "source = ? AND external_id = ?", (source, external_id)), None)


def by_external_prefix(rows: Rows, source: str, prefix: str) -> Message | None:
    """The last message whose platform id has that prefix; without a scope, like `by_external`."""
    which = "source = ? AND external_id >= ? AND external_id < ? ORDER BY external_id DESC LIMIT 1"
    return next(_read(rows, which, (source, prefix, f"{prefix}\U0010ffff")), None)


def speakers(rows: Rows, scope: Scope, limit: int) -> list[Row]:
    """The speakers of messages that the scope may see: latest name, number of messages, and time of the last one."""
    sql = """SELECT person_id, n, last, (
               SELECT speaker FROM messages said WHERE said.person_id = counted.person_id AND role = 'user'
               AND deleted_at IS NULL AND created_at = last AND KNOWN(audience) LIMIT 1
             ) AS speaker FROM (
               SELECT person_id, count(*) AS n, max(created_at) AS last FROM messages
               WHERE role = 'user' AND person_id IS NOT NULL AND deleted_at IS NULL AND KNOWN(audience)
               GROUP BY person_id ORDER BY last DESC LIMIT +?
             ) counted ORDER BY last DESC"""
    return rows.all(*scope.bind(sql, limit))


def private_speakers(rows: Rows, limit: int) -> list[Row]:
    """Everybody who wrote where only they read: latest name and time of the last message, but none of their words.

    For the owner, who may know who wrote, in order to erase it, so without a scope.
    """
    sql = """SELECT person_id, speaker, max(created_at) AS last FROM messages
             WHERE role = 'user' AND person_id IS NOT NULL AND deleted_at IS NULL AND audience GLOB 'person:*'
             GROUP BY person_id ORDER BY last DESC LIMIT +?"""
    return rows.all(sql, (limit,))


def people_called(rows: Rows, name: str) -> set[PersonId]:
    """Everybody who ever spoke under that name; for the owner, who may know all names, so without a scope."""
    sql = "SELECT DISTINCT person_id FROM messages WHERE role = 'user' AND person_id IS NOT NULL AND speaker = ?"
    return {PersonId(row["person_id"]) for row in rows.all(f"{sql} COLLATE NOCASE", (name,))}


def newest_heard(rows: Rows, place: PlaceId, limit: int) -> list[Message]:
    """The newest messages by people in a place that have a platform id, oldest first.

    For the place's own source only, which compares them with its history: it reads without a scope.
    """
    which = "role = 'user' AND external_id IS NOT NULL AND deleted_at IS NULL ORDER BY id DESC LIMIT +?"
    return list(_read(rows, f"place_id = ? AND {which}", (place, limit)))[::-1]


def held_of(rows: Rows, source: str, limit: int) -> list[tuple[str, PlaceId, datetime]]:
    """Messages by people whose text is still stored, newest first: platform id, place and time.

    For the source itself only, which checks whether they were deleted there: it reads without a scope.
    """
    sql = """SELECT external_id, place_id, created_at FROM messages WHERE source = ? AND role = 'user'
             AND external_id IS NOT NULL AND deleted_at IS NULL AND content <> '' ORDER BY id DESC LIMIT +?"""
    found = rows.all(sql, (source, limit))
    return [(row["external_id"], PlaceId(row["place_id"]), from_text(row["created_at"])) for row in found]


def last_used(rows: Rows, agent: AgentId, tools: Collection[str], since: datetime, scope: Scope) -> dict[str, datetime]:
    """The newest call of each tool since then, in finished turns that the scope may see.

    A call in somebody's direct messages is not counted elsewhere, since a refusal would reveal it.
    """
    sql = """SELECT tool_name, max(created_at) AS at FROM messages WHERE created_at >= ? AND agent_id = ?
             AND role = 'tool' AND tool_name IN (SELECT value FROM json_each(?)) AND KNOWN(audience)
             GROUP BY tool_name"""
    found = rows.all(*scope.bind(sql, since, agent, sorted(tools)))
    return {row["tool_name"]: from_text(row["at"]) for row in found}


def note_delivery(tx: Tx, message: MessageId, words: str) -> None:
    """Note on a message of ours that it did not arrive, or may not have, for the agent to see; "" clears the note."""
    patch = "json_patch(source_metadata, json_object('delivery', nullif(?, '')))"
    tx.run(f"UPDATE messages SET source_metadata = {patch} WHERE id = ?", (words, message))


def to_message(row: Row | Sequence[Any]) -> Message:
    """A row of `COLUMNS` as a message; fields by position, since a prompt reads hundreds."""
    *plain, delivery, audience, trust, revision, edited, deleted, archived, created = row
    moments = edited and from_text(edited), deleted and from_text(deleted), bool(archived), from_text(created)
    return Message._make((*plain, delivery or "", audience, _TRUST[trust], revision, *moments))


def _of_json(row: str) -> Message:
    return to_message(json.loads(row))


_new = RowMapper(NewMessage, text="content", at="created_at", sequence="sequence_in_batch", thought="source_metadata")


def _search_text(at: datetime, speaker: str, text: str) -> str:
    # Day and speaker are indexed too; a row without a text of its own is not indexed at all.
    return index_text(f"{date_words(at)} {speaker}: {text}") if text.strip() else ""


# --------------------------------------------------------------------------------------------------- since some moment


class Utterance(Struct, frozen=True):
    at: datetime
    text: str
    person: PersonId | None = None
    speaker: str = ""
    trust: Trust = Trust.STRANGER


def spoken_since(rows: Rows, since: datetime, scope: Scope, limit: int) -> list[Utterance]:
    """Messages by people since then that the scope may see, oldest first; at most the newest `limit`."""
    sql = f"""SELECT created_at, content, person_id, speaker, trust FROM messages
              WHERE role = 'user' AND deleted_at IS NULL AND created_at > ? AND KNOWN(audience) AND {shown("messages")}
              ORDER BY created_at DESC, id DESC LIMIT +?"""
    return _utterance.all(rows, *scope.bind(sql, since, limit))[::-1]


_utterance = RowMapper(Utterance, at="created_at", text="content")


def newest_result(rows: Rows, tool: str, agents: Sequence[AgentId], since: datetime, scope: Scope) -> str | None:
    """The newest result of a tool for one of these agents since then that the scope may see."""
    sql = """SELECT content FROM messages WHERE role = 'tool' AND tool_name = ? AND deleted_at IS NULL
             AND created_at > ? AND agent_id IN (SELECT value FROM json_each(?)) AND KNOWN(audience)
             ORDER BY created_at DESC, id DESC LIMIT 1"""
    return rows.value(*scope.bind(sql, tool, since, agents), str)
