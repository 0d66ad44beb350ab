"""CAR files: what goes out comes in as it was, and what is not whole changes nothing."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tracemalloc
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import loro
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from memory import jobs
from memory.blocks.document import BlobKind, blob_digest
from memory.blocks.store import BLOBS
from memory.jobs import NewJob
from memory.portability import destination, imports
from memory.portability.car import (
    FORMAT,
    MOST_BYTES,
    About,
    CarError,
    cid_of,
    encoded,
    read_blocks,
    write_block,
    write_header,
)
from memory.portability.destination import NameTaken, become_constellation, is_joined, join_constellation, placed
from memory.portability.exported_tables import ExportScope, conditions, tables
from memory.portability.exports import ExportedFile, Origin, export
from memory.portability.imports import Import, opener, stage, verify
from memory.portability.untrusted_imports import Checks, require_readable
from memory.store import erasure_records
from memory.store.clock import to_text
from memory.store.constellations import Constellations
from memory.store.database import Rows, Tx, Value
from memory.store.erasure_records import Entry
from memory.store.fulltext import index_text
from memory.store.ids import AgentId, ErasureId, PersonId
from memory.store.migrations import Kind, migrate, migrations, prepare
from memory.store.sqlite import connect, driver
from scheduler import triggers
from scheduler.triggers import DateTrigger
from scheduler.zones import zone_of
from sources.terminal import PERSON
from tests.processes import ROOT

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
AT = to_text(NOW)
CHECKS: Checks = {"trigger": partial(triggers.require_stored, now=NOW), "zone": zone_of}
RECORDED = Path(__file__).parents[2] / "fixtures" / "recorded" / "folder.tar.gz"
SCHEMA = migrations(Kind.CONSTELLATION)[-1].version


WHOLE = ExportScope()


_ACTIVE = "SELECT count(*) FROM jobs WHERE status = 'active'"


class Killed(BaseException):
    """The process ends here."""


def still(_done: float) -> None:
    return None


def file_in(folder: Path) -> Path:
    (path,) = folder.glob("constellations/con_*/carina.db")
    return path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with two agents, a group, people, blocks, messages, one of them with a file, and jobs."""
    folder = tmp_path_factory.mktemp("home")
    with tarfile.open(RECORDED) as recorded:
        recorded.extractall(folder, filter="data")
    migrate(file_in(folder / "data"), Kind.CONSTELLATION, NOW)
    with closing(connect(file_in(folder / "data"))) as raw:
        sql = "INSERT INTO message_files SELECT max(id), 0, 'a.txt', 'text/plain', 1, '', x'61', audience FROM messages"
        raw.execute(sql)
    return folder / "data"


def write(home: Path, target: Path, part: ExportScope = WHOLE, passphrase: str = "", **about: Any) -> ExportedFile:
    path = file_in(home)
    said = {
        "kind": "constellation",
        "id": path.parent.name,
        "name": "home",
        "schema": SCHEMA,
        "thin": part.thin,
        **about,
    }
    return export(Origin(path, home / "global.db", About(**said), part), target, passphrase, still)


