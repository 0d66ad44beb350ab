"""Migrations: what a fresh, an older, a newer and an edited file come to, and what stands after an interruption."""

import json
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory import data_sources, jobs
from memory.agents import Agent, seed_agent
from memory.blocks.changes import SYSTEM
from memory.blocks.store import block_history
from memory.data_sources import Subscription
from memory.jobs import NewJob
from memory.people.audience import PUBLIC
from memory.store import migrations, sqlite
from memory.store.clock import to_text
from memory.store.database import Rows, Tx, Value, as_dict
from memory.store.errors import DatabaseCorrupt, DatabaseFull, DatabaseOutdated, DatabaseTooNew, StoreError
from memory.store.fulltext import match_query
from memory.store.ids import AgentId, BlockId
from memory.store.migrations import Kind, Migration, migrate, prepare, prepare_at, rehearse, status
from memory.store.sqlite import Code, Connection, connect, driver
from tests.test_recorded_folder import unpacked

pytestmark = pytest.mark.usefixtures("made_databases")

NOW = datetime(2026, 11, 22, 9, 30, 15, 250_000, tzinfo=UTC)

FIRST = Migration(1, "start", "CREATE TABLE a (n INTEGER) STRICT; INSERT INTO a VALUES (1);")
SECOND = Migration(2, "more", "ALTER TABLE a ADD COLUMN m INTEGER; UPDATE a SET m = n + 1;")
BROKEN = Migration(
    2, "broken", "CREATE TABLE b (n INTEGER) STRICT; UPDATE a SET n = 5; INSERT INTO missing VALUES (1);"
)


def coded(error: Exception, code: Code) -> Exception:
    """An error with the code that SQLite gives with it."""
    error.__dict__["sqlite_errorcode"] = code
    return error


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "carina.db"


def known(monkeypatch: pytest.MonkeyPatch, *found: Migration) -> None:
    """Let the program know these migrations."""
    monkeypatch.setattr(migrations, "migrations", lambda _kind: list(found))


