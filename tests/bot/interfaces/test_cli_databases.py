"""What commands say of database files that are old, new, damaged or not there, and of who uses a data folder."""

import asyncio
import io
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, aclosing
from pathlib import Path

import pytest

from bot.errors import UserError
from bot.interfaces.control import async_client, server
from bot.interfaces.control.async_client import holder_of
from memory.store import migrations
from memory.store.clock import utc_now
from memory.store.constellations import Constellations
from memory.store.data_folder import DataFolder
from memory.store.ids import PersonId
from memory.store.migrations import Kind, status
from memory.store.sqlite import connect
from tests.bot.command_line import Here
from tests.bot.terminals import carina, serving

NEWEST = {kind: migrations.migrations(kind)[-1].version for kind in Kind}


def begin(folder: Path, *names: str) -> list[Path]:
    """A data folder with these constellations; gives their files."""

    async def begun() -> list[Path]:
        async with Constellations.open(folder / "data", utc_now) as constellations:
            return [(await constellations.ensure(name, PersonId("terminal:owner"))).path for name in names]

    return asyncio.run(begun())


def begin_older(folder: Path) -> Path:
    """The same as a Carina left it that knew one migration of constellations less, which finds nothing to change."""
    (path,) = begin(folder, "home")
    set_version(path, NEWEST[Kind.CONSTELLATION] - 1)
    raw = connect(path)
    raw.execute("DELETE FROM migration_checksums WHERE version = ?", (NEWEST[Kind.CONSTELLATION],))
    raw.close()
    return path


def set_version(path: Path, version: int) -> None:
    raw = connect(path)
    raw.execute(f"PRAGMA user_version={version}")
    raw.close()


def garble(path: Path) -> None:
    for more in ("-wal", "-shm"):
        path.with_name(path.name + more).unlink(missing_ok=True)
    path.write_bytes(b"this is no database\n" * 500)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_an_older_database_is_said_by_every_command_until_it_is_migrated(tmp_path: Path, here: Here) -> None:
    path = begin_older(tmp_path)
    needed = NEWEST[Kind.CONSTELLATION]
    words = f"{path} has version {needed - 1}, but this program needs {needed}: run `carina db migrate`"
    done = carina(tmp_path, "status")
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.splitlines()[:2] == [
        "Carina is not running. Run `carina db migrate` first.",
        f"Database: {words}",
    ]
    done = here("status --json")
    row = json.loads(done.stdout)["databases"][1]
    assert (done.returncode, row["state"], row["problem"]) == (3, "older", words)
    for done in (here("inbox list"), here("db vacuum"), carina(tmp_path, "run")):
        assert (done.returncode, done.stderr) == (3, f"carina: {words}\n")
    done = here("db status")
    assert (done.returncode, done.stderr) == (3, "")
    assert words in done.stdout

    done = here("db migrate --json")
    assert done.returncode == 0
    rows = json.loads(done.stdout)
    named = path.relative_to(tmp_path / "data").as_posix()
    assert [(row["file"], row["from"], row["to"]) for row in rows][1] == (named, needed - 1, needed)
    assert (tmp_path / "data" / rows[1]["copy"]).is_file()
    assert here("db status").returncode == 0
    assert here("status").stdout.startswith("Carina is not running. `carina run` starts it.\n")


@pytest.mark.parametrize(
    ("harm", "state", "words"),
    [
        (lambda path: set_version(path, 99), "newer", "install the newer version"),
        (garble, "unreadable", "cannot be read as a database (file is not a database): restore it from a backup"),
        (lambda path: path.unlink(), "missing", "is missing or empty: restore it from a backup"),
        (lambda path: path.write_bytes(b""), "unreadable", "is missing or empty: restore it from a backup"),
    ],
    ids=["newer", "garbled", "missing", "empty"],
)
def test_a_file_that_no_migration_mends_is_said_and_left_alone(
    tmp_path: Path, here: Here, harm: Callable[[Path], object], state: str, words: str
) -> None:
    (path,) = begin(tmp_path, "home")
    harm(path)
    before = content(tmp_path)
    for command in ("status", "db status"):
        done = here(command)
        assert done.returncode == 1
        assert words in done.stdout + done.stderr
        done = here(f"{command} --json")
        found = json.loads(done.stdout)
        row = (found["databases"] if command == "status" else found)[1]
        assert (done.returncode, row["state"]) == (1, state)
        assert words in row["problem"]
    for done in (here("db migrate"), here("inbox list"), carina(tmp_path, "run")):
        assert done.returncode == 1
        assert words in done.stderr
        assert "Traceback" not in done.stderr
    after = content(tmp_path)
    assert {name: after.get(name) for name in before if name.endswith(".db")} == {
        name: data for name, data in before.items() if name.endswith(".db")
    }
    assert path.exists() is (state != "missing")


def test_a_folder_that_takes_no_lock_is_said(tmp_path: Path, here: Here) -> None:
    (tmp_path / "data" / "carina.lock").mkdir(parents=True)  # as in a folder that cannot be written to
    here("tasks list").refused("carina.lock could not be opened: Is a directory")


def test_a_lost_registry_is_said_and_not_made_anew(tmp_path: Path, here: Here) -> None:
    begin(tmp_path, "home")
    (tmp_path / "data" / "global.db").unlink()
    for command in ("status", "db status", "db migrate", "inbox list", "db vacuum"):
        done = here(command)
        assert done.returncode == 1
        assert "global.db is missing, but constellations exist" in done.stdout + done.stderr
        assert not (tmp_path / "data" / "global.db").exists()


