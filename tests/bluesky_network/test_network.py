"""What the program does on the reference implementation's own servers."""

import base64
import sqlite3
from contextlib import closing

import pytest

from tests.bluesky_network.people import POSTS, Human, Refused
from tests.bluesky_network.stage import Stage
from tests.processes import START_SECONDS
from tests.service.live_service import NO_MERGING, QUESTION, live_service
from tests.wire.model import Answer, Call, Calls

_DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="session")]


async def test_the_key_of_a_record_serves_once(here: Stage) -> None:
    record = {"$type": POSTS, "text": "hello", "createdAt": "2026-11-22T12:00:00.000Z"}
    wanted = {"repo": here.ana.did, "collection": POSTS, "rkey": "3lbw2wm6t6s2a", "record": record}
    await here.ana.do("com.atproto.repo.createRecord", **wanted)
    with pytest.raises(Refused) as refused:
        await here.ana.do("com.atproto.repo.createRecord", **wanted)
    assert len(await here.ana.records()) == 1
    assert refused.value.status >= 400


async def test_a_mention_is_answered_in_its_thread_and_a_restart_answers_nothing_twice(here: Stage) -> None:
    began = await here.ana.post("a fine day")
    here.model.script(Answer(f"Hello @{here.ana.handle}: see https://example.com"))
    await here.start()
    asked = await here.ana.post(f"👋 @{here.bot.handle} hi", to=began, mention=here.bot)
    (answer,) = await here.bot.wait_for_records(1)
    assert answer["value"]["reply"]["root"] == {"uri": began["uri"], "cid": began["cid"]}
    assert answer["value"]["reply"]["parent"] == {"uri": asked["uri"], "cid": asked["cid"]}
    features = [facet["features"][0] for facet in answer["value"]["facets"]]
    assert features[0]["did"] == here.ana.did
    assert features[1]["uri"] == "https://example.com"
    await here.service.kill()
    await here.net.flush()  # a reply that is indexed beside the post that it answers notifies nobody, now and then
    here.model.script(Answer("still here"))
    meanwhile = await here.ana.post("and what else?", to={**answer, "record": answer["value"]})
    await here.net.flush()
    await here.start()
    found = await here.bot.wait_for_records(2)
    assert found[1]["value"]["reply"]["parent"]["uri"] == meanwhile["uri"]
    await here.service.stop()
    assert len(await here.bot.records()) == 2


async def test_who_says_stop_is_not_answered_again(here: Stage) -> None:
    here.model.script(Answer("Hello"))
    await here.start()
    await here.ana.post(f"@{here.bot.handle} hi", mention=here.bot)
    (answer,) = await here.bot.wait_for_records(1)
    await here.net.flush()  # nobody answers a post before it can be seen, and the AppView tells of no such answer
    await here.ana.post("Stop.", to={**answer, "record": answer["value"]})
    await here.service.logged("bluesky_posts_skipped", reasons=["opting"], within=60)
    await here.ana.post(f"@{here.bot.handle} are you there?", mention=here.bot)
    await here.service.logged("bluesky_posts_skipped", reasons=["opted_out"], within=60)
    await here.service.stop()
    assert len(await here.bot.records()) == 1


async def test_a_gated_thread_gets_no_answer(here: Stage) -> None:
    here.service.expected_errors |= {"delivery_failed"}
    here.model.script(Answer("may I?"))
    await here.start()
    bob = await Human.join(here.net, here.ana.http, "bob")
    began = await bob.post("only for those I follow")
    gate = {
        "$type": "app.bsky.feed.threadgate",
        "post": began["uri"],
        "createdAt": "2026-11-22T12:00:00.000Z",
        "allow": [],
    }
    key = began["uri"].rpartition("/")[2]
    await bob.do(
        "com.atproto.repo.createRecord", repo=bob.did, collection="app.bsky.feed.threadgate", rkey=key, record=gate
    )
    await bob.post(f"@{here.bot.handle} what do you think?", to=began, mention=here.bot)
    refused = await here.service.logged("bluesky_posts_skipped", reasons=["closed"], within=60)
    await here.service.stop()
    assert refused["messages"] == 1
    assert await here.bot.records() == []


async def test_a_post_that_nobody_may_quote_is_not_quoted(here: Stage) -> None:
    here.service.file.write_text(f'{here.service.file.read_text("utf-8")}owner = "{here.ana.did}"\n', "utf-8")
    shown = await here.ana.post("not to be quoted")
    rules = [{"$type": "app.bsky.feed.postgate#disableRule"}]
    gate = {"$type": "app.bsky.feed.postgate", "post": shown["uri"], "createdAt": "2026-11-22T12:00:00.000Z"}
    await here.ana.do(
        "com.atproto.repo.createRecord", repo=here.ana.did, collection="app.bsky.feed.postgate",
        rkey=shown["uri"].rpartition("/")[2], record={**gate, "embeddingRules": rules},
    )  # fmt: skip
    await here.net.flush()
    quote = Call("bluesky", {"operation": "quote", "target": shown["uri"], "text": "look"})
    here.model.script(Calls(quote), Answer("Done."))
    await here.start()
    await here.ana.post(f"@{here.bot.handle} quote it", mention=here.bot)
    refused = await here.service.logged("delivery_withdrawn", within=60)
    await here.bot.wait_for_records(1)
    await here.service.stop()
    assert refused["reason"] == "the author of the post does not let the bot quote it"
    assert [each["value"]["text"] for each in await here.bot.records()] == ["Done."]


