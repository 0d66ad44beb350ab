"""Accounts of one person: proven from both sides, taken apart again, and gone with an erasure."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from memory.erasure import stores
from memory.people import identities
from memory.people.identities import CODE_LIFE, MOST_LINKED, MOST_OPEN, HalfLink, Link
from memory.store.database import Tx
from memory.store.ids import PersonId
from memory.store.migrations import Kind, prepare
from memory.store.sqlite import connect
from tests.memory.parts import NOON

A, B, C, D = (PersonId(f"discord:{name}") for name in "1234")


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Tx]:
    prepare(tmp_path / "global.db", Kind.GLOBAL)
    raw = connect(tmp_path / "global.db")
    yield Tx(raw)
    raw.close()


def link(tx: Tx, one: PersonId, other: PersonId) -> HalfLink | Link | None:
    """All of it: the first code to one, said by the other; the second to the other, said by the one."""
    assert identities.issue_code(tx, one, "FIRST", NOON)
    assert identities.redeem_code(tx, other, "FIRST", "SECOND", NOON) == HalfLink(one, "SECOND")
    return identities.redeem_code(tx, one, "SECOND", "", NOON)


def sets(tx: Tx) -> set[frozenset[PersonId]]:
    return set(identities.links(tx).values())


def test_both_sides_prove_it(registry: Tx) -> None:
    assert link(registry, A, B) == Link(B)
    assert identities.links(registry) == {A: frozenset({A, B}), B: frozenset({A, B})}


def test_one_side_proves_nothing(registry: Tx) -> None:
    identities.issue_code(registry, A, "FIRST", NOON)
    assert identities.redeem_code(registry, A, "FIRST", "X", NOON) is None, "the same account"
    assert identities.redeem_code(registry, B, "WRONG", "X", NOON) is None
    assert identities.redeem_code(registry, B, "FIRST", "SECOND", NOON) == HalfLink(A, "SECOND")
    assert identities.redeem_code(registry, C, "FIRST", "X", NOON) is None, "a code works once"
    assert identities.redeem_code(registry, B, "SECOND", "X", NOON) is None, "it is not theirs to say"
    assert identities.redeem_code(registry, C, "SECOND", "X", NOON) is None
    assert identities.links(registry) == {}
    assert identities.redeem_code(registry, A, "SECOND", "X", NOON) == Link(B)
    assert identities.redeem_code(registry, A, "SECOND", "X", NOON) is None


def test_codes_end_at_their_time_and_a_new_one_replaces_the_old(registry: Tx) -> None:
    identities.issue_code(registry, A, "FIRST", NOON)
    assert identities.redeem_code(registry, B, "FIRST", "SECOND", NOON + CODE_LIFE) is None
    identities.issue_code(registry, A, "OTHER", NOON)
    assert identities.redeem_code(registry, B, "FIRST", "SECOND", NOON) is None
    assert identities.redeem_code(registry, B, "OTHER", "SECOND", NOON) == HalfLink(A, "SECOND")
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
    assert link(registry, B, C) == Link(C)
    assert sets(registry) == {frozenset({A, B, C, D})}
    many = [PersonId(f"discord:{number}") for number in range(100, 100 + MOST_LINKED - 4)]
    assert all(link(registry, A, one) == Link(one) for one in many)
    assert link(registry, A, PersonId("discord:999")) is None
    assert link(registry, A, B) == Link(B), "linked already"
    row = registry.one("SELECT count(*) AS n FROM users")
    assert row is not None
    assert row["n"] == 1


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
    (store,) = stores.GLOBAL_STORES
    assert store.count(registry, A) == len(store.export(registry, A)) == 3
    assert "FIRST" not in str(store.export(registry, A))
    store.erase(registry, A)
    assert store.count(registry, A) == 0
    assert identities.links(registry) == {}
    assert identities.redeem_code(registry, B, "FIRST", "X", NOON) is None
    store.erase(registry, B)
    assert registry.all("SELECT * FROM users") == []
