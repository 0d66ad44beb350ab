"""Erasing a person from one constellation: one unit of work over every registered store.

`bot.services.people.person_erasure` does this in all constellations, rewrites the files and looks for what is left.

Besides the person's own rows it erases what is recorded as derived from them: what agents said and wrote in the turns
that answered the person, and what tools quoted of them in other turns. A running turn is ended (the person's own) or
restarted (anybody else's), so that it cannot write old words back: every write for a turn calls `turns.require_current`
in the same transaction. Facts, summaries and sessions made from the erased messages go by triggers on `messages`, in
`migrations/constellation/`.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct

from memory import group_runs
from memory.blocks.store import index_blocks
from memory.erasure import personal_tables
from memory.erasure.blocks import remove_of_person, turns_of
from memory.people.audience import Audience, with_words_of
from memory.queue import messages, outbox, turns
from memory.queue.payloads import PAYLOAD, without
from memory.queue.steps import is_lasting
from memory.queue.turns import caused
from memory.store.database import Rows, Tx, Value
from memory.store.ids import ErasureId, MessageId, PersonId, TurnId
from memory.store.sqlite import Connection

_OF_ROWS = " UNION ".join(
    f"""SELECT u.turn_id FROM turn_uses u JOIN {table} r ON u.kind = '{kind}' AND r.id = CAST(u.row_id AS INTEGER)
        WHERE r.person_id = :person"""
    for kind, table in (("fact", "facts"), ("task", "tasks"), ("event", "activity_events"), ("item", "items"))
)
_FOUND = f"""SELECT u.turn_id FROM turn_uses u JOIN messages m ON u.kind = 'message' AND m.id = u.row_id
              WHERE m.person_id = :person AND m.role = 'user'
            UNION SELECT u.turn_id FROM turn_uses u JOIN archival_entries e ON u.kind = 'entry' AND e.id = u.row_id
              WHERE {with_words_of(":person", "e")}
            UNION SELECT u.turn_id FROM turn_uses u
              JOIN items s ON u.kind = 'summary' AND s.id = CAST(u.row_id AS INTEGER)
              JOIN messages m ON m.audience = s.audience AND (s.place_id IS NULL OR m.place_id = s.place_id)
                AND (m.id BETWEEN s.first_position AND s.last_position
                  OR m.batch_id BETWEEN s.first_position AND s.last_position)
              WHERE m.person_id = :person AND m.role = 'user'
            UNION SELECT turn_id FROM turn_uses
              WHERE kind = 'block' AND row_id IN (SELECT value FROM json_each(:blocks))
            UNION {_OF_ROWS}"""
"""The turns that used rows of a person, summaries of them, or blocks that had words of theirs."""


class ErasureResult(Struct, frozen=True):
    """What was there, what is left, how many answers of agents were emptied, and which turns restart."""

    before: dict[str, int]
    after: dict[str, int]
    answers: int
    moved: tuple[TurnId, ...]


def erase_here(tx: Tx, erasure: ErasureId, person: PersonId, now: datetime) -> ErasureResult:
    """Erase a person from this file; for a repeated erasure, erase what came since. Must be durable."""
    before = personal_tables.count_all(tx, person)
    moved = _running(tx)
    answers = _empty_answers(tx, person, remove_of_person(tx, person, now), now)
    _strip_names(tx, person)
    for store in personal_tables.STORES:
        store.erase(tx, person)
    begin_again(tx, _running(tx))
    for index in full_text_indexes(tx):
        tx.run(f"INSERT INTO {index} ({index}) VALUES ('rebuild')")
    values: dict[str, Value] = {"id": erasure, "person_id": person, "before": json.dumps(before), "answers": answers}
    if not tx.insert("erasures", {**values, "at": now}, ignore=True):
        row = tx.one("SELECT before, answers FROM erasures WHERE id = ?", (erasure,))
        first = json.loads(row["before"]) if row is not None else {}
        before = {store: max(count, first.get(store, 0)) for store, count in before.items()}
        answers += row["answers"] if row is not None else 0
    left = {store.name: len(store.export(tx, person)) for store in personal_tables.STORES}
    return ErasureResult(before, left, answers, moved)


def compact(raw: Connection) -> bool:
    """Rewrite the file without free pages and empty its write-ahead log; False while a reader keeps the log."""
    raw.execute("VACUUM")
    return empty_log(raw)


def empty_log(raw: Connection) -> bool:
    """Move the write-ahead log into the file and truncate it; False while a reader keeps it."""
    found = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return found is not None and found[0] == 0


def optimize(raw: Connection) -> int:
    """Merge the segments of the full-text indexes; returns the number of indexes."""
    found = full_text_indexes(Rows(raw))
    for index in found:
        raw.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")
    raw.execute("PRAGMA optimize").fetchall()
    return len(found)


def _running(rows: Rows) -> tuple[TurnId, ...]:
    return tuple(TurnId(row["id"]) for row in rows.all("SELECT id FROM turns WHERE status = 'running'"))


def _empty_answers(tx: Tx, person: PersonId, blocks: list[str], now: datetime) -> int:
    """Empty what agents said in turns that answered the person, what they were told of the person's doing, and what
    tools quoted of them in other turns. Returns how many of these were answers.

    Only recorded links count: answers to others stay, whatever they say.
    """
    theirs = json.dumps(caused(tx, turns_of(tx, person)))
    sql = f"""SELECT id, role = 'assistant' AND content <> '' AS answered FROM messages WHERE agent_id IS NOT NULL
                AND (person_id = :person OR batch_id IN (SELECT value FROM json_each(:turns))
                  OR (role = 'tool' AND batch_id IN ({_FOUND})))
              UNION SELECT message_id, 0 FROM inbox
                WHERE kind = 'event' AND person_id = :person AND message_id IS NOT NULL"""
    values: dict[str, Value] = {"person": person, "turns": theirs, "blocks": blocks}
    holding = {MessageId(row["id"]): row["answered"] for row in tx.all(sql, values)}
    outbox.forget(tx, holding)
    messages.redact(tx, holding, now)
    return sum(holding.values())


def _strip_names(tx: Tx, person: PersonId) -> None:
    """Remove the person from other people's payloads: quotes in waiting rows, lists of names."""
    spoken = tx.all("SELECT DISTINCT speaker FROM messages WHERE person_id = ? AND role = 'user'", (person,))
    names = [str(row["speaker"]) for row in spoken if row["speaker"]]
    holding = "SELECT id FROM memory_blocks WHERE EXISTS (SELECT 1 FROM json_each(?) WHERE instr(profile, value))"
    for row in tx.all(holding, (names,)):
        tx.run("UPDATE memory_blocks SET profile = '' WHERE id = ?", (row["id"],))  # filled again, without them
        index_blocks(tx, row["id"])
    waiting = tx.all("SELECT id, payload FROM inbox WHERE payload <> '{}' AND person_id IS NOT ?", (person,))
    for row in waiting:
        payload = PAYLOAD.read(row["payload"])
        if (stripped := without(payload, names)) != payload:
            tx.run("UPDATE inbox SET payload = ? WHERE id = ?", (PAYLOAD.dump(stripped), row["id"]))


