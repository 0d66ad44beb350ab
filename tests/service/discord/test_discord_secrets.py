"""Who hears what on one server, in direct messages, threads and commands; words around a mention. Offline model."""

from functools import partial

import pytest

from tests.service.live_service import Live, refused, until
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


async def test_the_owner_is_answered_in_the_dm_and_may_use_what_was_said_in_the_guild(offline_service: Live) -> None:
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
    assert "buried" not in found.shown.text


def shows(message: Message, words: str) -> bool:
    return words in message.text


async def test_help_is_shown_to_who_asks_alone(offline_service: Live) -> None:
    t = offline_service
    for place in (t.general, t.ana.direct):
        shown = await t.ana.command("help", channel=place)
        assert "**Talk to me**" in shown.shown.text
        told = shown.shown
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
    assert "shy" not in answered.shown.text
    await jan.command("tasks add", {"title": "feed the okapi"})
    assert "okapi" in (await jan.command("tasks list")).text
    assert "okapi" not in (await jan.command("tasks list", None, place)).text, "nor what is said to it alone"
    refused(await jan.command("chat agent", {"name": "Carina", "text": "hello"}, place), "not a member here")


async def test_a_command_in_a_conversation_without_the_bot_is_not_answered_in_the_name_of_the_other(
    offline_service: Live,
) -> None:
    t = offline_service
    ines, bert = t.member("Ines"), t.member("Bert")
    ines.installed = True
    between = ines.direct_with(bert)
    answered = await ines.command("chat agent", {"name": "Carina", "text": "remember that the zorilla bites"}, between)
    refused(answered, "not a member here")
    assert t.holding("zorilla") == []
    await ines.command("tasks add", {"title": "feed the zorilla"})
    assert "zorilla" not in (await ines.command("tasks list", None, between)).text


async def test_a_mention_after_the_words_is_no_part_of_them(offline_service: Live) -> None:
    t = offline_service
    channel, person = t.guild.text_channel("after"), t.member("Trailing")
    assert (
        await t.ask(person, channel, "remember that my dog is Rex <@bot>")
    ).text == "I'll remember: your dog is Rex."
    assert (await t.ask(person, channel, "who is my dog, <@bot>?")).text.startswith("You told me your dog is Rex (on ")
    assert (await t.ask(person, channel, "thanks <@bot>!")).text.startswith("You're welcome!")


async def test_whatever_the_bot_is_called_a_mention_of_it_is_no_part_of_the_words(offline_service: Live) -> None:
    t = offline_service
    channel, person = t.guild.text_channel("renamed"), t.member("Renaming")
    t.guild.change(t.server.bot, nick="Tea Pot 3000")
    try:
        told = await t.ask(person, channel, "hey <@bot>, remember that I like tea, <@bot>")
        assert told.text == "I'll remember: you like tea."
        assert (await t.ask(person, channel, "what do I like, <@bot>?")).text.startswith(
            "You told me you like tea (on "
        )
    finally:
        t.guild.change(t.server.bot, nick="")
