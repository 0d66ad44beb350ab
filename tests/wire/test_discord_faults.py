"""What the test server makes go wrong, seen from a plain discord.py client."""

from __future__ import annotations

import asyncio
import time

import aiohttp
import discord
import pytest

from tests.wire.discord import DiscordServer, Message
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


@pytest.mark.parametrize("code", [4000, 1001])
async def test_a_close_is_resumed(stage: Stage, code: int) -> None:
    await stage.server.faults.refuse_gateway()
    stage.server.faults.close(code)
    said = await away(stage)
    await stage.bot.until(("resumed", 1), ("message", said[-1].id))
    assert heard_once(stage, said)


async def test_op_7_is_resumed(stage: Stage) -> None:
    stage.server.faults.reconnect()
    await stage.bot.until(("resumed", 1))
    said = await stage.ana.say(stage.general, "still there?")
    await stage.bot.until(("message", said.id))
    assert heard_once(stage, [said])


async def test_op_9_resumable_is_resumed(stage: Stage) -> None:
    stage.server.faults.invalidate(resumable=True)
    await stage.bot.until(("resumed", 1))
    assert stage.server.gateway.identifies == 1


async def test_op_9_for_good_starts_anew(stage: Stage) -> None:
    stage.server.faults.invalidate()
    await stage.bot.until(("ready", 2))
    said = await stage.ana.say(stage.general, "still there?")
    await stage.bot.until(("message", said.id))
    assert heard_once(stage, [said])
    assert (stage.server.gateway.identifies, stage.server.gateway.resumes) == (2, 0)


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


async def test_events_are_held_and_released_in_one_burst(stage: Stage) -> None:
    stage.server.faults.hold_events()
    said = [await stage.ana.say(stage.general, str(n)) for n in range(20)]
    await stage.place().send("nothing yet")
    assert stage.bot.heard == []
    stage.server.faults.release_events()
    await stage.bot.until(("message", said[-1].id))
    assert heard_once(stage, said)


async def test_a_privileged_intent_not_granted_closes_with_4014(idle: Stage) -> None:
    idle.server.granted_privileged = {"members"}
    with idle.server.patched(), pytest.raises(discord.PrivilegedIntentsRequired):
        await idle.bot.start(idle.server.token)
    await idle.bot.close()


async def test_without_content_only_what_concerns_the_bot_is_seen(idle: Stage) -> None:
    idle.server.granted_privileged = {"members"}
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


async def test_a_wrong_token_is_refused_by_rest_and_gateway(idle: Stage) -> None:
    with idle.server.patched(), pytest.raises(discord.LoginFailure):
        await idle.bot.start("wrong")
    await idle.bot.close()
    idle.server.gateway.token = "changed"
    other = Bot(discord.Intents.default())
    with idle.server.patched(), pytest.raises(discord.ConnectionClosed) as caught:
        await other.start(idle.server.token)
    assert caught.value.code == 4004
    await other.close()


async def test_a_server_error_is_retried_without_a_double(stage: Stage) -> None:
    rule = stage.server.faults.fail("POST", MESSAGES, 502)
    await stage.place().send("through")
    assert rule.hits == 1
    assert [m.content for m in stage.general.messages] == ["through"]


async def test_failures_come_with_their_codes_and_skip(stage: Stage) -> None:
    stage.server.faults.fail("POST", MESSAGES, 403, code=50013, message="Missing Permissions", skip=1)
    await stage.place().send("one")
    with pytest.raises(discord.Forbidden, match="50013"):
        await stage.place().send("two")
    stage.server.faults.fail("POST", MESSAGES, 503)
    with pytest.raises(discord.DiscordServerError):
        await stage.place().send("three")
    await stage.place().send("four")
    assert [m.content for m in stage.general.messages] == ["one", "four"]


async def test_a_route_limit_is_waited_for(stage: Stage) -> None:
    stage.server.faults.rate_limit("POST", MESSAGES, 0.2)
    before = time.monotonic()
    await stage.place().send("patient")
    assert time.monotonic() - before >= 0.2
    assert [r.status for r in stage.server.requests_to("POST", MESSAGES)] == [429, 200]


async def test_a_global_limit_holds_for_all_routes(stage: Stage) -> None:
    stage.server.faults.rate_limit("POST", MESSAGES, 2, everywhere=True)  # long enough to be met
    sending = asyncio.create_task(stage.place().send("patient"))
    await stage.server.wait_for_request("POST", MESSAGES)
    async with aiohttp.ClientSession() as http:
        headers = {"Authorization": f"Bot {stage.server.token}"}
        answer = await http.get(f"{stage.server.rest_url}/users/@me", headers=headers)
        assert (answer.status, (await answer.json())["global"]) == (429, True)
        assert answer.headers["Via"]
    await sending
    assert (await stage.bot.fetch_user(stage.ana.id)).name == "ana"


async def test_a_cloudflare_ban_is_no_ordinary_limit(stage: Stage) -> None:
    stage.server.faults.rate_limit("POST", MESSAGES, cloudflare=True)
    with pytest.raises(discord.HTTPException, match="429"):
        await stage.place().send("banned")


async def test_a_message_made_without_an_answer_is_found_by_its_nonce(stage: Stage) -> None:
    stage.server.faults.cut_after_applying("POST", MESSAGES)
    with pytest.raises((aiohttp.ClientError, OSError)):
        await stage.place().send("once", nonce="abc")
    assert len(stage.general.messages) == 1
    again = await stage.place().send("once", nonce="abc")
    assert [m.id for m in stage.general.messages] == [again.id]


async def test_a_cut_before_applying_leaves_nothing(stage: Stage) -> None:
    stage.server.faults.cut_before_applying("POST", MESSAGES)
    with pytest.raises((aiohttp.ClientError, OSError)):
        await stage.place().send("never")
    assert stage.general.messages == []


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


async def test_a_whole_outage_is_survived(stage: Stage) -> None:
    said: list[Message] = []

    async def meanwhile() -> None:
        await stage.server.wait_disconnected()
        with pytest.raises((aiohttp.ClientError, OSError)):
            await stage.place().send("nobody there")
        said.append(await stage.ana.say(stage.general, "anyone?"))

    await stage.server.faults.outage(meanwhile)
    await stage.bot.until(("resumed", 1), ("message", said[0].id))
    await stage.place().send("back")
    assert [m.content for m in stage.general.messages] == ["anyone?", "back"]


class Sharded(discord.AutoShardedClient):
    """Starts its shards without discord.py's pause of 5 s."""

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        return


async def test_two_shards_share_the_guilds(server: DiscordServer) -> None:
    server.settings.shards = 2
    stage = Stage(server)
    client = Sharded(intents=discord.Intents.all(), guild_ready_timeout=0.05)
    heard: asyncio.Queue[discord.Message] = asyncio.Queue()

    async def on_message(message: discord.Message) -> None:
        await heard.put(message)

    client.event(on_message)
    with server.patched():
        task = asyncio.create_task(client.start(server.token))
        await server.until(lambda: len(server.gateway.live) == 2, 20)
        await stage.ana.say(stage.general, "in the guild")
        await stage.ana.dm("in private")
        assert {(await heard.get()).content for _ in range(2)} == {"in the guild", "in private"}
        await client.close()
        await asyncio.gather(task, return_exceptions=True)
