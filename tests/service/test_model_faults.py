"""A model that goes wrong: what people read then is honest, and the next turn is as any other."""

import json
from pathlib import Path

import pytest

from tests.service.conftest import IMPATIENT
from tests.service.live_service import Live, live_service, one_day
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
APOLOGY = "Sorry, I can only give simple answers at the moment."
UNREACHABLE, FAILING = "model openai:scripted: unreachable since ", "model openai:scripted: failing since "
REFUSED = "My key for the language model `openai:scripted` is refused, so I can only answer from memory"
UNKNOWN = "The language model `openai:scripted` is not known to its provider, so I can only answer from memory"


@pytest.mark.parametrize(
    ("reply", "state"),
    [
        pytest.param(Garbage(), FAILING, id="a web page instead of an answer"),
        pytest.param(Garbage(after_chunks=2), FAILING, id="garbage in the middle"),
        pytest.param(Broken(after_chunks=2), UNREACHABLE, id="the connection dies in the middle"),
        pytest.param(Ended(after_chunks=2), FAILING, id="no proper end"),
        pytest.param(ErrorEvent(after_chunks=1), FAILING, id="an error in the middle"),
        pytest.param(Disconnect(), UNREACHABLE, id="no answer at all"),
        pytest.param(Fail(500), FAILING, id="500"),
        pytest.param(Hang(), UNREACHABLE, id="never answers"),
        pytest.param(Hang(after_chunks=2), UNREACHABLE, id="stops in the middle"),
    ],
)
@shared
async def test_a_model_that_fails_twice_is_replaced_by_memory_and_says_so(
    impatient: Live, reply: Reply, state: str
) -> None:
    channel = impatient.guild.text_channel("failing")
    impatient.model.script(reply, reply)
    asked = await impatient.ana.say(channel, "<@bot> what is the capital of Peru?")
    answer = await channel.wait_for_bot(lambda m: APOLOGY in m.text, after=asked)  # what came may be shown before that
    assert "one two" not in answer.text
    assert "openai" not in answer.text, "only the owner alone reads of models"
    assert channel.from_bot == [answer]
    assert len(impatient.model.requests) == 2
    assert state in await status(impatient)
    await recovers(impatient, channel)


@pytest.mark.parametrize("reply", [Fail(429, retry_after=0.2), Fail(503), Broken(after_chunks=2), Garbage()])
@shared
async def test_a_model_that_fails_once_is_asked_again(impatient: Live, reply: Reply) -> None:
    channel = impatient.guild.text_channel("stumbling")
    impatient.model.script(reply, Answer("Lima"))
    answer = await impatient.ask(impatient.ana, channel, "<@bot> what is the capital of Peru?")
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
async def test_a_wrong_call_is_explained_to_the_model_which_may_go_on(impatient: Live, call: Call, said: str) -> None:
    channel = impatient.guild.text_channel("wrong-calls")
    impatient.model.script(Calls(call), Answer("done without it"))
    answer = await impatient.ask(impatient.ana, channel, "<@bot> do it")
    assert answer.text == "done without it"
    assert [result for result in impatient.model.requests[1].results if said in result]


@shared
async def test_several_calls_at_once_right_and_wrong_all_get_a_result(impatient: Live) -> None:
    channel = impatient.guild.text_channel("many-calls")
    good = Call("recall", {"operation": "insert", "content": "Annie has a canoe"})
    impatient.model.script(Calls(good, Call("nonsense"), Call("search", {"query": "canoe"})), Answer("noted"))
    await impatient.ask(impatient.ana, channel, "<@bot> I have a canoe")
    first, second, third = impatient.model.requests[1].results
    assert "There is no tool 'nonsense'" in second
    assert "wrong" not in first
    assert "canoe" in third


@shared
async def test_a_model_that_loops_on_tools_ends_at_the_step_cap(impatient: Live) -> None:
    channel = impatient.guild.text_channel("looping")
    impatient.model.default = lambda _: Calls(Call("search", {"query": "again"}))
    answer = await impatient.ask(impatient.ana, channel, "<@bot> find it")
    assert "I stopped after 4 steps without coming to an answer" in answer.text
    assert len(impatient.model.requests) == 4
    assert impatient.model.requests[2].tools
    assert impatient.model.requests[3].tools == []
    assert "last step" in text_of(impatient.model.requests[3].messages[-1])
    impatient.model.default = lambda _: Answer("free again")
    assert (await impatient.ask(impatient.ana, channel, "<@bot> and now?")).text == "free again"


