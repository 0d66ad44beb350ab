"""Every store that holds something about a person, in one list: what an export, an erasure or a count goes through.

A test walks the schema and fails for a table with content that stands in no entry here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from memory import (
    activity,
    admission,
    archival,
    budgets,
    coordination,
    dreams,
    facts,
    folders,
    grants,
    graph,
    groups,
    inbox,
    jobs,
    messages,
    outbox,
    requests,
    steering,
    summaries,
    turns,
    usage,
)
from memory.audience import person_audience
from memory.blocks import storage
from memory.database import Rows, Tx, Value, as_dict
from memory.ids import PersonId
from memory.people import privacy

Export: TypeAlias = Callable[[Rows, PersonId], list[dict[str, Any]]]


@dataclass(frozen=True)
class PersonStore:
    """What one store knows about people, and the tables it keeps that in."""

    name: str
    tables: frozenset[str]
    export: Export
    erase: Callable[[Tx, PersonId], int]
    count: Callable[[Rows, PersonId], int]


def _store(name: str, module: Any, *tables: str) -> PersonStore:
    return PersonStore(name, frozenset(tables), module.export_person, module.erase_person, module.count_person)


_NAMED = "person_id = :person"
_ALONE = "audience = :alone"


def _rows(name: str, table: str, theirs: str = _NAMED, columns: str = "*") -> PersonStore:
    """A store of one table whose rows go whole with their person: those of which `theirs` holds."""

    def asked(person: PersonId) -> dict[str, Value]:
        return {"person": person, "alone": person_audience(person)}

    def export(rows: Rows, person: PersonId) -> list[dict[str, Any]]:
        found = rows.all(f"SELECT {columns} FROM {table} WHERE {theirs} ORDER BY 1", asked(person))
        return [as_dict(row) for row in found]

    def erase(tx: Tx, person: PersonId) -> int:
        return tx.run(f"DELETE FROM {table} WHERE {theirs}", asked(person))

    def count(rows: Rows, person: PersonId) -> int:
        row = rows.one(f"SELECT count(*) FROM {table} WHERE {theirs}", asked(person))
        return 0 if row is None else int(row[0])

    return PersonStore(name, frozenset({table}), export, erase, count)


STORES: tuple[PersonStore, ...] = (
    _store("messages", messages, "messages"),
    _store("inbox", inbox, "inbox"),
    _store("outbox", outbox, "outbox"),
    _store("turns", turns, "turns", "turn_steps", "turn_uses"),
    _store("groups", groups, "group_runs", "group_parts"),
    _store("usage", usage, "model_usage"),
    _store("budgets", budgets, "budgets", "budget_reservations"),
    _store("grants", grants, "permission_grants", "permission_audit"),  # before the requests that they came from
    _store("requests", requests, "permission_requests", "permission_votes"),
    _store("dreams", dreams, "dream_items", "dream_marks"),  # before the entries that it is about
    _store("graph", graph, "graph_triples"),
    _rows(
        "feedback",
        "feedback",
        f"{_NAMED} OR {_ALONE}",
        "id, kind, agent_id, place_id, message_id, tool, audience, at",
    ),
    _rows("evaluations", "session_evaluations", _ALONE),
    _store("archival", archival, "archival_entries", "archival_journal"),
    _store("folders", folders, "folder_files", "file_passages"),
    _store("admission", admission, "people_rules", "pairing_codes"),
    _store("steering", steering, "steering"),
    _store("jobs", jobs, "jobs"),
    _store("activity", activity, "activity_events", "agent_presence"),
    _store(
        "summaries",
        summaries,
        "archive_summaries",
        "agent_summaries",
        "constellation_summaries",
        "summary_texts",
    ),
    _store("facts", facts, "facts", "fact_sources", "sessions"),
    _rows("projects", "project_learnings", f"{_NAMED} OR {_ALONE}"),
    _rows("work", "work_states", f"{_NAMED} OR {_ALONE}"),
    _store("coordination", coordination, "coordination_tasks", "handoff_notes", "handoff_reads", "notable_events"),
    _rows("reminders", "reminders"),
    _rows("tasks", "tasks"),
    _rows("events", "events"),
    _rows("times", "person_times"),
    _rows("states", "person_states", columns="state, audience, said_at"),
    _rows("working", "working_memory", f"{_NAMED} OR {_ALONE}"),
    _store(
        "blocks",
        storage,
        "memory_blocks",
        "memory_block_updates",
        "memory_block_checkpoints",
        "memory_block_archives",
        "memory_block_repairs",
        "memory_block_quarantine",
        "memory_block_writers",
    ),
)

GLOBAL_STORES: tuple[PersonStore, ...] = (
    _store("identities", privacy, "users", "user_identities", "places", "link_codes"),
)
"""Those of global.db. What stays there of a person is the choice they made and the record of their erasures."""


def count_all(rows: Rows, person: PersonId) -> dict[str, int]:
    """How much each store holds about a person."""
    return {store.name: store.count(rows, person) for store in STORES}
