"""Direct messages on Bluesky over sockets: who is heard, once; what is said, once; and where there are none."""

from typing import Any

import pytest

from memory.people.audience import OWNER, Trust, person_audience
from memory.permission_requests import Verdict
from memory.store.clock import utc_now
from memory.store.ids import PersonId, PlaceId, RequestId
from memory.store.records import replace
from sources.base import Buttons, DeliveryFailed, DeliveryUnclear, PlaceKind
from sources.bluesky.source import BlueskySource
from tests.sources.bluesky_stage import Harness, delivery
from tests.wire.bluesky import User


def person(user: User) -> PersonId:
    return PersonId(f"bluesky:{user.did}")


def place(user: User) -> PlaceId:
    return PlaceId(f"bluesky:user:{user.did}")


async def begun(here: Harness, **settings: Any) -> BlueskySource:
    """A source that looked once; Ana is the owner, and asked again at once."""
    source = here.source(owner=here.ana.did, poll_seconds=0.0, **settings)
    await look(here, source)
    return source


async def look(here: Harness, source: BlueskySource) -> None:
    await source.session.open()
    await source.direct.poll(here.deliver)


async def test_the_owner_is_heard_alone_and_once(here: Harness) -> None:
    here.server.chat.say(here.ana, here.bot, "from before")
    source = await begun(here)
    here.server.chat.say(here.bot, here.ana, "what we said ourselves")
    here.server.chat.say(here.ana, here.bot, "one")
    here.server.chat.say(here.ana, here.bot, "two")
    for _ in range(3):
        await look(here, source)
    again = here.source(owner=here.ana.did)
    await look(here, again)
    assert here.texts == ["one", "two"]
    assert [each.answer for each in here.heard] == [False, True]
    (first, _) = here.heard
    assert (first.place.id, first.place.kind, first.place.audience) == (place(here.ana), PlaceKind.DIRECT, OWNER)
    assert first.speaker is not None
    assert first.speaker.trust is Trust.OWNER
    assert here.why == ["before"]


@pytest.mark.parametrize("allowed", [True, False])
async def test_others_are_heard_when_the_owner_let_them_in(here: Harness, allowed: bool) -> None:
    source = await begun(here)
    if allowed:
        here.memory.allowed.add(person(here.bob))
    here.server.chat.say(here.bob, here.bot, "psst")
    await look(here, source)
    assert here.texts == (["psst"] if allowed else [])
    assert here.why == ([] if allowed else ["not_let_in"])
    for each in here.heard:
        assert each.place.audience == person_audience(person(here.bob))
        assert each.place.within == ()


async def test_who_says_stop_there_is_not_heard_nor_written_to(here: Harness) -> None:
    source = await begun(here)
    here.server.chat.say(here.bob, here.bot, "Stop!")
    await look(here, source)
    assert here.memory.opted == {person(here.bob): True}
    here.memory.allowed.add(person(here.bob))
    here.server.chat.say(here.bob, here.bot, "you there?")
    await look(here, source)
    assert here.heard == []
    with pytest.raises(DeliveryFailed, match="opted out"):
        await source.endpoint.send(delivery(place(here.bob), "hello"))
    here.server.chat.say(here.bob, here.bot, "opt in")
    await look(here, source)
    assert here.memory.opted == {person(here.bob): False}


async def test_what_is_not_stored_is_delivered_again_but_not_for_ever(here: Harness) -> None:
    source = await begun(here)
    here.memory.stores = False
    here.server.chat.say(here.ana, here.bot, "one")
    for _ in range(5):
        await look(here, source)
    assert here.texts == ["one"] * 3
    assert here.why == ["unfit"]


async def test_what_only_waits_for_a_database_is_not_given_up(here: Harness) -> None:
    source = await begun(here)
    here.memory.stores = here.memory.settles = False
    here.server.chat.say(here.ana, here.bot, "one")
    for _ in range(5):
        await look(here, source)
    assert (here.texts, here.why) == (["one"] * 5, [])


async def test_what_stands_before_a_deleted_message_is_heard(here: Harness) -> None:
    source = await begun(here)
    here.server.chat.say(here.ana, here.bot, "one")
    here.server.chat.delete(here.server.chat.say(here.ana, here.bot, "two"))
    await look(here, source)
    assert here.texts == ["one"]


async def test_old_messages_are_not_news_when_conversations_come_back(here: Harness) -> None:
    old = here.server.chat.say(here.ana, here.bot, "from long ago")
    old["sentAt"] = "2020-01-01T00:00:00.000Z"
    here.server.chat.say(here.bob, here.bot, "newer")
    source = await begun(here)
    mark = here.memory.marks["bluesky.direct"]
    kept = here.server.chat.between(here.ana, here.bot)[:]
    here.server.chat.forget()
    await look(here, source)
    assert here.memory.marks["bluesky.direct"] == mark
    here.server.chat.restore(here.ana, here.bot, kept)
    await look(here, here.source(owner=here.ana.did, poll_seconds=0.0))
    assert here.heard == []


