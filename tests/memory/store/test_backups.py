"""Backups: whole or not there, verified, rotated; what is put back brings nobody back who was erased."""

import asyncio
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from memory import permission_grants
from memory.people import admission_and_pairing, identities, privacy_choices, web_sessions_and_tokens
from memory.people.admission_and_pairing import Rule
from memory.people.privacy_choices import PrivacyChoice
from memory.people.web_sessions_and_tokens import KeyScope, Kind, WebKey
from memory.store import backups, erasure_records
from memory.store.backups import BackupFailed
from memory.store.clock import to_text
from memory.store.constellations import HALT, Constellations
from memory.store.database import Rows, Tx
from memory.store.erasure_records import Erasure
from memory.store.errors import DatabaseCorrupt
from memory.store.faults import commit_point
from memory.store.ids import ErasureId, PersonId
from memory.store.sqlite import connect, copy_database, transaction

WRITE = commit_point("test.backup_write")
T = TypeVar("T")
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
OWNER, ANN = PersonId("terminal:owner"), PersonId("discord:ann")


async def lived(folder: Path, cursor: str) -> None:
    async with Constellations.open(folder, lambda: NOW) as constellations:
        await constellations.ensure("home", OWNER)
        await constellations.note_position("test", cursor)


async def write(folder: Path, work: Callable[[Tx], T]) -> T:
    """Change the registry as a running service does."""
    async with Constellations.open(folder, lambda: NOW) as constellations:
        return await constellations.registry.write(WRITE, work)


def read(folder: Path, work: Callable[[Rows], T]) -> T:
    with closing(connect(folder / "global.db", read_only=True)) as raw:
        return work(Rows(raw))


def position(folder: Path) -> str | None:
    return read(folder, lambda rows: rows.value("SELECT position FROM cursors WHERE source = 'test'", (), str))


def erased(tx: Tx) -> Erasure:
    begun = erasure_records.begin_erasure(tx, ANN, ANN, NOW)
    erasure_records.finish_erasure(tx, begun.id, {}, NOW)
    return begun


async def test_constellations_that_are_newer_than_the_backup_are_set_aside(tmp_path: Path) -> None:
    await lived(tmp_path, "before")
    made = backups.create(tmp_path, NOW)
    async with Constellations.open(tmp_path, lambda: NOW) as constellations:
        newer = await constellations.ensure("garden", OWNER)
    (tmp_path / "constellations" / "con_unknown").mkdir()
    assert backups.restore(tmp_path, made) == (0, ["garden"])
    assert not newer.path.parent.exists()
    assert [each.name for each in tmp_path.glob("deleted/*/*")] == [newer.path.name]
    assert (tmp_path / "constellations" / "con_unknown").exists()  # not named by the registry: somebody put it there
    assert backups.restore(tmp_path, made) == (0, [])


async def test_a_backup_is_made_while_the_files_are_used(tmp_path: Path) -> None:
    async with Constellations.open(tmp_path, lambda: NOW) as constellations:
        await constellations.ensure("home", OWNER)
        await constellations.note_position("test", "in use")
        made = backups.create(tmp_path, NOW)
        await constellations.note_position("test", "later")
    assert backups.restore(tmp_path, made) == (0, [])
    assert position(tmp_path) == "in use"


