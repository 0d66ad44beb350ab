"""How turns follow what people do while they run, and what is seen of an answer, with a scripted model."""

import itertools

import pytest

from tests.service.live_service import Live, until
from tests.wire.discord import Message, Upload
from tests.wire.model import Answer, Held, Request, Slow, text_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_mention_is_answered_once_and_typing_is_shown_meanwhile(scripted: Live) -> None:
    channel = scripted.guild.text_channel("mentions")
    scripted.model.script(Held(lambda: channel.typings, Answer("Hello Annie.")))
    said = await scripted.ana.say(channel, "<@bot> hello")
    answer = await channel.wait_for_bot(after=said)
    assert answer.text == "Hello Annie."
    assert len(channel.from_bot) == 1


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


async def test_a_slow_answer_is_shown_while_it_is_written_and_replaced_by_the_whole_of_it(scripted: Live) -> None:
    channel = scripted.guild.text_channel("previews")
    text = "The quick brown fox jumps over the lazy dog, again and again, until the evening comes."
    scripted.model.script(Answer(text, chunks=28, pace=0.25))
    said = await scripted.ana.say(channel, "<@bot> tell me slowly")
    answer = await channel.wait_for_bot(lambda m: m.content == text, after=said)
    history = [entry for entry in channel.log if entry.from_bot]
    assert [entry.what for entry in history[:2]] == ["create", "edit"]
    assert {entry.message_id for entry in history} == {answer.id}, "one message, edited"
    assert len({entry.content for entry in history}) == len(history), "nothing is shown twice"
    shown = [entry.content.removesuffix("…").strip() for entry in history]
    assert all(text.startswith(part) and part for part in shown)
    assert shown == sorted(shown, key=len), "it only grows"
    previews = history[:-1]
    pauses = [later.clock - earlier.clock for earlier, later in itertools.pairwise(previews)]
    assert all(pause >= 1 for pause in pauses)


async def test_a_preview_wakes_nobody_and_neither_does_its_last_edit(scripted: Live) -> None:
    channel, bob = scripted.guild.text_channel("mentions-preview"), scripted.member("Berta")
    text = f"@everyone {bob.mention} listen: " + "la " * 30 + "end"
    scripted.model.script(Answer(text, chunks=28, pace=0.25))  # the last half of it only after a preview was due
    said = await scripted.ana.say(channel, "<@bot> sing")
    answer = await channel.wait_for_bot(lambda m: m.content == text, after=said)
    assert (answer.mentions, answer.mention_roles, answer.mention_everyone) == ([], [], False)
    changes = [r for r in scripted.server.requests if f"/channels/{channel.id}/messages" in r.path and r.body]
    assert {change.method for change in changes} == {"POST", "PATCH"}
    assert all(change.body["allowed_mentions"]["parse"] == [] for change in changes)


async def test_a_file_without_a_word_is_a_message_and_a_bare_mention_too(scripted: Live) -> None:
    ana = scripted.ana
    scripted.model.script(Answer("a poem"), Answer("yes?"))
    said = await ana.dm("", attachments=[Upload("poem.txt", b"Roses are red", "text/plain")])
    await ana.direct.wait_for_bot(after=said)
    assert "Roses are red" in scripted.model.requests[0].last_user
    channel = scripted.guild.text_channel("bare-mention")
    answer = await scripted.ask(ana, channel, "<@bot>")
    assert answer.text == "yes?"


def texts(messages: list[Message]) -> list[str]:
    return [message.text for message in messages]


def shown(request: Request) -> str:
    """The whole conversation that the model was shown."""
    return "\n".join(text_of(message) for message in request.messages)
