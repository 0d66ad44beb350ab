"""Backups for people: one is made at a time, damaged ones are named, and what was put back is said as it is."""

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.config import load_config
from bot.errors import UserError
from bot.interfaces.cli.local_operations import local_registry
from bot.interfaces.cli.manifest import operation_entry
from bot.services.caller import Unconfirmed, owner_at_terminal
from bot.services.results import Markdown, Plain, Result
from bot.services.system.backups import Backups
from memory.erasure.edited_or_deleted_messages import narrow_message
from memory.people.audience import OWNER as OWNERS
from memory.people.audience import Audience, Trust, person_audience
from memory.queue import erasure_follow_ups, messages
from memory.queue.messages import Message, NewMessage
from memory.store import backups, erasure_records
from memory.store.backups import Backup
from memory.store.constellations import Constellations
from memory.store.data_folder import DataFolder
from memory.store.database import Rows, Tx
from memory.store.erasure_records import Erasure
from memory.store.errors import FolderLocked
from memory.store.faults import commit_point
from memory.store.ids import PersonId, PlaceId
from memory.store.sqlite import connect, transaction
from tests.captured_logs import capture_logs

BEGIN = commit_point("test_bot_backups.begin")
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
OWNER = owner_at_terminal(sure=True)
PEOPLE = (PersonId("discord:ann"), PersonId("discord:bob"))


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    async with Constellations.open(tmp_path / "data", lambda: NOW) as constellations:
        await constellations.ensure("home", OWNER.person)
    return tmp_path / "data"


def made(folder: Path) -> Backups:
    moments: Iterator[datetime] = (NOW + timedelta(seconds=each) for each in range(100))
    return Backups(folder, lambda: next(moments), 7)


async def test_a_backup_has_a_name_at_a_terminal_which_restores_it_and_a_time_on_discord(folder: Path) -> None:
    service = made(folder)
    await service.create(OWNER)
    found = await service.list_backups(OWNER)
    (typed,), (read,) = found.lines(Plain("UTC", NOW)), found.lines(Markdown())
    assert re.match(r"- 2026-03-02T120000-\d+, Mon, Mar 2", typed)
    assert re.match(r"- <t:\d+:f>, <t:\d+:R> \(", read)


async def test_one_is_made_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create, counting = backups.create, threading.Lock()
    running, most = 0, 0

    def counted(where: Path, now: datetime) -> Backup:
        nonlocal running, most
        with counting:
            running += 1
            most = max(most, running)
        try:
            return create(where, now)
        finally:
            with counting:
                running -= 1

    monkeypatch.setattr("bot.services.system.backups.backups.create", counted)
    own = made(folder)
    await asyncio.gather(*(own.create(OWNER) for _ in range(4)))
    assert most == 1
    assert len((await own.list_backups(OWNER)).rows) == 4


async def test_a_damaged_one_is_listed_as_that(folder: Path) -> None:
    own = made(folder)
    await own.create(OWNER)
    await own.create(OWNER)
    first = (await own.list_backups(OWNER)).rows[1].name
    (folder / "backups" / first / "manifest.json").write_text("{", "utf-8")
    await own.create(OWNER)
    listed = await own.list_backups(OWNER)
    told = [(each.name == first, "cannot be read" in each.reason) for each in listed.rows]
    assert told == [(False, False), (False, False), (True, True)]
    with pytest.raises(UserError, match="cannot be read"):
        await put_back(folder, first)


async def erased(folder: Path, count: int) -> None:
    """So many people's erasures are noted after the backup."""
    async with Constellations.open(folder, lambda: NOW) as constellations:

        def begin(tx: Tx) -> list[Erasure]:
            return [erasure_records.begin_erasure(tx, person, person, NOW) for person in PEOPLE[:count]]

        for begun in await constellations.registry.write(BEGIN, begin):
            erasure_records.note(folder, begun.entry)


def age(folder: Path, name: str, versions: int) -> None:
    """Let a file be of so many versions before the one that it is of."""
    raw = connect(next(folder.glob(name)))
    row = raw.execute("PRAGMA user_version").fetchone()
    assert row is not None
    raw.execute(f"PRAGMA user_version={row[0] - versions}")
    raw.close()


async def put_back(folder: Path, name: str) -> Result:
    """As `carina backup restore` does."""
    with capture_logs():
        config = load_config({"CARINA_HOME": str(folder)}, folder)
        offered = local_registry(config, "bot.interfaces.cli.restore:Restore")
        return await offered.call("backup.restore", OWNER, {"name": name})


