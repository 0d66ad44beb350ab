"""What could not be read back at once is read later, and whose direct messages nobody knows of are looked for."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import discord
import pytest

from memory.queue.missed_messages import Span
from memory.queue.notifications import Kind
from memory.store.ids import PersonId, PlaceId
from sources.discord.places import direct_place, person_id, place_id
from sources.discord.shared_state import StoredMessage
from tests.sources.running import Ear, KeptGaps, connected
from tests.wire import until
from tests.wire.discord import GuildChannel, Message, Person
from tests.wire.discord.server import DiscordServer


@pytest.fixture
def ana(server: DiscordServer) -> Person:
    person = server.person("ana")
    server.guild("Home").add(person)
    return person


def channel(server: DiscordServer, name: str = "general") -> GuildChannel:
    return next(iter(server.world.guilds.values())).text_channel(name)


def history(of: GuildChannel) -> str:
    return f"/channels/{of.id}/messages"


async def heard_before(ana: Person, general: GuildChannel) -> Ear:
    ear = Ear()
    first = await ana.say(general, "<@bot> before")
    ear.cursors[place_id(general.id)] = str(first.id)
    return ear


async def one_missed(server: DiscordServer, ana: Person) -> tuple[GuildChannel, Ear, Message]:
    """A channel in which one message was heard, and another not."""
    general = channel(server)
    return general, await heard_before(ana, general), await ana.say(general, "<@bot> missed")


def gap_for(ear: Ear, missed: Message) -> Span:
    """The gap in which a message is that counts as read."""
    place = place_id(missed.channel.id)
    after, ear.cursors[place] = ear.cursors[place], str(missed.id)
    return Span(place, after, str(missed.id + 1))


async def test_a_place_that_was_not_readable_once_is_read_although_somebody_spoke_there(
    server: DiscordServer, ana: Person
) -> None:
    general, ear, _ = await one_missed(server, ana)
    fault = server.faults.fail("GET", history(general), 503, times=3)
    ear.gaps.pause = 0.5
    async with connected(server, ear):
        await server.until(lambda: fault.hits > 0, 10)
        live = await ana.say(general, "<@bot> live")
        await ear.next(lambda heard: heard.text == "missed")
        await until(lambda: not ear.gaps.open)
    assert sorted(one.text for one in ear.heard) == ["live", "missed"]
    assert ear.cursors[place_id(general.id)] in {str(live.id), *(one.position for one in ear.heard)}
    assert (fault.hits, ear.gaps.tries, ear.gaps.closed) == (3, 2, {})


@pytest.mark.parametrize(("status", "code"), [(404, 10003), (403, 50001), (403, 50013)])
async def test_a_place_that_cannot_be_read_for_good_is_given_up(
    server: DiscordServer, ana: Person, status: int, code: int
) -> None:
    general, ear, _ = await one_missed(server, ana)
    after = ear.cursors[place_id(general.id)]
    fault = server.faults.fail("GET", history(general), status, code=code)
    async with connected(server, ear):
        await server.until(lambda: fault.hits > 0, 10)
        await ana.say(general, "<@bot> live")
        await ear.next(lambda heard: heard.text == "live")
    assert [span.after for span in ear.gaps.closed] == [after]
    assert ear.gaps.open == {}


async def test_a_place_without_the_right_to_read_its_history_is_given_up(server: DiscordServer, ana: Person) -> None:
    general, ear, _ = await one_missed(server, ana)
    general.deny(server.bot, "read_message_history")
    async with connected(server, ear):
        await ana.say(general, "<@bot> live")
        await ear.next(lambda heard: heard.text == "live")
    assert list(ear.gaps.closed.values()) == ["the bot cannot read the channel's history"]


async def test_a_place_of_which_only_the_id_is_known_at_first_is_read_later(
    server: DiscordServer, ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    general, ear, missed = await one_missed(server, ana)
    span = gap_for(ear, missed)
    ear.gaps = KeptGaps(open={span: "503"}, may_read=False)
    async with connected(server, ear):
        monkeypatch.setattr(discord.Client, "get_channel", lambda _client, _id: None)
        server.faults.fail("GET", f"/channels/{general.id}", 404, times=1)
        await ana.delete(missed)
        await ear.next(lambda heard: heard.kind is Kind.DELETE)
        ear.gaps.may_read = True
        await until(lambda: ear.gaps.tries or ear.gaps.closed)
    assert (ear.gaps.closed, [*ear.gaps.open]) == ({}, [span])


async def test_what_is_older_than_is_read_back_is_not_heard(server: DiscordServer, ana: Person) -> None:
    general, ear, _ = await one_missed(server, ana)
    async with connected(server, ear, read_back_days=1e-9):
        await ana.say(general, "<@bot> live")
        await ear.next(lambda heard: heard.text == "live")
    assert [one.text for one in ear.heard] == ["live"]


async def test_what_is_more_than_is_read_back_is_said(server: DiscordServer, ana: Person) -> None:
    general = channel(server)
    ear = await heard_before(ana, general)
    after = ear.cursors[place_id(general.id)]
    for number in range(6):
        await ana.say(general, f"<@bot> {number}")
    async with connected(server, ear, read_back_messages=4):
        heard = await ear.wait(4)
        await until(lambda: ear.gaps.closed)
    assert [one.text for one in heard] == ["2", "3", "4", "5"]
    ((span, reason),) = ear.gaps.closed.items()
    assert (span.place, span.after) == (place_id(general.id), after)
    assert reason == "only the newest 4 missed messages were read"
    ear.gaps.closed.clear()
    missed = [await ana.say(general, f"<@bot> {number}") for number in range(4)]
    async with connected(server, ear, read_back_messages=4):
        await ear.next(lambda heard: heard.external_id == str(missed[-1].id))
    assert ear.gaps.closed == {}, "so many are not too many"


async def test_more_places_than_are_read_before_what_arrives_are_gaps_until_they_are_read(
    server: DiscordServer, ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sources.discord.catch_up.MAX_FIRST", 2)
    asked: list[PlaceId] = []

    class Slow(Ear):
        async def recently_stored(self, place: PlaceId) -> Sequence[StoredMessage]:
            asked.append(place)
            await asyncio.sleep(0.2)
            return await super().recently_stored(place)

    ear, channels = Slow(gaps=KeptGaps(may_read=False)), [channel(server, f"room-{number}") for number in range(4)]
    for each in channels:
        ear.cursors[place_id(each.id)] = str((await ana.say(each, "<@bot> before")).id)
    fresh = [channel(server, f"new-{number}") for number in range(2)]
    for each in (*channels, *fresh):
        await ana.say(each, f"<@bot> {each.name}")
    monkeypatch.setattr("sources.discord.catch_up.ASK_SECONDS", 1.0)  # less than all of them take
    async with connected(server, ear):
        await ana.say(channels[0], "<@bot> live")
        await ear.next(lambda heard: heard.text == "live")
        assert asked == [place_id(each.id) for each in reversed(fresh)], "the newest are read first"
        assert {span.place for span in ear.gaps.open} == {place_id(each.id) for each in channels}
        ear.gaps.may_read = True
        heard = await ear.wait(7, 20)
        await until(lambda: not ear.gaps.open)
    assert {one.text for one in heard} == {"live", *(each.name for each in (*channels, *fresh))}


@pytest.mark.parametrize(("knows", "hangs"), [(True, 0), (False, 0), (True, 5)])
async def test_what_is_said_is_heard_in_the_end_although_the_database_does_not_answer_in_time(
    server: DiscordServer, ana: Person, monkeypatch: pytest.MonkeyPatch, knows: bool, hangs: int
) -> None:
    for name, value in (("ASK_SECONDS", 0.2), ("AGAIN_SECONDS", 0.05)):
        monkeypatch.setattr(f"sources.discord.catch_up.{name}", value)
    tries = asked = 0

    class Stuck(Ear):
        async def last_seen(self) -> Mapping[PlaceId, str]:
            nonlocal asked
            asked += 1
            return await (super().last_seen() if asked > hangs else asyncio.Future())

        async def never_wrote(self) -> Mapping[PersonId, datetime | None]:
            nonlocal tries
            tries += 1
            return await (super().never_wrote() if knows else asyncio.Future())

        async def recently_stored(self, place: PlaceId) -> Sequence[StoredMessage]:
            return await asyncio.Future()

    general, ear = channel(server), Stuck()
    ear.cursors[place_id(general.id)] = str((await ana.say(general, "<@bot> before")).id)
    await ana.say(general, "<@bot> missed")
    async with connected(server, ear):
        await ana.say(general, "<@bot> live")
        await ear.next(lambda heard: heard.text == "live")
    assert tries == (1 if hangs else 3)
    assert [one.text for one in ear.heard] == ["missed", "live"]


async def test_the_first_direct_messages_of_those_who_were_let_in_are_looked_for(
    server: DiscordServer, ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sources.discord.catch_up.DIRECT_EVERY", 0.01)
    begun = next(server.world.ids)
    stranger = server.person("stranger")
    await ana.dm("are you there?")
    await stranger.dm("let me in")
    ear = Ear(let_in=[person_id(ana.id)], listens_from=begun)
    async with connected(server, ear):
        heard = await ear.next()
        await until(lambda: not ear.gaps.open)
    assert [one.text for one in ear.heard] == ["are you there?"]
    assert heard.place.id == place_id(ana.direct.id)
    opened = [request.json["recipient_id"] for request in server.requests_to("POST", "/users/@me/channels")]
    assert [int(each) for each in opened] == [ana.id]


async def test_somebody_who_does_not_exist_is_not_looked_for_again(
    server: DiscordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sources.discord.catch_up.DIRECT_EVERY", 0.01)
    server.guild("Home")
    ear = Ear(let_in=[person_id(77)], listens_from=next(server.world.ids))
    async with connected(server, ear):
        await until(lambda: ear.gaps.closed)
    assert [(span.place, why) for span, why in ear.gaps.closed.items()] == [
        (direct_place(77), "there is no such person")
    ]


async def test_what_is_read_while_nothing_is_taken_is_read_again(
    server: DiscordServer, ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sources.discord.catch_up.AGAIN_SECONDS", 0.05)
    _, ear, missed = await one_missed(server, ana)
    ear.gaps = KeptGaps(open={gap_for(ear, missed): "503"}, pause=0.1)
    ear.paused = True
    async with connected(server, ear):
        assert await ear.gaps.due(), "it stays open"
        assert ear.heard == []
        ear.paused = False
        await ear.next(lambda heard: heard.text == "missed")
        await until(lambda: not ear.gaps.open)


async def test_an_odd_answer_of_discord_is_no_loss(
    server: DiscordServer, ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it one where that is noted while it is asked when the next gap is due."""
    noted = asyncio.Event()

    class Asked(KeptGaps):
        async def note(self, spans: Sequence[Span], reason: str, *, at_once: bool = False) -> None:
            await super().note(spans, reason, at_once=at_once)
            if spans:
                noted.set()

        async def wait(self) -> float | None:
            found = await super().wait()
            await noted.wait()
            return found

    _, ear, _ = await one_missed(server, ana)
    ear.gaps = Asked()
    before, odd = discord.http.HTTPClient.logs_from, iter([True])

    def answer(*args: Any, **more: Any) -> Any:
        if next(odd, False):
            raise KeyError("id")
        return before(*args, **more)

    monkeypatch.setattr("discord.http.HTTPClient.logs_from", answer)
    async with connected(server, ear):
        await ear.next(lambda heard: heard.text == "missed")
        await until(lambda: not ear.gaps.open)
