"""Numbers of things, as people read them."""

import pytest

from memory.store.plurals import many


@pytest.mark.parametrize(
    ("count", "words", "said"),
    [
        (0, ("message",), "0 messages"),
        (1, ("message",), "1 message"),
        (1_200, ("message",), "1,200 messages"),
        (1, ("entry was", "entries were"), "1 entry was"),
        (2, ("entry was", "entries were"), "2 entries were"),
        (1.0, ("hour",), "1 hour"),
        (0.5, ("hour",), "0.5 hours"),
    ],
)
def test_one_thing_is_said_as_one(count: float, words: tuple[str, ...], said: str) -> None:
    assert many(count, *words) == said
