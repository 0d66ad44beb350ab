"""Stored runs: what each did to which entry, how far each pass has come, and how many entries may still be retired."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from memory.knowledge import entry_changes
from memory.knowledge.entries import WHOLE, Entry, to_entry
from memory.knowledge.upkeep.planned_changes import Mark, Part, Pass
from memory.people.audience import Audience, Scope
from memory.store.database import Rows, Tx, Value
from memory.store.ids import AgentId, EntryId, PersonId, new_id
from memory.store.records import replace
from memory.store.row_mapper import RowMapper
from texts import packed, unpacked

KEPT = timedelta(days=90)
"""How long retired entries can be restored and runs are kept."""
WEEK = timedelta(days=7)
_LEAST, _PASS_PERCENT, _WEEK_PERCENT = 3, 5, 10


class Run(Struct, frozen=True):
    """One run: `notes` say what was skipped and why; `retired` and the other counts are of all agents together."""

    id: str
    at: datetime
    outcome: str
    notes: tuple[str, ...]
    retired: int
    made: int
    refined: int
    related: int
    """Relations that the run read out of entries and that still exist."""


class Item(Struct, frozen=True):
    """What a run did to one entry; `content` is its current text, `into` the entry that it was merged into."""

    n: int
    agent: AgentId
    of: Pass
    action: str
    entry: EntryId
    into: EntryId | None
    content: str
    category: str
    tags: tuple[str, ...]
    before: dict[str, Any]
    after: str
    audience: Audience
    waiting: bool


# -------------------------------------------------------------------------------------------------------------- marks


def mark_of(rows: Rows, of: Pass, part: Part) -> int:
    """How far a pass has come in a part; 0 before its first run."""
    sql = "SELECT mark FROM dream_marks WHERE pass = ? AND agent_id = ? AND audience = ? AND trust = ?"
    return rows.number(sql, (of, part.agent, part.audience, int(part.trust)))


def put_mark(tx: Tx, mark: Mark, now: datetime) -> None:
    """Store how far a pass has come; a mark never goes back."""
    part = mark.part
    values: dict[str, Value] = {"pass": mark.of, "agent_id": part.agent, "audience": part.audience}
    values |= {"trust": int(part.trust), "mark": mark.position, "at": now}
    sql = """INSERT INTO dream_marks (pass, agent_id, audience, trust, mark, at)
             VALUES (:pass, :agent_id, :audience, :trust, :mark, :at)
             ON CONFLICT DO UPDATE SET mark = max(mark, excluded.mark), at = excluded.at"""
    tx.run(sql, values)


# --------------------------------------------------------------------------------------------------------------- runs


def begin_run(tx: Tx, now: datetime, outcome: str, notes: tuple[str, ...]) -> str:
    """Record a run, "refused" if its plan would have broken a promise; returns its id."""
    run = new_id("drm")
    tx.insert("dream_runs", {"id": run, "at": now, "outcome": outcome, "notes": notes_text(notes)})
    return run


def notes_text(notes: tuple[str, ...]) -> str:
    return json.dumps([packed(note) for note in notes], ensure_ascii=False)


_RUNS = """SELECT r.*, coalesce(sum(t.retired), 0) AS retired, coalesce(sum(t.made), 0) AS made,
           coalesce(sum(t.refined), 0) AS refined,
           (SELECT count(*) FROM graph_triples g WHERE g.run_id = r.id) AS related
           FROM dream_runs r LEFT JOIN dream_tallies t ON t.run_id = r.id"""


def runs(rows: Rows, limit: int) -> list[Run]:
    return _run.all(rows, f"{_RUNS} GROUP BY r.id ORDER BY r.at DESC, r.id DESC LIMIT +?", (limit,))


def latest_run(rows: Rows) -> Run | None:
    return next(iter(runs(rows, 1)), None)


def latest_seen(rows: Rows, scope: Scope) -> Run | None:
    """The newest run with changes that the scope may know; other runs are not revealed there."""
    having = "WHERE r.id IN (SELECT i.run_id FROM dream_items i WHERE KNOWN(i.audience)) GROUP BY r.id"
    return _run.first(rows, *scope.bind(f"{_RUNS} {having} ORDER BY r.at DESC, r.id DESC LIMIT 1"))


def newest_done(rows: Rows) -> Run | None:
    """The newest run that changed something and was not undone."""
    having = "GROUP BY r.id HAVING r.outcome = 'done' AND retired + made + refined + related > 0"
    return _run.first(rows, f"{_RUNS} {having} ORDER BY r.at DESC, r.id DESC LIMIT 1")


_run = RowMapper(Run, notes=lambda row: tuple(map(unpacked, json.loads(row["notes"]))))


def items_of(rows: Rows, run: str) -> list[Item]:
    """Everything a run did, for undoing it; without entries that were deleted since."""
    sql = f"{_ITEMS} WHERE i.run_id = ? ORDER BY i.n"
    return _item.all(rows, sql, (run,))


def reported(rows: Rows, run: str, scope: Scope, limit: int) -> tuple[list[Item], int]:
    """What a run did as far as the scope may know it, and the number of changes that it may not know."""
    told = f"{_ITEMS} WHERE i.run_id = ? AND KNOWN(i.audience) ORDER BY i.n LIMIT +?"
    others = "SELECT count(*) FROM dream_items i WHERE i.run_id = ? AND NOT KNOWN(i.audience)"
    return _item.all(rows, *scope.bind(told, run, limit)), rows.number(*scope.bind(others, run))


_ITEMS = """SELECT i.*, e.content, e.category, e.tags,
            coalesce(json_extract(e.metadata, '$.requires_user_permission'), 0) AS waiting
            FROM dream_items i JOIN archival_entries e ON e.id = i.entry_id"""


_item = RowMapper(Item, of="pass")


def forget_runs(tx: Tx, before: datetime) -> int:
    """Delete runs from before then with all their records; returns how many."""
    tx.run("DELETE FROM dream_items WHERE run_id IN (SELECT id FROM dream_runs WHERE at < ?)", (before,))
    tx.run("DELETE FROM dream_tallies WHERE run_id IN (SELECT id FROM dream_runs WHERE at < ?)", (before,))
    return tx.run("DELETE FROM dream_runs WHERE at < ?", (before,))


def living(rows: Rows, agent: AgentId) -> int:
    return rows.number(f"SELECT count(*) FROM archival_entries WHERE agent_id = ? AND {WHOLE}", (agent,))


def allowance(rows: Rows, agent: AgentId, now: datetime) -> int:
    """How many entries of an agent may be retired now: 5 % per run and 10 % in any seven days, at least 3 in both."""
    standing = living(rows, agent)
    sql = """SELECT coalesce(sum(t.retired), 0) FROM dream_tallies t JOIN dream_runs r ON r.id = t.run_id
             WHERE t.agent_id = ? AND r.at > ? AND r.outcome = 'done'"""
    in_week = max(_LEAST, standing * _WEEK_PERCENT // 100) - rows.number(sql, (agent, now - WEEK))
    return max(0, min(max(_LEAST, standing * _PASS_PERCENT // 100), in_week))


# ------------------------------------------------------------------------------------------- what waits for its person


FLAG = "requires_user_permission"
_PERMITTED = "permitted"
_ALL = f"""SELECT * FROM archival_entries WHERE archived_at IS NOT NULL AND superseded_by IS NULL
    AND json_extract(metadata, '$.{FLAG}') = 1 AND person_id IS NOT NULL"""
_WAITING = f"{_ALL} AND person_id IN (SELECT value FROM json_each(?))"


def pending_of_people(rows: Rows, people: Sequence[PersonId]) -> list[Entry]:
    """What waits for one of these people, oldest first."""
    return to_entry.all(rows, f"{_WAITING} ORDER BY n", (list(people),))


def pending_of_run(rows: Rows, run: str) -> list[Entry]:
    """What a run inferred that waits for approval, of everybody: for those who are asked."""
    sql = f"{_ALL} AND id IN (SELECT entry_id FROM dream_items WHERE run_id = ? AND action = 'made') ORDER BY n"
    return to_entry.all(rows, sql, (run,))


def pending_of_id(rows: Rows, identifier: EntryId) -> Entry | None:
    """One that still waits, for the card that asks its person."""
    return to_entry.first(rows, f"{_ALL} AND id = ?", (identifier,))


def answer_pending(tx: Tx, identifier: str, people: Sequence[PersonId], *, yes: bool) -> Entry | None:
    """Approve or forget one that waits; None if nothing of these people waits under that id."""
    entry = to_entry.first(tx, f"{_WAITING} AND id = ?", (list(people), identifier))
    if entry is None:
        return None
    if not yes:
        entry_changes.remove(tx, [entry.id])
        return entry
    entry_changes.restore(tx, [entry.id])
    return entry_changes.store(tx, replace(entry, metadata={**entry.metadata, FLAG: False, _PERMITTED: True}), None)


def is_permitted(entry: Entry) -> bool:
    """Whether its person has approved it."""
    return bool(entry.metadata.get(_PERMITTED))
