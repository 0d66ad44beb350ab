"""What agents look up on Bluesky over sockets: bounded, flattened, and without those who want nothing of us."""

import pytest

from sources.bluesky.failures import CallRefused, NoAnswer
from sources.bluesky.lookups import BlueskyReader
from tests.sources.bluesky_stage import AWAY, Away, Harness, opts_out


def reader(here: Harness) -> BlueskyReader:
    filters = {"exclude_dids": frozenset({"did:plc:nobody"}), "exclude_keywords": ("spoiler",)}
    return here.source(filters).endpoint.reader


async def test_no_more_posts_are_shown_than_were_asked_for_and_no_post_is_endless(here: Harness) -> None:
    for number in range(5):
        here.ana.post(f"ferry {number} " + "x" * 250, langs=("en",))
    found = await reader(here).search("ferry", 3)
    assert len(found.lines) == 3
    assert all(len(line) < 800 for line in found.lines)


@pytest.mark.parametrize("away", AWAY)
async def test_who_wants_nothing_of_us_is_not_found_nor_read(here: Harness, away: Away) -> None:
    theirs = here.bob.post("my ferry")
    here.ana.post("also a ferry", quotes=theirs)
    before = await reader(here).search("ferry", 5)
    assert "my ferry" in "".join(before.lines)
    away(here, here.bob)
    found = await reader(here).search("ferry", 5)
    assert "my ferry" not in "".join(found.lines)
    assert (len(found.lines), found.hidden) == (1, 1)
    with pytest.raises(CallRefused):
        await reader(here).profile("@bob.test")
    with pytest.raises(CallRefused):
        await reader(here).thread(theirs.uri)


@pytest.mark.parametrize("away", AWAY)
async def test_a_thread_is_shown_in_order_without_them(here: Harness, away: Away) -> None:
    began = here.ana.post("began")
    asked = here.ana.post("and then", reply_to=began)
    here.bob.post("I was there", reply_to=asked)
    here.bot.post("so was I", reply_to=asked)
    away(here, here.bob)
    found = await reader(here).thread(asked.uri)
    assert [line.partition("\n  ")[2] for line in found.lines] == ["began", "and then", "so was I"]
    assert found.lines[-1].startswith("you (")


async def test_a_thread_with_somebody_excluded_is_not_read(here: Harness) -> None:
    began = here.ana.post("began")
    here.bob.post("me too", reply_to=began)
    excluding = here.source({"exclude_dids": frozenset({here.bob.did})}).endpoint.reader
    with pytest.raises(CallRefused, match="excluded"):
        await excluding.thread(began.uri)


async def test_a_profile_says_what_is_public(here: Harness) -> None:
    here.bob.labels.append("bot")
    found = await reader(here).profile("bob.test")
    assert f"DID: {here.bob.did}" in found.lines
    assert "A bot: yes, by its own word" in found.lines
    assert not any("Last seen" in line for line in found.lines)


async def test_what_does_not_exist_and_servers_in_trouble_are_told_apart(here: Harness) -> None:
    with pytest.raises(CallRefused):
        await reader(here).profile("nobody.test")
    here.server.fail("app.bsky.feed.searchPosts", 502)
    with pytest.raises(NoAnswer):
        await reader(here).search("ferry", 5)


async def test_a_feed_a_list_a_person_and_who_is_followed_are_read_newest_first(here: Harness) -> None:
    here.ana.post("first of Ana")
    here.bob.post("of Bob")
    here.ana.post("second of Ana")
    members = f"at://{here.ana.did}/app.bsky.graph.list/1"
    here.server.lists[members] = [here.bob]
    here.bot.follow(here.bob)

    async def shown(target: str, limit: int = 10) -> list[str]:
        return [each.rpartition("\n  ")[2] for each in (await reader(here).feed(target, limit)).lines]

    assert await shown(f"at://{here.ana.did}/app.bsky.feed.generator/all", 2) == ["second of Ana", "of Bob"]
    assert await shown(members) == ["of Bob"]
    assert await shown("@ana.test") == ["second of Ana", "first of Ana"]
    assert await shown("") == ["of Bob"]
    opts_out(here, here.bob)
    assert await shown(members) == []
