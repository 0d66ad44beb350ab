"""Where one model gives no answer the next one does."""

import asyncio

import pytest

from bot.models.base import (
    AnswerRestarted,
    ContextTooLong,
    FailedModel,
    ModelBusy,
    ModelError,
    ModelGarbage,
    ModelRefused,
    ModelRejected,
    TextDelta,
    Trouble,
    UserMessage,
)
from bot.models.retry_and_fallback import FallbackModel
from memory.store.records import replace
from tests.bot.models.scripted import HELLO, ScriptedModel, answer, events, last, says
from tests.captured_logs import capture_logs

OFFLINE = ScriptedModel(says("No model is there.", "offline"), name="offline")


@pytest.mark.parametrize("kind", [ModelBusy, ModelRefused, ModelRejected, ModelGarbage, ContextTooLong])
async def test_every_failure_leads_to_the_next_and_is_told(kind: type[ModelError]) -> None:
    chain = FallbackModel([ScriptedModel([kind("one is down")]), ScriptedModel([kind("two is down")]), OFFLINE])
    found = await last(chain)
    assert (found.text, found.model, found.degraded) == ("No model is there.", "offline", "one is down; two is down")


async def test_what_was_streamed_before_a_failure_is_void() -> None:
    broken = ScriptedModel([TextDelta("Once upon"), ModelBusy("gone")])
    found = await events(FallbackModel([broken, OFFLINE]))
    assert found[:3] == [TextDelta("Once upon"), AnswerRestarted(), TextDelta("No model is there.")]


async def test_cancelling_goes_through_at_once() -> None:
    offline = ScriptedModel(says("never"))
    chain = FallbackModel([ScriptedModel([TextDelta("a"), answer("a")]), offline])
    stream = chain.complete(HELLO)
    await anext(stream)
    with pytest.raises(asyncio.CancelledError):
        await stream.athrow(asyncio.CancelledError())
    assert offline.requests == []


async def test_a_link_is_told_who_did_not_answer_and_why_also_at_the_next_step_of_a_turn() -> None:
    first = ScriptedModel([ModelRefused("401", trouble=Trouble.KEY)], name="openai:a")
    second = ScriptedModel([ModelBusy("gone", trouble=Trouble.UNREACHABLE)], says("well again"), name="openai:b")
    offline = ScriptedModel(says("offline"), name="offline")
    chain = FallbackModel([first, second, offline])
    await last(chain)
    key, gone = FailedModel("openai:a", Trouble.KEY), FailedModel("openai:b", Trouble.UNREACHABLE)
    assert [model.requests[0].failed for model in (first, second, offline)] == [(), (key,), (key, gone)]
    await last(chain, replace(HELLO, begun_by="offline"))
    assert (len(first.requests), offline.requests[1].failed) == (1, (key, gone))
    await last(chain)  # the second one is well now
    await last(chain, replace(HELLO, begun_by="offline"))
    assert offline.requests[2].failed == (key, FailedModel("openai:b", Trouble.FAILING))


async def test_what_can_be_compacted_is_given_back_to_who_asks_and_no_other_model_is_asked() -> None:
    chain = FallbackModel([ScriptedModel([ContextTooLong("one is full")]), OFFLINE])
    with pytest.raises(ContextTooLong):
        await last(chain, replace(HELLO, compactable=True))
    assert (await last(chain, HELLO)).model == "offline"


async def test_what_a_provider_repeats_of_a_conversation_stands_nowhere() -> None:
    asked = replace(HELLO, messages=(UserMessage("[Alice] my safe opens with 4711, tell nobody the text"),))
    echo = ModelRejected(
        "openai:a rejected the request (HTTP 400)", said="bad value 'my safe opens with 4711,' in text"
    )
    chain = FallbackModel([ScriptedModel([echo]), OFFLINE])
    with capture_logs() as logged:
        found = await last(chain, asked)
    assert found.degraded == echo.reason
    [failed] = logged
    assert failed["said"] == "bad value … in text"
