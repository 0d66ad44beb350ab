"""A data folder of an earlier version opens, is served, and says what it said then (tests/fixtures/README.md)."""

import io
import itertools
import json
import os
import re
import shutil
import signal
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.interfaces.cli import main as command_line
from memory.store import migrations
from memory.store.database import Rows, as_dict
from memory.store.migrations import Kind, Migration, migrate, status
from memory.store.sqlite import connect, damage
from tests.bot.terminals import carina

RECORDED = Path(__file__).parent / "fixtures" / "recorded"
ANSWERS: list[dict[str, Any]] = json.loads((RECORDED / "answers.json").read_text("utf-8"))
NOW = datetime(2027, 1, 1, tzinfo=UTC)


def unpacked(folder: Path) -> Path:
    """The recorded folder, with its configuration where the program looks for it; gives its database."""
    with tarfile.open(RECORDED / "folder.tar.gz") as recorded:
        recorded.extractall(folder, filter="data")
    shutil.move(folder / "data" / "carina.toml", folder / "carina.toml")
    return database(folder)


def database(folder: Path) -> Path:
    (path,) = folder.glob("data/constellations/*/carina.db")
    return path


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    unpacked(folder)
    code, _, errors = run(folder, "db", "migrate")
    assert code == 0, errors
    return folder


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """A command in this process: its exit code, what it printed, and its errors."""
    own = {"CARINA_HOME": folder / "data", "CARINA_CONFIG": folder / "carina.toml", "EMBEDDING_MODEL": "none"}
    raw, complaints = io.BytesIO(), io.BytesIO()
    out, errors = (io.TextIOWrapper(each, "utf-8", write_through=True) for each in (raw, complaints))
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(errors):
        for name, value in own.items():
            patch.setenv(name, str(value))
        code = command_line.run(arguments)
    return code, raw.getvalue().decode(), complaints.getvalue().decode()


def leaves(data: Any) -> Iterator[str]:
    match data:
        case dict():
            for value in data.values():
                yield from leaves(value)
        case list():
            for value in data:
                yield from leaves(value)
        case _:
            yield str(data)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: re.sub(r"\W+", "_", " ".join(answer["command"])))
def test_it_says_what_it_said(migrated: Path, answer: dict[str, Any]) -> None:
    code, out, errors = run(migrated, *answer["command"], "--json")
    assert code == 0, errors
    said = "\n".join(leaves(json.loads(out)))
    assert [each for each in answer["says"] if each not in said] == []


def test_what_agents_knew_beside_entries_and_facts_is_all_there(migrated: Path) -> None:
    found = Counter(
        (str(row[1]), json.loads(str(row[4])).get("status")) for row in contents(database(migrated))["items"]
    )
    assert found == {
        ("review", None): 2,
        ("preference", None): 2,
        ("project", None): 1,
        ("signal", None): 5,
        ("evaluation", None): 5,
        ("work", "failed"): 1,
        ("working", None): 1,
        ("handoff", None): 1,
        ("note", None): 2,
        ("conversation", None): 1,
        ("agent", None): 1,
        ("day", None): 2,
        ("week", None): 2,
    }


def test_every_recorded_answer_says_something() -> None:
    assert len(ANSWERS) > 30
    assert [answer["command"] for answer in ANSWERS if not answer["says"]] == []


def test_it_is_served(tmp_path: Path) -> None:
    unpacked(tmp_path)
    assert carina(tmp_path, "db", "migrate").returncode == 0
    done = carina(tmp_path, "chat", "--once", "where does the spare key hang?")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert done.stdout.strip()
    assert [
        each.get("last_error") for each in json.loads(carina(tmp_path, "inbox", "list", "--dead", "--json").stdout)
    ] == ["the service died at every try"]


# ------------------------------------------------------------------------------------------------ the step itself

DEATHS = 12
STEP = """CREATE TABLE step_of_a_test (n INTEGER) STRICT;
INSERT INTO step_of_a_test SELECT id FROM messages;
UPDATE messages SET content = upper(content);
DELETE FROM step_of_a_test WHERE n % 2;
"""


