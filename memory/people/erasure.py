"""Erasing a person from one constellation: one unit of work over every registered store.

Beside what the stores hold about the person it takes along what was derived from their words and belongs to nobody
else: what agents said in their turns, and what agents found or repeated of theirs in the turns of others. A turn that
runs meanwhile is ended (the person's own) or begun again (another's), so that it cannot write old words back: whoever
writes for a turn asks `turns.require_current` in the same transaction.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from memory import groups, messages, outbox, turns
from memory.blocks.following import unwrite_person
from memory.clock import to_text
from memory.database import Rows, Tx, Value
from memory.fulltext import content_words
from memory.ids import ErasureId, MessageId, PersonId, TurnId
from memory.late_indexes import index_waiting
from memory.people import persons
from memory.sqlite import Connection

_USED = """SELECT u.turn_id, m.content FROM turn_uses u JOIN messages m ON u.kind = 'message' AND m.id = u.row_id
             WHERE m.person_id = :person AND m.role = 'user'
           UNION SELECT u.turn_id, e.content FROM turn_uses u
             JOIN archival_entries e ON u.kind = 'entry' AND e.id = u.row_id WHERE e.person_id = :person
           UNION SELECT u.turn_id, b.profile || ' ' || b.content FROM turn_uses u
             JOIN memory_blocks b ON u.kind = 'block' AND b.id = u.row_id WHERE b.person_id = :person
           UNION SELECT u.turn_id, m.content FROM turn_uses u
             JOIN summary_texts s ON u.kind = 'summary' AND s.id = u.row_id
             JOIN messages m ON m.audience = s.audience AND (s.place_id IS NULL OR m.place_id = s.place_id)
               AND (m.id BETWEEN s.start_position AND s.end_position
                 OR m.batch_id BETWEEN s.start_position AND s.end_position)
             WHERE m.person_id = :person AND m.role = 'user'"""
"""The turns that used words of a person, with those words."""


@dataclass(frozen=True)
class Erased:
    """What was there, what is left, how many messages of agents were emptied, and the turns that look again."""

    before: dict[str, int]
    after: dict[str, int]
    answers: int
    moved: tuple[TurnId, ...]


def erase_here(tx: Tx, erasure: ErasureId, person: PersonId, now: datetime) -> Erased:
    """Erase a person from this file; doing it again for the same erasure erases what came since. Must be durable."""
    before = persons.count_all(tx, person)
    moved = _running(tx)
    unwrite_person(tx, person, now)
    answers = _empty_answers(tx, person, now)
    _strip_names(tx, person)
    for store in persons.STORES:
        store.erase(tx, person)
    begin_again(tx, _running(tx))
    index_waiting(tx)  # what would be indexed later is in the row by now, and would be twice
    for index in full_text_indexes(tx):
        tx.run(f"INSERT INTO {index} ({index}) VALUES ('rebuild')")
    values: dict[str, Value] = {"id": erasure, "person_id": person, "before": json.dumps(before), "answers": answers}
    if not tx.insert("erasures", {**values, "at": to_text(now)}, ignore=True):
        row = tx.one("SELECT before, answers FROM erasures WHERE id = ?", (erasure,))
        first = json.loads(row["before"]) if row is not None else {}
        before = {store: max(count, first.get(store, 0)) for store, count in before.items()}
        answers += row["answers"] if row is not None else 0
    return Erased(before, persons.count_all(tx, person), answers, moved)


def compact(raw: Connection) -> bool:
    """Write the file anew without freed pages and empty its write-ahead log; False while a reader keeps the log."""
    raw.execute("VACUUM")
    return empty_log(raw)


def empty_log(raw: Connection) -> bool:
    """Move the write-ahead log into the file and cut it to nothing; False while a reader keeps it."""
    found = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return found is not None and found[0] == 0


def optimise(raw: Connection) -> int:
    """Merge what full-text indexes keep in pieces; how many there are."""
    found = full_text_indexes(Rows(raw))
    for index in found:
        raw.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")
    raw.execute("PRAGMA optimize").fetchall()
    return len(found)


def _running(rows: Rows) -> tuple[TurnId, ...]:
    return tuple(TurnId(row["id"]) for row in rows.all("SELECT id FROM turns WHERE status = 'running'"))


def _empty_answers(tx: Tx, person: PersonId, now: datetime) -> int:
    """Empty what agents said in the person's turns, and what they found or repeated of theirs in turns of others."""
    theirs = "SELECT id FROM messages WHERE person_id = ? AND agent_id IS NOT NULL AND deleted_at IS NULL"
    holding = {MessageId(row["id"]) for row in tx.all(theirs, (person,))}
    for used in tx.all(_USED, {"person": person}):
        words = set(content_words(used["content"]))
        said = """SELECT id, role, content, tool_args FROM messages
                  WHERE batch_id = ? AND agent_id IS NOT NULL AND deleted_at IS NULL"""
        for row in tx.all(said, (used["turn_id"],)):
            if not words.isdisjoint(content_words(f"{row['content']} {row['tool_args'] or ''}")):
                holding.add(MessageId(row["id"]))
    outbox.forget(tx, holding)
    return messages.redact(tx, holding, now)


def _strip_names(tx: Tx, person: PersonId) -> None:
    """Take the person out of what others brought with them: quotations that wait for an answer, lists of names."""
    spoken = tx.all("SELECT DISTINCT speaker FROM messages WHERE person_id = ? AND role = 'user'", (person,))
    names = [str(row["speaker"]) for row in spoken if row["speaker"]]
    for name in names:
        tx.run("UPDATE memory_blocks SET profile = '' WHERE instr(profile, ?)", (name,))  # comes again, without them
    waiting = tx.all("SELECT id, payload FROM inbox WHERE payload <> '{}' AND person_id IS NOT ?", (person,))
    for row in waiting:
        payload = json.loads(row["payload"])
        stripped = dict(payload)
        if payload.get("quoted", {}).get("speaker") in names:
            del stripped["quoted"]
        if "background" in payload:
            stripped["background"] = _others_lines(payload["background"], names)
        if stripped != payload:
            text = json.dumps(stripped, ensure_ascii=False)
            tx.run("UPDATE inbox SET payload = ? WHERE id = ?", (text, row["id"]))


def _others_lines(lines: Iterable[str], names: list[str]) -> list[str]:
    return [line for line in lines if not line.startswith(tuple(f"{name}:" for name in names))]


def begin_again(tx: Tx, running: Iterable[TurnId]) -> None:
    """Let turns that run begin again, unless they did something that cannot be done twice."""
    for identifier in running:
        turn = turns.get(tx, identifier)
        steps = turns.steps(tx, identifier)
        if (
            turn is None
            or turn.status != "running"
            or outbox.anything_said(tx, identifier)
            or groups.acted(tx, identifier)
            or any(turns.is_lasting(step) for step in steps)
        ):
            continue
        answers = turn.id if turn.parent is None else groups.run_of(tx, turn.id)
        asked = tx.all("SELECT message_id FROM inbox WHERE turn_id = ? AND message_id IS NOT NULL", (answers,))
        groups.drop_parts(tx, turn.id)
        again = turns.restart(tx, turn)
        turns.add_joined(tx, again, [MessageId(row["message_id"]) for row in asked], again.started_at)


def full_text_indexes(rows: Rows) -> list[str]:
    """The full-text indexes of the file: each keeps words of deleted rows until it is rebuilt."""
    found = rows.all("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%USING fts5%' ORDER BY name")
    return [str(row["name"]) for row in found]