@pytest.fixture(scope="module")
def car(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("car") / "one.car"
    write(home, path)
    return path


def check(file: Path, passphrase: str = "") -> None:
    verify(opener(file, passphrase), 1, still)


def root_of(car: Path) -> bytes:
    with car.open("rb") as file:
        return read_blocks(file)[0]


def take(file: Path, folder: Path, *, trusted: bool = True, passphrase: str = "") -> Import:
    open_file = opener(file, passphrase)
    verified = verify(open_file, file.stat().st_size, still)
    return Import(open_file, verified, folder, NOW, trusted, still, CHECKS)


def import_whole(taken: Import, rename: str = "") -> Path:
    """As `carina import` does it; gives the constellation's file."""
    if not placed(taken, rename):
        stage(taken)
    found = become_constellation(taken, PERSON, rename)
    return taken.folder / "constellations" / found / "carina.db"


def count(path: Path, sql: str) -> int:
    with closing(connect(path, read_only=True)) as raw:
        return Rows(raw).number(sql)


def agent(home: Path, name: str) -> AgentId:
    with closing(connect(file_in(home), read_only=True)) as raw:
        (row,) = Rows(raw).all("SELECT id FROM agents WHERE name = ?", (name,))
        return AgentId(row["id"])


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("passphrase", ["", "hunter2"])
def test_what_was_exported_and_imported_is_exported_the_same(
    home: Path, tmp_path: Path, thin: bool, passphrase: str
) -> None:
    first = write(home, tmp_path / "one.car", ExportScope(thin=thin), passphrase)
    import_whole(take(tmp_path / "one.car", tmp_path / "data", passphrase=passphrase))
    second = write(tmp_path / "data", tmp_path / "two.car", ExportScope(thin=thin))
    assert second.root == first.root
    assert second.manifest == first.manifest


def test_search_finds_what_was_imported(home: Path, car: Path, tmp_path: Path) -> None:
    path = import_whole(take(car, tmp_path / "data"))
    for index in ("message_fts", "block_fts", "archival_fts", "activity_fts", "item_fts"):
        sql = "SELECT count(*) FROM INDEX_docsize".replace("INDEX", index)
        assert count(path, sql) == count(file_in(home), sql) > 0, index
    assert count(path, "SELECT count(*) FROM vector_queue WHERE kind = 'message'") > 0
    assert count(path, "SELECT count(*) FROM import_audit WHERE source = 'car' AND record = 'table messages'") == 1


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(max_examples=8, phases=[Phase.explicit, Phase.generate])
@given(
    entries=st.lists(st.tuples(TEXTS, st.floats(0, 1), st.none() | TEXTS), max_size=20),
    blobs=st.lists(st.tuples(st.binary(max_size=40), st.integers(1, 60_000)), max_size=4),
    numbers=st.lists(st.integers(1, 2**63 - 1), unique=True, max_size=10),
)
def test_any_rows_survive_the_way(
    tmp_path_factory: pytest.TempPathFactory,
    entries: list[tuple[str, float, str | None]],
    blobs: list[tuple[bytes, int]],
    numbers: list[int],
) -> None:
    folder = tmp_path_factory.mktemp("any")
    path = folder / "data" / "constellations" / "con_1" / "carina.db"
    prepare(path, Kind.CONSTELLATION)
    prepare(folder / "data" / "global.db", Kind.GLOBAL)
    with closing(connect(folder / "data" / "global.db")) as raw:  # else the import adds the owner
        Tx(raw).insert("users", {"id": PERSON, "username": PERSON, "created_at": AT, "updated_at": AT})
    with closing(connect(path)) as raw:
        tx = Tx(raw)
        for at, (content, importance, label) in enumerate(entries):
            tx.insert("archival_entries", {
                "id": f"ent_{at}", "agent_id": "agt_1", "label": f"{at}{label}" if label else None, "content": content,
                "importance": importance, "audience": "owner", "trust": 4, "created_at": AT, "updated_at": AT,
            })  # fmt: skip
        tx.insert(
            "folders", {"id": "fol_1", "name": "F", "path_type": "virtual", "audience": "owner", "created_at": AT}
        )
        for at, (piece, times) in enumerate(blobs):
            tx.insert("folder_files", {
                "id": f"fil_{at}", "folder_id": "fol_1", "name": f"{at}", "content_type": "text/plain", "size_bytes": 1,
                "digest": "", "content": piece * times, "audience": "owner", "trust": 4, "uploaded_at": AT,
                "indexed_at": AT,
            })  # fmt: skip
        for each in numbers:
            tx.insert("items", {
                "id": each, "kind": "note", "text": "n", "audience": "owner", "trust": 1, "created_at": AT,
                "updated_at": AT,
            })  # fmt: skip
    first = write(folder / "data", folder / "one.car", id="con_1")
    import_whole(take(folder / "one.car", folder / "again"))
    assert write(folder / "again", folder / "two.car", id="con_1").root == first.root


def elsewhere(tmp_path: Path) -> Path:
    """The file of an empty constellation that agents join."""
    prepare(tmp_path / "data" / "global.db", Kind.GLOBAL)
    prepare(tmp_path / "data" / "constellations" / "con_other" / "carina.db", Kind.CONSTELLATION)
    return file_in(tmp_path / "data")


def join(taken: Import, target: Path, rename: str = "") -> None:
    stage(taken)
    join_constellation(taken, target, rename)


@pytest.mark.parametrize("kind", ["agent", "group"])
def test_agents_move_into_another_constellation(home: Path, tmp_path: Path, kind: str) -> None:
    part = ExportScope((agent(home, "Carina"),))
    if kind == "group":
        with closing(connect(file_in(home), read_only=True)) as raw:
            (row,) = Rows(raw).all("SELECT id FROM agent_groups WHERE name = 'Team'")
        part = ExportScope((agent(home, "Carina"), agent(home, "Anchor")), (row["id"],))
    first = write(home, tmp_path / "one.car", part, kind=kind)
    target = elsewhere(tmp_path)
    taken = take(tmp_path / "one.car", tmp_path / "data")
    join(taken, target)
    assert is_joined(taken, target)
    assert not taken.staged.exists()
    assert count(target, "SELECT count(*) FROM messages") == first.manifest.tables["messages"].rows > 0
    assert count(target, "SELECT count(*) FROM agents WHERE status = 'archived'") == 0
    second = write(tmp_path / "data", tmp_path / "two.car", part, kind=kind, id=file_in(home).parent.name)
    assert second.root == first.root
    with pytest.raises(NameTaken, match="already exists here"):
        join(taken, target)


def test_the_rows_of_one_file_are_not_taken_for_those_of_another(home: Path, tmp_path: Path) -> None:
    target, data = elsewhere(tmp_path), tmp_path / "data"
    for name in ("Carina", "Anchor"):
        write(home, tmp_path / f"{name}.car", ExportScope((agent(home, name),)), kind="agent")
    first, second = (take(tmp_path / f"{name}.car", data) for name in ("Carina", "Anchor"))
    join(first, target)
    assert (is_joined(first, target), is_joined(second, target)) == (True, False)
    join(second, target)
    assert is_joined(second, target)
    assert count(target, "SELECT count(*) FROM agents WHERE name IN ('Carina', 'Anchor')") == 2


def test_an_agent_whose_name_is_taken_is_refused_and_can_be_renamed(home: Path, tmp_path: Path) -> None:
    write(home, tmp_path / "one.car", ExportScope((agent(home, "Carina"),)), kind="agent")
    target = elsewhere(tmp_path)
    with closing(connect(target)) as raw:
        row = {"id": "agt_here", "name": "carina", "model": "offline", "system_prompt": "", "enabled_tools": "[]"}
        Tx(raw).insert("agents", {**row, "created_at": AT, "updated_at": AT})
    taken = take(tmp_path / "one.car", tmp_path / "data")
    with pytest.raises(NameTaken, match="there is another agent “carina” here"):
        join(taken, target)
    assert count(target, "SELECT count(*) FROM messages") == 0
    join(taken, target, "Visitor")
    assert count(target, "SELECT count(*) FROM agents WHERE name = 'Visitor'") == 1


def test_every_table_is_exported_or_named_as_derived(home: Path) -> None:
    with closing(connect(file_in(home), read_only=True)) as raw:
        found = tables(Rows(raw))
    assert set(conditions(found, ExportScope())) == set(found)
    left = set(found) - set(conditions(found, ExportScope((AgentId("agt_1"),))))
    assert left == {
        "agent_groups", "budgets", "constellation_blocks", "dream_items", "agent_data_sources",
        "data_sources", "data_source_items", "dream_runs",
        "dream_tallies", "erasures", "file_passages", "folder_attachments", "folder_files", "folders", "gaps",
        "group_members", "group_states", "inbox", "passed_over", "people_rules", "person_states", "person_times",
        "places", "steering", "unshown_people",
    }  # fmt: skip


# ---------------------------------------------------------------------------------- what is not whole


def damaged(file: Path, change: Callable[[bytes], bytes]) -> Path:
    changed = file.with_name("changed.car")
    changed.write_bytes(change(file.read_bytes()))
    return changed


@pytest.mark.parametrize("part", range(1, 20))
def test_one_changed_bit_is_found_with_its_offset(car: Path, part: int) -> None:
    at = car.stat().st_size * part // 20
    with pytest.raises(CarError, match=r"at byte \d+"):
        check(damaged(car, lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]))


