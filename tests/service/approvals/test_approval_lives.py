"""Requests that outlive something: the process, their time, their row; and very many of them at once."""

import asyncio
import functools
from pathlib import Path

import pytest

from bot.agents.permissions.broker import MOST_WAITING
from tests.service.live_service import (
    DONE,
    QUESTION,
    WAITS,
    Live,
    answered_within,
    asking_service,
    decided,
    keep,
    said_in,
)
from tests.wire.discord import Channel, Message
from tests.wire.model import Answer, Calls, Reply, Request

SOON_OVER = "[approvals]\nexpires_hours = 0.002\n"  # long enough for a card to be seen before
CROWDS, EACH = 5, 24


async def test_a_card_from_before_a_kill_works_after_it(tmp_path: Path) -> None:
    async with asking_service(tmp_path) as t:
        content = "The dodo is back."
        card = await t.waiting(t.ana, t.general, content)
        asked = next(message for message in t.general.messages if message.author is t.ana)
        await t.service.restart(kill=True)
        await t.olga.say(t.general, "this and that")
        t.model.script(Answer(DONE))
        assert decided(t.olga, "Allowed once").match((await t.olga.press(card, "Allow once")).text)
        assert (await t.finished(card, t.general)).reply_to is asked
        assert t.times_kept(content) == 1
        assert said_in(t.general) == [WAITS, DONE]


async def test_a_decision_is_carried_out_after_a_kill_that_came_right_behind_it(tmp_path: Path) -> None:
    async with asking_service(tmp_path) as t:
        content = "The auk is back."
        card = await t.waiting(t.ana, t.general, content)
        t.model.default = lambda _: Answer(DONE)
        path = f"/channels/{t.olga.direct.id}/messages/{card.id}"
        t.server.faults.hang("PATCH", path, times=99)
        await t.olga.press(card, "Allow once")
        await t.server.until(lambda: t.server.requests_to("PATCH", path))
        await t.service.kill()
        t.server.faults.clear()
        await t.service.start()
        await t.finished(card, t.general)
        assert decided(t.olga, "Allowed once").search(card.text)
        assert t.times_kept(content) == 1
        assert said_in(t.general) == [WAITS, DONE]


# --------------------------------------------------------------------------------------------------------- expiry


async def test_what_ends_while_nobody_runs_is_told_at_the_next_start(tmp_path: Path) -> None:
    async with asking_service(tmp_path, toml=SOON_OVER) as t:
        content = "The gull is late."
        card = await t.waiting(t.ana, t.general, content, "Nobody answered in time.")
        await t.service.kill()
        await t.expired(t.request_of(content))
        await t.service.start()
        await t.finished(card, t.general, "Nobody answered in time.")
        assert "Expired without an answer" in await t.final(card)
        assert said_in(t.general) == [WAITS, "Nobody answered in time."]


# ----------------------------------------------------------------------------------------------------------- many


@pytest.mark.timeout(300)
async def test_a_hundred_at_once_are_bounded_and_none_is_lost(tmp_path: Path) -> None:
    """Five channels in which an agent asks for too much in one breath; then everything is pressed in one moment."""
    async with asking_service(tmp_path) as t:
        t.model.default = all_at_once
        channels = [t.guild.text_channel(f"crowd-{number}") for number in range(CROWDS)]
        await asyncio.gather(*(t.ana.say(channel, f"<@bot> keep crowd-{n}") for n, channel in enumerate(channels)))
        for channel in channels:
            await channel.wait_for_bot(lambda m: m.text == WAITS, timeout=60)
        asked = [
            content for (content,) in t.rows("SELECT json_extract(arguments, '$.content') FROM permission_requests")
        ]
        assert len(asked) == len(set(asked)) == CROWDS * MOST_WAITING
        cards = await all_cards(t, len(asked))
        told = [result for request in t.model.requests for result in request.results]
        assert sum("are waiting already" in result for result in told) == CROWDS * (EACH - MOST_WAITING)

        lobby = t.guild.text_channel("lobby")
        with answered_within(t, 60.0):  # how fast so many are is not the question
            pressing = asyncio.gather(*(t.olga.press(card, "Allow once", timeout=60) for card in cards))
            assert (await t.ask(t.olga, lobby, "<@bot> hello", within=60)).text == "Hello in between."
            pressed = await pressing
        assert [each.text for each in pressed if not decided(t.olga, "Allowed once").match(each.text)] == []
        for channel in channels:
            await t.server.until(functools.partial(all_told, channel), 120, channel.name)
        for card in cards:
            await t.final(card)
        assert [t.times_kept(content) for content in asked] == [1] * len(asked)
        assert t.rows("SELECT DISTINCT status FROM permission_requests") == [("used",)]
        assert len(t.olga.direct.from_bot) == len(cards)


def all_at_once(request: Request) -> Reply:
    """Calls for all of a crowd, a word that they wait, and one for each when it was made; a greeting to others."""
    if request.results:
        return Answer(DONE if "stored" in request.results[-1] else WAITS)
    if "hello" in request.last_user:
        return Answer("Hello in between.")
    crowd = request.last_user.partition("keep ")[2].split()[0]
    return Calls(*(keep(f"{crowd} number {number}") for number in range(EACH)))


def all_told(channel: Channel) -> bool:
    return said_in(channel).count(DONE) == MOST_WAITING


async def all_cards(t: Live, count: int) -> list[Message]:
    def cards() -> list[Message]:
        return [message for message in t.olga.direct.from_bot if QUESTION in message.text]

    await t.server.until(lambda: len(cards()) >= count, 60, f"{count} cards")
    return cards()
