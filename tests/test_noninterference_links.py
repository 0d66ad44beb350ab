"""Accounts of one person know what each was told alone, nobody else does, and after a parting neither do they."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.queue.notifications import Place
from tests.worlds import ANNAS, ANNS, BOBS, Harness, World, compared, lines, random_worlds, tellings, world_of

TOGETHER = [
    (BOBS, Harness(aside=(BOBS,), linked=True)),
    (ANNS, Harness(aside=(ANNS, ANNAS), linked=True)),
    (ANNAS, Harness(aside=(ANNS, ANNAS), linked=True)),
]
"""Where the secret is told, and who may know it: nobody's link opens what a third person said, nor to a third."""
PARTED = [
    (ANNS, Harness(aside=(ANNS,), linked=True, parted="before")),
    (ANNAS, Harness(aside=(ANNAS,), linked=True, parted="before")),
    (ANNS, Harness(aside=(ANNS,), linked=True, parted="after")),
]
CASES = [*TOGETHER, *PARTED]


@pytest.mark.parametrize(("place", "ground"), CASES)
@random_worlds(2)
@given(data=st.data())
def test_a_secret_is_used_for_its_person_alone(place: Place, ground: Harness, data: st.DataObject) -> None:
    one, other = compared(data.draw(st.builds(World, lines(4), tellings(place), lines(6))), ground)
    assert one.elsewhere == other.elsewhere


@pytest.mark.parametrize(
    ("place", "ground"), [*CASES[::2], *(pytest.param(*case, marks=pytest.mark.slow) for case in CASES[1::2])]
)
def test_whatever_is_done_with_it_nobody_else_finds_a_trace(place: Place, ground: Harness) -> None:
    one, other = compared(world_of([place], ("remember", "label", "note", "set", "tell"), "find", "list"), ground)
    assert one.elsewhere == other.elsewhere
    assert one.secret != other.secret


@pytest.mark.parametrize("place", [ANNS, ANNAS])
def test_while_they_are_linked_the_one_knows_of_the_other(place: Place) -> None:
    """The proof that the worlds above would show it."""
    one, other = compared(world_of([place], ("remember",), "find"), Harness(aside=(place,), linked=True))
    assert one.elsewhere != other.elsewhere
