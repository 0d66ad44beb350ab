"""Accounts of one person: proven from both sides, taken apart again with what each knew, and gone with an erasure."""

import json
from datetime import timedelta

from memory import permission_requests
from memory.erasure import personal_tables
from memory.erasure.person_in_one_constellation import separate
from memory.people import identities
from memory.people.audience import OWNER, Audience, Scope, Trust, person_audience
from memory.people.identities import CODE_LIFE, MOST_LINKED, MOST_OPEN, Link
from memory.permission_requests import Request
from memory.queue import turns
from memory.queue.notifications import Place
from memory.queue.steps import MessagesJoined, ModelAnswer
from memory.store.database import Tx
from memory.store.ids import PersonId, PlaceId
from memory.store.records import replace
from tests.memory.parts import ANN, BOB, GUILD, MAIN, NOON, STAR, begun, taken

A, B, C, D = (PersonId(f"discord:{name}") for name in "1234")


def link(tx: Tx, one: PersonId, other: PersonId) -> Link | None:
    """All of it: the first code to one, said by the other; the second to the other, said by the one."""
    assert identities.issue_code(tx, one, "FIRST", NOON)
    assert identities.redeem_code(tx, other, "FIRST", "SECOND", NOON) == Link(one, proven=False)
    return identities.redeem_code(tx, one, "SECOND", "", NOON)


def sets(tx: Tx) -> set[frozenset[PersonId]]:
    return set(identities.links(tx).values())


def test_one_side_proves_nothing_and_both_do(registry: Tx) -> None:
    identities.issue_code(registry, A, "FIRST", NOON)
    assert identities.redeem_code(registry, A, "FIRST", "X", NOON) is None, "the same account"
    assert identities.redeem_code(registry, B, "WRONG", "X", NOON) is None
    assert identities.redeem_code(registry, B, "FIRST", "SECOND", NOON) == Link(A, proven=False)
    assert identities.redeem_code(registry, C, "FIRST", "X", NOON) is None, "a code works once"
    assert identities.redeem_code(registry, B, "SECOND", "X", NOON) is None, "it is not theirs to say"
    assert identities.redeem_code(registry, C, "SECOND", "X", NOON) is None
    assert identities.links(registry) == {}
    assert identities.redeem_code(registry, A, "SECOND", "X", NOON) == Link(B, proven=True)
    assert identities.redeem_code(registry, A, "SECOND", "X", NOON) is None
    assert identities.links(registry) == {A: frozenset({A, B}), B: frozenset({A, B})}


def test_codes_end_at_their_time_and_a_new_one_replaces_the_old(registry: Tx) -> None:
    identities.issue_code(registry, A, "FIRST", NOON)
    assert identities.redeem_code(registry, B, "FIRST", "SECOND", NOON + CODE_LIFE) is None
    identities.issue_code(registry, A, "OTHER", NOON)
    assert identities.redeem_code(registry, B, "FIRST", "SECOND", NOON) is None
    assert identities.redeem_code(registry, B, "OTHER", "SECOND", NOON) == Link(A, proven=False)
    assert identities.redeem_code(registry, A, "SECOND", "X", NOON + CODE_LIFE) is None


def test_few_codes_are_open(registry: Tx) -> None:
    for number in range(MOST_OPEN):
        assert identities.issue_code(registry, PersonId(f"discord:{number}"), f"CODE{number}", NOON)
    assert not identities.issue_code(registry, PersonId("discord:more"), "MORE", NOON)
    assert identities.issue_code(registry, PersonId("discord:1"), "MINE", NOON), "one of them may have another"
    assert identities.issue_code(registry, PersonId("discord:more"), "MORE", NOON + CODE_LIFE + timedelta(seconds=1))


def test_links_join_what_each_side_has_up_to_a_limit(registry: Tx) -> None:
    link(registry, A, B)
    link(registry, C, D)
    assert sets(registry) == {frozenset({A, B}), frozenset({C, D})}
    assert link(registry, B, C) == Link(C, proven=True)
    assert sets(registry) == {frozenset({A, B, C, D})}
    many = [PersonId(f"discord:{number}") for number in range(100, 100 + MOST_LINKED - 4)]
    assert all(link(registry, A, one) == Link(one, proven=True) for one in many)
    assert link(registry, A, PersonId("discord:999")) is None
    assert link(registry, A, B) == Link(B, proven=True), "linked already"
    assert registry.number("SELECT count(*) FROM users") == 1


