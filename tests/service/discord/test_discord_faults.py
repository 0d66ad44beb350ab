"""What goes wrong between the program and Discord's gateway."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from tests.service.live_service import Live, live_service, started, until
from tests.wire import PATIENCE
from tests.wire.discord.gateway import Handshake
from tests.wire.model import Answer, Held


async def test_a_wrong_token_is_said_clearly_and_the_exit_code_is_2(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        t.service.environment["DISCORD_TOKEN"] = wrong = t.server.token[:-6] + "wrong0"
        await t.service.launch()
        assert await t.service.ended() == 2
        refused(t, "Discord refused the token (DISCORD_TOKEN)")
        assert wrong not in t.service.text


def refused(t: Live, why: str) -> None:
    """Every line is an event; one says why, the last that it is over."""
    assert len(t.service.events) == len(t.service.lines)
    (reason,) = t.service.logged_events("startup_failed")
    assert (reason["exit_code"], why in reason["reason"]) == (2, True)
    last = t.service.events[-1]
    assert (last["event"], last["exit_code"]) == ("stopped", 2)
    t.service.expected_errors.add("startup_failed")


async def test_a_missing_intent_is_named_and_mentions_and_dms_still_work(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        t.server.settings.granted_privileged = {"members"}
        await t.service.start()
        assert (await t.service.logged("discord_missing_intent"))["missing"] == ["message_content"]
        await t.ask(t.ana, t.general, "<@bot> remember that my dentist is on Elm Street")
        assert "Elm Street" in (await t.ask(t.ana, t.general, "<@bot> where is my dentist?")).text
        assert (await t.ask(t.ana, t.ana.direct, "hello")).text
        told = (await t.olga.command("admin status")).text.replace("\\", "")
        assert "without message_content, which can be turned on in Discord's developer portal, under Bot" in told


async def test_without_the_members_intent_commands_in_direct_messages_work_too(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        t.server.settings.granted_privileged = {"message_content"}
        await t.service.start()
        assert (await t.service.logged("discord_missing_intent"))["missing"] == ["members"]
        kept = await t.ana.command("facts add", {"fact": "I like zebras"}, t.ana.direct)
        assert "zebras" in kept.text
        await t.ana.command("chat agent", {"name": "Carina", "text": "what do I like?"}, t.ana.direct)
        await t.ana.direct.wait_for_bot(lambda answer: "zebras" in answer.text)


@pytest.mark.parametrize("fault", ["close 4000", "op 9", "tcp cut", "op 7, not resumable"])
@pytest.mark.asyncio(loop_scope="module")
async def test_nothing_is_lost_or_said_twice_when_the_gateway_breaks(offline_service: Live, fault: str) -> None:
    t, gateway = offline_service, offline_service.server.gateway
    channel = t.guild.text_channel("breaking")
    await t.ask(t.ana, channel, "<@bot> remember that my dentist is on Elm Street")
    sessions = gateway.identifies + gateway.resumes
    break_gateway(t, fault)
    missed = await t.ana.say(channel, "<@bot> where is my dentist?")
    answer = await channel.wait_for_bot(after=missed)
    assert "Elm Street" in answer.text
    await until(lambda: gateway.identifies + gateway.resumes > sessions)
    last = await t.ask(t.ana, channel, "<@bot> where is my dentist?")
    assert [message.id for message in channel.from_bot if message.id > missed.id] == [answer.id, last.id]
    t.server.faults.keep_sessions()


def break_gateway(t: Live, fault: str) -> None:
    faults = t.server.faults
    match fault.split(" "):
        case ["close", code]:
            faults.close(int(code))
        case ["op", "7,", *_]:
            faults.forget_sessions()
            faults.reconnect()
        case ["op", "9"]:
            faults.invalidate()
        case _:
            faults.cut()


async def discord_line(t: Live) -> str:
    return next(line for line in (await t.service.said("status")).splitlines() if line.startswith("Discord"))


SILENT_SECONDS = 60.0  # the product gives a handshake half of it


@pytest.mark.parametrize("how", ["refused", "502", "silent"])
async def test_a_first_connection_that_fails_is_tried_until_it_stands(tmp_path: Path, how: str) -> None:
    async with live_service(tmp_path) as t:
        gateway, ready = t.server.gateway, {"terminal": True, "api": True}
        if how == "refused":
            await t.server.faults.refuse_gateway()
        else:
            t.server.faults.meet(cast("Handshake", how))
        await t.service.launch()
        waiting = await t.service.logged("discord_waiting", within=SILENT_SECONDS)
        assert {"reason", "until", "seconds"} <= waiting.keys()
        if how not in ("silent", "refused"):
            seen = gateway.handshakes
            await t.server.until(lambda: gateway.handshakes >= seen + 2, PATIENCE, "two more tries")
        assert f"not connected: {waiting['reason']}" in await discord_line(t)
        assert (await t.service.data("status"))["ready"] == ready | {"discord": False}
        await t.server.faults.accept_gateway()
        t.server.faults.meet("good")
        await t.service.logged("ready", front_end="discord", within=SILENT_SECONDS)
        assert (await t.service.data("status"))["ready"] == ready | {"discord": True}
        assert (await t.ask(t.ana, t.general, "<@bot> hello")).text
        once = [len(t.service.logged_events(f"discord_{state}")) for state in ("connecting", "waiting", "connected")]
        assert once == [1, 1, 1]


async def test_why_a_connection_was_interrupted_is_logged(tmp_path: Path) -> None:
    async with started(tmp_path, scripted=False) as t:
        said = await t.ana.say(t.general, "<@bot> hello")  # once it answers, the library has asked for the members, too
        await t.general.wait_for_bot(after=said)
        t.server.faults.close(4000)
        assert "code 4000" in (await t.service.logged("discord_interrupted"))["reason"]
        await t.service.logged("discord_connected", count=2)


async def test_no_session_is_started_beyond_discords_allowance_of_a_day(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        t.server.settings.starts_left, t.server.settings.starts_reset = 2, 6.0
        await t.service.launch()
        waiting = await t.service.logged("discord_waiting")
        assert "1000 connections a day" in waiting["reason"]
        assert waiting["seconds"] == 6.0
        assert t.server.gateway.handshakes == 0
        t.server.settings.starts_left = 1000
        await t.service.logged("ready", front_end="discord")


async def test_it_stops_in_order_while_discord_is_down(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        down = asyncio.Event()
        t.model.script(Held(down.is_set, Answer("an answer")))
        await t.service.start()
        said = await t.ana.say(t.general, "<@bot> a question")
        await t.model.wait_for(1)
        await t.server.faults.refuse_gateway()
        await t.server.faults.refuse_rest()
        t.server.faults.cut()
        down.set()
        await until(lambda: t.rows("SELECT 1 FROM outbox WHERE content = 'an answer'"), what="the answer, unsent")
        await t.service.stop()
        await t.server.faults.accept_rest()
        await t.server.faults.accept_gateway()
        await t.service.start()
        await t.general.wait_for_bot(lambda m: m.text == "an answer", after=said)
        assert len(t.general.from_bot) == 1
