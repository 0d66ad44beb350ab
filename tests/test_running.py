"""What runs Carina beside a terminal: the container's files, the system's service, the workflow, short documents."""

import asyncio
import json
import os
import plistlib
import re
import shutil
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path, PurePosixPath

import pytest

from bot.config.systemd_notifications import SystemdNotifications
from bot.interfaces.cli.automatic_startup import Program, service_file
from bot.interfaces.cli.serve import report_alive
from memory.store.sqlite import connect
from tests.bot.terminals import carina

ROOT = Path(__file__).parents[1]
PROGRAM = Program(
    ("/opt/my tools/python", "-m", "carina", "run", "--log-json"),
    PurePosixPath("/srv/100%/my bot.toml"),
    PurePosixPath("/srv/data"),
)


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_the_image_is_built_in_two_stages_and_runs_as_nobody_special() -> None:
    lines = text("Dockerfile").splitlines()
    bases = [line for line in lines if line.startswith("FROM ")]
    assert len(bases) == 2
    assert all(re.search(r":\d[\w.]*-slim", line) for line in bases)
    final = lines[lines.index(bases[1]) :]
    (user,) = [line for line in final if line.startswith("USER ")]
    assert user.split()[1].isdecimal()
    assert not [line for line in final if re.search(r"\b(apt|apt-get|pip|curl)\b", line)]
    assert [line for line in final if line.startswith("HEALTHCHECK ")]
    assert [line for line in final if line.startswith(("ENTRYPOINT [", "CMD ["))]
    assert "readyz" in "\n".join(final)
    assert "--require-hashes" in text("Dockerfile")


def test_nothing_private_goes_into_the_image() -> None:
    assert {".env", ".git", "data", "carina.toml", ".venv"} <= set(text(".dockerignore").splitlines())


def test_the_service_of_compose_is_confined() -> None:
    compose = text("compose.yaml")
    head, _, _rest = compose.partition("  ollama:")
    for line in (
        "read_only: true",
        "cap_drop: [ALL]",
        "no-new-privileges:true",
        "mem_limit: 1g",
        "restart: unless-stopped",
        "create_host_path: false",
        'ports: ["127.0.0.1:8480:8480"]',
    ):
        assert line in head
    assert re.search(r"image: ollama/ollama:\d", compose)
    assert "profiles: [ollama]" in compose
    grace = re.search(r"stop_grace_period: (\d+)s", head)
    assert grace is not None
    assert int(grace[1]) > 10  # Carina ends within 10 seconds


def test_monitoring_shows_numbers_that_there_are() -> None:
    compose = text("compose.yaml")
    board = json.loads(text("docs/monitoring/carina.json"))
    shown = {target["expr"] for panel in board["panels"] for target in panel["targets"]}
    known = text("bot/interfaces/web/monitoring.py") + text("memory/queue/telemetry.py")
    assert len(shown) == 7
    assert all(f'"{re.findall("carina_[a-z_]+", each)[0]}"' in known for each in shown)
    assert compose.count("profiles: [monitoring]") == 2
    mounted = re.findall(r"- \./(docs/\S+):/etc/\S+:ro$", compose, re.MULTILINE)
    assert {*mounted} == {str(path.relative_to(ROOT)) for path in (ROOT / "docs/monitoring").iterdir()}
    assert "metrics.token" in text(".gitignore").splitlines()
    assert "metrics.token" in text(".dockerignore").splitlines()


