"""Posts as Bluesky takes them: how long they are, where they are cut, and what is marked in them."""

import itertools

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from memory.store.ids import OutboxId, Snowflakes
from sources.bluesky.identifiers import record_key
from sources.bluesky.post_splitting_and_facets import MOST_BYTES, facets, fits, graphemes, marks, posts

FAMILY = "👨‍👩‍👧‍👦"


def test_a_family_is_one_grapheme_and_301_of_them_are_two_posts() -> None:
    assert graphemes(FAMILY * 7) == 7
    assert not fits(FAMILY * 301)
    assert all(fits(post) for post in posts(FAMILY * 301))
    assert "".join(posts(FAMILY * 301)) == FAMILY * 301


def test_bytes_count_too() -> None:
    found = posts(FAMILY * 200)  # 200 graphemes of 25 bytes
    assert len(found) == 2
    assert all(len(post.encode()) <= MOST_BYTES for post in found)


def test_a_long_text_is_cut_between_sentences() -> None:
    sentence = "This one says something short. "
    found = posts(sentence * 12)
    assert [post.endswith("short.") for post in found] == [True] * len(found)
    assert " ".join(found) == (sentence * 12).strip()


def test_numbered_posts_say_which_they_are_and_still_fit() -> None:
    found = posts("word " * 200, numbered=True)
    assert [post.rpartition(" ")[2] for post in found] == [f"({n}/{len(found)})" for n in range(1, len(found) + 1)]
    assert all(fits(post) for post in found)
    assert posts("short", numbered=True) == ["short"]


@given(st.lists(st.sampled_from([*"ab \n.!", FAMILY, "語", "é", "\u0301", "\r\n"]), max_size=900).map("".join))
def test_nothing_that_can_be_seen_is_lost_by_cutting(text: str) -> None:
    found = posts(text)
    assert all(fits(post) and post.strip() for post in found)
    assert regex.sub(r"\s+", "", "".join(found)) == regex.sub(r"\s+", "", text if found else "")


@pytest.mark.parametrize("text", ["", " \n ", "\u200b", "\ufeff"])
def test_nothing_to_see_is_no_post(text: str) -> None:
    assert posts(text) == []


RESOLVED = {"ana.test": "did:plc:ana", "bsky.app": "did:plc:app"} | {
    f"{name}.bsky.social": f"did:plc:{name}" for name in ("ana", "b-2")
}


def marked(text: str) -> list[tuple[str, str]]:
    """Each facet's bytes as text, with what it is."""
    raw = text.encode()
    return [
        (
            raw[each["index"]["byteStart"] : each["index"]["byteEnd"]].decode(),
            each["features"][0]["$type"].partition("#")[2],
        )
        for each in facets(text, RESOLVED)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{FAMILY} @ana.test hi", [("@ana.test", "mention")]),
        ("日本語 #寿司 です", [("#寿司", "tag")]),
        ("see https://example.com/a_(b).", [("https://example.com/a_(b)", "link")]),
        ("(https://example.com/a)", [("https://example.com/a", "link")]),
        ("https://bsky.app/profile/@ana.test/post", [("https://bsky.app/profile/@ana.test/post", "link")]),
        ("@nobody.test and @bsky.app!", [("@bsky.app", "mention")]),
        ("@ana.bsky.social, @b-2.bsky.social", [("@ana.bsky.social", "mention"), ("@b-2.bsky.social", "mention")]),
        ("https://example.com/@ana.bsky.social", [("https://example.com/@ana.bsky.social", "link")]),
        ("mail ana@ana.test", []),
        ("mail ana@mail.example.com", []),
        ("well...https://example.com", [("https://example.com", "link")]),
        ("run main.py or example.com", [("example.com", "link")]),
        ("#1 is #one, #️⃣ and #two!", [("#one", "tag"), ("#two", "tag")]),
        ("#@ana.test and @ana.test", [("#@ana.test", "tag"), ("@ana.test", "mention")]),
        ("", []),
    ],
)
def test_what_is_marked_stands_at_its_bytes(text: str, expected: list[tuple[str, str]]) -> None:
    assert marked(text) == expected


@given(st.lists(st.sampled_from([*"@#:/. ab1", "https://", "ana.test", FAMILY, "語"]), max_size=60).map("".join))
def test_marks_never_overlap_and_are_inside(text: str) -> None:
    found = marks(text)
    assert all(0 <= mark.start < mark.end <= len(text) for mark in found)
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))


def test_the_key_of_a_row_is_always_the_same_and_no_others() -> None:
    flakes = Snowflakes()
    rows = [OutboxId(flakes.next()) for _ in range(9_000)]
    keys = [record_key(row) for row in rows]
    assert len(set(keys)) == len(rows)
    assert keys == [record_key(row) for row in rows]
    assert sorted(keys) == keys
    assert all(regex.fullmatch("[2-7a-j][2-7a-z]{12}", key) for key in keys)
