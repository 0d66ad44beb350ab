"""Upkeep of entries by plans: candidates, what may be done and what never is, and undoing it; real SQLite."""

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from memory.erasure import edited_or_deleted_messages
from memory.knowledge import entries, entry_changes, graph
from memory.knowledge.entries import Entry, Origin
from memory.knowledge.graph import Entity, Kind, Triple
from memory.knowledge.upkeep.applied_plans import BrokenPlan, apply, undo
from memory.knowledge.upkeep.planned_changes import Link, Mark, Merge, Part, Pass, Plan, Refine, Retire
from memory.knowledge.upkeep.run_records import allowance, latest_run
from memory.knowledge.upkeep.selection import Candidates, choose
from memory.knowledge.upkeep.specifics import invented, lost, same_words, specifics
from memory.people.audience import OWNER, Audience, Scope, Trust, person_audience
from memory.store.database import Rows, Tx, as_dict
from memory.store.errors import Refused
from memory.store.ids import MessageId
from memory.store.records import replace
from tests.memory.parts import ANN, BOB, GUILD, NOON, STAR, keep, opened, store, taken
from tests.memory.search.vector_parts import embed_all

T = TypeVar("T")
PART = Part(STAR, GUILD, Trust.APPROVED)
LATER = NOON + timedelta(hours=1)


class CountedReads:
    """Reads all from one connection, and counts how often."""

    def __init__(self, tx: Tx) -> None:
        self.tx, self.count = tx, 0

    async def read(self, work: Callable[[Rows], T]) -> T:
        self.count += 1
        return work(self.tx)


def chosen(tx: Tx, of: Pass) -> Candidates:
    return asyncio.run(choose(CountedReads(tx), STAR, of))


def several(tx: Tx, count: int) -> list[Entry]:
    return [keep(tx, f"thing number {number} lies in drawer {number * 7}") for number in range(count)]


def merge(*sources: Entry, content: str = "") -> Merge:
    return Merge(Pass.CONSOLIDATION, sources, content or sources[-1].content, "", ())


def retire(entries: Sequence[Entry]) -> Plan:
    return Plan(tuple(Retire(Pass.CONSOLIDATION, entry) for entry in entries))


def state(tx: Tx) -> list[dict[str, object]]:
    return [dict(as_dict(row)) for row in tx.all("SELECT * FROM archival_entries ORDER BY n")]


def standing(tx: Tx) -> set[str]:
    return {entry.content for entry in entries.latest(tx, STAR, Scope(GUILD), limit=100_000)}


def unharmed(tx: Tx, plan: Plan, why: str) -> None:
    """The plan is refused as a whole, and nothing has changed."""
    before = state(tx)
    tx.run("SAVEPOINT unit")
    with pytest.raises(BrokenPlan, match=why):
        apply(tx, plan, LATER)
    tx.run("ROLLBACK TO unit")
    tx.run("RELEASE unit")
    assert state(tx) == before
    assert tx.all("SELECT * FROM dream_runs") == []


def test_a_merge_keeps_the_oldest_day_the_most_weight_and_everybody_it_came_from(tx: Tx) -> None:
    first = keep(tx, "Ann takes the tram 71", NOON - timedelta(days=9), message=MessageId(1))
    second = keep(tx, "Ann goes by tram 71", message=MessageId(2), importance=0.7)
    keep(tx, "Ann goes by tram 71", message=MessageId(3))  # reinforces it
    second = entries.read(tx, STAR, second.id, Scope(GUILD))
    apply(tx, Plan((merge(first, second, content="Ann goes by tram 71."),)), LATER)
    (made,) = entries.latest(tx, STAR, Scope(GUILD))
    assert (made.content, made.created_at, made.importance) == ("Ann goes by tram 71.", first.created_at, 0.7)
    assert (made.reinforcement, made.messages, made.people) == (2, (1, 2, 3), (ANN,))
    assert entries.read(tx, STAR, first.id, Scope(GUILD)).id == made.id, "who asks for the old one is given the new"


def triple(subject: str, relation: str, other: str) -> Triple:
    return Triple(Entity(subject, Kind.PERSON), relation, Entity(other, Kind.THING))


def known(tx: Tx) -> list[str]:
    """The objects of what entries in use say."""
    sql = """SELECT object FROM graph_triples t JOIN archival_entries e ON e.id = t.entry_id
             WHERE e.archived_at IS NULL AND e.superseded_by IS NULL"""
    return [row["object"] for row in tx.all(sql)]


