"""Which tables and rows of a constellation go into an export: all but derived ones.

The tables and columns come from the schema. This module adds what the schema cannot say: what is derived, what is work
in progress, and how the rows of one agent are found.
"""

import json
from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct

from memory.store.database import Rows, Value
from memory.store.ids import AgentId, GroupId

DERIVED = frozenset(
    [
        "migration_checksums", "vector_models", "vector_spaces", "vectors", "vector_numbers", "vector_queue",
        "dream_changes", "import_state", "import_audit", "budget_reservations", "pairing_codes",
    ]
)  # fmt: skip
"""Indexes, the indexer's queues, records about the file itself, and data that lasts only minutes."""
DERIVED_COLUMNS = frozenset({("memory_blocks", "search_text")})
"""Derived from the imported rows."""
CONVERSATION = frozenset(
    [
        "messages", "message_files", "inbox", "outbox", "turns", "turn_steps", "turn_uses", "follow_ups",
        "group_runs", "group_parts", "agent_messages", "activity_events", "agent_presence", "model_usage",
        "permission_requests", "permission_votes", "permission_audit", "sessions", "passed_over", "gaps",
    ]
)  # fmt: skip
"""What a thin export leaves out."""
SETTLED: Mapping[tuple[str, str], str] = {
    ("outbox", "status"): "iif(status IN ('pending', 'sending'), 'withdrawn', status)",
    ("inbox", "status"): "iif(status IN ('received', 'claimed'), 'done', status)",
    ("turns", "status"): "iif(status IN ('running', 'suspended'), 'cancelled', status)",
    ("group_parts", "status"): "iif(status = 'running', 'failed', status)",
    ("permission_requests", "status"): "iif(status IN ('waiting', 'approved'), 'withdrawn', status)",
    ("jobs", "held_until"): "NULL",
    ("jobs", "holder"): "NULL",
    ("jobs", "asked_at"): "NULL",
    ("jobs", "attempts"): "0",
}
"""Work in progress, as it is exported and imported: otherwise it would be done in both places."""

REGISTRY = ("users", "user_identities", "privacy_choices")
"""Tables of global.db that belong to a constellation: accounts, their links, and people's choices."""
_AGENTS, _GROUPS = "(SELECT value FROM json_each(:agents))", "(SELECT value FROM json_each(:groups))"
_SPECIAL = {
    "messages": f"agent_id IN {_AGENTS} OR agent_id IS NULL AND batch_id IN (SELECT id FROM turns WHERE {{turns}})",
    "agents": f"id IN {_AGENTS}",
    "agent_groups": f"id IN {_GROUPS}",
    "agent_messages": f"from_agent IN {_AGENTS}",
    "archival_journal": "entry_id IN (SELECT id FROM archival_entries WHERE {archival_entries})",
    "entry_expansions": "source_id IN (SELECT id FROM archival_entries WHERE {archival_entries})",
    "memory_block_quarantine": "block_id IN (SELECT id FROM memory_blocks WHERE {memory_blocks})",
    "jobs": """id IN (SELECT 'reminder:' || id FROM reminders WHERE {reminders}
        UNION SELECT 'reminder:' || id || ':later' FROM reminders WHERE {reminders}
        UNION SELECT 'event:' || id FROM events WHERE {events})""",
}
"""The rows of some agents and groups, for tables where neither `agent_id` nor a reference says it."""
_NEEDED = ("turns", "archival_entries", "memory_blocks", "reminders", "events")


class ExportScope(Struct, frozen=True):
    """What is exported: everything, or some agents with their groups."""

    agents: tuple[AgentId, ...] | None = None
    groups: tuple[GroupId, ...] = ()
    thin: bool = False

    @property
    def parameters(self) -> dict[str, Value]:
        return {"agents": json.dumps(self.agents or ()), "groups": json.dumps(self.groups)}


class Table(Struct, frozen=True, dict=True):
    """A table of the schema, and how its rows are read for an export."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    references: Mapping[str, tuple[str, str]]
    """Columns that refer to another table: its name, and the column there."""
    optional: frozenset[str]
    """Columns that may be NULL."""

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns that identify a row in every file."""
        return self.key if set(self.key) <= set(self.columns) else ("id",)

    @cached_property
    def selected(self) -> str:
        return ", ".join(SETTLED.get((self.name, each), each) for each in self.columns)


def tables(rows: Rows) -> dict[str, Table]:
    """The tables of a constellation's file with data of their own, by name."""
    found = rows.all("PRAGMA table_list")
    names = sorted(str(row["name"]) for row in found if row["type"] == "table" and row["schema"] == "main")
    return {name: _table(rows, name) for name in names if name not in DERIVED and not name.startswith("sqlite_")}


def registry_tables(rows: Rows) -> dict[str, Table]:
    """The tables of global.db that belong to a constellation."""
    return {name: _table(rows, name) for name in REGISTRY}


def _table(rows: Rows, name: str) -> Table:
    columns = [row for row in rows.all(f"PRAGMA table_xinfo({name})") if not row["hidden"]]
    key = tuple(str(row["name"]) for row in sorted(columns, key=lambda row: int(row["pk"])) if row["pk"])
    names = [str(row["name"]) for row in columns]
    numbered = key == ("n",) and "id" in names  # the number is of this file alone
    return Table(
        name,
        tuple(each for each in names if (name, each) not in DERIVED_COLUMNS and not (numbered and each == "n")),
        key,
        {
            str(row["from"]): (str(row["table"]), str(row["to"] or "id"))
            for row in rows.all(f"PRAGMA foreign_key_list({name})")
        },
        frozenset(str(row["name"]) for row in columns if not row["notnull"] and not row["pk"]),
    )


def conditions(found: Mapping[str, Table], part: ExportScope) -> dict[str, str]:
    """For each exported table, the SQL condition for its rows; with `ExportScope.parameters`."""
    left = {name: table for name, table in found.items() if not (part.thin and name in CONVERSATION)}
    if part.agents is None:
        return dict.fromkeys(left, "1")
    if not part.groups:
        del left["agent_groups"]
    made: dict[str, str] = {}
    while more := _told(left, made, final=False) or _told(left, made, final=True):
        made |= more
    return {name: made[name] for name in left if name in made}


def _told(found: Mapping[str, Table], made: Mapping[str, str], *, final: bool) -> dict[str, str]:
    """The conditions that can be made now, given those in `made`; `final` if no others will follow."""
    told = {}
    for name, table in found.items():
        if name not in made and (terms := _terms(table, made, final)):
            told[name] = " AND ".join(f"({each})" for each in terms)
    return told


def _terms(table: Table, made: Mapping[str, str], final: bool) -> list[str] | None:
    """The terms of a table's condition; None if there are none, or not yet."""
    terms, unset = [], []
    if (special := _SPECIAL.get(table.name)) is not None:
        needed = [each for each in _NEEDED if f"{{{each}}}" in special]
        if any(each not in made for each in needed):
            return None
        terms.append(special.format_map({each: f"({made[each]})" for each in needed}))
    elif "agent_id" in table.columns:
        terms.append(f"agent_id IN {_AGENTS}")
    for column, (other, key) in table.references.items():
        if other == table.name:
            continue
        if other in made:
            within = f"{column} IN (SELECT {key} FROM {other} WHERE {made[other]})"
            terms.append(f"{column} IS NULL OR {within}" if column in table.optional else within)
        elif column not in table.optional or not final:
            return None
        else:
            unset.append(f"{column} IS NULL")
    return [*terms, *unset] if terms else None
