"""A model that goes wrong or repeats its prompt: what people read is honest, and the next turn is as any other."""

from pathlib import Path

import pytest

from tests.service.conftest import IMPATIENT
from tests.service.live_service import Live, live_service, one_day, started
from tests.wire.discord import Channel
from tests.wire.model import UNAUTHORIZED, Answer, Disconnect, Garbage, Hang, Reply, Request

shared = pytest.mark.asyncio(loop_scope="module")

DOWN = "The language model `openai:scripted` can't be reached at the moment, so I can only answer from memory"
APOLOGY = "Sorry, I can only give simple answers at the moment."
UNREACHABLE, FAILING = "Model openai:scripted: unreachable since ", "Model openai:scripted: failing since "
REFUSED = "My key for the language model `openai:scripted` was refused, so I can only answer from memory"


@pytest.mark.parametrize(
    ("reply", "times", "state"),
    [
        pytest.param(Garbage(after_chunks=2), 2, FAILING, id="garbage in the middle"),
        pytest.param(Disconnect(), 3, UNREACHABLE, id="no answer at all"),  # first on a connection that was kept
        pytest.param(Hang(after_chunks=2), 2, UNREACHABLE, id="stops in the middle"),
    ],
)
@shared
async def test_a_model_that_fails_twice_is_replaced_by_memory_and_says_so(
    impatient: Live, reply: Reply, times: int, state: str
) -> None:
    channel = impatient.guild.text_channel("failing")
    await recovers(impatient, channel)
    before, shown = len(impatient.model.requests), len(channel.from_bot)
    impatient.model.script(*[reply] * times)
    asked = await impatient.ana.say(channel, "<@bot> what is the capital of Peru?")
    answer = await channel.wait_for_bot(lambda m: APOLOGY in m.text, after=asked)  # what came may be shown before that
    assert "one two" not in answer.text
    assert "openai" not in answer.text, "only the owner alone reads of models"
    assert channel.from_bot[shown:] == [answer]
    assert len(impatient.model.requests) == before + times
    assert state in await status(impatient)
    await recovers(impatient, channel)


async def test_a_refused_key_is_told_answered_from_memory_and_not_tried_with_every_message(tmp_path: Path) -> None:
    async with started(tmp_path, toml=IMPATIENT) as t:
        t.model.default = lambda _: UNAUTHORIZED
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
        assert "Model openai:scripted: refused since " in shown
        assert "(HTTP 401 invalid_api_key). Set OPENAI_API_KEY to a key" in shown
        assert " The next attempt is in" in shown
        out = await t.service.said("status")
        assert "Model openai:scripted: refused since " in out
        (model,) = (await t.service.data("status"))["models"]
        assert (model["model"], model["state"]) == ("openai:scripted", "refused")
        await t.service.stop()
        assert t.model.api_key not in t.service.text + shown + out


async def test_a_model_server_that_is_not_there_is_no_reason_to_be_silent(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.configure(toml=IMPATIENT)
        t.service.environment["OPENAI_BASE_URL"] = "http://127.0.0.1:1/v1"
        await t.service.start()
        answer = await t.ask(t.olga, t.olga.direct, "what is the capital of Peru?")
        assert DOWN in answer.text
        assert UNREACHABLE in await status(t)


async def status(t: Live) -> str:
    """What the owner is shown, as Discord shows it."""
    return (await t.olga.command("admin status")).text.replace("\\", "")


async def recovers(t: Live, channel: Channel) -> None:
    """The next question is answered by the model."""
    t.model.default = lambda _: Answer("back again")
    assert (await t.ask(t.ana, channel, "<@bot> and now?")).text == "back again"


HEARD = "[now in general; your answer is heard by: this server]"
MEMORY = '<block:human permission="read_write" readers="this server">\nTea, not coffee.\n</block:human>'


def repeated(request: Request) -> str:
    """The prompt's last message down to the line that says who speaks."""
    head, _, _ = request.last_user.rpartition("\n")
    return head


@pytest.mark.asyncio(loop_scope="module")
async def test_on_discord_no_line_of_the_prompt_is_seen_not_even_while_it_is_written(scripted: Live) -> None:
    channel = scripted.guild.text_channel("general-echo")
    scripted.model.default = lambda request: Answer(
        f"{MEMORY}\n{repeated(request)}\nHello Annie.\n{HEARD}", chunks=60, pace=0.1
    )
    said = await scripted.ana.say(channel, "<@bot> hello")
    await channel.wait_for_bot(lambda message: message.text == "Hello Annie.", after=said)
    shown = "\n".join(each.content for each in channel.log if each.from_bot)
    assert channel.log
    assert not [mark for mark in ("heard by", "UTC", "[now", "block:", "Tea") if mark in shown]
