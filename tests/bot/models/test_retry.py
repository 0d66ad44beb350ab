"""A model is asked again where another try may work, and only there; what is too long, or has images that are not
taken, once more without them."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from bot.models.base import (
    AnswerRestarted,
    AssistantMessage,
    Call,
    ContextTooLong,
    Event,
    Message,
    ModelBusy,
    ModelError,
    ModelGarbage,
    ModelRefused,
    ModelRejected,
    Request,
    TextDelta,
    ToolMessage,
    UserMessage,
)
from bot.models.retry_and_fallback import LONGEST_WAIT, RetryingModel, without_older_half
from memory.store.records import replace
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
    "error", [ModelRefused("401"), ModelRejected("400"), ContextTooLong("long"), ModelBusy("429", LONGEST_WAIT + 1)]
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


def said(text: str) -> UserMessage:
    return UserMessage(f"[Ada] {text}", said=text)


def conversation(*messages: Message) -> Request:
    return Request("Be brief.", messages)


EXCHANGE = (
    said("where is it?"),
    AssistantMessage("", (Call("c1", "search", '{"query": "it"}'),)),
    ToolMessage("c1", "search", "on Elm Street"),
    AssistantMessage("On Elm Street."),
)
LONG = conversation(*EXCHANGE, *EXCHANGE, *EXCHANGE, said("and now?"))


async def test_too_long_is_asked_again_with_the_newer_half() -> None:
    inner = ScriptedModel([ContextTooLong("long")], says("hello"))
    assert (await last(RetryingModel(inner), LONG)).text == "hello"
    assert [len(request.messages) for request in inner.requests] == [13, 5]
    assert inner.requests[1].messages == (*EXCHANGE, said("and now?"))
    assert inner.requests[1].system == LONG.system


CALL = AssistantMessage("", (Call("c9", "search", "{}"), Call("c8", "search", "{}")))
RESULTS = (ToolMessage("c9", "search", "x" * 5000), ToolMessage("c8", "search", "y" * 5000))


@pytest.mark.parametrize(
    "messages",
    [
        (said("old"), said("question"), CALL, *RESULTS),
        (said("old"), AssistantMessage("ok"), said("question"), CALL, *RESULTS, UserMessage("[system] last step")),
        (said("z" * 9000), AssistantMessage("ok"), said("question"), CALL, *RESULTS),
    ],
)
def test_the_question_and_its_calls_stay_together(messages: Sequence[Message]) -> None:
    shorter = without_older_half(conversation(*messages))
    assert shorter is not None
    assert shorter.messages[:4] == (said("question"), CALL, *RESULTS)


async def test_images_that_are_not_taken_are_named_instead() -> None:
    shown = UserMessage(
        "look",
        said="look",
        images=("https://cdn.example/a/cat.png?ex=1", "https://cdn.example/", "data:image/png;base64,aaaa"),
    )
    inner = ScriptedModel([TextDelta("I"), ModelRejected("400")], says("a cat"))
    found = await events(RetryingModel(inner), conversation(shown))
    assert found[:2] == [TextDelta("I"), AnswerRestarted()]
    [again] = inner.requests[1].messages
    assert isinstance(again, UserMessage)
    assert again.images == ()
    named = ("cat.png", "unnamed", "image/png")
    assert again.text == "\n".join(["look", *(f"[image that you cannot see: {name}]" for name in named)])


async def test_what_can_be_compacted_by_who_asks_is_given_back_when_it_is_too_long() -> None:
    inner = ScriptedModel([ContextTooLong("long")])
    request = replace(conversation(said("one"), said("two"), said("three")), compactable=True)
    with pytest.raises(ContextTooLong):
        await events(RetryingModel(inner), request)
    assert len(inner.requests) == 1
