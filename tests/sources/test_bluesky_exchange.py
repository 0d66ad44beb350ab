"""Machines that do not say what they are, and people who only write quickly."""

from datetime import UTC, datetime, timedelta

import pytest

from sources.bluesky.filters import ROUNDS, SLOW_ROUNDS, machine
from sources.bluesky.records import Account, Post, Reference

US, THEM, OTHER = "did:plc:us", "did:plc:them", "did:plc:other"
BEGUN = datetime(2026, 11, 22, 12, tzinfo=UTC)
LONG = "That is a very good point and I would like to hear more about how you came to think so today. "


def thread(rounds: list[tuple[float, str]], *, by: tuple[str, ...] = ()) -> list[Post]:
    """Ours and theirs by turns, ours within two seconds: (seconds that they take, what they say)."""
    posts: list[Post] = []
    at = BEGUN
    for number, (wait, text) in enumerate(rounds):
        for did, later, words in ((US, 2.0, "And then?"), (by[number] if by else THEM, wait, text)):
            at += timedelta(seconds=later)
            uri = f"at://{did}/app.bsky.feed.post/{len(posts)}"
            posts.append(Post(uri, "cid", Account(did), words, at, Reference("at://root", "cid")))
    return posts


def seen(posts: list[Post]) -> bool:
    return machine(posts[-1], posts[:-1], US)


@pytest.mark.parametrize(
    "rounds",
    [
        [(3.0, LONG + str(number)) for number in range(5)],
        [(4.0, LONG[: 70 + 3 * number]) for number in range(6)],
        [(12.0 + number % 2, f"Here is fact number {number} about it.") for number in range(7)],
        [(15.0, "I did not understand.")] * 5,
        [(40.0, "hi"), *[(2.5, LONG)] * 5],
    ],
)
def test_a_machine_is_known_by_speed_length_and_turns(rounds: list[tuple[float, str]]) -> None:
    assert seen(thread(rounds))
    assert not seen(thread(rounds[-ROUNDS + 1 :]))  # that few say nothing


@pytest.mark.parametrize(
    "rounds",
    [
        [(8.0, "yes"), (5.0, "no"), (6.0, "maybe"), (9.0, "why?"), (7.0, "ok"), (6.0, "sure")],
        [
            (14.0, "I think that you are right."),
            (60.0, "But what about dogs?"),
            *[(15.0, "Dogs bark a lot, though.")] * 3,
        ],
        [
            (9.0, "Tell me about the sea, please."),
            (4.0, "wow"),
            (18.0, "And who lives there?"),
            (12.0, "haha no"),
            (16.0, "I have been there once, years ago, with my sister."),
        ],
        [(300.0 * number, LONG) for number in range(1, 7)],
        [
            (19.0, "What a nice idea that is!"),
            (6.0, "Where?"),
            (17.0, "We could meet at the lake."),
            (3.0, "hm"),
            (11.0, "or at home"),
        ],
    ],
)
def test_people_are_not_taken_for_machines(rounds: list[tuple[float, str]]) -> None:
    assert not seen(thread(rounds))


@pytest.mark.parametrize("pace", [25.0, 600.0, 7_200.0])
def test_slow_machines_are_known_by_their_even_pace_and_length(pace: float) -> None:
    rounds = [(pace + number % 3 * pace / 4, LONG[: 70 + number]) for number in range(SLOW_ROUNDS)]
    assert seen(thread(rounds))
    assert not seen(thread(rounds[1:]))
    assert not seen(thread([*rounds[:4], (3 * pace, "hm"), *rounds[5:]]))
    assert not seen(thread([(pace * (1 + 3 * (number % 3)), text) for number, (_, text) in enumerate(rounds)]))
    assert not seen(thread(rounds, by=tuple(OTHER if number == 4 else THEM for number in range(SLOW_ROUNDS))))


def test_a_thread_in_which_others_speak_is_none_of_two_machines() -> None:
    rounds = [(3.0, LONG)] * 6
    assert seen(thread(rounds))
    assert not seen(thread(rounds, by=(THEM, THEM, THEM, OTHER, THEM, THEM)))
