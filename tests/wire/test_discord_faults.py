"""What the test server makes go wrong, seen from a plain discord.py client."""

from __future__ import annotations

import asyncio

import aiohttp
import discord
import pytest

from tests.wire.discord import Message
from tests.wire.discord_stage import Bot, Stage

MESSAGES = "/channels/*/messages"


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reconnect without discord.py's random pauses."""
    monkeypatch.setattr("discord.backoff.ExponentialBackoff.delay", lambda _: 0.05)


def heard_once(stage: Stage, said: list[Message]) -> bool:
    """Whether each of these messages came exactly once and in order."""
    wanted = [message.id for message in said]
    return [m.id for m in stage.bot.heard if m.id in wanted] == wanted


async def away(stage: Stage) -> list[Message]:
    """Three messages said while the client is not connected."""
    await stage.server.wait_disconnected()
    said = [await stage.ana.say(stage.general, f"missed {n}") for n in range(3)]
    await stage.server.faults.accept_gateway()
    return said


async def test_what_is_missed_in_a_tcp_cut_comes_once_on_resume(stage: Stage) -> None:
    await stage.server.faults.refuse_gateway()
    stage.server.faults.cut()
    said = await away(stage)
    await stage.bot.until(("resumed", 1))
    await stage.bot.until(("message", said[-1].id))
    assert heard_once(stage, said)
    assert (stage.server.gateway.identifies, stage.server.gateway.resumes) == (1, 1)


async def test_with_a_forgotten_session_only_history_knows(stage: Stage) -> None:
    faults = stage.server.faults
    faults.forget_sessions()
    await faults.refuse_gateway()
    faults.cut()
    said = await away(stage)
    await stage.bot.until(("ready", 2))
    later = await stage.ana.say(stage.general, "back?")
    await stage.bot.until(("message", later.id))
    assert [m.id for m in stage.bot.heard] == [later.id]
    assert [m.id async for m in stage.place().history(before=later)][::-1] == [m.id for m in said]


async def test_without_content_only_what_concerns_the_bot_is_seen(idle: Stage) -> None:
    idle.server.settings.granted_privileged = {"members"}
    intents = discord.Intents.default()
    async with idle.running(Bot(intents)) as bot:
        said = [
            await idle.ana.say(idle.general, "secret"),
            await idle.ana.say(idle.general, "for <@bot>"),
            await idle.ana.dm("private"),
        ]
        await idle.place().send("own")
        await bot.until(*[("message", message.id) for message in said])
        assert bot.heard[0].content == ""
        assert [m.content for m in bot.heard[1:3]] == [f"for {idle.server.bot.mention}", "private"]
        read = [m.content async for m in idle.place().history(oldest_first=True)]
        assert read == ["", f"for {idle.server.bot.mention}", "own"]


async def test_a_global_limit_holds_for_all_routes(stage: Stage) -> None:
    stage.server.faults.rate_limit("POST", MESSAGES, 2, everywhere=True)  # long enough to be met
    sending = asyncio.create_task(stage.place().send("patient"))
    await stage.server.wait_for_request("POST", MESSAGES)
    async with aiohttp.ClientSession() as http:
        headers = {"Authorization": f"Bot {stage.server.token}"}
        answer = await http.get(f"{stage.server.world.rest_url}/users/@me", headers=headers)
        assert (answer.status, (await answer.json())["global"]) == (429, True)
        assert answer.headers["Via"]
    await sending
    assert (await stage.bot.fetch_user(stage.ana.id)).name == "ana"


async def test_answers_can_be_late_or_never_come(stage: Stage) -> None:
    stage.server.faults.delay("POST", MESSAGES, 0.2, applied=True)
    sending = asyncio.create_task(stage.place().send("made early, told late"))
    await stage.general.wait_for_bot()
    assert not sending.done()
    await sending
    stage.server.faults.hang("POST", MESSAGES)
    hanging = asyncio.create_task(stage.place().send("waiting"))
    await stage.server.until(lambda: len(stage.server.requests_to("POST", MESSAGES)) == 2)
    assert len(stage.general.messages) == 1
    stage.server.faults.clear()
    await hanging
    assert len(stage.general.messages) == 2
