"""What the offline model says, with real places, people and mentions around it."""

import pytest

from tests.service.live_service import Live

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_bare_mention_is_asked_what_it_is_about(offline_service: Live) -> None:
    channel = offline_service.guild.text_channel("called")
    answer = await offline_service.ask(offline_service.ana, channel, "<@bot>")
    assert answer.text.startswith("I'm here. What can I do for you?")


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
