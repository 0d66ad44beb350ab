"""What an answer becomes on Discord: pieces, files, previews, and nobody woken who was not meant."""

import itertools
import re

import pytest

from tests.service.approvals import rows
from tests.service.live_service import Live, until
from tests.wire.discord import Message
from tests.wire.model import Answer

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIMIT = 2000
CODE = "\n".join(f"value_{number} = compute({number})" for number in range(120))
PROSE = " ".join(f"This is sentence number {number} of the explanation." for number in range(25))


async def test_an_answer_of_5000_characters_comes_in_pieces_with_their_code_blocks_closed(
    scripted: Live,
) -> None:
    channel = scripted.guild.text_channel("pieces")
    text = f"{PROSE}\n\n```python\n{CODE}\n```\n\n{PROSE}"
    assert 4_900 < len(text) < 5_700
    scripted.model.script(Answer(text))
    said = await scripted.ana.say(channel, "<@bot> explain")
    await channel.wait_for_bot(lambda m: m.text.endswith(PROSE[-40:]) and m is not channel.from_bot[0], after=said)
    pieces = [message.content for message in channel.from_bot]
    assert 3 <= len(pieces) <= 5
    assert all(len(piece) <= LIMIT and piece.count("```") % 2 == 0 for piece in pieces)
    assert any(piece.startswith("```python\n") for piece in pieces[1:]), "an open block goes on as one"
    whole = "\n".join(pieces)
    assert [line for line in whole.splitlines() if line.startswith("value_")] == CODE.splitlines()
    assert words(whole) == words(text)


async def test_an_answer_of_2001_characters_is_two_messages(scripted: Live) -> None:
    channel = scripted.guild.text_channel("just-over")
    scripted.model.script(Answer("x" * (LIMIT + 1)))
    said = await scripted.ana.say(channel, "<@bot> write")
    await channel.wait_for_bot(lambda _: len(channel.from_bot) == 2, after=said)
    assert "".join(message.content for message in channel.from_bot) == "x" * (LIMIT + 1)


async def test_a_very_long_answer_is_a_file_with_its_beginning_shown(scripted: Live) -> None:
    channel = scripted.guild.text_channel("long")
    text = "\n\n".join(f"{number}. {PROSE}" for number in range(30))
    scripted.model.script(Answer(text))
    said = await scripted.ana.say(channel, "<@bot> everything")
    last = await channel.wait_for_bot(lambda m: bool(m.attachments), after=said)
    assert last.attachments[0].data.decode() == text
    first, second = channel.from_bot
    assert text.startswith(first.content[:500])
    assert second is last


async def test_a_slow_answer_is_shown_while_it_is_written_and_replaced_by_the_whole_of_it(
    scripted: Live,
) -> None:
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


async def test_a_slow_answer_of_several_messages_keeps_its_preview_as_the_first(scripted: Live) -> None:
    channel = scripted.guild.text_channel("long-previews")
    text = f"{PROSE}\n\n{PROSE}"
    scripted.model.script(Answer(text, chunks=16, pace=0.25))
    said = await scripted.ana.say(channel, "<@bot> tell me more")
    await channel.wait_for_bot(lambda m: m.content.endswith(PROSE[-40:]) and len(channel.from_bot) == 2, after=said)
    assert words("\n".join(message.content for message in channel.from_bot)) == words(text)
    assert len([entry for entry in channel.log if entry.from_bot and entry.what == "create"]) == 2


async def test_an_answer_wakes_only_the_person_it_is_for(scripted: Live) -> None:
    channel, bob = scripted.guild.text_channel("mentions-out"), scripted.member("Bruno")
    role = scripted.guild.role("all hands", mentionable=True)
    ana = scripted.ana
    scripted.guild.set_permissions(scripted.guild.bot_role, "mention_everyone", "manage_webhooks")
    text = f"@everyone @here {role.mention} {bob.mention} {ana.mention}: look"
    scripted.model.script(Answer(text))
    answer = await scripted.ask(ana, channel, "<@bot> call them all")
    assert answer.content == text
    assert wakes(answer) == ([ana], [], False)


async def test_a_preview_wakes_nobody_and_neither_does_its_last_edit(scripted: Live) -> None:
    channel, bob = scripted.guild.text_channel("mentions-preview"), scripted.member("Berta")
    text = f"@everyone {bob.mention} listen: " + "la " * 30 + "end"
    scripted.model.script(Answer(text, chunks=28, pace=0.25))  # the last half of it only after a preview was due
    said = await scripted.ana.say(channel, "<@bot> sing")
    answer = await channel.wait_for_bot(lambda m: m.content == text, after=said)
    assert wakes(answer) == ([], [], False)
    changes = [r for r in scripted.server.requests if f"/channels/{channel.id}/messages" in r.path and r.body]
    assert {change.method for change in changes} == {"POST", "PATCH"}
    assert all(change.body["allowed_mentions"]["parse"] == [] for change in changes)


async def test_a_silent_answer_says_nothing(scripted: Live) -> None:
    channel = scripted.guild.text_channel("silence")
    scripted.model.script(Answer(" \n"), Answer("here I am"))
    await scripted.ana.say(channel, "<@bot> say nothing")
    over = "SELECT status FROM turns WHERE place_id = ?"  # what is said before that would join it
    await until(lambda: rows(scripted, over, f"discord:{channel.id}") == [("done",)], what="the end of the silent turn")
    await scripted.ask(scripted.ana, channel, "<@bot> and now?")
    assert len(scripted.model.requests) == 2
    assert [message.content for message in channel.from_bot] == ["here I am"]


async def test_bare_links_are_not_unfurled(scripted: Live) -> None:
    channel = scripted.guild.text_channel("links")
    scripted.model.script(Answer("see https://example.org/page"))
    answer = await scripted.ask(scripted.ana, channel, "<@bot> where?")
    assert answer.flags & 1 << 2, "embeds are suppressed"


def words(text: str) -> list[str]:
    """The words of a text, code fences left out."""
    return re.sub(r"```\w*", " ", text).split()


def wakes(message: Message) -> tuple[list[object], list[int], bool]:
    """Persons, roles, and whether everybody."""
    return [*message.mentions], message.mention_roles, message.mention_everyone


async def test_what_nobody_sees_and_what_hides_where_it_leads_does_not_leave(scripted: Live) -> None:
    channel = scripted.guild.text_channel("plain-words")
    evil = "https://evil.example/x"
    scripted.model.script(Answer(f"a\u202eb\x1b[31m\x07\u200bc [https://discord.com]({evil}) [evil.example]({evil})"))
    answer = await scripted.ask(scripted.ana, channel, "<@bot> hello")
    assert answer.content == f"ab[31mc https://discord.com ({evil}) [evil.example]({evil})"
