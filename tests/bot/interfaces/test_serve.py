"""What the service says when it begins."""

from typing import ClassVar

import structlog

from bot.agents.permissions.policy import Action
from bot.interfaces.cli.serve import report_differences
from bot.services.registry import operation
from bot.services.results import Ink, Sentence
from tests.services.calling import registry


class Unprintable(Sentence):
    def lines(self, ink: Ink) -> list[str]:
        raise ZeroDivisionError


class Compares:
    titles: ClassVar = {"config": "Compare"}

    @operation("config.diff", "Compare", Action.AGENTS)
    async def diff(self, _caller: object) -> Sentence:
        """As the service of that name does."""
        return Unprintable(text="different")


async def test_a_comparison_that_cannot_be_printed_does_not_end_the_start() -> None:
    with structlog.testing.capture_logs() as logged:
        await report_differences(registry(Compares()))
    assert [entry["event"] for entry in logged] == ["configuration_not_compared"]
