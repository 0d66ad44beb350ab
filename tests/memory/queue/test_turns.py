"""Turns and their steps as a store."""

import dataclasses
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from memory import budgets
from memory.budgets import ModelCost
from memory.people.audience import OWNER, Audience, Scope, Trust, person_audience
from memory.queue import steps, turns
from memory.queue.steps import (
    CallApproval,
    CallDone,
    CallFailed,
    CallStarted,
    CallWaits,
    MessagesJoined,
    MissingCalls,
    ModelAnswer,
    Note,
    StepBody,
    TakenUp,
    ToolCall,
    WorkState,
)
from memory.queue.turns import Turn
from memory.store.clock import to_text
from memory.store.database import Tx
from memory.store.errors import RowUnreadable
from memory.store.ids import BlockId, GroupId, MessageId, PlaceId, RequestId, TurnId
from memory.store.records import asdict, replace
from tests.memory.parts import ANN, BOB, GUILD, HALL, NOON, STAR, begun, edit_message, kept_of, row_of, taken


def stored(tx: Tx, turn: Turn) -> Turn:
    found = turns.get(tx, turn.id)
    assert found is not None
    return found


def test_a_turn_is_read_back_as_it_was_written(tx: Tx) -> None:
    scope = Scope(person_audience(ANN), frozenset({GUILD, Audience("guild:discord:2")}))
    turn = begun(tx, scope=scope, trust=Trust.APPROVED, blocks=(BlockId("blk_1"), BlockId("blk_2")))
    assert stored(tx, turn) == turn
    assert turns.get(tx, TurnId(404)) is None


@pytest.mark.parametrize(
    ("kind", "body"),
    [("joined", '{"v": 2, "messages": []}'), ("sung", '{"v": 1}'), ("joined", '{"v": 1}'), ("note", "[")],
)
def test_newer_unknown_and_damaged_steps_are_refused(tx: Tx, kind: str, body: str) -> None:
    turn = begun(tx)
    tx.run("UPDATE turn_steps SET kind = ?, body = ?", (kind, body))
    with pytest.raises(RowUnreadable):
        turns.steps(tx, turn.id)


STATE = WorkState("failed", "Paint", "used bell", ("red",), (), ("dry",), (), ("ad8ed51",), "bell", NOON)
CALL = ToolCall("c", "bell", "{}")
AS_BEFORE: list[tuple[str, dict[str, Any], StepBody]] = [
    ("joined", {"messages": [[7, 2]]}, MessagesJoined(((MessageId(7), 2),))),
    (
        "answer",
        {"text": "x", "calls": [asdict(CALL)], "model": "m", "finish": "stop", "shown": {"blk_1": 3}},
        ModelAnswer("x", (CALL,), "m", "stop", {BlockId("blk_1"): 3}),
    ),
    (
        "answer",
        {"text": "", "calls": [{**asdict(CALL), "permit": {"request": 9, "covers": [["a", "b", "c"]]}}], "model": ""},
        ModelAnswer("", (dataclasses.replace(CALL, permit=CallApproval(RequestId(9), (("a", "b", "c"),))),)),
    ),
    ("tool_started", {"call": "c", "name": "bell", "effect": True}, CallStarted("c", "bell", effect=True)),
    (
        "tool_result",
        {"call": "c", "name": "bell", "text": "x", "ok": False, "data": {"waiting": ["7"]}, "effect": True,
         "forgets": True, "trust": 2, "shown": {"blk_1": 3}},
        CallDone("c", "bell", "x", False, {"waiting": ["7"]}, Trust(2), True, True, {BlockId("blk_1"): 3}),
    ),
    (
        "tool_result",
        {"call": "c", "name": "bell", "text": "x", "ok": False, "effect": False, "data": {"waiting": "7"}},
        CallWaits("c", "bell", "x", RequestId(7)),
    ),
    (
        "tool_result",
        {"call": "c", "name": "bell", "text": "x", "ok": False, "effect": False, "rule": "cooldown"},
        CallFailed("c", "bell", "x", "cooldown"),
    ),
    ("note", {"text": "x"}, Note("x")),
    ("note", {"text": "x", "messages": [[7, 2]], "shorten": True}, Note("x", ((MessageId(7), 2),), shorten=True)),
    (
        "note",
        {"text": "x", "messages": [[7, 2]], "demands": True, "force": "bell"},
        MissingCalls("x", ((MessageId(7), 2),), "bell"),
    ),
    (
        "note",
        {"text": "", "recovery": {**asdict(STATE), "at": to_text(NOON)}, "of": [[7, 2]]},
        TakenUp(STATE, ((MessageId(7), 2),)),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "stored", "step"), AS_BEFORE)
