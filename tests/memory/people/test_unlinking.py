"""What waits and runs forgets what it knew of an account that is not the same person's any more."""

import json

import pytest

from memory import requests
from memory.erasure.person import separate
from memory.people.audience import OWNER, Audience, Scope, Trust, person_audience
from memory.queue import turns
from memory.queue.inbox import Place
from memory.queue.steps import CallStarted, MessagesJoined, ModelAnswer
from memory.requests import Request
from memory.store.database import Tx
from memory.store.ids import PersonId, PlaceId
from memory.store.records import replace
from tests.memory.parts import ANN, BOB, GUILD, MAIN, NOON, STAR, begun, taken

ANNS, BOBS = person_audience(ANN), person_audience(BOB)
DIRECT = Place(PlaceId("discord:user:ann"), "direct", ANNS, "", (GUILD, BOBS))
DEN = Place(PlaceId("discord:den"), "direct", OWNER, "", (BOBS,))
SCOPE = Scope(ANNS, frozenset({GUILD, BOBS}))


def nobody(_audience: Audience) -> tuple[Audience, ...]:
    return ()


def within(tx: Tx, table: str) -> list[list[str]]:
    return [json.loads(row["within"]) for row in tx.all(" ".join(["SELECT within FROM", table, "ORDER BY id"]))]


def waiting(tx: Tx, turn: turns.Turn, status: str = "waiting") -> None:
    request = Request(
        requests.new_request_id(), requests.Kind.TOOL, "recall", STAR, MAIN, turn.id, f"call_{status}", "recall", "{}",
        requests.digest_of("recall", "{}"), (), {}, "", turn.place, turn.person, turn.scope, Trust.APPROVED, (ANN,), 1,
        False, NOON, NOON,
    )  # fmt: skip
    requests.ask(tx, request)
    tx.run("UPDATE permission_requests SET status = ? WHERE id = ?", (status, request.id))


def test_places_turns_and_requests_are_narrowed_and_the_turn_begins_again(tx: Tx) -> None:
    row = taken(tx, 1, place=DIRECT)
    turn = begun(tx, row, place=DIRECT.id, scope=SCOPE)
    turns.add_step(tx, turn, ModelAnswer("of what Bob said"), NOON)
    waiting(tx, turn)
    assert separate(tx, nobody) == (turn.id,)
    assert within(tx, "places") == within(tx, "turns") == within(tx, "permission_requests") == [[GUILD]]
    again = turns.get(tx, turn.id)
    assert again is not None
    assert (again.restarts, again.scope) == (1, Scope(ANNS, frozenset({GUILD})))
    assert [type(step.body) for step in turns.steps(tx, turn.id)] == [MessagesJoined]
    assert separate(tx, nobody) == ()


def test_what_is_still_linked_stays_and_what_is_over_is_left(tx: Tx) -> None:
    row = taken(tx, 1, place=DIRECT)
    turn = begun(tx, row, place=DIRECT.id, scope=SCOPE)
    waiting(tx, turn, "denied")
    assert separate(tx, lambda audience: (BOBS,) if audience == ANNS else ()) == ()
    assert within(tx, "places") == within(tx, "turns") == [[GUILD, BOBS]]
    turns.end(tx, turn.id, "done", NOON)
    assert separate(tx, nobody) == ()
    assert within(tx, "turns") == within(tx, "permission_requests") == [[GUILD, BOBS]]
    assert within(tx, "places") == [[GUILD]]


def test_a_turn_that_did_something_goes_on_with_less(tx: Tx) -> None:
    row = taken(tx, 1, place=DIRECT)
    turn = begun(tx, row, place=DIRECT.id, scope=SCOPE)
    turns.add_step(tx, turn, CallStarted("1", "ring", effect=True), NOON)
    assert separate(tx, nobody) == (turn.id,)
    now = turns.get(tx, turn.id)
    assert now is not None
    assert (now.restarts, now.scope.within) == (0, frozenset({GUILD}))


def test_the_owner_knows_other_accounts_of_theirs_by_name_only(tx: Tx) -> None:
    taken(tx, 1, place=replace(DEN, within=(BOBS, person_audience(PersonId("discord:eva")))))
    separate(tx, lambda audience: (BOBS,) if audience == OWNER else ())
    assert within(tx, "places") == [[BOBS]]


@pytest.mark.parametrize(
    ("scope", "row", "may"),
    [
        (Scope(OWNER), ANNS, False),
        (Scope(OWNER, frozenset({BOBS})), BOBS, True),
        (Scope(OWNER, frozenset({BOBS})), ANNS, False),
        (Scope(OWNER, frozenset({BOBS})), GUILD, True),
        (SCOPE, BOBS, True),
        (SCOPE, OWNER, False),
        (Scope(BOBS), ANNS, False),
    ],
)
def test_a_scope_and_its_sql_say_the_same_of_other_accounts(tx: Tx, scope: Scope, row: Audience, may: bool) -> None:
    condition, parameters = scope.sql("audience")
    found = tx.one(" ".join(["SELECT 1 FROM (SELECT ? AS audience) WHERE", condition, "AND 1"]), (row, *parameters))
    assert (found is not None, scope.may_use(row)) == (may, may)
