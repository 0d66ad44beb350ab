"""What the offline model says, with real places, people and mentions around it."""

import pytest

from tests.service.live_service import Live, one_day

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_bare_mention_is_asked_what_it_is_about(offline_service: Live) -> None:
    channel = offline_service.guild.text_channel("called")
    answer = await offline_service.ask(offline_service.ana, channel, "<@bot>")
    assert answer.text.startswith("I'm here. What can I do for you?")


async def test_only_the_owner_alone_hears_why_no_model_answers_and_once_a_day(offline_service: Live) -> None:
    await one_day()
    t = offline_service
    channel = t.guild.text_channel("hints")
    asked = [(t.ana, channel), (t.olga, channel), (t.ana, t.ana.direct), (t.olga, t.olga.direct)]
    asked += [(t.olga, t.olga.direct), (t.olga, t.olga.direct)]
    questions = (
        ["where is my dentist?", "wo ist mein Zahnarzt?", "tell me a joke"] + ["where is my dentist?"] * 2 + ["ok"]
    )
    told = [
        "CARINA_MODEL" in (await t.ask(who, at, f"<@bot> {said}")).text
        for (who, at), said in zip(asked, questions, strict=True)
    ]
    assert told == [False, False, False, True, False, False]


async def test_what_was_told_in_several_languages_is_listed_together(offline_service: Live) -> None:
    t = offline_service
    person = t.member("Mira")
    told = ("I'm allergic to peanuts", "ich bin gegen Nüsse allergisch", "卵アレルギーです")
    for text in told:
        await t.ask(person, person.direct, text)
    answer = await t.ask(person, person.direct, "何を食べてはいけない？")
    assert all(text in answer.text for text in told)


async def test_direct_messages_are_named_in_the_language_of_the_answer(offline_service: Live) -> None:
    t = offline_service
    person = t.member("Greta")
    await t.ask(person, person.direct, "merk dir, dass mein Zahnarzt in der Elmstraße ist")
    answer = await t.ask(person, person.direct, "wo ist mein Zahnarzt?")
    assert ", in Direktnachrichten)" in answer.text


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
