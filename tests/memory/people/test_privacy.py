"""Choices and erasures as rows, erasing one constellation, and looking for words in the bytes of files."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest

from memory import jobs
from memory.blocks import CONSTELLATION_OWNER, Author, NewBlock, add_item, append_block, create_block, find_block
from memory.blocks.document import SYSTEM, agent_writer, person_writer, unpack
from memory.blocks.lifecycle import NewSettings, set_block_settings
from memory.blocks.schemas import Field, FieldType, MapSchema
from memory.erasure import byte_search, personal_tables
from memory.erasure.blocks import NO_DESCRIPTION, remove_derived
from memory.erasure.person_in_one_constellation import ErasureResult, compact, empty_log, erase_here
from memory.jobs import NewJob
from memory.knowledge import entry_changes
from memory.knowledge.entries import Origin
from memory.people.audience import Scope, Trust
from memory.queue import inbox, messages, outbox, turns
from memory.queue.payloads import EditEvent, Extras, Quotation
from memory.queue.steps import (
    CallApproval,
    CallDone,
    CallStarted,
    CallWaits,
    MessagesJoined,
    ModelAnswer,
    StepBody,
    ToolCall,
)
from memory.queue.turns import Turn, TurnMoved
from memory.store import erasure_records
from memory.store.database import Tx, Value
from memory.store.ids import EntryId, ErasureId, GroupId, MessageId, PersonId, RequestId, TurnId
from tests.memory.parts import ANN, BOB, GUILD, HALL, NOON, STAR, begun, keep, opened, row_of, spoken, taken
from tests.memory.people.test_people import TABLES

ONE = ErasureId(1)
BLOBS = (
    "SELECT update_blob FROM memory_block_updates",
    "SELECT snapshot FROM memory_block_checkpoints",
    "SELECT blob FROM memory_block_archives",
)


@pytest.fixture
def tx(tmp_path: Path) -> Iterator[Tx]:
    made = opened(tmp_path)
    yield made
    made._raw.close()


def said(tx: Tx, turn: Turn, text: str, role: messages.Role = "assistant", args: str | None = None) -> MessageId:
    call = "call_1" if role == "tool" or args else None
    tool = "recall" if call else None
    return messages.add(tx, spoken(turn, text, role=role, tool_call_id=call, tool_name=tool, tool_args=args))


def text_of(tx: Tx, message: MessageId) -> str:
    return tx.value("SELECT content || coalesce(tool_args, '') FROM messages WHERE id = ?", (message,), str) or ""


def erase(tx: Tx) -> ErasureResult:
    return erase_here(tx, ONE, ANN, NOON)


# -------------------------------------------------------------------------------------------------------- choices


def test_every_table_of_the_registry_is_accounted_for(registry: Tx) -> None:
    names = {str(row["name"]) for row in registry.all("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    registered = {table for store in personal_tables.GLOBAL_STORES for table in store.tables}
    assert names == registered | set(TABLES["registry"])


def test_an_erasure_is_begun_once_and_done_once(registry: Tx) -> None:
    first = erasure_records.begin_erasure(registry, ANN, ANN, NOON)
    assert erasure_records.begin_erasure(registry, ANN, BOB, NOON) == first
    assert not first.done
    erasure_records.finish_erasure(registry, first.id, {"words": 3}, NOON)
    assert erasure_records.open_erasures(registry) == []
    again = erasure_records.begin_erasure(registry, ANN, ANN, NOON)
    assert again.id != first.id
    found = erasure_records.erasures_of(registry, ANN)
    assert [(each.id, each.done, dict(each.receipt)) for each in found] == [
        (again.id, False, {}),
        (first.id, True, {"words": 3}),
    ]


# -------------------------------------------------------------------------------------------------------- erasing


def test_what_agents_said_in_the_persons_turns_is_emptied_and_that_of_others_stays(tx: Tx) -> None:
    hers, his = taken(tx, 1, "my llama is called Quetzal"), taken(tx, 2, "and mine Toto", person=BOB)
    turn, other = begun(tx, hers), begun(tx, his, person=BOB)
    rows = [said(tx, turn, "Quetzal it is."), said(tx, turn, "", args='{"content": "Quetzal"}'),
            said(tx, turn, "kept: Quetzal", "tool")]  # fmt: skip
    stays = said(tx, other, "Toto it is.")
    told = EditEvent(rows[0], rows[0], None)
    inbox.add_event(
        tx, inbox.Event("edit", "1", HALL.id, ANN, GroupId("g"), "Ann edited", other.scope, Trust.STRANGER, told), NOON
    )
    erased = erase(tx)
    assert [text_of(tx, row) for row in rows] == ["", "{}", ""]
    assert tx.number("SELECT count(*) FROM messages WHERE content = 'Ann edited'") == 0
    assert text_of(tx, stays) == "Toto it is."
    assert erased.answers == 1
    assert set(erased.after.values()) == {0}
    assert erased.before["messages"] == 1


def test_what_is_counted_is_what_a_person_would_call_so(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1, "my llama is called Quetzal"))
    forgotten = taken(tx, 2, "I hide the key")
    messages.redact(tx, [row_of(tx, forgotten.id).message or MessageId(0)], NOON)
    for number, role in enumerate(("assistant", "tool"), 1):
        tx.insert("messages", {
            "id": number, "place_id": HALL.id, "person_id": ANN, "batch_id": turn.id, "role": role, "content": "x",
            "tool_call_id": "1", "source": "agent", "audience": "person:" + ANN, "trust": 1, "created_at": NOON,
        })  # fmt: skip
    for model in ("offline", "openai:gpt-5"):
        tx.insert("model_usage", {"person_id": ANN, "model": model, "input_tokens": 1, "output_tokens": 1, "at": NOON})
    known: dict[str, Value] = {"id": 1, "audience": GUILD, "trust": 1, "search_text": "tea"}
    fact: dict[str, Value] = {"agent_id": STAR, "category": "user_preference", "fact": "tea", "person_id": ANN}
    tx.insert("facts", {**known, **fact, "created_at": NOON, "last_seen": NOON})
    tx.insert("fact_sources", {**known, "fact_id": 1, "origin": "said", "session_id": 1, "wording": "tea", "at": NOON})
    counted = personal_tables.count_all(tx, ANN)
    assert (counted["messages"], counted["usage"], counted["facts"]) == (1, 1, 1)
    kept = {store.name: store.export(tx, ANN) for store in personal_tables.STORES}
    assert (len(kept["messages"]), len(kept["usage"]), len(kept["facts"])) == (4, 2, 2)
    assert set(erase(tx).after.values()) == {0}


@pytest.mark.parametrize(("kind", "begun_by"), [("entry", ANN), ("entry", BOB), ("message", ANN)])
def test_what_tools_quoted_to_others_is_emptied_and_what_agents_answered_them_stays(
    tx: Tx, kind: Literal["entry", "message"], begun_by: PersonId
) -> None:
    hers, his = taken(tx, 1, "my llama is called Quetzal"), taken(tx, 2, "what is Ann's llama called?", person=BOB)
    used = [str(hers.message), str(his.message)]
    if kind == "entry":
        used = [keep(tx, "llamas", person=begun_by).id, keep(tx, "Bob asks", person=BOB).id]
        origin = Origin(Scope(GUILD), Trust.APPROVED, ANN)
        entry_changes.append(tx, STAR, EntryId(used[0]), "Ann's llama is Quetzal", origin, NOON)
    other = begun(tx, his, person=BOB)
    turns.note_use(tx, other, kind, used[0])
    quotes, tells = said(tx, other, "Ann: Ann's llama is Quetzal", "tool"), said(tx, other, "It is Quetzal.")
    unrelated = begun(tx, taken(tx, 3, "what is a quetzal?", person=BOB), person=BOB)
    turns.note_use(tx, unrelated, kind, used[1])
    found = said(tx, unrelated, "A quetzal is a bird.", "tool")
    erase(tx)
    assert text_of(tx, quotes) == ""
    assert text_of(tx, tells) == "It is Quetzal."
    assert text_of(tx, found) == "A quetzal is a bird."


def test_what_agents_said_in_a_turn_that_answered_others_too_is_emptied_whole(tx: Tx) -> None:
    both = begun(tx, taken(tx, 1, "my llama is called Quetzal"), taken(tx, 2, "mine is Toto", person=BOB), person=BOB)
    answer = said(tx, both, "What lovely names.")
    erase(tx)
    assert text_of(tx, answer) == ""


def test_what_others_brought_along_of_the_person_goes_before_it_is_answered(tx: Tx) -> None:
    taken(tx, 1, "my llama is called Quetzal")
    payload = Extras(background=("Ann: Quetzal!", "Bob: hello"), quoted=Quotation("Ann", "Quetzal"))
    waiting = taken(tx, 2, "hm?", person=BOB, speaker="Bob", extras=payload)
    harmless = taken(tx, 3, "hm!", person=BOB, speaker="Bob", extras=Extras(quoted=Quotation("Bob", "hm?")))
    for number, profile in ((10, "Recently here: Bob, Ann"), (11, "Recently here: Bob")):
        label = f"discord_channel:{number}"
        block = NewBlock(CONSTELLATION_OWNER, label, "Notes", GUILD, Trust.SYSTEM, profile=profile)
        create_block(tx, block, SYSTEM, NOON)
    erase(tx)
    assert row_of(tx, waiting.id).payload == Extras(background=("Bob: hello",))
    assert row_of(tx, harmless.id).payload == harmless.payload
    assert row_of(tx, waiting.id).status is inbox.Status.RECEIVED
    left = tx.all("SELECT profile, search_text <> '' AS found FROM memory_blocks ORDER BY n")
    assert [(row["profile"], row["found"]) for row in left] == [("", 0), (profile, 1)]


def test_a_running_turn_of_the_person_can_write_nothing_back(tx: Tx) -> None:
    turn = begun(tx, taken(tx, 1, "my llama is called Quetzal"))
    assert erase(tx).moved == (turn.id,)
    with pytest.raises(TurnMoved):
        turns.add_step(tx, turn, ModelAnswer("Quetzal"), NOON)
    with pytest.raises(TurnMoved):
        turns.require_current(tx, turn)
    assert turns.steps(tx, turn.id) == []


def test_a_running_turn_of_another_begins_again(tx: Tx) -> None:
    taken(tx, 1, "my llama is called Quetzal")
    his = taken(tx, 2, "hello", person=BOB)
    other = begun(tx, his, person=BOB)
    turns.add_step(tx, other, CallDone("c", "search", "Ann: Quetzal", True, None, Trust.SYSTEM), NOON)
    erase(tx)
    assert [type(step.body) for step in turns.steps(tx, other.id)] == [MessagesJoined]
    with pytest.raises(TurnMoved):
        turns.add_step(tx, other, ModelAnswer("Quetzal"), NOON)
    found = turns.get(tx, other.id)
    assert found is not None
    turns.add_step(tx, found, ModelAnswer("hello"), NOON)


@pytest.mark.parametrize(
    "body",
    [
        CallDone("c", "bell", "", True, None, Trust.SYSTEM, effect=True),
        CallStarted("c", "bell", effect=False),
        CallWaits("c", "bell", "", RequestId(7)),
        ModelAnswer("", (ToolCall("c", "bell", "{}", CallApproval(RequestId(1), ())),)),
    ],
)
def test_a_turn_of_another_that_did_something_lasting_goes_on(tx: Tx, body: StepBody) -> None:
    other = begun(tx, taken(tx, 2, "hello", person=BOB), person=BOB)
    turns.add_step(tx, other, body, NOON)
    erase(tx)
    turns.require_current(tx, other)
    assert turns.steps(tx, other.id)[-1].body == body


def test_a_turn_that_spoke_elsewhere_goes_on(tx: Tx) -> None:
    other = begun(tx, taken(tx, 2, "hello", person=BOB), person=BOB)
    queued = outbox.add(tx, outbox.NewRow("k", HALL.id, "x", GUILD, turn=other.id), NOON)
    assert queued is not None
    outbox.mark_sending(tx, queued, NOON)
    erase(tx)
    turns.require_current(tx, other)


def test_erasing_again_after_a_crash_still_knows_how_much_there_was(tx: Tx) -> None:
    begun(tx, taken(tx, 1, "my llama is called Quetzal"))
    before = '{"messages": 99}'  # of somebody else's
    tx.insert("erasures", {"id": 0, "person_id": BOB, "before": before, "answers": 9, "at": NOON})
    first = erase(tx)
    taken(tx, 9, "came in between")
    second = erase(tx)
    assert first.before["messages"] == second.before["messages"] == 1
    assert second.before["turns"] == first.before["turns"] > 0
    assert second.after["messages"] == 0
    assert len(tx.all("SELECT * FROM erasures WHERE person_id = ?", (ANN,))) == 1
    assert "llama" not in str([tuple(row) for row in tx.all("SELECT * FROM erasures")])


# ------------------------------------------------------------------------------------------------------ the bytes


def found_in(path: Path, word: str) -> bool:
    return word.encode().lower() in path.read_bytes().lower()


def test_erasing_and_compacting_leaves_no_word_in_any_byte(tx: Tx, tmp_path: Path) -> None:
    path, more = tmp_path / "carina.db", Extras(background=("a quetzalcoatl",))
    for number in range(1, 200):
        taken(tx, number, f"the quetzalcoatl number {number} is feathered", extras=more)
    taken(tx, 900, "a tortoise", person=BOB)
    words = byte_search.samples(tx, ANN)
    assert words
    assert empty_log(tx._raw)
    assert found_in(path, "quetzalcoatl")
    assert byte_search.search(tmp_path, words).left
    erase(tx)
    assert compact(tx._raw)
    searched = byte_search.search(tmp_path, words)
    assert searched.left == ()
    assert not any(found_in(each, "quetzal") for each in tmp_path.iterdir())
    assert found_in(path, "tortoise")
    assert searched.files >= 1


def test_what_agents_made_of_the_persons_words_is_in_no_byte_and_that_of_others_is(tx: Tx, tmp_path: Path) -> None:
    """In words of the agent's own: in a block of text, in fields, in what it said and in its calls."""
    hers = begun(tx, taken(tx, 1, "they fired me"))
    his = begun(tx, taken(tx, 2, "they fired me as well", person=BOB), person=BOB)
    schema = MapSchema(fields=(Field(name="notes"), Field(name="seen", type=FieldType.LIST)))
    shared = NewBlock(STAR, "notes", "Notes.", GUILD, Trust.AGENT, content="Kept.\n", char_limit=5_000)
    create_block(tx, shared, SYSTEM, NOON)
    create_block(tx, NewBlock(STAR, "facts", "Facts.", GUILD, Trust.AGENT, schema=schema), SYSTEM, NOON)
    for turn, word in ((hers, "unemployedquetzal"), (his, "unemployedtortoise")):
        author = Author(STAR, Scope(GUILD), agent_writer(STAR), Trust.AGENT, NOON, turn.id)
        append_block(tx, author, "notes", f"{word} of late\n")
        append_block(tx, author, "facts", f"{word} again ", "notes")
        add_item(tx, author, "facts", "seen", word)
        said(tx, turn, f"So sorry, {word}.")
        said(tx, turn, "", args=json.dumps({"content": word}))
    assert empty_log(tx._raw)
    assert byte_search.search(tmp_path, ["unemployedquetzal"]).left
    erase(tx)
    assert compact(tx._raw)
    assert byte_search.search(tmp_path, ["unemployedquetzal"]).left == ()
    unpacked = b" ".join(unpack(row[0]) for sql in BLOBS for row in tx.all(sql))
    assert (b"quetzal" in unpacked, b"tortoise" in unpacked) == (False, True)
    assert byte_search.search(tmp_path, ["unemployedtortoise"]).left
    assert "tortoise" in find_block(tx, STAR, "notes", Scope(GUILD)).content


