"""What goes wrong between the program and Discord's gateway."""

import asyncio
from pathlib import Path

import pytest

from tests.service.asking import rows
from tests.service.towns import Town, town, until
from tests.wire.discord.world import Privileged
from tests.wire.model import Answer, Held


async def test_a_wrong_token_is_said_clearly_and_the_exit_code_is_2(tmp_path: Path) -> None:
    async with town(tmp_path) as t:
        t.service.environment["DISCORD_TOKEN"] = wrong = t.server.token[:-6] + "wrong0"
        await t.service.launch()
        assert await t.service.ended() == 2
        refused(t, "Discord refuses the token (DISCORD_TOKEN)")
        assert wrong not in t.service.text


def refused(t: Town, why: str) -> None:
    """Every line is an event; one says why, the last that it is over."""
    assert len(t.service.events) == len(t.service.lines)
    (reason,) = t.service.logged_events("cannot_go_on")
    assert (reason["exit_code"], why in reason["reason"]) == (2, True)
    last = t.service.events[-1]
    assert (last["event"], last["exit_code"]) == ("stopped", 2)
    t.service.expected_errors.add("cannot_go_on")


@pytest.mark.parametrize(("missing", "left"), [("message_content", {"members"}), ("members", {"message_content"})])
async def test_a_missing_intent_is_named_and_mentions_and_dms_still_work(
    tmp_path: Path, missing: str, left: set[Privileged]
) -> None:
    async with town(tmp_path) as t:
        t.server.granted_privileged = left
        await t.service.start()
        assert (await t.service.logged("discord_missing_intent"))["missing"] == [missing]
        await t.ask(t.ana, t.general, "<@bot> remember that my dentist is on Elm Street")
        assert "Elm Street" in (await t.ask(t.ana, t.general, "<@bot> where is my dentist?")).text
        assert (await t.ask(t.ana, t.ana.direct, "hello")).text
        told = (await t.olga.command("status")).text.replace("\\", "")
        assert f"without {missing} (Discord's developer portal grants that under Bot)" in told
        await t.service.stop()


async def test_all_privileged_intents_missing_is_survived_as_well(tmp_path: Path) -> None:
    async with town(tmp_path) as t:
        t.server.granted_privileged = set()
        await t.service.start()
        assert (await t.service.logged("discord_missing_intent"))["missing"] == ["members", "message_content"]
        assert (await t.ask(t.ana, t.general, "<@bot> hello")).text
        assert (await t.ask(t.olga, t.olga.direct, "hello")).text
        await t.service.stop()


@pytest.mark.parametrize(
    "fault", ["close 4000", "op 7", "op 9", "op 9 resumable", "tcp cut", "op 7, not resumable", "close 1001"]
)
@pytest.mark.asyncio(loop_scope="module")
async def test_nothing_is_lost_or_said_twice_when_the_gateway_breaks(offline_town: Town, fault: str) -> None:
    t, gateway = offline_town, offline_town.server.gateway
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


def break_gateway(t: Town, fault: str) -> None:
    faults = t.server.faults
    match fault.split(" "):
        case ["close", code]:
            faults.close(int(code))
        case ["op", "7"]:
            faults.reconnect()
        case ["op", "7,", *_]:
            faults.forget_sessions()
            faults.reconnect()
        case ["op", "9", *resumable]:
            faults.invalidate(resumable=bool(resumable))
        case _:
            faults.cut()


async def test_a_token_that_is_reset_while_it_runs_ends_it_with_2(tmp_path: Path) -> None:
    async with town(tmp_path) as t:
        await t.service.start()
        t.server.faults.close(4004)
        assert await t.service.ended() == 2
        refused(t, "Discord refuses the token (DISCORD_TOKEN)")


async def test_an_intent_that_is_taken_away_while_it_runs_is_left_out(tmp_path: Path) -> None:
    async with town(tmp_path) as t:
        await t.service.start()
        t.server.granted_privileged = {"members"}
        t.server.faults.close(4014)
        assert (await t.service.logged("discord_missing_intent"))["missing"] == ["message_content"]
        await t.service.logged("discord_connected", count=2)
        assert (await t.ask(t.ana, t.general, "<@bot> hello")).text
        await t.service.stop()


async def test_a_gateway_that_refuses_for_good_ends_it_with_2(tmp_path: Path) -> None:
    async with town(tmp_path) as t:
        await t.service.start()
        t.server.faults.close(4013)
        assert await t.service.ended() == 2
        refused(t, "close code 4013")


async def test_it_waits_for_a_discord_that_is_down_at_its_start(tmp_path: Path) -> None:
    async with town(tmp_path) as t:
        await t.server.faults.refuse_rest()
        await t.service.launch()
        reason = (await t.service.logged("discord_unreachable"))["reason"]
        assert f"discord: not connected: {reason}; it is tried again" in (await t.service.run("status"))[1]
        await t.server.faults.accept_rest()
        await t.service.logged("ready", front_end="discord")
        assert "discord: connected as carina" in (await t.service.run("status"))[1]
        assert (await t.ask(t.ana, t.general, "<@bot> hello")).text
        await t.service.stop()


async def test_it_stops_in_order_while_discord_is_down(tmp_path: Path) -> None:
    async with town(tmp_path, scripted=True) as t:
        down = asyncio.Event()
        t.model.script(Held(down.is_set, Answer("an answer")))
        await t.service.start()
        said = await t.ana.say(t.general, "<@bot> a question")
        await t.model.wait_for(1)
        await t.server.faults.refuse_gateway()
        await t.server.faults.refuse_rest()
        t.server.faults.cut()
        down.set()
        await until(lambda: rows(t, "SELECT 1 FROM outbox WHERE content = 'an answer'"), what="the answer, unsent")
        await t.service.stop()
        await t.server.faults.accept_rest()
        await t.server.faults.accept_gateway()
        await t.service.start()
        await t.general.wait_for_bot(lambda m: m.text == "an answer", after=said)
        assert len(t.general.from_bot) == 1
        await t.service.stop()
