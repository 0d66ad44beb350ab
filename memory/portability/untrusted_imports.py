"""What an import takes away from a file that is not trusted: rights, schedules, links of accounts, trust in its words.

`memory.portability.imports` applies it unless the file is trusted: `_finish` calls `distrust`, and `registry_rows`
leaves out the tables of `TRUSTED_ALONE`.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeAlias

from memory import jobs
from memory.agent_groups import groups
from memory.agents import NAME, every_agent
from memory.blocks.document import BlobKind
from memory.blocks.history import archived
from memory.blocks.schemas import parse_schema
from memory.blocks.store import blobs, load_block
from memory.people.audience import OWNER, Scope, Trust, parse_audience
from memory.portability.car import CarError
from memory.portability.exported_tables import tables
from memory.store.database import Rows, Tx, Value
from memory.store.errors import BlockCorrupt, StoreError
from texts import ngettext, ngettext_noop

TRUSTED_ALONE = frozenset({"users", "user_identities"})
"""Tables of global.db that only a trusted file gives: links give one account the rights of another."""
_UNTRUSTED = (
    (
        ngettext_noop("{count} lasting permission is not active", "{count} lasting permissions are not active"),
        "UPDATE permission_grants SET revoked_at = :now WHERE revoked_at IS NULL",
    ),
    (
        ngettext_noop("{count} source is paused", "{count} sources are paused"),
        "UPDATE data_sources SET enabled = 0 WHERE enabled = 1",
    ),
    (
        ngettext_noop("{count} person has to be allowed again", "{count} people have to be allowed again"),
        "DELETE FROM people_rules WHERE rule = 'allow'",
    ),
    (
        ngettext_noop(
            "{count} folder on this machine is not attached", "{count} folders on this machine are not attached"
        ),
        "DELETE FROM folder_attachments WHERE folder_id IN (SELECT id FROM folders WHERE path_type = 'local')",
    ),
    (
        ngettext_noop(
            "{count} folder is searched by words only; `carina folder embedder` changes that",
            "{count} folders are searched by words only; `carina folder embedder` changes that",
        ),
        "UPDATE folders SET embedding_model = 'none' WHERE embedding_model NOT IN ('', 'none', 'packaged')",
    ),
    (  # the entries before them have a trust of their own, and their columns become part of a statement
        ngettext_noop(
            "{count} entry change made overnight cannot be undone",
            "{count} entry changes made overnight cannot be undone",
        ),
        "DELETE FROM archival_journal",
    ),
    (
        ngettext_noop(
            "{count} of Carina's own jobs is scheduled again", "{count} of Carina's own jobs are scheduled again"
        ),
        "DELETE FROM jobs WHERE id = kind",
    ),
    (
        ngettext_noop(
            "{count} job or reminder is paused; `carina jobs resume` resumes it",
            "{count} jobs and reminders are paused; `carina jobs resume` resumes them",
        ),
        f"UPDATE jobs SET status = 'paused', last_detail = '{jobs.IMPORTED}' WHERE status = 'active'",
    ),
)
"""What is not taken over from an untrusted file; each with its note and its statement."""
_STRANGERS = ngettext_noop(
    "{count} record is treated as written by a stranger", "{count} records are treated as written by strangers"
)
_UNLINKED = ngettext_noop("{count} account has to be linked again", "{count} accounts have to be linked again")
_CELLS = """SELECT t.name, c.name, CASE
                WHEN c.name = 'audience' THEN 'audience'
                WHEN c.name = 'trigger_json' THEN 'trigger'
                WHEN c.name = 'zone' THEN 'zone'
                WHEN c.name IN ('grace_seconds', 'escalate_minutes', 'reminder_minutes') THEN 'span'
                WHEN c.name LIKE 'quiet!_%' ESCAPE '!' THEN 'hour'
                WHEN c.dflt_value = '''[]''' THEN 'array'
                WHEN c.dflt_value = '''{}''' THEN 'object'
                WHEN c.name IN ('at', 'since', 'away_since', 'held_until', 'last_active', 'last_seen', 'valid_until')
                     OR c.name LIKE '%!_at' ESCAPE '!' THEN 'time'
            END AS kind
            FROM sqlite_schema t JOIN pragma_table_xinfo(t.name) c WHERE t.type = 'table' AND kind IS NOT NULL"""
_JSON = "iif(json_valid({{0}}), json_type({{0}}) <> '{}', TRUE)"
_BAD = {
    "time": "({0} < '0001' OR strftime('%Y-%m-%dT%H:%M:%fZ', {0}) IS NOT {0})",
    "array": _JSON.format("array"),
    "object": _JSON.format("object"),
    "span": "{0} NOT BETWEEN 0 AND 1e9",
    "hour": "({0} <> '' AND strftime('%H:%M', {0}) IS NOT {0})",
}
"""The condition of a cell that is not of its kind."""
_MOST_CHANGES = 1 << 40
"""The most changes of a block: one more than an integer holds could never be followed by another."""
Checks: TypeAlias = Mapping[str, Callable[[str], object]]
"""What is called with each value of a kind of cells. It raises ValueError or StoreError for one it cannot read."""


def require_readable(rows: Rows, checks: Checks) -> None:
    """Raise CarError for values that the schema accepts but nothing can read: each would stop its constellation."""
    try:
        for table, column, kind in rows.all(_CELLS):
            _require_cells(rows, table, column, kind, {"audience": parse_audience, **checks}.get(kind))
        if rows.one(f"SELECT 1 FROM items WHERE kind IN ('day', 'week') AND {_BAD['time'].format('key')} LIMIT 1"):
            raise ValueError("items.key")
        if rows.one("SELECT 1 FROM memory_blocks WHERE next_seq NOT BETWEEN 1 AND ? LIMIT 1", (_MOST_CHANGES,)):
            raise ValueError("memory_blocks.next_seq")
        agents = every_agent(rows)
        for agent in agents:
            _ = agent.consent
        for name in (*(each.name for each in agents), *(each.name for each in groups(rows))):
            if not re.fullmatch(NAME, name):
                raise ValueError(repr(name[:80]))
        for row in rows.all("SELECT DISTINCT schema FROM memory_blocks"):
            parse_schema(row["schema"])
    except (StoreError, LookupError, TypeError, ValueError) as error:
        raise CarError("the file contains records that are not valid: {error}", error=error) from error


def _require_cells(rows: Rows, table: str, column: str, kind: str, check: Callable[[str], object] | None) -> None:
    """Raise ValueError if the column has anything but values of that kind."""
    if check is not None:
        for row in rows.all(f"SELECT DISTINCT {column} FROM {table}"):
            if row[0] or kind == "trigger":  # others may be empty
                try:
                    check(row[0])
                except (StoreError, ValueError) as error:
                    raise ValueError(f"{row[0][:80]!r} in {table}.{column}") from error
    elif rows.one(f"SELECT 1 FROM {table} WHERE {column} IS NOT NULL AND {_BAD[kind].format(column)} LIMIT 1"):
        raise ValueError(f"{table}.{column}")


def require_times(tx: Tx, table: str, row: Mapping[str, Value]) -> None:
    """Raise ValueError if a row has an invalid time."""
    for name, value in row.items():
        is_time = name == "since" or name.endswith("_at")
        if is_time and tx.one(f"SELECT 1 WHERE {_BAD['time'].format(':at')}", {"at": value}):
            raise ValueError(f"{table}.{name}")


def require_sound_blocks(rows: Rows) -> None:
    """Raise CarError for a block whose text or past Loro cannot read: it would start again, without its past."""
    for row in rows.all("SELECT id, label, audience FROM memory_blocks"):
        try:
            load_block(rows, row["id"], None).history()
            archives = blobs(rows, BlobKind.ARCHIVE, row["id"])
            for count in range(len(archives)):
                archived(archives[: count + 1])
        except BlockCorrupt as error:
            raise CarError(
                "the block “{block}” in the file is damaged: {error}. Where it was exported, `carina memory verify "
                "--repair` rebuilds it; then export it again",
                block=(row["label"] if Scope(OWNER).may_use(row["audience"]) else row["id"])[:80],
                error=error,
            ) from error


def distrust(tx: Tx, now: datetime, links: int) -> list[str]:
    """Take trust from the imported rows; returns a note for each kind, also of the `links` that were left out."""
    counts = [(told, tx.run(sql, {"now": now} if ":now" in sql else {})) for told, sql in _UNTRUSTED]
    counts += [(_STRANGERS, _lower_trust(tx)), (_UNLINKED, links)]
    return [ngettext(*told, count) for told, count in counts if count]


def _lower_trust(tx: Tx) -> int:
    """Lower the trust of every row to that of a web page, whoever it is by; returns how many rows changed.

    With OR ROLLBACK, SQLite keeps no copy, in memory, of the rows that the statement changes.
    """
    held = [each.name for each in tables(tx).values() if "trust" in each.columns and "trust" not in each.key]
    sql = "UPDATE OR ROLLBACK {} SET trust = ? WHERE trust > ?"
    return sum(tx.run(sql.format(name), (Trust.WEB, Trust.WEB)) for name in held)