@pytest.mark.parametrize("part", range(20))
def test_a_file_that_is_cut_off_is_refused(car: Path, part: int) -> None:
    size = car.stat().st_size * part // 20
    with pytest.raises(CarError):
        check(damaged(car, lambda data: data[:size]))


def blocks(car: Path) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    with car.open("rb") as file:
        root, found = read_blocks(file)
        return root, [(block.cid, block.data) for block in found]


def put_together(file: Path, root: bytes, found: list[tuple[bytes, bytes]]) -> Path:
    with file.open("wb") as target:
        write_header(target, root)
        for cid, data in found:
            write_block(target, cid, data)
    return file


def test_blocks_that_are_missing_twice_there_or_added_are_refused(car: Path, tmp_path: Path) -> None:
    root, found = blocks(car)
    (first, *rest) = found
    stray = encoded({"table": "no", "rows": []})
    for wrong, why in (
        ([first, *rest[1:]], "lacks some of the records"),
        ([first, rest[0], *rest], "in the file twice"),
        (found[:-1], "its last block"),
        ([*found, first], "extra data after its end"),
        ([first, (cid_of(stray), stray), *rest], "does not mention"),
    ):
        file = put_together(tmp_path / "wrong.car", root, wrong)
        with pytest.raises(CarError, match=why):
            check(file)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"hello": 1}, "not made by Carina"),
        ([1, 2], "not made by Carina"),
        ({"carina": FORMAT + 1}, "newer version of Carina"),
        ({"carina": FORMAT, "schema": SCHEMA + 1}, "newer version of Carina"),
        (
            {"carina": FORMAT, "kind": "universe", "id": "", "name": "", "schema": SCHEMA, "thin": False},
            "does not say what it contains",
        ),
        (
            {"carina": FORMAT, "kind": "agent", "id": "", "name": "a\x1b[2Jb", "schema": SCHEMA, "thin": False},
            "does not say what it contains",
        ),
    ],
)
def test_foreign_and_newer_files_are_refused(tmp_path: Path, content: Any, why: str) -> None:
    data = encoded(content)
    file = put_together(tmp_path / "foreign.car", cid_of(data), [(cid_of(data), data)])
    with pytest.raises(CarError, match=why):
        check(file)


