"""Nothing that is said to one person alone reaches anybody else: two worlds that differ in it look the same elsewhere.

A world runs twice with another secret in one direct message; what can be seen anywhere else is compared byte by byte.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.people.audience import Audience, Scope
from memory.queue.notifications import Place
from memory.search.all_domains import search
from memory.search.query import Query
from tests.bot.parts import HALL
from tests.memory.parts import GUILD, STAR, store, taken
from tests.worlds import (
    ANNS,
    BOBS,
    CELLAR,
    OLGAS,
    PLACES,
    SQUARE,
    Harness,
    World,
    compared,
    everything_known,
    lines,
    random_worlds,
    tellings,
    world_of,
)


@random_worlds(20)
@given(st.builds(World, lines(4), tellings(ANNS), lines(6)))
def test_what_is_said_to_one_person_alone_changes_nothing_anywhere_else(world: World) -> None:
    one, other = compared(world)
    assert one.elsewhere == other.elsewhere


@pytest.mark.parametrize(
    "told",
    [
        ("remember", "label", "note", "tell", "whisper", "fail"),
        ("list", "find", "forget", "add", "set", "move", "query", "remember"),
        ("arrange", "keep", "I love", "tell", "find", "arrange", "keep", "I love"),
    ],
)
def test_whatever_ann_has_done_with_her_secret_nobody_finds_a_trace_of_it(told: tuple[str, ...]) -> None:
    one, other = compared(
        world_of(
            [ANNS], told, "find", "list", "tell", *[each for each in ("arrange", "keep", "I love") if each in told]
        )
    )
    assert one.elsewhere == other.elsewhere
    assert one.secret != other.secret


def test_how_much_was_done_for_ann_alone_shows_nowhere() -> None:
    """What agents are reminded of is the newest of what may be known, not what may be known of the newest."""
    one, other = compared(world_of([ANNS], ("plan", "make", "write", "learn"), "plan", "make"))
    assert one.elsewhere == other.elsewhere
    assert one.secret != other.secret


# ------------------------------------------------------------------------------------- the test is able to fail


def _anything(_scope: Scope, _row: Audience) -> bool:
    return True


@pytest.mark.parametrize(
    ("what", "leak", "told"),
    [
        ("memory.people.audience.Scope.bind", everything_known, ("remember",)),
        pytest.param("memory.people.audience.Scope.bind", everything_known, ("arrange",), marks=pytest.mark.slow),
        pytest.param("memory.people.audience.Scope.bind", everything_known, ("keep",), marks=pytest.mark.slow),
        pytest.param("memory.people.audience.Scope.bind", everything_known, ("I love",), marks=pytest.mark.slow),
        ("memory.people.audience.Scope.may_use", _anything, ("tell",)),
        pytest.param("memory.people.audience.Scope.may_use", _anything, ("fail",), marks=pytest.mark.slow),
    ],
)
def test_a_leak_is_found(monkeypatch: pytest.MonkeyPatch, what: str, leak: object, told: tuple[str, ...]) -> None:
    monkeypatch.setattr(what, leak)
    one, other = compared(world_of([ANNS], told, "find"))
    assert one.elsewhere != other.elsewhere


@pytest.mark.parametrize("secret", ["dentist", "lantern"])
def test_the_order_of_what_is_found_does_not_tell_what_is_said_elsewhere(secret: str) -> None:
    """Were words weighed by the whole index, the one that is rarer elsewhere would come first here."""
    tx = store()
    for number, words in enumerate(["dentist", "lantern", "dentist"]):
        taken(tx, number, f"the {words} of {number}")
    alone = Place(ANNS.id, "direct", ANNS.audience)
    for number in range(10, 30):
        taken(tx, number, f"the {secret}", place=alone)
    found = search(tx, Query("dentist lantern", STAR), Scope(GUILD))
    assert [hit.text for hit in found.hits] == ["the lantern of 1", "the dentist of 0", "the dentist of 2"]


def test_nothing_that_is_said_elsewhere_reaches_a_public_thread() -> None:
    """Not the owner's words either, nor those of a guild: what everybody reads is made of public things."""
    ground = Harness(aside=tuple(each for each in PLACES if each is not SQUARE))
    world = world_of(
        [OLGAS, HALL, CELLAR, BOBS], ("remember", "tell", "note", "add", "keep"), "find", "list", "tell", "keep"
    )
    one, other = compared(world, ground)
    assert one.elsewhere == other.elsewhere
    assert one.secret != other.secret