@shared
async def test_a_conversation_that_is_too_long_is_asked_again_shorter(impatient: Live) -> None:
    channel = impatient.guild.text_channel("overflow")
    impatient.model.script(*(Answer(f"answer {n}") for n in range(4)))
    for number in range(4):
        await impatient.ask(impatient.ana, channel, f"<@bot> question {number} " + "blah " * 200)
    impatient.model.script(CONTEXT_OVERFLOW, Answer("short enough"))
    assert (await impatient.ask(impatient.ana, channel, "<@bot> the last question")).text == "short enough"
    long, short = impatient.model.requests[-2:]
    assert len(json.dumps(short.messages)) < len(json.dumps(long.messages)) * 0.8
    assert "the last question" in short.last_user


@shared
async def test_a_conversation_that_is_never_short_enough_is_answered_from_memory(impatient: Live) -> None:
    channel = impatient.guild.text_channel("always-overflow")
    impatient.model.default = lambda _: CONTEXT_OVERFLOW
    answer = await impatient.ask(impatient.ana, channel, "<@bot> what is the capital of Peru?")
    assert APOLOGY in answer.text
    assert len(impatient.model.requests) <= 2
    await recovers(impatient, channel)


@shared
async def test_a_key_in_the_models_answer_is_not_said(impatient: Live) -> None:
    channel = impatient.guild.text_channel("keys")
    impatient.model.script(Answer(f"my key is {impatient.model.api_key}, my token {impatient.server.token}"))
    answer = await impatient.ask(impatient.ana, channel, "<@bot> tell me your key")
    assert impatient.model.api_key not in answer.text
    assert impatient.server.token not in answer.text


async def test_a_refused_key_is_told_answered_from_memory_and_not_tried_with_every_message(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.configure(toml=IMPATIENT)
        t.model.default = lambda _: UNAUTHORIZED
        await t.service.start()
        await one_day()
        stored = await t.ask(t.ana, t.general, "<@bot> remember that my dentist is on Elm Street")
        assert "Elm Street" in stored.text
        found = await t.ask(t.ana, t.general, "<@bot> where is my dentist?")
        assert "Elm Street" in found.text
        unknown = await t.ask(t.olga, t.general, "<@bot> what is the capital of Peru?")
        assert APOLOGY in unknown.text
        assert not any(REFUSED in each.text for each in (stored, found, unknown)), (
            "others hear what the owner says there"
        )
        alone = await t.ask(t.olga, t.olga.direct, "what is the capital of Peru?")
        assert REFUSED in alone.text
        assert REFUSED not in (await t.ask(t.olga, t.olga.direct, "and of Chile?")).text, "once a day is enough"
        assert len(t.model.requests) == 1
        shown = await status(t)
        assert "model openai:scripted: refused since " in shown
        assert "(HTTP 401 invalid_api_key). Set OPENAI_API_KEY to a key" in shown
        assert " It is not asked again for" in shown
        code, out, _error = await t.service.run("status")
        assert code == 0
        assert "model openai:scripted: refused since " in out
        code, out, _error = await t.service.run("status", "--json")
        (model,) = json.loads(out)["models"]
        assert (code, model["model"], model["state"]) == (0, "openai:scripted", "refused")
        await t.service.stop()
        assert t.model.api_key not in t.service.text + shown + out


async def test_a_model_that_the_provider_does_not_have_is_told(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.configure(toml=IMPATIENT)
        t.model.default = lambda _: Fail(404, message="there is no such model", code="model_not_found")
        await t.service.start()
        assert UNKNOWN in (await t.ask(t.olga, t.olga.direct, "what is the capital of Peru?")).text
        assert "is not there (HTTP 404 model_not_found): there is no such model" in await status(t)
        await t.service.stop()


async def test_a_model_server_that_is_not_there_is_no_reason_to_be_silent(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.configure(toml=IMPATIENT)
        t.service.environment["OPENAI_BASE_URL"] = "http://127.0.0.1:1/v1"
        await t.service.start()
        answer = await t.ask(t.olga, t.olga.direct, "what is the capital of Peru?")
        assert DOWN in answer.text
        assert UNREACHABLE in await status(t)
        await t.service.stop()


async def status(t: Live) -> str:
    """What the owner is shown, as Discord shows it."""
    return (await t.olga.command("admin status")).text.replace("\\", "")


async def recovers(t: Live, channel: Channel) -> None:
    """The next question is answered by the model again."""
    t.model.default = lambda _: Answer("back again")
    assert (await t.ask(t.ana, channel, "<@bot> and now?")).text == "back again"
