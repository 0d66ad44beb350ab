"""Mentions on Bluesky, also beside Discord: the program as a process, small servers over sockets, a scripted model."""

import json
import sqlite3
import stat
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from sources.findings import State
from tests.service.bluesky import Skies, account, skies
from tests.service.live_service import NO_MERGING, QUESTION, live_service, until
from tests.wire.bluesky import BlueskyServer, Post
from tests.wire.model import Answer, Call, Calls, Fail, Slow

CREATE, LIST = "com.atproto.repo.createRecord", "app.bsky.notification.listNotifications"
THREAD, POSTS = "app.bsky.feed.getPostThread", "app.bsky.feed.getPosts"
SAID = "SELECT 1 FROM messages WHERE instr(content, ?)"


@pytest.fixture
async def sky(tmp_path: Path) -> AsyncIterator[Skies]:
    async with skies(tmp_path) as made:
        yield made


def found(sky: Skies, statement: str, words: str) -> bool:
    """Whether the statement gives any row of the store for these words."""
    path = next(sky.service.home.glob("constellations/*/carina.db"))
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(statement, (words,)).fetchone() is not None


async def test_a_mention_is_answered_once_in_its_thread(sky: Skies) -> None:
    began = sky.ana.post("what a day")
    sky.model.script(Answer("Hello @ana.test, see https://example.com/a."))
    await sky.service.start()
    asked = sky.ana.post(f"@{sky.bot.handle} 👨‍👩‍👧 hi there", reply_to=began, mentions=(sky.bot,))
    answer = await sky.server.wait_for_post(sky.bot)
    assert answer.record["reply"] == {"root": began.reference, "parent": asked.reference}
    assert answer.record["langs"] == ["en"]
    kinds = [facet["features"][0]["$type"].partition("#")[2] for facet in answer.record["facets"]]
    assert kinds == ["mention", "link"]
    assert "what a day" in sky.model.requests[0].last_user
    await sky.service.restart()
    sky.model.script(Answer("Again"))
    sky.ana.post("and now?", reply_to=answer)
    await sky.server.wait_for_post(sky.bot, 1)
    await sky.service.stop()
    assert [post.text for post in sky.bot.posts] == ["Hello @ana.test, see https://example.com/a.", "Again"]
    assert sky.server.count("com.atproto.server.createSession") == 1
    assert stat.S_IMODE((sky.service.home / "bluesky.session").stat().st_mode) == 0o600


async def test_where_several_members_answer_each_post_begins_with_its_name(sky: Skies) -> None:
    both = "agents = [{ name = 'Ant' }, { name = 'Bee' }]\ngroups = [{ name = 'Insects', members = ['Ant', 'Bee'] }]"
    sky.configure(f'owner = "{sky.ana.did}"', both)
    sky.model.script(Answer("one"), Answer("one"), Answer("two"), Answer("two"), Answer("three"))
    await sky.service.start()
    asked = sky.mention("@all who are you?")
    second = await sky.server.wait_for_post(sky.bot, 1)
    assert [post.text for post in sky.bot.posts] == ["Ant: one", "Bee: one"]
    assert [post.parent for post in sky.bot.posts] == [asked.uri, sky.bot.posts[0].uri]
    sky.server.chat.say(sky.ana, sky.bot, "@all and in private?")
    await sky.until(lambda: sky.server.chat.texts(sky.bot, sky.ana) == ["Ant: two", "Bee: two"])
    sky.mention("one of you?", reply_to=second)
    assert (await sky.server.wait_for_post(sky.bot, 2)).text == "three"


async def test_a_crash_between_posting_and_storing_the_answer_posts_nothing_twice(sky: Skies) -> None:
    sky.model.script(Answer("Only once"))
    async with sky.service.dying("bluesky.write:after"):
        sky.mention("hello")
    assert [post.text for post in sky.bot.posts] == ["Only once"]
    await sky.service.start()
    sky.model.script(Answer("Next"))
    sky.mention("and this?")
    await sky.server.wait_for_post(sky.bot, 1)
    await sky.service.stop()
    assert [post.text for post in sky.bot.posts] == ["Only once", "Next"]