@pytest.mark.parametrize("data", [b"", b"hello world", b"\xff" * 40, b"\x80" * 40, b"PK\x03\x04" + bytes(100)])
def test_what_is_no_car_file_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "no.car").write_bytes(data)
    with pytest.raises(CarError):
        check(tmp_path / "no.car")


def test_a_block_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    root, data = cid_of(b""), bytes(MOST_BYTES + 1)
    put_together(tmp_path / "large.car", root, [(cid_of(data), data)])
    with pytest.raises(CarError, match="is incomplete"):
        check(tmp_path / "large.car")


def rows_file(tmp_path: Path, rows: list[list[Any]], columns: list[str], table: str = "budgets") -> Path:
    """A file that is whole, and whose rows are those of nobody."""
    about = {"carina": FORMAT, "kind": "constellation", "id": "con_1", "name": "n", "schema": SCHEMA, "thin": False}
    chunk = encoded({"table": table, "rows": rows})
    listed = encoded({"chunks": [cid_of(chunk)]})
    held = {"columns": columns, "rows": len(rows), "lists": [cid_of(listed)]}
    manifest = encoded({**about, "tables": {table: held}})
    found = [encoded(about), chunk, listed, manifest]
    return put_together(tmp_path / "rows.car", cid_of(manifest), [(cid_of(each), each) for each in found])


@pytest.mark.parametrize(
    ("table", "columns", "row", "why"),
    [
        ("sqlite_schema", ["name"], ["x"], "do not fit any table"),
        ("vectors", ["id"], [1], "do not fit any table"),
        ("budgets; DROP TABLE agents", ["id"], [1], "do not fit any table"),
        ("budgets", ["subject", "nothing"], ["a", "b"], "do not fit any table"),
        ("budgets", ["subject", "period"], ["a"], "do not fit any table"),
        ("budgets", ["subject", "period"], ["a", "year"], "are not valid for the table"),
        ("group_members", ["group_id", "agent_id", "joined_at"], ["g", "a", "x"], "that the file lacks"),
    ],
)
def test_rows_that_no_schema_has_are_refused_and_leave_nothing(
    tmp_path: Path, table: str, columns: list[str], row: list[Any], why: str
) -> None:
    taken = take(rows_file(tmp_path, [row], columns, table), tmp_path / "data")
    with pytest.raises(CarError, match=why):
        stage(taken)
    assert not list((tmp_path / "data").rglob("*.db"))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE agents SET config = '{not json'",
        'UPDATE agents SET config = \'{"temperature": "hot"}\'',
        "UPDATE agents SET enabled_tools = '5'",
        "UPDATE agents SET tool_rules = '[1]'",
        "UPDATE agent_groups SET keywords = '{}'",
        "UPDATE group_members SET capabilities = '['",
        'UPDATE memory_blocks SET schema = \'{"type": "unknown"}\'',
        "UPDATE memory_blocks SET audience = 'everybody:' || audience",
        "UPDATE memory_blocks SET next_seq = 9223372036854775807",
        "UPDATE agents SET name = name || char(10) || 'x'",
        "UPDATE agents SET name = char(27) || '[2J' || name",
        "UPDATE agent_groups SET name = name || char(133)",
        "UPDATE messages SET created_at = 'yesterday'",
        "UPDATE messages SET created_at = '2026-02-30T00:00:00.000Z'",
        "UPDATE items SET key = '2026' WHERE kind IN ('day', 'week')",
        "UPDATE events SET trigger_json = '['",
        "UPDATE events SET trigger_json = json_set(trigger_json, '$.at', '2099-02-30T10:00:00.000Z')",
        "UPDATE jobs SET trigger_json = json_set(trigger_json, '$.at', '2099-03-04T10:00:00') WHERE kind = 'event'",
        "UPDATE reminders SET trigger_json = json_set(trigger_json, '$.start', 'x') WHERE trigger_json LIKE '%rule%'",
        "UPDATE jobs SET grace_seconds = 1e15 WHERE kind = 'event'",
        "UPDATE reminders SET escalate_minutes = 9223372036854775807",
        "UPDATE events SET zone = 'Mars/Base'",
        """INSERT INTO person_times (person_id, quiet_from, updated_at)
           VALUES ('x', '25:00', '2026-11-24T12:00:00.000Z')""",
    ],
)
def test_values_that_nothing_can_read_are_refused_and_leave_nothing(home: Path, tmp_path: Path, change: str) -> None:
    _refused_after(home, tmp_path, change)


