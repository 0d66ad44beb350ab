"""The real Litestream follows a data folder that is lost then; who needs the files alone has them."""

import asyncio
import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from bot.config import load_config
from bot.errors import ConfigError, UserError
from bot.interfaces.cli.local_operations import local_registry
from bot.runtime import replication
from bot.runtime.replication import Replica, Replication, program, replica_of
from bot.services.caller import owner_at_terminal
from bot.services.results import Markdown
from memory.erasure.person_in_one_constellation import empty_log
from memory.store import backups, erasure_records
from memory.store.clock import utc_now
from memory.store.constellations import Constellations
from memory.store.database import Database
from memory.store.errors import StoreError
from memory.store.faults import commit_point
from memory.store.ids import PersonId
from memory.store.sqlite import connect
from tests.bot.stage import until

ANN = PersonId("discord:ann")
NOTE = commit_point("test_replication.note")
TABLE = '[backup]\nlitestream = true\nreplica = "{replica}"\n'


def _installed() -> bool:
    try:
        return bool(program())
    except StoreError:
        return False


pytestmark = pytest.mark.skipif(not _installed(), reason="Litestream is not installed here")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replication, "_LOOK_SECONDS", 0.3)


def configured(tmp_path: Path) -> Replica:
    (tmp_path / "carina.toml").write_text(TABLE.format(replica=tmp_path / "replica"), "utf-8")
    found = replica_of(load_config({"CARINA_HOME": str(tmp_path / "data")}, tmp_path))
    assert found is not None
    return found


async def note(database: Database, name: str) -> None:
    sql = "INSERT INTO cursors (source, position, updated_at) VALUES (?, '', '')"
    await database.write(NOTE, lambda tx: tx.run(sql, (name,)))


def notes(path: Path) -> list[str]:
    with closing(connect(path, read_only=True)) as raw:
        return sorted(row[0] for row in raw.execute("SELECT source FROM cursors").fetchall())


async def test_a_lost_folder_comes_back_as_it_was_a_second_before(tmp_path: Path) -> None:
    replica, copies = configured(tmp_path), tmp_path / "replica" / "constellations"
    async with Constellations.open(tmp_path / "data", utc_now) as constellations:
        await constellations.ensure("home", ANN)
        following = Replication(replica, constellations, utc_now, str)
        running = asyncio.create_task(following.run())
        await until(lambda: "synced" in following.words())
        await note(constellations.registry, "first")
        second = await constellations.ensure("second", ANN)  # one that comes while it runs is followed too
        await until(lambda: len(list(copies.glob("*/carina.db/ltx/0/*"))) >= 2)
        await note(constellations.registry, "last")
        await asyncio.sleep(1.5)
        assert following._process is not None
        following._process.kill()  # it copies nothing any more, like everything here
        with pytest.raises(StoreError, match="stopped"):
            await running
    shutil.rmtree(tmp_path / "data")
    new = second.path.relative_to(tmp_path / "data")
    shutil.rmtree(tmp_path / "replica" / new)  # as when all was lost before there was a copy of it
    config = load_config({"CARINA_HOME": str(tmp_path / "data")}, tmp_path)
    registry = local_registry(config, "bot.interfaces.cli.restore:Restore")
    caller = owner_at_terminal(sure=True)
    said = await registry.call("backup.restore", caller, {"from_replica": True})
    assert "Restored everything" in said.lines(Markdown())[0]
    assert f"empty now: {new}" in said.lines(Markdown())[0].replace("\\", "")
    assert notes(tmp_path / "data" / "global.db") == ["first", "last"]
    async with Constellations.open(tmp_path / "data", utc_now) as constellations:
        assert [each.name for each in constellations.all()] == ["home", "second"]
        for each in constellations.all():
            async with constellations.use(each.id) as database:
                tables = await database.read(lambda rows: rows.all("SELECT name FROM sqlite_schema"))
                assert not [row for row in tables if "litestream" in row["name"]]
    with pytest.raises(UserError, match="Name a backup"):
        await registry.call("backup.restore", caller, {})


async def test_who_needs_the_files_alone_has_them_and_it_goes_on_after_that(tmp_path: Path) -> None:
    async with Constellations.open(tmp_path / "data", utc_now) as constellations:
        following = Replication(configured(tmp_path), constellations, utc_now, str)
        running = asyncio.create_task(following.run())
        await until(lambda: "synced" in following.words())
        assert not following.failing
        await note(constellations.registry, "first")
        async with asyncio.timeout(2.5), following.paused():
            assert await constellations.registry.maintain(empty_log)
        await note(constellations.registry, "second")
        await until(lambda: following._process is not None and "synced" in following.words())
        process = following._process
        assert process is not None
        os.close(following._held)  # as when this process dies
        following._held = os.open(os.devnull, os.O_RDONLY)
        await asyncio.wait_for(process.wait(), 5)
        await asyncio.gather(running, return_exceptions=True)
    made, _missing = await configured(tmp_path).fetch(utc_now())
    assert notes(made.path / "global.db") == ["first", "second"]


