"""What goes wrong while an answer is sent: rate limits, errors, closed channels, outages."""

import asyncio
from pathlib import Path

import pytest

from tests.service.live_service import Live, live_service, until
from tests.wire.discord import Channel
from tests.wire.model import Answer, Held, Slow

shared = pytest.mark.asyncio(loop_scope="module")
MESSAGES = "/channels/{}/messages"


@shared
async def test_a_long_rate_limit_is_left_to_the_outbox(scripted: Live) -> None:
    channel = scripted.guild.text_channel("banned")
    scripted.model.script(Answer("later"))
    rule = scripted.server.faults.rate_limit("POST", MESSAGES.format(channel.id), 3, shared=True, times=2)
    await scripted.ask(scripted.ana, channel, "<@bot> hello")
    assert rule.hits == 2
    await said_once(scripted, channel, "later")


@pytest.mark.parametrize("applied", [False, True])
@shared
async def test_a_send_without_an_answer_is_not_repeated_blindly(scripted: Live, applied: bool) -> None:
    channel = scripted.guild.text_channel(f"cut-{applied}")
    scripted.model.script(Answer("once"), Answer("after it"))
    faults, path = scripted.server.faults, MESSAGES.format(channel.id)
    rule = faults.cut_after_applying("POST", path) if applied else faults.cut_before_applying("POST", path)
    await scripted.ask(scripted.ana, channel, "<@bot> hello")
    await scripted.ask(scripted.ana, channel, "<@bot> again")
    assert rule.hits == 1
    assert [message.text for message in channel.from_bot] == ["once", "after it"]


@shared
async def test_a_channel_closed_before_the_answer_is_told_to_the_owner_once_and_to_the_agent(scripted: Live) -> None:
    channel = scripted.guild.text_channel("closing")
    scripted.model.script(Slow(0.7, Answer("the secret of the universe")), Answer("again"))
    await scripted.ana.say(channel, "<@bot> a question")
    await scripted.model.wait_for(1)
    channel.deny(scripted.server.bot, "send_messages")
    notice = await scripted.olga.direct.wait_for_bot(lambda m: "#closing in Home" in m.text)
    assert "was not delivered: the bot has no permission to do that there" in notice.text
    assert "universe" not in notice.text
    channel.allow(scripted.server.bot, "send_messages")
    await scripted.ask(scripted.ana, channel, "<@bot> well?")
    shown = str(scripted.model.requests[1].messages)
    assert "[this answer did not reach them: failed: the bot has no permission" in shown
    assert [message.text for message in channel.from_bot] == ["again"]
    assert len([m for m in scripted.olga.direct.from_bot if "#closing in Home" in m.text]) == 1


@pytest.mark.slow
async def test_answers_wait_in_the_outbox_while_discord_is_down_however_often_they_are_tried(t: Live) -> None:
    cut = asyncio.Event()
    t.model.script(Held(cut.is_set, Answer("for Annie")), Held(cut.is_set, Answer("for Olga")))
    await t.ana.say(t.general, "<@bot> a question")
    await t.model.wait_for(1)
    said = await t.olga.dm("another one")
    await t.model.wait_for(2)
    await down(t)
    cut.set()
    tries: set[tuple[object, ...]] = set()

    def tried_again() -> bool:
        sql = "SELECT content, next_attempt_at FROM outbox WHERE status = 'pending' AND next_attempt_at IS NOT NULL"
        tries.update(t.rows(sql))
        return all(len([each for each in tries if each[0] == said]) > 1 for said in ("for Annie", "for Olga"))

    await until(tried_again, what="two tries of each answer")
    await up(t)
    await t.general.wait_for_bot(lambda m: m.text == "for Annie", timeout=60)
    await t.olga.direct.wait_for_bot(after=said, timeout=60)
    await t.service.stop()
    assert len(t.general.from_bot) == len(t.olga.direct.from_bot) == 1


@pytest.mark.slow
async def test_an_answer_that_was_being_sent_when_discord_went_down_is_said_once(t: Live) -> None:
    t.model.script(Answer("hello again"))
    t.server.faults.hang("POST", MESSAGES.format(t.general.id), applied=True)
    said = await t.ana.say(t.general, "<@bot> hello")
    await t.general.wait_for_bot(after=said)
    await t.service.kill()
    await down(t)
    await t.service.launch()
    await t.service.logged("discord_waiting")
    t.server.faults.clear()
    await up(t)
    await t.service.logged("ready", front_end="discord")
    await until(lambda: t.server.requests_to("POST", MESSAGES.format(t.general.id))[1:], within=60)
    await t.service.stop()
    assert [message.text for message in t.general.from_bot] == ["hello again"]


async def down(t: Live) -> None:
    await t.server.faults.refuse_gateway()
    await t.server.faults.refuse_rest()
    t.server.faults.cut()


async def up(t: Live) -> None:
    await t.server.faults.accept_rest()
    await t.server.faults.accept_gateway()


async def said_once(t: Live, channel: Channel, text: str) -> None:
    """It stands there once, also after the next answer has come through the same way."""
    await t.talk(t.ana, channel, "<@bot> next", "next")
    assert [message.text for message in channel.from_bot] == [text, "next"]


@pytest.mark.parametrize("applied", [False, True])
async def test_an_answer_of_discord_that_nobody_understands_ends_nothing(tmp_path: Path, applied: bool) -> None:
    """`200 {}` to a send makes the library raise KeyError: the row is recovered, and nothing else suffers."""
    async with live_service(tmp_path) as t:
        t.service.expected_errors.add("delivery_broken")
        await t.service.start()
        odd, other = t.guild.text_channel("odd"), t.guild.text_channel("other")
        rule = t.server.faults.answer_oddly("POST", MESSAGES.format(odd.id), applied=applied)
        await t.ask(t.ana, odd, "<@bot> remember that my dentist is on Elm Street")
        assert rule.hits == 1
        assert len(odd.from_bot) == 1, "once, whether or not the first send was applied"
        assert (await t.ask(t.ana, other, "<@bot> hello")).text


async def test_one_that_stays_so_is_given_up_and_the_next_start_goes_on(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        t.service.expected_errors.add("delivery_broken")
        await t.service.start()
        odd, other = t.guild.text_channel("odd"), t.guild.text_channel("other")
        rule = t.server.faults.answer_oddly("POST", MESSAGES.format(odd.id), times=1_000)
        await t.ana.say(odd, "<@bot> hello")
        await until(lambda: rule.hits > 1)
        assert (await t.ask(t.ana, other, "<@bot> hello")).text
        await t.service.kill()  # while it is tried again: the next start takes the row up first
        await t.service.start()
        notice = await t.olga.direct.wait_for_bot(lambda m: "#odd in Home" in m.text)
        assert "KeyError" in notice.text
        assert (await t.ask(t.ana, other, "<@bot> and now?")).text
        await t.service.stop()
        assert odd.from_bot == []
