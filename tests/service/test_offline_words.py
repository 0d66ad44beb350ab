"""What the offline model says, with real places, people and mentions around it."""

import pytest

from tests.service.towns import Town, one_day

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_bare_mention_is_asked_what_it_is_about(offline_town: Town) -> None:
    channel = offline_town.guild.text_channel("called")
    answer = await offline_town.ask(offline_town.ana, channel, "<@bot>")
    assert answer.text.startswith("I'm here. What can I do for you?")


async def test_each_person_is_told_once_a_day_in_a_place_that_there_is_no_model(offline_town: Town) -> None:
    await one_day()
    t = offline_town
    channel, other = t.guild.text_channel("hints"), t.guild.text_channel("more-hints")
    bob = t.member("Hinted")
    asked = [(t.ana, channel), (t.ana, channel), (bob, channel), (t.ana, channel), (bob, channel), (t.ana, other)]
    told = ["CARINA_MODEL" in (await t.ask(person, where, "<@bot> thanks")).text for person, where in asked]
    assert told == [True, False, True, False, False, True]


async def test_a_question_without_an_answer_names_the_setting_every_time(offline_town: Town) -> None:
    t = offline_town
    channel = t.guild.text_channel("unknown")
    for question in ("wo ist mein Zahnarzt?", "where is my dentist?", "where is my dentist?", "歯医者はどこ？"):
        assert "`CARINA_MODEL`" in (await t.ask(t.ana, channel, f"<@bot> {question}")).text


async def test_what_was_told_in_several_languages_is_listed_together(offline_town: Town) -> None:
    t = offline_town
    person = t.member("Mira")
    told = ("I'm allergic to peanuts", "ich bin gegen Nüsse allergisch", "卵アレルギーです")
    for text in told:
        await t.ask(person, person.direct, text)
    answer = await t.ask(person, person.direct, "何を食べてはいけない？")
    assert all(text in answer.text for text in told)


async def test_direct_messages_are_named_in_the_language_of_the_answer(offline_town: Town) -> None:
    t = offline_town
    person = t.member("Greta")
    await t.ask(person, person.direct, "merk dir, dass mein Zahnarzt in der Elmstraße ist")
    answer = await t.ask(person, person.direct, "wo ist mein Zahnarzt?")
    assert ", in Direktnachrichten)" in answer.text


async def test_a_mention_after_the_words_is_no_part_of_them(offline_town: Town) -> None:
    t = offline_town
    channel, person = t.guild.text_channel("after"), t.member("Trailing")
    assert (
        await t.ask(person, channel, "remember that my dog is Rex <@bot>")
    ).text == "I'll remember: your dog is Rex."
    assert (await t.ask(person, channel, "who is my dog, <@bot>?")).text.startswith("You told me your dog is Rex (on ")
    assert (await t.ask(person, channel, "thanks <@bot>!")).text.startswith("You're welcome!")


async def test_whatever_the_bot_is_called_a_mention_of_it_is_no_part_of_the_words(offline_town: Town) -> None:
    t = offline_town
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
