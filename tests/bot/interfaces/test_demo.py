"""The folder of `carina demo`: gone however it ends."""

import asyncio
import os
import signal
import tempfile
from pathlib import Path

import pytest

from bot.interfaces.cli.demo import show


async def test_a_demo_that_is_hung_up_on_while_it_begins_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as name:  # short enough for a socket
        monkeypatch.setattr(tempfile, "tempdir", name)
        demo = asyncio.create_task(show())
        while not list(Path(name).iterdir()):
            await asyncio.sleep(0.001)
        os.kill(os.getpid(), signal.SIGHUP)
        await demo
        assert list(Path(name).iterdir()) == []
