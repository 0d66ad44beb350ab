"""A model that refuses us or keeps failing is left alone for a minute."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta

import pytest

from bot.models.base import (
    ContextTooLong,
    Event,
    ModelBusy,
    ModelGarbage,
    ModelRefused,
    ModelRejected,
    Request,
    TextDelta,
    Trouble,
)
from bot.models.health import State
from bot.models.retry_and_fallback import PAUSE, BreakerModel
from tests.bot.models.scripted import HELLO, ScriptedModel, Step, events, last, says
from texts import gettext_lazy, speaking

BUSY, GARBAGE, REFUSED = ModelBusy("busy"), ModelGarbage("html"), ModelRefused("refused (HTTP 401)")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def fails(model: BreakerModel, match: str = ".") -> None:
    with pytest.raises((ModelBusy, ModelGarbage, ModelRefused), match=match):
        await events(model)


async def test_three_failures_in_a_row_are_enough() -> None:
    inner = ScriptedModel([BUSY], [BUSY], says("hello"), [BUSY], [GARBAGE], [BUSY], says("never"))
    model = BreakerModel(inner, clock=Clock())
    await fails(model)
    await fails(model)
    await last(model)
    for _ in range(3):
        await fails(model)
    await fails(model, "next attempt")
    assert len(inner.requests) == 6


async def test_requests_that_are_at_fault_themselves_do_not_count() -> None:
    scripts: list[list[Step]] = [[ContextTooLong("long")], [ModelRejected("400")]] * 3
    inner = ScriptedModel(*scripts, says("hello"))
    model = BreakerModel(inner, clock=Clock())
    for error in (ContextTooLong, ModelRejected) * 3:
        with pytest.raises(error):
            await events(model)
    assert (await last(model)).text == "hello"


@pytest.mark.parametrize("error", [ContextTooLong("long"), ModelRejected("400")])
async def test_after_a_trial_that_was_at_fault_itself_the_next_call_is_tried(
    error: ContextTooLong | ModelRejected,
) -> None:
    clock = Clock()
    model = BreakerModel(ScriptedModel([REFUSED], [error], says("hello")), clock=clock)
    await fails(model)
    clock.now += PAUSE
    with pytest.raises(type(error)):
        await events(model)
    assert (await last(model)).text == "hello"


async def test_success_counts_for_a_listener_that_leaves_with_the_answer() -> None:
    model = BreakerModel(ScriptedModel([BUSY], [BUSY], says("hello"), [BUSY], says("hello")), clock=Clock())
    await fails(model)
    await fails(model)
    stream = model.complete(HELLO)
    await anext(stream)
    await anext(stream)
    await stream.aclose()
    await fails(model)
    assert (await last(model)).text == "hello"


class Slow(ScriptedModel):
    """Refuses once, then hangs."""

    def __init__(self) -> None:
        super().__init__([REFUSED], says("hello"))
        self.asked = asyncio.Event()

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        if len(self.requests) == 1:
            self.requests.append(request)
            self.asked.set()
            await asyncio.Event().wait()
        async for event in super().complete(request):
            yield event


async def test_one_call_tries_it_out_while_the_others_wait() -> None:
    clock, inner = Clock(), Slow()
    model = BreakerModel(inner, clock=clock)
    await fails(model)
    clock.now += PAUSE
    trial = asyncio.create_task(events(model))
    await inner.asked.wait()
    await fails(model, "next attempt")
    trial.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trial
    assert TextDelta("hello") in await events(model)


async def test_a_call_from_before_the_pause_does_not_end_it() -> None:
    clock, inner = Clock(), Slow()
    model = BreakerModel(inner, clock=clock)
    inner.requests.append(HELLO)  # so that this call is the slow one
    before = asyncio.create_task(events(model))
    await inner.asked.wait()
    await fails(model, "refused")
    before.cancel()
    with pytest.raises(asyncio.CancelledError):
        await before
    await fails(model, "next attempt")


NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
KEY = ModelRefused("openai:x refused access (HTTP 401 invalid_api_key)", trouble=Trouble.KEY)
AWAY = ModelBusy(gettext_lazy("{model}: no connection to its server", model="openai:x"), trouble=Trouble.UNREACHABLE)


async def test_the_standing_follows_what_happens() -> None:
    clock, now = Clock(), [NOON]
    inner = ScriptedModel(says("hello"), [AWAY], [AWAY], [AWAY], [KEY], says("hello"), name="openai:x")
    model = BreakerModel(inner, clock=clock, calendar=lambda: now[0])
    assert (model.health.state, model.health.words) == (State.UNASKED, "not used yet")

    await last(model)
    assert model.health.words == "working since 2026-11-22 12:00 UTC"

    for _ in range(3):
        now[0] += timedelta(minutes=1)
        await fails(model)
    assert model.health.state is State.UNREACHABLE
    assert model.health.words == (
        "unreachable since 2026-11-22 12:01 UTC: no connection to its server. Check the "
        "network, and OPENAI_BASE_URL if the server is your own. The next attempt is in 60 s."
    )
    with speaking("de"):
        assert model.health.why == "keine Verbindung zum Server"

    clock.now += PAUSE
    await fails(model, "refused access")
    assert model.health.words == (
        "refused since 2026-11-22 12:03 UTC: refused access (HTTP 401 invalid_api_key). Set "
        "OPENAI_API_KEY to a key that works for this model, and restart. The next attempt is in "
        "60 s."
    )

    clock.now += PAUSE
    await last(model)
    assert model.health.words == "working since 2026-11-22 12:03 UTC"


@pytest.mark.parametrize(
    ("error", "state", "words"),
    [
        (ModelRefused("gone", trouble=Trouble.MISSING), State.REFUSED, "CARINA_MODEL"),
        (ModelRefused("paid", trouble=Trouble.QUOTA), State.REFUSED, "credit"),
        (ModelGarbage("html"), State.FAILING, "html"),
        (ModelRejected("HTTP 400: temperature"), State.FAILING, "temperature"),
        (AWAY, State.UNREACHABLE, "connection"),
    ],
)
async def test_every_failure_shows(error: ModelRefused, state: State, words: str) -> None:
    model = BreakerModel(ScriptedModel([error]), clock=Clock())
    with pytest.raises(type(error)):
        await events(model)
    assert model.health.state is state
    assert words in model.health.words