async def test_a_post_that_is_deleted_while_it_is_answered_gets_no_answer_and_is_forgotten(sky: Skies) -> None:
    sky.model.script(Slow(20, Answer("too late")))
    await sky.service.start()
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


async def test_the_account_is_made_known_as_a_bot_once(sky: Skies) -> None:
    sky.configure(f'owner = "{sky.ana.did}"')
    sky.bot.records["app.bsky.actor.profile", "self"] = {"cid": "bafy", "value": {"displayName": "Carina"}}
    assert "labeled as a bot" in await sky.service.said("bluesky", "setup")
    await sky.service.start()
    assert "nothing to change" in await sky.service.said("bluesky", "setup")
    profile = sky.bot.records["app.bsky.actor.profile", "self"]["value"]
    assert profile["displayName"] == "Carina"
    assert profile["labels"]["values"] == [{"val": "bot"}]
    assert profile["description"].startswith("Automated account of @ana.test")
    assert (await sky.service.data("bluesky", "status"))["labelled"] is True
    assert "Bluesky: connected as carina.test" in await sky.service.said("status")
    checked = json.loads((await sky.service.run("doctor", "--json"))[1])
    assert [each["state"] for each in checked if each["about"] == "Bluesky"] == [State.GOOD]
    assert all("_health" in each for each in sky.server.problems), "only the check of the clock asks for more"
    sky.server.problems.clear()
    await sky.service.stop()
    assert sky.server.count("com.atproto.server.createSession") == 1


async def test_a_wrong_password_ends_it_with_words_and_code_2(sky: Skies) -> None:
    sky.service.environment["BLUESKY_APP_PASSWORD"] = "wrong-wrong-wrong"
    code, _, error = await sky.service.run("run")
    assert code == 2
    assert "create a new app password" in error
    assert "wrong-wrong" not in error


async def test_the_agent_likes_what_it_answers_and_asks_before_it_follows(sky: Skies) -> None:
    like = Call("bluesky", {"operation": "like"})
    follow = Call("bluesky", {"operation": "follow"})
    sky.model.script(Calls(like, follow), Answer("Thank you!"))
    await sky.service.start()
    asked = sky.mention("you are great, follow me")
    await sky.server.wait_for_post(sky.bot)
    await sky.until(lambda: any(key[0] == "app.bsky.feed.like" for key in sky.bot.records))
    (liked,) = [each["value"] for key, each in sky.bot.records.items() if key[0] == "app.bsky.feed.like"]
    assert liked["subject"] == asked.reference
    assert not any(key[0] == "app.bsky.graph.follow" for key in sky.bot.records)
    (request,) = (await sky.service.data("permits", "list"))["requests"]
    sky.model.script(Answer(""))
    await sky.service.run("approve", str(request["id"]))
    await sky.until(lambda: any(key[0] == "app.bsky.graph.follow" for key in sky.bot.records))
    (followed,) = [each["value"] for key, each in sky.bot.records.items() if key[0] == "app.bsky.graph.follow"]
    assert followed["subject"] == sky.ana.did
    await sky.model.wait_for(3)
    await sky.service.stop()
    assert len(sky.bot.posts) == 1


async def test_an_answer_that_is_too_long_is_said_shorter_by_the_model_once_then_cut(sky: Skies) -> None:
    sky.configure("max_posts = 2")
    long = "This sentence says nothing at all. " * 40
    sky.model.script(Answer(long), Answer("In short: nothing."), Answer(long), Answer(long))
    await sky.service.start()
    sky.mention("tell me")
    assert (await sky.server.wait_for_post(sky.bot)).text == "In short: nothing."
    assert "at most about" in str(sky.model.requests[1].messages)
    asked = sky.mention("no, all of it")
    last = await sky.server.wait_for_post(sky.bot, 2)
    await sky.service.stop()
    first = sky.bot.posts[1]
    assert len(sky.bot.posts) == 3
    assert (first.parent, last.parent) == (asked.uri, first.uri)
    assert last.text.endswith("…")


