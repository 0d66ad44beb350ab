"""Commands in the process of the test: the front door of `python -m bot` without the second that a start takes."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from bot import logs
from bot.config import load_config
from bot.interfaces.cli import local_operations, main
from tests.captured_logs import capture_logs
from tests.processes import Done

Here: TypeAlias = Callable[[str], Done]


def front_door(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """Runs a command in `folder`, whose data folder is `data`, with nothing configured but the file that is there."""
    environment = {"CARINA_HOME": str(folder / "data")}
    monkeypatch.setattr(local_operations, "load_here", functools.partial(load_config, environment, folder))
    monkeypatch.setattr(main, "data_folder", lambda _cwd: folder / "data")
    monkeypatch.setattr(logs, "setup_logs", lambda *_given, **_named: None)  # they are the whole process's

    def run(command: str) -> Done:
        capsys.readouterr()
        with capture_logs():
            code = main.run(command.split())
        written = capsys.readouterr()
        return Done(command, code, written.out, written.err)

    return run
