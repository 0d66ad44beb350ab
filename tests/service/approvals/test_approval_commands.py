"""Answering by commands, seeing the details, and requests that come from direct messages."""

import json

import pytest

from tests.service.live_service import (
    DONE,
    LABELS,
    WAITS,
    Live,
    answer,
    as_seen,
    carry,
    decided,
    keep,
    labels,
    refused,
    said_in,
)
from tests.wire.model import Answer, Calls

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_approve_suggests_what_waits_and_allows_it(asking: Live) -> None:
    t, content = asking, "The plover has eggs."
    channel = t.guild.text_channel("approve")
    card = await t.waiting(t.ana, channel, content, DONE)
    request = t.request_of(content)
    (choice,) = await t.olga.autocomplete("permits approve", "request", "")
    why = "the agent's rules require approval for “long-term memory”"
    named = f"long-term memory #{str(request)[-6:]}, asked by Annie: {why}"
    assert (choice.value, choice.name) == (str(request), named)
    assert [found.value for found in await t.olga.autocomplete("permits approve", "request", "long-t")] == [
        str(request)
    ]
    assert await t.olga.autocomplete("permits approve", "request", "send") == []
    assert await t.ana.autocomplete("permits approve", "request", "", channel) == []
    refused(
        await t.ana.command("permits approve", {"request": str(request)}, channel), "no such request for you to answer"
    )
    answered = await t.olga.command("permits approve", {"request": choice.value}, channel)
    assert answered.ephemeral
    assert decided(t.olga, "Allowed once").match(answered.text)
    await t.finished(card, channel)
    assert t.times_kept(content) == 1
    assert await t.olga.autocomplete("permits approve", "request", "") == []
    assert t.record_of(request) == ["asked", "refused", "answered", "used"]
    assert t.leaked("plover") == []


async def test_a_request_is_chosen_from_the_list_and_answered_under_its_arguments(asking: Live) -> None:
    t, content = asking, "The dunlin is *asleep*."
    channel = t.guild.text_channel("listed")
    card = await t.waiting(t.ana, channel, content, DONE)
    request = t.request_of(content)
    listed = (await t.olga.command("permits list")).shown
    shown = (await t.olga.select(listed, "Choose one", f"request={request}")).shown
    assert f'"content": "{content}"' in shown.text
    assert labels(shown) == ["Allow once", "Deny"]
    await t.olga.press(shown, "Allow once")
    assert decided(t.olga, "Allowed once").match(await t.final(shown))
    assert labels(shown) == [], "in place of the question"
    await t.finished(card, channel)
    assert t.times_kept(content) == 1
    again = (await t.olga.command("permits show", {"request": str(request)})).shown
    assert ("Allowed once by" in again.text, again.buttons) == (True, [])


async def test_a_grant_is_listed_holds_and_is_revoked(asking: Live) -> None:
    t, content = asking, "The tern is on the pier."
    channel = t.guild.text_channel("grants")
    card = await t.waiting(t.ana, channel, content, DONE)
    waiting = (await t.olga.command("permits list")).text
    assert "- long-term memory: " in waiting
    assert f"; Remember “{content}”; asked by An" in waiting
    assert f" #{str(t.request_of(content))[-6:]}" in waiting, "with the number that `/permits approve` takes"
    pressed = await answer(t.olga, card, "For 1 hour")
    assert decided(t.olga, "Allowed for 1 hour").fullmatch(pressed.text.rstrip("."))
    await t.finished(card, channel)
    assert "Allowed for 1 hour" in card.text
    listed = await t.olga.command("permits list")
    assert (
        "Carina: long-term memory (operation: “insert”), until " in listed.shown.text
    )  # what the tool says it is bound to
    assert listed.text.endswith(f"; allowed by <@{t.olga.id}>"), "who allowed it"
    assert f"discord:{t.olga.id}" not in listed.text
    assert listed.text.startswith("Nothing is waiting for you."), "it waits no more"

    t.model.script(Calls(keep(content)), Answer("At once."))
    assert (await t.ask(t.ana, channel, "<@bot> again")).text == "At once."
    assert t.times_kept(content) == 2

    (choice,) = await t.olga.autocomplete("admin permits revoke", "permit", "memory")
    assert await t.ana.autocomplete("admin permits revoke", "permit", "", t.ana.direct) == []
    refused(await t.ana.command("admin permits revoke", {"permit": choice.value}, t.ana.direct), "Only an admin may")
    assert (await t.ana.command("permits list", channel=channel)).text == "Nothing is waiting for you."
    ended = await t.olga.command("admin permits revoke", {"permit": choice.value})
    assert ended.text.startswith("Revoked: Carina: long-term memory")
    refused(await t.olga.command("admin permits revoke", {"permit": choice.value}), "no lasting permission")
    refused(await t.olga.command("admin permits revoke", {"permit": "9" * 20}), "no lasting permission")
    nothing = "Nothing is waiting for you.\nThere are no lasting permissions."
    assert (await t.olga.command("permits list")).text == nothing

    card = await t.waiting(t.ana, channel, content, "No.")
    assert t.times_kept(content) == 2, "it waits again"
    await t.olga.press(card, "Deny")
    await t.finished(card, channel, "No.")