async def test_the_owner_talks_and_answers_questions_in_direct_messages(sky: Skies) -> None:
    sky.configure(f'owner = "{sky.ana.did}"')
    bob = sky.server.user("bob.test", "Bob")
    sky.model.script(Answer("Only between us."))
    await sky.service.start()
    sky.server.chat.say(sky.ana, sky.bot, "my secret is 4711")
    await sky.until(lambda: sky.server.chat.texts(sky.bot, sky.ana) == ["Only between us."])
    assert "my secret is 4711" in sky.model.requests[0].last_user
    assert "direct messages are available" in await sky.service.said("bluesky", "status")
    sky.model.script(Calls(Call("bluesky", {"operation": "follow"})), Answer("I asked."), Answer(""))
    sky.mention("follow me", bob)
    await sky.server.wait_for_post(sky.bot)
    await sky.until(lambda: len(sky.server.chat.texts(sky.bot, sky.ana)) > 1)
    card = sky.server.chat.texts(sky.bot, sky.ana)[1]
    number = card.rpartition("no ")[2]
    assert f"Answer with one of: yes {number}" in card
    assert len(number) == 6
    assert not {"*", "`"} & set(card), "plain text"
    assert not any(key[0] == "app.bsky.graph.follow" for key in sky.bot.records)
    sky.server.chat.say(sky.ana, sky.bot, f"yes {number}")
    await sky.until(lambda: any(key[0] == "app.bsky.graph.follow" for key in sky.bot.records))
    told = "Allowed once by @ana.test, "
    await sky.until(lambda: sky.server.chat.texts(sky.bot, sky.ana)[-1].startswith(f"✅ {told}"))
    (answered,) = [each for each in await sky.service.data("permits", "audit") if each["event"] == "answered"]
    assert (answered["person_id"], answered["called"]) == (f"bluesky:{sky.ana.did}", "Ana")
    await sky.model.wait_for(4)
    assert not any("4711" in str(request.messages) for request in sky.model.requests[1:])
    await sky.service.stop()
    assert [post.text for post in sky.bot.posts] == ["I asked."]


async def test_a_crash_between_a_direct_message_and_storing_it_says_nothing_twice(sky: Skies) -> None:
    sky.configure(f'owner = "{sky.ana.did}"')
    sky.model.script(Answer("Only once"))
    async with sky.service.dying("bluesky.direct:after"):
        sky.server.chat.say(sky.ana, sky.bot, "hello")
    assert sky.server.chat.texts(sky.bot, sky.ana) == ["Only once"]
    await sky.service.start()
    sky.model.script(Answer("Next"))
    sky.server.chat.say(sky.ana, sky.bot, "and this?")
    await sky.until(lambda: "Next" in sky.server.chat.texts(sky.bot, sky.ana))
    await sky.service.stop()
    assert sky.server.chat.texts(sky.bot, sky.ana) == ["Only once", "Next"]


async def test_words_of_who_opted_out_or_asks_not_to_be_shown_reach_nobody_elses_turn(sky: Skies) -> None:
    await sky.service.start()
    shy = sky.server.user("shy.test", "Shy", labels=("!no-unauthenticated",))
    leaver = sky.server.user("leaver.test", "Leaver")
    for number, (who, word) in enumerate([(shy, "ELDERBERRY"), (leaver, "QUINCE"), (sky.ana, "MEDLAR")]):
        sky.model.script(Answer(f"I see, {word}-answer."))
        said = sky.mention(f"my hobby is {word}", by=who)
        answer = await sky.server.wait_for_post(sky.bot, number)
        if who is leaver:
            who.post("stop", reply_to=answer)
            await sky.looked()
        assert answer.parent == said.uri
    before = len(sky.model.requests)
    bob = sky.server.user("bob.test", "Bob")
    sky.model.script(
        Calls(Call("search", {"query": "hobby", "domain": "constellation_messages"})),
        Calls(Call("search", {"query": "message", "domain": "activity"})),
        Answer("Nothing much."),
    )
    sky.mention("what happened lately, and who has a hobby?", by=bob)
    await sky.server.wait_for_post(sky.bot, 3)
    sky.model.script(Answer("Still nothing."))
    shared = sky.ana.post("let us see", reply_to=sky.bot.posts[0], mentions=())  # in the thread of Shy
    sky.mention("who else wrote here?", by=bob, reply_to=shared)
    await sky.server.wait_for_post(sky.bot, 4)
    shown = [str(each.messages) for each in sky.model.requests[before:]]
    await sky.service.stop()
    assert len(shown) >= 4
    assert any("MEDLAR" in each for each in shown)  # what happened lately is told
    for each in shown:
        assert "ELDERBERRY" not in each
        assert "QUINCE" not in each


