"""What counts as a try: failures and deaths do, an orderly stop and a full disk do not; and one bad row fails alone."""

from pathlib import Path

import pytest

from bot import lane, retrying
from bot.events import Failed
from bot.models.base import Answer, Request
from memory.database import Tx
from memory.errors import DatabaseFull
from tests.bot.parts import Held, Platform, ScriptedModel, said, says, texts
from tests.bot.stage import OWNERS_PLACE, Service, Setting, running

STATES = "SELECT status, attempts, alone FROM inbox ORDER BY id"


async def states(service: Service) -> list[tuple[str, int, int]]:
    return [(row[0], row[1], row[2]) for row in await service.rows(STATES)]


async def died(folder: Path, *tries: int) -> Platform:
    """A turn of as many joined rows that nobody answers any more; each row was tried so often."""
    held = Held(says("never said"))
    async with running(folder, Setting(ScriptedModel(held))) as service:
        for number, _ in enumerate(tries, 1):
            service.hear(said(f"number {number}", number))
        await service.router._queue.join()
        await held.begun.wait()
        service.crashed = True
    async with running(folder, Setting(halted=True, platform=service.platform)) as service:
        turns = await service.column("SELECT turn_id FROM inbox WHERE turn_id IS NOT NULL")

        def work(tx: Tx) -> None:
            for row, count in zip(tx.all("SELECT id FROM inbox ORDER BY id"), tries, strict=True):
                sql = "UPDATE inbox SET status = 'claimed', turn_id = ?, attempts = ? WHERE id = ?"
                tx.run(sql, (turns[0], count, row["id"]))

        await service.write(work)
    return service.platform


def echo(request: Request) -> Answer:
    return says(f"You said: {texts(request)[-1]}")


async def test_after_two_deaths_joined_rows_are_answered_one_by_one(tmp_path: Path) -> None:
    platform = await died(tmp_path, 2, 1)
    async with running(tmp_path, Setting(ScriptedModel(otherwise=echo), platform=platform)) as service:
        await service.settled()
        assert service.platform.texts() == ["You said: number 1", "You said: number 2"]
        assert await states(service) == [("done", 3, 1), ("done", 2, 1)]


async def test_one_death_takes_nothing_apart(tmp_path: Path) -> None:
    platform = await died(tmp_path, 1, 1)
    async with running(tmp_path, Setting(ScriptedModel(otherwise=echo), platform=platform)) as service:
        await service.settled()
        assert len(service.platform.texts()) == 1
        assert await states(service) == [("done", 2, 0), ("done", 2, 0)]


async def test_what_joined_a_row_that_had_all_its_tries_is_not_given_up_with_it(tmp_path: Path) -> None:
    platform = await died(tmp_path, 5, 1)
    async with running(tmp_path, Setting(ScriptedModel(otherwise=echo), platform=platform)) as service:
        await service.settled()
        assert service.platform.texts() == ["You said: number 2"]
        assert await states(service) == [("dead", 5, 0), ("done", 2, 1)]
        assert [event.again for event in service.events if isinstance(event, Failed)] == [False]


async def test_who_waits_for_what_no_turn_can_be_made_of_is_told_when_it_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_given: object) -> None:
        raise ValueError("no turn of this")

    monkeypatch.setattr(lane, "begin_turn", broken)
    async with running(tmp_path) as service:
        await service.heard(said("hello", 1))
        assert await states(service) == [("dead", 5, 1)]
        assert [event.again for event in service.events if isinstance(event, Failed)] == [False]
        (notice,) = service.platform.texts(OWNERS_PLACE.id)
        assert "no turn of this" in notice


async def test_orderly_stops_use_no_tries_up(tmp_path: Path) -> None:
    platform = None
    for _ in range(6):
        held = Held(says("never said"))
        async with running(tmp_path, Setting(ScriptedModel(held), platform=platform)) as service:
            if platform is None:
                service.hear(said("hello", 1))
            await held.begun.wait()
            service.hurried = True  # turns are cancelled, as when the time for the end is up
        platform = service.platform
    async with running(tmp_path, Setting(ScriptedModel(says("At last.")), platform=platform)) as service:
        await service.settled()
        assert service.platform.texts() == ["At last."]
        assert await states(service) == [("done", 1, 0)]


async def test_a_database_that_takes_no_writes_uses_no_tries_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "RETRY_SECONDS", 0)
    model = ScriptedModel(*[DatabaseFull("the disk is full")] * 7, says("At last."))
    async with running(tmp_path, Setting(model)) as service:
        await service.heard(said("hello", 1))
        assert service.platform.texts() == ["At last."]
        assert await states(service) == [("done", 1, 0)]
