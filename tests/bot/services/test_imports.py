"""What a command loads, and what that costs: one that a running service answers needs the socket and nothing else."""

import gc
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.interfaces.cli import data_folder
from memory.store.data_folder import DataFolder

ROOT = Path(__file__).parents[3]
HEAVY = ("discord", "pydantic_ai", "pydantic", "numpy", "aiohttp", "loro", "rich", "asyncio")
OURS = ("bot.services", "bot.app", "bot.config", "bot.interfaces.discord", "bot.models", "sources", "scheduler")
VERSION_SECONDS, SECONDS = 0.15, 0.35
SLACK = 2.0
"""A machine that is busy takes longer for the same work."""


@pytest.fixture
def answering(tmp_path: Path) -> Iterator[DataFolder]:
    """A data folder that is held, with a socket that answers every request in the same words."""
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    with folder.lock(), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(folder.control_socket))
        listening.listen()
        threading.Thread(target=answer, args=(listening,), daemon=True).start()
        yield folder


def answer(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection:
        request = json.loads(connection.makefile("rb").readline())
        connection.sendall(json.dumps({"data": {"text": f"did {request['op']}"}}).encode() + b"\n")


def loaded(folder: Path, *words: str) -> tuple[str, set[str], float]:
    """What a command printed, which modules it loaded, and how many seconds of CPU it took."""
    code = (
        "import sys, resource; from bot.interfaces.cli.main import run; code = run(sys.argv[1:]); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_utime, *sys.modules, file=sys.stderr); sys.exit(code)"
    )
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "CARINA_HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env=environment, cwd=folder.parent, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    seconds, *modules = done.stderr.split()
    return done.stdout, set(modules), float(seconds)


@pytest.mark.parametrize("words", [["--help"], ["facts", "--help"], ["remind", "me", "--help"]])
def test_help_loads_the_parser_alone(tmp_path: Path, words: list[str]) -> None:
    out, modules, seconds = loaded(tmp_path / "data", *words)
    assert out
    assert wrong(modules) == set()
    assert seconds < SECONDS * SLACK


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="a socket of the operating system's")
@pytest.mark.parametrize("words", ["remind list", "tasks list", "facts list --json", "facts forget 1"])
def test_a_command_that_a_service_answers_loads_the_socket_alone(answering: DataFolder, words: str) -> None:
    out, modules, seconds = loaded(answering.path, *words.split())
    assert out == f"did {'.'.join(words.split()[:2])}\n"
    assert wrong(modules) == set()
    assert "importlib.metadata" not in modules
    assert seconds < SECONDS * SLACK


def test_the_version_is_told_without_a_parser(tmp_path: Path) -> None:
    code = "import sys, resource, carina; carina.main(); print(resource.getrusage(0).ru_utime, *sys.modules)"
    command = [sys.executable, "-c", code, "--version"]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout
    told, rest = out.splitlines()
    seconds, *modules = rest.split()
    assert told.startswith("carina ")
    assert not {"click", "msgspec", "bot.interfaces.cli.main"} & set(modules)
    assert float(seconds) < VERSION_SECONDS * SLACK


def test_status_without_a_service_loads_no_tables_and_no_service(tmp_path: Path) -> None:
    out, modules, seconds = loaded(tmp_path / "data", "status")
    assert "not running" in out
    unused = {"rich", "discord", "numpy", "aiohttp", "httpx", "apscheduler"}
    assert not modules & {*unused, "bot.app", "bot.services.people.person_erasure", "bot.runtime.replication"}
    assert seconds < SECONDS * SLACK


def test_what_a_command_loads_is_not_searched_for_garbage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "seldom_needed.py").write_text("import gc\nsearched = gc.isenabled()\n")
    assert not data_folder.loaded("seldom_needed").searched
    assert gc.isenabled()
    others = (ROOT / "bot" / "interfaces" / "cli").rglob("*.py")
    assert [each.name for each in others if 'import_module("bot.' in each.read_text("utf-8")] == []


def wrong(modules: set[str]) -> set[str]:
    return {each for each in modules if each.split(".")[0] in HEAVY or each.startswith(OURS)}