async def test_a_damaged_backup_is_refused_and_nothing_is_changed(tmp_path: Path) -> None:
    await lived(tmp_path, "before")
    made = backups.create(tmp_path, NOW)
    copy = made.path / "global.db"
    held = bytearray(copy.read_bytes())
    held[len(held) // 2] ^= 1
    copy.write_bytes(held)
    await lived(tmp_path, "after")
    with pytest.raises(BackupFailed, match="is damaged or missing"):
        backups.restore(tmp_path, made)
    assert position(tmp_path) == "after"


@pytest.mark.parametrize(
    "kept",
    [b"", b"[]", b"\xff", b'{"at": "2026", "files": 1}', b"{}"]
    + [
        b'{"at": "2026-03-02T12:00:00.000Z", "files": {"global.db": "", "%s": ""}}' % name
        for name in (b"../../global.db", b"/etc/passwd", b"constellations/../carina.db", b"carina.toml")
    ]
    + [b'{"at": "2026-03-02T12:00:00.000Z", "files": {}}', b'{"at": "early", "files": {"global.db": ""}}'],
)
async def test_one_that_is_damaged_is_named_and_keeps_no_other_from_being_used(tmp_path: Path, kept: bytes) -> None:
    await lived(tmp_path, "x")
    names = [backups.create(tmp_path, NOW + timedelta(days=day)).name for day in range(3)]
    (tmp_path / "backups" / names[1] / "manifest.json").write_bytes(kept)
    assert [each.name for each in backups.listing(tmp_path)] == [names[2], names[0]]
    ((name, words),) = backups.damaged(tmp_path).items()
    assert (name, "cannot be read" in words) == (names[1], True)
    assert backups.rotate(tmp_path, 1, backups.listing(tmp_path)[0]) == [names[0]]
    assert backups.restore(tmp_path, backups.listing(tmp_path)[0]) == (0, [])


async def test_a_manifest_is_on_the_disk_before_its_backup_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lived(tmp_path, "x")
    done: list[str] = []
    sync, rename = os.fsync, Path.rename

    def synced(descriptor: int) -> None:
        sync(descriptor)
        done.append("synced")

    def renamed(path: Path, target: Path) -> Path:
        done.append("named")
        return rename(path, target)

    monkeypatch.setattr("memory.store.backups.os.fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    backups.create(tmp_path, NOW)
    assert done == ["synced", "synced", "named", "synced"]  # the file, its folder, and the folder of backups


async def test_where_a_restore_fails_no_copy_is_left_and_it_says_what_it_changed(tmp_path: Path) -> None:
    await lived(tmp_path, "before")
    made = backups.create(tmp_path, NOW)
    await lived(tmp_path, "after")
    file = next(name for name in made.files if name != "global.db")
    (tmp_path / file).unlink()
    (tmp_path / file).mkdir()
    with pytest.raises(BackupFailed, match="only in part"):
        backups.restore(tmp_path, made)
    assert not list(tmp_path.glob(".restoring-*"))
    (tmp_path / file).rmdir()
    assert backups.restore(tmp_path, made) == (0, [])
    assert position(tmp_path) == "before"


async def test_a_restore_that_was_killed_halfway_is_not_taken_for_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lived(tmp_path, "before")
    made = backups.create(tmp_path, NOW)
    await lived(tmp_path, "after")
    with monkeypatch.context() as patch:

        def killed(_folder: Path) -> None:
            if not (made.path.parent.parent / f".restoring-{made.name}" / "global.db").exists():
                raise KeyboardInterrupt

        patch.setattr("memory.store.backups.sync_folder", killed)
        with pytest.raises(KeyboardInterrupt):
            backups.restore(tmp_path, made)
    with pytest.raises(DatabaseCorrupt, match=f"run `carina backup restore {made.name}` again"):
        await lived(tmp_path, "start")
    assert backups.restore(tmp_path, made) == (0, [])
    assert position(tmp_path) == "before"
    await lived(tmp_path, "start")


async def test_an_empty_registry_is_not_replaced_by_a_new_one_beside_constellations(tmp_path: Path) -> None:
    await lived(tmp_path, "x")
    (tmp_path / "global.db").write_bytes(b"")
    with pytest.raises(DatabaseCorrupt, match="is missing, but constellations exist"):
        await lived(tmp_path, "y")


async def test_a_backup_of_a_registry_that_cannot_take_what_must_hold_changes_nothing(tmp_path: Path) -> None:
    await lived(tmp_path, "before")
    raw = connect(tmp_path / "global.db")
    raw.execute("ALTER TABLE erasures RENAME TO gone")
    made = backups.create(tmp_path, NOW)
    raw.execute("ALTER TABLE gone RENAME TO erasures")
    raw.close()
    await lived(tmp_path, "after")
    with pytest.raises(BackupFailed, match="Nothing was changed"):
        backups.restore(tmp_path, made)
    assert position(tmp_path) == "after"
    assert not list(tmp_path.glob(".restoring-*"))


async def test_the_one_just_made_stays_where_the_clock_was_set_back(tmp_path: Path) -> None:
    await lived(tmp_path, "x")
    names = [backups.create(tmp_path, NOW - timedelta(days=day)).name for day in range(3)]
    made = backups.create(tmp_path, NOW - timedelta(days=900))
    assert backups.rotate(tmp_path, 2, made) == names[1:]
    assert {each.name for each in backups.listing(tmp_path)} == {made.name, names[0]}


async def test_where_no_folder_can_be_made_no_backup_is_and_that_is_said(tmp_path: Path) -> None:
    await lived(tmp_path, "x")
    (tmp_path / "backups").write_text("in the way", "utf-8")
    with pytest.raises(BackupFailed, match="no backup could be created"):
        backups.create(tmp_path, NOW)


async def test_a_constellation_that_is_created_meanwhile_is_in_the_backup_or_unknown_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lived(tmp_path, "x")
    waiting = ["garden"]

    def copied(path: Path, target: Path) -> None:
        if waiting:
            asyncio.run(grown(tmp_path, waiting.pop()))
        copy_database(path, target)

    monkeypatch.setattr("memory.store.backups.copy_database", copied)
    made = await asyncio.to_thread(backups.create, tmp_path, NOW)
    assert len(made.files) == 3


async def grown(folder: Path, name: str) -> None:
    async with Constellations.open(folder, lambda: NOW) as constellations:
        await constellations.ensure(name, OWNER)


async def test_the_oldest_go_and_so_does_what_was_never_finished(tmp_path: Path) -> None:
    await lived(tmp_path, "x")
    names = [backups.create(tmp_path, NOW + timedelta(days=day)).name for day in range(4)]
    (tmp_path / "backups" / "2026.part").mkdir()
    (tmp_path / ".restoring-2026").mkdir()
    assert backups.rotate(tmp_path, 2, backups.listing(tmp_path)[0]) == [names[1], names[0]]
    assert sorted(path.name for path in (tmp_path / "backups").iterdir()) == sorted(names[2:])
    assert not list(tmp_path.glob(".restoring-*"))


async def test_erasures_since_are_begun_again_and_choices_stay(tmp_path: Path) -> None:
    await lived(tmp_path, "before")
    made = backups.create(tmp_path, NOW)
    await choose(tmp_path, PrivacyChoice.OPTED_OUT)
    begun = await write(tmp_path, erased)
    erasure_records.note(tmp_path, begun.entry)
    assert backups.restore(tmp_path, made) == (1, [])
    assert [(each.id, each.person) for each in read(tmp_path, erasure_records.open_erasures)] == [(begun.id, ANN)]
    assert read(tmp_path, privacy_choices.choices)[ANN][0] is PrivacyChoice.OPTED_OUT


async def choose(folder: Path, choice: PrivacyChoice | None) -> None:
    await write(folder, lambda tx: privacy_choices.choose(tx, ANN, choice, NOW))


def chosen(folder: Path) -> list[PersonId]:
    return list(read(folder, privacy_choices.choices))


async def test_who_resumed_since_is_not_opted_out_again(tmp_path: Path) -> None:
    await lived(tmp_path, "x")
    await choose(tmp_path, PrivacyChoice.OPTED_OUT)
    made = backups.create(tmp_path, NOW)
    await choose(tmp_path, None)
    backups.restore(tmp_path, made)
    assert chosen(tmp_path) == []


def link(tx: Tx, one: PersonId, other: PersonId) -> None:
    identities.issue_code(tx, one, f"first of {one}", NOW)
    identities.redeem_code(tx, other, f"first of {one}", f"second of {one}", NOW)
    identities.redeem_code(tx, one, f"second of {one}", "", NOW)


async def test_accounts_that_were_linked_with_more_since_stay_linked(tmp_path: Path) -> None:
    await lived(tmp_path, "x")
    await write(tmp_path, lambda tx: link(tx, ANN, PersonId("bluesky:ann")))
    made = backups.create(tmp_path, NOW)
    await write(tmp_path, lambda tx: link(tx, PersonId("discord:anna"), PersonId("bluesky:anna")))
    await write(tmp_path, lambda tx: link(tx, PersonId("discord:anna"), ANN))
    linked = read(tmp_path, identities.links)
    backups.restore(tmp_path, made)
    assert read(tmp_path, identities.links) == linked
    assert len(linked[ANN]) == 4


async def test_what_was_ended_since_stays_ended_and_tokens_end(tmp_path: Path) -> None:
    await lived(tmp_path, "x")

    def begin(tx: Tx) -> None:
        web_sessions_and_tokens.add(tx, WebKey(Kind.PROGRAM, KeyScope.ADMIN, "sync", NOW))
        link(tx, ANN, PersonId("bluesky:ann"))
        link(tx, PersonId("discord:bob"), PersonId("bluesky:bob"))
        tx.run("""INSERT INTO user_identities SELECT 'bluesky:robert', user_id, provider, 'robert', created_at
                  FROM user_identities WHERE id = 'bluesky:bob'""")

    def end(tx: Tx) -> None:
        assert identities.unlink(tx, PersonId("bluesky:ann"))
        assert identities.unlink(tx, PersonId("bluesky:robert"))
        privacy_choices.choose(tx, ANN, PrivacyChoice.PAUSED, NOW)
        privacy_choices.choose(tx, ANN, None, NOW + timedelta(hours=1))

    await write(tmp_path, begin)
    made = backups.create(tmp_path, NOW)
    assert {ANN, "discord:bob"} < read(tmp_path, identities.links).keys()
    await write(tmp_path, end)
    backups.restore(tmp_path, made)
    assert read(tmp_path, lambda rows: web_sessions_and_tokens.listing(rows, Kind.PROGRAM, NOW)) == []
    assert sorted(read(tmp_path, identities.links)) == ["bluesky:bob", "discord:bob"]
    paused = read(tmp_path, lambda rows: rows.all("SELECT person_id, since, until FROM ended_privacy_choices"))
    assert [tuple(row) for row in paused] == [(ANN, to_text(NOW), to_text(NOW + timedelta(hours=1)))]


async def test_what_was_halted_since_is_not_released(tmp_path: Path) -> None:
    await lived(tmp_path, "x")
    made = backups.create(tmp_path, NOW)
    async with Constellations.open(tmp_path, lambda: NOW) as constellations:
        await constellations.note_position(HALT, to_text(NOW))
        await constellations.note_position("test", "y")
    backups.restore(tmp_path, made)
    async with Constellations.open(tmp_path, lambda: NOW) as constellations:
        assert [await constellations.position(each) for each in (HALT, "test")] == [to_text(NOW), "x"]


async def test_who_was_shut_out_since_stays_so_and_permissions_end(tmp_path: Path) -> None:
    grant = """INSERT INTO permission_grants (id, scope, subject, agent_id, pattern, audience, person_id, created_at)
               VALUES (?, 'tool_execution', 'shell', 'a', '{}', 'owner', 'discord:ann', ?)"""
    await lived(tmp_path, "x")
    async with Constellations.open(tmp_path, lambda: NOW) as constellations:
        home = await constellations.ensure("home", OWNER)
    with closing(connect(home.path)) as raw:
        tx = Tx(raw)
        with transaction(raw):
            admission_and_pairing.set_rule(tx, "discord:let-in", Rule.ALLOW, OWNER, NOW)
            tx.run(grant, (1, NOW))
        made = backups.create(tmp_path, NOW)
        with transaction(raw):
            admission_and_pairing.drop_rule(tx, "discord:let-in")
            admission_and_pairing.set_rule(tx, "discord:rude", Rule.DENY, OWNER, NOW)
    backups.restore(tmp_path, made)
    with closing(connect(home.path, read_only=True)) as raw:
        assert [(each.subject, each.rule) for each in admission_and_pairing.rules(Rows(raw))] == [
            ("discord:rude", Rule.DENY)
        ]
        assert permission_grants.active_grants(Rows(raw), NOW) == []
    home.path.write_bytes(b"damaged")
    backups.restore(tmp_path, made)
    with closing(connect(home.path, read_only=True)) as raw:
        assert [each.subject for each in admission_and_pairing.rules(Rows(raw))] == ["discord:let-in"]
        assert permission_grants.active_grants(Rows(raw), NOW) == []


@pytest.mark.parametrize("lost", ["gone", "damaged", "begun anew"])
async def test_where_nobody_knows_what_was_chosen_since_the_choices_of_the_backup_hold(
    tmp_path: Path, lost: str
) -> None:
    await lived(tmp_path, "x")
    await choose(tmp_path, PrivacyChoice.OPTED_OUT)
    made = backups.create(tmp_path, NOW)
    for path in (tmp_path / "global.db", *tmp_path.glob("global.db-*")):
        path.unlink()
    if lost == "damaged":
        (tmp_path / "global.db").write_bytes(b"no database" * 1000)
    elif lost == "begun anew":
        shutil.rmtree(tmp_path / "constellations")
        await lived(tmp_path, "anew")
    backups.restore(tmp_path, made)
    assert chosen(tmp_path) == [ANN]


async def test_one_that_was_done_before_is_not_begun_again(tmp_path: Path) -> None:
    await lived(tmp_path, "x")
    erasure_records.note(tmp_path, (await write(tmp_path, erased)).entry)
    assert backups.restore(tmp_path, backups.create(tmp_path, NOW)) == (0, [])


def test_the_ledger_stands_a_torn_line_and_notes_each_once(tmp_path: Path) -> None:
    one = Erasure(ErasureId(1), ANN, OWNER, "2026-03-02T12:00:00.000Z", "", {})
    erasure_records.note(tmp_path, one.entry)
    with (tmp_path / erasure_records.NAME).open("a") as file:
        file.write('{"id": 2, "per')
    two = Erasure(ErasureId(3), ANN, OWNER, "2026-03-02T12:00:00.000Z", "", {})
    erasure_records.note(tmp_path, two.entry)
    erasure_records.note(tmp_path, two.entry)
    assert [entry.id for entry in erasure_records.entries(tmp_path)] == [1, 3]