async def test_the_agent_finds_posts_and_reads_threads_and_people(here: Stage) -> None:
    began = await here.ana.post("the ferry leaves at noon")
    await here.ana.post("so be early", to=began)
    await here.net.flush()
    search = Call("bluesky_read", {"operation": "search", "query": "ferry"})
    thread = Call("bluesky_read", {"operation": "thread", "target": began["uri"]})
    profile = Call("bluesky_read", {"operation": "profile", "target": here.ana.handle})
    here.model.script(Calls(search, thread, profile), Answer("At noon."))
    await here.start()
    await here.ana.post(f"@{here.bot.handle} when does it leave?", mention=here.bot)
    await here.bot.wait_for_records(1)
    await here.service.stop()
    found, read, known = here.model.requests[1].results
    assert began["uri"] in found
    assert "the ferry leaves at noon" in found
    assert read.index("the ferry leaves at noon") < read.index("so be early")
    assert f"DID: {here.ana.did}" in known


async def test_a_picture_goes_with_a_reply_and_is_heard_in_words(here: Stage) -> None:
    picture = here.service.home.parent / "dot.png"
    picture.write_bytes(_DOT)
    here.service.file.write_text(f'{here.service.file.read_text("utf-8")}owner = "{here.ana.did}"\n', "utf-8")
    await here.start()
    for command in (
        ("create", "pictures", "--audience", "public"),
        ("upload", "pictures", str(picture)),
        ("attach", "pictures", "Carina"),
    ):
        code, _, error = await here.service.run("folder", *command, within=60)
        assert code == 0, error
    image = {"file": "pictures/dot.png", "alt": "a dot"}
    shown = await here.ana.post("who has a dot?")
    await here.net.flush()
    post = Call("bluesky", {"operation": "reply", "target": shown["uri"], "text": "I do", "images": [image]})
    here.model.script(Calls(post), Answer("Done."))
    await here.ana.post(f"@{here.bot.handle} show them", mention=here.bot)
    said = await here.bot.wait_for_records(2)
    (reply,) = [each for each in said if each["value"]["text"] == "I do"]
    assert reply["value"]["embed"]["images"][0]["alt"] == "a dot"
    await here.net.flush()
    here.model.script(Answer("Yes."))
    await here.ana.post(f"@{here.bot.handle} this one?", mention=here.bot, quote=reply)
    await here.bot.wait_for_records(3)
    await here.service.stop()
    assert "(image: a dot)" in here.model.requests[-1].last_user


async def test_what_is_wanted_on_bluesky_is_approved_on_discord(here: Stage) -> None:
    repost = Call("bluesky", {"operation": "repost"})
    folder = here.service.home.parent / "service"
    folder.mkdir()
    async with live_service(folder, scripted=True) as t:
        t.service.environment |= {
            name: value for name, value in here.service.environment.items() if name.startswith("BLUESKY_")
        }
        t.configure(NO_MERGING, "[bluesky]\nbatch_seconds = 0")
        t.model.script(Calls(repost), Answer("I have to ask first."), Answer("Reposted."))
        await t.service.start()
        await t.service.logged("ready", front_end="bluesky", within=START_SECONDS)
        asked = await here.ana.post(f"@{here.bot.handle} repost this!", mention=here.bot)
        await here.bot.wait_for_records(1)
        assert await here.bot.records("app.bsky.feed.repost") == []
        card = await t.olga.direct.wait_for_bot(lambda m: QUESTION in m.text and "repost" in m.text, timeout=60)
        await t.olga.press(card, "Allow once")
        (reposted,) = await here.bot.wait_for_records(1, collection="app.bsky.feed.repost")
        first, last = await here.bot.wait_for_records(2)
        await t.service.stop()
    assert reposted["value"]["subject"] == {"uri": asked["uri"], "cid": asked["cid"]}
    assert [first["value"]["text"], last["value"]["text"]] == ["I have to ask first.", "Reposted."]


async def test_families_are_counted_as_the_network_counts_them(here: Stage) -> None:
    here.model.script(Answer("👨‍👩‍👧‍👦" * 301))
    await here.start()
    await here.ana.post(f"@{here.bot.handle} how many?", mention=here.bot)
    said = await here.bot.wait_for_records(3)
    await here.service.stop()
    assert "".join(each["value"]["text"] for each in said) == "👨‍👩‍👧‍👦" * 301


async def test_a_rename_keeps_the_person(here: Stage) -> None:
    here.model.script(Answer("one"), Answer("two"))
    await here.start()
    await here.ana.post(f"@{here.bot.handle} hi", mention=here.bot)
    await here.bot.wait_for_records(1)
    await here.ana.do("com.atproto.identity.updateHandle", handle=f"new-{here.ana.handle}")
    await here.ana.post(f"@{here.bot.handle} hi again", mention=here.bot)
    await here.bot.wait_for_records(2)
    await here.service.stop()
    path = next(here.service.home.glob("constellations/*/carina.db"))
    with closing(sqlite3.connect(path)) as connection:
        blocks = connection.execute("SELECT person_id FROM memory_blocks WHERE label GLOB 'bluesky_user:*'").fetchall()
    assert blocks == [(f"bluesky:{here.ana.did}",)]


async def test_where_the_network_has_no_direct_messages_it_is_said(here: Stage) -> None:
    await here.start()
    code, out, error = await here.service.run("bluesky", "status", within=60)
    await here.service.stop()
    assert code == 0, error
    assert "direct messages are not available: Bluesky answered" in out


async def test_the_profile_says_that_it_is_a_bot(here: Stage) -> None:
    code, _, error = await here.service.run("bluesky", "setup", within=60)
    assert code == 0, error
    await here.net.flush()
    seen = await here.ana.ask("app.bsky.actor.getProfile", actor=here.bot.handle)
    assert [label["val"] for label in seen["labels"] if label["src"] == here.bot.did] == ["bot"]
    assert "Automated account" in seen["description"]
    assert seen["displayName"] == "Carina"
