"""Order within a channel, whatever each event has to wait for."""

import asyncio
import gc
import warnings
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from sources.discord import channel_queues
from sources.discord.channel_queues import ChannelQueues, Job

# (queue, waits this many rounds of the loop or not at all, raises)
EVENTS = st.lists(st.tuples(st.integers(0, 2), st.one_of(st.none(), st.integers(0, 4)), st.booleans()), max_size=30)


def job(done: list[int], number: int, rounds: int | None, *, fails: bool = False) -> Job:
    async def wait() -> None:
        for _ in range(rounds or 0):
            await asyncio.sleep(0)
        done.append(number)
        if fails:
            raise RuntimeError("this one is broken")

    def at_once() -> Awaitable[None] | None:
        if rounds is not None:
            return wait()
        done.append(number)
        if fails:
            raise RuntimeError("this one is broken")
        return None

    return at_once


@pytest.fixture(autouse=True)
def _once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails is not tried again, unless a test says so."""
    monkeypatch.setattr(channel_queues, "AGAIN", ())


async def nobody(_channel: int) -> None:
    """Nobody is told."""


async def through(act: Callable[[ChannelQueues], Awaitable[None]]) -> None:
    async with asyncio.TaskGroup() as group:
        await act(ChannelQueues(group.create_task, nobody))


@settings(max_examples=50, deadline=None)
@given(EVENTS, st.integers(0, 30), st.integers(0, 30))
async def test_each_conversation_keeps_its_order(
    events: list[tuple[int, int | None, bool]], held_at: int, released_at: int
) -> None:
    done: list[int] = []

    async def act(queues: ChannelQueues) -> None:
        for number, (queue, rounds, fails) in enumerate(events):
            if number == held_at:
                queues.hold()
            if number == released_at and queues.held:
                queues.release({0: job(done, -1, 2)}, queues.held)
            queues.put(queue, job(done, number, rounds, fails=fails))
            if number % 7 == 3:
                await asyncio.sleep(0)
        queues.release({}, queues.held)

    with capture_logs() as logged:
        await through(act)
    assert len(logged) == sum(fails for _, _, fails in events)
    for queue in range(3):
        mine = [number for number, (of, _, _) in enumerate(events) if of == queue]
        assert [number for number in done if number in mine] == mine
    if -1 in done:
        behind = [n for n, (queue, _, _) in enumerate(events) if queue == 0 and n >= held_at]
        assert all(done.index(-1) < done.index(number) for number in behind)


async def test_what_needs_no_waiting_happens_at_once() -> None:
    done: list[int] = []

    async def act(queues: ChannelQueues) -> None:
        queues.put(1, job(done, 1, None))
        assert done == [1]
        queues.put(1, job(done, 2, 3))
        queues.put(1, job(done, 3, None))
        queues.put(2, job(done, 4, None))
        assert done == [1, 4]

    await through(act)
    assert done == [1, 4, 2, 3]


async def test_a_hold_is_ended_only_by_its_own_release() -> None:
    done: list[int] = []

    async def act(queues: ChannelQueues) -> None:
        queues.hold()
        first = queues.held
        queues.put(1, job(done, 1, None))
        queues.hold()
        queues.release({1: job(done, 0, None)}, first)
        assert queues.held
        assert done == []
        queues.release({1: job(done, 0, None)}, queues.held)
        assert done == [0, 1]

    await through(act)


async def test_what_is_cancelled_before_its_first_step_leaves_no_warning_behind() -> None:
    spawned: list[asyncio.Task[None]] = []

    def spawn(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        spawned.append(asyncio.create_task(work))
        return spawned[-1]

    done: list[int] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ChannelQueues(spawn, nobody).put(0, job(done, 1, 1))
        spawned[0].cancel()
        await asyncio.gather(*spawned, return_exceptions=True)
        await asyncio.sleep(0)  # for what is called when a task is done
        spawned.clear()
        gc.collect()
    assert not done
    assert not [str(one.message) for one in caught]


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize(("failures", "done", "told"), [(1, ["first", "second"], []), (9, ["second"], [7])])
async def test_what_fails_is_tried_again_before_the_next_and_given_up_with_a_word(
    failures: int, done: list[str], told: list[int], waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_queues, "AGAIN", (0.001, 0.001))
    found, lost, failed = list[str](), list[int](), list[int]()

    def work() -> None:
        if len(failed) < failures:
            failed.append(1)
            raise KeyError("odd")
        found.append("first")

    async def late() -> None:
        await asyncio.sleep(0)
        work()

    async def gave_up(channel: int) -> None:
        lost.append(channel)

    with capture_logs():
        async with asyncio.TaskGroup() as group:
            queues = ChannelQueues(group.create_task, gave_up)
            queues.put(7, late if waits else work)
            queues.put(7, lambda: found.append("second"))
    assert (found, lost, len(failed)) == (done, told, min(failures, 3))