def test_a_merge_takes_along_what_its_sources_say_of_whom_and_undoing_gives_it_back(tx: Tx) -> None:
    first, second = keep(tx, "Ann takes the tram 71 to Graz"), keep(tx, "Ann goes by tram 71 to Graz")
    graph.put(tx, "drm_0", first, [triple("Ann", "goes by", "tram 71"), triple("Ann", "takes", "tram 71")], NOON)
    said = Link(Pass.ENTITIES, second, (triple("ann", "goes by", "Tram 71"), triple("Ann", "goes to", "Graz")))
    apply(tx, Plan((merge(first, second), said)), LATER)
    (made,) = entries.latest(tx, STAR, Scope(GUILD))
    assert sorted(known(tx)) == ["Graz", "Tram 71", "tram 71"], "each relation once, also what was read in the same run"
    assert {row["entry_id"] for row in tx.all("SELECT entry_id FROM graph_triples")} == {first.id, second.id, made.id}
    undo(tx, LATER)
    assert sorted(known(tx)) == ["tram 71", "tram 71"], "as before the run"


def test_a_merge_takes_nothing_along_that_its_own_words_do_not_say(tx: Tx) -> None:
    first, second = keep(tx, "Ann takes the tram 71 home"), keep(tx, "Ann goes by tram 71")
    graph.put(tx, "drm_0", first, [triple("Ann", "takes", "tram 71"), triple("Ann", "goes to", "home")], NOON)
    apply(tx, Plan((merge(first, second),)), LATER)
    assert known(tx) == ["tram 71"]


def test_at_most_five_percent_but_three_go_in_a_run_and_ten_percent_in_a_week() -> None:
    tx = store()
    entries = several(tx, 100)
    assert allowance(tx, STAR, NOON) == 5
    unharmed(tx, retire(entries[:6]), "loss bound")
    apply(tx, retire(entries[:5]), NOON)
    apply(tx, retire(entries[5:9]), NOON + timedelta(days=1))
    assert allowance(tx, STAR, NOON + timedelta(days=2)) == 0, "9 of what is 91 now: 10 % are gone"
    assert allowance(tx, STAR, NOON + timedelta(days=8)) == 4
    few = store()
    several(few, 4)
    assert allowance(few, STAR, NOON) == 3


@pytest.mark.parametrize("strong", ["reinforced", "important"])
def test_what_was_said_often_or_is_important_never_goes(tx: Tx, strong: str) -> None:
    entry = keep(tx, "Ann is allergic to nuts", importance=0.8 if strong == "important" else 0.5)
    for _ in range(5 if strong == "reinforced" else 0):
        entry = keep(tx, "Ann is allergic to nuts")
    unharmed(tx, retire([entry]), "important")
    assert entry.id not in {each.id for each in chosen(tx, Pass.DUPLICATES).new.get(PART, ())}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("Ann goes by tram.", "number"),
        ("Ann goes by tram 72.", "number"),
        ("She goes by tram 71.", "number"),
        ("Ann goes by tram 71 to Graz.", "no entry says"),
    ],
)
def test_specifics_survive_a_merge_and_none_is_invented(tx: Tx, content: str, why: str) -> None:
    sources = keep(tx, "Ann takes the tram 71"), keep(tx, "Ann goes by tram 71")
    unharmed(tx, Plan((merge(*sources, content=content),)), why)


@pytest.mark.parametrize(
    "other",
    [
        {"person": BOB},
        {"audience": person_audience(ANN)},
        {"trust": Trust.STRANGER},
        {"category": "anti-patterns/talk"},
    ],
)
def test_people_audiences_trust_and_kinds_are_never_joined(tx: Tx, other: dict[str, Any]) -> None:
    first, second = keep(tx, "goes by tram 71"), keep(tx, "comes by tram 71", **other)
    unharmed(tx, Plan((merge(first, second),)), "joined")
    assert chosen(tx, Pass.DUPLICATES).clusters == {}


def test_what_changed_meanwhile_is_left_and_said(tx: Tx) -> None:
    first, second, third = keep(tx, "Ann takes the tram 71"), keep(tx, "Ann goes by tram 71"), keep(tx, "hm")
    entry_changes.append(tx, STAR, first.id, "and walks", Origin(Scope(GUILD), Trust.APPROVED, ANN), LATER)
    entry_changes.delete(tx, STAR, third.id, Scope(GUILD))
    run = apply(tx, Plan((merge(first, second), Retire(Pass.CONSOLIDATION, third))), LATER)
    found = latest_run(tx)
    assert found is not None
    assert (found.id, found.retired + found.made + found.refined, found.notes) == (
        run,
        0,
        ("2 changes, because their entries changed in the meantime",),
    )


