"""What the test server refuses and spoils as Discord does, met by a plain discord.py client.

What it does besides is proved by every test of the program that uses it.
"""

from __future__ import annotations

import asyncio

import aiohttp
import discord
import pytest

from tests.wire.discord import DiscordError, Message
from tests.wire.discord_stage import Bot, Stage

MESSAGES = "/channels/*/messages"


async def test_a_person_who_takes_no_direct_messages_gives_50007(stage: Stage) -> None:
    stage.ana.accepts_dms = False
    user = await stage.bot.fetch_user(stage.ana.id)
    with pytest.raises(discord.Forbidden) as caught:
        await user.send("hello?")
    assert caught.value.code == 50007


async def test_a_repeated_nonce_gives_the_first_message(stage: Stage) -> None:
    place = stage.place()
    first = await place.send("once", nonce="abc")
    again = await place.send("once", nonce="abc")
    other = await place.send("once", nonce="abd")
    assert first.id == again.id != other.id
    assert first.nonce == "abc"
    assert len(stage.general.messages) == 2
    assert stage.general.log[0].nonce == "abc"


async def test_a_repeated_nonce_of_a_deleted_message_gives_10008(stage: Stage) -> None:
    place = stage.place()
    await (await place.send("once", nonce="abc")).delete()
    with pytest.raises(discord.NotFound) as caught:
        await place.send("once", nonce="abc")
    assert caught.value.code == 10008


async def test_a_nonce_is_forgotten_after_its_window(stage: Stage) -> None:
    place = stage.place()
    first = await place.send("once", nonce="abc")
    stage.server.nonce_window = 0.0
    assert (await place.send("once", nonce="abc")).id != first.id


async def test_history_never_shows_a_nonce(stage: Stage) -> None:
    sent = await stage.place().send("once", nonce="abc")
    assert [m.nonce async for m in stage.place().history()] == [None]
    assert (await stage.place().fetch_message(sent.id)).nonce is None
    await stage.bot.until(("message", sent.id))
    assert stage.bot.heard[0].nonce == "abc"


async def test_limits_give_their_codes(stage: Stage) -> None:
    place = stage.place()
    with pytest.raises(discord.HTTPException, match="Must be 2000 or fewer") as caught:
        await place.send("x" * 2001)
    assert caught.value.code == 50035
    with pytest.raises(discord.HTTPException) as caught:
        await place.send("   ")
    assert caught.value.code == 50006
    with pytest.raises(discord.HTTPException) as caught:
        await place.send("x", nonce="n" * 26)
    assert caught.value.code == 50035
    with pytest.raises(discord.HTTPException) as caught:
        await place.send(embeds=[discord.Embed(description="d" * 3500) for _ in range(2)])
    assert caught.value.code == 50035
    with pytest.raises(discord.NotFound) as unknown:
        await place.fetch_message(1)
    assert unknown.value.code == 10008
    with pytest.raises(discord.NotFound) as unknown:
        await stage.bot.fetch_channel(1)
    assert unknown.value.code == 10003
    stage.server.violations.clear()  # the nonce was meant to be too long


async def test_missing_permissions_and_access_give_their_codes(stage: Stage) -> None:
    stage.general.deny(stage.server.bot, "send_messages")
    with pytest.raises(discord.Forbidden) as caught:
        await stage.place().send("hello")
    assert caught.value.code == 50013
    stage.general.deny(stage.server.bot, "view_channel")
    with pytest.raises(discord.Forbidden) as caught:
        await stage.place().send("hello")
    assert caught.value.code == 50001
    hidden = await stage.ana.say(stage.general, "not for bots")
    seen = await stage.ana.dm("for bots")
    await stage.bot.until(("message", seen.id))
    assert hidden.id not in [message.id for message in stage.bot.heard]
    said = await stage.ana.dm("mine")
    with pytest.raises(discord.Forbidden) as caught:
        await stage.bot.http.edit_message(
            said.channel.id, said.id, params=discord.http.handle_message_parameters("yours")
        )
    assert caught.value.code == 50005


