"""What counts as a try: failures and deaths do, an orderly stop and a full disk do not; and one bad row fails alone."""

import asyncio
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.agents.turn import TurnRunner
from bot.models.base import Answer, Request
from bot.runtime.conversation import _BEGIN, ConversationWorker
from bot.runtime.turn_retries import GIVEN_UP, RetryPolicy
from memory.queue import turns
from memory.queue.notifications import Notification
from memory.store.database import Database, Tx
from tests.bot.parts import BOB, NOON, HeldReply, Platform, ScriptedModel, said, says, texts
from tests.bot.stage import OWNERS_PLACE, Service, Setting, running
from texts import speaking

CAREFUL = RetryPolicy(attempts=5, waits=(0.0,), careful_before=NOON + timedelta(days=1))
STATES = "SELECT status, attempts, alone FROM inbox ORDER BY id"


async def states(service: Service) -> list[tuple[str, int, int]]:
    return [(row[0], row[1], row[2]) for row in await service.rows(STATES)]


async def died(folder: Path, *tries: int) -> Platform:
    """A turn of as many joined rows that nobody answers any more; each row was tried so often."""
    held = HeldReply(says("never said"))
    async with running(folder, Setting(ScriptedModel(held))) as service:
        for number, _ in enumerate(tries, 1):
            service.hear(said(f"number {number}", number))
        await service.router.taken_in(30)
        await held.begun.wait()
        service.crashed = True
    async with running(folder, Setting(halted=True, platform=service.platform)) as service:
        turns = await service.column("SELECT turn_id FROM inbox WHERE turn_id IS NOT NULL")

        def work(tx: Tx) -> None:
            for row, count in zip(tx.all("SELECT id FROM inbox ORDER BY id"), tries, strict=True):
                sql = "UPDATE inbox SET status = 'claimed', turn_id = ?, attempts = ?, ran = 1 WHERE id = ?"
                tx.run(sql, (turns[0], count, row["id"]))

        await service.write(work)
    return service.platform


def echo(request: Request) -> Answer:
    return says(f"You said: {texts(request)[-1]}")


async def test_lives_that_end_before_a_model_was_asked_are_no_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = await lives(tmp_path, monkeypatch, turns.MOST_STARTS - 1, said("hello", 1))
    async with running(tmp_path, Setting(ScriptedModel(says("At last.")), platform=platform)) as service:
        await service.settled()
        assert service.platform.texts() == ["At last."]
        assert await states(service) == [("done", 1, 0)]


async def test_what_ends_every_life_before_a_model_was_asked_is_given_up_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = await lives(tmp_path, monkeypatch, turns.MOST_STARTS, said("hello", 1))
    with speaking("de"):  # as the owner does
        async with running(tmp_path, Setting(ScriptedModel(says("Hello, Bob.")), platform=platform)) as service:
            await service.heard(said("hello", 2, speaker=BOB))
            assert sorted(service.platform.texts()) == sorted([GIVEN_UP, "Hello, Bob."])
            assert [row["status"] for row in await service.rows("SELECT status FROM inbox ORDER BY id")] == [
                "dead",
                "done",
            ]
            (notice,) = service.platform.texts(OWNERS_PLACE.id)
            assert "nach 10 Versuchen nicht beantworten: der Dienst wurde bei jedem Versuch beendet. " in notice


async def test_of_what_ends_lives_together_one_bad_row_is_given_up_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = await died(tmp_path, 0, 0)
    platform = await lives(tmp_path, monkeypatch, turns.MOST_STARTS // 2 + 1, platform=platform)
    async with running(tmp_path, Setting(ScriptedModel(otherwise=echo), platform=platform)) as service:
        await service.settled()
        assert service.platform.texts() == ["You said: number 1", "You said: number 2"]


async def lives(
    folder: Path, monkeypatch: pytest.MonkeyPatch, count: int, *heard: Notification, platform: Platform | None = None
) -> Platform:
    """So many lives without pauses that end while the first turn comes to its model; in the first that is heard."""
    never = asyncio.Event()

    async def stuck(*_given: object) -> None:
        reached.set()
        await never.wait()

    with monkeypatch.context() as patched:
        patched.setattr(turns, "PAUSES", (0.0,))
        patched.setattr(TurnRunner, "_note_ran", stuck)
        for life in range(count):
            reached = asyncio.Event()
            async with running(folder, Setting(ScriptedModel(), platform=platform)) as service:
                if life == 0:
                    service.hear(*heard)
                await reached.wait()
                service.crash()
            platform = service.platform
    assert platform is not None
    return platform


async def test_what_ends_every_life_while_its_turn_begins_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, never, platform = Database.write, asyncio.Event(), None
    monkeypatch.setattr(turns, "PAUSES", (0.0,))

    async def ending(database: Database, point: Any, work: Any, **more: Any) -> Any:
        if point is _BEGIN and "_begin." in work.__qualname__:
            reached.set()
            await never.wait()
        return await whole(database, point, work, **more)

    for life in range(turns.MOST_STARTS):
        reached = asyncio.Event()
        with monkeypatch.context() as patched:
            patched.setattr(Database, "write", ending)
            setting = Setting(ScriptedModel(), platform=platform, retry_policy=CAREFUL)
            async with running(tmp_path, setting) as service:
                if life == 0:
                    service.hear(said("hello", 1), said("again", 2))
                await reached.wait()
                service.crash()
        platform = service.platform
    setting = Setting(ScriptedModel(otherwise=echo), platform=platform, retry_policy=CAREFUL)
    async with running(tmp_path, setting) as service:
        await service.settled()
        assert sorted(service.platform.texts()) == sorted([GIVEN_UP, "You said: again"])


async def test_what_is_stored_while_the_beginning_of_its_turn_fails_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, odd = Database.write, iter([True])

    def write(database: Database, point: Any, work: Any, **more: Any) -> Any:
        if getattr(work, "__func__", None) is not ConversationWorker._at_once or not next(odd, False):
            return whole(database, point, work, **more)

        def slow(tx: Tx) -> Any:
            time.sleep(0.2)
            return work(tx)

        whole(database, point, slow)
        raise KeyError("id")

    monkeypatch.setattr(Database, "write", write)
    async with running(tmp_path, Setting(ScriptedModel(otherwise=says("Yes.")))) as service:
        await service.heard(said("hello", 1))
        assert len(service.model.requests) == 1
