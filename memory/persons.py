"""Every store that holds something about a person, in one list: what an export, an erasure or a count goes through.

A test walks the schema and fails for a table with content that stands in no entry here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from memory import (
    activity,
    admission,
    appointments,
    archival,
    block_log,
    budgets,
    coordination,
    dreams,
    evaluations,
    facts,
    feedback,
    folders,
    grants,
    graph,
    groups,
    inbox,
    jobs,
    messages,
    outbox,
    person_states,
    person_times,
    privacy,
    projects,
    reminders,
    requests,
    steering,
    summaries,
    tasks,
    turns,
    usage,
    work,
    working,
)
from memory.database import Rows, Tx
from memory.ids import PersonId

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
    _store("feedback", feedback, "feedback"),
    _store("evaluations", evaluations, "session_evaluations"),
    _store("archival", archival, "archival_entries", "archival_journal"),
    _store("folders", folders, "folder_files", "file_passages"),
    _store("admission", admission, "people_rules", "pairing_codes"),
    _store("steering", steering, "steering"),
    _store("jobs", jobs, "jobs"),
    _store("activity", activity, "activity_events", "agent_presence"),
    _store("summaries", summaries, "archive_summaries", "agent_summaries", "constellation_summaries"),
    _store("facts", facts, "facts", "fact_sources", "sessions"),
    _store("projects", projects, "project_learnings"),
    _store("work", work, "work_states"),
    _store("coordination", coordination, "coordination_tasks", "handoff_notes", "handoff_reads", "notable_events"),
    _store("reminders", reminders, "reminders"),
    _store("tasks", tasks, "tasks"),
    _store("events", appointments, "events"),
    _store("times", person_times, "person_times"),
    _store("states", person_states, "person_states"),
    _store("working", working, "working_memory"),
    _store(
        "blocks",
        block_log,
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