async def test_a_reply_to_a_deleted_message_needs_leave(stage: Stage) -> None:
    said = await stage.ana.say(stage.general, "gone soon")
    await stage.bot.until(("message", said.id))
    await stage.ana.delete(said)
    with pytest.raises(discord.HTTPException, match="Unknown message"):
        await stage.bot.heard[0].reply("what?")
    reference = stage.bot.heard[0].to_reference(fail_if_not_exists=False)
    assert (await stage.place().send("what?", reference=reference)).reference is None


async def test_mentions_reach_only_whom_the_sender_allows(stage: Stage) -> None:
    none = discord.AllowedMentions.none()
    quiet = await stage.place().send(stage.ana.mention, allowed_mentions=none)
    loud = await stage.place().send(f"{stage.ana.mention} @everyone")
    assert quiet.mentions == []
    assert [user.id for user in loud.mentions] == [stage.ana.id]
    assert not loud.mention_everyone


async def test_persons_meet_the_same_rules(stage: Stage) -> None:
    ben = stage.server.person("ben", bot=True)
    with pytest.raises(DiscordError, match="50001"):
        await ben.say(stage.general, "not a member")
    said = await stage.ana.say(stage.general, "mine")
    stage.guild.add(ben)
    with pytest.raises(DiscordError, match="50013"):
        await ben.delete(said)
    with pytest.raises(DiscordError, match="50035"):
        await stage.ana.say(stage.general, "x" * 2001)
    heard = await ben.say(stage.general, "beep")
    await stage.bot.until(("message", heard.id))
    assert stage.bot.heard[-1].author.bot


async def test_a_private_channel_is_for_its_members(stage: Stage) -> None:
    ben = stage.server.person("ben")
    stage.guild.add(ben)
    secret = stage.guild.text_channel("secret", private=True, members=[stage.ana])
    assert secret.may(stage.ana, "view_channel", "send_messages")
    assert not secret.may(ben, "view_channel")
    said = await stage.ana.say(secret, "hush")
    await stage.bot.until(("message", said.id))
    with pytest.raises(DiscordError) as caught:
        await ben.say(secret, "let me in")
    assert caught.value.code == 50001
    everyone = stage.place(secret).guild.default_role
    assert not stage.place(secret).permissions_for(everyone).view_channel


async def test_webhooks_speak_under_a_name_and_know_no_nonce(stage: Stage) -> None:
    hook = await stage.place().create_webhook(name="voices")
    sent = await hook.send("moo", username="Cow", wait=True)
    await hook.send("no answer wanted", username="Cow")
    post = await stage.general.wait_for_bot()
    assert (post.author_name, post.nonce, post.webhook is not None) == ("Cow", None, True)
    await sent.edit(content="moo!")
    assert post.content == "moo!"
    await sent.delete()
    assert post.deleted
    thread = await stage.place().create_thread(name="barn", type=discord.ChannelType.public_thread)
    await hook.send("oink", username="Pig", thread=thread, wait=True)
    await stage.general.threads[0].wait_for_bot(lambda m: m.author_name == "Pig")
    assert [found.id for found in await stage.place().webhooks()] == [hook.id]
    await stage.bot.until(("message", post.id))
    assert next(m for m in stage.bot.heard if m.id == post.id).webhook_id == hook.id
    with pytest.raises(discord.HTTPException, match="discord"):
        await hook.send("hi", username="Discord", wait=True)


async def test_webhooks_can_be_forbidden(stage: Stage) -> None:
    plain = stage.guild.text_channel("plain", webhooks=False)
    said = await stage.ana.say(plain, "hi")
    await stage.bot.until(("message", said.id))
    with pytest.raises(discord.Forbidden) as caught:
        await stage.place(plain).create_webhook(name="voices")
    assert caught.value.code == 50013


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reconnect without discord.py's random pauses."""
    monkeypatch.setattr("discord.backoff.ExponentialBackoff.delay", lambda _: 0.05)


async def away(stage: Stage) -> list[Message]:
    """Three messages said while the client is not connected."""
    await stage.server.wait_disconnected()
    said = [await stage.ana.say(stage.general, f"missed {n}") for n in range(3)]
    await stage.server.faults.accept_gateway()
    return said


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