def test_steps_of_this_and_of_earlier_versions_are_read(
    tx: Tx, kind: str, stored: dict[str, Any], step: StepBody
) -> None:
    assert steps.load(kind, json.dumps({"v": 1, **stored})) == step
    turn = begun(tx)
    turns.add_step(tx, turn, step, NOON)
    assert turns.steps(tx, turn.id)[-1].body == step


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
    edit_message(tx, "1", "better", NOON)
    turn = begun(tx, row)
    assert row.message is not None
    assert turns.steps(tx, turn.id)[0].body == MessagesJoined(((row.message, 1),))


@pytest.mark.parametrize("ending", ["done", "failed", "cancelled"])
def test_an_ended_turn_keeps_no_steps(tx: Tx, ending: turns.Ended) -> None:
    turn = begun(tx)
    turns.end(tx, turn.id, ending, NOON, "why" if ending == "failed" else "")
    assert turns.steps(tx, turn.id) == []
    row = tx.one("SELECT status, error FROM turns")
    assert row is not None
    assert (row["status"], row["error"]) == (ending, "why" if ending == "failed" else None)


MEANWHILE: dict[str, tuple[Callable[[Tx], object], bool]] = {
    "said by somebody else": (lambda tx: taken(tx, 2, person=BOB), True),
    "said elsewhere": (lambda tx: taken(tx, 2, place=replace(HALL, id=PlaceId("discord:11"))), True),
    "said to others": (lambda tx: taken(tx, 2, place=replace(HALL, audience=person_audience(ANN))), True),
    "said to another group": (lambda tx: taken(tx, 2, group=GroupId("grp_other")), True),
    "said": (lambda tx: taken(tx, 2), False),
    "edited": (lambda tx: edit_message(tx, "1", "better", NOON), False),
    "narrowed": (lambda tx: tx.run("UPDATE messages SET audience = ?", (person_audience(ANN),)), False),
    "gone": (lambda tx: tx.run("DELETE FROM messages"), False),
    "restarted": (lambda tx: tx.run("UPDATE turns SET restarts = 1"), False),
    "ended": (lambda tx: tx.run("UPDATE turns SET status = 'cancelled'"), False),
}


@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_a_turn_is_done_only_if_what_it_answers_is_as_it_was(tx: Tx, meanwhile: str) -> None:
    change, ends = MEANWHILE[meanwhile]
    row = taken(tx, 1)
    turn = begun(tx, row)
    assert row.message is not None
    change(tx)
    before, other = stored(tx, turn).status, begun(tx)
    answered = turn, ((row.message, 0),), row.id
    assert turns.undisturbed(tx, *answered) is turns.end_undisturbed(tx, *answered, NOON) is ends
    assert (stored(tx, turn).status, stored(tx, other).status) == ("done" if ends else before, "running")


@pytest.mark.parametrize("meanwhile", ["restarted", "ended"])
def test_nothing_is_written_for_a_turn_that_was_restarted_or_ended_meanwhile(tx: Tx, meanwhile: str) -> None:
    turn = begun(tx)
    turns.require_current(tx, turn)
    MEANWHILE[meanwhile][0](tx)
    with pytest.raises(turns.TurnMoved):
        turns.require_current(tx, turn)
    with pytest.raises(turns.TurnMoved):
        turns.add_joined(tx, turn, [], NOON)


