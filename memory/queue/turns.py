"""Turns and their steps: what an agent has done so far, so that it can continue after a restart.

`turn_uses` records which rows an answer used. When such a row is deleted, its record becomes kind `gone` and loses the
id, so that only the fact remains.

The content of steps is in `memory.queue.steps`.

An attempt at the inbox rows of a turn counts from its first model call or tool call on, so that a crash there counts;
the first attempt is counted with its first answer, which saves a commit. An attempt that ended with the process before
that is only a start. Pauses between attempts grow, whatever ended them.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from msgspec import Struct

from memory.people.audience import Audience, Scope, Trust
from memory.queue import steps as step_bodies
from memory.queue.inbox import OVER_LIMIT, InRow
from memory.queue.steps import MessagesJoined, Step, StepBody, Wordings
from memory.store import ids
from memory.store.clock import from_text, to_text
from memory.store.database import Rows, Tx, Value
from memory.store.ids import AgentId, BlockId, EntryId, GroupId, InboxId, MessageId, PersonId, PlaceId, TurnId
from memory.store.row_mapper import RowMapper
from texts import packed

Ended: TypeAlias = Literal["done", "failed", "cancelled"]
UseKind: TypeAlias = Literal["entry", "message", "block", "summary", "fact", "task", "event", "item"]
"""What a turn's answer can use: the kinds of rows."""


class TurnMoved(Exception):
    """Something other than its worker ended or restarted the turn: reload it before writing anything."""


class Turn(Struct, frozen=True):
    """One turn; `scope` is who will hear its answer, `trust` the lowest trust of those whose messages it answers."""

    id: TurnId
    agent: AgentId
    group: GroupId | None
    place: PlaceId
    person: PersonId | None
    scope: Scope
    trust: Trust
    blocks: tuple[BlockId, ...]
    restarts: int
    started_at: datetime
    heard: Wordings = ()
    """The messages that it began with: its first step. A turn of an earlier version has a stored step for them."""
    status: str = "running"
    parent: TurnId | None = None
    """The turn that waits for this one: in a group, a member's turn has the group's as its parent."""
    away_since: datetime | None = None
    """The start of its agent's previous turn, as far as the hearers of this one may know; None if there was none."""


def begin(tx: Tx, turn: Turn) -> None:
    tx.insert("turns", _turn.values(turn))


def new_turn_id() -> TurnId:
    return TurnId(ids.snowflakes.next())


def get(rows: Rows, identifier: TurnId) -> Turn | None:
    """One turn by id, for the worker that runs it."""
    return _turn.first(rows, "SELECT * FROM turns WHERE id = ?", (identifier,))


def oldest_running(rows: Rows, place: PlaceId) -> int:
    """The id of the oldest running turn in a place; a number above all ids if none runs."""
    return rows.number("SELECT min(id) FROM turns WHERE status = 'running' AND place_id = ?", (place,)) or 2**63 - 1


def any_since(rows: Rows, moment: datetime) -> bool:
    """Whether any turn is running, or began since then."""
    sql = "SELECT 1 FROM turns WHERE status = 'running' OR started_at > ? LIMIT 1"
    return rows.one(sql, (moment,)) is not None


def nth_newest(
    rows: Rows,
    n: int,
    since: datetime,
    *,
    people: Sequence[PersonId] = (),
    within: Audience | None = None,
    place: PlaceId | None = None,
) -> datetime | None:
    """When the n-th newest turn since then began: of all, of some people, of a place, or within an audience.

    Members' turns in a group are not counted separately.
    """
    sql = """SELECT started_at FROM turns WHERE started_at > :since AND parent_id IS NULL
             AND (:people = '[]' OR person_id IN (SELECT value FROM json_each(:people)))
             AND (:place IS NULL OR place_id = :place)
             AND (:within IS NULL OR audience = :within OR EXISTS (SELECT 1 FROM json_each(within)
               WHERE value = :within)) ORDER BY started_at DESC LIMIT 1 OFFSET :skip"""
    who: dict[str, Value] = {"people": list(people), "within": within, "place": place}
    return rows.value(sql, {**who, "since": since, "skip": n - 1}, from_text)


