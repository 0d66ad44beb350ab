"""Who hears what: one server, its people, their direct messages, threads and commands, with the offline model."""

from functools import partial

import pytest

from tests.service.live_service import Live, until
from tests.wire.discord import Impossible
from tests.wire.discord.messages import Message, parts

pytestmark = pytest.mark.asyncio(loop_scope="module")

DENTIST = "remember that my dentist is on Elm Street"


async def test_a_fact_told_in_a_dm_is_used_there_and_not_in_a_public_channel(offline_service: Live) -> None:
    t = offline_service
    channel, bea = t.guild.text_channel("secrets"), t.member("Bea")
    await t.ask(bea, bea.direct, DENTIST)
    assert "Elm Street" not in (await t.ask(bea, channel, "<@bot> where is my dentist?")).text
    assert "Elm Street" not in (await t.ask(bea, channel, "<@bot> what do you know about me?")).text
    assert "Elm Street" in (await t.ask(bea, bea.direct, "where is my dentist?")).text


async def test_the_owner_is_answered_in_the_dm_and_may_use_what_was_said_in_the_guild(
    offline_service: Live,
) -> None:
    t = offline_service
    channel = t.guild.text_channel("owner")
    await t.ask(t.olga, channel, "<@bot> remember that my garden is behind the mill")
    assert "behind the mill" in (await t.ask(t.olga, t.olga.direct, "where is my garden?")).text
    await t.ask(t.olga, t.olga.direct, "remember that my safe is under the stairs")
    assert "stairs" not in (await t.ask(t.olga, channel, "<@bot> where is my safe?")).text


async def test_the_owner_does_not_hear_what_another_person_said_in_a_dm(offline_service: Live) -> None:
    t = offline_service
    eli = t.member("Eli")
    await t.ask(eli, eli.direct, "remember that the treasure is buried in Tasmania")
    assert "Tasmania" not in (await t.ask(t.olga, t.olga.direct, "where is the treasure buried?")).text
    found = await t.olga.command("search", {"text": "Tasmania"})
    assert found.ephemeral
    assert "buried" not in found.text


# ---------------------------------------------------------------------- commands


def shows(message: Message, words: str) -> bool:
    return words in message.text


async def test_help_is_shown_to_who_asks_alone(offline_service: Live) -> None:
    t = offline_service
    for place in (t.general, t.ana.direct):
        shown = await t.ana.command("help", channel=place)
        assert shown.ephemeral
        assert "**Talk to me**" in shown.text
        told = shown.message
        assert told is not None
        (menu,) = [part for part in parts(told.components) if part["type"] == 3]
        read = ""
        for title in [option["label"] for option in menu["options"]]:
            await t.ana.select(told, "carina:help", title)
            await until(partial(shows, told, f"**{title}**"), what=title)
            read += told.text
        commands = {command["name"] for command in t.server.commands if command.get("type", 1) == 1} - {"help"}
        assert {name for name in commands if f"/{name}" not in read} == set()


async def test_a_command_in_a_guild_without_the_bot_shows_nothing_of_elsewhere(offline_service: Live) -> None:
    t = offline_service
    jan = t.member("Jan")
    channel = t.guild.text_channel("installed")
    await t.ask(jan, channel, "<@bot> remember that the okapi is shy")
    foreign = t.server.guild("Foreign", with_bot=False)
    foreign.add(jan)
    place = foreign.text_channel("foreign")
    with pytest.raises(Impossible):
        await jan.command("search", {"text": "okapi"}, place)
    jan.installed = True
    answered = await jan.command("search", {"text": "okapi"}, place)
    assert answered.ephemeral
    assert "shy" not in answered.text
