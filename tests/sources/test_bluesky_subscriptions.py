"""Hearing by subscription over real websockets: whom and what, filters first, and no gap over broken connections."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from memory.queue.notifications import Kind
from sources.bluesky.source import BlueskySource
from sources.bluesky.subscriptions import Subscription
from tests.captured_logs import capture_logs
from tests.sources.bluesky_stage import AWAY, Away, Harness, ground
from tests.wire import until

THREAD = "app.bsky.feed.getPostThread"


@pytest_asyncio.fixture
async def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Harness]:
    monkeypatch.setattr("sources.bluesky.subscriptions._SAVE_SECONDS", -1.0)
    monkeypatch.setattr("sources.bluesky.subscriptions._FIRST_WAIT", 0.01)
    async with ground(tmp_path) as made:
        yield made


def source(here: Harness, filters: dict[str, Any] | None = None, **more: Any) -> BlueskySource:
    given = {"follow_dids": frozenset({here.ana.did}), "poll_seconds": 0.05, **more}
    return here.source(filters, jetstream=f"{here.server.url.replace('http', 'ws')}/xrpc", **given)


@contextlib.asynccontextmanager
async def running(here: Harness, made: BlueskySource) -> AsyncIterator[BlueskySource]:
    before = len(here.server.jetstream.asked)
    task = asyncio.create_task(made.run(here.deliver))
    try:
        await until(lambda: len(here.server.jetstream.asked) > before and here.server.jetstream.readers == 1)
        await until(lambda: made.connected)
        yield made
    finally:
        task.cancel()
        await asyncio.wait([task])


async def settled(here: Harness) -> None:
    """Until everything that was made so far was seen by the source."""
    await until(lambda: here.memory.marks.get("bluesky.stream") == str(len(here.server.jetstream.events) + 1))


async def test_an_event_that_nobody_foresaw_does_not_end_it(here: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    really, failed = Subscription._event, list[object]()

    def odd(self: Subscription, told: Mapping[str, Any]) -> None:
        if not failed:
            failed.append(told)
            raise KeyError("odd")
        really(self, told)

    monkeypatch.setattr(Subscription, "_event", odd)
    async with running(here, source(here)):
        here.ana.post("the ferry is late")
        await until(lambda: failed)
        here.ana.post("the ferry is here")
        await until(lambda: "the ferry is here" in here.texts)


async def test_what_nobody_looks_for_leaves_nothing_and_asks_nothing(here: Harness) -> None:
    filters = {"exclude_keywords": ("spoiler",), "languages": frozenset({"en"})}
    async with running(here, source(here, filters, follow_keywords=("ferry",))):
        here.bob.post("trains only")
        here.bob.post("ferry, but a spoiler")
        here.ana.post("die ferry", langs=("de",))
        here.bot.post("my own ferry")
        await settled(here)
        here.bob.post("A Ferry!")
        await until(lambda: here.heard)
        await settled(here)
    assert here.texts == ["A Ferry!"]
    assert here.memory.passed == {}
    assert here.server.count(THREAD) == 1
    assert "dids" not in here.server.jetstream.asked[0]


async def test_members_of_lists_are_followed(here: Harness) -> None:
    uri = "at://did:plc:x/app.bsky.graph.list/1"
    here.server.page = 1
    here.server.lists[uri] = [here.ana, here.bob]
    async with running(here, source(here, follow_dids=frozenset(), follow_lists=(uri,))):
        here.bob.post("me too")
        await until(lambda: here.heard)
    assert here.server.jetstream.asked[0]["dids"] == sorted([here.ana.did, here.bob.did])


@pytest.mark.parametrize("away", AWAY)
async def test_who_wants_nothing_of_us_is_not_heard(here: Harness, away: Away) -> None:
    away(here, here.ana)
    async with running(here, source(here)):
        here.ana.post("hello world")
        await settled(here)
    assert here.heard == []


async def test_a_post_that_speaks_to_us_comes_once_and_is_answered(here: Harness) -> None:
    made = source(here, poll_seconds=600.0)
    async with running(here, made):
        here.mention("you there?")
        await until(lambda: here.heard)  # long before the next look was due
        await settled(here)
    assert [(each.text, each.answer) for each in here.heard] == [("you there?", True)]


async def test_what_a_followed_person_deletes_is_taken_back(here: Harness) -> None:
    async with running(here, source(here)):
        said = here.ana.post("oops")
        await until(lambda: here.texts == ["oops"])
        here.bob.post("never heard").delete()
        said.delete()
        await until(lambda: len(here.heard) == 2)
        await settled(here)
    first, second = here.heard
    assert (second.kind, second.subject, second.place.id) == (Kind.DELETE, first.external_id, first.place.id)


async def test_broken_connections_leave_no_gap(here: Harness) -> None:
    async with running(here, source(here)) as made:
        here.ana.post("one")
        await until(lambda: here.texts == ["one"])
        await settled(here)
        here.server.jetstream.refusals = 3
        await here.server.jetstream.cut()
        await until(lambda: "/xrpc cannot be reached (503). Check the network" in made.subscription.words)
        here.ana.post("two")
        await until(lambda: here.texts == ["one", "two"])
        assert made.subscription.trouble == ""
        await settled(here)
    here.ana.post("three")
    async with running(here, source(here)):
        await until(lambda: len(here.texts) == 3)
        await settled(here)
    assert here.texts == ["one", "two", "three"]


async def test_a_stream_that_was_never_reached_is_logged_once(here: Harness) -> None:
    here.server.jetstream.refusals = 2
    with capture_logs() as logged:
        async with running(here, source(here)):
            pass
    assert [each["event"] for each in logged if "subscription" in each["event"]] == ["bluesky_subscription_lost"]


async def test_what_was_not_stored_is_read_again_after_a_restart(here: Harness) -> None:
    here.server.fail(THREAD, *[500] * 3)
    async with running(here, source(here)):
        here.ana.post("one")
        await until(lambda: here.server.count(THREAD) >= 1)
        await until(lambda: here.memory.marks.get("bluesky.stream") == "1")
    here.server.faults.clear()
    assert here.heard == []
    async with running(here, source(here)):
        await until(lambda: here.texts == ["one"])
        await settled(here)


@pytest.mark.parametrize("cursor", ["999", "1"])
async def test_a_cursor_that_the_server_does_not_have_is_given_up(here: Harness, cursor: str) -> None:
    here.bob.post("long ago")
    here.bob.post("and then")
    here.server.jetstream.floor = 2
    here.memory.marks["bluesky.stream"] = cursor
    async with running(here, source(here)):
        given_up = cursor == "1"
        await until(lambda: here.server.jetstream.readers == 1)
        await until(lambda: ("cursor" in here.server.jetstream.asked[-1]) is not given_up)
        here.ana.post("now")
        await until(lambda: here.texts == ["now"])
        await settled(here)


async def test_garbage_in_the_stream_is_passed_by(here: Harness) -> None:
    stream = here.server.jetstream
    async with running(here, source(here)):
        for record in ({}, {"text": 7}, {"text": "x", "facets": [None], "reply": "y", "embed": []}, None):
            stream.send(here.ana.did, "3kgarbage", "bafy", record)
        stream.send(here.ana.did, "../..", "bafy", {"$type": "app.bsky.feed.post", "text": "hello"})
        stream.send("", "", "", {"text": "hello"})
        stream.send(here.ana.did, "3kgone", "bafy", {"$type": "app.bsky.feed.post", "text": "hello"}, "delete")
        here.ana.post("fine")
        await until(lambda: "fine" in here.texts)
    assert here.texts == ["fine"]


async def test_a_flood_is_cut(here: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sources.bluesky.subscriptions._PER_MINUTE", 5)
    async with running(here, source(here)) as made:
        for number in range(40):
            here.ana.post(f"post {number}")
        await settled(here)
        assert "35 posts dropped" in made.subscription.words
    assert len(here.heard) == 5