def require_current(rows: Rows, turn: Turn) -> None:
    """Raise TurnMoved unless the turn still runs as its worker knows it.

    Every write for a turn checks this in its own transaction, so that it cannot undo an erasure that came between.
    """
    if rows.one(f"SELECT 1 FROM turns WHERE {_CURRENT}", {"turn": turn.id, "restarts": turn.restarts}) is None:
        raise TurnMoved(f"turn {turn.id} has been ended or restarted since")


def undisturbed(rows: Rows, turn: Turn, wordings: Wordings, last: InboxId | None) -> bool:
    """Whether a turn runs as its worker knows it, has these wordings, and none arrived to join since its row `last`."""
    condition, parameters = _undisturbed(turn, wordings, last)
    return rows.one(f"SELECT 1 FROM turns AS t WHERE {condition}", parameters) is not None


def end_undisturbed(tx: Tx, turn: Turn, wordings: Wordings, last: InboxId | None, now: datetime) -> bool:
    """Close a turn as done if it is `undisturbed`; returns whether it was."""
    condition, parameters = _undisturbed(turn, wordings, last)
    return tx.run(f"UPDATE turns AS t SET status = 'done', ended_at = ? WHERE {condition}", (now, *parameters)) > 0


def _undisturbed(turn: Turn, wordings: Wordings, last: InboxId | None) -> tuple[str, Sequence[Value]]:
    sql = """t.id = ? AND t.status = 'running' AND t.restarts = ?
              AND NOT EXISTS (SELECT 1 FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM messages
                WHERE id = value ->> 0 AND revision = value ->> 1 AND KNOWN(audience)))
              AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.place_id = t.place_id AND i.group_id = t.group_id
                AND i.person_id IS t.person_id AND i.audience = t.audience AND i.alone = 0 AND i.id > ?
                AND i.status = 'received' AND i.status IN ('received', 'claimed'))"""
    return turn.scope.bind(sql, turn.id, turn.restarts, json.dumps(wordings), last)


_CURRENT = "id = :turn AND status = 'running' AND restarts = :restarts"


def add_step(tx: Tx, turn: Turn, body: StepBody, now: datetime) -> int:
    """Append a step; gives its number, from 2. Raises TurnMoved."""
    kind, text = step_bodies.dump(body)
    sql = f"""INSERT INTO turn_steps (turn_id, seq, kind, body, audience, at)
              SELECT id, (SELECT coalesce(max(seq), 1) + 1 FROM turn_steps WHERE turn_id = :turn), :kind, :body,
                :audience, :at FROM turns WHERE {_CURRENT} RETURNING seq"""
    which: dict[str, Value] = {"turn": turn.id, "restarts": turn.restarts, "kind": kind, "body": text}
    seq = tx.value(sql, {**which, "audience": turn.scope.audience, "at": now}, int)
    if seq is None:
        raise TurnMoved(f"turn {turn.id} has been ended or restarted since")
    return seq


def has_result(rows: Rows, turn: Turn, call: str) -> bool:
    """Whether the result of a call is stored already."""
    sql = "SELECT 1 FROM turn_steps WHERE turn_id = ? AND kind = 'tool_result' AND json_extract(body, '$.call') = ?"
    return rows.one(sql, (turn.id, call)) is not None


def add_joined(tx: Tx, turn: Turn, messages: list[MessageId], now: datetime) -> None:
    """Record that the turn answers these messages in their current revision, and lower its trust to theirs."""
    heard, lowest = as_worded(tx, messages)
    add_step(tx, turn, MessagesJoined(heard), now)
    lower_trust(tx, turn, lowest)


