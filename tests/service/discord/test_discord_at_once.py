"""Messages created, edited, unfurled and deleted within a millisecond: the store ends as a sequential model does."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.service.conftest import running
from tests.service.live_service import NO_MERGING, Live
from tests.wire.discord import GuildChannel, Message, Person

EXAMPLES = 60


@dataclass(frozen=True)
class Create:
    text: str
    by: int


@dataclass(frozen=True)
class Edit:
    which: int
    text: str


@dataclass(frozen=True)
class Unfurl:
    which: int


@dataclass(frozen=True)
class Delete:
    which: tuple[int, ...]
    """More than one: as a moderator cleans up."""


Arrival: TypeAlias = Create | Edit | Unfurl | Delete

words = st.sampled_from(["red", "green", "blue", "see https://example.org/", "ünïcode ✨", "two\nlines"])
which = st.integers(0, 9)
arrivals = st.lists(
    st.one_of(
        st.builds(Create, words, st.integers(0, 1)),
        st.builds(Edit, which, words),
        st.builds(Unfurl, which),
        st.builds(Delete, st.lists(which, min_size=1, max_size=3, unique=True).map(tuple)),
    ),
    min_size=1,
    max_size=25,
)


listening = running("listening", f'{NO_MERGING}\ndefault_mode = "listen"', scripted=False)
"""A program that hears everything, and answers when it is called."""


@given(first=arrivals, then=arrivals, slow=st.booleans())
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@pytest.mark.asyncio(loop_scope="module")
async def test_the_store_ends_as_if_everything_had_happened_slowly(
    listening: Live, first: list[Arrival], then: list[Arrival], slow: bool
) -> None:
    channel = listening.guild.text_channel("burst")
    people = [listening.ana, listening.olga]
    expected: dict[str, str | None] = {}
    posts: list[Message] = []
    path = next(listening.service.home.glob("constellations/*/carina.db"))
    with held(path) if slow else closing(sqlite3.connect(path)):
        await happen(listening, channel, people, first, posts, expected)
    await happen(listening, channel, people, then, posts, expected)
    asked = await listening.ana.say(channel, "<@bot> are you there?")
    await channel.wait_for_bot(after=asked)
    assert stored(path, channel) == {**expected, str(asked.id): "are you there?"}


async def happen(
    t: Live,
    channel: GuildChannel,
    people: list[Person],
    what: list[Arrival],
    posts: list[Message],
    expected: dict[str, str | None],
) -> None:
    """Do it without waiting for anything in between, and keep the book that the store must agree with."""
    for each in what:
        living = [post for post in posts if not post.deleted]
        match each:
            case Create(text, by):
                posts.append(await people[by].say(channel, text))
                expected[str(posts[-1].id)] = text
            case Edit(number, text) if living:
                post = living[number % len(living)]
                author = next(person for person in people if person is post.author)
                await author.edit(post, text)
                expected[str(post.id)] = text
            case Unfurl(number) if living:
                await t.server.unfurl(living[number % len(living)])
            case Delete(numbers) if living:
                chosen = [living[number] for number in dict.fromkeys(number % len(living) for number in numbers)]
                if len(chosen) > 1:
                    await t.server.bulk_delete(*chosen)
                else:
                    await next(person for person in people if person is chosen[0].author).delete(chosen[0])
                expected |= {str(post.id): None for post in chosen}
            case _:
                pass


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Let nobody else write to a database: what the program wants to store has to wait."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")


def stored(path: Path, channel: GuildChannel) -> dict[str, str | None]:
    """The people's messages of a channel in the store, by id; None for one whose text is gone."""
    sql = "SELECT external_id, content, deleted_at FROM messages WHERE place_id = ? AND role = 'user'"
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        rows = connection.execute(sql, (f"discord:{channel.id}",)).fetchall()
    assert all(content == "" for _, content, deleted in rows if deleted)
    return {external: None if deleted else content for external, content, deleted in rows}