def test_a_registry_that_cannot_be_read_behind_its_version_is_damaged(tmp_path: Path, here: Here) -> None:
    begin(tmp_path, "home")
    raw = connect(tmp_path / "data" / "global.db")
    raw.execute("ALTER TABLE constellations RENAME TO elsewhere")
    raw.close()
    done = here("status")
    assert done.returncode == 1
    assert "global.db cannot be read as a database (no such table: constellations): restore it" in done.stdout


def test_nothing_is_migrated_while_another_file_has_to_be_seen_to(tmp_path: Path, here: Here) -> None:
    path = begin_older(tmp_path)
    (attic,) = begin(tmp_path, "attic")
    assert path < attic, "the one that migrating would mend is looked at first"
    set_version(attic, 99)
    here("db migrate").refused("data format 99")
    assert status(path, Kind.CONSTELLATION).version == NEWEST[Kind.CONSTELLATION] - 1
    done = here("status")
    assert done.returncode == 1, "migrating is not what comes first"
    assert done.stdout.count("Database: ") == 2


def test_a_migration_that_fails_says_where_the_file_stands(tmp_path: Path, here: Here) -> None:
    (path,) = begin(tmp_path, "home")
    set_version(path, NEWEST[Kind.CONSTELLATION] - 1)  # what the last one makes is there already
    here("db migrate").refused(f"{path} could not be migrated beyond version {NEWEST[Kind.CONSTELLATION] - 1} (")
    assert len(list(path.parent.glob("carina.db.before-*"))) == 1


LOOKING = ("status", "db status", "db migrate", "db vacuum", "inbox list", "permits list", "halt", "privacy see a:1")


@pytest.mark.parametrize("command", LOOKING)
def test_a_folder_that_is_not_there_is_named_and_not_made(tmp_path: Path, here: Here, command: str) -> None:
    done = here(command)
    answers = command in ("status", "db status", "db migrate")
    assert done.returncode == (0 if answers else 1)
    if command != "status":
        assert str(tmp_path / "data") in (done.stdout if answers else done.stderr)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", LOOKING)
def test_a_folder_of_somebody_else_is_recognised_and_left_alone(tmp_path: Path, here: Here, command: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "letter.txt").write_text("dear", "utf-8")
    done = here(command)
    assert done.returncode == (0 if command == "status" else 1)
    if command not in ("status", "halt"):
        assert f"{tmp_path / 'data'} is not a Carina data folder: it contains other files" in done.stderr
        assert done.stdout == ""
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["letter.txt"]


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder(tmp_path / "data")


ASKING = ("db vacuum", "inbox list", "inbox show 1", "permits list", "approve 1", "privacy see discord:1")


@pytest.mark.parametrize(
    "command", [*ASKING, "status", "halt", "halt release", "chat", "chat --once hi", "privacy export a:1"]
)
def test_who_holds_the_folder_and_takes_no_commands_is_named(
    tmp_path: Path, folder: DataFolder, here: Here, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path, "home")
    monkeypatch.setattr("memory.store.data_folder._LOCK_SECONDS", 0.0)
    monkeypatch.setattr("bot.interfaces.cli.chat.chat._BETWEEN_SECONDS", 0.5)
    monkeypatch.setattr("bot.interfaces.cli.chat.chat.STARTING_SECONDS", 0.5)
    monkeypatch.setattr("bot.interfaces.control.client.STARTING_SECONDS", 0.5)
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
        carina(tmp_path, "db", "migrate").refused(
            f"carina: Process {service.pid} is using the data folder {folder.path}. "
            "Stop it (Ctrl-C where it runs, or SIGTERM), run `carina db migrate`, and start it again.\n"
        )
        carina(tmp_path, "run").refused(f"Process {service.pid} is already using the data folder")
        assert carina(tmp_path, "db", "status").returncode == 0, "looking needs nobody's leave"
        assert carina(tmp_path, "halt").stdout.startswith("Halted. I won't answer or send anything")
        done = carina(tmp_path, "halt", "release", "--json")
        assert done.stdout.startswith('{\n  "text": "Released. ')
        service.terminate()
        assert service.wait() == 0


def test_a_holder_that_ends_in_a_moment_is_waited_for(
    tmp_path: Path, folder: DataFolder, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path, "home")
    with ExitStack() as held:
        held.enter_context(folder.lock())
        monkeypatch.setattr("time.sleep", lambda _seconds: held.close())
        assert "home" in here("constellation list").stdout


@pytest.mark.parametrize("command", [["token", "create", "editor"], ["chat"]])
def test_a_service_that_is_starting_is_waited_for(tmp_path: Path, folder: DataFolder, command: list[str]) -> None:
    with serving(tmp_path, until=""):
        while not folder.lock_file.exists():
            time.sleep(0.01)
        done = carina(tmp_path, *command, said="")
    assert (done.returncode, done.stderr.count("using the data folder")) == (0, 0)


async def test_a_service_that_hangs_is_named_and_not_waited_for_without_end(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    async def hang_chat() -> AsyncIterator[None]:
        await asyncio.Event().wait()
        yield

    folder.prepare()
    monkeypatch.setattr(async_client, "ANSWER_SECONDS", 0.05)
    with folder.lock():
        found = holder_of(folder)
        assert found is not None
        words = rf"Process {os.getpid()} is using .*\. The service did not answer within 0\.05 seconds: .*, or stop it"
        async with server.serve(folder, {"status": hang, "chat": hang_chat}):
            with pytest.raises(UserError, match=words):
                await found.ask("status", 0.05)
            async with aclosing(found.call("chat")) as shown:
                with pytest.raises(UserError, match=words):
                    await anext(shown)
