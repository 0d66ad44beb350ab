"""A call that needs a yes, over real sockets: asked, pressed, run once; and presses that must do nothing."""

import asyncio
import re

import pytest

from tests.service.live_service import (
    ANSWER_SECONDS,
    DONE,
    LABELS,
    WAITS,
    Live,
    agreed,
    answer,
    answered_within,
    as_seen,
    decided,
    forge,
    labels,
    refused,
    said_in,
)
from tests.wire.discord import GuildChannel, Message

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def still_open(t: Live, card: Message, channel: GuildChannel, content: str, *record: str) -> None:
    """Nothing is decided yet, and the next press of the owner is what decides it."""
    request = t.request_of(content)
    assert (t.status_of(request), t.record_of(request)) == ("waiting", ["asked", *record])
    assert (await t.olga.press(card, "Allow once")).text.startswith("Allowed once")
    await t.finished(card, channel)
    assert t.times_kept(content) == 1


async def test_the_whole_way_from_the_question_to_the_answer(asking: Live) -> None:
    t, content = asking, "The quagga is in the barn."
    channel, bea = t.guild.text_channel("whole"), t.member("Bea")
    card = await t.waiting(bea, channel, content, DONE)
    said = next(message for message in channel.messages if message.author is bea)
    request = t.request_of(content)
    assert labels(card) == LABELS
    assert f'```\noperation: "insert"\ncontent: "{content}"\n```' in card.text
    assert f"What: Remember “{content}” (`recall`)" in card.text
    assert t.times_kept(content) == 0

    await t.ana.say(channel, "what a day")
    pressed = await t.olga.press(card, "Allow once")
    assert pressed.ephemeral
    assert decided(t.olga, "Allowed once").fullmatch(pressed.text.rstrip("."))
    answer = await channel.wait_for_bot(lambda m: m.text == DONE)
    assert answer.reply_to is said
    assert decided(t.olga, "Allowed once").search(await t.final(card))
    assert t.times_kept(content) == 1
    assert t.status_of(request) == "used"
    assert t.record_of(request) == ["asked", "answered", "used"]
    assert [message.text for message in channel.from_bot] == [WAITS, DONE]
    assert t.leaked("quagga") == []
    assert f"waits for approval {request}" in t.model.requests[-2].results[-1]
    happened = (await bea.command("memory activity", channel=channel)).text
    assert "Carina got an answer to a request" in happened
    assert str(request) not in happened
    assert "UTC" not in happened
    told = rf"Request {request} .*: Allowed once by the owner, \d{{4}}-\d\d-\d\d \d\d:\d\d UTC\. The call is made now"
    assert re.search(told, t.model.requests[-1].last_user), "agents cannot read Discord's times"
    assert t.model.requests[-1].results[-1].startswith("stored")


@pytest.mark.parametrize("verdict", ["Allow once", "Always", "Details"])
async def test_a_stranger_is_refused_and_nobody_else_sees_it(asking: Live, verdict: str) -> None:
    t, content = asking, f"The narwhal is out ({verdict})."
    channel, mallory = t.guild.text_channel("strangers"), t.member("Mallory")
    card = await t.waiting(t.ana, channel, content, DONE)
    before = [m.id for m in channel.messages]
    pressed = await answer(mallory, as_seen(card, channel), verdict)
    looked = verdict == "Details"
    refused(pressed, "no such request for you to answer" if looked else "You cannot answer this request")
    assert "narwhal" not in pressed.text
    assert [m.id for m in channel.messages] == before
    await still_open(t, card, channel, content, *["refused"] * (not looked))


@pytest.mark.parametrize(
    ("custom_id", "said"),
    [
        ("carina:permit:once:1", "no such request"),
        ("carina:permit:once:9999999999999999999", "no such request"),
        ("carina:permit:details:1", "no such request for you to answer"),
        ("carina:permit:maybe:{}", "This button no longer works"),
        ("carina:permit:once:-1", None),
        ("carina:permit:once:{}; --", None),
    ],
)
async def test_a_made_up_button_does_nothing(asking: Live, custom_id: str, said: str | None) -> None:
    t, content = asking, f"The okapi is shy ({custom_id})."
    channel = t.guild.text_channel("forged")
    card = await t.waiting(t.ana, channel, content, DONE)
    with answered_within(t, 1.0 if said is None else ANSWER_SECONDS):
        forged = await t.olga.press(card, forge(card, "Details", custom_id.format(t.request_of(content))))
    assert forged.failed == (said is None)
    if said is not None:
        refused(forged, said)
    await still_open(t, card, channel, content)