def test_a_block_that_is_theirs_alone_goes_with_its_name_and_others_lose_its_description(
    tx: Tx, tmp_path: Path
) -> None:
    hers = begun(tx, taken(tx, 1, "my llama is called Quetzal"))
    his = begun(tx, taken(tx, 2, "hello", person=BOB), person=BOB)
    for label, writer, turn in (
        ("quetzalhand", person_writer(ANN), None),
        ("quetzalturn", agent_writer(STAR), hers.id),
        ("quetzaldeleted", person_writer(ANN), None),
        ("used", person_writer(ANN), None),
        ("tortoise", person_writer(BOB), None),
        ("tortoiseturn", agent_writer(STAR), his.id),
    ):
        whose = "tortoisebob" if "tortoise" in label else "quetzalann"
        create_block(tx, NewBlock(STAR, label, f"What {whose} does", GUILD, Trust.AGENT), writer, NOON, turn)
    tx.run("UPDATE memory_blocks SET deleted_at = ? WHERE label = 'quetzaldeleted'", (NOON,))
    for answered, label in ((his, "used"), (hers, "tortoise")):
        author = Author(STAR, Scope(GUILD), agent_writer(STAR), Trust.AGENT, NOON, answered.id)
        append_block(tx, author, label, f"Said in {label}.\n")
    words = byte_search.samples(tx, ANN)
    assert {"What quetzalann does", "quetzalhand", "Quetzal"} <= set(words)
    assert "What tortoisebob does" not in words
    assert empty_log(tx._raw)
    there = ["quetzalann", "quetzalhand", "quetzalturn", "quetzaldeleted"]
    assert byte_search.search(tmp_path, there).left[0].samples == len(there)
    erase(tx)
    assert compact(tx._raw)
    assert not found_in(tmp_path / "carina.db", "quetzal")
    left = {row["label"]: (row["description"], row["content"]) for row in tx.all("SELECT * FROM memory_blocks")}
    assert left == {
        "used": (NO_DESCRIPTION, "Said in used.\n"),
        "tortoise": ("What tortoisebob does", ""),
        "tortoiseturn": ("What tortoisebob does", ""),
    }


