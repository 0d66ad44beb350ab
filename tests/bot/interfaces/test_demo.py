"""The folder of `carina demo`: gone however it ends."""

import asyncio
import os
import signal
import tempfile
from pathlib import Path

import pytest

from bot.interfaces.cli.serve import show_demo
from bot.services.caller import owner_at_terminal
from bot.services.results import Plain
from bot.services.status import Doctor
from memory.store.clock import utc_now
from texts import speaking


async def test_a_demo_that_is_hung_up_on_while_it_begins_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as name:  # short enough for a socket
        monkeypatch.setattr(tempfile, "tempdir", name)
        demo = asyncio.create_task(show_demo())
        while not list(Path(name).iterdir()):
            await asyncio.sleep(0.001)
        os.kill(os.getpid(), signal.SIGHUP)
        await demo
        assert list(Path(name).iterdir()) == []


async def test_the_doctor_looks_where_the_configuration_is_and_speaks_as_who_asks(tmp_path: Path) -> None:
    with speaking("de"):
        found = await Doctor(tmp_path).examine(owner_at_terminal())
    [folder] = [each for each in found.rows if each.about == "data folder"]
    with speaking("de"):
        assert "Datenordner" in folder.line(Plain("UTC", utc_now()))
    assert str(tmp_path / "data") in folder.words
