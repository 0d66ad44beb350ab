"""The test server proved with a plain discord.py client: messages, files, members, a process."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import discord
import pytest

from tests.wire.discord import DiscordError, Upload
from tests.wire.discord_stage import Stage


async def test_login_fills_the_cache(stage: Stage) -> None:
    guild = stage.bot.get_guild(stage.guild.id)
    assert guild is not None
    assert guild.me.id == stage.server.bot.id
    assert guild.name == "Home"
    member = guild.get_member(stage.ana.id)
    assert member is not None
    assert (member.nick, member.global_name) == ("Annie", "Ana")
    assert stage.place().topic == "all things"
    assert stage.bot.application_id == stage.server.application_id
    assert stage.place().permissions_for(guild.me).manage_webhooks


async def test_messages_go_both_ways(stage: Stage) -> None:
    said = await stage.ana.say(stage.general, "hi <@bot>")
    await stage.bot.until(("message", said.id))
    heard = stage.bot.heard[0]
    assert heard.content == f"hi <@{stage.server.bot.id}>"
    assert stage.bot.user in heard.mentions
    assert isinstance(heard.author, discord.Member)
    await heard.reply("hello")
    answer = await stage.general.wait_for_bot(lambda m: m.content == "hello")
    assert answer.reply_to is said
    assert [entry.what for entry in stage.general.log] == ["create", "create"]


async def test_a_direct_message_is_answered_in_its_channel(stage: Stage) -> None:
    said = await stage.ana.dm("psst")
    await stage.bot.until(("message", said.id))
    assert isinstance(stage.bot.heard[0].channel, discord.DMChannel)
    await stage.bot.heard[0].channel.send("yes?")
    assert (await stage.ana.direct.wait_for_bot()).content == "yes?"
    user = await stage.bot.fetch_user(stage.ana.id)
    await user.send("again")
    await stage.ana.direct.wait_for_bot(lambda m: m.content == "again")


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


async def test_history_pages(stage: Stage) -> None:
    said = [await stage.ana.say(stage.general, str(n)) for n in range(7)]
    place, middle = stage.place(), discord.Object(said[3].id)

    async def read(**bounds: Any) -> str:
        return "".join([m.content async for m in place.history(**bounds)])

    assert await read() == "6543210"
    assert await read(after=middle, limit=2) == "45"
    assert await read(before=middle, limit=2) == "21"
    assert await read(around=middle, limit=3) == "432"
    assert await read(after=discord.Object(said[0].id), oldest_first=True) == "123456"


async def test_a_separate_process_is_pointed_at_the_server(idle: Stage, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.other_ran = True\n")
    env = {**os.environ, **idle.server.environment(), "TOKEN": idle.server.token}
    env["PYTHONPATH"] += os.pathsep + str(tmp_path)
    process = await asyncio.create_subprocess_exec(sys.executable, str(program), env=env)
    try:
        await idle.general.wait_for_bot(lambda m: m.content == "up, other ran: True", timeout=20)
    finally:
        process.terminate()
        await process.wait()


async def test_a_process_without_discord_pays_nothing(idle: Stage) -> None:
    check = "import sys; print(sorted(m for m in sys.modules if m.startswith(('discord', 'pathlib', 'asyncio'))))"
    env = {**os.environ, **idle.server.environment()}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", check, env=env, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert out.decode().strip() == "[]"


_PROGRAM = """
import builtins, os, discord

class Bot(discord.Client):
    async def on_ready(self):
        channel = next(c for c in self.get_all_channels() if c.name == "general")
        await channel.send(f"up, other ran: {builtins.other_ran}")