@pytest.mark.parametrize(
    "trigger",
    [
        "",
        "{}",
        '{"cron": "0 9 * *", "zone": "UTC"}',
        '{"cron": "0 9 31 2 *", "zone": "UTC"}',
        '{"cron": "0 9 * * *", "zone": "Mars/Base"}',
        '{"cron": "0 9 * * *", "zone": 1}',
        '{"cron": "0 9 * * *"}',
        '{"every": 0.001, "start": "2026-11-24T12:00:00.000Z"}',
        '{"every": 60, "start": "2026-11-24T12:00:00"}',
        '{"rule": "FREQ=SECONDLY", "start": "2026-11-24T12:00:00", "zone": "UTC", "ahead": 0}',
        '{"rule": "FREQ=DAILY", "start": "2026-11-24T12:00:00", "zone": "UTC", "ahead": 1e15}',
    ],
)
def test_a_trigger_that_the_scheduler_cannot_read_is_refused(home: Path, tmp_path: Path, trigger: str) -> None:
    _refused_after(home, tmp_path, "UPDATE jobs SET trigger_json = ? WHERE kind = 'event'", trigger)


def test_a_file_from_before_the_oldest_schema_that_can_be_made_is_refused(home: Path, tmp_path: Path) -> None:
    oldest = next(each.version for each in migrations(Kind.CONSTELLATION) if each.whole)
    write(home, tmp_path / "one.car", schema=oldest - 1)
    with pytest.raises(CarError, match="too old for this version"):
        stage(take(tmp_path / "one.car", tmp_path / "data"))
    assert not list((tmp_path / "data").rglob("*.db"))


def _refused_after(home: Path, tmp_path: Path, change: str, *values: Value) -> None:
    shutil.copytree(home, tmp_path / "changed")
    with closing(connect(file_in(tmp_path / "changed"))) as raw:
        raw.create_function("carina_index_text", 1, index_text)
        assert Tx(raw).run(change, values) > 0
    write(tmp_path / "changed", tmp_path / "one.car")
    with pytest.raises(CarError, match="records that are not valid"):
        stage(take(tmp_path / "one.car", tmp_path / "data"))
    assert not list((tmp_path / "data").rglob("*.db"))


def _foreign() -> bytes:
    made = loro.LoroDoc()
    made.get_text("elsewhere").insert(0, "hello")
    made.commit()
    return made.export(loro.ExportMode.Snapshot())


@pytest.mark.parametrize("kind", list(BlobKind))
@pytest.mark.parametrize("change", [lambda data: data[:-5], lambda _: _foreign(), lambda _: b""])
def test_a_block_that_loro_cannot_read_is_refused_by_name(
    home: Path, tmp_path: Path, kind: BlobKind, change: Callable[[bytes], bytes]
) -> None:
    shutil.copytree(home, tmp_path / "changed")
    table, number, column, *_ = BLOBS[kind]
    with closing(connect(file_in(tmp_path / "changed"))) as raw:
        tx = Tx(raw)
        named = "SELECT b.*, m.label FROM TABLE b JOIN memory_blocks m ON m.id = b.block_id ORDER BY NUMBER DESC"
        row = tx.all(named.replace("TABLE", table).replace("NUMBER", number))[0]
        blob = change(row[column])
        digest = blob_digest(blob, row["base_seq"] if kind is BlobKind.CHECKPOINT else 0)
        sql = "UPDATE TABLE SET COLUMN = ?, digest = ? WHERE block_id = ? AND NUMBER = ?"
        sql = sql.replace("TABLE", table).replace("COLUMN", column).replace("NUMBER", number)
        assert tx.run(sql, (blob, digest, row["block_id"], row[number])) == 1
    write(tmp_path / "changed", tmp_path / "one.car")
    with pytest.raises(CarError, match=f"the block “{row['label']}” in the file is damaged"):
        stage(take(tmp_path / "one.car", tmp_path / "data"))
    assert not list((tmp_path / "data").rglob("*.db"))


def test_every_time_that_is_stored_is_checked_on_import(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home, tmp_path / "changed")
    sql = "UPDATE TABLE SET COLUMN = 'x' || COLUMN WHERE COLUMN GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*Z'"
    checked, unchecked = set[str](), set[str]()
    with closing(connect(file_in(tmp_path / "changed"))) as raw:
        raw.create_function("carina_index_text", 1, index_text)
        for name, column in ((name, column) for name, table in tables(Rows(raw)).items() for column in table.columns):
            raw.execute("BEGIN")
            with suppress(driver.IntegrityError):  # some records cannot be changed
                if Tx(raw).run(sql.replace("TABLE", name).replace("COLUMN", column)):
                    try:
                        require_readable(Rows(raw), CHECKS)
                        unchecked.add(f"{name}.{column}")
                    except CarError as error:
                        checked.add(str(error).split()[-1])
            raw.execute("ROLLBACK")
    assert not unchecked
    assert {"messages.created_at", "agent_presence.last_active", "items.valid_until", "items.key"} <= checked


