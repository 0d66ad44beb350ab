"""What is known about a person: every table with content is registered and has an audience; what is erased is gone."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory import activity, blocks, coordination, group_runs, jobs, permission_requests, spending
from memory.agenda import calendar_events, reminders, tasks
from memory.agenda.calendar_events import Event
from memory.agenda.reminders import Reminder
from memory.agenda.tasks import Task
from memory.blocks import CONSTELLATION_OWNER, Author, NewBlock
from memory.blocks.document import SYSTEM, agent_writer
from memory.erasure import personal_tables
from memory.folders import rows as folders
from memory.jobs import NewJob
from memory.knowledge import (
    entry_changes,
    facts,
    feedback,
    graph,
    interrupted_work,
    items,
    project_learnings,
    sessions,
    summaries,
    working_memory,
)
from memory.knowledge.entries import NewEntry, Origin
from memory.knowledge.entry_journal import ChangedBy
from memory.knowledge.evaluations import Evaluation, Quality
from memory.knowledge.fact_extraction import Category, Statement
from memory.knowledge.items import By
from memory.knowledge.summaries import AgentSummary, Compaction, ConstellationSummary
from memory.knowledge.upkeep.applied_plans import apply
from memory.knowledge.upkeep.planned_changes import Link, Mark, Merge, Part, Pass, Plan, Refine
from memory.knowledge.working_memory import NewEntry as NewKept
from memory.people import admission_and_pairing, hidden_people, person_settings, person_states
from memory.people.audience import OWNER, Audience, Scope, Trust, person_audience
from memory.people.hidden_people import HiddenReason
from memory.permission_grants import add_grant
from memory.permission_requests import Request, Verdict
from memory.queue import (
    erasure_follow_ups,
    inbox,
    message_files,
    messages,
    missed_messages,
    outbox,
    place_settings,
    turns,
)
from memory.queue.inbox import InRow
from memory.queue.missed_messages import Span
from memory.queue.notifications import Place
from memory.queue.outbox import NewRow
from memory.queue.payloads import Attachment, Extras, Quotation
from memory.queue.steps import ModelAnswer, WorkState
from memory.queue.turns import Turn
from memory.search import vectors
from memory.search.vector_texts import texts_of
from memory.spending import ModelCost
from memory.store.database import Tx, as_dict
from memory.store.ids import GroupId, MessageId, OutboxId, PersonId, PlaceId, SessionId
from memory.store.records import replace
from memory.store.sqlite import to_digits
from tests.memory.blocks.block_parts import blocks_store
from tests.memory.parts import ANN, BOB, GUILD, HALL, MAIN, NOON, STAR, begun, notification, row_of, spoken, taken
from tests.memory.search.vector_parts import STORED, embed_all, pointing

DIRECT = Place(PlaceId("discord:user:ann"), "direct", person_audience(ANN))
SECRET = "quetzalcoatl"
"""A word that only Ann says."""

TABLES = tomllib.loads(Path(__file__).with_name("tables.toml").read_text("utf-8"))
"""Tables that no store lists or that have no audience, with the reasons."""


def tables(tx: Tx) -> dict[str, set[str]]:
    """Every table that holds rows of its own, with its columns; a full-text index keeps its words in shadows."""
    names = [str(row["name"]) for row in tx.all("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    virtual = {name for name in names if name.endswith("_fts")}
    shadows = {name for name in names for index in virtual if name.startswith(f"{index}_")}
    return {
        name: {str(row["name"]) for row in tx.all(f"PRAGMA table_info({name})")}
        for name in names
        if name not in virtual | shadows
    }


def registered() -> list[str]:
    return [table for store in personal_tables.STORES for table in sorted(store.tables)]


def test_every_table_with_content_is_registered_once(tx: Tx) -> None:
    assert sorted(registered()) == sorted(set(registered()))
    named = {*registered(), *TABLES["structure"], *TABLES["places"]}
    assert tables(tx).keys() ^ named == set(), (
        "add it to memory/erasure/personal_tables.py, or say in tables.toml why not"
    )


def test_every_table_with_content_has_an_audience(tx: Tx) -> None:
    without = {name for name, columns in tables(tx).items() if "audience" not in columns}
    assert without ^ {*TABLES["structure"], *TABLES["numbers"]} == set(), (
        "give it an audience, or say in tables.toml why not"
    )


NOT_EXPORTED = """
inbox.last_error follow_ups.old_text follow_ups.learners follow_ups.ask follow_ups.last_error outbox.key outbox.kind
outbox.detail outbox.last_error turns.blocks turns.heard group_runs.settings permission_audit.scope
permission_audit.detail permission_audit.digest permission_requests.scope permission_requests.subject
permission_requests.covers permission_requests.pattern permission_requests.approvers permission_requests.shown
permission_requests.digest dream_items.after graph_triples.subject_kind graph_triples.subject_key
graph_triples.relation_key graph_triples.object_kind graph_triples.object_key archival_journal.after
archival_journal.people archival_journal.messages archival_entries.superseded_by folder_files.digest folder_files.note
pairing_codes.code jobs.payload jobs.trigger_json jobs.holder jobs.last_outcome jobs.last_detail activity_events.details
"""
NOT_EMPTIED = """
inbox.kind outbox.key outbox.kind turns.blocks turns.heard group_parts.kind group_runs.pattern
group_runs.settings model_usage.model permission_audit.event permission_audit.scope permission_audit.detail
permission_requests.scope permission_requests.tool permission_requests.approvers
"""
NO_WORDS = re.compile(r"(.*_)?(id|at|seen|since|until)|audience|within|status|source|search_text")


def unnamed(tx: Tx, table: str, sql: str) -> set[str]:
    """The columns of a table that may hold words and that the SQL does not name."""
    held = {str(row["name"]) for row in tx.all(f"PRAGMA table_info({table})") if row["type"] not in ("INTEGER", "REAL")}
    return {f"{table}.{name}" for name in held - {*re.findall(r"\w+", sql)} if not NO_WORDS.fullmatch(name)}


def test_a_store_that_names_its_columns_names_all_that_hold_words(tx: Tx) -> None:
    named = [each for store in personal_tables.STORES for each in store.held if each.told and each.columns != "*"]
    deleted = {each.table for each in named if not each.emptied}
    forgotten = set[str]().union(*(unnamed(tx, each.table, each.columns) for each in named))
    assert forgotten ^ {*NOT_EXPORTED.split()} == set(), "name it in the store's `columns`, or in NOT_EXPORTED"
    stays = set[str]().union(*(unnamed(tx, each.table, each.emptied) for each in named if each.table not in deleted))
    assert stays ^ {*NOT_EMPTIED.split()} == set(), "name it in the store's `emptied`, or in NOT_EMPTIED"


def test_every_full_text_index_is_of_a_registered_table(tx: Tx) -> None:
    made = tx.all("SELECT sql FROM sqlite_schema WHERE name GLOB '*_fts'")
    assert {str(row["sql"]).split("content='")[1].split("'")[0] for row in made} <= set(registered())


# ------------------------------------------------------------------------------------------------------- erasing


def block(tx: Tx, label: str, audience: Audience, words: str, about: PersonId | None = None, edits: int = 3) -> None:
    new = NewBlock(CONSTELLATION_OWNER, label, "Notes", audience, Trust.SYSTEM, about=about, profile=words)
    made = blocks.create_block(tx, new, SYSTEM, NOON)
    author = Author(STAR, Scope(audience), agent_writer(STAR), Trust.APPROVED, NOON)
    for number in range(edits):
        blocks.append_block(tx, author, label, f"{words} {number}\n")
    assert words in blocks.find_block(tx, STAR, made.label, Scope(audience)).content


def answered(tx: Tx, turn: Turn, text: str) -> None:
    """What a turn said, stored and sent."""
    message = messages.add(tx, spoken(turn, text))
    row = NewRow(f"turn/{turn.id}/0", turn.place, text, turn.scope.audience, turn=turn.id, person=turn.person)
    outbox.add(tx, row, NOON)
    turns.note_use(tx, turn, "message", str(message))
    spending.record(tx, turn, ModelCost("scripted:one", 1, 1, 0, 0, None), NOON)


def asked(tx: Tx, turn: Turn) -> None:
    """A call of hers that needed a yes; she gave it herself, for always."""
    arguments = json.dumps({"content": SECRET})
    request = Request(
        permission_requests.new_request_id(), permission_requests.Kind.TOOL, SECRET, STAR, MAIN, turn.id, "call_1",
        "recall", arguments, permission_requests.digest_of("recall", arguments), (("tool_execution", SECRET, ""),),
        {"content": SECRET},
        f"because of {SECRET}", turn.place, turn.person, turn.scope, Trust.APPROVED, (ANN,), 1, False, NOON, NOON,
    )  # fmt: skip
    permission_requests.ask(tx, request)
    permission_requests.vote(tx, request, ANN, Verdict.ALWAYS, NOON)
    grant = add_grant(tx, request, ANN, Verdict.ALWAYS, NOON)
    permission_requests.note(
        tx, permission_requests.Entry("granted", NOON, turn.scope.audience, ANN, request.id, grant.id, STAR)
    )


def arranged(tx: Tx, turn: Turn) -> None:
    """What agents arranged and kept in short of her words, alone with her and in the hall."""
    activity.note_begin(tx, turn, None, NOON)
    for scope in (turn.scope, Scope(GUILD)):
        by = By(scope, Trust.APPROVED, NOON, STAR, ANN, turn.place, turn.id)
        coordination.assign(tx, by, f"find {SECRET}", None)
        coordination.hand_over(tx, by, f"she wants {SECRET}", None)
        coordination.add_note(tx, by, f"decided on {SECRET}", "high")
    coordination.mark_read(tx, turn, [each.id for each in coordination.handoffs(tx, turn.scope, 9)], NOON)
    for row in tx.all("SELECT * FROM messages WHERE person_id = ? AND role = 'user'", (ANN,)):
        heard = messages.by_ids(tx, [row["id"]], Scope(Audience(row["audience"])))
        short(tx, heard[0])


def short(tx: Tx, said: messages.Message) -> None:
    """A message in short, in all three ways."""
    span, audience, trust = summaries.position(said), said.audience, said.trust
    made = Compaction(
        said.text, audience, trust, 1, "scripted:one", NOON, (span, span),
        agent=STAR, place=said.place, strategy="recursive_summarization",
    )  # fmt: skip
    summaries.add(tx, made)
    did = AgentSummary(said.text, audience, trust, 1, "", NOON, agent=STAR, agent_name="Star")
    summaries.put_agent_summary(tx, did, [said])
    all_did = ConstellationSummary(
        said.text, audience, trust, 0, "", NOON, start=NOON, end=NOON, decisions=(said.text,)
    )
    summaries.add_constellation_summary(tx, all_did, [said])


def taken_away(tx: Tx, hall: InRow) -> None:
    """A turn that nobody watched deleted what was kept of a message; it can be put back for a while."""
    night = begun(tx, person=None)
    tx.run("UPDATE turns SET group_id = NULL WHERE id = ?", (night.id,))
    woken = {"source": "sleeptime", "external_id": "x", "kind": "event", "place_id": HALL.id, "payload": "{}"}
    tx.insert("inbox", {**woken, "audience": GUILD, "status": "done", "turn_id": night.id, "received_at": "2026"})
    new = NewEntry(f"she likes {SECRET}", Origin(Scope(GUILD), Trust.APPROVED, ANN, hall.message))
    entry = entry_changes.insert(tx, STAR, new, NOON)
    entry_changes.delete(tx, STAR, entry.id, Scope(GUILD), ChangedBy(night.id, NOON))


def lived(tx: Tx) -> None:
    """Ann said her word in her direct messages and in the hall; Bob answered in the hall and quoted her."""
    direct = taken(tx, 1, f"my word is {SECRET}", place=DIRECT, extras=Extras(background=(SECRET,)))
    missed_messages.note(tx, [Span(PlaceId("discord:user:ann"), "1", "2")], "503", NOON, NOON)
    scope = Scope(person_audience(ANN))
    poem = Attachment("poem.txt", "text/plain", 9, content=SECRET.encode())
    message_files.add(tx, direct.message or MessageId(0), (poem,), scope.audience)
    running = begun(tx, direct, place=DIRECT.id, scope=scope)
    turns.add_step(tx, running, ModelAnswer(f"so it is {SECRET}"), NOON)
    answered(tx, running, f"Noted: {SECRET}.")
    origin = Origin(scope, Trust.APPROVED, ANN, direct.message, running.id)
    entry_changes.insert(tx, STAR, NewEntry(f"her word is {SECRET}", origin, label=SECRET, tags=(SECRET,)), NOON)
    tell = group_runs.Run(
        running.id, GroupId("grp_1"), "voting", {}, conducted=True, plan=group_runs.RunPlan(options=(SECRET,))
    )
    group_runs.begin(tx, tell, running, NOON)
    member = begun(tx, place=DIRECT.id, scope=scope)
    asking = group_runs.Part(member.id, running.id, running.id, STAR, "ballot", task=SECRET)
    group_runs.add_part(tx, asking, member, NOON)
    group_runs.note(tx, member.id, group_runs.PartDetail(reason=SECRET))
    group_runs.end_part(tx, member.id, "done", SECRET, NOON)
    hall = taken(tx, 2, f"I say {SECRET} here too", speaker=SECRET.title())
    erasure_follow_ups.queue(tx, messages.of_id(tx, MessageId(hall.message or 0)) or pytest.fail("it was heard"), NOON)
    inbox.finish(tx, begun(tx, hall).id, NOON)
    quoting = taken(tx, 3, "what did she say?", person=BOB, extras=Extras(quoted=Quotation("Ann", SECRET)))
    inbox.finish(tx, begun(tx, quoting, person=BOB).id, NOON)
    entry_changes.insert(
        tx, STAR, NewEntry(f"she says {SECRET}", Origin(Scope(GUILD), Trust.APPROVED, ANN, hall.message)), NOON
    )
    taken_away(tx, hall)
    asked(tx, running)
    admission_and_pairing.set_rule(tx, ANN, admission_and_pairing.Rule.ALLOW, BOB, NOON)
    hidden_people.note(tx, ANN, hidden_people.HiddenReason.LABEL, NOON, holds=True)
    place_settings.put(tx, place_settings.Setting("mode", "discord:10", "open", ANN, NOON))
    for number, said in enumerate((direct, hall), 1):
        heard = messages.by_ids(tx, [said.message or MessageId(0)], scope if number == 1 else Scope(GUILD))[0]
        spoken = facts.Source("said", STAR, SessionId(number), heard.id, ANN, heard.audience, heard.trust)
        facts.learn(tx, [Statement(Category.LESSON, f"the word is {SECRET}")], spoken, NOON)
    project_learnings.note_review(
        tx, By(Scope(GUILD), Trust.APPROVED, NOON, person=ANN), f"{SECRET} stands in the title"
    )
    project_learnings.finish(tx, By(Scope(person_audience(ANN)), Trust.APPROVED, NOON, person=ANN), SECRET, SECRET)
    state = WorkState("failed", SECRET, SECRET, (SECRET,), (SECRET,), (SECRET,), (SECRET,), (SECRET,), "", NOON)
    interrupted_work.keep(tx, running, state, [direct.message or MessageId(0)])
    sessions.extend(tx, running, NOON)
    jobs.put(tx, NewJob("reminder:1", "reminder", "{}", NOON, person=ANN, audience=person_audience(ANN)), NOON)
    spending.put(tx, spending.Limit(f"person:{ANN}", "day", 1.0), BOB, NOON)
    spending.reserve(tx, spending.Spender(running.id, STAR, ANN, None), 0.1, 100, NOON)
    trust, own = Trust.APPROVED, person_audience(ANN)
    reminders.add(tx, Reminder(SECRET, ANN, DIRECT.id, own, trust, "{}", "UTC"), NOON)
    calendar_events.add(tx, Event(SECRET, ANN, DIRECT.id, own, trust, "{}", "UTC", NOON), NOON)
    tasks.add(tx, Task(SECRET, ANN, own, trust, NOON))
    person_states.put(tx, ANN, own, SECRET, NOON)
    person_settings.put(tx, (ANN,), person_settings.Times("UTC"), NOON)
    by = working_memory.By.in_turn(tx, running, None, NOON)
    working_memory.save(tx, by, NewKept(SECRET, SECRET, category=SECRET, tags=(SECRET,)))
    admission_and_pairing.request_pairing(tx, ANN, SECRET, "ABCDEFGH", NOON)
    arranged(tx, running)
    tidied(tx, scope)
    assert direct.message is not None
    poor = Evaluation(Quality.POOR, (), (), "rules")
    items.put(tx, items.Item(items.Kind.EVALUATION, own, trust, NOON, NOON, key="1", detail=items.encoded(poor)))
    who = STAR, ANN, DIRECT.id, running.id, direct.message
    feedback.note(tx, feedback.Signal.CORRECTION, items.By(Scope(own), trust, NOON, *who))
    block(tx, "discord_user:ann", GUILD, SECRET, about=ANN)
    folder = folders.create(tx, folders.Folder("shared", "virtual", GUILD), NOON)
    held = folders.from_content("hers.txt", f"the word is {SECRET}".encode())
    folders.put(tx, folder, replace(held, name=f"{SECRET}.txt", people=(ANN,)), NOON)
    block(tx, "scratchpad", person_audience(ANN), SECRET, edits=120)  # enough for checkpoints
    damaged = "SELECT id, 1, 'update', CAST(? AS BLOB), '', audience, '' FROM memory_blocks WHERE label = 'scratchpad'"
    tx.run(f"INSERT INTO memory_block_quarantine {damaged}", (SECRET,))
    tx.run("UPDATE memory_blocks SET deleted_at = updated_at WHERE label = 'scratchpad'")


def tidied(tx: Tx, scope: Scope) -> None:
    """What upkeep made of her words: two entries became one, one got a category that is her word."""
    origin = Origin(scope, Trust.APPROVED, ANN)
    first, second, third, fourth = (
        entry_changes.insert(tx, STAR, NewEntry(f"{SECRET} {rest}", origin), NOON)
        for rest in ("it is", "is it", "it was", "it will be")
    )
    by = Pass.CONSOLIDATION
    merge = Merge(by, (first, second), f"{SECRET} it is", "", ())
    refine = Refine(by, third, f"words/{SECRET}", (SECRET,))
    part = Part(STAR, scope.audience, Trust.APPROVED)
    entity = graph.Entity(SECRET, graph.Kind.THING)
    linked = Link(Pass.ENTITIES, fourth, (graph.Triple(entity, f"is {SECRET}", entity),))
    assert apply(tx, Plan((merge, refine, linked), (Mark(by, part, 9),)), NOON)


def others(tx: Tx) -> None:
    """What stays: Bob's life beside hers."""
    missed_messages.note(tx, [Span(HALL.id, "1", "2")], "503", NOON, NOON)
    row = taken(tx, 11, "the tortoise is asleep", person=BOB)
    turn = begun(tx, row, person=BOB)
    answered(tx, turn, "Let the tortoise sleep.")
    entry_changes.insert(tx, STAR, NewEntry("a tortoise", Origin(Scope(GUILD), Trust.APPROVED, BOB, row.message)), NOON)
    block(tx, "discord_user:bob", GUILD, "tortoise", about=BOB)
    block(tx, "plans", OWNER, "tortoise")
    folder = folders.create(tx, folders.Folder("others", "virtual", GUILD), NOON)
    folders.put(tx, folder, replace(folders.from_content("b.txt", b"a tortoise"), people=(BOB,)), NOON)