def test_nothing_new_is_nothing_to_look_at_and_leaves_no_run(tx: Tx) -> None:
    assert chosen(tx, Pass.DUPLICATES).new == {}
    assert apply(tx, Plan(), NOON) == ""
    keep(tx, "Ann goes by tram 71")
    choice = chosen(tx, Pass.DUPLICATES)
    marks = tuple(Mark(Pass.DUPLICATES, part, position) for part, position in choice.position.items())
    assert apply(tx, Plan(marks=marks), NOON) == ""
    assert chosen(tx, Pass.DUPLICATES).new == {}
    assert chosen(tx, Pass.CONSOLIDATION).new, "each pass has a mark of its own"
    assert tx.all("SELECT * FROM dream_runs") == []


def test_without_a_word_in_common_vectors_say_what_is_near(tmp_path: Path) -> None:
    tx = opened(tmp_path)
    first, second = keep(tx, "near tea"), keep(tx, "near coffee and a much longer sentence about it")
    assert chosen(tx, Pass.DUPLICATES).clusters == {}
    embed_all(tx)
    tx.run("UPDATE vectors SET bits = (SELECT bits FROM vectors LIMIT 1)")
    tx.run("UPDATE vector_numbers SET digits = (SELECT digits FROM vector_numbers LIMIT 1)")
    assert chosen(tx, Pass.DUPLICATES).clusters == {PART: [(first, second)]}


def test_each_entry_is_compared_in_a_read_of_its_own_so_that_turns_need_not_wait(tx: Tx) -> None:
    first, _, second = keep(tx, "goes by tram 71"), keep(tx, "likes cake"), keep(tx, "comes by tram 71")
    reads = CountedReads(tx)
    assert asyncio.run(choose(reads, STAR, Pass.DUPLICATES)).clusters == {PART: [(first, second)]}
    assert reads.count == 5, "what is new, three entries, and what vectors say"


def test_entries_that_share_no_long_word_are_found(tx: Tx) -> None:
    first = keep(tx, "Constantinople Byzantium: the old cat has a red toy and a big bed")
    second = keep(tx, "Thessaloniki Macedonia: the old cat has a red toy and a big bed")
    assert chosen(tx, Pass.DUPLICATES).clusters == {PART: [(first, second)]}


def test_undoing_puts_everything_back_exactly_and_is_not_done_again(tx: Tx) -> None:
    first, second = keep(tx, "Ann takes the tram 71"), keep(tx, "Ann goes by tram 71")
    noise, plain = keep(tx, "hm"), keep(tx, "likes cake", category="food")
    before = state(tx)
    refine = Refine(Pass.CONSOLIDATION, plain, "food/sweet", ("cake",))
    plan = Plan(
        (merge(first, second, content="Ann takes, goes by, the tram 71"), Retire(Pass.CONSOLIDATION, noise), refine)
    )
    apply(tx, plan, LATER)
    assert state(tx) != before
    assert standing(tx) == {"Ann takes, goes by, the tram 71", "likes cake"}
    done = undo(tx, LATER)
    undone, missing = done.run, done.gone
    assert (state(tx), missing, undone.retired) == (before, 0, 3)
    assert allowance(tx, STAR, LATER) == 3, "what came back does not count"
    with pytest.raises(Refused, match="no cleanup to undo"):
        undo(tx, LATER)
    keep(tx, "Ann goes on by tram 71")
    assert chosen(tx, Pass.DUPLICATES).clusters == {}, "what somebody took back is left alone"


def test_undoing_is_refused_as_a_whole_when_something_was_changed_since(tx: Tx) -> None:
    first, second = keep(tx, "Ann takes the tram 71"), keep(tx, "Ann goes by tram 71")
    apply(tx, Plan((merge(first, second),)), LATER)
    (made,) = entries.latest(tx, STAR, Scope(GUILD))
    entry_changes.append(tx, STAR, made.id, "and walks", Origin(Scope(GUILD), Trust.APPROVED, ANN), LATER)
    before = state(tx)
    with pytest.raises(Refused, match=r"some entries have changed .* \(1 of 3: "):
        undo(tx, LATER)
    assert state(tx) == before


def test_who_deletes_a_message_takes_back_what_was_merged_of_it_and_no_more(tx: Tx) -> None:
    one, two = taken(tx, 1, "by tram 71"), taken(tx, 2, "tram 71 every day")
    first = keep(tx, "Ann takes the tram 71", message=one.message)
    second = keep(tx, "Ann goes by tram 71", message=two.message)
    apply(tx, Plan((merge(first, second),)), LATER)
    assert one.message is not None
    edited_or_deleted_messages.forget_derived(tx, one.message, LATER)
    assert standing(tx) == {second.content}
    assert tx.all("SELECT 1 FROM archival_entries WHERE superseded_by IS NOT NULL") == []
    assert undo(tx, LATER).gone == 2, "what is gone stays gone, and that is said"
    assert standing(tx) == {second.content}


