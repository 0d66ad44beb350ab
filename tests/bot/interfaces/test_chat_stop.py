"""Ending an answer at the terminal while it is made."""

from pathlib import Path

from bot.interfaces.chat import Chat
from tests.bot.interfaces.test_chat import service


async def test_with_nothing_to_end_nothing_is_ended(tmp_path: Path) -> None:
    async with service(tmp_path) as app:
        assert await Chat(app.services, app.served.router).stop() == {"stopped": 0}


async def test_what_can_be_given_for_an_argument_is_suggested(tmp_path: Path) -> None:
    async with service(tmp_path) as app:
        assert await Chat(app.services, app.served.router).suggest("agent.show", "agent", {}) == [["Carina", "Carina"]]