def test_who_only_described_or_only_named_an_empty_block_of_others_takes_their_own_words_alone(
    tx: Tx, tmp_path: Path
) -> None:
    for label in ("tortoisehome", "tortoiseold", "quetzalhome", "quetzalold", "tortoisenamed", "quetzalboth"):
        creator = ANN if "quetzal" in label else BOB
        new = NewBlock(STAR, label, f"What {label} is for", GUILD, Trust.AGENT)
        create_block(tx, new, person_writer(creator), NOON)
    for label, settings in (
        ("tortoisehome", NewSettings(description="About quetzalann")),
        ("tortoiseold", NewSettings(description="About quetzalann")),
        ("tortoisenamed", NewSettings(label="annshome")),
    ):
        set_block_settings(tx, find_block(tx, STAR, label, Scope(GUILD)), settings, person_writer(ANN), NOON)
    both = find_block(tx, STAR, "quetzalboth", Scope(GUILD))
    set_block_settings(tx, both, NewSettings(description="About tortoisebob"), person_writer(BOB), NOON)
    tx.run("UPDATE memory_blocks SET deleted_at = ? WHERE label IN ('tortoiseold', 'quetzalold')", (NOON,))
    assert "What tortoisehome is for" not in byte_search.samples(tx, ANN)
    assert {"About quetzalann", "quetzalhome", "annshome"} <= set(byte_search.samples(tx, ANN))
    erase(tx)
    left = {row["label"]: row["description"] for row in tx.all("SELECT * FROM memory_blocks")}
    assert left == {
        "tortoisehome": NO_DESCRIPTION,
        "tortoiseold": NO_DESCRIPTION,
        "annshome": "What tortoisenamed is for",
        "quetzalboth": "About tortoisebob",
    }
    assert tx.all("SELECT 1 FROM memory_blocks WHERE deleted_at IS NOT NULL AND search_text <> ''") == []
    by = [row[0] for row in tx.all("SELECT named_by || described_by FROM memory_blocks")]
    erase_here(tx, ErasureId(2), BOB, NOON)
    left = {row["label"]: row["description"] for row in tx.all("SELECT * FROM memory_blocks")}
    assert left == {"annshome": NO_DESCRIPTION, "quetzalboth": NO_DESCRIPTION}
    assert not [each for each in by if person_writer(ANN) in each]


