"""How turns follow what people do while and after they run, with a scripted model."""

import pytest

from tests.service.approvals import rows
from tests.service.live_service import Live, until
from tests.wire.discord import Message
from tests.wire.model import Answer, Held, Request, Slow, text_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


def after_hearing(t: Live, words: str, answer: str) -> Held:
    """An answer that the model gives once the program has heard somebody say that, which nobody said before."""
    return Held(lambda: rows(t, "SELECT 1 FROM messages WHERE instr(content, ?)", words), Answer(answer))


async def test_a_mention_is_answered_once_and_typing_is_shown_meanwhile(scripted: Live) -> None:
    channel = scripted.guild.text_channel("mentions")
    scripted.model.script(Held(lambda: channel.typings, Answer("Hello Annie.")))
    said = await scripted.ana.say(channel, "<@bot> hello")
    answer = await channel.wait_for_bot(after=said)
    assert answer.text == "Hello Annie."
    assert len(channel.from_bot) == 1


async def test_what_the_same_person_says_meanwhile_joins_the_turn(scripted: Live) -> None:
    channel = scripted.guild.text_channel("joining")
    scripted.model.script(after_hearing(scripted, "second question", "only the first"), Answer("both"))
    await scripted.ana.say(channel, "<@bot> first question")
    await scripted.model.wait_for(1)
    said = await scripted.ana.say(channel, "<@bot> second question")
    answer = await channel.wait_for_bot(after=said)
    assert answer.text == "both"
    assert texts(channel.from_bot) == ["both"]
    both = shown(scripted.model.requests[1])
    assert both.index("first question") < both.index("second question")
    assert "only the first" not in both


async def test_another_persons_words_wait_for_the_turn_and_are_answered_in_order(scripted: Live) -> None:
    channel, bob = scripted.guild.text_channel("waiting"), scripted.member("Bob")
    scripted.model.script(after_hearing(scripted, "question of Bob", "for Annie"), Answer("for Bob"))
    await scripted.ana.say(channel, "<@bot> question of Annie")
    await scripted.model.wait_for(1)
    said = await bob.say(channel, "<@bot> question of Bob")
    await channel.wait_for_bot(lambda m: m.text == "for Bob", after=said)
    assert texts(channel.from_bot) == ["for Annie", "for Bob"]
    assert "question of Bob" not in shown(scripted.model.requests[0])
    assert "question of Bob" in scripted.model.requests[1].last_user


async def test_an_edit_before_the_answer_begins_the_turn_again(scripted: Live) -> None:
    channel = scripted.guild.text_channel("edit-before")
    scripted.model.script(Slow(20, Answer("blue it is")), Answer("green it is"))
    said = await scripted.ana.say(channel, "<@bot> paint it blue")
    await scripted.model.wait_for(1)
    await scripted.ana.edit(said, "<@bot> paint it green")
    await channel.wait_for_bot(after=said)
    assert texts(channel.from_bot) == ["green it is"]
    assert "blue" not in shown(scripted.model.requests[1])
    await until(lambda: scripted.model.requests[0].abandoned)


async def test_an_edit_after_the_answer_is_in_the_transcript(scripted: Live) -> None:
    channel = scripted.guild.text_channel("edit-after")
    scripted.model.script(Answer("noted"), Answer("of course"))
    said = await scripted.ana.say(channel, "<@bot> the meeting is on Monday")
    await channel.wait_for_bot(after=said)
    await scripted.ana.edit(said, "<@bot> the meeting is on Tuesday")
    await scripted.ask(scripted.ana, channel, "<@bot> did you see?")
    transcript = shown(scripted.model.requests[1])
    assert "Monday" not in transcript
    assert "the meeting is on Tuesday" in transcript
    assert "edited" in transcript


async def test_a_deleted_question_is_not_answered_and_leaves_the_transcript(scripted: Live) -> None:
    channel = scripted.guild.text_channel("deleting")
    scripted.model.script(Slow(20, Answer("never")), Answer("to the second"))
    said = await scripted.ana.say(channel, "<@bot> my salary is 4711")
    await scripted.model.wait_for(1)
    await scripted.ana.delete(said)
    await until(lambda: scripted.model.requests[0].abandoned)
    await scripted.ask(scripted.ana, channel, "<@bot> something else")
    assert texts(channel.from_bot) == ["to the second"]
    assert "4711" not in shown(scripted.model.requests[1])


async def test_a_reaction_to_an_answer_is_in_the_transcript_and_is_not_answered_by_itself(
    scripted: Live,
) -> None:
    channel = scripted.guild.text_channel("reactions")
    scripted.model.script(Answer("I would take the blue one"), Answer("you liked it"))
    answer = await scripted.ask(scripted.ana, channel, "<@bot> which one?")
    await scripted.ana.react(answer, "👍")
    await scripted.ask(scripted.ana, channel, "<@bot> and?")
    assert "👍" in shown(scripted.model.requests[1])
    assert len(scripted.model.requests) == 2


async def test_an_answer_to_an_old_question_refers_to_it_when_the_channel_has_moved_on(scripted: Live) -> None:
    channel, bob = scripted.guild.text_channel("moved-on"), scripted.member("Bodo")
    scripted.model.script(after_hearing(scripted, "talking of something else", "late"), Answer("to Bodo"))
    said = await scripted.ana.say(channel, "<@bot> a question")
    await scripted.model.wait_for(1)
    await bob.say(channel, "<@bot> talking of something else")
    answer = await channel.wait_for_bot(lambda m: m.text == "late", after=said)
    assert answer.reply_to is said
    assert answer.mentions == []
    await channel.wait_for_bot(lambda m: m.text == "to Bodo")


def texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]


def shown(request: Request) -> str:
    """The whole conversation that the model was shown."""
    return "\n".join(text_of(message) for message in request.messages)
