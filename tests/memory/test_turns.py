"""Turns and their steps as a store."""

import json
from dataclasses import replace

import pytest

from memory import messages, turns, usage
from memory.audience import OWNER, Audience, Scope, Trust, person_audience
from memory.database import Tx, as_dict
from memory.ids import BlockId, TurnId
from memory.turns import Turn
from memory.usage import Spent
from tests.memory.parts import ANN, BOB, GUILD, NOON, begun, row_of, store, taken


@pytest.fixture
def tx() -> Tx:
    return store()


def stored(tx: Tx, turn: Turn) -> Turn:
    found = turns.get(tx, turn.id)
    assert found is not None
    return found


def test_a_turn_is_read_back_as_it_was_written(tx: Tx) -> None:
    scope = Scope(person_audience(ANN), frozenset({GUILD, Audience("guild:discord:2")}))
    turn = begun(tx, scope=scope, trust=Trust.APPROVED, blocks=(BlockId("blk_1"), BlockId("blk_2")))
    assert stored(tx, turn) == turn
    assert turns.get(tx, TurnId(404)) is None


def test_steps_are_numbered_and_kept_in_order_with_the_turns_audience(tx: Tx) -> None:
    turn, other = begun(tx), begun(tx)
    numbers = [turns.add_step(tx, turn, "note", {"text": text}, NOON) for text in "abc"]
    turns.add_step(tx, other, "note", {"text": "other"}, NOON)
    found = turns.steps(tx, turn.id)
    assert numbers == [step.seq for step in found if step.kind == "note"] == [2, 3, 4]
    assert [step.body.get("text") for step in found] == [None, "a", "b", "c"]
    assert {row["audience"] for row in tx.all("SELECT audience FROM turn_steps")} == {GUILD}


def test_steps_of_a_newer_program_are_refused(tx: Tx) -> None:
    turn = begun(tx)
    tx.run("UPDATE turn_steps SET body = ?", (json.dumps({"v": 2, "messages": []}),))
    with pytest.raises(ValueError, match="has version 2, known is 1"):
        turns.steps(tx, turn.id)


def test_a_turn_trusts_no_more_than_the_least_trusted_whose_words_it_answers(tx: Tx) -> None:
    owner, stranger = taken(tx, 1, trust=Trust.OWNER), taken(tx, 2, trust=Trust.STRANGER)
    turn = begun(tx, owner)
    assert stored(tx, turn).trust is Trust.OWNER
    assert stranger.message is not None
    turns.add_joined(tx, turn, [stranger.message], NOON)
    assert stored(tx, turn).trust is Trust.STRANGER
    assert owner.message is not None
    turns.add_joined(tx, turn, [owner.message], NOON)
    assert stored(tx, turn).trust is Trust.STRANGER


def test_a_joined_step_remembers_the_wording_that_was_read(tx: Tx) -> None:
    row = taken(tx, 1)
    messages.edit_heard(tx, "discord", "1", "better", NOON)
    turn = begun(tx, row)
    assert turns.steps(tx, turn.id)[0].body["messages"] == [[row.message, 1]]


def test_a_restart_forgets_the_steps_and_is_counted(tx: Tx) -> None:
    turn = begun(tx)
    turns.restart(tx, turn)
    turns.restart(tx, turn)
    assert (turns.steps(tx, turn.id), stored(tx, turn).restarts) == ([], 2)


@pytest.mark.parametrize("ending", ["done", "failed", "cancelled"])
def test_an_ended_turn_keeps_no_steps(tx: Tx, ending: turns.Ended) -> None:
    turn = begun(tx)
    turns.end(tx, turn.id, ending, NOON, "why" if ending == "failed" else "")
    assert turns.steps(tx, turn.id) == []
    row = tx.one("SELECT status, error FROM turns")
    assert row is not None
    assert (row["status"], row["error"]) == (ending, "why" if ending == "failed" else None)


def test_what_an_answer_used_is_noted_once(tx: Tx) -> None:
    turn = begun(tx)
    for _ in range(2):
        turns.note_use(tx, turn, "entry", "ent_1")
    assert [as_dict(row) for row in tx.all("SELECT kind, row_id FROM turn_uses")] == [
        {"kind": "entry", "row_id": "ent_1"}
    ]


def test_forgetting_a_person_ends_their_turns_and_keeps_the_numbers(tx: Tx) -> None:
    row = taken(tx, 1)
    mine, other = begun(tx, row), begun(tx, person=BOB, scope=Scope(OWNER))
    spent = Spent("scripted:one", 10, 5, 0, 0, None)
    for turn in (mine, other):
        turns.note_use(tx, turn, "entry", "ent_1")
        usage.record(tx, turn, spent, NOON)
    assert turns.count_person(tx, ANN) == len(turns.export_person(tx, ANN)) == 1
    assert (usage.count_person(tx, ANN), len(usage.export_person(tx, ANN))) == (1, 1)
    turns.erase_person(tx, ANN)
    usage.erase_person(tx, ANN)
    assert (turns.count_person(tx, ANN), usage.count_person(tx, ANN)) == (0, 0)
    assert stored(tx, mine) == replace(mine, person=None, status="cancelled", trust=Trust.APPROVED)
    assert turns.steps(tx, mine.id) == []
    assert len(turns.steps(tx, other.id)) == 1
    assert [row["person_id"] for row in tx.all("SELECT person_id FROM model_usage ORDER BY id")] == [None, BOB]
    assert row_of(tx, row.id).turn == mine.id
