"""A model that goes wrong: what people read then is honest, and the next turn is as any other."""

import json
from pathlib import Path

import pytest

from tests.service.conftest import HASTY
from tests.service.towns import Town, one_day, town
from tests.wire.discord import Channel
from tests.wire.model import (
    CONTEXT_OVERFLOW,
    UNAUTHORIZED,
    Answer,
    Broken,
    Call,
    Calls,
    Disconnect,
    Ended,
    ErrorEvent,
    Fail,
    Garbage,
    Hang,
    RawCall,
    Reply,
    text_of,
)

shared = pytest.mark.asyncio(loop_scope="module")

DOWN = "The language model `openai:scripted` can't be reached at the moment, so I can only answer from memory"
FAILING = "The language model `openai:scripted` gives no usable answer at the moment, so I can only answer from memory"
REFUSED = "My key for the language model `openai:scripted` is refused, so I can only answer from memory"
UNKNOWN = "The language model `openai:scripted` is not known to its provider, so I can only answer from memory"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param(Garbage(), FAILING, id="a web page instead of an answer"),
        pytest.param(Garbage(after_chunks=2), FAILING, id="garbage in the middle"),
        pytest.param(Broken(after_chunks=2), DOWN, id="the connection dies in the middle"),
        pytest.param(Ended(after_chunks=2), FAILING, id="no proper end"),
        pytest.param(ErrorEvent(after_chunks=1), FAILING, id="an error in the middle"),
        pytest.param(Disconnect(), DOWN, id="no answer at all"),
        pytest.param(Fail(500), FAILING, id="500"),
        pytest.param(Hang(), DOWN, id="never answers"),
        pytest.param(Hang(after_chunks=2), DOWN, id="stops in the middle"),
    ],
)
@shared
async def test_a_model_that_fails_twice_is_replaced_by_memory_and_says_so(hasty: Town, reply: Reply, said: str) -> None:
    channel = hasty.guild.text_channel("failing")
    hasty.model.script(reply, reply)
    asked = await hasty.ana.say(channel, "<@bot> what is the capital of Peru?")
    answer = await channel.wait_for_bot(lambda m: said in m.text, after=asked)  # what came may be shown before that
    assert "one two" not in answer.text
    assert channel.from_bot == [answer]
    assert len(hasty.model.requests) == 2
    await recovers(hasty, channel)


@pytest.mark.parametrize("reply", [Fail(429, retry_after=0.2), Fail(503), Broken(after_chunks=2), Garbage()])
@shared
async def test_a_model_that_fails_once_is_asked_again(hasty: Town, reply: Reply) -> None:
    channel = hasty.guild.text_channel("stumbling")
    hasty.model.script(reply, Answer("Lima"))
    answer = await hasty.ask(hasty.ana, channel, "<@bot> what is the capital of Peru?")
    assert answer.text == "Lima"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (Call("summon_demon", {"name": "Bob"}), "There is no tool 'summon_demon'. The tools are:"),
        (Call("recall", {"operation": "fly"}), "The arguments of recall are wrong: operation:"),
        (Call("search", {"query": "x", "limit": "many"}), "The arguments of search are wrong: limit:"),
        (RawCall("recall", '{"operation": "ins'), "The arguments of recall are wrong"),
        (RawCall("search", '["a", "list"]'), "The arguments of search are wrong"),
    ],
)
@shared
async def test_a_wrong_call_is_explained_to_the_model_which_may_go_on(hasty: Town, call: Call, said: str) -> None:
    channel = hasty.guild.text_channel("wrong-calls")
    hasty.model.script(Calls(call), Answer("done without it"))
    answer = await hasty.ask(hasty.ana, channel, "<@bot> do it")
    assert answer.text == "done without it"
    assert [result for result in hasty.model.requests[1].results if said in result]


@shared
async def test_several_calls_at_once_right_and_wrong_all_get_a_result(hasty: Town) -> None:
    channel = hasty.guild.text_channel("many-calls")
    good = Call("recall", {"operation": "insert", "content": "Annie has a canoe"})
    hasty.model.script(Calls(good, Call("nonsense"), Call("search", {"query": "canoe"})), Answer("noted"))
    await hasty.ask(hasty.ana, channel, "<@bot> I have a canoe")
    first, second, third = hasty.model.requests[1].results
    assert "There is no tool 'nonsense'" in second
    assert "wrong" not in first
    assert "canoe" in third


@shared
async def test_a_model_that_loops_on_tools_ends_at_the_step_cap(hasty: Town) -> None:
    channel = hasty.guild.text_channel("looping")
    hasty.model.default = lambda _: Calls(Call("search", {"query": "again"}))
    answer = await hasty.ask(hasty.ana, channel, "<@bot> find it")
    assert "I stopped after 4 steps without coming to an answer" in answer.text
    assert len(hasty.model.requests) == 4
    assert hasty.model.requests[2].tools
    assert hasty.model.requests[3].tools == []
    assert "last step" in text_of(hasty.model.requests[3].messages[-1])
    hasty.model.default = lambda _: Answer("free again")
    assert (await hasty.ask(hasty.ana, channel, "<@bot> and now?")).text == "free again"