async def test_what_people_took_back_since_is_taken_out_of_it_again(folder: Path) -> None:
    ann, place, guild = PEOPLE[0], PlaceId("discord:1"), Audience("guild:discord:1")

    def say(tx: Tx, text: str) -> Message:
        said = messages.add(tx, NewMessage(place, ann, "Ann", text, "discord", text, guild, Trust.APPROVED, NOW))
        found = messages.of_id(tx, said)
        assert found is not None
        return found

    file = next(folder.glob("constellations/*/carina.db"))
    with closing(connect(file)) as raw:
        tx = Tx(raw)
        with transaction(raw):
            texts = "the tea is green", "the code is 4711", "my aunt is ill", "my boss is away"
            stays, gone, narrow, own = (say(tx, text) for text in texts)
        backup = backups.create(folder, NOW)
        with transaction(raw):
            messages.redact(tx, [gone.id], NOW)
            narrow_message(tx, narrow, person_audience(ann), NOW)
            narrow_message(tx, own, OWNERS, NOW)  # by the owner
    await put_back(folder, backup.name)
    with closing(connect(file, read_only=True)) as raw:
        now = [messages.of_id(Rows(raw), each.id) for each in (stays, gone, narrow, own)]
        told = [(each.text, each.audience) for each in now if each is not None]
        assert told[:2] == [(stays.text, guild), ("", guild)]
        assert told[2:] == [(narrow.text, person_audience(ann)), (own.text, OWNERS)]
        assert {each.message for each in erasure_follow_ups.waiting(Rows(raw))} == {gone.id}


async def test_nobody_is_asked_while_a_process_uses_the_folder(folder: Path) -> None:
    name, config = backups.create(folder, NOW).name, load_config({"CARINA_HOME": str(folder)}, folder)
    offered = local_registry(config, "bot.interfaces.cli.restore:Restore")
    with pytest.raises(Unconfirmed):
        await offered.call("backup.restore", owner_at_terminal(), {"name": name})
    with DataFolder(folder).lock(), pytest.raises(FolderLocked, match="Stop it, then restore"):
        await offered.call("backup.restore", owner_at_terminal(), {"name": name})


async def test_they_are_listed_where_nothing_can_be_opened(folder: Path) -> None:
    backup, config = backups.create(folder, NOW), load_config({"CARINA_HOME": str(folder)}, folder)
    offered = local_registry(config, "bot.interfaces.cli.restore:Restore")
    next(folder.glob("constellations/*/carina.db")).unlink()
    (folder / "global.db").unlink()
    assert operation_entry("backup.list").where == "idle"
    found = await offered.call("backup.list", OWNER, {})
    assert [each["name"] for each in found.data()] == [backup.name]


async def told(folder: Path, backup: Backup) -> str:
    """Put it back; what is said."""
    return "\n".join((await put_back(folder, backup.name)).lines(Markdown()))


@pytest.mark.parametrize(
    ("count", "words"), [(0, ""), (1, " Repeated 1 requested erasure."), (2, " Repeated 2 requested erasures.")]
)
async def test_how_many_erasures_were_done_again_is_said(folder: Path, count: int, words: str) -> None:
    backup = backups.create(folder, NOW)
    await erased(folder, count)
    stamp = int(NOW.timestamp())
    said = await told(folder, backup)
    saved = f" The previous data is in the backup “{backups.listing(folder)[0].name}”."
    ended = (
        " Sign-ins to the dashboard, tokens and lasting permissions have ended: sign in again, create new tokens with "
        "`carina token create`, and give permissions again."
    )
    assert said == f"Restored everything as it was on <t:{stamp}:f>, <t:{stamp}:R>.{saved}{ended}{words}"
    assert len(backups.listing(folder)) == 2


@pytest.mark.parametrize("older", ["global.db", "constellations/*/carina.db"])
async def test_an_erasure_that_could_not_be_done_is_not_said_to_be_done(folder: Path, older: str) -> None:
    age(folder, older, 1)
    backup = backups.create(folder, NOW)
    age(folder, older, -1)
    await erased(folder, 1)
    words = await told(folder, backup)
    assert " Repeated" not in words
    assert "Not repeated yet: 1 requested erasure. The next start will repeat them." in words
    assert "`carina db migrate`" in words
    found = (await put_back(folder, backup.name)).data()
    assert (found["erased_again"], found["to_erase"]) == (0, 1)
