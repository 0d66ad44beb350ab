"""Private channels, threads, forums and webhooks of the test server, with a plain discord.py client."""

from __future__ import annotations

import discord
import pytest

from tests.wire.discord import DiscordError
from tests.wire.discord_stage import Stage


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


async def test_threads_of_every_kind(stage: Stage) -> None:
    said = await stage.ana.say(stage.general, "let us talk")
    await stage.bot.until(("message", said.id))
    made = await stage.bot.heard[0].create_thread(name="talk")
    await made.send("here")
    thread = stage.general.threads[0]
    assert (thread.id, thread.name, thread.owner) == (said.id, "talk", stage.server.bot)
    await thread.wait_for_bot(lambda m: m.content == "here")
    with pytest.raises(discord.HTTPException) as caught:
        await stage.bot.heard[0].create_thread(name="twice")
    assert caught.value.code == 160004

    private = await stage.ana.thread(stage.general, "hush", private=True)
    assert not private.permissions_of(stage.server.bot) or private.may(stage.server.bot, "manage_threads")
    await stage.ana.say(private, "come <@bot>")
    await stage.bot.until(("thread_join", private.id))
    known = stage.bot.get_channel(private.id)
    assert isinstance(known, discord.Thread)
    await known.send("I am here")

    own = await stage.place().create_thread(name="own", type=discord.ChannelType.public_thread)
    await own.edit(archived=True, locked=True)
    assert stage.general.threads[-1].archived
    assert [t.id async for t in stage.place().archived_threads()] == [own.id]
    await own.delete()
    assert len(stage.general.threads) == 2


async def test_forum_posts(stage: Stage) -> None:
    forum = stage.guild.forum("ideas")
    thread, first = await stage.ana.post(forum, "Lamps", "more light, <@bot>")
    await stage.bot.until(("message", first.id))
    assert first.id == thread.id
    known = stage.bot.get_channel(forum.id)
    assert isinstance(known, discord.ForumChannel)
    made = await known.create_thread(name="Chairs", content="softer")
    assert made.message.content == "softer"
    assert [t.name for t in forum.threads] == ["Lamps", "Chairs"]


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
