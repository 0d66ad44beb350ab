"""Somebody mentions the agent on Bluesky: the program as a process, a small server over sockets, a scripted model."""

import json
import stat
from pathlib import Path

from tests.service.bluesky import skies
from tests.wire.model import Answer, Slow


async def test_a_mention_is_answered_once_in_its_thread(tmp_path: Path) -> None:
    async with skies(tmp_path) as sky:
        began = sky.ana.post("what a day")
        sky.model.script(Answer("Hello @ana.test, see https://example.com/a."))
        await sky.service.launch()
        await sky.ready()
        asked = sky.ana.post(f"@{sky.bot.handle} 👨‍👩‍👧 hi there", reply_to=began, mentions=(sky.bot,))
        answer = await sky.server.wait_for_post(sky.bot)
        assert answer.record["reply"] == {"root": began.reference, "parent": asked.reference}
        assert answer.record["langs"] == ["en"]
        kinds = [facet["features"][0]["$type"].partition("#")[2] for facet in answer.record["facets"]]
        assert kinds == ["mention", "link"]
        assert "what a day" in sky.model.requests[0].last_user
        await sky.service.stop()
        await sky.service.launch()
        await sky.ready()
        sky.model.script(Answer("Again"))
        sky.ana.post("and now?", reply_to=answer)
        await sky.server.wait_for_post(sky.bot, 1)
        await sky.service.stop()
        assert [post.text for post in sky.bot.posts] == ["Hello @ana.test, see https://example.com/a.", "Again"]
        assert sky.server.count("com.atproto.server.createSession") == 1
        assert stat.S_IMODE((sky.service.home / "bluesky.session").stat().st_mode) == 0o600


async def test_a_crash_between_posting_and_storing_the_answer_posts_nothing_twice(tmp_path: Path) -> None:
    async with skies(tmp_path) as sky:
        sky.model.script(Answer("Only once"))
        sky.service.environment["CARINA_FAULT"] = "bluesky.write:after"
        await sky.service.launch()
        await sky.ready()
        sky.mention("hello")
        await sky.service.ended()
        assert [post.text for post in sky.bot.posts] == ["Only once"]
        del sky.service.environment["CARINA_FAULT"]
        await sky.service.launch()
        await sky.ready()
        sky.model.script(Answer("Next"))
        sky.mention("and this?")
        await sky.server.wait_for_post(sky.bot, 1)
        await sky.service.stop()
        assert [post.text for post in sky.bot.posts] == ["Only once", "Next"]


async def test_a_post_that_is_deleted_while_it_is_answered_gets_no_answer_and_is_forgotten(tmp_path: Path) -> None:
    async with skies(tmp_path) as sky:
        sky.model.script(Slow(20, Answer("too late")))
        await sky.service.launch()
        await sky.ready()
        asked = sky.mention("my secret is 4711")
        (request,) = await sky.model.wait_for(1)
        asked.delete()
        await sky.until(lambda: request.abandoned)
        sky.model.script(Answer("Hi"))
        sky.mention("what was it?")
        await sky.server.wait_for_post(sky.bot)
        await sky.service.stop()
        assert [post.text for post in sky.bot.posts] == ["Hi"]
        assert "4711" not in str(sky.model.requests[-1].messages)


async def test_the_account_is_made_known_as_a_bot_once(tmp_path: Path) -> None:
    async with skies(tmp_path) as sky:
        sky.configure(f'owner = "{sky.ana.did}"')
        sky.bot.records["app.bsky.actor.profile", "self"] = {"cid": "bafy", "value": {"displayName": "Carina"}}
        code, out, _ = await sky.service.run("bluesky", "setup")
        assert (code, "labelled as a bot" in out) == (0, True)
        await sky.start()
        code, out, _ = await sky.service.run("bluesky", "setup")
        assert (code, "nothing to change" in out) == (0, True)
        profile = sky.bot.records["app.bsky.actor.profile", "self"]["value"]
        assert profile["displayName"] == "Carina"
        assert profile["labels"]["values"] == [{"val": "bot"}]
        assert profile["description"].startswith("Automated account of @ana.test")
        code, out, _ = await sky.service.run("bluesky", "status", "--json")
        assert code == 0
        assert json.loads(out)["labelled"] is True
        code, out, _ = await sky.service.run("status")
        assert "bluesky: connected as carina.test" in out
        await sky.service.stop()
        assert sky.server.count("com.atproto.server.createSession") == 1


async def test_a_wrong_password_ends_it_with_words_and_code_2(tmp_path: Path) -> None:
    async with skies(tmp_path) as sky:
        sky.service.environment["BLUESKY_APP_PASSWORD"] = "wrong-wrong-wrong"
        code, _, error = await sky.service.run("run")
        assert code == 2
        assert "make a new app password" in error
        assert "wrong-wrong" not in error
