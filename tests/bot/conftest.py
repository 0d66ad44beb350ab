"""What tests of the bot share."""

import functools
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bot.command_line import Here, front_door
from tests.bot.stage import Service, running
from tests.bot.terminals import Begin, carina


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    """The service as it is without any setting."""
    async with running(tmp_path) as made:
        yield made


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """Commands in the process of the test, in its folder."""
    return front_door(tmp_path, monkeypatch, capsys)


@pytest.fixture(scope="session")
def begin(tmp_path_factory: pytest.TempPathFactory) -> Begin:
    """Fills a folder as the first answer of the program does, which is given once for each configuration and copied."""

    @functools.cache
    def begun(toml: str) -> Path:
        folder = tmp_path_factory.mktemp("begun")
        if toml:
            (folder / "carina.toml").write_text(toml, "utf-8")
        assert carina(folder, "chat", "--once", "hello").returncode == 0
        return folder

    def copy(folder: Path, toml: str = "") -> None:
        shutil.copytree(begun(toml), folder, dirs_exist_ok=True)

    return copy


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database file that somebody else holds is soon tried again."""
    monkeypatch.setattr("memory.store.sqlite._BUSY_MS", 20)
    monkeypatch.setattr("bot.storage_retry.RETRY_SECONDS", 0.02)