def as_worded(rows: Rows, messages: list[MessageId]) -> tuple[Wordings, Trust]:
    """The current revision of each message, and the lowest trust."""
    sql = "SELECT id, revision, trust FROM messages WHERE id IN (SELECT value FROM json_each(?))"
    found = rows.all(sql, (messages,))
    lowest = min((Trust(row["trust"]) for row in found), default=Trust.SYSTEM)
    return tuple((MessageId(row["id"]), row["revision"]) for row in found), lowest


def lower_trust(tx: Tx, turn: Turn, trust: Trust) -> None:
    """Lower the turn's trust to this, since it took in words from such a source."""
    tx.run("UPDATE turns SET trust = min(trust, ?) WHERE id = ?", (int(trust), turn.id))


def steps(rows: Rows, turn: TurnId) -> list[Step]:
    """The turn's steps so far, in order. Raises RowUnreadable, also for steps of a newer program version."""
    sql = """SELECT 1 AS seq, 'joined' AS kind, json_object('v', 1, 'messages', json(heard)) AS body, started_at AS at
             FROM turns WHERE id = :turn AND heard <> '[]'
             UNION ALL SELECT seq, kind, body, at FROM turn_steps WHERE turn_id = :turn ORDER BY seq"""
    found = rows.all(sql, {"turn": turn})
    return [Step(row["seq"], step_bodies.load(row["kind"], row["body"]), from_text(row["at"])) for row in found]


def restart(tx: Tx, turn: Turn, messages: list[MessageId]) -> None:
    """Delete the turn's steps, since the messages it answers have changed, and begin again with these."""
    heard, lowest = as_worded(tx, messages)
    tx.run("DELETE FROM turn_steps WHERE turn_id = ?", (turn.id,))
    tx.run("DELETE FROM turn_uses WHERE turn_id = ?", (turn.id,))
    tx.run("DELETE FROM items WHERE kind = 'working' AND turn_id = ?", (turn.id,))  # parts of long results
    sql = "UPDATE turns SET restarts = restarts + 1, heard = ?, trust = min(trust, ?) WHERE id = ?"
    tx.run(sql, (json.dumps(heard), int(lowest), turn.id))


def end(tx: Tx, turn: TurnId, status: Ended, now: datetime, error: str = "") -> None:
    """Close a turn, whose steps a trigger deletes; unless it is done, close what it waits for, too."""
    if status != "done":
        tx.run("UPDATE turns SET status = 'cancelled' WHERE parent_id = ? AND status = 'running'", (turn,))
    sql = "UPDATE turns SET status = ?, ended_at = ?, error = nullif(?, '') WHERE id = ?"
    tx.run(sql, (status, now, error, turn))


def unfinished(rows: Rows, of: AgentId | PlaceId) -> tuple[TurnId, ...]:
    """The turns of an agent, or in a place, that run or wait for approval."""
    sql = "SELECT id FROM turns WHERE status IN ('running', 'suspended') AND ? IN (agent_id, place_id)"
    return tuple(TurnId(row["id"]) for row in rows.all(sql, (of,)))


def note_use(tx: Tx, turn: Turn, kind: UseKind | Literal["blocks"], row_id: str) -> None:
    """Record that the turn's answer used a row, for explanations; for a passage, its entry is recorded."""
    if kind == "entry":
        whole = tx.one("SELECT coalesce(parent_entry_id, id) FROM archival_entries WHERE id = ?", (row_id,))
        row_id = row_id if whole is None else str(whole[0])
    values: dict[str, Value] = {"turn_id": turn.id, "kind": kind, "row_id": row_id}
    tx.insert("turn_uses", {**values, "audience": turn.scope.audience}, ignore=True)


