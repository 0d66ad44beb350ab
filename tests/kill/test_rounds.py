"""A few rounds of `tests.kill.rounds`, which is run with hundreds by hand."""

from pathlib import Path

import pytest

from tests.kill.rounds import play

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


async def test_killed_at_random_moments_it_answers_every_message_once_or_says_that_it_gave_up(tmp_path: Path) -> None:
    tally = await play(tmp_path, 6, seed=6)
    assert tally.wrong == [], str(tally)
    assert tally.answered + tally.given_up == tally.said > 0
