"""What Discord refuses and hides, seen by a plain discord.py client; tests/sources and tests/service use the rest."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import discord
import pytest

from tests.wire import PATIENCE, until
from tests.wire.discord import DiscordError, DiscordServer, GuildChannel, Message


class Bot(discord.Client):
    """A small client that keeps what it hears."""

    def __init__(self, intents: discord.Intents, **options: Any) -> None:
        super().__init__(intents=intents, guild_ready_timeout=0.05, **options)
        self.heard: list[discord.Message] = []
        self.changed = asyncio.Condition()

    async def until(self, *said: Message | discord.Message) -> None:
        """Until all these messages have come."""
        wanted = {message.id for message in said}
        async with asyncio.timeout(PATIENCE), self.changed:
            await self.changed.wait_for(lambda: wanted <= {message.id for message in self.heard})

    async def on_message(self, message: discord.Message) -> None:
        async with self.changed:
            self.heard.append(message)
            self.changed.notify_all()


class Stage:
    """A server with a guild, a channel, a person and a running client."""

    def __init__(self, server: DiscordServer) -> None:
        self.server = server
        self.guild = server.guild("Home")
        self.general = self.guild.text_channel("general")
        self.ana = server.person("ana", global_name="Ana")
        self.guild.add(self.ana, nick="Annie")
        self.bot = Bot(discord.Intents.all())

    @contextlib.asynccontextmanager
    async def running(self, bot: Bot | None = None) -> AsyncIterator[Bot]:
        """A client, ready, and closed again."""
        self.bot = bot or self.bot
        with self.server.patched():
            task = asyncio.create_task(self.bot.start(self.server.token))
            try:
                await until(self.bot.is_ready)
                yield self.bot
            finally:
                await self.bot.close()
                await asyncio.gather(task, return_exceptions=True)

    def place(self, channel: GuildChannel | None = None) -> discord.TextChannel:
        found = self.bot.get_channel((channel or self.general).id)
        assert isinstance(found, discord.TextChannel)
        return found


@pytest.fixture
async def idle(server: DiscordServer) -> Stage:
    """The stage before any client runs."""
    return Stage(server)


@pytest.fixture
async def stage(idle: Stage) -> AsyncIterator[Stage]:
    async with idle.running():
        yield idle


@contextlib.contextmanager
def refused(code: int, words: str = ".") -> Iterator[None]:
    with pytest.raises(discord.HTTPException, match=words) as caught:
        yield
    assert caught.value.code == code


async def test_a_person_who_takes_no_direct_messages_gives_50007(stage: Stage) -> None:
    stage.ana.accepts_dms = False
    user = await stage.bot.fetch_user(stage.ana.id)
    with refused(50007):
        await user.send("hello?")


async def test_history_never_shows_a_nonce(stage: Stage) -> None:
    sent = await stage.place().send("once", nonce="abc")
    assert [m.nonce async for m in stage.place().history()] == [None]
    assert (await stage.place().fetch_message(sent.id)).nonce is None
    await stage.bot.until(sent)
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


async def test_limits_give_their_codes(stage: Stage) -> None:
    place = stage.place()
    with refused(50035, "Must be 2000 or fewer"):
        await place.send("x" * 2001)
    with refused(50006):
        await place.send("   ")
    with refused(50035):
        await place.send("x", nonce="n" * 26)
    with refused(10008):
        await place.fetch_message(1)
    with refused(10003):
        await stage.bot.fetch_channel(1)
    stage.server.violations.clear()  # the nonce was meant to be too long


async def test_missing_permissions_and_access_give_their_codes(stage: Stage) -> None:
    stage.general.deny(stage.server.bot, "send_messages")
    with refused(50013):
        await stage.place().send("hello")
    stage.general.deny(stage.server.bot, "view_channel")
    with refused(50001):
        await stage.place().send("hello")
    hidden = await stage.ana.say(stage.general, "not for bots")
    seen = await stage.ana.dm("for bots")
    await stage.bot.until(seen)
    assert hidden.id not in [message.id for message in stage.bot.heard]
    said = await stage.ana.dm("mine")
    with refused(50005):
        await stage.bot.http.edit_message(
            said.channel.id, said.id, params=discord.http.handle_message_parameters("yours")
        )


async def test_a_reply_to_a_deleted_message_needs_leave(stage: Stage) -> None:
    said = await stage.ana.say(stage.general, "gone soon")
    await stage.bot.until(said)
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
    await stage.bot.until(heard)
    assert stage.bot.heard[-1].author.bot


async def test_a_second_thread_on_a_message_gives_160004(stage: Stage) -> None:
    said = await stage.ana.say(stage.general, "let us talk")
    await stage.bot.until(said)
    await stage.bot.heard[0].create_thread(name="talk")
    with refused(160004):
        await stage.bot.heard[0].create_thread(name="twice")


async def test_webhooks_know_no_nonce_and_may_not_be_called_discord(stage: Stage) -> None:
    hook = await stage.place().create_webhook(name="voices")
    await hook.send("moo", username="Cow", wait=True)
    post = await stage.general.wait_for_bot()
    assert (post.author_name, post.nonce, post.webhook is not None) == ("Cow", None, True)
    with pytest.raises(discord.HTTPException, match="discord"):
        await hook.send("hi", username="Discord", wait=True)


async def test_without_content_only_what_concerns_the_bot_is_seen(idle: Stage) -> None:
    idle.server.settings.granted_privileged = {"members"}
    async with idle.running(Bot(discord.Intents.default())) as bot:
        said = [
            await idle.ana.say(idle.general, "secret"),
            await idle.ana.say(idle.general, "for <@bot>"),
            await idle.ana.dm("private"),
        ]
        await idle.place().send("own")
        await bot.until(*said)
        assert bot.heard[0].content == ""
        assert [m.content for m in bot.heard[1:3]] == [f"for {idle.server.bot.mention}", "private"]
        read = [m.content async for m in idle.place().history(oldest_first=True)]
        assert read == ["", f"for {idle.server.bot.mention}", "own"]


async def test_what_the_description_forbids_is_refused(stage: Stage) -> None:
    if not stage.server.checked:
        pytest.skip("no OpenAPI description")
    view = discord.ui.View()
    view.add_item(discord.ui.Button(label="x" * 80, custom_id="c"))
    await stage.place().send("fits", view=view)
    view.add_item(discord.ui.Button(label="x" * 81, custom_id="d"))
    with pytest.raises(discord.HTTPException, match="too long"):
        await stage.place().send("does not", view=view)
    assert "too long" in stage.server.violations.pop()