FATES: tuple[Callable[[Tx, TurnId], object], ...] = (
    turns.count_attempt,
    partial(turns.note_ran, now=NOON),
    partial(turns.count_again, now=NOON, ran=True),
    partial(turns.count_again, now=NOON, ran=False),
    turns.uncount_attempt,
    partial(turns.postpone, error="it failed", again=NOON),
    turns.separate,
    partial(turns.give_up, error="it failed", now=NOON),
)


@pytest.mark.parametrize("fate", FATES)
def test_neither_a_message_that_was_deleted_nor_one_of_another_turn_is_tried_again_with_a_turn(
    tx: Tx, fate: Callable[[Tx, TurnId], object]
) -> None:
    gone, elsewhere, other = rows = taken(tx, 1), taken(tx, 2), taken(tx, 3)
    turn = begun(tx, gone, other)
    begun(tx, elsewhere)
    turns.count_attempt(tx, turn.id)
    tx.run("UPDATE inbox SET ran = 1, starts = 1, status = iif(id = ?, 'done', status)", (gone.id,))
    before = [tuple(tx.all("SELECT * FROM inbox WHERE id = ?", (row.id,))[0]) for row in rows]
    fate(tx, turn.id)
    after = [tuple(tx.all("SELECT * FROM inbox WHERE id = ?", (row.id,))[0]) for row in rows]
    assert after[:2] == before[:2]
    assert after[2] != before[2]


def test_a_restart_forgets_what_this_turn_did_and_nothing_of_another(tx: Tx) -> None:
    heard, stranger = taken(tx, 1, trust=Trust.OWNER), taken(tx, 2, trust=Trust.STRANGER)
    turn, other = begun(tx, heard), begun(tx, heard)
    for each in (turn, other):
        turns.note_use(tx, each, "block", "blk_1")
    assert stranger.message is not None
    turns.restart(tx, turn, [stranger.message])
    assert [step.seq for step in turns.steps(tx, turn.id)] == [1]
    assert len(turns.steps(tx, other.id)) == 1
    assert (stored(tx, turn).trust, stored(tx, other).trust) == (Trust.STRANGER, Trust.OWNER)
    assert [TurnId(int(row["turn_id"])) for row in tx.all("SELECT turn_id FROM turn_uses")] == [other.id]


def test_what_an_agent_or_a_place_has_not_finished_runs_or_waits_for_approval(tx: Tx) -> None:
    found = {status: begun(tx).id for status in ("running", "suspended", "done")}
    for status, turn in found.items():
        tx.run("UPDATE turns SET status = ? WHERE id = ?", (status, turn))
    for of in (STAR, HALL.id):
        assert turns.unfinished(tx, of) == (found["running"], found["suspended"])
    assert turns.unfinished(tx, PlaceId("discord:11")) == ()


def test_forgetting_a_person_ends_their_turns_and_keeps_the_numbers(tx: Tx) -> None:
    row = taken(tx, 1)
    mine, other = begun(tx, row), begun(tx, person=BOB, scope=Scope(OWNER))
    spent = ModelCost("scripted:one", 10, 5, 0, 0, None)
    for turn in (mine, other):
        turns.note_use(tx, turn, "entry", "ent_1")
        budgets.record(tx, turn, spent, NOON)
    assert kept_of("turns").count(tx, ANN) == len(kept_of("turns").export(tx, ANN)) == 2  # it, and its step
    assert (kept_of("usage").count(tx, ANN), len(kept_of("usage").export(tx, ANN))) == (1, 1)
    kept_of("turns").erase(tx, ANN)
    kept_of("usage").erase(tx, ANN)
    assert (kept_of("turns").count(tx, ANN), kept_of("usage").count(tx, ANN)) == (0, 0)
    assert stored(tx, mine) == replace(mine, person=None, status="cancelled", trust=Trust.APPROVED)
    assert turns.steps(tx, mine.id) == []
    assert len(turns.steps(tx, other.id)) == 1
    assert [row["person_id"] for row in tx.all("SELECT person_id FROM model_usage ORDER BY id")] == [None, BOB]
    assert row_of(tx, row.id).turn == mine.id