@pytest.mark.parametrize("gone", [(), ("llama",), ("quetzal",)])
def test_a_description_that_a_deleted_message_led_to_goes_with_it(tx: Tx, gone: tuple[str, ...]) -> None:
    hers = begun(tx, first := taken(tx, 1, "my llama is called Quetzal"))
    new = NewBlock(STAR, "llama", "About Quetzal", GUILD, Trust.AGENT)
    create_block(tx, new, agent_writer(STAR), NOON, hers.id)
    old = messages.of_id(tx, row_of(tx, first.id).message or MessageId(0))
    assert old is not None
    remove_derived(tx, old, NOON, gone={"tortoise"})
    assert find_block(tx, STAR, "llama", Scope(GUILD)).description == "About Quetzal"
    remove_derived(tx, old, NOON, gone=frozenset(gone))
    assert find_block(tx, STAR, "llama", Scope(GUILD)).description == NO_DESCRIPTION
    assert tx.number("SELECT count(*) FROM memory_blocks WHERE described_by <> '' OR described_turn NOT NULL") == 0


def test_what_an_index_kept_of_rows_long_gone_goes_too_and_the_file_has_no_free_pages(tx: Tx, tmp_path: Path) -> None:
    path = tmp_path / "carina.db"
    for number in range(1, 400):
        taken(tx, number, f"number {number} " * 20)
    for index in ("message_fts", "archival_fts", "block_fts"):
        tx.run(" ".join(["INSERT INTO", index, "(rowid, search_text) VALUES (12345, 'quetzalcoatl')"]))
    size = tx.number("PRAGMA page_count")
    assert empty_log(tx._raw)
    assert found_in(path, "quetzal")
    erase(tx)
    assert compact(tx._raw)
    assert not found_in(path, "quetzal")
    assert (tx.number("PRAGMA freelist_count"), tx.number("PRAGMA page_count") < size) == (0, True)


