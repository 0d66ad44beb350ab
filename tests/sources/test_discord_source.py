"""Connecting, staying connected, and failing with words."""

import asyncio
import contextlib
import itertools
from datetime import UTC, datetime
from typing import Any

import discord
import pytest

from memory.people.audience import guild_audience
from memory.store.ids import OutboxId
from sources.base import Delivery, Endpoint, Source, SourceRefused
from sources.discord import memberships
from sources.discord.command_tree import Tree
from sources.discord.connection import intents
from sources.discord.markup import application_of, invite_url
from sources.discord.places import direct_place, guild_id, place_id
from tests.sources.running import Ear, commands, connected, home
from tests.wire.discord.server import DiscordServer


@pytest.mark.parametrize(("code", "words"), [(4004, "refused the token"), (4013, "4013")])
async def test_a_fatal_close_is_told(server: DiscordServer, code: int, words: str) -> None:
    async with connected(server) as running:
        server.faults.close(code)
        with pytest.raises(SourceRefused, match=words):
            async with asyncio.timeout(10):
                await running.task


async def test_a_connection_that_cannot_be_closed_is_not_begun_anew_at_the_end(
    server: DiscordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = discord.Client.close

    async def close(self: discord.Client) -> None:
        await really(self)
        raise KeyError("odd")

    async with connected(server) as running:
        monkeypatch.setattr(discord.Client, "close", close)
        running.task.cancel()
        await asyncio.wait([running.task], timeout=10)
        assert running.task.done()


async def test_without_any_privileged_intent_memberships_are_asked_for(server: DiscordServer) -> None:
    server.settings.granted_privileged = set()
    (general, ana), stranger = home(server), server.person("stranger")
    async with connected(server) as running:
        assert running.source.missing_intents == {"members", "message_content"}
        await stranger.dm("let me in")
        await ana.dm("hello")
        heard = await running.ear.next()
        sent = await running.endpoint.find(())
    assert heard.text == "hello"
    assert heard.place.within == (guild_audience(guild_id(general.guild.id)),)
    assert sent == {}


async def test_that_not_all_servers_are_asked_for_memberships_is_logged_once(
    server: DiscordServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(memberships, "MAX_GUILDS", 1)
    server.settings.granted_privileged = set()
    ana = server.person("ana")
    for name in ("Home", "Work"):
        server.guild(name).add(ana)
    async with connected(server) as running:
        client = running.source.client
        assert client is not None
        async with asyncio.timeout(10):
            while len(client.guilds) < 2:  # they may come after READY
                await asyncio.sleep(0.01)
        for words in ("hello", "again"):
            await ana.dm(words)
        await running.ear.wait(2)
    assert caplog.messages.count("memberships_incomplete") == 1


async def test_a_paused_source_speaks_but_does_not_hear(server: DiscordServer) -> None:
    general, ana = home(server)
    ear = Ear()
    async with connected(server, ear) as running:
        await ana.say(general, "<@bot> one")
        await ear.wait(1)
        running.source.pause()
        await ana.say(general, "<@bot> two")
        await running.endpoint.send(
            Delivery(OutboxId(1), place_id(general.id), "bye", datetime.now(UTC), speaker="Carina")
        )
        assert [one.text for one in ear.heard] == ["one"]
    async with connected(server, ear):
        assert [one.text for one in await ear.wait(2)] == ["one", "two"]


async def test_it_waits_for_discord_to_come_up(server: DiscordServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sources.discord.source.waits", lambda: itertools.repeat(0.1))
    server.faults.fail("GET", "/users/@me", 503)
    home(server)
    async with connected(server) as running:
        assert running.source.readiness.ready


async def test_commands_are_synced_only_when_they_changed(server: DiscordServer) -> None:
    marks: list[str] = []

    def install(tree: Tree) -> None:
        @tree.command(name="help", description="what I can do")
        async def answer(interaction: discord.Interaction[Any]) -> None:
            await interaction.response.send_message("ask me", ephemeral=True)

    async def synced() -> str | None:
        return marks[-1] if marks else None

    async def note(mark: str) -> None:
        marks.append(mark)

    general, ana = home(server)
    for _ in range(2):
        async with connected(server, Ear(commands=commands(install, synced, note))):
            shown = await ana.command("help", channel=general)
            assert shown.text == "ask me"
            async with asyncio.timeout(5):
                while not marks:  # it is stored when Discord has answered
                    await asyncio.sleep(0.01)
    assert len(marks) == 1
    assert len([r for r in server.requests if r.method == "PUT" and r.path.endswith("/commands")]) == 1


async def test_speaking_before_the_connection_stands_is_a_failure_to_try_again(
    server: DiscordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sources.discord.message_sender.CONNECT_SECONDS", 0.05)
    async with connected(server) as running:
        pass
    with contextlib.suppress(Exception):
        await running.endpoint.edit(direct_place(1), "1", "x")
    with pytest.raises(Exception, match="not connected") as failure:
        await running.endpoint.edit(direct_place(1), "1", "x")
    assert getattr(failure.value, "retry_after", None) is not None


def test_only_the_privileged_intents_can_be_left_out() -> None:
    least = intents(frozenset({"members", "message_content"}))
    assert (least.guilds, least.messages, least.reactions, least.typing) == (True,) * 4
    assert (least.members, least.message_content, least.presences) == (False,) * 3


def test_the_invitation_asks_for_the_least() -> None:
    url = invite_url(123)
    assert "client_id=123" in url
    assert "scope=bot+applications.commands" in url
    asked = discord.Permissions(int(url.partition("permissions=")[2].partition("&")[0]))
    assert asked == discord.Permissions(
        view_channel=True,
        read_message_history=True,
        send_messages=True,
        send_messages_in_threads=True,
        create_public_threads=True,
        attach_files=True,
        add_reactions=True,
        manage_webhooks=True,
    )


def test_the_application_is_read_off_the_token() -> None:
    assert application_of("MTIz.x.y") == 123
    assert application_of("garbage") is None
    assert application_of("") is None


async def test_the_status_tells_how_the_connection_stands(server: DiscordServer) -> None:
    server.guild("Home")
    async with connected(server) as running:
        assert running.source.readiness.ready
        assert running.source.words.startswith("connected as carina")
        assert not running.source.missing_intents
        source: Source = running.source
        endpoint: Endpoint = running.endpoint
        assert (source.name, endpoint.max_length, endpoint.nonce_seconds) == ("discord", 2000, 60)
    assert not running.source.readiness.ready
    await server.wait_disconnected()


async def test_the_presence_says_when_nobody_is_answered_also_in_a_new_session(
    server: DiscordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sources.discord.source.PRESENCE_SECONDS", 0.02)
    server.guild("Home")
    shown, silent, answering = server.gateway.presences, ("dnd", ["Halted"]), ("online", list[str]())
    async with connected(server) as running:
        running.ear.silence = "Halted"
        await server.until(lambda: shown == [silent])
        server.faults.invalidate()
        await server.until(lambda: shown == [silent, silent])
        server.faults.cut()
        await server.until(lambda: shown == [silent] * 3)  # what is sent as a connection breaks may be lost
        running.ear.silence = ""
        await server.until(lambda: shown == [silent, silent, silent, answering])
