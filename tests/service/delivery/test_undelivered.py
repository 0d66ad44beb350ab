"""What Discord refused for good, sent again by command: once, over a restart and a kill; and what was given up."""

from pathlib import Path

import pytest

from bot.runtime.turn_retries import GIVEN_UP
from tests.kill.lives import changed
from tests.service.live_service import NO_MERGING, Live, live_service
from tests.wire.discord import GuildChannel
from tests.wire.model import Answer, Slow

LONG = "\n".join(f"Line {number} of what there is to say about the bicycle." for number in range(100))
"""Three messages."""


async def given_up(t: Live, channel: GuildChannel) -> str:
    """Have a long answer refused; gives its number."""
    t.model.script(Slow(0.5, Answer(LONG)))
    await t.ana.say(channel, "<@bot> tell me all")
    await t.model.wait_for(1)
    channel.deny(t.server.bot, "send_messages")
    notice = await t.olga.direct.wait_for_bot(lambda m: "was not delivered" in m.text)
    assert f"An answer in #{channel.name} in Home was not delivered" in notice.text
    assert channel.from_bot == []
    channel.allow(t.server.bot, "send_messages")
    (row,) = await t.service.data("outbox", "list")
    assert (row["status"], row["what"], row["pieces"]) == ("failed", "answer", 3)
    return str(row["id"])


async def said_once(t: Live, channel: GuildChannel) -> None:
    await channel.wait_for_bot(lambda m: m.text.endswith(LONG.splitlines()[-1]))
    assert "\n".join(message.text for message in channel.from_bot) == LONG


@pytest.mark.parametrize("side", ["before", "after"])
async def test_killed_at_its_write_it_is_sent_once_or_can_be_asked_for_again(t: Live, side: str) -> None:
    channel = t.guild.text_channel("closing")
    row = await given_up(t, channel)
    await t.service.stop()
    t.service.environment["CARINA_FAULT"] = f"command.write:{side}"
    code, _out, _error = await t.service.run("outbox", "retry", row)
    assert code < 0
    del t.service.environment["CARINA_FAULT"]
    if side == "before":
        out = await t.service.said("outbox", "retry", row)
        assert "Will be sent again, now or when the service next starts: " in out
    assert f"There is no undelivered message “{row}”." in await t.service.refused("outbox", "retry", row)
    await t.service.start()
    await said_once(t, channel)


async def test_killed_while_it_is_sent_again_it_is_said_once(t: Live) -> None:
    channel = t.guild.text_channel("closing")
    row = await given_up(t, channel)
    async with t.service.dying("discord.send:after:2"):
        await t.service.run("outbox", "retry", row)  # which may not be answered before the death
    await t.service.start()
    await said_once(t, channel)


async def test_a_message_that_was_given_up_is_answered_at_the_press_of_a_button_after_a_restart(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.configure(NO_MERGING, "[limits]\nattempts = 1")
        usual = t.service.environment
        t.service.environment = changed(usual, tmp_path / "trace", KILL_TEST_STUMBLE="1")
        t.service.expected_errors.add("turn_failed")
        t.model.default = lambda _: Answer("It is noon.")
        await t.service.start()
        said = await t.ask(t.ana, t.general, "<@bot> what time is it?")
        assert said.text == GIVEN_UP
        assert [button["label"] for button in said.buttons] == ["Try again"]
        told = await t.olga.direct.wait_for_bot(lambda m: "I couldn't answer a message" in m.text)
        assert [button["label"] for button in told.buttons] == ["Try again"]

        await t.service.kill()
        t.service.environment = usual
        await t.service.start()
        bob = t.member("Bob")
        assert "You have no failed messages to retry" in (await bob.press(said, "Try again")).text
        assert t.model.requests == []
        assert (await t.ana.press(said, "Try again")).text == "I'm trying again now."
        await t.general.wait_for_bot(lambda m: m.text == "It is noon.", after=said)
        await t.server.until(lambda: said.buttons == told.buttons == [], what="nothing to be pressed any more")