async def test_details_show_everything_to_who_is_asked(asking: Live) -> None:
    t, content = asking, "The egret is\u202e ``` @everyone\u200b there."
    channel = t.guild.text_channel("details")
    t.asks(content, "No.")
    await t.ask(t.ana, channel, "<@bot> keep this for me")
    (request,) = t.rows("SELECT max(id) FROM permission_requests")[0]
    card = await t.olga.direct.wait_for_bot(lambda m: any(str(request) in each["custom_id"] for each in m.buttons))
    details = await t.olga.press(card, "Details")
    assert details.ephemeral
    assert r"Remember “The egret is\u202e \`\`\` \@everyone\u200b there.”" in card.text
    for text in (card.text, details.text):
        assert "egret is\\u202e \\u0060\\u0060\\u0060 @everyone\\u200b there" in text
        assert text.count("```") == 2
    assert "It is waiting for an answer." in details.text
    assert t.status_of(request) == "waiting"
    before = as_seen(card)
    await t.olga.press(card, "Deny")
    await t.finished(card, channel, "No.")
    assert decided(t.olga, "Denied").search((await t.olga.press(before, "Details")).text)


async def test_long_arguments_come_as_a_file_on_the_card_and_in_the_details(asking: Live) -> None:
    t, content = asking, " ".join(f"Sentence {n} about the bittern." for n in range(120))
    channel = t.guild.text_channel("long")
    card = await t.waiting(t.ana, channel, content, DONE)
    request = t.request_of(content)
    details = await t.olga.press(card, "Details")
    assert details.message is not None
    assert details.ephemeral
    for message in (card, details.message):
        (file,) = message.attachments
        assert file.filename == f"request-{request}.json"
        assert json.loads(file.data)["content"] == content
        assert "Sentence 119" not in message.text
    assert "The file has the full text." in card.text
    await t.olga.press(card, "Allow once")
    await t.finished(card, channel)
    assert len(card.attachments) == 1
    assert t.times_kept(content) == 1
    assert t.leaked("bittern") == []


async def test_what_was_said_in_a_dm_is_withheld_from_the_owner_everywhere(asking: Live) -> None:
    t, content = asking, "Bea hides a wallaby."
    bea = t.member("Bea")
    card = await t.waiting(bea, bea.direct, content, DONE)
    assert labels(card) == LABELS
    assert "not shown to anyone else" in card.text
    shown = [card.text, (await t.olga.press(card, "Details")).text, (await t.olga.command("permits list")).text]
    shown += [choice.name for choice in await t.olga.autocomplete("permits approve", "request", "")]
    assert "(hidden, because they come from" in shown[1]
    request = str(t.request_of(content))
    refused(
        await t.olga.command("permits approve", {"request": request, "length": "always"}), "needs approval each time"
    )
    shown.append((await t.olga.press(card, "Allow once")).text)
    await t.finished(card, bea.direct)
    shown += [entry.content for entry in t.olga.direct.log]
    assert not [text for text in shown if "wallaby" in text]
    assert t.times_kept(content) == 1
    assert said_in(bea.direct) == [WAITS, DONE]


async def test_carrying_words_from_a_dm_asks_who_said_them_and_for_a_stranger_the_owner_blindly(asking: Live) -> None:
    t, words = asking, "Cleo has a secret emu."
    cleo, channel = t.member("Cleo"), t.guild.text_channel("hall")
    t.model.script(Answer("Hello."), Calls(carry(channel, words)), Answer(WAITS), Answer("Olga too."), Answer(DONE))
    await t.ask(cleo, channel, "<@bot> hello")
    before = [message.id for message in t.olga.direct.from_bot]
    await cleo.dm("tell them about the emu")
    await cleo.direct.wait_for_bot(lambda m: m.text == WAITS)
    card, request = await t.card_of(words, cleo.direct), t.request_of(words)
    assert labels(card) == LABELS
    assert words in card.text
    assert f"What: Say “{words}” in \\#hall in Home (`send_message`)" in card.text
    assert "if you allow it, an approver will be asked, too" in card.text
    assert words in (await cleo.press(card, "Details")).text
    assert await t.olga.autocomplete("permits approve", "request", "") == []
    refused(await t.olga.command("permits approve", {"request": str(request)}), "no such request for you to answer")
    assert [message.id for message in t.olga.direct.from_bot] == before, "the owner is not asked for these words"

    assert decided(cleo, "Allowed once").match((await cleo.press(card, "Allow once")).text)
    await t.finished(card, cleo.direct, "Olga too.")
    second = await t.card_of(words)
    assert labels(second) == LABELS
    assert await cleo.autocomplete("permits approve", "request", "") == [], "what she has answered asks her no more"
    refused(
        await cleo.command("permits approve", {"request": str(t.request_of(words))}),
        "no such request for you to answer",
    )
    assert said_in(channel) == ["Hello."]
    await t.olga.press(second, "Allow once")
    await t.finished(second, cleo.direct)
    await channel.wait_for_bot(lambda m: m.text == words)
    assert said_in(channel) == ["Hello.", words]
    assert not [entry for entry in t.olga.direct.log if "emu" in entry.content]
    assert t.record_of(request) == ["asked", "refused", "answered"]
    assert t.record_of(t.request_of(words)) == ["asked", "refused", "answered", "used"]