@pytest.mark.parametrize("value", [["year"], {"year": 1}, True])
def test_a_value_that_no_table_can_hold_is_refused(tmp_path: Path, value: object) -> None:
    with pytest.raises(CarError, match="no table can hold"):
        check(rows_file(tmp_path, [["a", value]], ["subject", "period"]))


def test_a_wrong_passphrase_and_a_changed_sealed_file_are_refused(home: Path, tmp_path: Path) -> None:
    write(home, tmp_path / "sealed.car", passphrase="hunter2")
    sealed = (tmp_path / "sealed.car").read_bytes()
    assert b"activity_events" not in sealed
    with pytest.raises(CarError, match="the passphrase is wrong"):
        take(tmp_path / "sealed.car", tmp_path / "data", passphrase="hunter3")
    with pytest.raises(CarError, match="give its passphrase"):
        take(tmp_path / "sealed.car", tmp_path / "data")
    for size in (20, 100_000, len(sealed) - 1):
        (tmp_path / "cut.car").write_bytes(sealed[:size])
        with pytest.raises(CarError):
            check(tmp_path / "cut.car", "hunter2")
    piece = (1 << 16) + 16
    mixed = sealed[: 39 + piece] + sealed[39 + 2 * piece : 39 + 3 * piece] + sealed[39 + piece :]
    (tmp_path / "mixed.car").write_bytes(mixed)
    with pytest.raises(CarError, match="damaged or cut off"):  # pieces in another order
        check(tmp_path / "mixed.car", "hunter2")


# ---------------------------------------------------------------------------------- interruptions


