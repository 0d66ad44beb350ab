"""The store of everything agents know: one table for all kinds of knowledge (docs/knowledge.md).

An item records its source (turn, messages, person), who may know it, its trust, and how often it was found. Triggers on
`messages` delete it with its sources: with any message that it names or that lies in its span; or, if an agent stored
it on its own, with any message of that turn. The rules of a kind, such as limits, are in the kind's module, which
builds on these functions.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from memory.people.audience import Audience, Scope, Trust
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx, Value
from memory.store.fulltext import index_text
from memory.store.ids import AgentId, MessageId, PersonId, PlaceId, TurnId, snowflakes
from memory.store.row_mapper import RowMapper


class Kind(StrEnum):
    REVIEW = "review"
    """An issue that a review found."""
    PREFERENCE = "preference"
    """A wish for projects."""
    PROJECT = "project"
    """A finished project, perhaps rated."""
    SIGNAL = "signal"
    """A correction, a reaction, or a failure of a tool."""
    EVALUATION = "evaluation"
    """The grade of a talk."""
    WORK = "work"
    """What an agent was doing when its work was interrupted."""
    CONVERSATION = "conversation"
    """A summary of earlier messages in one place, for one agent."""
    AGENT = "agent"
    """A summary of an agent's recent actions."""
    WORKING = "working"
    """Working memory of an agent."""
    HANDOFF = "handoff"
    """A note from one agent to another, or to whoever continues."""
    NOTE = "note"
    """A note for all agents."""
    TASK_TEMPLATE = "task_template"
    """A task with its steps, for repeated use."""
    DAY = "day"
    WEEK = "week"
    """A summary of that time for everybody."""


SEARCHED = frozenset({Kind.CONVERSATION, Kind.AGENT, Kind.DAY, Kind.WEEK})
"""Kinds with a search index."""
T = TypeVar("T", bound=Struct)


def _next_id() -> int:
    return snowflakes.next()


class Item(Struct, frozen=True):
    """An item; a new one gets its id when it is made. `text` is the content, `key` identifies the item within its kind,
    `detail` is the JSON of other data of the kind, `strength` how often it was found."""

    kind: Kind
    audience: Audience
    trust: Trust
    created_at: datetime
    updated_at: datetime
    text: str = ""
    key: str = ""
    detail: str = "{}"
    agent: AgentId | None = None
    person: PersonId | None = None
    place: PlaceId | None = None
    turn: TurnId | None = None
    valid_until: datetime | None = None
    """After this time it is never read."""
    span: tuple[int, int] = (0, 0)
    """It summarizes all messages of its audience in this range: positions in its place's order, or ids."""
    strength: int = 1
    id: int = field(default_factory=_next_id)

    def read(self, of: type[T]) -> T:
        """The detail, of the type that this kind has."""
        return msgspec.json.decode(self.detail, type=of)


class By(Struct, frozen=True):
    """Who stores something, and who hears it: an agent in a turn because of a message, or a person by hand."""

    scope: Scope
    trust: Trust
    now: datetime
    agent: AgentId | None = None
    person: PersonId | None = None
    place: PlaceId | None = None
    turn: TurnId | None = None
    message: MessageId | None = None

    @classmethod
    def of_turn(cls, turn: Turn, message: MessageId | None, now: datetime) -> "By":
        return cls(turn.scope, turn.trust, now, turn.agent, turn.person, turn.place, turn.id, message)

    def put(
        self, tx: Tx, kind: Kind, text: str, key: str, detail: Struct | None = None, until: datetime | None = None
    ) -> Item:
        """Store an item of theirs, valid until then."""
        by = self.agent, self.person, self.place, self.turn
        heard = kind, self.scope.audience, self.trust, self.now, self.now
        new = Item(*heard, text, key, encoded(detail), *by, until)
        return put(tx, new, () if self.message is None else (self.message,))


def encoded(detail: object) -> str:
    """The `detail` of an item."""
    return "{}" if detail is None else msgspec.json.encode(detail).decode()


# ------------------------------------------------------------------------------------------------------------- writing


