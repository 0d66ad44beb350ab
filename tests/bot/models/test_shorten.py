"""A request that is too long, or whose images are not taken, is sent once more without them."""

from collections.abc import Sequence

import pytest

from bot.models.base import (
    AnswerRestarted,
    AssistantMessage,
    Call,
    ContextTooLong,
    Message,
    ModelRejected,
    Request,
    TextDelta,
    ToolMessage,
    UserMessage,
)
from bot.models.chain import RetryingModel, without_older_half
from memory.store.records import replace
from tests.bot.models.scripted import ScriptedModel, events, last, says


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
