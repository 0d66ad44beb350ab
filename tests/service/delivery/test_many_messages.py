"""More messages at once than the limits allow: they wait, and in the end each was answered."""

import asyncio
import functools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kill.checks import Store
from tests.kill.lives import changed
from tests.service.live_service import NO_MERGING, live_service
from tests.wire.discord import GuildChannel, Message, Person
from tests.wire.model import Answer, text_of

MARK = re.compile(r"M\d{5}")
WAIT_SECONDS = 500.0


@pytest.mark.parametrize(
    ("count", "seconds", "people", "places", "window", "configured"),
    [
        pytest.param(80, 3, 4, 2, 8, (NO_MERGING, "[limits]\nperson_per_hour = 1"), id="80 messages"),
        pytest.param(
            2_000, 30, 40, 20, 60, ("", ""), id="2,000 messages", marks=[pytest.mark.slow, pytest.mark.timeout(900)]
        ),
    ],
)
async def test_what_is_over_the_limit_is_answered_when_it_allows(
    tmp_path: Path, count: int, seconds: float, people: int, places: int, window: int, configured: tuple[str, str]
) -> None:
    """The hour for which limits hold is shorter here: `window` seconds."""
    async with live_service(tmp_path, scripted=True) as t:
        t.configure(*configured)
        t.service.environment = changed(t.service.environment, tmp_path / "trace", KILL_TEST_WINDOW=str(window))
        t.model.default = lambda _: Answer("All right.", pace=0.1)
        await t.service.start()
        persons = [t.member(f"Person {number}") for number in range(people)]
        channels = [t.guild.text_channel(f"place-{number}") for number in range(places)]
        said = await talk(persons, channels, count, seconds)
        store = Store(t.service.home)
        await until(functools.partial(finished, store, said))
        rows = [row for row in store.all("SELECT * FROM inbox WHERE kind = 'message'") if row["external_id"] in said]
        assert len(rows) == count
        assert {(row["status"], row["last_error"]) for row in rows} == {("done", None)}
        posts = {str(post.id): post.text for channel in channels for post in channel.from_bot}
        sent = {
            row["turn_id"]
            for row in store.all("SELECT turn_id, external_id FROM outbox")
            if posts.get(row["external_id"]) == "All right."
        }
        assert [said[row["external_id"]] for row in rows if row["turn_id"] not in sent] == [], "never answered"
        shown = {
            mark
            for request in t.model.requests
            for message in request.messages
            if message["role"] == "user"
            for mark in MARK.findall(text_of(message))
        }
        assert set(said.values()) - shown == set(), "never shown to the model"
        told = sum(text.startswith("That was a lot at once") for text in posts.values())
        assert told > 0, "the limit was reached, and people were told"


async def talk(persons: list[Person], channels: list[GuildChannel], count: int, seconds: float) -> dict[str, str]:
    """Everybody talks everywhere, evenly over the time; gives the mark of each message, by its id."""
    said: dict[str, str] = {}
    begun = asyncio.get_running_loop().time()
    for number in range(count):
        late = begun + number * seconds / count - asyncio.get_running_loop().time()
        await asyncio.sleep(max(late, 0))
        mark = f"M{number:05}"
        person, channel = persons[number % len(persons)], channels[number // len(persons) % len(channels)]
        message: Message = await person.say(channel, f"<@bot> {mark} and you?")
        said[str(message.id)] = mark
    return said


def finished(store: Store, said: dict[str, str]) -> bool:
    known = {row["external_id"] for row in store.all("SELECT external_id FROM inbox WHERE kind = 'message'")}
    work = store.open_work()
    return said.keys() <= known and not any(work.values())


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not true():
            await asyncio.sleep(0.5)