def put(tx: Tx, new: Item, messages: Iterable[MessageId] = (), instead_of: Sequence[Item] = ()) -> Item:
    """Store an item that comes from these messages, optionally in place of others: answers that used those count as
    using the new one.

    That keeps track of whose words are in an answer.
    """
    first, last = new.span if any(new.span) else (None, None)
    words = index_text(new.text) if new.kind in SEARCHED else ""
    tx.insert("items", {**_item.values(new), "first_position": first, "last_position": last, "search_text": words})
    _add_sources(tx, new.id, messages)
    if instead_of:
        sql = """UPDATE OR IGNORE turn_uses SET row_id = ?
                 WHERE kind = 'summary' AND row_id IN (SELECT CAST(value AS TEXT) FROM json_each(?))"""
        tx.run(sql, (str(new.id), [each.id for each in instead_of]))
        remove(tx, [each.id for each in instead_of])
    return get(tx, new.id)


def put_again(tx: Tx, item: Item, by: By, *, counts: bool = False, detail: Struct | None = None) -> Item:
    """Record that an item was repeated; its trust drops to that of its least trusted source.

    `counts`: increase its strength, unless this message did that before.
    """
    if counts and by.message is not None and by.message in messages_of(tx, item.id):
        return item
    more = item.detail if detail is None else encoded(detail)
    sql = "UPDATE items SET strength = strength + ?, trust = min(trust, ?), detail = ?, updated_at = ? WHERE id = ?"
    tx.run(sql, (int(counts), int(by.trust), more, by.now, item.id))
    _add_sources(tx, item.id, () if by.message is None else (by.message,))
    return get(tx, item.id)


def remove(tx: Tx, identifiers: Iterable[int]) -> int:
    """Delete items; returns how many existed."""
    return tx.run("DELETE FROM items WHERE id IN (SELECT value FROM json_each(?))", (list(identifiers),))


def remove_of(tx: Tx, kind: Kind, **exactly: Value) -> int:
    """Delete the items of a kind with exactly these column values; returns how many."""
    where, wanted = _exactly(kind, exactly)
    return tx.run(f"DELETE FROM items WHERE {where}", wanted)


def forget_before(tx: Tx, kind: Kind, moment: datetime) -> int:
    """Delete items of a kind that are older; returns how many."""
    return tx.run("DELETE FROM items WHERE kind = ? AND created_at < ?", (kind, moment))


def sweep(tx: Tx, now: datetime, most: int) -> int:
    """Delete expired items, at most so many, longest expired first; returns how many."""
    sql = """DELETE FROM items WHERE id IN (SELECT id FROM items WHERE valid_until <= ?
             ORDER BY valid_until LIMIT +?)"""
    return tx.run(sql, (now, most))


def note_shown(tx: Tx, turn: Turn, shown: Sequence[int]) -> None:
    """Record that a turn was shown these items: by the messages that they come from."""
    sql = """INSERT INTO turn_uses (turn_id, kind, row_id, audience) SELECT DISTINCT ?, 'message', message_id, ?
             FROM item_sources WHERE item_id IN (SELECT value FROM json_each(?)) ON CONFLICT DO NOTHING"""
    if shown:
        tx.run(sql, (turn.id, turn.scope.audience, list(shown)))


def _add_sources(tx: Tx, item: int, messages: Iterable[MessageId]) -> None:
    for message in messages:
        tx.insert("item_sources", {"item_id": item, "message_id": message}, ignore=True)


# ------------------------------------------------------------------------------------------------------------- reading


def get(rows: Rows, identifier: int) -> Item:
    row = rows.one("SELECT * FROM items WHERE id = ?", (identifier,))
    if row is None:
        raise AssertionError("what was written is there")
    return _item(row)


def find(rows: Rows, kind: Kind, **exactly: Value) -> list[Item]:
    """Items of a kind with exactly these column values, newest first, without a scope: for code that writes them."""
    where, wanted = _exactly(kind, exactly)
    return _item.all(rows, f"SELECT * FROM items WHERE {where} ORDER BY id DESC", wanted)


def newest(rows: Rows, kind: Kind, **exactly: Value) -> Item | None:
    """The first of these, or None."""
    where, wanted = _exactly(kind, exactly)
    return _item.first(rows, f"SELECT * FROM items WHERE {where} ORDER BY id DESC LIMIT 1", wanted)


def _exactly(kind: Kind, exactly: Mapping[str, Value]) -> tuple[str, dict[str, Value]]:
    wanted: dict[str, Value] = {"kind": kind, **exactly}
    return " AND ".join([f"{column} IS :{column}" for column in wanted]), wanted


def between(rows: Rows, kind: Kind, first: str, last: str) -> list[Item]:
    """Items of a kind with a key in [first, last), in key order, without a scope: for code that writes them."""
    sql = "SELECT * FROM items WHERE kind = ? AND key >= ? AND key < ? ORDER BY key, id"
    return _item.all(rows, sql, (kind, first, last))


