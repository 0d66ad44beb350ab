"""A model is asked again where another try may work, and only there."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from bot.models.base import (
    AnswerRestarted,
    ContextTooLong,
    Event,
    ModelBusy,
    ModelError,
    ModelGarbage,
    ModelRefused,
    ModelRejected,
    Request,
    TextDelta,
)
from bot.models.chain import LONGEST_WAIT, RetryingModel
from tests.bot.models.scripted import ScriptedModel, Step, answer, events, last, says

BUSY = ModelBusy("busy")


class Waits(list[float]):
    async def sleep(self, seconds: float) -> None:
        self.append(seconds)


def retrying(inner: ScriptedModel, waits: Waits, seconds: float = 60) -> RetryingModel:
    return RetryingModel(inner, seconds=seconds, sleep=waits.sleep, chance=lambda: 1.0)


async def test_a_busy_model_is_asked_again_with_growing_waits() -> None:
    waits = Waits()
    inner = ScriptedModel([BUSY], [ModelGarbage("html")], says("hello"))
    assert (await last(retrying(inner, waits))).text == "hello"
    assert (len(inner.requests), waits) == (3, [1, 2])


@pytest.mark.parametrize(
    "error",
    [ModelRefused("401"), ModelRejected("400"), ContextTooLong("long"), ModelBusy("429", LONGEST_WAIT + 1)],
)
async def test_what_cannot_work_or_only_after_a_long_wait_is_not_tried_again(error: ModelError) -> None:
    inner = ScriptedModel([error])
    with pytest.raises(type(error)):
        await events(retrying(inner, Waits()))
    assert len(inner.requests) == 1


async def test_a_retry_says_that_what_was_streamed_is_void() -> None:
    broken: list[Step] = [TextDelta("hel"), BUSY]
    inner = ScriptedModel(broken, [BUSY], says("hello"))
    assert await events(retrying(inner, Waits())) == [
        TextDelta("hel"),
        AnswerRestarted(),
        TextDelta("hello"),
        answer("hello"),
    ]


async def test_the_wait_a_provider_asks_for_is_kept() -> None:
    waits = Waits()
    await events(retrying(ScriptedModel([ModelBusy("429", 7)], says("hello")), waits))
    assert 7 <= waits[0] <= 7.5


async def test_all_tries_share_one_time_limit() -> None:
    class Silent(ScriptedModel):
        async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
            yield TextDelta("well")
            await asyncio.Event().wait()

    with pytest.raises(ModelBusy, match="test:scripted did not answer in time"):
        await events(retrying(Silent(), Waits(), seconds=0.05))