@pytest.mark.parametrize("watched", [True, False])
async def test_a_post_that_is_deleted_after_its_answer_is_forgotten_and_the_answer_goes_with_it(
    sky: Skies, watched: bool
) -> None:
    sky.model.script(Answer("QUINCE it is."), Answer("MEDLAR stays."))
    await sky.service.start()
    asked = sky.mention("my word is QUINCE")
    await sky.server.wait_for_post(sky.bot)
    sky.mention("my word is MEDLAR")
    await sky.server.wait_for_post(sky.bot, 1)
    if not watched:
        await sky.service.stop()
    asked.delete()
    if not watched:
        await sky.service.start()
    await sky.until(lambda: len(sky.bot.posts) == 1)
    await sky.until(lambda: not found(sky, SAID, "QUINCE"))
    assert [post.text for post in sky.bot.posts] == ["MEDLAR stays."]
    assert found(sky, SAID, "MEDLAR")


async def test_a_post_that_is_only_hidden_is_not_taken_for_a_deleted_one(sky: Skies) -> None:
    sky.model.script(Answer("Well."))
    await sky.service.start()
    asked = sky.mention("my word is QUINCE")
    await sky.server.wait_for_post(sky.bot)
    del sky.server.posts[asked.uri]  # the record stays
    asking = sky.server.count("com.atproto.repo.getRecord")
    await sky.until(lambda: sky.server.count("com.atproto.repo.getRecord") > asking)
    await sky.looked()
    assert found(sky, SAID, "QUINCE")
    await sky.service.stop()
    assert len(sky.bot.posts) == 1


async def test_a_public_thread_is_told_nothing_of_approvals(sky: Skies) -> None:
    post = {"operation": "post", "text": "QUINCE\nis ripe"}
    calls = Calls(Call("bluesky", {"operation": "follow"}), Call("bluesky", post))
    sky.model.script(calls, Answer("Nice to meet you."))
    await sky.service.start()
    sky.mention("follow me")
    await sky.server.wait_for_post(sky.bot)
    requests = (await sky.service.data("permits", "list"))["requests"]
    reasons = {each["reason"].partition(": ")[2] for each in requests}
    assert reasons == {f"follow {sky.ana.did}", "post: QUINCE is ripe"}  # the owner can tell them apart
    asked = len(sky.model.requests)
    result = str(sky.model.requests[-1].messages)
    assert "tell the person" not in result.casefold()
    for request in requests:
        assert str(request["id"]) not in result
        await sky.service.run("deny", str(request["id"]))
    await sky.looked(10)
    assert len(sky.model.requests) == asked  # nothing to go on with
    await sky.service.stop()
    assert [post.text for post in sky.bot.posts] == ["Nice to meet you."]


async def test_strangers_never_read_why_no_model_answers_and_the_owner_does_once(tmp_path: Path) -> None:
    for apology, said in (("", []), ("[model]\napology = 'Sorry, not now.'", ["Sorry, not now."] * 2)):
        folder = tmp_path / str(len(said))
        folder.mkdir()
        async with skies(folder) as sky:
            sky.configure(toml=apology)
            sky.model.default = lambda _: Fail(401)
            await sky.service.start()
            sky.mention("hello")
            sky.mention("are you there?")
            if said:
                await sky.server.wait_for_post(sky.bot, 1)
            await sky.until(
                lambda: found(
                    sky,
                    "SELECT 1 FROM outbox WHERE key GLOB 'notice/trouble/*' AND instr(content, ?)",
                    "Until one does, people",
                )
            )
            await sky.looked(10)
            await sky.service.stop()
            assert [post.text for post in sky.bot.posts] == said