def test_samples_are_words_that_nobody_else_said(tx: Tx) -> None:
    taken(tx, 1, "everybody knows chrysanthemum")
    taken(tx, 2, "I planted chrysanthemum too", person=BOB)
    taken(tx, 3, "mine is called Quetzalcoatl, the old one")
    found = byte_search.samples(tx, ANN)
    assert "chrysanthemum" not in found
    assert "everybody" in found
    assert "mine is called Quetzalcoatl, the old one" in found
    assert byte_search.samples(tx, PersonId("discord:nobody")) == []


def test_the_names_that_somebody_went_by_are_samples_unless_others_bear_or_say_them(tx: Tx) -> None:
    for number, name in enumerate(("Quetzalann", "Ann", "Tortoise", "Chinchilla", "Quetzalana"), 1):
        taken(tx, number, "hi", speaker=name, at=NOON + timedelta(minutes=number))
    taken(tx, 8, "hello, chinchilla", person=BOB, speaker="Tortoise")
    paired: dict[str, Value] = {"person_id": ANN, "name": "Quetzalpair", "first_at": NOON, "expires_at": NOON}
    tx.insert("pairing_codes", paired | {"told": 1, "audience": "owner"})
    assert byte_search.samples(tx, ANN) == ["Quetzalana", "Quetzalann", "Quetzalpair"]