def note_shown(tx: Tx, turn: Turn, blocks: Iterable[BlockId], entries: Iterable[EntryId] = ()) -> None:
    """Record which rows a model was shown: the blocks, all in one row, and the entries that are still there."""
    if shown := list(blocks):
        note_use(tx, turn, "blocks", json.dumps(shown))
    if recalled := list(entries):
        sql = """INSERT INTO turn_uses (turn_id, kind, row_id, audience)
                 SELECT ?, 'entry', coalesce(parent_entry_id, id), ? FROM archival_entries
                 WHERE id IN (SELECT value FROM json_each(?)) ON CONFLICT DO NOTHING"""
        tx.run(sql, (turn.id, turn.scope.audience, recalled))


_WHOLE, _NUMBERED = "id IN (SELECT value FROM json_each(?))", "id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))"
_TABLES = {
    "entry": f"archival_entries WHERE {_WHOLE}",
    "message": f"messages WHERE {_NUMBERED}",
    "summary": f"items WHERE {_NUMBERED}",
    "block": f"memory_blocks WHERE {_WHOLE}",
    "fact": f"facts WHERE {_NUMBERED}",
    "task": f"tasks WHERE {_NUMBERED}",
    "event": f"activity_events WHERE {_NUMBERED}",
    "item": f"items WHERE {_NUMBERED}",
}
"""The rows with some ids, by kind."""
_STANDING = " AND deleted_at IS NULL"
LIVING = {
    "entry": _TABLES["entry"],
    "message": _TABLES["message"] + _STANDING,
    "summary": _TABLES["summary"],
    "block": _TABLES["block"] + _STANDING,
}
"""Which of some ids still exist, for each kind that explains an answer."""
_FULL = " AND content || profile <> ''"
_USES = """WITH used AS (SELECT kind, row_id FROM turn_uses WHERE turn_id IN (SELECT value FROM json_each(?)))
           SELECT kind, row_id FROM used WHERE kind <> 'blocks'
           UNION SELECT 'block', value FROM used,
             json_each(iif(json_valid(row_id), row_id, '[]')) WHERE kind = 'blocks' ORDER BY row_id"""


def used(rows: Rows, of: Collection[TurnId]) -> dict[str, list[str]]:
    """The ids of what these turns used, by kind."""
    uses: dict[str, list[str]] = {}
    for row in rows.all(_USES, (list(of),)):
        uses.setdefault(row["kind"], []).append(row["row_id"])
    return uses


def audiences_used(rows: Rows, of: Collection[TurnId]) -> set[Audience] | None:
    """The audiences of what these turns used; empty blocks tell nothing. None if something of it is no more: then
    nobody knows who may know it."""
    found = set[Audience]()
    for kind, given in used(rows, of).items():
        full = _FULL * (kind == "block")
        there = rows.all(f"SELECT audience FROM {_TABLES[kind]}{full}", (given,)) if kind in _TABLES else []
        if len(there) < len(given) and not full:
            return None
        found.update(Audience(row["audience"]) for row in there)
    return found


def pass_on_uses(tx: Tx, part: TurnId, whole: TurnId) -> None:
    """What a member's turn used also counts as used by the whole turn's answer."""
    sql = """INSERT INTO turn_uses (turn_id, kind, row_id, audience) SELECT ?, kind, row_id, audience FROM turn_uses
             WHERE turn_id = ? ON CONFLICT DO NOTHING"""
    tx.run(sql, (whole, part))


def forget_uses(tx: Tx, kind: Literal["entry", "message"], rows: Iterable[str]) -> None:
    """Replace the use records of deleted rows by the fact that there was one."""
    sql = f"""UPDATE turn_uses SET kind = 'gone', row_id = lower(hex(randomblob(8)))
              WHERE kind = '{kind}' AND row_id IN (SELECT value FROM json_each(?))"""  # in the form of the index
    tx.run(sql, (list(rows),))


def answering(rows: Rows, message: MessageId) -> list[TurnId]:
    """The turns that answer a message, one per group that heard it, running or over; and those about later events.

    Such events are its edit, and a decision on what it led to ask for.
    """
    sql = """SELECT turn_id AS id FROM inbox WHERE message_id = :id AND turn_id IS NOT NULL
             UNION SELECT batch_id FROM messages WHERE id = :id AND batch_id IS NOT NULL
             UNION SELECT turn_id FROM inbox WHERE about_id = :id AND turn_id IS NOT NULL"""
    return [TurnId(row["id"]) for row in rows.all(sql, {"id": message})]


