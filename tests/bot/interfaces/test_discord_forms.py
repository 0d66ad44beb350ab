"""Forms and buttons whose work meets a defect: whoever sent one is told, and the log has why."""

from typing import Any, cast

import pytest
import structlog

from bot.interfaces.discord import forms
from bot.interfaces.discord.responses import Interaction
from sources.discord.client import BROKEN


class Asked:
    """An interaction that was deferred, or not yet."""

    def __init__(self, *, deferred: bool) -> None:
        self.response = self.followup = self
        self.deferred = deferred
        self.said: list[tuple[str, str]] = []

    def is_done(self) -> bool:
        return self.deferred

    async def send(self, text: str, **_more: Any) -> None:
        self.said.append(("followup", text))

    async def send_message(self, text: str, **_more: Any) -> None:
        self.said.append(("response", text))


async def _broken() -> None:
    raise TypeError("unhashable type: 'list'")


@pytest.mark.parametrize(("deferred", "way"), [(True, "followup"), (False, "response")])
async def test_who_sent_a_form_that_breaks_is_told_and_the_log_has_why(deferred: bool, way: str) -> None:
    asked = Asked(deferred=deferred)
    with structlog.testing.capture_logs() as logged:
        await forms._stored(cast("Interaction", asked), _broken())
    assert asked.said == [(way, BROKEN)]
    assert [(each["event"], each["log_level"], each["exc_info"]) for each in logged] == [
        ("interaction_failed", "error", True)
    ]