def test_words_that_stand_in_every_such_file_are_not_searched_for(tx: Tx, registry: Tx) -> None:
    """What jobs say of themselves and what the schema says of its tables is nobody's."""
    standing = NewJob("sleeptime", "sleeptime", "{}", NOON)
    jobs.put(tx, standing, NOON)
    jobs.tell(tx, "sleeptime", "nothing called for a turn")
    words = ["Called", "people", "constellations", "Quetzalcoatl", "größer als Öl", "is called Quetzalcoatl"]
    assert byte_search.distinctive(tx, words) == [
        "constellations",
        "Quetzalcoatl",
        "größer als Öl",
        "is called Quetzalcoatl",
    ]
    assert "constellations" not in byte_search.distinctive(registry, words)
    taken(tx, 1, "my llama is called Quetzalcoatl")
    assert "Quetzalcoatl" in byte_search.distinctive(tx, byte_search.samples(tx, ANN)), (
        "what people said is what is searched for"
    )


def test_a_search_finds_words_in_any_case_escaped_and_across_its_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(byte_search, "_CHUNK", 16)
    (tmp_path / "upper.log").write_text("x" * 13 + "QUETZALCOATL")
    (tmp_path / "escaped.json").write_text(json.dumps("…größer als Öl…"))
    (tmp_path / "carina.db.before-2-now").write_text("quetzalcoatl")
    (tmp_path / "other.bak").write_text("nothing")
    deleted = tmp_path / "deleted" / "20261122-one" / "carina.db"
    deleted.parent.mkdir(parents=True)
    deleted.write_text("quetzalcoatl")
    (tmp_path / "clean").write_text("quetzal coatl")
    found = byte_search.search(tmp_path, ["quetzalcoatl", "größer als Öl"])
    assert {(left.file, left.samples, left.copy) for left in found.left} == {
        ("upper.log", 1, False),
        ("escaped.json", 1, False),
        ("carina.db.before-2-now", 1, True),
        ("deleted/20261122-one/carina.db", 1, True),
    }
    copies = {"carina.db.before-2-now", "other.bak", "deleted/20261122-one/carina.db"}
    assert {copy.file for copy in found.copies} == copies
    assert found.files == 6


def test_turn_ids_are_given_for_looking_again(tx: Tx) -> None:
    assert erase(tx).moved == ()
    one = begun(tx, taken(tx, 1), person=ANN)
    other = begun(tx, taken(tx, 2, person=BOB), person=BOB)
    assert set(erase(tx).moved) == {TurnId(one.id), TurnId(other.id)}