Bot(intents=discord.Intents.default()).run(os.environ["TOKEN"], log_handler=None)
"""


async def test_files_travel_both_ways(stage: Stage) -> None:
    note = Upload("note.txt", b"milk", content_type="text/plain")
    said = await stage.ana.say(stage.general, "list", attachments=[note])
    await stage.bot.until(("message", said.id))
    attachment = stage.bot.heard[0].attachments[0]
    assert (attachment.filename, attachment.size, attachment.content_type) == ("note.txt", 4, "text/plain")
    assert await attachment.read() == b"milk"
    file = discord.File(Path(__file__), filename="self.py", description="this")
    await stage.place().send("here", file=file)
    sent = (await stage.general.wait_for_bot()).attachments[0]
    assert (sent.filename, sent.description) == ("self.py", "this")
    assert sent.data == Path(__file__).read_bytes()


@pytest.mark.parametrize(("status", "error"), [(403, discord.Forbidden), (404, discord.NotFound)])
async def test_a_file_can_be_refused(stage: Stage, status: int, error: type[Exception]) -> None:
    said = await stage.ana.say(stage.general, attachments=[Upload("a.png", b"x", status=status)])
    await stage.bot.until(("message", said.id))
    with pytest.raises(error):
        await stage.bot.heard[0].attachments[0].read()


async def test_edit_delete_react_and_typing(stage: Stage) -> None:
    place = stage.place()
    sent = await place.send("first")
    await sent.edit(content="second")
    await place.typing()
    await sent.add_reaction("👍")
    post = stage.general.messages[0]
    assert post.content == "second"
    assert post.edited is not None
    assert post.reactions == {"👍": [stage.server.bot]}
    assert len(stage.general.typings) == 1
    fetched = await place.fetch_message(sent.id)
    assert [(r.emoji, r.count, r.me) for r in fetched.reactions] == [("👍", 1, True)]
    assert stage.bot.user is not None
    await sent.remove_reaction("👍", stage.bot.user)
    await sent.delete()
    assert stage.general.messages == []
    assert [entry.what for entry in stage.general.log] == ["create", "edit", "delete"]


async def test_what_a_person_does_reaches_the_client(stage: Stage) -> None:
    sent = await stage.place().send("hello")
    post = stage.general.messages[0]
    said = await stage.ana.say(stage.general, "one")
    await stage.ana.edit(said, "two")
    await stage.ana.react(post, "🎉")
    await stage.ana.unreact(post, "🎉")
    await stage.ana.type_in(stage.general)
    await stage.ana.delete(said)
    await stage.bot.until(("message", said.id), ("edit", said.id), ("delete", said.id))
    await stage.bot.until(("react", sent.id), ("unreact", sent.id), ("typing", stage.ana.id))


async def test_create_edit_delete_arrive_as_one_burst(stage: Stage) -> None:
    said = await stage.ana.say(stage.general, "one")
    await stage.ana.edit(said, "two")
    await stage.ana.delete(said)
    assert said.id not in [number for _, number in stage.bot.events], "the client has not come to any of it yet"
    await stage.bot.until(("message", said.id), ("edit", said.id), ("delete", said.id))
    order = [name for name, number in stage.bot.events if number == said.id]
    assert sorted(order) == ["delete", "edit", "message"]


async def test_a_preview_is_an_update_without_an_edit(stage: Stage) -> None:
    said = await stage.ana.say(stage.general, "see https://example.org/")
    await stage.server.unfurl(said)
    await stage.bot.until(("edit", said.id))
    update = stage.bot.raw_edits[0].data
    assert update["edited_timestamp"] is None
    assert update["embeds"][0]["url"] == "https://example.org/"


async def test_members_channels_and_bulk_deletes_are_announced(stage: Stage) -> None:
    ben = stage.server.person("ben")
    stage.guild.add(ben)
    stage.guild.change(ben, nick="Benny", roles=[stage.guild.role("cook")])
    stage.general.edit(name="lounge")
    said = [await ben.say(stage.general, str(n)) for n in range(3)]
    await stage.server.bulk_delete(*said)
    stage.guild.remove(ben)
    await stage.bot.until(("join", ben.id), ("member", ben.id), ("leave", ben.id))
    await stage.bot.until(("channel", stage.general.id), ("bulk_delete", said[0].id))
    assert stage.place().name == "lounge"


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


async def test_the_application_describes_itself(stage: Stage) -> None:
    info = await stage.bot.application_info()
    assert (info.id, info.owner.id) == (stage.server.application_id, stage.server.owner.id)
    assert info.flags.gateway_message_content_limited
    guild = await stage.bot.fetch_guild(stage.guild.id)
    assert guild.approximate_member_count == len(stage.guild.members)
    assert stage.ana.id in [m.id async for m in guild.fetch_members(limit=10)]
    assert (await guild.fetch_member(stage.ana.id)).nick == "Annie"
    assert len(await guild.fetch_channels()) == 1
    assert len(await guild.fetch_roles()) == 2
    assert [m.id for m in await stage.place().guild.query_members("ana")] == [stage.ana.id]


async def test_somebody_elses_webhook_is_not_the_bot(stage: Stage) -> None:
    said = await stage.server.webhook_say(stage.general, "News", "today")
    await stage.bot.until(("message", said.id))
    assert (stage.bot.heard[0].webhook_id, stage.bot.heard[0].author.name) == (said.author.id, "News")
    assert stage.general.from_bot == []


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


async def test_joining_and_leaving_a_guild(stage: Stage) -> None:
    away = stage.server.guild("Away")
    room = away.text_channel("room")
    said = await stage.server.webhook_say(room, "News", "welcome")
    await stage.bot.until(("message", said.id))
    known = stage.bot.get_guild(away.id)
    assert known is not None
    await known.leave()
    assert not away.has_bot
    with pytest.raises(discord.Forbidden):
        await stage.bot.fetch_channel(room.id)