def test_an_older_python_is_refused_in_words(tmp_path: Path) -> None:
    old = tmp_path / "python3.10"
    code = "import sys; sys.version_info = (3, 10, 13, 'final', 0); exec(sys.argv[1])"
    old.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$2"\n', "utf-8")
    old.chmod(0o755)
    shutil.copy(ROOT / "Makefile", tmp_path)
    done = subprocess.run(
        ["make", ".venv/bin/python", f"PYTHON={old}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Carina needs Python 3.11 or newer" in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / ".venv").exists()


def test_the_workflow_runs_what_continuous_integration_runs_and_may_only_read() -> None:
    workflow = text(".github/workflows/ci.yml")
    assert "- run: .ci/run" in workflow
    assert "contents: read" in workflow
    assert "secrets." not in workflow


def test_the_documents_of_a_project_are_there_and_the_readme_is_short() -> None:
    assert len(text("README.md").splitlines()) <= 150
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"):
        assert len(text(name)) > 500


def unit() -> str:
    found = service_file("linux", Path("/home/ann"), PROGRAM)
    assert found is not None
    assert found.path == Path("/home/ann/.config/systemd/user/carina.service")
    return found.text


def test_a_unit_of_systemd_is_confined_and_quotes_what_it_names() -> None:
    lines = unit().splitlines()
    assert 'ExecStart="/opt/my tools/python" -m carina run --log-json' in lines
    assert "WorkingDirectory=/srv/100%%" in lines
    assert 'Environment=CARINA_HOME=/srv/data "CARINA_CONFIG=/srv/100%%/my bot.toml"' in lines
    assert "ReadWritePaths=/srv/data /srv/100%%" in lines
    for line in (
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "PrivateTmp=yes",
        "MemoryMax=1G",
        "Restart=on-failure",
        "Type=notify",
        "WatchdogSec=120",
    ):
        assert line in lines


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    usable = unit().replace('"/opt/my tools/python"', "/bin/true").replace("/srv/100%%", str(tmp_path))
    (tmp_path / "carina.service").write_text(usable, "utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", tmp_path / "carina.service"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "carina.service" not in done.stderr, done.stderr


def test_the_files_of_other_systems_can_be_read_by_them() -> None:
    agent = service_file("darwin", Path("/Users/ann"), PROGRAM)
    assert agent is not None
    read = plistlib.loads(agent.text.encode())
    assert read["ProgramArguments"] == [*PROGRAM.command]
    assert read["EnvironmentVariables"] == {"CARINA_HOME": "/srv/data", "CARINA_CONFIG": "/srv/100%/my bot.toml"}
    task = service_file("win32", Path("/Users/ann"), PROGRAM)
    assert task is not None
    assert re.findall("<Command>(.*)</Command>", task.text) == ["/opt/my tools/python"]
    assert service_file("sunos5", Path("/home/ann"), PROGRAM) is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system's program has another name elsewhere")
def test_a_service_that_the_system_does_not_start_leaves_no_file(tmp_path: Path) -> None:
    program = tmp_path / "systemctl"
    own = {"HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}", "XDG_RUNTIME_DIR": str(tmp_path)}
    assert "systemd is not running for your account" in carina(tmp_path, "service", "install", "--yes", **own).stderr
    (tmp_path / "systemd").mkdir()
    for code in (1, 0):
        program.write_text(f"#!/bin/sh\necho no bus\nexit {code}\n", "utf-8")
        program.chmod(0o755)
        done = carina(tmp_path, "service", "install", "--yes", **own)
        assert (done.returncode, "no bus" in done.stderr) == (code, bool(code))
        assert (tmp_path / ".config" / "systemd" / "user" / "carina.service").exists() == (code == 0)
    assert "no bus" in carina(tmp_path, "service", "status", **own).stdout
    assert carina(tmp_path, "service", "uninstall", "--yes", **own).returncode == 0
    assert not (tmp_path / ".config" / "systemd" / "user" / "carina.service").exists()


# ----------------------------------------------------------------------------------------------- upgrade and removal


def test_an_upgrade_says_what_it_would_do_and_does_it(tmp_path: Path) -> None:
    assert carina(tmp_path, "chat", "--once", "hello").returncode == 0
    done = carina(tmp_path, "db", "migrate", "--check")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "global.db: up to date")
    with closing(connect(tmp_path / "data" / "global.db")) as raw:
        raw.execute("PRAGMA user_version=0")
    refused = carina(tmp_path, "db", "migrate", "--check")
    assert (refused.returncode, "global.db cannot be migrated: table" in refused.stderr) == (1, True), refused.stderr


def test_what_carina_made_is_removed_and_nothing_else(tmp_path: Path) -> None:
    assert carina(tmp_path, "init").returncode == 0
    assert carina(tmp_path, "backup", "create").returncode == 1  # there is nothing to remove, either
    assert carina(tmp_path, "uninstall", "--yes").returncode == 1
    assert carina(tmp_path, "chat", "--once", "hello").returncode == 0
    (tmp_path / "data" / "mine.txt").write_text("", "utf-8")
    (tmp_path / "data" / "deleted" / "con_1").mkdir(parents=True)  # of a constellation that was deleted
    asked = carina(tmp_path, "uninstall")
    assert (asked.returncode, f"data folder: {tmp_path / 'data'} (" in asked.stderr) == (2, True)
    assert "carina backup create --to PATH" in asked.stderr
    assert (tmp_path / "data" / "global.db").exists()
    done = carina(tmp_path, "uninstall", "--yes")
    assert done.returncode == 0
    assert "Files that Carina did not create were kept: mine.txt" in done.stdout
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["mine.txt"]
    assert (tmp_path / "carina.toml").exists()


async def test_the_service_manager_hears_that_it_is_ready_and_then_that_it_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # short enough for a socket
    monkeypatch.setenv("NOTIFY_SOCKET", "notify")
    monkeypatch.setenv("WATCHDOG_USEC", "60000")
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as manager:
        manager.bind("notify")
        manager.setblocking(False)
        alive = asyncio.create_task(report_alive(SystemdNotifications.of_process()))
        async with asyncio.timeout(10):
            heard = [await asyncio.get_running_loop().sock_recv(manager, 100) for _ in range(3)]
        alive.cancel()
    assert heard == [b"READY=1\nWATCHDOG_USEC=60000", b"WATCHDOG=1", b"WATCHDOG=1"]
    SystemdNotifications.of_process().tell("READY=1")  # nobody listens any more, which ends nothing
    monkeypatch.setenv("WATCHDOG_PID", "1")
    assert SystemdNotifications.of_process() == SystemdNotifications("notify", 0), "the watchdog is another process's"
