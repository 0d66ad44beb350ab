"""Turns and their steps as a store."""

import dataclasses
import json
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from memory import spending
from memory.people.audience import OWNER, Audience, Scope, Trust, person_audience
from memory.queue import agent_messages, turns
from memory.queue.agent_messages import SentMessage
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
    Step,
    StepBody,
    TakenUp,
    ToolCall,
    WorkState,
)
from memory.queue.turns import Turn
from memory.spending import ModelCost
from memory.store.clock import to_text
from memory.store.database import Tx, Value
from memory.store.errors import RowUnreadable
from memory.store.ids import AgentId, BlockId, GroupId, MessageId, PlaceId, RequestId, TurnId
from memory.store.records import asdict, replace
from tests.memory.parts import (
    ANN,
    BOB,
    GUILD,
    HALL,
    MAIN,
    NOON,
    STAR,
    begun,
    edit_message,
    kept_of,
    name_types,
    row_of,
    store,
    taken,
)


def after(seconds: int) -> str:
    return to_text(NOON + timedelta(seconds=seconds))


SOON = after(1)
APART: dict[str, Any] = {"status": "received", "turn_id": None, "alone": 1}


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
    (
        "tool_result",
        {"call": "c", "name": "bell", "text": "x", "ok": False, "rule": "", "data": {"reason": "why"}},
        CallFailed("c", "bell", "x", reason="why"),
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
    turn = begun(tx)
    turns.add_step(tx, turn, step, NOON)
    assert turns.steps(tx, turn.id)[-1].body == step
    tx.run("UPDATE turn_steps SET kind = ?, body = ?", (kind, json.dumps({"v": 1, **stored})))
    name_types(tx)
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
    for each in (turn, begun(tx, row)):
        assert turns.steps(tx, each.id)[0] == Step(2, MessagesJoined(((row.message, 1),)), NOON)


@pytest.mark.parametrize("ending", ["done", "failed", "cancelled"])
def test_an_ended_turn_keeps_no_steps(tx: Tx, ending: turns.Ended) -> None:
    turn = begun(tx)
    parts = begun(tx, parent=turn.id), begun(tx, parent=turn.id)
    turns.end(tx, parts[1].id, "failed", NOON)
    turns.end(tx, turn.id, ending, NOON, "why" if ending == "failed" else "")
    assert turns.steps(tx, turn.id) == []
    assert [stored(tx, part).status for part in parts] == ["running" if ending == "done" else "cancelled", "failed"]
    row = tx.one("SELECT status, error FROM turns WHERE id = ?", (turn.id,))
    assert row is not None
    assert (row["status"], row["error"]) == (ending, "why" if ending == "failed" else None)


MEANWHILE: dict[str, tuple[Callable[[Tx], object], bool]] = {
    "said by somebody else": (lambda tx: taken(tx, 2, person=BOB), True),
    "said elsewhere": (lambda tx: taken(tx, 2, place=replace(HALL, id=PlaceId("discord:11"))), True),
    "said to others": (lambda tx: taken(tx, 2, place=replace(HALL, audience=person_audience(ANN))), True),
    "said to another group": (lambda tx: taken(tx, 2, group=GroupId("grp_other")), True),
    "said alone": (lambda tx: tx.run("UPDATE inbox SET alone = 1 WHERE id = ?", (taken(tx, 2).id,)), True),
    "said before": (lambda tx: tx.run("UPDATE inbox SET id = 0 WHERE id = ?", (taken(tx, 2).id,)), True),
    "said and taken up": (lambda tx: begun(tx, taken(tx, 2)), True),
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


ATTEMPTS: list[tuple[dict[str, Any], Callable[[Tx, TurnId], object], dict[str, Any]]] = [
    ({"next_attempt_at": SOON}, partial(turns.note_ran, now=NOON), {"ran": 1, "starts": 0, "next_attempt_at": None}),
    ({"attempts": 2}, partial(turns.note_ran, now=NOON), {"ran": 1, "starts": 0, "next_attempt_at": after(5)}),
    ({"ran": 1}, partial(turns.count_again, now=NOON, ran=True), {"attempts": 2, "ran": 0}),
    ({"starts": 0}, partial(turns.count_again, now=NOON, ran=False), {"starts": 1, "next_attempt_at": None}),
    ({}, partial(turns.count_again, now=NOON, ran=False), {"starts": 2, "next_attempt_at": after(5)}),
    ({"starts": 4}, partial(turns.count_again, now=NOON, ran=False), {"starts": 5, "next_attempt_at": after(60)}),
    ({"next_attempt_at": SOON}, turns.uncount_attempt, {"attempts": 0, "ran": 1, "next_attempt_at": None}),
    ({"attempts": 0}, turns.uncount_attempt, {"ran": 1}),
    ({}, partial(turns.postpone, error="e", again=NOON), {"last_error": "e", "ran": 1, "next_attempt_at": after(0)}),
    ({"ran": 1, "next_attempt_at": SOON}, turns.separate, APART),
    ({"ran": 1}, partial(turns.separate, again=NOON), {**APART, "ran": 0, "next_attempt_at": after(0)}),
    ({}, partial(turns.separate, tried=1), {}),
    ({"attempts": 0}, partial(turns.separate, tried=1), APART),
    ({"attempts": 0, "starts": turns.MOST_STARTS - 1}, partial(turns.separate, tried=1), {}),
    ({}, partial(turns.give_up, error="e", now=NOON), {"status": "dead", "last_error": "e", "done_at": after(0)}),
]  # fmt: skip


@pytest.mark.parametrize(("before", "deed", "changed"), ATTEMPTS)
def test_attempts_and_starts_are_counted_and_the_pauses_grow(
    tx: Tx, before: dict[str, Any], deed: Callable[[Tx, TurnId], object], changed: dict[str, Any]
) -> None:
    turn = begun(tx, row := taken(tx, 1))
    tx.run("UPDATE inbox SET attempts = 1, starts = 1")
    for column, value in before.items():
        tx.run(" ".join(["UPDATE inbox SET", column, "= ?"]), (value,))
    was = dict(tx.all("SELECT * FROM inbox")[0])
    deed(tx, turn.id)
    assert dict(tx.all("SELECT * FROM inbox WHERE id = ?", (row.id,))[0]) == {**was, **changed}


def test_a_call_has_its_result_once_that_is_stored_for_its_turn(tx: Tx) -> None:
    turn, other = begun(tx), begun(tx)
    turns.add_step(tx, turn, CallStarted("c", "bell", effect=True), NOON)
    assert not turns.has_result(tx, turn, "c")
    turns.add_step(tx, turn, CallFailed("c", "bell", "x", "cooldown"), NOON)
    assert [turns.has_result(tx, *of) for of in ((turn, "c"), (turn, "d"), (other, "c"))] == [True, False, False]


def test_what_a_message_led_to_is_found_once_a_turn_took_it_up(tx: Tx) -> None:
    """Also what agents wrote to each other because of it, which counts for the turn that answers it."""
    heard, decided, passed = (taken(tx, number) for number in (1, 2, 3))
    assert heard.message is not None
    tx.run("UPDATE inbox SET about_id = ? WHERE id = ?", (heard.message, decided.id))
    assert turns.answering(tx, heard.message) == []
    root = begun(tx, heard)
    sent = SentMessage(passed.id, root.id, root.id, STAR, AgentId("agt_bee"), MAIN)
    agent_messages.add(tx, sent, NOON)
    assert turns.caused(tx, turns.answering(tx, heard.message)) == [root.id]
    about, other, part = begun(tx, decided), begun(tx, passed), begun(tx, parent=root.id)
    assert set(turns.answering(tx, heard.message)) == {root.id, about.id}
    assert set(turns.caused(tx, [root.id])) == {root.id, other.id, part.id}
    assert [agent_messages.root_of(tx, each.id) for each in (root, about, other)] == [root.id, about.id, root.id]
    assert [agent_messages.wrote(tx, each.id) for each in (root, other)] == [[], [root.id]]


def test_a_restart_forgets_what_this_turn_did_and_nothing_of_another(tx: Tx) -> None:
    heard, stranger = taken(tx, 1, trust=Trust.OWNER), taken(tx, 2, trust=Trust.STRANGER)
    turn, other = begun(tx, heard), begun(tx, heard)
    for each in (turn, other):
        turns.note_use(tx, each, "block", "blk_1")
    for item, kind, whose in ((1, "working", turn), (2, "task", turn), (3, "working", other)):
        values: dict[str, Value] = {"id": item, "kind": kind, "turn_id": whose.id, "audience": GUILD}
        tx.insert("items", {**values, "trust": 0, "created_at": "", "updated_at": ""})
    assert stranger.message is not None
    turns.restart(tx, turn, [stranger.message])
    turns.restart(tx, turn, [heard.message or MessageId(0)])
    assert [step.seq for step in turns.steps(tx, turn.id)] == [1]
    assert [each["id"] for each in tx.all("SELECT id FROM items ORDER BY id")] == [2, 3]
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
        spending.record(tx, turn, spent, NOON)
    assert kept_of("turns").count(tx, ANN) == len(kept_of("turns").export(tx, ANN)) == 2  # it, and its step
    kept_of("turns").erase(tx, ANN)
    kept_of("usage").erase(tx, ANN)
    assert stored(tx, mine) == replace(mine, person=None, status="cancelled", trust=Trust.APPROVED)
    assert turns.steps(tx, mine.id) == []
    assert len(turns.steps(tx, other.id)) == 1
    assert [row["person_id"] for row in tx.all("SELECT person_id FROM model_usage ORDER BY id")] == [None, BOB]
    assert row_of(tx, row.id).turn == mine.id


def test_what_agents_wrote_is_counted_by_its_cause_and_between_two_of_them() -> None:
    bee, cat, back = AgentId("agt_bee"), AgentId("agt_cat"), GroupId("grp_back")
    tx = store(**{bee: "Bee", cat: "Cat"})
    root, other = begun(tx), begun(tx)
    ways = [
        (STAR, bee, MAIN), (bee, STAR, MAIN), (STAR, cat, back), (cat, bee, MAIN), (bee, cat, MAIN), (cat, STAR, MAIN),
        (STAR, None, back), (cat, None, back),
    ]  # fmt: skip
    rows = [taken(tx, number) for number in range(len(ways) + 1)]
    for row, way in zip(rows, ways, strict=False):
        agent_messages.add(tx, SentMessage(row.id, root.id, root.id, *way), NOON)
    agent_messages.add(tx, SentMessage(rows[-1].id, other.id, other.id, STAR, bee, MAIN), NOON - timedelta(hours=1))
    since = NOON - timedelta(minutes=1)
    assert [agent_messages.between(tx, STAR, each, since) for each in (bee, back)] == [2, 1]
    answer, part, deeper, others = (begun(tx, *of) for of in (rows[:1], [], [], []))
    for each, run in ((part, root), (deeper, answer), (others, other)):
        values: dict[str, Value] = {"turn_id": each.id, "run_id": run.id, "asked_by": run.id, "agent_id": STAR}
        tx.insert("group_parts", {**values, "kind": "answer", "status": "done", "audience": GUILD, "started_at": ""})
    assert [agent_messages.caused(tx, each.id) for each in (root, other)] == [len(ways) + 2, 2]
    assert agent_messages.wrote(tx, answer.id) == [root.id]
    for row, turn in ((rows[1], part), (rows[2], others)):
        tx.run("UPDATE agent_messages SET turn_id = ? WHERE inbox_id = ?", (turn.id, row.id))
    assert agent_messages.withdraw(tx, root.id, NOON) == len(ways) - 2, "one was taken up, and one is another's"
    gone = "SELECT id FROM inbox WHERE (status, payload, last_error, done_at) = ('done', '{}', 'taken back', ?)"
    assert {row["id"] for row in tx.all(gone, (NOON,))} == {row.id for row in (rows[1], *rows[3:-1])}