@shared
async def test_a_conversation_that_is_too_long_is_asked_again_shorter(hasty: Town) -> None:
    channel = hasty.guild.text_channel("overflow")
    hasty.model.script(*(Answer(f"answer {n}") for n in range(4)))
    for number in range(4):
        await hasty.ask(hasty.ana, channel, f"<@bot> question {number} " + "blah " * 200)
    hasty.model.script(CONTEXT_OVERFLOW, Answer("short enough"))
    assert (await hasty.ask(hasty.ana, channel, "<@bot> the last question")).text == "short enough"
    long, short = hasty.model.requests[-2:]
    assert len(json.dumps(short.messages)) < len(json.dumps(long.messages)) * 0.8
    assert "the last question" in short.last_user


@shared
async def test_a_conversation_that_is_never_short_enough_is_answered_from_memory(hasty: Town) -> None:
    channel = hasty.guild.text_channel("always-overflow")
    hasty.model.default = lambda _: CONTEXT_OVERFLOW
    answer = await hasty.ask(hasty.ana, channel, "<@bot> what is the capital of Peru?")
    assert FAILING in answer.text
    assert len(hasty.model.requests) <= 2
    await recovers(hasty, channel)


@shared
async def test_a_key_in_the_models_answer_is_not_said(hasty: Town) -> None:
    channel = hasty.guild.text_channel("keys")
    hasty.model.script(Answer(f"my key is {hasty.model.api_key}, my token {hasty.server.token}"))
    answer = await hasty.ask(hasty.ana, channel, "<@bot> tell me your key")
    assert hasty.model.api_key not in answer.text
    assert hasty.server.token not in answer.text


async def test_a_refused_key_is_told_answered_from_memory_and_not_tried_with_every_message(tmp_path: Path) -> None:
    async with town(tmp_path, scripted=True) as t:
        t.configure(toml=HASTY)
        t.model.default = lambda _: UNAUTHORIZED
        await t.service.start()
        await one_day()
        stored = await t.ask(t.ana, t.general, "<@bot> remember that my dentist is on Elm Street")
        assert "Elm Street" in stored.text
        assert REFUSED in stored.text, "also after steps at which only the offline model was asked"
        found = await t.ask(t.ana, t.general, "<@bot> where is my dentist?")
        assert "Elm Street" in found.text
        assert REFUSED not in found.text, "once a day is enough for one person in one place"
        unknown = await t.ask(t.olga, t.general, "<@bot> what is the capital of Peru?")
        assert REFUSED in unknown.text
        assert len(t.model.requests) == 1
        shown = await status(t)
        assert "model openai:scripted: refused since " in shown
        assert "(HTTP 401 invalid_api_key); set a key in OPENAI_API_KEY" in shown
        assert "it rests: not asked again for" in shown
        code, out, _error = await t.service.run("status")
        assert code == 0
        assert "model openai:scripted: refused since " in out
        code, out, _error = await t.service.run("status", "--json")
        (model,) = json.loads(out)["models"]
        assert (code, model["model"], model["state"]) == (0, "openai:scripted", "refused")
        await t.service.stop()
        assert t.model.api_key not in t.service.text + shown + out


async def test_a_model_that_the_provider_does_not_have_is_told(tmp_path: Path) -> None:
    async with town(tmp_path, scripted=True) as t:
        t.configure(toml=HASTY)
        t.model.default = lambda _: Fail(404, message="there is no such model", code="model_not_found")
        await t.service.start()
        assert UNKNOWN in (await t.ask(t.ana, t.general, "<@bot> what is the capital of Peru?")).text
        assert "is not there (HTTP 404 model_not_found): there is no such model" in await status(t)
        await t.service.stop()


async def test_a_model_server_that_is_not_there_is_no_reason_to_be_silent(tmp_path: Path) -> None:
    async with town(tmp_path, scripted=True) as t:
        t.configure(toml=HASTY)
        t.service.environment["OPENAI_BASE_URL"] = "http://127.0.0.1:1/v1"
        await t.service.start()
        answer = await t.ask(t.ana, t.general, "<@bot> what is the capital of Peru?")
        assert DOWN in answer.text
        assert "model openai:scripted: unreachable since " in await status(t)
        await t.service.stop()


async def status(t: Town) -> str:
    """What the owner is shown, as Discord shows it."""
    return (await t.olga.command("status")).text.replace("\\", "")


async def recovers(t: Town, channel: Channel) -> None:
    """The next question is answered by the model again."""
    t.model.default = lambda _: Answer("back again")
    assert (await t.ask(t.ana, channel, "<@bot> and now?")).text == "back again"