async def test_a_service_that_was_there_and_says_nothing_leaves_it_unclear(here: Harness) -> None:
    endpoint = (source := await begun(here)).endpoint
    here.server.chat.there = False
    await look(here, source)
    assert source.direct.trouble
    with pytest.raises(DeliveryUnclear):
        await endpoint.send(delivery(place(here.ana), "psst"))
    again = here.source(owner=here.ana.did)  # a restart does not forget that it was there
    await look(here, again)
    with pytest.raises(DeliveryUnclear):
        await again.endpoint.send(delivery(place(here.ana), "psst"))


async def test_a_question_is_answered_by_a_word_and_a_number(here: Harness) -> None:
    source = await begun(here)
    for text in ("yes 7", "No #8.", "always 7", "yes, of course 7"):
        here.server.chat.say(here.ana, here.bot, text)
    here.server.chat.say(here.bob, here.bot, "yes 7")
    await look(here, source)
    ana, bob = person(here.ana), person(here.bob)
    assert sorted(here.memory.decided) == sorted(
        [(ana, "7", Verdict.ONCE), (ana, "8", Verdict.DENY), (ana, "7", Verdict.ALWAYS), (bob, "7", Verdict.ONCE)]
    )
    assert here.texts == ["yes, of course 7"]
    assert here.server.chat.texts(here.bot, here.ana) == ["No request is waiting for you."]


async def test_a_bare_yes_decides_nothing_says_what_waits_and_is_heard(here: Harness) -> None:
    source = await begun(here)
    here.server.chat.say(here.ana, here.bot, "yes")
    await look(here, source)
    assert here.server.chat.texts(here.bot, here.ana) == []
    here.memory.waiting = "Nothing was decided: 1 request is waiting for you."
    here.server.chat.say(here.ana, here.bot, "Yes!")
    here.server.chat.say(here.bob, here.bot, "no")
    await look(here, source)
    assert here.memory.decided == []
    assert here.texts == ["yes", "Yes!"]
    assert here.server.chat.texts(here.bot, here.ana) == [here.memory.waiting]
    assert here.server.chat.texts(here.bot, here.bob) == [here.memory.waiting]


async def test_a_question_says_how_it_is_answered_and_what_came_of_it(here: Harness) -> None:
    endpoint = (await begun(here)).endpoint
    asked = replace(
        delivery(place(here.ana), "May I? " + "x" * 2_000),
        buttons=Buttons(RequestId(207_123_456_789_012_345), ("once", "deny")),
    )
    said = await endpoint.send(asked)
    (text,) = here.server.chat.texts(here.bot, here.ana)
    assert text.endswith("Answer with one of: yes 012345, no 012345")
    assert len(text) == 1_000
    assert "carina permits show" in text
    for _ in range(2):
        await endpoint.edit(place(here.ana), said, "May I?\n**Allowed once by you**")
    assert here.server.chat.texts(here.bot, here.ana)[1:] == ["Allowed once by you"]


async def test_what_may_have_been_said_is_looked_for_before_it_is_said_again(here: Harness) -> None:
    endpoint = (await begun(here)).endpoint
    row = replace(delivery(place(here.ana), "psst"), created_at=utc_now())
    here.server.chat.lost_answers = 1
    with pytest.raises(DeliveryUnclear):
        await endpoint.send(row)
    assert await endpoint.find((row,)) == {row.id: await endpoint.send(replace(row, again=True))}
    assert here.server.chat.texts(here.bot, here.ana) == ["psst"]
    again = await here.source().endpoint.send(replace(row, again=True))
    assert again == (await endpoint.find((row,)))[row.id]
    other = replace(delivery(place(here.ana), "psst"), created_at=row.created_at, again=True)
    assert await endpoint.send(other) != again
    assert here.server.chat.texts(here.bot, here.ana) == ["psst", "psst"]


async def test_where_there_are_none_it_is_said_and_nothing_else_suffers(here: Harness) -> None:
    here.server.chat.there = False
    source = await begun(here)
    here.mention("hello")
    await here.poll(source)
    await source._turn(here.deliver)
    assert source.trouble == ""
    assert "not available: Bluesky answered 500" in source.direct.words
    assert here.server.count("chat.bsky.convo.listConvos") == 1  # not asked over and over
    with pytest.raises(DeliveryFailed, match="not available there"):
        await source.endpoint.send(delivery(place(here.ana), "psst"))


async def test_they_can_be_switched_off(here: Harness) -> None:
    source = await begun(here, direct_messages=False)
    assert here.server.count("chat.bsky.convo.listConvos") == 0
    assert "turned off" in source.direct.words
    with pytest.raises(DeliveryFailed, match="turned off"):
        await source.endpoint.send(delivery(place(here.ana), "psst"))


async def test_a_direct_message_holds_more_than_a_post(here: Harness) -> None:
    endpoint = here.source().endpoint
    place = PlaceId(f"bluesky:user:{here.ana.did}")
    text = "word " * 500
    sizes = [len(each) for each in endpoint.at(place).split(text)]
    assert len(sizes) == 3
    assert 900 < max(sizes) <= 1_000
    assert all(
        len(each) <= 300 for each in endpoint.at(PlaceId("bluesky:at://did:plc:a/app.bsky.feed.post/1")).split(text)
    )
    said = [await endpoint.send(delivery(place, each)) for each in endpoint.at(place).split(text)]
    assert len(said) == len(here.server.chat.texts(here.bot, here.ana)) == 3