async def test_an_answer_comes_within_seconds_on_the_settings_as_they_are_shipped(sky: Skies) -> None:
    del sky.service.environment["BLUESKY_POLL_SECONDS"]
    sky.service.file.write_text("[schedule]\nsummaries = false\nzone = 'UTC'\n", "utf-8")
    sky.model.script(*(Answer(f"answer {number}") for number in range(4)))
    await sky.service.start()
    sky.mention("good morning")  # the first turn of a process loads what all later ones have
    await sky.server.wait_for_post(sky.bot)
    above, waits = None, []
    for number in range(1, 4):
        began = time.monotonic()
        sky.mention(f"question {number}", reply_to=above)
        above = await sky.server.wait_for_post(sky.bot, number)
        waits.append(time.monotonic() - began)
    await sky.service.stop()
    assert max(waits) < 3, waits


async def answered(sky: Skies, said: str, question: str = "hi") -> Post:
    """The last post of the answer to a new mention."""
    before = len(sky.bot.posts)
    sky.model.script(Answer(said))
    sky.mention(question)
    return await sky.server.wait_for_post(sky.bot, before)


TABLE = "[bluesky]\nbatch_seconds = 0"


async def test_what_a_stranger_on_bluesky_wants_is_asked_of_the_owner_on_discord(tmp_path: Path) -> None:
    async with BlueskyServer.start() as sky, live_service(tmp_path, scripted=True) as t:
        bot, eve = sky.user("carina.test", "Carina"), sky.user("eve.test", "Eve")
        t.service.environment |= account(bot, sky)
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
        await t.final(card)
        last = await sky.wait_for_post(bot, 1)
        await t.service.stop()

        (reposted,) = [each["value"] for key, each in bot.records.items() if key[0] == "app.bsky.feed.repost"]
        assert reposted["subject"] == asked.reference
        assert (last.text, last.parent) == ("Reposted.", asked.uri)
        shown = [str(request.messages) for request in t.model.requests if "eve.test" in str(request.messages)]
        assert len(shown) == 3
        assert not any("Olga keeps a quagga" in each or "remember that I keep" in each for each in shown)
        assert sky.problems == []


async def test_a_repost_of_a_deleted_post_is_told_the_owner_and_not_offered_again(sky: Skies) -> None:
    sky.configure(f'owner = "{sky.ana.did}"\nkeywords = ["repost"]')
    gone = sky.ana.post("soon gone")
    gone.delete()
    sky.model.script(Calls(Call("bluesky", {"operation": "repost", "target": gone.uri})), Answer("Done."))
    await sky.service.start()
    sky.mention("hello")
    sky.mention("repost it")
    await sky.server.wait_for_post(sky.bot)
    told = "The action “repost” on Bluesky was not done: the post was deleted, or the bot cannot see it."
    await sky.until(lambda: found(sky, "SELECT 1 FROM outbox WHERE place_id = 'terminal:local' AND content = ?", told))
    waiting = await sky.service.data("outbox", "list")
    assert [(each["what"], each["place"]) for each in waiting] == [("notice", "the terminal")]
    assert "skipped in the past day: 1 (they contain none of `keywords`)" in await sky.service.said("bluesky", "status")


async def test_people_are_named_by_their_handles_and_ruled_by_their_dids(sky: Skies) -> None:
    await sky.service.start()
    await sky.service.said("people", "deny", "@ana.test")
    (listed,) = await sky.service.data("people", "list")
    assert (listed["subject"], listed["state"]) == (f"bluesky:{sky.ana.did}", "blocked")
    await sky.service.said("people", "forget", "ana.test")
    assert await sky.service.data("people", "list") == []
    await sky.service.said("privacy", "optout", f"bluesky:{sky.ana.handle}")
    sky.mention("am I heard?")
    await sky.service.logged("bluesky_posts_skipped", reasons=["opted_out"])
    assert "is not a person" in (await sky.service.run("privacy", "optout", "bluesky:ana"))[2]
    assert "has the handle nobody.test" in (await sky.service.run("people", "allow", "@nobody.test"))[2]
    await sky.service.stop()
    assert "not connected" in (await sky.service.run("people", "deny", "@ana.test"))[2]