@pytest.mark.parametrize(
    ("module", "name", "nth", "after"),
    [
        (imports, "_insert", 1, False),
        (imports, "_insert", 40, False),
        (imports, "_fill", 1, True),
        (imports, "_finish", 1, True),
        (imports, "note_import", 1, True),
        (imports, "index_blocks", 1, True),
        (destination, "require_new_name", 1, True),
        (destination, "registry_rows", 1, True),
    ],
)
def test_an_import_that_was_killed_goes_on_and_comes_to_the_same(
    car: Path, tmp_path: Path, module: Any, name: str, nth: int, after: bool
) -> None:
    calls, real = 0, getattr(module, name)

    def killed(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == nth and not after:
            raise Killed
        found = real(*arguments)
        if calls == nth:
            raise Killed
        return found

    taken = take(car, tmp_path / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, killed)
        with pytest.raises(Killed):
            import_whole(taken)
    registry = tmp_path / "data" / "global.db"
    assert not registry.exists() or count(registry, "SELECT count(*) FROM constellations") == 0
    import_whole(take(car, tmp_path / "data"))
    assert write(tmp_path / "data", tmp_path / "two.car").root == root_of(car)
    assert not list((tmp_path / "data" / "constellations").glob(".importing-*"))


async def test_an_interrupted_import_does_not_keep_a_new_home_from_starting(car: Path, tmp_path: Path) -> None:
    stage(take(car, tmp_path / "data"))
    async with Constellations.open(tmp_path / "data", lambda: NOW) as constellations:
        assert constellations.all() == []
    import_whole(take(car, tmp_path / "data"))
    assert count(tmp_path / "data" / "global.db", "SELECT count(*) FROM constellations") == 1


def test_what_was_taken_in_with_trust_is_not_taken_without(home: Path, tmp_path: Path) -> None:
    write(home, tmp_path / "one.car")
    stage(take(tmp_path / "one.car", tmp_path / "data", trusted=True))
    path = import_whole(take(tmp_path / "one.car", tmp_path / "data", trusted=False))
    assert count(path, "SELECT count(*) FROM permission_grants WHERE revoked_at IS NULL") == count(path, _ACTIVE) == 0


def test_a_constellation_is_imported_once_or_under_another_name(home: Path, car: Path, tmp_path: Path) -> None:
    import_whole(take(car, tmp_path / "data"))
    with pytest.raises(NameTaken, match="already a constellation “home”"):
        import_whole(take(car, tmp_path / "data"))
    import_whole(take(car, tmp_path / "data"), "second")
    assert count(tmp_path / "data" / "global.db", "SELECT count(*) FROM constellations") == 2


# ---------------------------------------------------------------------------------- people and rights


def test_who_was_erased_here_stays_erased(home: Path, car: Path, tmp_path: Path) -> None:
    sql = "SELECT person_id FROM messages WHERE role = 'user' AND person_id IS NOT NULL"
    with closing(connect(file_in(home), read_only=True)) as raw:
        person = PersonId(Rows(raw).all(sql)[0]["person_id"])
    (tmp_path / "data").mkdir()
    erasure_records.note(tmp_path / "data", Entry(ErasureId(77), person, person, "2026-11-24T00:00:00.000000Z"))
    taken = take(car, tmp_path / "data")
    path = import_whole(taken)
    with closing(connect(path, read_only=True)) as raw:
        for sql in ("SELECT 1 FROM messages WHERE person_id = ?", "SELECT 1 FROM memory_blocks WHERE person_id = ?"):
            assert Rows(raw).one(sql, (person,)) is None
    assert any("stayed erased" in note for note in taken.notes)


_TRUSTED = """SELECT sum(trust > 0) FROM (
    SELECT trust FROM messages UNION ALL SELECT trust FROM facts UNION ALL SELECT trust FROM archival_entries
    UNION ALL SELECT trust FROM memory_blocks UNION ALL SELECT trust FROM items
    UNION ALL SELECT trust FROM reminders)"""
_GRANTED = "SELECT count(*) FROM permission_grants WHERE revoked_at IS NULL"
_LINKED = "SELECT count(*) FROM user_identities WHERE user_id = 'usr_x'"


def test_rights_trust_jobs_and_linked_accounts_come_from_a_trusted_file_alone(home: Path, tmp_path: Path) -> None:
    source = tmp_path / "home"
    shutil.copytree(home, source)
    with closing(connect(file_in(source))) as raw:
        tx = Tx(raw)
        tx.run("UPDATE permission_grants SET revoked_at = NULL, expires_at = NULL")
        rule = {"subject": "discord:5", "rule": "allow", "via": "command", "decided_by": PERSON, "decided_at": AT}
        tx.insert("people_rules", rule)
        for model in ("openai:embedder", "packaged"):  # that of the owner costs money, and sends the text away
            folder = {"id": model, "name": model, "path_type": "virtual", "audience": "owner", "created_at": AT}
            tx.insert("folders", {**folder, "embedding_model": model})
        tx.run("DELETE FROM jobs")
        for identifier, kind in (("reminder:1", "reminder"), ("backup", "backup")):
            jobs.put(tx, NewJob(identifier, kind, triggers.dump(DateTrigger(NOW)), NOW), NOW)
        tx.run("DELETE FROM archival_journal")
        tx.run("""INSERT INTO archival_journal (id, turn_id, entry_id, deed, before, after, audience, at)
                  VALUES (1, 1, 'x', 'change', '{"trust": 4}', '', 'owner', '2026-11-24T12:00:00.000Z')""")
    with closing(connect(source / "global.db")) as raw:
        tx = Tx(raw)
        tx.insert("users", {"id": "usr_x", "username": "usr_x", "created_at": AT, "updated_at": AT})
        for person in ("discord:5", "discord:6"):
            values = {"id": person, "user_id": "usr_x", "provider": "discord", "provider_id": person}
            tx.insert("user_identities", {**values, "created_at": AT})
    write(source, tmp_path / "one.car")
    trusted = import_whole(take(tmp_path / "one.car", tmp_path / "trusted"))
    assert [count(trusted, sql) for sql in (_GRANTED, _ACTIVE)] == [1, 2]
    assert count(trusted, _TRUSTED) > 0
    assert count(tmp_path / "trusted" / "global.db", _LINKED) == 2
    taken = take(tmp_path / "one.car", tmp_path / "other", trusted=False)
    other = import_whole(taken)
    assert [count(other, sql) for sql in (_GRANTED, _ACTIVE, _TRUSTED)] == [0, 0, 0]
    assert count(tmp_path / "other" / "global.db", _LINKED) == 0
    assert count(trusted, "SELECT count(*) FROM folders WHERE embedding_model = 'openai:embedder'") == 1
    assert count(other, "SELECT count(*) FROM folders WHERE embedding_model IN ('none', 'packaged')") == 2
    assert count(other, "SELECT count(*) FROM permission_grants") == 1
    assert count(other, "SELECT count(*) FROM people_rules WHERE rule = 'allow'") == 0
    paused = "SELECT count(*) FROM jobs WHERE status = 'paused' AND id = 'reminder:1' AND last_detail LIKE '%an import'"
    assert count(other, paused) == 1
    assert count(other, "SELECT count(*) FROM import_audit WHERE outcome = 'changed'") > 0
    assert "1 job or reminder is paused; `carina jobs resume` resumes it" in taken.notes
    assert [count(each, "SELECT count(*) FROM archival_journal") for each in (trusted, other)] == [1, 0]
    assert "1 entry change made overnight cannot be undone" in taken.notes
    for said in ("treated as written by strangers", "to be linked again"):
        assert any(said in note for note in taken.notes)


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        (["id, username, created_at, updated_at) SELECT 'x', 'x', 'x', 'x' --"], ["x"]),
        (["id", "username"], ["x"]),
        (["id", "username"], ["x", "x"]),
        (["id", "username", "created_at", "updated_at"], ["x", "x", "yesterday", "2026-11-23T23:00:24.970Z"]),
    ],
)
def test_accounts_that_no_registry_has_are_refused_and_leave_nothing(
    tmp_path: Path, columns: list[str], row: list[Any]
) -> None:
    taken = take(rows_file(tmp_path, [row], columns, "users"), tmp_path / "data")
    with pytest.raises(CarError, match="accounts"):
        import_whole(taken)
    assert count(tmp_path / "data" / "global.db", "SELECT count(*) FROM users") == 0
    assert not list((tmp_path / "data" / "constellations").rglob("*"))


