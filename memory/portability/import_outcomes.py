"""The outcome of each imported record (the table `import_audit`), and undoing an import with it."""

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from memory import agents
from memory.knowledge import entry_changes
from memory.people.audience import OWNER
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, EntryId, snowflakes
from memory.store.row_mapper import RowMapper
from memory.store.sqlite import connect


class Outcome(Struct, frozen=True):
    """The outcome of one record. `became` is the table and the id of its row."""

    record: str
    outcome: str
    reason: str = ""
    became: str = ""


class PastImport(Struct, frozen=True):
    """One import: the kind of file, its digest, and how many records had which outcome, without those undone since."""

    source: str
    origin: str
    at: datetime
    carried: int
    changed: int
    refused: int


def note(tx: Tx, source: str, origin: str, outcome: Outcome, now: datetime) -> None:
    """Store the outcome of a record; that it was left out, once for a file that is imported again."""
    values = {**_outcome.values(outcome), "record": outcome.record[:300], "source": source, "origin": origin}
    sql = """SELECT 1 FROM import_audit WHERE source = :source AND record = :record AND origin = :origin
             AND outcome = :outcome AND reason = :reason"""
    if outcome.outcome == "refused" and tx.one(sql, values) is not None:
        return
    tx.insert("import_audit", {**values, "id": snowflakes.next(), "audience": OWNER, "at": now})


def holds(path: Path, origin: str) -> bool:
    """Whether a file was imported into a constellation, given the constellation's file."""
    with closing(connect(path, read_only=True)) as raw:
        rows = Rows(raw)
        known = rows.one("SELECT 1 FROM sqlite_schema WHERE name = 'import_audit'")
        return known is not None and rows.one("SELECT 1 FROM import_audit WHERE origin = ?", (origin,)) is not None


def carried(rows: Rows, source: str, record: str) -> bool:
    """Whether a record was imported before, in an import that was not undone."""
    sql = "SELECT 1 FROM import_audit WHERE source = ? AND record = ? AND became <> ''"
    return rows.one(sql, (source, record)) is not None


def past_imports(rows: Rows) -> list[PastImport]:
    sql = """SELECT source, origin, max(at) AS at, sum(outcome = 'carried' AND reason <> 'taken back') AS carried,
             sum(outcome = 'changed' AND reason <> 'taken back') AS changed, sum(outcome = 'refused') AS refused
             FROM import_audit GROUP BY source, origin ORDER BY max(id) DESC"""
    return _past.all(rows, sql)


def outcomes(rows: Rows, origin: str, limit: int) -> Iterator[Outcome]:
    """The outcomes of one import, in order."""
    sql = "SELECT record, outcome, reason, became FROM import_audit WHERE origin = ? ORDER BY id LIMIT +?"
    yield from _outcome.all(rows, sql, (origin, limit))


_past, _outcome = RowMapper(PastImport), RowMapper(Outcome)


def undo(tx: Tx, origin: str, now: datetime) -> int:
    """Undo an import: messages and entries are deleted, agents archived. Returns how many rows."""
    count = 0
    for row in tx.all("SELECT became FROM import_audit WHERE origin = ? AND became <> ''", (origin,)):
        table, _, identifier = str(row["became"]).partition(" ")
        match table:
            case "messages":
                count += tx.run("DELETE FROM messages WHERE id = ?", (int(identifier),))
            case "archival_entries":
                count += entry_changes.remove(tx, [EntryId(identifier)])
            case "agents":
                agents.set_status(tx, AgentId(identifier), "archived", now)
                count += 1
    tx.run("UPDATE import_audit SET became = '', reason = 'taken back' WHERE origin = ? AND became <> ''", (origin,))
    return count