def caused(rows: Rows, turns: Sequence[TurnId]) -> list[TurnId]:
    """Turns with their members' turns, and the turns of agents that they wrote to."""
    sql = """WITH RECURSIVE caused (id) AS (SELECT value FROM json_each(?)
               UNION SELECT t.id FROM turns t JOIN caused c ON t.parent_id = c.id
               UNION SELECT i.turn_id FROM agent_messages a JOIN inbox i ON i.id = a.inbox_id
                 JOIN caused c ON a.root_id = c.id WHERE i.turn_id IS NOT NULL)
             SELECT id FROM caused"""
    return [TurnId(row["id"]) for row in rows.all(sql, (turns,))]


_turn = RowMapper(Turn, scope=RowMapper(Scope))


def answered_last(rows: Rows, person: PersonId) -> AgentId | None:
    """The agent of the last turn for this person."""
    sql = "SELECT agent_id FROM turns WHERE person_id = ? AND parent_id IS NULL ORDER BY id DESC LIMIT 1"
    return rows.value(sql, (person,), AgentId)


def count_of(rows: Rows, person: PersonId, since: datetime, most: int) -> int:
    """How many turns for a person began since then, counted up to `most`."""
    sql = "SELECT count(*) AS n FROM (SELECT 1 FROM turns WHERE person_id = ? AND started_at > ? LIMIT +?)"
    return rows.number(sql, (person, since, most))


def claim(tx: Tx, rows: Iterable[InRow], turn: TurnId, *, first: bool) -> None:
    """Assign rows to a new turn and begin an attempt; `first`: none of the rows was tried before."""
    sql = """UPDATE inbox SET status = 'claimed', turn_id = :turn, attempts = attempts + 1,
               ran = iif(:first, 0, ran),
               next_attempt_at = iif(:first OR last_error = :over, NULL, next_attempt_at),
               last_error = nullif(last_error, :over)
             WHERE id IN (SELECT value FROM json_each(:rows))"""
    tx.run(sql, {"turn": turn, "first": int(first), "rows": [row.id for row in rows], "over": OVER_LIMIT})


def count_attempt(tx: Tx, turn: TurnId) -> int:
    """Count a new attempt at a turn; returns its number, from 1. A killed attempt counts as failed."""
    sql = "UPDATE inbox SET attempts = attempts + 1 WHERE turn_id = ? AND status = 'claimed' RETURNING attempts"
    return max((int(row["attempts"]) for row in tx.all(sql, (turn,))), default=0)


PAUSES = (0.0, 5.0, 20.0, 60.0)
"""Seconds before an attempt that ended with the process is repeated, by its number; the last value repeats."""
MOST_STARTS = 10
"""Starts in a row that ended with the process before any model or tool call; after that the row itself is blamed."""
HEALTHY = (timedelta(minutes=10), timedelta(hours=1))
"""Pauses for rows with no attempts left that never failed themselves: each pause grants one more attempt."""


def note_ran(tx: Tx, turn: TurnId, now: datetime) -> None:
    """The attempt reached its first model or tool call: it counts now, and if the process ends, a pause follows."""
    sql = """UPDATE inbox SET ran = 1, starts = 0, next_attempt_at = NULL WHERE turn_id = ? AND status = 'claimed'
             RETURNING attempts"""
    tries = max((int(row["attempts"]) for row in tx.all(sql, (turn,))), default=0)
    if (pause := _after(tries, now)) is not None:
        tx.run("UPDATE inbox SET next_attempt_at = ? WHERE turn_id = ? AND status = 'claimed'", (pause, turn))