@pytest.mark.parametrize("erased", [True, False])
async def test_who_is_erased_or_takes_it_back_leaves_no_card_and_nothing_to_allow(asking: Live, erased: bool) -> None:
    t, content = asking, f"The whimbrel hides ({erased})." + " It hides well." * 100
    bea, channel = t.member(f"Bea {erased}"), t.guild.text_channel("erased")
    card = await t.waiting(bea, channel, content)
    before = as_seen(card)
    assert len(card.attachments) == 1
    if erased:
        asked = await bea.command("privacy erase", channel=channel)
        assert asked.message is not None
        assert (await agreed(bea, asked.message)).text.startswith("Erased")
    else:
        await bea.delete(next(message for message in channel.messages if message.author is bea))
    await t.server.until(lambda: card.deleted, what="the card's end")
    refused(await t.olga.press(before, "Allow once"), "This request was withdrawn")
    assert t.times_kept(content) == 0
    assert t.rows("SELECT 1 FROM outbox WHERE instr(content || detail, 'whimbrel')") == []


async def test_a_press_that_comes_too_late_for_discord_does_nothing_and_the_next_one_works(asking: Live) -> None:
    t, content = asking, "The lynx is near."
    channel = t.guild.text_channel("late")
    card = await t.waiting(t.ana, channel, content, DONE)
    with answered_within(t, 1.0):
        t.server.faults.hold_events()
        lost = await t.olga.press(card, "Allow once")
        assert lost.failed
        t.server.faults.release_events()
        await t.service.logged("interaction_too_late")
    assert t.server.requests_to("POST", "/interactions/*/callback")[-1].status == 404
    await still_open(t, card, channel, content)


async def pressed_in_vain(t: Live, card: Message) -> None:
    """The owner presses, and the answer to that does not come through."""
    before = len(t.service.logged_events("interaction_unanswered"))
    pressing = asyncio.create_task(t.olga.press(card, "Allow once", timeout=60))
    await t.service.logged("interaction_unanswered", count=before + 1)
    pressing.cancel()


@pytest.mark.parametrize("applied", [False, True])
async def test_a_press_that_breaks_on_the_wire_does_nothing_and_the_next_one_works(asking: Live, applied: bool) -> None:
    t, content = asking, f"The puma is near ({applied})."
    channel, faults = t.guild.text_channel("broken"), t.server.faults
    card = await t.waiting(t.ana, channel, content, DONE)
    path = "/interactions/*/callback"
    rule = faults.cut_after_applying("POST", path) if applied else faults.cut_before_applying("POST", path)
    await pressed_in_vain(t, card)
    assert rule.hits == 1
    await still_open(t, card, channel, content)


async def test_a_decision_stands_though_who_made_it_cannot_be_told(asking: Live) -> None:
    t, content = asking, "The ocelot is near."
    channel = t.guild.text_channel("untold")
    card = await t.waiting(t.ana, channel, content, DONE)
    t.server.faults.cut_before_applying("POST", f"/webhooks/{t.server.application_id}/*")
    await pressed_in_vain(t, card)
    await t.finished(card, channel)
    assert decided(t.olga, "Allowed once").search(card.text)
    assert t.times_kept(content) == 1
    assert said_in(channel) == [WAITS, DONE]


async def test_a_card_is_edited_at_last_when_discord_fails_at_it(asking: Live) -> None:
    t, content = asking, "The crane is back."
    channel = t.guild.text_channel("failing")
    card = await t.waiting(t.ana, channel, content, DONE)
    path = f"/channels/{t.olga.direct.id}/messages/{card.id}"
    broken = [t.server.faults.fail("PATCH", path, 502), t.server.faults.fail("PATCH", path, 503, times=99)]
    await t.olga.press(card, "Allow once")
    await channel.wait_for_bot(lambda m: m.text == DONE)
    assert t.times_kept(content) == 1
    await t.server.until(lambda: all(rule.hits for rule in broken))
    assert labels(card) == LABELS, "the decision stands before the card says so"
    t.server.faults.clear()
    assert decided(t.olga, "Allowed once").search(await t.final(card))
    assert t.times_kept(content) == 1
    assert said_in(channel) == [WAITS, DONE]
