"""Backups for people: one is made at a time, damaged ones are named, and what was put back is said as it is."""

import asyncio
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.cli.backup import put_back
from bot.config import load_config
from bot.desks.backups import Backups
from bot.errors import UserError
from bot.policy import Approver, People
from memory import backups
from memory.backups import Backup
from memory.constellation import Constellations
from memory.database import Tx
from memory.faults import commit_point
from memory.ids import PersonId
from memory.people import ledger, privacy
from memory.people.privacy import Erasure
from memory.sqlite import connect

BEGIN = commit_point("test_bot_backups.begin")
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
OWNER = Approver(PersonId("terminal:owner"))
PEOPLE = (PersonId("discord:ann"), PersonId("discord:bob"))


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    async with Constellations.open(tmp_path / "data", lambda: NOW) as constellations:
        await constellations.ensure("home", OWNER.person)
    return tmp_path / "data"


def made(folder: Path) -> Backups:
    moments: Iterator[datetime] = (NOW + timedelta(seconds=each) for each in range(100))
    return Backups(folder, People((OWNER.person,)), lambda: next(moments), 7)


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

    monkeypatch.setattr("bot.desks.backups.backups.create", counted)
    own = made(folder)
    await asyncio.gather(*(own.create(OWNER) for _ in range(4)))
    assert most == 1
    assert len(await own.listed(OWNER)) == 4


async def test_a_damaged_one_is_listed_as_that(folder: Path) -> None:
    own = made(folder)
    await own.create(OWNER)
    await own.create(OWNER)
    first = (await own.listed(OWNER))[1]["name"]
    (folder / "backups" / first / "manifest.json").write_text("{", "utf-8")
    await own.create(OWNER)
    listed = await own.listed(OWNER)
    assert [(each["name"] == first, "cannot be read" in each["reason"]) for each in listed] == [
        (False, False),
        (False, False),
        (True, True),
    ]
    with pytest.raises(UserError, match="cannot be read"):
        await put_back(load_config({"CARINA_HOME": str(folder)}, folder), first, as_json=False)


async def erased(folder: Path, count: int) -> None:
    """So many people's erasures are noted after the backup."""
    async with Constellations.open(folder, lambda: NOW) as constellations:

        def begin(tx: Tx) -> list[Erasure]:
            return [privacy.begin_erasure(tx, person, person, NOW) for person in PEOPLE[:count]]

        for begun in await constellations.registry.write(BEGIN, begin):
            ledger.note(folder, begun)


def age(folder: Path, name: str, versions: int) -> None:
    """Let a file be of so many versions before the one that it is of."""
    raw = connect(next(folder.glob(name)))
    row = raw.execute("PRAGMA user_version").fetchone()
    assert row is not None
    raw.execute(f"PRAGMA user_version={row[0] - versions}")
    raw.close()


async def told(folder: Path, backup: Backup, capsys: pytest.CaptureFixture[str], *, as_json: bool = False) -> str:
    """Put it back; what is printed, on one line."""
    with capture_logs():
        await put_back(load_config({"CARINA_HOME": str(folder)}, folder), backup.name, as_json=as_json)
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, ""),
        (1, " 1 erasure that was asked for was done again."),
        (2, " 2 erasures that were asked for were done again."),
    ],
)
async def test_how_many_erasures_were_done_again_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], count: int, words: str
) -> None:
    backup = backups.create(folder, NOW)
    await erased(folder, count)
    assert await told(folder, backup, capsys) == f"Everything is as it was at {backup.at}.{words}"


@pytest.mark.parametrize("older", ["global.db", "constellations/*/carina.db"])
async def test_an_erasure_that_could_not_be_done_is_not_said_to_be_done(
    folder: Path, capsys: pytest.CaptureFixture[str], older: str
) -> None:
    age(folder, older, 1)
    backup = backups.create(folder, NOW)
    age(folder, older, -1)
    await erased(folder, 1)
    words = await told(folder, backup, capsys)
    assert "done again" not in words
    assert "1 erasure that was asked for is NOT done yet, but at the next start." in words
    assert "`carina db migrate`" in words
    found = json.loads(await told(folder, backup, capsys, as_json=True))
    assert (found["erased_again"], found["to_erase"]) == (0, 1)
