"""`carina search` and `/search` with conditions: what meets them is found, and what names nothing is answered so."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.service.approvals.approvals import keep
from tests.service.live_service import Live, live_service
from tests.wire.discord import Channel, Person
from tests.wire.model import Answer, Calls


@asynccontextmanager
async def birds(folder: Path) -> AsyncIterator[Live]:
    """Storks are spoken of in two channels and in direct messages, and the owner keeps something of them."""
    async with live_service(folder, scripted=True) as t:
        await t.service.start()
        pond = t.guild.text_channel("pond")
        for person, place, text in (
            (t.ana, t.general, "the stork of general"),
            (t.member("Bea"), pond, "the stork of the pond"),
            (t.ana, t.ana.direct, "the stork of a direct message"),
        ):
            t.model.script(Answer("I see."))
            await t.ask(person, place, text if place is t.ana.direct else f"<@bot> {text}")
        t.model.script(Calls(keep("The stork nests.", category="birds/nests", tags=["roof", "nest"])), Answer("Kept."))
        await t.ask(t.ana, t.general, "<@bot> keep that")
        yield t
        await t.service.stop()


async def searched(t: Live, *words: str) -> list[str]:
    """What the terminal finds, by its words."""
    code, out, error = await t.service.run("search", *words, "--json")
    assert code == 0, error
    return [hit["text"].removeprefix("<@bot> ") for hit in json.loads(out)["hits"]]


async def offered(person: Person, option: str, typed: str, channel: Channel) -> list[str]:
    return [choice.name for choice in await person.autocomplete("search", option, typed, channel)]


async def test_discord_finds_suggests_and_says_only_what_the_asker_may_know(tmp_path: Path) -> None:
    async with birds(tmp_path) as t:
        secret = t.guild.text_channel("den", private=True, members=[t.ana])
        kept = keep("The stork is ill.", category="secrets", tags=["hush"])
        t.model.script(Calls(kept), Answer("Kept."))
        await t.ask(t.ana, secret, "<@bot> keep this")
        cid = t.member("Cid")

        async def found(person: Person, channel: Channel, **options: Any) -> str:
            shown = await person.command("search", options, channel)
            assert (shown.ephemeral, shown.deferred) == (True, True)
            return shown.text

        (place,) = [each.value for each in await cid.autocomplete("search", "place", "pond", t.general)]
        text = await found(cid, t.general, place=place, role="user")
        assert ("the stork of the pond" in text, "general" in text) == (True, False)
        assert "The stork nests." in await found(cid, t.general, tag="nest, roof", domain="archival_memory")
        assert "the stork of general" in await found(cid, t.general, text="stork", author="annie", since="1h")
        assert "direct message" in await found(t.ana, t.ana.direct, author="me", domain="conversations", limit=20)
        assert "direct message" not in await found(cid, t.general, author="annie", limit=20)
        assert await offered(cid, "category", "", t.general) == ["birds/nests"]
        assert await offered(t.ana, "category", "", secret) == ["birds/nests", "secrets"]
        assert await offered(cid, "tag", "", t.general) == ["nest", "roof"]
        t.model.script(Calls(keep("The heron stands.", tags=["pond, lake"])), Answer("Kept."))
        await t.ask(t.ana, t.general, "<@bot> keep that too")
        (together,) = await offered(cid, "tag", "pond", t.general)
        assert (together, "The heron stands." in await found(cid, t.general, tag=together)) == ("pond, lake", True)
        assert "hush" in await offered(t.ana, "tag", "", secret)
        assert {"me", "Carina"} <= set(await offered(cid, "author", "", t.general))
        assert not [name for name in await offered(cid, "place", "", t.general) if "den" in name]
        assert [name for name in await offered(t.ana, "place", "", secret) if "den" in name]
        for options, told in (
            ({"place": "den"}, "No place 'den' is known that may be spoken of here."),
            ({"category": "secrets"}, "There is no category 'secrets' that you may know here; there are: birds/nests."),
            ({"tag": "hush"}, "There is no tag 'hush' that you may know here; there are: nest, pond, lake, roof."),
            ({"since": "soon"}, "'soon' is not a time. Use a day such as 2026-11-22"),
            ({"tag": "nest", "role": "user"}, "Nothing was searched: role is of messages alone, tags are of entries"),
        ):
            assert told in await found(cid, t.general, **options)
