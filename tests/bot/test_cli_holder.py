"""A data folder that a process uses: whom commands name, what they tell to do, and what they do themselves."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from bot import control
from bot.cli import asking, holder
from bot.cli.holder import Holder, TakesNoCommands, holder_of
from bot.config import load_config
from bot.errors import UserError
from memory.folder import DataFolder
from tests.bot.commanding import Here, front_door
from tests.bot.terminals import environment
from tests.bot.test_cli import carina
from tests.bot.test_cli_files import begin


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    begin(tmp_path, "home")
    monkeypatch.setattr("memory.folder._LOCK_SECONDS", 0.0)
    return front_door(tmp_path, monkeypatch, capsys)


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "data")


ASKING = ("db vacuum", "inbox list", "inbox show 1", "permits list", "permits approve 1", "privacy see discord:1")


@pytest.mark.parametrize(
    "command", [*ASKING, "status", "halt", "release", "chat", "chat --once hi", "privacy export a:1"]
)
def test_who_holds_the_folder_and_takes_no_commands_is_named(folder: DataFolder, here: Here, command: str) -> None:
    with folder.lock():
        done = here(command)
    assert (done.returncode, done.stdout) == (1, "")
    named = f"carina: process {os.getpid()} uses the data folder {folder.path} and takes no commands: "
    assert done.stderr.startswith(named)
    assert done.stderr.endswith("try again in a moment, or stop it\n")


def test_what_needs_the_folder_alone_names_the_service_and_says_what_to_do(tmp_path: Path, folder: DataFolder) -> None:
    begin(tmp_path, "home")
    with subprocess.Popen(
        [sys.executable, "-m", "bot", "run"], env=environment(tmp_path), cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as service:
        try:
            assert service.stderr is not None
            assert any("ready" in line for line in iter(service.stderr.readline, ""))
            for done in (carina(tmp_path, "db", "migrate"), carina(tmp_path, "db", "migrate", "--json")):
                assert (done.returncode, done.stdout) == (1, "")
                assert done.stderr == (
                    f"carina: process {service.pid} uses the data folder {folder.path}, and migrating needs it alone: "
                    "stop it (Ctrl-C where it runs, or SIGTERM), run `carina db migrate`, then start it again\n"
                )
            done = carina(tmp_path, "run")
            assert done.returncode == 1
            assert f"process {service.pid} already uses the data folder" in done.stderr
            assert carina(tmp_path, "db", "status").returncode == 0, "looking needs nobody's leave"
            assert carina(tmp_path, "halt").stdout.startswith("Halted: nothing is answered and nothing is sent")
            done = carina(tmp_path, "release", "--json")
            assert done.stdout.startswith('{\n  "text": "Released: ')
        finally:
            service.terminate()
            service.communicate()
    assert service.returncode == 0


async def test_a_holder_that_has_ended_meanwhile_is_not_waited_for(
    tmp_path: Path, folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(begin, tmp_path, "home")
    monkeypatch.setattr(asking, "holder_of", lambda _folder: Holder(folder, 1))
    config = load_config({"CARINA_HOME": str(folder.path)}, tmp_path)
    assert await asking.ask(config, "inbox.list", status="", limit=20) == []
    with folder.lock(), pytest.raises(TakesNoCommands, match="process 1 uses"):
        await asking.ask(config, "inbox.list", status="", limit=20)


async def test_a_service_that_hangs_is_named_and_not_waited_for_without_end(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    async def hang_chat() -> AsyncIterator[None]:
        await asyncio.Event().wait()
        yield

    folder.prepare()
    monkeypatch.setattr(holder, "ANSWER_SECONDS", 0.05)
    with folder.lock():
        found = holder_of(folder)
        assert found is not None
        words = rf"process {os.getpid()} uses .*, and the service gave no answer within 0\.05 seconds; .*, or stop it"
        async with control.serve(folder, {"status": hang, "chat": hang_chat}):
            with pytest.raises(UserError, match=words):
                await found.ask("status", 0.05)
            async with aclosing(found.call("chat")) as shown:
                with pytest.raises(UserError, match=words):
                    await anext(shown)