def test_who_is_unlinked_stands_alone_and_so_does_the_last_one(registry: Tx) -> None:
    link(registry, A, B)
    link(registry, A, C)
    assert identities.unlink(registry, B)
    assert sets(registry) == {frozenset({A, C})}
    assert not identities.unlink(registry, B)
    assert identities.unlink(registry, A)
    assert identities.links(registry) == {}
    assert registry.all("SELECT * FROM users") == []


def test_erasing_an_account_takes_its_link_and_its_codes(registry: Tx) -> None:
    link(registry, A, B)
    identities.issue_code(registry, A, "FIRST", NOON)
    identities.issue_code(registry, C, "SECOND", NOON, A)
    (store,) = personal_tables.GLOBAL_STORES
    assert store.count(registry, A) == len(store.export(registry, A)) == 3
    assert "FIRST" not in str(store.export(registry, A))
    store.erase(registry, A)
    assert store.count(registry, A) == 0
    assert identities.links(registry) == {}
    assert identities.redeem_code(registry, B, "FIRST", "X", NOON) is None
    store.erase(registry, B)
    assert registry.all("SELECT * FROM users") == []


# ------------------------------------------------------------------------------ what waits and runs after an unlinking

ANNS, BOBS = person_audience(ANN), person_audience(BOB)
DIRECT = Place(PlaceId("discord:user:ann"), "direct", ANNS, "", (GUILD, BOBS))
DEN = Place(PlaceId("discord:den"), "direct", OWNER, "", (BOBS,))
SCOPE = Scope(ANNS, frozenset({GUILD, BOBS}))


def direct_turn(tx: Tx) -> turns.Turn:
    return begun(tx, taken(tx, 1, place=DIRECT), place=DIRECT.id, scope=SCOPE)


def nobody(_audience: Audience) -> tuple[Audience, ...]:
    return ()


def within(tx: Tx, table: str) -> list[list[str]]:
    return [json.loads(row["within"]) for row in tx.all(" ".join(["SELECT within FROM", table, "ORDER BY id"]))]


def waiting(tx: Tx, turn: turns.Turn, status: str = "waiting") -> None:
    request = Request(
        permission_requests.new_request_id(), permission_requests.Kind.TOOL, "recall", STAR, MAIN, turn.id,
        f"call_{status}", "recall", "{}", permission_requests.digest_of("recall", "{}"), (), {}, "", turn.place,
        turn.person, turn.scope, Trust.APPROVED, (ANN,), 1, False, NOON, NOON,
    )  # fmt: skip
    permission_requests.ask(tx, request)
    tx.run("UPDATE permission_requests SET status = ? WHERE id = ?", (status, request.id))


def test_places_turns_and_requests_are_narrowed_and_the_turn_begins_again(tx: Tx) -> None:
    turn = direct_turn(tx)
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
    turn = direct_turn(tx)
    waiting(tx, turn, "denied")
    assert separate(tx, lambda audience: (BOBS,) if audience == ANNS else ()) == ()
    assert within(tx, "places") == within(tx, "turns") == [[GUILD, BOBS]]
    turns.end(tx, turn.id, "done", NOON)
    assert separate(tx, nobody) == ()
    assert within(tx, "turns") == within(tx, "permission_requests") == [[GUILD, BOBS]]
    assert within(tx, "places") == [[GUILD]]


def test_the_owner_knows_other_accounts_of_theirs_by_name_only(tx: Tx) -> None:
    taken(tx, 1, place=replace(DEN, within=(BOBS, person_audience(PersonId("discord:eva")))))
    taken(tx, 2, place=DIRECT)
    separate(tx, lambda audience: (BOBS,) if audience == OWNER else ())
    assert within(tx, "places") == [[BOBS], [GUILD]]