@pytest.fixture
def older(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of the first version; the program knows a second one."""
    known(monkeypatch, FIRST)
    prepare(path, Kind.GLOBAL)
    known(monkeypatch, FIRST, SECOND)
    return path


@contextmanager
def before(version: int, path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tx]:
    """A recorded constellation as it was before that version; it is migrated in the end."""
    every = migrations.migrations(Kind.CONSTELLATION)
    known(monkeypatch, *(each for each in every if each.version < version))
    path.parent.mkdir()
    unpacked(path.parent).rename(path)
    migrate(path, Kind.CONSTELLATION, NOW)
    with closing(connect(path)) as raw:
        yield Tx(raw)
    known(monkeypatch, *every)
    migrate(path, Kind.CONSTELLATION, NOW)


def ask(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(connect(path, read_only=True)) as raw:
        return [tuple(as_dict(row).values()) for row in Rows(raw).all(sql)]


def tables(path: Path) -> set[str]:
    return {str(row[0]) for row in ask(path, "SELECT name FROM sqlite_schema WHERE type = 'table'")}


def version(path: Path) -> object:
    return ask(path, "PRAGMA user_version")[0][0]


def beside(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir() if not each.name.endswith(("-wal", "-shm")))


def test_a_file_that_is_up_to_date_is_left_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, FIRST)
    prepare(path, Kind.GLOBAL)
    before = path.read_bytes()
    prepare(path, Kind.GLOBAL)
    assert migrate(path, Kind.GLOBAL, NOW) is None
    assert path.read_bytes() == before
    assert beside(path) == ["carina.db"]


def test_an_older_file_is_refused_and_the_command_is_named(older: Path) -> None:
    with pytest.raises(DatabaseOutdated, match="has version 1, but this program needs 2: run `carina db migrate`"):
        prepare(older, Kind.GLOBAL)
    assert version(older) == 1


def test_migrating_copies_first_and_then_brings_up_to_date(older: Path) -> None:
    copy = migrate(older, Kind.GLOBAL, NOW)
    assert copy is not None
    assert (version(older), ask(older, "SELECT * FROM a")) == (2, [(1, 2)])
    assert (version(copy), ask(copy, "SELECT * FROM a")) == (1, [(1,)])
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert copy.name == "carina.db.before-2-2026-11-22T093015250Z"
    prepare(older, Kind.GLOBAL)


def test_a_new_file_gets_the_whole_schema_at_once_and_an_older_one_the_steps(
    path: Path, older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    third = Migration(3, "third", "UPDATE a SET m = 7;")
    start = Migration(2, "start", "CREATE TABLE a (n INTEGER, m INTEGER) STRICT; INSERT INTO a VALUES (0, 0);")
    known(monkeypatch, FIRST, SECOND, start, third)
    migrate(older, Kind.GLOBAL, NOW)
    new, before = path.with_name("new.db"), path.with_name("before.db")
    prepare(new, Kind.GLOBAL)
    prepare_at(before, Kind.GLOBAL, 1)
    names = "SELECT name FROM migration_checksums ORDER BY version"
    found = {each: (version(each), ask(each, "SELECT * FROM a"), ask(each, names)) for each in (older, new, before)}
    assert found == {
        older: (3, [(1, 7)], [("start",), ("more",), ("third",)]),
        new: (3, [(0, 7)], [("start",), ("third",)]),
        before: (1, [(1,)], [("start",)]),
    }
    for each in (older, new):
        prepare(each, Kind.GLOBAL)


def test_a_trial_is_not_misled_by_the_log_of_one_that_was_killed(older: Path) -> None:
    left = older.with_name("carina.db.before-trial")
    shutil.copy(older, left)
    with closing(connect(left)) as raw:
        raw.execute("ALTER TABLE a ADD COLUMN m INTEGER")
        log = left.with_name(f"{left.name}-wal").read_bytes()
    left.with_name(f"{left.name}-wal").write_bytes(log)
    assert rehearse(older, Kind.GLOBAL) >= 0
    assert (version(older), beside(older)) == (1, ["carina.db"])


def test_a_damaged_file_is_not_migrated_and_a_backup_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, FIRST)
    prepare(path, Kind.GLOBAL)
    with closing(connect(path)) as raw:
        raw.execute("INSERT INTO a SELECT value FROM json_each(?)", (json.dumps([0] * 5_000),))
        raw.execute("PRAGMA journal_mode=DELETE").fetchall()
    known(monkeypatch, FIRST, SECOND)
    whole = path.read_bytes()
    path.write_bytes(whole[:-4096] + b"?" * 4096)
    with pytest.raises(DatabaseCorrupt, match=r"cannot be read as a database \(Tree .*\): restore it from a backup"):
        migrate(path, Kind.GLOBAL, NOW)
    assert beside(path) == ["carina.db"]


@pytest.mark.parametrize(
    ("program", "error", "refused"),
    [
        ((FIRST,), DatabaseTooNew, "written by a newer version of Carina"),
        (
            (Migration(3, "start", "CREATE TABLE a (n INTEGER, m INTEGER) STRICT;"),),
            DatabaseOutdated,
            "has version 2, but this program can migrate files only from version 3 on: use the version of "
            "Carina that made it",
        ),
        (
            (Migration(1, "start", FIRST.sql + " -- a word more"), SECOND),
            DatabaseCorrupt,
            r"migration 1 \(start\) had different contents",
        ),
    ],
    ids=["newer", "from before the first migration", "of an edited history"],
)
def test_a_file_that_the_program_cannot_bring_up_to_date_is_refused_and_not_touched(
    path: Path, monkeypatch: pytest.MonkeyPatch, program: tuple[Migration, ...], error: type[Exception], refused: str
) -> None:
    known(monkeypatch, FIRST, SECOND)
    prepare(path, Kind.GLOBAL)
    known(monkeypatch, *program)
    with pytest.raises(error, match=refused):
        prepare(path, Kind.GLOBAL)
    with pytest.raises(error, match=refused):
        migrate(path, Kind.GLOBAL, NOW)
    assert beside(path) == ["carina.db"]


def test_a_migration_that_fails_half_way_leaves_the_old_version(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, FIRST)
    prepare(path, Kind.GLOBAL)
    known(monkeypatch, FIRST, BROKEN)
    with pytest.raises(driver.OperationalError, match="missing"):
        migrate(path, Kind.GLOBAL, NOW)
    assert (version(path), ask(path, "SELECT * FROM a")) == (1, [(1,)])
    assert tables(path) == {"a", "migration_checksums"}
    known(monkeypatch, FIRST)
    prepare(path, Kind.GLOBAL)  # the old program still takes it
    known(monkeypatch, FIRST, SECOND)
    migrate(path, Kind.GLOBAL, NOW)  # and a mended one brings it up to date
    assert version(path) == 2


def test_a_first_start_that_is_interrupted_can_be_repeated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, FIRST, BROKEN)
    with pytest.raises(driver.OperationalError):
        prepare(path, Kind.GLOBAL)
    assert not [*path.parent.iterdir()], "a part of it would have to be migrated"
    known(monkeypatch, FIRST)
    prepare(path, Kind.GLOBAL)
    assert (version(path), ask(path, "SELECT * FROM a")) == (1, [(1,)])


def test_what_is_no_database_is_called_that_and_not_touched(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"these are not the bytes of a database" * 100)
    before = path.read_bytes()
    with pytest.raises(DatabaseCorrupt, match="cannot be read as a database"):
        prepare(path, Kind.CONSTELLATION)
    assert path.read_bytes() == before


def test_a_file_of_another_account_is_not_said_to_be_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "carina.db"
    with pytest.raises(driver.OperationalError) as refused:
        connect(path, read_only=True).execute("PRAGMA user_version")
    path.touch()
    assert "restore it from a backup" in str(migrations.unreadable(path, refused.value))
    monkeypatch.setattr("memory.store.migrations.os.access", lambda _path, _mode: False)
    assert (
        str(migrations.unreadable(path, refused.value))
        == f"{path} cannot be opened: your user account is not allowed to read it"
    )


@pytest.mark.parametrize("kind", Kind)
def test_the_programs_own_migrations_have_numbers_of_their_own(kind: Kind) -> None:
    known = migrations.migrations(kind)
    steps = [each.version for each in known if not each.whole]
    assert steps == [*range(known[0].version, known[-1].version + 1)]


@pytest.mark.parametrize(("free", "why"), [(0, "its disk is full: free some space"), (10**9, "its disk gives errors")])
def test_what_the_disk_does_is_not_laid_to_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, why: str
) -> None:
    def refused(_path: Path, *, read_only: bool) -> None:
        raise coded(driver.OperationalError("disk I/O error"), Code.IOERR)

    monkeypatch.setattr(migrations, "connect", refused)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: shutil._ntuple_diskusage(10**9, 10**9, free))
    with pytest.raises(DatabaseFull, match=why) as caught:
        migrations.status(tmp_path / "global.db", Kind.GLOBAL)
    assert "backup" not in str(caught.value)


def test_a_new_file_on_a_full_disk_is_refused_with_what_to_do(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crammed(made: Path) -> Connection:
        raw = connect(made)
        raw.execute("PRAGMA max_page_count=3").fetchall()
        return raw

    with monkeypatch.context() as patched:
        patched.setattr(migrations, "connect", crammed)
        patched.setattr(shutil, "disk_usage", lambda _path: shutil._ntuple_diskusage(10**9, 10**9, 0))
        with pytest.raises(DatabaseFull, match="its disk is full: free some space"):
            prepare(path, Kind.CONSTELLATION)
    prepare(path, Kind.CONSTELLATION)
    assert status(path, Kind.CONSTELLATION).version == status(path, Kind.CONSTELLATION).needed


def test_a_migration_without_room_for_the_copy_leaves_none_and_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.parent.mkdir()
    unpacked(path.parent).rename(path)

    def full(copied: Path, *, read_only: bool = False) -> Connection:
        raw = connect(copied, read_only=read_only)
        if copied != path:
            raise coded(driver.OperationalError("database or disk is full"), Code.FULL)
        return raw

    monkeypatch.setattr(sqlite, "connect", full)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: shutil._ntuple_diskusage(10**9, 10**9, 0))
    with pytest.raises(DatabaseFull, match="its disk is full: free some space"):
        migrate(path, Kind.CONSTELLATION, NOW)
    assert [found.name for found in path.parent.iterdir() if "before" in found.name] == []
    assert status(path, Kind.CONSTELLATION).version == status(path, Kind.CONSTELLATION).oldest


def test_sources_keep_their_agents_and_what_was_seen(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with before(58, path, monkeypatch) as tx:
        seed_agent(tx, Agent(AgentId("Star"), "Star", "", "", "", ()), NOW)
        data_sources.add(tx, data_sources.DataSource("news", "feed", "https://example.org", 30, PUBLIC), NOW)
        source = data_sources.listing(tx)[0]
        data_sources.subscribe(tx, Subscription(AgentId("Star"), source.id, "New"), NOW)
        data_sources.see(tx, source.id, {"a": "1"}, (), NOW)
        jobs.put(tx, NewJob(f"source:{source.id}", "source", "{}", NOW), NOW)
    with closing(connect(path)) as raw:
        tx = Tx(raw)
        assert data_sources.listing(tx) == [source]
        assert [each.template for each in data_sources.subscriptions(tx, source.id)] == ["New"]
        assert data_sources.marks(tx, source.id) == {"a": "1"}
        assert [row["id"] for row in tx.all("SELECT id FROM jobs WHERE kind = 'source'")] == ["source:news"]
        data_sources.remove(tx, source.id)
        assert (data_sources.subscriptions(tx, source.id), data_sources.marks(tx, source.id)) == ([], {})


def test_what_waited_to_be_indexed_is_found_in_any_script(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with before(47, path, monkeypatch) as tx:
        stamp: dict[str, Value] = {"audience": "guild:1", "trust": 1, "created_at": "2026-11-22", "updated_at": ""}
        block: dict[str, Value] = {"id": "b", "agent_id": "Star", "label": "city", "description": "", "char_limit": 9}
        tx.insert("memory_blocks", stamp | block | {"n": 3_000, "block_type": "core", "permission": "read_write"})
        tx.run("UPDATE memory_blocks SET content = '東京のカフェ' WHERE id = 'b'")
        tx.insert(
            "coordination_tasks", stamp | {"id": "task_a", "description": "東京のカフェを探す", "status": "pending"}
        )
    with closing(connect(path, read_only=True)) as raw:
        for words in (match_query("カフェ", mode="all"), match_query("東京", mode="all")):
            for sql in ("SELECT rowid FROM block_fts(?)", "SELECT rowid FROM task_fts(?)"):
                assert len(raw.execute(sql, (words,)).fetchall()) == 1, (words, sql)


@pytest.mark.parametrize("forgotten", [False, True])
def test_what_turns_wrote_into_blocks_is_known(path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: bool) -> None:
    with before(66, path, monkeypatch) as tx:
        if forgotten:
            tx.run("DELETE FROM activity_events")
    with closing(connect(path, read_only=True)) as raw:
        rows = Rows(raw)
        named = [BlockId(row["id"]) for row in rows.all("SELECT id FROM memory_blocks")]
        wrote = {
            (change.turn, block)
            for block in named
            for change in block_history(rows, block).changes
            if change.turn is not None and change.writer != SYSTEM
        }
        found = {tuple(as_dict(row).values()) for row in rows.all("SELECT * FROM memory_block_turns")}
    assert wrote
    assert wrote == found if not forgotten else wrote <= found


def test_empty_blocks_are_no_longer_searched(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with before(68, path, monkeypatch) as tx:
        moment = to_text(NOW)
        stamp: dict[str, Value] = {"audience": "owner", "trust": 1, "created_at": moment, "updated_at": moment}
        stamp |= {"agent_id": "Star", "description": "", "char_limit": 99, "search_text": "profile"}
        stamp |= {"block_type": "core", "permission": "read_write", "schema": '{"type":"map","fields":[{"name":"a"}]}'}
        tx.insert("vector_models", {"id": 900, "name": "m", "dimension": 1})
        tx.insert("vector_spaces", {"id": 900, "model_id": 900, "kind": "block", "agent_id": "", "audience": "owner"})
        for number, text in enumerate(("a:\nb:\n", "a: Mia\nb:\n", "a:\n  one\n  two\n", "a:\n1. tea\n", ""), 900):
            block: dict[str, Value] = {"n": number, "id": f"b{number}", "label": f"l{number}", "content": text}
            tx.insert("memory_blocks", stamp | block)
            tx.insert("vectors", {"space_id": 900, "row": number, "part": 0, "bits": b"", "id": number})
    blocks = "SELECT n, search_text FROM memory_blocks WHERE n >= 900 ORDER BY n"
    assert ask(path, blocks) == [(900, ""), (901, "profile"), (902, "profile"), (903, "profile"), (904, "")]
    assert ask(path, "SELECT row FROM vectors WHERE space_id = 900 ORDER BY row") == [(901,), (902,), (903,)]


def test_an_sqlite_that_is_too_old_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "sqlite_version_info", (3, 40, 1))
    with pytest.raises(StoreError, match=r"is too old; Carina needs 3\.42\.0 or newer, or `pysqlite3`"):
        prepare(tmp_path / "carina.db", Kind.CONSTELLATION)