def begin_again(tx: Tx, running: Iterable[TurnId]) -> None:
    """Restart running turns, unless they did something that must not happen twice."""
    for identifier in running:
        turn = turns.get(tx, identifier)
        steps = turns.steps(tx, identifier)
        if (
            turn is None
            or turn.status != "running"
            or outbox.anything_said(tx, identifier)
            or group_runs.acted(tx, identifier)
            or any(is_lasting(step.body) for step in steps)
        ):
            continue
        answers = turn.id if turn.parent is None else group_runs.run_of(tx, turn.id)
        asked = tx.all("SELECT message_id FROM inbox WHERE turn_id = ? AND message_id IS NOT NULL", (answers,))
        group_runs.drop_parts(tx, turn.id)
        turns.restart(tx, turn, [MessageId(row["message_id"]) for row in asked])


def full_text_indexes(rows: Rows) -> list[str]:
    """The file's full-text indexes: each keeps words of deleted rows until it is rebuilt."""
    found = rows.all("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%USING fts5%' ORDER BY name")
    return [str(row["name"]) for row in found]


# ------------------------------------------------------------------------- accounts that are not one person's any more


_KEPT = (
    ("places", "true"),
    ("turns", "status IN ('running', 'suspended')"),
    ("permission_requests", "status IN ('waiting', 'approved')"),
)
"""The tables that store what hearers may know: places, running turns, and what waits."""


def separate(tx: Tx, linked: Callable[[Audience], Collection[Audience]]) -> tuple[TurnId, ...]:
    """After accounts were unlinked, limit what hearers of one account may know to what `linked` gives for it now.

    Turns that knew more restart, unless they did something that must not happen twice. Returns those turns. Repeating
    it changes nothing. Must be durable.
    """
    changed: list[TurnId] = []
    for table, row, left in list(_too_wide(tx, linked)):
        tx.run(f"UPDATE {table} SET within = ? WHERE id = ?", (json.dumps(left), row))
        changed += [TurnId(row)] if table == "turns" else []
    begin_again(tx, changed)
    return tuple(changed)


def must_separate(rows: Rows, linked: Callable[[Audience], Collection[Audience]]) -> bool:
    """Whether `separate` would change anything."""
    return next(_too_wide(rows, linked), None) is not None


def _too_wide(
    rows: Rows, linked: Callable[[Audience], Collection[Audience]]
) -> Iterator[tuple[str, Any, list[Audience]]]:
    """Rows whose hearers may know too much: table, id, and what they may still know."""
    for table, condition in _KEPT:
        found = rows.all(f"""SELECT id, audience, within FROM {table} WHERE within LIKE '%"person:%' AND {condition}""")
        for row in found:
            known, now = json.loads(row["within"]), linked(Audience(row["audience"]))
            left = [each for each in known if not each.startswith("person:") or each in now]
            if left != known:
                yield table, row["id"], left
