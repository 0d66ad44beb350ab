"""What tests of the bot share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bot.command_line import Here, front_door
from tests.bot.stage import Service, running


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    """The service as it is without any setting."""
    async with running(tmp_path) as made:
        yield made


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """Commands in the process of the test, in its folder."""
    return front_door(tmp_path, monkeypatch, capsys)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database file that somebody else holds is soon tried again."""
    monkeypatch.setattr("memory.store.sqlite._BUSY_MS", 20)
    monkeypatch.setattr("bot.storage_retry.RETRY_SECONDS", 0.02)
