"""Whatever stands in the database, however it came in: no column of it speaks in anybody's name.

Imports, archives, the API, webhooks, feeds, commands and later versions all write into the same tables. So every
column that holds words is filled with words that imitate ours, and what models are shown of it is parsed.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.models.base import ToolMessage
from memory import agents, data_sources
from memory.folders import rows as folders
from memory.folders.rows import Folder
from memory.knowledge import entry_changes, graph
from memory.knowledge.entries import NewEntry, Origin
from memory.knowledge.fact_extraction import Category, Statement
from memory.knowledge.facts import Source
from memory.knowledge.facts import add as add_fact
from memory.knowledge.graph import Entity, Kind, Triple
from memory.knowledge.upkeep.run_records import begin_run
from memory.people.audience import Scope, Trust
from memory.store.database import Rows, Tx
from memory.store.ids import SessionId
from tests.bot.agents.test_forgery import FORGERIES, READS, STORES, calls, require_sound
from tests.bot.parts import ANN, BOB, HALL, NOON, ScriptedModel, said, says, two
from tests.bot.stage import OFFERED, Service, Setting, running, talked

WORDS = {
    "activity_events": ("words",),
    "agent_groups": ("name", "description"),
    "agents": ("name", "description"),
    "archival_entries": ("label", "content", "category"),
    "data_sources": ("name", "address", "last_error"),
    "events": ("title", "notes"),
    "facts": ("fact",),
    "fact_sources": ("wording",),
    "file_passages": ("content",),
    "folder_files": ("name", "content_type", "note"),
    "folders": ("name", "description"),
    "graph_triples": ("subject", "relation", "object"),
    "group_members": ("domain",),
    "items": ("text",),
    "memory_blocks": ("label", "description", "profile", "content"),
    "messages": ("speaker", "content", "tool_name"),
    "places": ("name",),
    "reminders": ("text",),
    "sessions": ("what",),
    "tasks": ("title", "notes"),
}
"""Columns of words that a prompt can show, by table."""
LISTS = {"archival_entries": ("tags",), "sessions": ("decisions", "files", "commits", "unfinished")}
"""Columns of words in JSON."""
MAPS = {"tasks": ("fields",)}
"""Columns of words by names, in JSON."""
OURS = {
    "agents": ("model", "system_prompt", "config", "enabled_tools", "tool_rules"),  # the owner's own words and settings
    "agent_groups": ("pattern_type", "pattern_config", "keywords", "states"),
    "group_members": ("role", "capabilities", "model"),
    "places": ("kind", "cursor", "bindings"),
    "messages": ("role", "tool_args", "source_metadata"),
    "activity_events": ("event_type", "details", "importance", "at"),
    "memory_blocks": ("block_type", "schema", "permission", "named_by", "described_by"),
    "archival_entries": ("metadata", "last_seen", "superseded_by"),
    "data_sources": ("source_type",),
    "events": ("zone",),
    "facts": ("category", "confirmed_by", "last_seen"),
    "fact_sources": ("origin", "at"),
    "folder_files": ("digest", "people"),
    "folders": ("path_type", "path_value", "embedding_model"),
    "graph_triples": ("subject_kind", "subject_key", "relation_key", "object_kind", "object_key", "at"),
    "items": ("kind", "key", "detail", "valid_until"),  # keys are letters, digits and marks
    "reminders": ("zone", "told_key"),
    "tasks": ("priority", "needs"),
}
UNSHOWN = {
    "ids, times, numbers, digests and marks": "agent_messages agent_presence budget_reservations data_source_items "
    "dream_marks erasures gaps handoff_reads memory_block_writers migration_checksums passed_over people_rules "
    "permission_votes sqlite_sequence turn_uses turns unshown_people vector_queue vector_spaces vectors "
    "vector_numbers",
    "settings, and names that the configuration has": "agent_data_sources budgets constellation_blocks "
    "folder_attachments group_runs group_states model_usage person_states person_times shared_block_agents steering "
    "vector_models",
    "what commands, cards and the dashboard show to people": "archival_journal dream_items dream_runs import_audit "
    "jobs memory_block_quarantine memory_block_repairs pairing_codes permission_audit permission_grants "
    "permission_requests",
    "the payload is a typed record (test_entrances)": "inbox message_files",
    "what `messages` and `memory_blocks` hold as well": "memory_block_checkpoints outbox",
    "typed steps; the results in them go through `stored_result`": "turn_steps",
    "outputs of agents, which `quotation` quotes (tests/bot/agents/groups)": "group_parts",
    "words that are looked for, to be taken out": "follow_ups",
}
"""Why no prompt shows the words of some tables."""
PLAIN = ("id", "audience", "status", "within", "search_text", "source")
"""Columns of every table that hold no words: ids, and words of ours that a constraint checks."""


def _columns(rows: Rows) -> dict[str, set[str]]:
    found = dict[str, set[str]]()
    for (table,) in rows.all("SELECT name FROM sqlite_master WHERE type = 'table' AND instr(name, '_fts') = 0"):
        listed = rows.all("SELECT name FROM pragma_table_info(?) WHERE type = 'TEXT'", (table,))
        names = {row[0] for row in listed}
        found[table] = {name for name in names - {*PLAIN} if not name.endswith(("_at", "_id", "_json"))}
    return {table: names for table, names in found.items() if names}


async def test_every_column_of_words_is_filled_or_is_excused(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        there = await service.read(_columns)
    judged = {
        table: {name for kind in (WORDS, LISTS, MAPS, OURS) for name in kind.get(table, ())}
        for table in {*WORDS, *LISTS, *MAPS, *OURS}
    }
    unshown = {table for tables in UNSHOWN.values() for table in tables.split()}
    assert sorted(there.keys() - judged - unshown) == [], "say in UNSHOWN why no prompt shows them, or add to WORDS"
    columns = {(table, name) for table in judged for name in there[table]}
    known = {(table, name) for table, names in judged.items() for name in names}
    assert sorted(columns - known) == [], "add them to WORDS if a prompt can show them, else to OURS"
    assert sorted(known - columns) == [], "these are gone"


def _counts(rows: Rows) -> dict[str, int]:
    return {table: rows.number(" ".join(("SELECT count(*) FROM", table))) for table in WORDS}


def _poison(tx: Tx, text: str) -> None:
    """Fill every column of words; names that must differ end in a number."""
    for table, columns in WORDS.items():
        for column in columns:
            tx.run(_set(table, column, "? || rowid", column), (f"{text} ",))
    for table, columns in LISTS.items():
        for column in columns:
            tx.run(_set(table, column, "?", column), (json.dumps([text]),))
    for table, columns in MAPS.items():
        for column in columns:
            tx.run(_set(table, column, "?", column), (json.dumps({text: text}),))


def _set(table: str, column: str, value: str, there: str) -> str:
    return " ".join(("UPDATE", table, "SET", column, "=", value, "WHERE", there, "IS NOT NULL"))


FILES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("file", {"operation": "list"}),
    ("file", {"operation": "search", "query": "ferry"}),
    ("sources", {}),
)
TOML = two(
    "Carina",
    "Anchor",
    Carina=f"tools = {json.dumps([*OFFERED, 'sources'])}\n",
    Anchor='description = "looks things up"\n',
)


async def _fill(service: Service) -> None:
    """Rows that no tool of an agent writes."""

    def work(tx: Tx) -> None:
        agent = next(each.id for each in agents.agents(tx) if each.name == "Carina")
        folder = folders.create(tx, Folder("papers", "virtual", HALL.audience, "about boats", ""), NOON)
        folders.attach(tx, folder.id, agent, "read", NOON)
        folders.put(tx, folder, folders.from_content("ferry.txt", b"the ferry leaves at nine"), NOON)
        data_sources.add(tx, data_sources.DataSource("news", "folder", "/srv/news", 30, HALL.audience), NOON)
        entry = entry_changes.insert(
            tx, agent, NewEntry("Ann likes the ferry", Origin(Scope(HALL.audience), Trust.APPROVED, ANN.id)), NOON
        )
        triple = Triple(Entity("Ann", Kind.PERSON), "likes", Entity("the ferry", Kind.THING))
        graph.put(tx, begin_run(tx, NOON, "done", ()), entry, [triple], NOON)
        learned = Source("said", agent, SessionId(1), None, BOB.id, HALL.audience, Trust.APPROVED)
        add_fact(tx, Statement(Category.PREFERENCE, "likes the ferry"), learned, NOON)

    await service.write(work)


@pytest.mark.parametrize("text", ["ferry" + "\n".join(("", *FORGERIES)), f"ferry {FORGERIES[0]}\r{FORGERIES[4]}"])
async def test_no_column_speaks_for_the_platform_or_for_somebody_else(tmp_path: Path, text: str) -> None:
    reading = (*READS, *FILES)
    model = ScriptedModel(
        says("", *calls(STORES, "the ferry")),
        says("Done."),
        says("", *calls(reading, text)),
        says("Hello Ann."),
        says("", *calls(reading, text)),
        says("Hello Bob."),
        otherwise=says("Well."),
    )
    async with talked(tmp_path, Setting(model, toml=TOML), said("I take the ferry", 1, HALL, ANN)) as service:
        await _fill(service)
        assert {table for table, count in (await service.read(_counts)).items() if not count} == set()
        await service.write(lambda tx: _poison(tx, text))
        await service.heard(said("what was that?", 2, HALL, ANN))
        await service.heard(said("and now?", 3, HALL, BOB))
    for request in model.requests[2:]:
        assert require_sound(request, {ANN.id, BOB.id})[:2] == [ANN.id, ANN.id]
    shown = [message for message in model.requests[3].messages if isinstance(message, ToolMessage)]
    assert sum("ferry" in message.text for message in shown if message.ok) >= 40, "what is read shows what was stored"
