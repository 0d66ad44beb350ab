"""One writer's changes of fields, lists and sections are taken back; what others changed stays."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.blocks import add_item, append_block, containers, remove_item, replace_in_block, set_field, set_item
from memory.blocks.changes import SYSTEM, Change, Splice, Writer
from memory.blocks.containers import by_items
from memory.blocks.history import history_of
from memory.blocks.repair import verify_block
from memory.blocks.revert import by_agent, redo, revert, undo
from memory.blocks.schemas import CompositeSchema, Field, FieldType, ListSchema, MapSchema, Section, TextSchema
from memory.blocks.sequence_history import SequenceHistory, Span
from memory.blocks.store import CheckpointPolicy, HistoryLimits, block_history, load_block
from memory.store.database import Tx
from memory.store.errors import BlockRefused, Refused
from tests.memory.blocks.block_parts import AGENT, JOB, NOW, PERSON, author, blocks_store, made, new, row

WRITERS = (AGENT, PERSON, JOB)
LETTERS = {AGENT: "a", PERSON: "p", JOB: "j"}
EDITED = ("set", "append", "replace", "add", "item", "remove")
Act = tuple[Writer, str, int, int]


# ------------------------------------------------------------------------------------------- random schemas, a model


@st.composite
def schemas(draw: st.DrawFn) -> CompositeSchema:
    """Sections of each kind, the map with some fields of each type."""
    types = draw(st.lists(st.sampled_from(list(FieldType)), min_size=1, max_size=6))
    fields = tuple(Field(name=f"f{at}", type=each) for at, each in enumerate(types))
    parts = [Section(name="map", schema=MapSchema(fields=fields))]
    parts += [Section(name="text")] if draw(st.booleans()) else []
    parts += [Section(name="list", schema=ListSchema())] if draw(st.booleans()) else []
    return CompositeSchema(sections=tuple(parts))


def paths(schema: CompositeSchema) -> dict[str, FieldType]:
    found: dict[str, FieldType] = {}
    for section in schema.sections:
        if isinstance(section.content, MapSchema):
            found |= {f"{section.name}.{each.name}": each.type for each in section.content.fields}
        else:
            found[section.name] = FieldType.TEXT if isinstance(section.content, TextSchema) else FieldType.LIST
    return found


class World:
    """A block that writers change at random, each in words of its own; and what each change did to which part."""

    def __init__(self, tx: Tx, schema: CompositeSchema, policy: CheckpointPolicy) -> None:
        self.tx, self.policy = tx, policy
        self.kinds = paths(schema)
        self.id = made(tx, new(schema=schema, char_limit=10**6)).id
        self.values: dict[str, Any] = self.held()
        self.empty = self.values
        self.did: dict[str, list[tuple[Writer, Any]]] = {path: [] for path in self.kinds}
        """By part: who changed it and what it held then; of a counter what was added."""
        self.items: dict[str, tuple[Writer, ...]] = {}
        """By the words of an item: who inserted it, and who set it to that, where that was not the same."""
        self.count = 0

    def held(self) -> dict[str, Any]:
        found = load_block(self.tx, self.id, None).document.read(containers.parts_of)
        assert found is not None
        return dict(found.values)

    def act(self, writer: Writer, kind: str, where: int, what: int) -> None:
        path = list(self.kinds)[where % len(self.kinds)]
        self.count += 1
        try:
            self._edit(writer, path, kind, what)
        except Refused:  # no such item, or not such a part
            return
        after = self.held()
        if after != self.values:
            counted = self.kinds[path] is FieldType.COUNTER
            self.did[path].append((writer, after[path] - self.values[path] if counted else after[path]))
        self.values = after

    def _edit(self, writer: Writer, path: str, kind: str, what: int) -> None:
        who = author(writer=writer, policy=self.policy)
        letter = LETTERS[writer]
        word = f"{letter}{self.count}"
        fits: dict[FieldType, Any] = {
            FieldType.TEXT: letter * (what % 4),
            FieldType.NUMBER: what % 7,
            FieldType.BOOLEAN: what % 2 == 0,
            FieldType.TIMESTAMP: f"2026-11-{what % 20 + 10}T12:00:00Z",
            FieldType.COUNTER: what % 9,
            FieldType.LIST: [f"{word}.{at}" for at in range(what % 3)],
        }
        of = self.kinds[path]
        match kind:
            case "append" if of is FieldType.TEXT:
                append_block(self.tx, who, "notes", letter * (what % 3 + 1), path)
            case "replace" if of is FieldType.TEXT:
                replace_in_block(self.tx, who, "notes", "apj"[what % 3], letter * (what % 2), path)
            case "add" if of in (FieldType.LIST, FieldType.COUNTER):
                add_item(self.tx, who, "notes", path, word if of is FieldType.LIST else what % 5 - 2)
            case "item" if of is FieldType.LIST:
                set_item(self.tx, who, "notes", path, what % 4 + 1, word)
            case "remove" if of is FieldType.LIST:
                remove_item(self.tx, who, "notes", path, what % 4 + 1)
            case _:
                set_field(self.tx, who, "notes", path, fits[of])


def without(world: World, path: str, writer: Writer) -> Any:
    """What a number, a time, yes-or-no or a counter holds where that writer never was."""
    others = [value for each, value in world.did[path] if each != writer]
    if world.kinds[path] is FieldType.COUNTER:
        return sum(others)
    return others[-1] if others else None


def by_others(text: str) -> str:
    """Without what the job wrote, and without line breaks: what is appended brings one along."""
    return text.replace("j", "").replace("\n", "")


def is_subsequence(small: Sequence[Any], large: Sequence[Any]) -> bool:
    rest = iter(large)
    return all(each in rest for each in small)


ACTS = st.lists(
    st.tuples(st.sampled_from(WRITERS), st.sampled_from(EDITED), st.integers(0, 50), st.integers(0, 999)), max_size=24
)
POLICIES = st.sampled_from(
    [HistoryLimits(), HistoryLimits(8, 400_000, 3), HistoryLimits(6, 60, 5), HistoryLimits(9, 900, 0)]
).map(lambda limits: CheckpointPolicy(updates=4, keep=2, limits=limits))


@given(schema=schemas(), acts=ACTS, policy=POLICIES)
def test_a_reverted_writer_was_never_there(schema: CompositeSchema, acts: list[Act], policy: CheckpointPolicy) -> None:
    """Each part is as if the others alone had changed it; over checkpoints and shortened documents."""
    with blocks_store() as tx:
        world = World(tx, schema, policy)
        for writer, kind, where, what in acts:
            world.act(writer, kind, where, what)
        before = world.values
        past = block_history(tx, world.id)
        try:
            done = revert(by_agent(tx, author(writer=SYSTEM, policy=policy), "notes"), past, JOB, 1)
        except Refused:
            done = None
        after = world.held()
        for path, of in world.kinds.items():
            touched = {writer for writer, _ in world.did[path]}
            if JOB not in touched:
                assert after[path] == before[path], path
            elif touched == {JOB}:
                assert after[path] == world.empty[path], path
            elif of is FieldType.TEXT:
                assert "j" not in after[path]
                assert is_subsequence(by_others(before[path]), after[path])
            elif of is FieldType.LIST:
                assert not [item for item in after[path] if item.startswith("j")]
                kept = [item for item in before[path] if not item.startswith("j")]
                assert is_subsequence(kept, after[path])
            else:
                assert after[path] == without(world, path, JOB), path
        assert (done is None) == (after == before)
        assert verify_block(tx, world.id) == []


@settings(max_examples=30)
@given(schema=schemas(), acts=ACTS)
def test_of_what_is_older_than_the_history_nothing_of_others_goes(schema: CompositeSchema, acts: list[Act]) -> None:
    """A document without its archives: what cannot come back is told, and what others wrote stays."""
    policy = CheckpointPolicy(updates=3, keep=2, limits=HistoryLimits(6, 400_000, 2))
    with blocks_store() as tx:
        world = World(tx, schema, policy)
        for writer, kind, where, what in acts:
            world.act(writer, kind, where, what)
        tx.run("DELETE FROM memory_block_archives")
        past = history_of(load_block(tx, world.id, None).document)
        before = world.values
        try:
            revert(by_agent(tx, author(writer=SYSTEM, policy=policy), "notes"), past, JOB, 0)
        except Refused:
            return
        after = world.held()
        for path, of in world.kinds.items():
            if of is FieldType.TEXT:
                assert is_subsequence(by_others(before[path]), after[path])
                assert set(after[path]) <= set("apj\n")
            elif of is FieldType.LIST:
                assert is_subsequence([item for item in before[path] if not item.startswith("j")], after[path])
            elif of is not FieldType.COUNTER and world.did[path] and world.did[path][-1][0] != JOB:
                assert after[path] == before[path]


# ---------------------------------------------------------------------------------------------------- by example

TASKS = CompositeSchema(
    sections=(
        Section(
            name="state",
            schema=MapSchema(
                fields=(
                    Field(name="title", required=True, default="untitled"),
                    Field(name="level", type=FieldType.NUMBER, required=True, default=1),
                    Field(name="mood"),
                    Field(name="energy", type=FieldType.NUMBER),
                    Field(name="talks", type=FieldType.COUNTER),
                )
            ),
        ),
        Section(name="tasks", schema=ListSchema(max_items=3)),
    )
)


def reverted(tx: Tx, whose: Writer = JOB, after: int = 1) -> Any:
    edit = by_agent(tx, author(writer=SYSTEM), "notes")
    return revert(edit, block_history(tx, row(tx).id), whose, after)


def tasks(tx: Tx, *given: str) -> None:
    made(tx, new(schema=TASKS))
    for each in given:
        add_item(tx, author(), "notes", "tasks", each)


def listed(tx: Tx) -> list[str]:
    return [line.partition(". ")[2] for line in row(tx).content.splitlines() if line[0].isdigit()]


def test_an_item_does_not_come_back_where_others_changed_the_place_or_the_list_is_full() -> None:
    with blocks_store() as tx:
        tasks(tx, "walk", "swim")
        remove_item(tx, author(writer=JOB), "notes", "tasks", 2)
        add_item(tx, author(), "notes", "tasks", "read")
        with pytest.raises(Refused, match="none of what job:sleep changed is left to undo"):
            reverted(tx)
    with blocks_store() as tx:
        tasks(tx, "walk", "swim")
        remove_item(tx, author(writer=JOB), "notes", "tasks", 1)
        add_item(tx, author(), "notes", "tasks", "read")
        add_item(tx, author(), "notes", "tasks", "write")
        set_field(tx, author(writer=JOB), "notes", "state.mood", "low")
        done = reverted(tx)
        assert listed(tx) == ["swim", "read", "write"]
        assert done.plan.lost == ("tasks: walk",)


def test_what_is_required_stays_and_is_told(tx: Tx) -> None:
    tasks(tx)
    add_item(tx, author(writer=JOB), "notes", "state.talks", 4)
    add_item(tx, author(), "notes", "state.talks", 3)
    with pytest.raises(BlockRefused, match=r"nothing can be undone: .*title is required and would be empty"):
        reverted(tx, SYSTEM, 0)
    assert "talks: 3" in reverted(tx).block.content


def test_of_a_number_that_a_writer_changed_and_changed_back_nothing_is_left_to_undo(tx: Tx) -> None:
    tasks(tx)
    for writer, energy in ((AGENT, 1), (JOB, 2), (JOB, 1)):
        set_field(tx, author(writer=writer), "notes", "state.energy", energy)
    with pytest.raises(Refused, match="none of what job:sleep changed is left to undo"):
        reverted(tx)


def test_an_older_change_is_undone_while_others_write_and_done_again(tx: Tx) -> None:
    tasks(tx)
    edit = by_agent(tx, author(), "notes")
    for mood in ("low", "high"):
        set_field(tx, author(), "notes", "state.mood", mood)
    add_item(tx, author(writer=PERSON), "notes", "tasks", "walk")
    for mood in ("low", ""):
        assert f"mood: {mood}".rstrip() + "\n" in undo(edit, AGENT).block.content
    assert listed(tx) == ["walk"]
    for mood in ("low", "high"):
        assert f"mood: {mood}\n" in redo(edit, AGENT).block.content


def test_items_are_put_back_beside_what_others_put_there_meanwhile(tx: Tx) -> None:
    tasks(tx)
    mine = by_agent(tx, author(), "notes")
    add_item(tx, author(), "notes", "tasks", "walk")
    undo(mine, AGENT)
    add_item(tx, author(writer=PERSON), "notes", "tasks", "swim")
    assert (redo(mine, AGENT).plan.lost, listed(tx)) == ((), ["walk", "swim"])
    remove_item(tx, author(writer=PERSON), "notes", "tasks", 2)
    add_item(tx, author(), "notes", "tasks", "run")
    assert listed(tx) == ["walk", "run"]
    undo(by_agent(tx, author(writer=PERSON), "notes"), PERSON)
    assert listed(tx) == ["walk", "swim", "run"]
    undo(mine, AGENT)
    add_item(tx, author(writer=PERSON), "notes", "tasks", "read")
    with pytest.raises(Refused, match="not restored, because of later changes by others: “tasks: run”"):
        redo(mine, AGENT)  # the list is full
    assert listed(tx) == ["walk", "swim", "read"]


def test_of_lists_that_take_long_to_compare_all_between_the_ends_is_exchanged() -> None:
    before = [str(number) for number in range(5_000)]
    after = ["0", *before[:0:-1]]
    assert by_items(before, after) == [Splice(1, 4_999, tuple(after[1:]))]


def test_of_many_items_that_one_change_removed_each_is_looked_at_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    history, looked = SequenceHistory(1, tuple(map(str, range(1_000)))), list[Span]()
    history.take(Change(JOB, None, 2, NOW), [Splice(0, 1_000, ())])

    def moved(span: Span) -> int:
        looked.append(span)
        return span.events[-1][0]

    monkeypatch.setattr(Span, "moved", property(moved))
    cuts, lost = history.back({2}, beside=False)
    assert (len(cuts), lost) == (1_000, [])
    assert len(looked) < 20 * 1_000, "the time would grow with the square of their number"
