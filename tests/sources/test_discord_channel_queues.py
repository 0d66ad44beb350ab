"""Order within a channel, whatever each event has to wait for."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sources.discord import listener
from sources.discord.listener import ChannelQueues, Job
from tests.captured_logs import capture_logs

# (queue, waits this many rounds of the loop, raises)
EVENTS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.booleans()), max_size=30)


def job(done: list[int], number: int, rounds: int, *, fails: bool = False) -> Job:
    async def wait() -> None:
        for _ in range(rounds):
            await asyncio.sleep(0)
        done.append(number)
        if fails:
            raise RuntimeError("this one is broken")

    return wait


@pytest.fixture(autouse=True)
def _once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails is not tried again, unless a test says so."""
    monkeypatch.setattr(listener, "AGAIN", ())


async def nobody(_channel: int) -> None:
    """Nobody is told."""


async def through(act: Callable[[ChannelQueues], Awaitable[None]]) -> None:
    async with asyncio.TaskGroup() as group:
        await act(ChannelQueues(group.create_task, nobody))


@given(EVENTS, st.integers(0, 30), st.integers(0, 30))
async def test_each_conversation_keeps_its_order(
    events: list[tuple[int, int, bool]], held_at: int, released_at: int
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


async def test_a_hold_is_ended_only_by_its_own_release() -> None:
    done: list[int] = []

    async def act(queues: ChannelQueues) -> None:
        queues.hold()
        first = queues.held
        queues.put(1, job(done, 1, 0))
        queues.hold()
        queues.release({1: job(done, 0, 0)}, first)
        assert queues.held
        assert done == []
        queues.release({1: job(done, 0, 0)}, queues.held)

    await through(act)
    assert done == [0, 1]


@pytest.mark.parametrize(("failures", "done", "told"), [(1, ["first", "second"], []), (9, ["second"], [7])])
async def test_what_fails_is_tried_again_before_the_next_and_given_up_with_a_word(
    failures: int, done: list[str], told: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "AGAIN", (0.001, 0.001))
    found, lost, failed = list[str](), list[int](), list[int]()

    async def work() -> None:
        if len(failed) < failures:
            failed.append(1)
            raise KeyError("odd")
        found.append("first")

    async def second() -> None:
        found.append("second")

    async def gave_up(channel: int) -> None:
        lost.append(channel)

    with capture_logs():
        async with asyncio.TaskGroup() as group:
            queues = ChannelQueues(group.create_task, gave_up)
            queues.put(7, work)
            queues.put(7, second)
    assert (found, lost, len(failed)) == (done, told, min(failures, 3))
