"""A data folder that a process uses: whom commands name, what they tell to do, and what they do themselves."""

import asyncio
import io
import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from bot.errors import UserError
from bot.interfaces import control, service_client
from bot.interfaces.cli import main
from bot.interfaces.service_client import holder_of
from memory.store.folder import DataFolder
from tests.bot.command_line import Here, front_door
from tests.bot.interfaces.test_cli_databases import begin
from tests.bot.terminals import carina, serving


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    begin(tmp_path, "home")
    monkeypatch.setattr("memory.store.folder._LOCK_SECONDS", 0.0)
    return front_door(tmp_path, monkeypatch, capsys)


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "data")


ASKING = ("db vacuum", "inbox list", "inbox show 1", "permits list", "approve 1", "privacy see discord:1")


@pytest.mark.parametrize(
    "command", [*ASKING, "status", "halt", "halt release", "chat", "chat --once hi", "privacy export a:1"]
)
def test_who_holds_the_folder_and_takes_no_commands_is_named(
    folder: DataFolder, here: Here, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.interfaces.cli.chat.chat._BETWEEN_SECONDS", 0.5)
    monkeypatch.setattr("sys.stdin", io.StringIO("hi\n"))
    with folder.lock():
        done = here(command)
    assert (done.returncode, done.stdout) == (1, "")
    named = f"carina: Process {os.getpid()} is using the data folder {folder.path} and is not accepting commands: "
    assert done.stderr.startswith(named)
    assert done.stderr.endswith("Try again in a moment, or stop it.\n")


def test_what_needs_the_folder_alone_names_the_service_and_says_what_to_do(tmp_path: Path, folder: DataFolder) -> None:
    begin(tmp_path, "home")
    with serving(tmp_path) as service:
        for done in (carina(tmp_path, "db", "migrate"), carina(tmp_path, "db", "migrate", "--json")):
            assert (done.returncode, done.stdout) == (1, "")
            assert done.stderr == (
                f"carina: Process {service.pid} is using the data folder {folder.path}. "
                "Stop it (Ctrl-C where it runs, or SIGTERM), run `carina db migrate`, and start it again.\n"
            )
        carina(tmp_path, "run").refused(f"Process {service.pid} is already using the data folder")
        assert carina(tmp_path, "db", "status").returncode == 0, "looking needs nobody's leave"
        assert carina(tmp_path, "halt").stdout.startswith("Halted. I answer and send nothing")
        done = carina(tmp_path, "halt", "release", "--json")
        assert done.stdout.startswith('{\n  "text": "Released. ')
        service.terminate()
        assert service.wait() == 0


def test_a_holder_that_has_ended_meanwhile_is_not_waited_for(
    tmp_path: Path, folder: DataFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(asyncio.to_thread(begin, tmp_path, "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CARINA_HOME", str(folder.path))
    monkeypatch.setattr(DataFolder, "holder", lambda _folder: 1)
    assert main.run(["constellation", "list"]) == 0
    assert "home" in capsys.readouterr().out
    with folder.lock():
        assert main.run(["constellation", "list"]) == 1
    assert "Process 1 is using" in capsys.readouterr().err


async def test_a_service_that_hangs_is_named_and_not_waited_for_without_end(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    async def hang_chat() -> AsyncIterator[None]:
        await asyncio.Event().wait()
        yield

    folder.prepare()
    monkeypatch.setattr(service_client, "ANSWER_SECONDS", 0.05)
    with folder.lock():
        found = holder_of(folder)
        assert found is not None
        words = rf"Process {os.getpid()} is using .*\. The service did not answer within 0\.05 seconds: .*, or stop it"
        async with control.serve(folder, {"status": hang, "chat": hang_chat}):
            with pytest.raises(UserError, match=words):
                await found.ask("status", 0.05)
            async with aclosing(found.call("chat")) as shown:
                with pytest.raises(UserError, match=words):
                    await anext(shown)