async def test_nobody_has_the_files_while_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin, begun = Replication._begin, list[asyncio.subprocess.Process]()

    async def slow(self: Replication, replica: Replica, log: Path) -> asyncio.subprocess.Process:
        begun.append(await begin(self, replica, log))
        return begun[-1]

    monkeypatch.setattr(Replication, "_begin", slow)
    async with Constellations.open(tmp_path / "data", utc_now) as constellations:
        following = Replication(configured(tmp_path), constellations, utc_now, str)
        running = asyncio.create_task(following.run())
        await asyncio.sleep(0)
        async with following.paused():
            assert [each.returncode is not None for each in begun] == [True]
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_what_is_far_behind_or_not_installed_fails_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "replica").write_text("no folder", "utf-8")
    monkeypatch.setattr(replication, "_LATE", -replication._LATE)
    async with Constellations.open(tmp_path / "data", utc_now) as constellations:
        following = Replication(configured(tmp_path), constellations, utc_now, str)
        with pytest.raises(StoreError, match="seconds behind"):
            await following.run()
        assert following.failing
        assert following.words().startswith("failing: ")
        with pytest.raises(StoreError, match=r"replica of .* cannot be read"):
            await configured(tmp_path).fetch(utc_now())
        (tmp_path / "replica").unlink()
        with pytest.raises(StoreError, match="no replica in"):
            await configured(tmp_path).fetch(utc_now())
        monkeypatch.setattr("bot.runtime.replication.shutil.which", lambda *_args, **_more: None)
        with pytest.raises(StoreError, match="not installed"):
            await following.run()
        (tmp_path / "data" / "litestream.yml").unlink()
        (tmp_path / "data" / "litestream.yml").mkdir()
        with pytest.raises(StoreError, match=r"litestream\.yml cannot be written"):
            await following.run()
        assert not backups.listing(tmp_path / "data")


async def test_an_erasure_that_a_constellation_had_not_done_yet_is_done_again(tmp_path: Path) -> None:
    replica = configured(tmp_path)
    async with Constellations.open(tmp_path / "data", utc_now) as constellations:
        await constellations.ensure("home", ANN)
        following = Replication(replica, constellations, utc_now, str)
        running = asyncio.create_task(following.run())
        await until(lambda: "synced" in following.words())
        begun = await constellations.registry.write(
            NOTE, lambda tx: erasure_records.begin_erasure(tx, ANN, ANN, utc_now())
        )
        await constellations.registry.write(
            NOTE, lambda tx: erasure_records.finish_erasure(tx, begun.id, {}, utc_now())
        )
        await asyncio.sleep(1.2)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    shutil.rmtree(tmp_path / "data")
    replica.folder.prepare()
    made, _missing = await replica.fetch(utc_now())
    assert backups.restore(tmp_path / "data", made) == (0, [])
    async with Constellations.open(tmp_path / "data", utc_now) as constellations:
        assert [each.person for each in await constellations.registry.read(erasure_records.open_erasures)] == [ANN]


def test_servers_that_speak_s3_are_reached_as_the_network_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = TABLE.format(replica="s3://bucket/home?endpoint=https://s3.example.org&region=eu")
    (tmp_path / "carina.toml").write_text(table, "utf-8")
    monkeypatch.setenv("https_proxy", "http://proxy.example.org")
    monkeypatch.setenv("CARINA_TEST_KEY", "secret")
    found = replica_of(load_config({"CARINA_HOME": str(tmp_path / "data")}, tmp_path))
    assert found is not None
    assert found.environment["https_proxy"] == "http://proxy.example.org"
    assert "CARINA_TEST_KEY" not in found.environment
    found.folder.prepare()
    found.configure([found.folder.global_db])
    assert "s3://bucket/home/global.db?endpoint=https://s3.example.org&region=eu" in found.file.read_text("utf-8")


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("litestream = true", "the location of the copy"),
        ('replica = "copies"', "an absolute path"),
        ('replica = "ftp://host/path"', "an absolute path"),
        ('replica = "sftp://me:secret@host/path"', "without a password"),
        ('replica = "{home}/copies"', "outside the data folder"),
    ],
)
def test_a_replica_that_cannot_be_one_is_refused(tmp_path: Path, table: str, why: str) -> None:
    (tmp_path / "carina.toml").write_text(f"[backup]\n{table.format(home=tmp_path / 'data')}\n", "utf-8")
    with pytest.raises(ConfigError, match=why) as refused:
        load_config({"CARINA_HOME": str(tmp_path / "data")}, tmp_path)
    assert "secret" not in str(refused.value)