@pytest.mark.parametrize("limit", ["_MOST_VALUE", "_MOST_TEXT"])
def test_a_value_cannot_be_made_huge_by_naming_its_parts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(imports, limit, 100)
    about = {"carina": FORMAT, "kind": "constellation", "id": "con_1", "name": "n", "schema": SCHEMA, "thin": False}
    part = encoded(b"x" * 60)
    rows = encoded({"table": "budgets", "rows": [[{"parts": [cid_of(part)] * 2, "text": limit == "_MOST_TEXT"}]]})
    found = [encoded(about), part, rows]
    put_together(tmp_path / "huge.car", cid_of(encoded({})), [(cid_of(each), each) for each in found])
    with pytest.raises(CarError, match="no table can hold"):
        check(tmp_path / "huge.car")


def test_work_under_way_is_not_done_in_both_places(home: Path, tmp_path: Path) -> None:
    source = tmp_path / "home"
    shutil.copytree(home, source)
    with closing(connect(file_in(source))) as raw:
        tx = Tx(raw)
        tx.run("UPDATE outbox SET status = 'pending'")
        tx.run("UPDATE turns SET status = 'running'")
        tx.run("INSERT INTO turn_steps SELECT id, 2, 'note', '{}', audience, started_at FROM turns")
    write(source, tmp_path / "one.car")
    path = import_whole(take(tmp_path / "one.car", tmp_path / "data"))
    for waiting in (
        "SELECT count(*) FROM outbox WHERE status = 'pending'",
        "SELECT count(*) FROM turns WHERE status = 'running'",
        "SELECT count(*) FROM turn_steps",
    ):
        assert (count(path, waiting), count(file_in(source), waiting) > 0) == (0, True)


def fill(home: Path, count: int) -> None:
    """A data folder whose one constellation has so many long notes."""
    path = home / "constellations" / "con_1" / "carina.db"
    prepare(path, Kind.CONSTELLATION)
    prepare(home / "global.db", Kind.GLOBAL)
    with closing(connect(home / "global.db")) as raw:
        times = {"created_at": AT, "updated_at": AT}
        Tx(raw).insert("users", {"id": PERSON, "username": PERSON, **times})
        entry = {"id": "con_1", "owner_id": PERSON, "name": "home", "db_path": "constellations/con_1/carina.db"}
        Tx(raw).insert("constellations", {**entry, "created_at": AT, "last_accessed_at": AT})
    with closing(connect(path)) as raw:
        tx = Tx(raw)
        raw.execute("BEGIN")
        for at in range(count):
            tx.insert("items", {
                "id": at + 1, "kind": "note", "text": f"{at} " * 800,
                "audience": "owner", "trust": 1, "created_at": AT,
                "updated_at": AT,
            })  # fmt: skip
        raw.execute("COMMIT")


def test_a_large_file_takes_little_memory(tmp_path: Path) -> None:
    fill(tmp_path / "data", 2_000)
    tracemalloc.start()
    made = write(tmp_path / "data", tmp_path / "one.car", id="con_1")
    import_whole(take(tmp_path / "one.car", tmp_path / "again"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert made.size > 7_000_000
    assert peak < 5_000_000


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_file_of_2_gb_takes_no_more() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:  # where there is more room than in memory
        fill(Path(name, "data"), 500_000)
        peaks = [_peak(Path(name, "data"), "export", "constellation", "-o", f"{name}/one.car")]
        shutil.rmtree(Path(name, "data"))
        assert Path(name, "one.car").stat().st_size > 2 << 30
        peaks += [_peak(Path(name, "data"), *words, f"{name}/one.car") for words in (("car", "inspect"), ("import",))]
    assert max(peaks) < 120_000_000


def _peak(home: Path, *words: str) -> int:
    """The most bytes of memory that a command had at once."""
    measured = (
        "import resource, subprocess, sys\nsubprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    )
    command = (sys.executable, "-c", measured, sys.executable, str(ROOT / "carina.py"), *words)
    environment = {**os.environ, "CARINA_HOME": str(home)}
    return int(subprocess.run(command, env=environment, check=True, capture_output=True, cwd=home.parent).stdout)