def count_again(tx: Tx, turn: TurnId, now: datetime, *, ran: bool) -> None:
    """Begin another attempt after one that ended with the process; it counts as an additional one if that one `ran`."""
    if ran:
        sql = "UPDATE inbox SET attempts = attempts + 1, ran = 0 WHERE turn_id = ? AND status = 'claimed'"
        tx.run(sql, (turn,))
        return
    sql = "UPDATE inbox SET starts = starts + 1 WHERE turn_id = ? AND status = 'claimed' RETURNING starts"
    starts = max((int(row["starts"]) for row in tx.all(sql, (turn,))), default=0)
    sql = "UPDATE inbox SET next_attempt_at = ? WHERE turn_id = ? AND status = 'claimed'"
    tx.run(sql, (_after(starts, now), turn))


def count_start(tx: Tx, row: InboxId, now: datetime) -> None:
    """A turn is about to begin for a row, which may end the process: then the next one waits before it tries."""
    starts = tx.number("UPDATE inbox SET starts = starts + 1 WHERE id = ? RETURNING starts", (row,))
    tx.run("UPDATE inbox SET next_attempt_at = ? WHERE id = ?", (_after(starts, now), row))


def uncount_start(tx: Tx, row: InboxId) -> None:
    """Its turn begins, in this transaction."""
    tx.run("UPDATE inbox SET starts = starts - 1, next_attempt_at = NULL WHERE id = ?", (row,))


def _after(tries: int, now: datetime) -> str | None:
    seconds = PAUSES[min(tries, len(PAUSES)) - 1]
    return to_text(now + timedelta(seconds=seconds)) if seconds else None


def uncount_attempt(tx: Tx, turn: TurnId) -> None:
    """Do not count the running attempt, since it was stopped on purpose; the next one counts."""
    sql = """UPDATE inbox SET attempts = max(attempts - 1, 0), next_attempt_at = NULL, ran = 1
             WHERE turn_id = ? AND status = 'claimed'"""
    tx.run(sql, (turn,))


def postpone(tx: Tx, turn: TurnId, error: str, again: datetime) -> None:
    """The attempt failed: its rows stay with the turn and wait until `again`."""
    sql = "UPDATE inbox SET last_error = ?, next_attempt_at = ?, ran = 1 WHERE turn_id = ? AND status = 'claimed'"
    tx.run(sql, (packed(error), again, turn))


def separate(tx: Tx, turn: TurnId, tried: int | None = None, *, again: datetime | None = None) -> None:
    """Give each row of a turn a turn of its own, so that one bad row fails alone.

    With `tried`, rows with that many attempts, or with all their starts used up, stay. With `again`, all are tried from
    then on, and block nothing else until then.
    """
    sql = """UPDATE inbox SET status = 'received', turn_id = NULL, alone = 1,
               next_attempt_at = coalesce(:again, next_attempt_at), ran = iif(:again IS NULL, ran, 0)
             WHERE turn_id = :turn AND status = 'claimed'
             AND (:tried IS NULL OR (attempts < :tried AND starts + 1 < :most))"""
    tx.run(sql, {"turn": turn, "tried": tried, "most": MOST_STARTS, "again": again})


def give_up(tx: Tx, turn: TurnId, error: str, now: datetime) -> None:
    """Give up the rows of a turn; `revive` undoes that for one row."""
    sql = """UPDATE inbox SET status = 'dead', last_error = ?, done_at = ?
             WHERE turn_id = ? AND status = 'claimed'"""
    tx.run(sql, (packed(error), now, turn))


def not_begun(tx: Tx, identifier: InboxId, error: str, due: datetime, *, dead: bool, now: datetime) -> None:
    """No turn could be made from a row: it waits until `due`, or is given up."""
    sql = """UPDATE inbox SET attempts = attempts + 1, last_error = ?, next_attempt_at = ?, alone = 1,
             status = iif(?, 'dead', status), done_at = iif(?, ?, done_at) WHERE id = ?"""
    tx.run(sql, (packed(error), due, int(dead), int(dead), now, identifier))
