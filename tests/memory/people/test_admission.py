"""Codes for strangers, bounded in every direction, and who was let in and shut out."""

from datetime import timedelta

from memory.people import admission_and_pairing
from memory.people.admission_and_pairing import (
    CODE_LIFE,
    MEMORY,
    MOST_OPEN,
    MOST_STRANGERS,
    MOST_TOLD,
    PairingRequest,
    Rule,
)
from memory.store.database import Tx
from memory.store.ids import PersonId
from tests.memory.parts import ANN, BOB, NOON, kept_of

MOMENT = timedelta(milliseconds=1)


def stranger(number: int) -> PersonId:
    return PersonId(f"discord:{number}")


def rules(tx: Tx) -> dict[str, Rule]:
    return {each.subject: each.rule for each in admission_and_pairing.rules(tx)}


def test_a_code_lets_its_person_in_once(tx: Tx) -> None:
    request = admission_and_pairing.request_pairing(tx, ANN, "Ann", "CODE0001", NOON)
    assert request == PairingRequest(ANN, "Ann", "CODE0001", NOON + CODE_LIFE)
    assert admission_and_pairing.waiting(tx, NOON) == [request]
    assert admission_and_pairing.redeem(tx, "CODE0002", BOB, NOON) is None
    assert admission_and_pairing.redeem(tx, "CODE0001", BOB, NOON) == request
    (ruled,) = admission_and_pairing.rules(tx)
    assert (ruled.subject, ruled.rule, ruled.via, ruled.by, ruled.at) == (ANN, Rule.ALLOW, "code", BOB, NOON)
    assert admission_and_pairing.redeem(tx, "CODE0001", BOB, NOON) is None
    assert admission_and_pairing.waiting(tx, NOON) == []


def test_a_person_has_one_code_at_a_time_and_few_in_a_day(tx: Tx) -> None:
    now = NOON
    for told in range(MOST_TOLD):
        assert admission_and_pairing.request_pairing(tx, ANN, "Ann", f"CODE{told}", now) is not None
        assert admission_and_pairing.request_pairing(tx, ANN, "Ann", "AGAIN", now + CODE_LIFE - MOMENT) is None
        now += CODE_LIFE
    assert admission_and_pairing.request_pairing(tx, ANN, "Ann", "MORE", now) is None
    assert admission_and_pairing.request_pairing(tx, ANN, "Ann", "MORE", NOON + MEMORY - MOMENT) is None
    assert admission_and_pairing.request_pairing(tx, ANN, "Ann", "NEXTDAY", NOON + MEMORY) is not None


def test_a_code_ends_at_its_time(tx: Tx) -> None:
    admission_and_pairing.request_pairing(tx, ANN, "Ann", "CODE", NOON)
    assert admission_and_pairing.redeem(tx, "CODE", BOB, NOON + CODE_LIFE) is None
    assert admission_and_pairing.waiting(tx, NOON + CODE_LIFE) == []
    assert admission_and_pairing.redeem(tx, "CODE", BOB, NOON + CODE_LIFE - MOMENT) is not None


def test_few_codes_are_open_and_few_strangers_remembered(tx: Tx) -> None:
    now, count = NOON, 0
    while count < MOST_STRANGERS:
        for _ in range(MOST_OPEN):
            assert admission_and_pairing.request_pairing(tx, stranger(count), "S", f"CODE{count}", now) is not None
            count += 1
        assert admission_and_pairing.request_pairing(tx, ANN, "Ann", "ANN", now) is None
        assert len(admission_and_pairing.waiting(tx, now)) == MOST_OPEN
        now += CODE_LIFE
    assert admission_and_pairing.request_pairing(tx, ANN, "Ann", "ANN", now) is None
    assert (
        admission_and_pairing.request_pairing(tx, stranger(0), "S", "KNOWN", now) is not None
    )  # who is remembered already
    assert admission_and_pairing.request_pairing(tx, ANN, "Ann", "ANN", NOON + MEMORY) is not None
    left = tx.number("SELECT count(*) FROM pairing_codes")
    assert left == MOST_STRANGERS - MOST_OPEN + 1, "those of the first hour are forgotten"


def test_a_code_that_somebody_has_is_given_to_nobody_else(tx: Tx) -> None:
    admission_and_pairing.request_pairing(tx, ANN, "Ann", "CODE", NOON)
    assert admission_and_pairing.request_pairing(tx, BOB, "Bob", "CODE", NOON) is None
    assert admission_and_pairing.redeem(tx, "CODE", BOB, NOON) == PairingRequest(ANN, "Ann", "CODE", NOON + CODE_LIFE)


def test_a_withdrawn_code_is_worth_nothing_and_no_other_comes_before_its_time(tx: Tx) -> None:
    admission_and_pairing.request_pairing(tx, ANN, "Ann", "CODE", NOON)
    assert admission_and_pairing.withdraw(tx, ANN, NOON)
    assert not admission_and_pairing.withdraw(tx, ANN, NOON)
    assert admission_and_pairing.redeem(tx, "CODE", BOB, NOON) is None
    assert admission_and_pairing.request_pairing(tx, ANN, "Ann", "OTHER", NOON + CODE_LIFE - MOMENT) is None
    assert admission_and_pairing.request_pairing(tx, ANN, "Ann", "OTHER", NOON + CODE_LIFE) is not None


def test_the_last_word_holds_and_ends_an_open_code(tx: Tx) -> None:
    admission_and_pairing.request_pairing(tx, ANN, "Ann", "CODE", NOON)
    admission_and_pairing.set_rule(tx, ANN, Rule.DENY, BOB, NOON)
    assert admission_and_pairing.redeem(tx, "CODE", BOB, NOON) is None
    assert rules(tx) == {ANN: Rule.DENY}
    admission_and_pairing.set_rule(tx, ANN, Rule.ALLOW, BOB, NOON)
    assert rules(tx) == {ANN: Rule.ALLOW}
    assert admission_and_pairing.drop_rule(tx, ANN)
    assert not admission_and_pairing.drop_rule(tx, ANN)
    assert rules(tx) == {}


def test_erasing_ends_that_somebody_was_let_in_but_not_that_they_were_shut_out(tx: Tx) -> None:
    admission_and_pairing.set_rule(tx, ANN, Rule.DENY, BOB, NOON)
    admission_and_pairing.set_rule(tx, BOB, Rule.ALLOW, ANN, NOON)
    admission_and_pairing.request_pairing(tx, stranger(1), "S", "CODE", NOON)
    assert kept_of("admission").count(tx, ANN) == 1
    assert kept_of("admission").erase(tx, ANN) == 1
    assert kept_of("admission").count(tx, ANN) == 0
    assert rules(tx) == {ANN: Rule.DENY, BOB: Rule.ALLOW}
    assert {each.by for each in admission_and_pairing.rules(tx) if each.subject == BOB} == {"somebody who was erased"}
    assert kept_of("admission").erase(tx, BOB) == 2
    assert rules(tx) == {ANN: Rule.DENY}
    assert kept_of("admission").erase(tx, stranger(1)) == 1
    assert admission_and_pairing.waiting(tx, NOON) == []