def test_who_forgets_a_merged_entry_forgets_all_that_it_was_made_of(tx: Tx) -> None:
    first, second = keep(tx, "Ann takes the tram 71"), keep(tx, "Ann goes by tram 71")
    apply(tx, Plan((merge(first, second),)), LATER)
    entry_changes.delete(tx, STAR, first.id, Scope(GUILD))
    assert state(tx) == []


def test_keeping_a_merged_entry_to_fewer_keeps_what_it_was_made_of_to_them(tx: Tx) -> None:
    first, second = keep(tx, "Ann takes the tram 71"), keep(tx, "Ann goes by tram 71")
    apply(tx, Plan((merge(first, second),)), LATER)
    (made,) = entries.latest(tx, STAR, Scope(GUILD))
    tx.run("UPDATE archival_entries SET audience = ? WHERE id = ?", (OWNER, second.id))
    edited_or_deleted_messages.narrow_entry(tx, made, person_audience(ANN), NOON)
    found = {row["id"]: row["audience"] for row in tx.all("SELECT id, audience FROM archival_entries")}
    assert found == {first.id: person_audience(ANN), made.id: person_audience(ANN), second.id: OWNER}


def test_a_part_never_sees_another_and_each_has_its_mark(tx: Tx) -> None:
    secret = person_audience(ANN)
    keep(tx, "Ann takes the tram 71")
    keep(tx, "Ann takes the tram 71 too", audience=secret)
    keep(tx, "Ann takes the tram 71 as well", audience=secret)
    choice = chosen(tx, Pass.CONSOLIDATION)
    assert {part.audience: len(new) for part, new in choice.new.items()} == {GUILD: 1, person_audience(ANN): 2}
    assert [part.audience for part in choice.clusters] == [person_audience(ANN)]
    mark = next(Mark(Pass.CONSOLIDATION, part, at) for part, at in choice.position.items() if part.audience == GUILD)
    apply(tx, Plan(marks=(mark,)), NOON)
    left = chosen(tx, Pass.CONSOLIDATION).new
    assert [part.audience for part in left] == [person_audience(ANN)]


def test_what_was_put_off_is_looked_at_again(tx: Tx) -> None:
    entry = keep(tx, "Ann takes the tram 71")
    choice = chosen(tx, Pass.DUPLICATES)
    marks = tuple(Mark(Pass.DUPLICATES, part, position) for part, position in choice.position.items())
    apply(tx, Plan(marks=marks, again=(entry,)), NOON)
    assert chosen(tx, Pass.DUPLICATES).new == {PART: [entry]}


def test_what_was_retired_is_kept_for_ninety_days(tx: Tx) -> None:
    entry = keep(tx, "hm")
    apply(tx, retire([entry]), NOON)
    assert entry_changes.purge(tx, NOON) == 0
    assert entry_changes.purge(tx, LATER) == 1
    assert tx.all("SELECT * FROM dream_items") == []


def test_an_audit_that_fails_takes_the_run_back(tx: Tx, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = keep(tx, "Ann takes the tram 71"), keep(tx, "Ann goes by tram 71")
    monkeypatch.setattr(entry_changes, "put", _wider)
    unharmed(tx, Plan((merge(first, second),)), "audience, trust, age or people")


def _wider(tx: Tx, entry: Entry) -> Entry:
    """What a mistake of ours would be: an entry that more may know than its sources."""
    made = _put(tx, replace(entry, audience=Audience("public")))
    return replace(made, audience=GUILD)


_put = entry_changes.put


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Ann's dentist is on Elm Street.", "ann’s dentist is on elm street", True),
        ("- likes *tea*, and cake!", "Likes tea and cake", True),
        ("likes tea", "likes no tea", False),
        ("likes tea?", "likes tea", False),
        ("it costs 5.5", "it costs 55", False),
        ("it was -5 degrees", "it was 5 degrees", False),
        ("moves to the US", "moves to the us", False),
        ("猫が好き", "猫が好き。", True),
    ],
)
def test_the_same_is_what_differs_in_case_and_marks_alone(one: str, other: str, same: bool) -> None:
    assert (same_words(one) == same_words(other)) is same


def test_specifics_are_numbers_names_acronyms_and_negations() -> None:
    text = "Ada's GP said on 2026-03-01 that she is not to take 20mg"
    assert specifics(text) == {"ada", "gp", "2026-03-01", "not", "20mg"}
    assert specifics("Heute geht Jörg nicht zur TU") >= {"jörg", "tu", "nicht"}
    assert lost(["東京で会う"], "大阪で会う")
    assert not lost(["Ada likes tea"], "tea is what ada likes")
    assert json.dumps(sorted(invented(["ada likes tea"], "Ada likes tea with Bob"))) == '["bob"]'