def known(
    rows: Rows,
    scope: Scope,
    kinds: Iterable[Kind],
    limit: int,
    until: datetime | None = None,
    order: str = "updated_at DESC",
) -> list[Item]:
    """Items of these kinds that the scope may know, most recently said first, or in the given order.

    With `until`, only those created before.
    """
    sql = f"""SELECT * FROM items WHERE kind IN (SELECT value FROM json_each(?)) AND KNOWN(audience)
              AND created_at <= ? ORDER BY {order}, id DESC LIMIT +?"""
    return _item.all(rows, *scope.bind(sql, list(kinds), "~" if until is None else until, limit))


def of_turn(rows: Rows, turn: Turn, paths: Sequence[str], kinds: Sequence[Kind], most: int) -> dict[Kind, list[Item]]:
    """What a turn may be shown, in one read: its place's newest summary and interrupted work, for exactly its hearers;
    of working memory, what is valid and at or below `paths`; and the `most` recently said of `kinds`."""
    found = defaultdict[Kind, list[Item]](list)
    wanted = (Kind.CONVERSATION, Kind.WORK, Kind.WORKING, *kinds)
    if not rows.may_have("items", f"kind IN ({', '.join(map(repr, map(str, wanted)))})"):
        return found
    here = "agent_id = ? AND place_id = ? AND audience = ? ORDER BY id DESC LIMIT 1"
    asked = [f"kind = 'conversation' AND {here}", f"kind = 'work' AND {here}"]
    some = f"kind IN ({', '.join('?' * len(kinds))})"
    asked.append(f"{some} AND KNOWN(audience) ORDER BY updated_at DESC, id DESC LIMIT +?")
    values: list[Value] = [*(turn.agent, turn.place, turn.scope.audience) * 2, *kinds, most]
    for path in paths:
        asked.append(f"kind = 'working' AND {_UNDER} AND KNOWN(audience) AND (valid_until IS NULL OR valid_until > ?)")
        values += (*_below(path), turn.started_at)
    sql = " UNION ALL ".join([f"SELECT * FROM (SELECT * FROM items WHERE {each})" for each in asked])
    for item in sorted(_item.all(rows, *turn.scope.bind(sql, *values)), key=attrgetter("id"), reverse=True):
        found[item.kind].append(item)
    return found


def known_under(rows: Rows, scope: Scope, kind: Kind, path: str, now: datetime) -> list[Item]:
    """Items of a kind at or below a path, valid at `now` and known to the scope, newest first.

    Paths match by whole segments: `subagent/1` does not match `subagent/10/a`.
    """
    sql = f"""SELECT * FROM items WHERE kind = ? AND {_UNDER} AND KNOWN(audience)
              AND (valid_until IS NULL OR valid_until > ?) ORDER BY id DESC"""
    return _item.all(rows, *scope.bind(sql, kind, *_below(path), now))


def under(rows: Rows, kind: Kind, path: str, audience: Audience) -> list[Item]:
    """The same for exactly one audience, valid or not, oldest first: for code that writes them."""
    sql = f"SELECT * FROM items WHERE kind = ? AND {_UNDER} AND audience = ? ORDER BY id"
    return _item.all(rows, sql, (kind, *_below(path), audience))


_UNDER = "key >= ? AND key < ? AND (key = ? OR key > ?)"  # as the index needs it


def _below(path: str) -> tuple[str, str, str, str]:
    """The parameters of `_UNDER` for a path: keys below it continue with "/", and "0" is the next character."""
    return path, f"{path}0", path, f"{path}/"


def known_of(rows: Rows, scope: Scope, kind: Kind, place: PlaceId, limit: int) -> list[Item]:
    """Items of a kind about a place that the scope may know and that have a text, newest first."""
    sql = """SELECT * FROM items WHERE kind = ? AND place_id = ? AND text <> '' AND KNOWN(audience)
              ORDER BY id DESC LIMIT +?"""
    return _item.all(rows, *scope.bind(sql, kind, place, limit))


def messages_of(rows: Rows, identifier: int) -> set[MessageId]:
    found = rows.all("SELECT message_id FROM item_sources WHERE item_id = ?", (identifier,))
    return {MessageId(row["message_id"]) for row in found}


_item = RowMapper(Item, span=lambda row: (row["first_position"] or 0, row["last_position"] or 0))
