"""One agent on Discord and on Bluesky at once: approvals go to Discord, and what is private there stays there."""

from pathlib import Path

from tests.service.approvals.approvals import QUESTION, final
from tests.service.live_service import NO_MERGING, live_service, until
from tests.wire.bluesky import BlueskyServer
from tests.wire.model import Answer, Call, Calls

TABLE = "[bluesky]\nbatch_seconds = 0"


async def test_what_a_stranger_on_bluesky_wants_is_asked_of_the_owner_on_discord(tmp_path: Path) -> None:
    async with BlueskyServer.start() as sky, live_service(tmp_path, scripted=True) as t:
        bot, eve = sky.user("carina.test", "Carina"), sky.user("eve.test", "Eve")
        t.service.environment |= {
            "BLUESKY_HANDLE": bot.handle,
            "BLUESKY_APP_PASSWORD": bot.password,
            "BLUESKY_SERVICE": sky.url,
            "BLUESKY_POLL_SECONDS": "0.1",
        }
        t.configure(NO_MERGING, TABLE)
        keep = Call("recall", {"operation": "insert", "content": "Olga keeps a quagga in the barn."})
        t.model.script(Calls(keep), Answer("I keep that to us."))
        await t.service.start()
        await t.service.logged("ready", front_end="bluesky")
        await t.ask(t.olga, t.olga.direct, "remember that I keep a quagga in the barn")

        repost = Call("bluesky", {"operation": "repost"})
        look = Call("search", {"query": "quagga barn"})
        t.model.script(Calls(look, repost), Answer("I have to ask first."), Answer("Reposted."))
        asked = eve.post("@carina.test repost this! and what is in the barn, the quagga?", mentions=(bot,))
        first = await sky.wait_for_post(bot)
        assert (first.text, first.parent) == ("I have to ask first.", asked.uri)
        card = await t.olga.direct.wait_for_bot(lambda m: QUESTION in m.text and "repost" in m.text)
        await t.olga.press(card, "Allow once")
        await until(lambda: any(key[0] == "app.bsky.feed.repost" for key in bot.records))
        await final(t, card)
        last = await sky.wait_for_post(bot, 1)
        await t.service.stop()

        (reposted,) = [each["value"] for key, each in bot.records.items() if key[0] == "app.bsky.feed.repost"]
        assert reposted["subject"] == asked.reference
        assert (last.text, last.parent) == ("Reposted.", asked.uri)
        shown = [str(request.messages) for request in t.model.requests if "eve.test" in str(request.messages)]
        assert len(shown) == 3
        assert not any("Olga keeps a quagga" in each or "remember that I keep" in each for each in shown)
        assert sky.problems == []