def everything(tx: Tx) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table, shadows of the indexes too."""
    names = [str(row["name"]) for row in tx.all("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {name: [dict(as_dict(row)) for row in tx.all(" ".join(["SELECT * FROM", name]))] for name in names}


def holding(tx: Tx, word: str) -> list[str]:
    """The tables with that word anywhere in their bytes, whatever its case."""
    found = []
    for name, rows in everything(tx).items():
        values = [value for row in rows for value in row.values()]
        texts = [value if isinstance(value, bytes) else str(value).encode() for value in values]
        if any(word.encode().lower() in text.lower() for text in texts):
            found.append(name)
    return found


def erase(tx: Tx, person: PersonId) -> None:
    for store in personal_tables.STORES:
        store.erase(tx, person)


@pytest.fixture(scope="module")
def lived_once() -> Iterator[Tx]:
    with blocks_store() as made:
        lived(made)
        yield made


@pytest.fixture
def life(tx: Tx, lived_once: Tx) -> None:
    """What `lived` leaves; it is lived once, and copied."""
    lived_once._raw.backup(tx._raw)


@pytest.mark.usefixtures("life")
def test_what_is_counted_is_exported_without_anybody_elses_and_gone_with_the_id_after_erasing(tx: Tx) -> None:
    others(tx)
    counted = personal_tables.count_all(tx, ANN)
    assert all(counted.values()), counted
    for store in personal_tables.STORES:
        apart = sum(each.told and each.counted != "true" for each in store.held)  # rows that nobody would count
        exported = len(store.export(tx, ANN))
        assert exported >= counted[store.name] if apart else exported == counted[store.name], store.name
    assert "tortoise" not in json.dumps([store.export(tx, ANN) for store in personal_tables.STORES])
    erase(tx, ANN)
    assert set(personal_tables.count_all(tx, ANN).values()) == {0}
    assert not tx.all("SELECT 1 FROM memory_block_writers WHERE block_id NOT IN (SELECT id FROM memory_blocks)")
    assert [store.export(tx, ANN) for store in personal_tables.STORES] == [[]] * len(personal_tables.STORES)
    of_people = [name for name, columns in tables(tx).items() if "person_id" in columns]
    assert not {name for name in of_people if tx.one(" ".join(["SELECT 1 FROM", name, "WHERE person_id = ?"]), (ANN,))}


@pytest.mark.usefixtures("life")
def test_an_export_holds_the_persons_words_and_is_plain_data(tx: Tx) -> None:
    exported = {store.name: json.dumps(store.export(tx, ANN)) for store in personal_tables.STORES}
    assert {name for name, text in exported.items() if SECRET in text} == {
        "groups", "folders", "files",
        "messages", "inbox", "outbox", "turns", "grants", "requests", "archival", "blocks", "admission", "reminders",
        "tasks", "events", "activity", "facts", "knowledge",
        "states", "graph",
    }  # fmt: skip


@pytest.mark.usefixtures("life")
def test_no_table_holds_a_word_of_a_person_who_was_erased(tx: Tx) -> None:
    assert {
        "messages", "inbox", "outbox", "archival_entries", "archival_journal", "memory_blocks", "turn_steps",
        "activity_events", "tasks", "facts", "fact_sources", "items", "message_files",
    } <= set(holding(tx, SECRET))  # fmt: skip
    assert holding(tx, SECRET[:8])
    erase(tx, ANN)
    assert holding(tx, SECRET) == []
    assert holding(tx, SECRET[:8]) == []  # an index may keep the beginning of a word apart from its end


@pytest.mark.usefixtures("life")
def test_no_vector_of_an_erased_persons_words_is_left(tx: Tx) -> None:
    others(tx)
    embed_all(tx)
    spaces = "SELECT 1 FROM vector_spaces WHERE audience = ?"
    assert tx.all(spaces, (person_audience(ANN),))
    erase(tx, ANN)
    assert not tx.all(spaces, (person_audience(ANN),))
    kept = tx.all(f"SELECT s.kind, v.row, n.digits {STORED}")
    assert kept
    for row in kept:  # what is kept is made of words that are still there
        texts = [text for each in texts_of(tx, row["kind"], [row["row"]]) for text in each.texts]
        assert row["digits"] in [to_digits(pointing(text)) for text in texts]
        assert SECRET not in " ".join(texts).lower()
    embed_all(tx)
    assert vectors.missing(tx, 8) == []


@pytest.mark.usefixtures("life")
def test_everybody_elses_rows_stay_as_they_were(tx: Tx) -> None:
    erase(tx, ANN)
    erased = everything(tx)
    others(tx)
    mine, after = personal_tables.count_all(tx, BOB), everything(tx)
    erase(tx, ANN)
    assert personal_tables.count_all(tx, BOB) == mine
    content = [name for name in after if "_fts" not in name]
    assert {name: everything(tx)[name] for name in content} == {name: after[name] for name in content}
    assert after != erased
    assert tx.number("SELECT count(*) FROM message_fts WHERE message_fts MATCH 'tortoise'") == 2


@pytest.mark.usefixtures("life")
def test_what_a_person_sent_is_not_taken_in_again_after_erasing(tx: Tx) -> None:
    erase(tx, ANN)
    assert inbox.accept(tx, notification(1, SECRET, place=DIRECT), MAIN, NOON) is None
    assert holding(tx, SECRET) == []


def test_a_turn_of_an_erased_person_is_cancelled_and_what_waits_is_neither_answered_nor_sent(tx: Tx) -> None:
    row, waits = taken(tx, 1, place=DIRECT), taken(tx, 2, place=DIRECT)
    turn = begun(tx, row, place=DIRECT.id, scope=Scope(person_audience(ANN)))
    queued = [outbox.add(tx, NewRow(key, HALL.id, "hi", GUILD, person=ANN), NOON) for key in ("waits", "leaves")]
    outbox.mark_sending(tx, queued[1] or OutboxId(0), NOON)
    erase(tx, ANN)
    stored = turns.get(tx, turn.id)
    assert stored is not None
    assert stored.status == "cancelled"
    assert [row_of(tx, each.id).status for each in (row, waits)] == [inbox.Status.DONE] * 2
    assert [each["status"] for each in tx.all("SELECT status FROM outbox ORDER BY id")] == ["withdrawn", "sending"]
    assert inbox.open_conversations(tx) == []


def test_each_reason_hides_a_person_by_itself_and_only_where_others_hear(tx: Tx) -> None:
    hidden_people.note(tx, ANN, HiddenReason.LABEL, NOON, holds=True)
    for chosen in ({ANN: "2026-01-01", BOB: "2026-01-01"}, {ANN: "2026-01-02"}):
        hidden_people.choices(tx, chosen)
        assert hidden_people.chosen(tx) == chosen
        assert hidden_people.people(tx, GUILD) == chosen.keys()
    hidden_people.note(tx, ANN, HiddenReason.CHOICE, NOON, holds=False)
    assert hidden_people.chosen(tx) == {}
    hidden_people.choices(tx, {})
    assert hidden_people.people(tx, GUILD) == hidden_people.people(tx, person_audience(BOB)) == {ANN}
    assert hidden_people.people(tx, OWNER) == hidden_people.people(tx, person_audience(ANN)) == set()
    for number, audience in enumerate((GUILD, person_audience(ANN), OWNER, person_audience(BOB))):
        taken(tx, number, place=replace(HALL, audience=audience))
    found = tx.all(" ".join(("SELECT audience FROM messages WHERE", hidden_people.shown("messages"), "ORDER BY id")))
    assert [row["audience"] for row in found] == [person_audience(ANN), OWNER]