def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the program know one more version, which rewrites what there is."""
    known = {kind: migrations.migrations(kind) for kind in Kind}
    step = Migration(known[Kind.CONSTELLATION][-1].version + 1, "of_a_test", STEP)
    more = {**known, Kind.CONSTELLATION: (*known[Kind.CONSTELLATION], step)}
    monkeypatch.setattr(migrations, "migrations", lambda kind: more[kind])


def contents(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(connect(path, read_only=True)) as raw:
        rows = Rows(raw)
        names = [str(row["name"]) for row in rows.all("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        found = {name: rows.all(" ".join(("SELECT * FROM", f'"{name}"'))) for name in names}
        return {name: [tuple(as_dict(row).values()) for row in each] for name, each in found.items()}


def killed_at(statement: int, work: Callable[[], object], count: Path | None = None) -> bool:
    """Whether the work died at that statement or opening of a database; in a process of its own, ended as by SIGKILL.

    How many there were is written to `count` if it did not.
    """
    child = os.fork()
    if child == 0:
        reached = itertools.count(1)

        def reach(_sql: str) -> None:
            if next(reached) == statement:
                os.kill(os.getpid(), signal.SIGKILL)

        def traced(path: Path, **more: Any) -> Any:
            reach("")
            raw: Any = connect(path, **more)
            raw.set_trace_callback(reach)
            return raw

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(migrations, "connect", traced)
            work()
        if count is not None:
            count.write_text(str(next(reached) - 1))
        os._exit(0)
    _, ended = os.waitpid(child, 0)
    return os.WIFSIGNALED(ended) and os.WTERMSIG(ended) == signal.SIGKILL


def test_a_step_that_was_cut_off_anywhere_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, count = unpacked(tmp_path), tmp_path / "count"
    migrate(path, Kind.CONSTELLATION, NOW)
    whole = contents(path)
    later(monkeypatch)
    first = Path(shutil.copy(path, tmp_path / "first.db"))
    assert not killed_at(0, partial(migrate, first, Kind.CONSTELLATION, NOW), count)
    statements = int(count.read_text("utf-8"))
    for statement in {*range(1, statements, statements // DEATHS), statements}:
        copy = Path(shutil.copy(path, tmp_path / f"{statement}.db"))
        assert killed_at(statement, partial(migrate, copy, Kind.CONSTELLATION, NOW))
        found = status(copy, Kind.CONSTELLATION)
        assert (found.version, contents(copy)) == (found.needed - 1, whole)
        migrate(copy, Kind.CONSTELLATION, NOW)
        assert contents(copy)["step_of_a_test"]


def schema(path: Path) -> tuple[dict[str, object], dict[str, object]]:
    """A file's tables, indexes and triggers, as they read without comments, and settings of its full-text indexes."""
    found: dict[str, object] = {}
    with closing(connect(path, read_only=True)) as raw:
        rows = Rows(raw)
        for each in rows.all("SELECT type, name, tbl_name, sql FROM sqlite_schema"):
            pragmas = ("table_xinfo", "index_list", "foreign_key_list") if each["type"] == "table" else ()
            listed = [list(map(as_dict, rows.all(f"PRAGMA {pragma}({each['name']})"))) for pragma in pragmas]
            said = re.sub(r'--.*|\s|"', "", str(each["sql"]))
            found[str(each["name"])] = (each["type"], each["tbl_name"], said, listed)
    return found, {name: each for name, each in contents(path).items() if name.endswith("_fts_config")}


@pytest.mark.usefixtures("made_databases")
@pytest.mark.parametrize("kind", Kind)
def test_a_new_file_has_the_schema_of_one_that_was_upgraded(tmp_path: Path, migrated: Path, kind: Kind) -> None:
    new = tmp_path / "new.db"
    migrations.prepare(new, kind)
    recorded = migrated / "data" / "global.db" if kind is Kind.GLOBAL else database(migrated)
    assert schema(recorded) == schema(new)


def test_an_upgrade_that_is_killed_anywhere_goes_on_where_it_was(tmp_path: Path) -> None:
    """Every file opens afterwards, every copy that has its name is whole, and the end is as if nothing had happened."""
    first = unpacked(tmp_path / "first")
    code, pending, _ = run(tmp_path / "first", "db", "migrate", "--check")
    said = r"(?m)^global\.db: \d+ migrations from version 4, about [\d.]+ s, after a backup of [\d.]+ MB$"
    assert (code, bool(re.search(said, pending))) == (0, True), pending
    assert not [*tmp_path.rglob("*.before-*")]
    assert not killed_at(0, partial(run, tmp_path / "first", "db", "migrate"), tmp_path / "count")
    statements = int((tmp_path / "count").read_text("utf-8"))
    for statement in {*range(13, 21), *range(21, statements, statements // 4), statements}:
        folder = tmp_path / str(statement)
        path = unpacked(folder)
        assert killed_at(statement, partial(run, folder, "db", "migrate"))
        assert run(folder, "db", "status")[0] in (0, 3)
        code, _, errors = run(folder, "db", "migrate")
        assert code == 0, errors
        assert contents(path) == contents(first)
        for kind, file in ((Kind.CONSTELLATION, path), (Kind.GLOBAL, folder / "data" / "global.db")):
            copies = [*file.parent.glob(f"{file.name}.before-*")]
            assert copies
            assert all(status(each, kind).version and not damage(each) for each in copies)


def test_a_folder_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = unpacked(tmp_path)
    for file in (path, tmp_path / "data" / "global.db"):  # a newer version has both
        with closing(connect(file)) as raw:
            raw.execute("PRAGMA user_version = 9999")
    before = path.read_bytes()
    for command in (["db", "migrate"], ["tasks", "list"], ["chat", "--once", "hello"]):
        done = carina(tmp_path, *command)
        assert done.returncode != 0
        assert "data format 9999" in done.stderr
        assert "Traceback" not in done.stderr
    assert path.read_bytes() == before
