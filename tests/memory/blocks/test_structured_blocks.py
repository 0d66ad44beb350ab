"""Blocks of fields, lists, logs and sections: what fits, what is refused, what people write by hand, what merges."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.blocks import (
    Author,
    Block,
    BlockType,
    Permission,
    add_item,
    append_block,
    containers,
    remove_item,
    replace_in_block,
    set_field,
    set_item,
    write_block,
)
from memory.blocks.changes import SYSTEM, Writer
from memory.blocks.form_edits import fields_by_hand, text_of, write
from memory.blocks.lifecycle import NewSettings, set_block_settings
from memory.blocks.repair import open_block, verify_block
from memory.blocks.revert import Editor, by_hand
from memory.blocks.schemas import (
    CompositeSchema,
    Field,
    FieldType,
    ListSchema,
    LogSchema,
    MapSchema,
    Schema,
    Section,
    TextSchema,
    dump_schema,
    lines_of,
    parse_schema,
)
from memory.people.audience import Trust
from memory.search.vector_texts import texts_of
from memory.store.database import Tx
from memory.store.errors import BlockRefused, BlockTooLong, Refused
from tests.memory.blocks.block_parts import (
    AGENT,
    IN_GUILD,
    JOB,
    MIA,
    NOW,
    PERSON,
    author,
    below,
    blocks_store,
    made,
    new,
    row,
)

MOOD = MapSchema(
    fields=(
        Field(name="mood", default="calm"),
        Field(name="energy", type=FieldType.NUMBER, required=True, default=5),
        Field(name="rested", type=FieldType.BOOLEAN),
        Field(name="goals", type=FieldType.LIST),
        Field(name="since", type=FieldType.TIMESTAMP),
        Field(name="talks", type=FieldType.COUNTER),
        Field(name="source", read_only=True, default="diary"),
    )
)
TASKS = ListSchema(fields=(Field(name="title", required=True), Field(name="done", type=FieldType.BOOLEAN)), max_items=3)
BOOK = CompositeSchema(
    sections=(
        Section(name="notes"),
        Section(name="state", schema=MOOD),
        Section(name="tasks", schema=TASKS),
        Section(name="diagnostics", read_only=True),
    )
)
TALKS = Field(name="talks", type=FieldType.COUNTER)
SCHEMAS = {"map": MOOD, "list": ListSchema(), "tasks": TASKS, "log": LogSchema(), "book": BOOK, "text": TextSchema()}


def content(tx: Tx, label: str = "notes") -> str:
    """What the row says; the document must say the same, also when it is loaded anew."""
    block = row(tx, label)
    assert open_block(tx, block.id, SYSTEM, NOW).document.text() == block.content
    assert verify_block(tx, block.id) == []
    return block.content


# ---------------------------------------------------------------- fields


def test_fields_begin_with_their_defaults_and_take_values_of_their_type(tx: Tx) -> None:
    block = made(tx, new(schema=MOOD, values={"goals": ["walk", "read"]}))
    assert block.schema == MOOD
    assert block.content == (
        "mood: calm\nenergy: 5\nrested:\ngoals:\n1. walk\n2. read\nsince:\ntalks: 0\nsource: diary\n"
    )
    for path, value in (
        ("mood", "cheerful"),
        ("energy", 7.5),
        ("rested", True),
        ("goals", ["read", "swim"]),
        ("since", "2026-11-22T13:30:00+02:00"),
        ("talks", 3),
    ):
        set_field(tx, author(), "notes", path, value)
    add_item(tx, author(), "notes", "goals", "sleep")
    add_item(tx, author(), "notes", "talks", 2)
    assert content(tx) == (
        "mood: cheerful\nenergy: 7.5\nrested: yes\ngoals:\n1. read\n2. swim\n3. sleep\n"
        "since: 2026-11-22 11:30 UTC\ntalks: 5\nsource: diary\n"
    )
    set_field(tx, author(), "notes", "rested", None)
    set_field(tx, author(), "notes", "mood", "")
    assert content(tx).startswith("mood:\nenergy: 7.5\nrested:\n")
    assert len(tx.all("SELECT 1 FROM block_fts WHERE block_fts MATCH 'swim'")) == 1


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("energy", "7", "field energy is a number, and '7' is not"),
        ("energy", True, "field energy is a number, and True is not"),
        ("energy", None, "field energy is required: it needs a number"),
        ("energy", 2**53 + 1, "field energy holds numbers up to 9,007,199,254,740,992"),
        ("energy", -(2**70), "field energy holds numbers up to"),
        ("energy", float("nan"), "field energy holds numbers up to"),
        ("energy", float("inf"), "field energy holds numbers up to"),
        ("rested", 1, "field rested is a boolean, and 1 is not"),
        ("rested", "yes", "field rested is a boolean"),
        ("mood", 4, "field mood is a text, and 4 is not"),
        ("mood", "a\x00", "field mood contains a NUL character"),
        ("mood", "\udc00", "field mood contains a NUL character or half of a surrogate pair"),
        ("goals", "walk", "field goals is a list"),
        ("goals", [1], "an item in goals must be text, and 1 is not"),
        ("goals", ["x"] * 10_001, "goals holds at most 10,000 items, not 10,001"),
        ("since", "tomorrow", "field since is a time with its zone"),
        ("since", "2026-11-22T13:30:00", "field since is a time with its zone"),
        ("since", "2026-11-22 13:30", "field since is a time with its zone, such as 2026-11-22T12:00:00Z or 2026-"),
        ("since", "2026-11-22 13:30 CET", "field since is a time with its zone"),
        ("since", "2026-11-22T13:30:00+02:00 UTC", "field since is a time with its zone"),
        ("since", "UTC", "field since is a time with its zone"),
        ("since", 5, "field since is a timestamp, and 5 is not"),
        ("talks", "many", "field talks is a counter"),
        ("talks", 2**60, "field talks holds numbers up to"),
        ("source", "me", "source of block “notes” is read-only"),
        ("colour", "red", r"there is no field “colour”; available: mood \(text\), energy \(number, required\)"),
        ("", "x", "block “notes” has fields: .*; name the field or section"),
        ("mood.deep", "x", "there is no field “mood.deep”"),
        ("x" * 300, "x", "there is no field"),
        ("recovered", "x", "there is no field “recovered”"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_the_name_of_its_field(
    tx: Tx, path: str, value: Any, words: str
) -> None:
    made(tx, new(schema=MOOD))
    before = content(tx)
    with pytest.raises((Refused, BlockRefused), match=words):
        set_field(tx, author(), "notes", path, value)
    assert content(tx) == before


def test_a_counter_is_never_counted_past_what_is_exact(tx: Tx) -> None:
    made(tx, new(schema=MOOD))
    add_item(tx, author(), "notes", "talks", 2**53)
    with pytest.raises(Refused, match="field talks holds numbers up to"):
        add_item(tx, author(), "notes", "talks", 1)
    assert "talks: 9007199254740992\n" in content(tx)


def test_the_system_keeps_what_is_read_only_to_others(tx: Tx) -> None:
    made(tx, new(schema=BOOK))
    with pytest.raises(BlockRefused, match="diagnostics of block “notes” is read-only"):
        append_block(tx, author(), "notes", "fine", "diagnostics")
    with pytest.raises(BlockRefused, match=r"state\.source of block “notes” is read-only"):
        set_field(tx, author(), "notes", "state.source", "me")
    append_block(tx, author(writer=SYSTEM), "notes", "fine", "diagnostics")
    assert content(tx).endswith("## diagnostics (read-only)\nfine\n")


def test_what_a_block_begins_with_obeys_its_limit_and_its_kind(tx: Tx) -> None:
    with pytest.raises(BlockTooLong):
        made(tx, new(schema=MOOD, values={"mood": "x" * 5_000}))
    with pytest.raises(Refused, match="give their values, not plain text"):
        made(tx, new("other", schema=MOOD, content="text"))
    with pytest.raises(Refused, match="leave out mood"):
        made(tx, new("another", values={"mood": "x"}))
    with pytest.raises(Refused, match="there is no section “elsewhere”; available: notes, state, tasks, diagnostics"):
        made(tx, new("book", schema=BOOK, values={"elsewhere": "x"}))


# ---------------------------------------------------------------- lists and logs


def test_a_list_never_holds_more_than_ten_thousand_items(tx: Tx) -> None:
    with pytest.raises(ValueError, match="10000"):
        ListSchema(max_items=10_001)
    with pytest.raises(Refused, match=r"the list is full \(10,000 of 10,000 items\)"):
        made(tx, new(schema=ListSchema(), char_limit=10**6, values={"items": ["x"] * 10_001}))


def test_a_log_keeps_its_newest_entries_and_shows_the_last_of_them(tx: Tx) -> None:
    made(tx, new(schema=LogSchema(display_limit=2, max_entries=4)))
    for word in ("one", "two", "three", "four", "five\nlines"):
        add_item(tx, author(), "notes", "", word)
    block = row(tx)
    assert content(tx).splitlines() == [
        f"- [2026-11-22 12:00] {word}" for word in ("two", "three", "four", "five lines")
    ]
    assert block.shown.splitlines() == ["(2 older entries: search finds them)", *block.content.splitlines()[2:]]
    with pytest.raises(BlockRefused, match="log entries cannot be changed"):
        remove_item(tx, author(), "notes", "", 1)
    with pytest.raises(BlockRefused, match="log entries cannot be changed"):
        set_item(tx, author(), "notes", "", 1, "x")


def test_a_log_of_its_own_takes_entries_of_its_agent_and_keeps_them(tx: Tx) -> None:
    made(tx, new(type=BlockType.LOG, permission=Permission.ADMIN, schema=LogSchema(fields=(Field(name="event"),))))
    assert "it rained" in append_block(tx, author(), "notes", "it rained").content
    assert "it snowed" in add_item(tx, author(), "notes", "", {"event": "it snowed"}).content
    with pytest.raises(BlockRefused, match="append here, so overwrite is not possible"):
        write_block(tx, author(), "notes", "nothing")


@pytest.mark.parametrize("kind", ["map", "list", "log", "book"])
def test_a_block_in_which_nothing_was_written_is_not_searched(tx: Tx, kind: str) -> None:
    fields = MapSchema(fields=(Field(name="name"), Field(name="goals", type=FieldType.LIST), TALKS))
    schemas: dict[str, Schema] = {"map": fields, "list": TASKS, "log": LogSchema()}
    book = CompositeSchema(sections=(Section(name="notes"), Section(name="state", schema=fields)))
    block = made(tx, new(schema=schemas.get(kind, book)))

    def searched() -> list[tuple[bool, bool]]:
        rows = tx.all("SELECT n, search_text FROM memory_blocks WHERE id = ?", (block.id,))
        return [(bool(each["search_text"]), bool(texts_of(tx, "block", [each["n"]]))) for each in rows]

    assert searched() == [(False, False)]
    set_block_settings(tx, block, NewSettings(description="What matters"), SYSTEM, NOW)
    assert searched() == [(False, False)]
    path, value = {"map": ("name", "Mia"), "book": ("state.name", "Mia")}.get(kind, ("", None))
    if path:
        set_field(tx, author(), "notes", path, value)
        assert searched() == [(True, True)]
        set_field(tx, author(), "notes", path, None)
        assert searched() == [(False, False)]
    else:
        add_item(tx, author(), "notes", "", {"title": "swim"} if kind == "list" else "swam")
        assert searched() == [(True, True)]


# ---------------------------------------------------------------- texts in parts, and wrong doors


def test_the_wrong_door_is_refused_with_the_right_one(tx: Tx) -> None:
    made(tx, new(schema=BOOK))
    made(tx, new("plain", content="text"))
    with pytest.raises(Refused, match=r"has sections: notes .*; name the field or section"):
        append_block(tx, author(), "notes", "x")
    with pytest.raises(Refused, match="has sections"):
        replace_in_block(tx, author(), "notes", "x", "y")
    append_block(tx, author(), "notes", "s line", "state.mood")
    replace_in_block(tx, author(), "notes", "s line", "t line")
    assert "t line" in content(tx)
    append_block(tx, author(), "notes", "t line", "notes")
    with pytest.raises(Refused, match=r"occurs in notes, state\.mood: name the field or section"):
        replace_in_block(tx, author(), "notes", "t line", "u line")
    with pytest.raises(Refused, match="is plain text, without fields"):
        set_field(tx, author(), "plain", "mood", "x")
    with pytest.raises(Refused, match="this is a number, not text"):
        append_block(tx, author(), "notes", "x", "state.energy")
    with pytest.raises(Refused, match="this is a text, which has no items"):
        add_item(tx, author(), "notes", "notes", "x")
    with pytest.raises(Refused, match="“q” does not occur there"):
        replace_in_block(tx, author(), "notes", "q", "x", "notes")


def test_adding_takes_the_right_to_append_and_setting_the_right_to_overwrite(tx: Tx) -> None:
    made(tx, new(schema=BOOK, permission=Permission.APPEND))
    add_item(tx, author(), "notes", "tasks", {"title": "sweep"})
    add_item(tx, author(), "notes", "state.talks", 1)
    append_block(tx, author(), "notes", "x", "notes")
    changes: list[Any] = [
        (set_field, "state.mood", "x"),
        (set_item, "tasks", 1, {"title": "mop"}),
        (remove_item, "tasks", 1),
        (replace_in_block, "x", "y", "notes"),
    ]
    for change, *arguments in changes:
        with pytest.raises(BlockRefused, match="overwrite is not possible"):
            change(tx, author(), "notes", *arguments)


# ---------------------------------------------------------------- written by hand


RESTED = MapSchema(fields=(Field(name="rested", type=FieldType.BOOLEAN),))


def typed(tx: Tx, path: str, text: str, seen: int | None = None) -> Block:
    block = row(tx)
    hand = Editor(MIA, (MIA,), is_owner=True, scope=IN_GUILD, trust=Trust.OWNER, now=NOW)
    return write(by_hand(tx, hand, block), block, text, path, seen=seen)


@pytest.mark.parametrize(
    ("text", "shown"), [("yes", "yes"), ("No", "no"), ("TRUE", "yes"), (" false ", "no"), ("", "")]
)
def test_yes_or_no_is_written_as_it_is_shown_or_as_json_has_it(tx: Tx, text: str, shown: str) -> None:
    block = made(tx, new(schema=RESTED))
    assert typed(tx, "rested", text).content.strip() == f"rested: {shown}".strip()
    assert text_of(tx, block, "rested") == shown


def test_what_is_neither_is_refused_with_what_is_taken(tx: Tx) -> None:
    made(tx, new(schema=RESTED))
    with pytest.raises(Refused, match=r"rested must be yes or no \(or true or false.*not “maybe”"):
        typed(tx, "rested", "maybe")


RECORDS = ListSchema(fields=(Field(name="title", required=True), Field(name="done", type=FieldType.BOOLEAN)))
LISTS = CompositeSchema(
    sections=(
        Section(name="todo", schema=ListSchema(max_items=3)),
        Section(name="tasks", schema=RECORDS),
        Section(name="kept", schema=ListSchema(), read_only=True),
    )
)


def test_a_list_section_is_written_with_an_item_on_each_line(tx: Tx) -> None:
    block = made(tx, new(schema=LISTS))
    assert fields_by_hand(block) == ["todo", "tasks"]
    seen = typed(tx, "todo", "milk\n\n  eggs \n").version
    assert text_of(tx, block, "todo") == "milk\neggs"
    add_item(tx, author(), "notes", "todo", "salt")
    assert "## todo\n1. eggs\n2. salt\n" in typed(tx, "todo", "eggs", seen).content, "what came since stays"
    with pytest.raises(Refused, match="at most 3 items, not 4"):
        typed(tx, "todo", "a\nb\nc\nd")
    assert "## todo\n## tasks" in typed(tx, "todo", "").content


def test_items_that_are_records_are_written_as_json(tx: Tx) -> None:
    block = made(tx, new(schema=LISTS))
    typed(tx, "tasks", '{"title": "Buy milk", "done": true}\n{"title": "Rest"}')
    assert text_of(tx, block, "tasks") == '{"title": "Buy milk", "done": true}\n{"title": "Rest"}'
    for line, words in (
        ("Buy milk", "is an item as JSON with the fields title"),
        ('{"name": "x"}', "not 'name'"),
        ("3", "not 3"),
    ):
        with pytest.raises(Refused, match=words):
            typed(tx, "tasks", line)


def test_a_block_that_is_one_list_is_written_whole_and_a_log_never(tx: Tx) -> None:
    block = made(tx, new(schema=ListSchema()))
    assert fields_by_hand(block) == []
    assert typed(tx, "", "a\nb").content == "1. a\n2. b\n"
    made(tx, new("log", schema=LogSchema()))
    log = row(tx, "log")
    with pytest.raises(BlockRefused, match="entries cannot be changed"):
        text_of(tx, log, "")


# ---------------------------------------------------------------- the viewport


def test_a_viewport_beyond_the_end_shows_the_last_lines() -> None:
    assert lines_of("a\nb\nc\n", 9, 2) == "(lines 2 to 3 of 3)\nb\nc\n"
    assert lines_of("a\nb", 5, 2) == "a\nb"


# ---------------------------------------------------------------- schemas as such


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_schema_comes_back_from_its_text(schema: Schema) -> None:
    assert parse_schema(dump_schema(schema)) == schema


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"tree"}',
        "{}",
        "no",
        '{"type":"map","fields":[]}',
        '{"type":"map","fields":[{"name":"a"},{"name":"a"}]}',
        '{"type":"map","fields":[{"name":"<b>"}]}',
        '{"type":"map","fields":[{"name":"a.b"}]}',
        '{"type":"map","fields":[{"name":"a","type":"number","default":"x"}]}',
        '{"type":"composite","sections":[{"name":"a","schema":{"type":"log"}}]}',
        '{"type":"list","max_items":0}',
    ],
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="not a block schema"):
        parse_schema(text)


# ---------------------------------------------------------------- damage


def test_what_a_damaged_structured_block_said_is_kept_until_it_is_taken_away(tx: Tx) -> None:
    block = made(tx, new(schema=MOOD))
    set_field(tx, author(), "notes", "mood", "cheerful")
    tx.run("UPDATE memory_block_updates SET update_blob = x'00' WHERE seq = 2")
    open_block(tx, block.id, SYSTEM, NOW)
    assert "mood: cheerful\n" in content(tx), "also in the row"
    changed = set_field(tx, author(), "notes", "energy", 9)
    assert changed.content.startswith("mood: calm\nenergy: 9\n")
    assert "recovered, as it stood before a damage: set the fields again\nmood: cheerful\n" in changed.content
    assert content(tx) == changed.content
    set_field(tx, author(), "notes", "recovered", "")
    assert "recovered" not in content(tx)
    assert block.id == changed.id


# ---------------------------------------------------------------- any edits

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=10)
SHORT = st.sampled_from(["walk", "read", "swim", "日記", "a\nb"])
ACTS = st.one_of(
    st.tuples(st.just("mood"), TEXTS),
    st.tuples(st.just("append"), TEXTS),
    st.tuples(st.just("energy"), st.one_of(st.integers(-(2**53), 2**53), st.floats(-1e9, 1e9))),
    st.tuples(st.just("rested"), st.sampled_from([True, False, None])),
    st.tuples(st.just("goals"), st.lists(SHORT, max_size=4)),
    st.tuples(st.just("add"), SHORT),
    st.tuples(st.just("put"), SHORT),
    st.tuples(st.just("drop"), st.integers(1, 3)),
    st.tuples(st.just("count"), st.integers(-5, 5)),
)
Act = tuple[str, Any]


def apply(tx: Tx, who: Author, model: dict[str, Any], act: Act) -> None:
    """One edit on the block and on plain data."""
    (what, value), goals = act, model["goals"]
    match what:
        case "append":
            append_block(tx, who, "notes", value, "mood")
            model["mood"] = below(model["mood"], value)
        case "count":
            add_item(tx, who, "notes", "talks", value)
            model["talks"] += value
        case "put" if goals:
            set_item(tx, who, "notes", "goals", len(goals), value)
            goals[-1] = value
        case "add" | "put":
            add_item(tx, who, "notes", "goals", value)
            goals.append(value)
        case "drop":
            if goals:
                remove_item(tx, who, "notes", "goals", min(value, len(goals)))
                del goals[min(value, len(goals)) - 1]
        case _:
            set_field(tx, who, "notes", what, value)
            model[what] = [*value] if what == "goals" else value


@given(acts=st.lists(st.tuples(st.sampled_from([AGENT, PERSON, JOB]), ACTS), max_size=12))
def test_any_edits_by_several_writers_equal_plain_data(acts: list[tuple[Writer, Act]]) -> None:
    with blocks_store() as tx:
        block = made(tx, new(schema=MOOD, char_limit=10**6))
        model: dict[str, Any] = {"mood": "calm", "energy": 5, "rested": None, "goals": [], "talks": 0}
        for writer, act in acts:
            apply(tx, author(writer=writer), model, act)
        document = open_block(tx, block.id, SYSTEM, NOW).document
        kept = document.read(containers.parts_of).values
        assert {key: kept[key] for key in model} == model
        assert content(tx) == document.text()
