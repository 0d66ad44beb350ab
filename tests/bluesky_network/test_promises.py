"""What Carina promises people on Bluesky, and the owner: kept on the reference servers."""

import asyncio
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.bluesky_network.people import POSTS, Human
from tests.bluesky_network.stage import Stage, stage
from tests.service.live_service import until
from tests.wire.model import Answer, Call, Calls, Request

pytestmark = [pytest.mark.network, pytest.mark.asyncio(loop_scope="session")]

SAID = "SELECT 1 FROM messages WHERE instr(content, ?)"
NOTICE = "SELECT 1 FROM outbox WHERE key GLOB 'notice/machine/*' AND instr(content, ?)"
LOOK = "app.bsky.notification.listNotifications"
LIKES, FOLLOWS = "app.bsky.feed.like", "app.bsky.graph.follow"


def found(here: Stage, statement: str, words: str) -> bool:
    """Whether the statement gives any row of the store for these words."""
    path = next(here.service.home.glob("constellations/*/carina.db"))
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(statement, (words,)).fetchone() is not None


def configure(here: Stage, bluesky: str = "", before: str = "") -> None:
    here.service.file.write_text(f"{before}\n[bluesky]\nbatch_seconds = 0\n{bluesky}\n", "utf-8")


async def mention(here: Stage, text: str, by: Human | None = None, **more: Any) -> dict[str, Any]:
    return await (by or here.ana).post(f"@{here.bot.handle} {text}", mention=here.bot, **more)


async def requests(here: Stage) -> list[dict[str, Any]]:
    """What waits for the owner's approval."""
    code, out, error = await here.service.run("permits", "list", "--json", within=60)
    assert code == 0, error
    return list(json.loads(out)["requests"])


async def decide(here: Stage, what: str) -> None:
    """Approve or deny the one thing that waits."""
    (request,) = await requests(here)
    code, _, error = await here.service.run(what, str(request["id"]), within=60)
    assert code == 0, error


async def gone(human: Human, collection: str, left: int = 0) -> None:
    """Until so few records of a collection are left."""
    async with asyncio.timeout(60):
        while len(await human.records(collection)) > left:
            await asyncio.sleep(0.1)


async def looked(here: Stage, times: int = 5) -> None:
    """Until the program has looked for notifications so often again."""
    await here.net.calls()
    seen = 0
    async with asyncio.timeout(60):
        while seen < times:
            await asyncio.sleep(0.2)
            seen += sum(each[0].startswith(LOOK) for each in await here.net.calls())


# ------------------------------------------------------------------------------------------------------ deleted posts


async def test_an_answered_post_that_is_deleted_is_forgotten(here: Stage) -> None:
    configure(here, "")
    here.model.script(Answer("Well."), Answer("MEDLAR stays."))
    await here.start()
    asked = await mention(here, "my word is QUINCE")
    await here.bot.wait_for_records(1)
    await mention(here, "my word is MEDLAR")
    await here.bot.wait_for_records(2)
    _, out, _ = await here.service.run("search", "QUINCE", within=60)
    assert "my word is" in out
    await here.ana.delete(asked)
    await until(lambda: not found(here, SAID, "QUINCE"), within=120)
    await gone(here.bot, POSTS, left=1)
    code, out, error = await here.service.run("search", "word", "--json", within=60)
    assert code == 0, error
    assert "MEDLAR" in out
    assert "QUINCE" not in out
    await here.service.stop()
    assert [each["value"]["text"] for each in await here.bot.records()] == ["MEDLAR stays."]


# --------------------------------------------------------------------------------------------------- whose words stay


async def test_words_of_who_left_or_is_not_shown_to_the_logged_out_reach_nobody_elses_turn(here: Stage) -> None:
    shy, leaver, bob = [await Human.join(here.net, here.ana.http, name) for name in ("shy", "leaver", "bob")]
    labels = {"$type": "com.atproto.label.defs#selfLabels", "values": [{"val": "!no-unauthenticated"}]}
    profile = {"$type": "app.bsky.actor.profile", "displayName": "Shy", "labels": labels}
    await shy.do(
        "com.atproto.repo.putRecord", repo=shy.did, collection="app.bsky.actor.profile", rkey="self", record=profile
    )
    await here.net.flush()
    await here.start()
    for number, (who, word) in enumerate([(shy, "ELDERBERRY"), (leaver, "QUINCE"), (here.ana, "MEDLAR")], 1):
        here.model.script(Answer(f"I see, {word}-answer."))
        await mention(here, f"my hobby is {word}", by=who)
        answer = (await here.bot.wait_for_records(number))[-1]
        await here.net.flush()
        if who is leaver:
            await who.post("stop", to={**answer, "record": answer["value"]})
            await here.service.logged("bluesky_posts_skipped", reasons=["opting"], within=60)
    before = len(here.model.requests)
    here.model.script(
        Calls(Call("search", {"query": "hobby", "domain": "constellation_messages"})),
        Calls(Call("search", {"query": "message", "domain": "activity"})),
        Answer("Nothing much."),
        Answer("Still nothing."),
    )
    await mention(here, "what happened lately, and who has a hobby?", by=bob)
    await here.bot.wait_for_records(4)
    first = (await here.bot.records())[0]
    shared = await here.ana.post("let us see", to={**first, "record": first["value"]})  # in the thread of Shy
    await here.net.flush()
    await mention(here, "who else wrote here?", by=bob, to=shared)
    await here.bot.wait_for_records(5)
    shown = [str(each.messages) for each in here.model.requests[before:]]
    await here.service.stop()
    assert len(shown) >= 4
    assert any("MEDLAR" in each for each in shown)  # what happened lately is told
    for each in shown:
        assert "ELDERBERRY" not in each
        assert "QUINCE" not in each


# ---------------------------------------------------------------------------------------------------------- approvals


async def test_the_owner_has_something_posted_by_a_yes_likes_and_follows_and_takes_it_back(here: Stage) -> None:
    shown = await here.ana.post("a fine day")
    await here.net.flush()
    here.model.default = lambda _request: Answer("")
    await here.start()

    async def ask(*calls: dict[str, Any]) -> None:
        here.model.script(Calls(*(Call("bluesky", each) for each in calls)), Answer("So be it."))
        code, _, error = await here.service.run("chat", "--once", "do that on Bluesky", within=90)
        assert code == 0, error

    await ask({"operation": "post", "text": "Good morning, everybody."})  # said where not everybody reads it
    assert await here.bot.records() == []
    await decide(here, "approve")
    (said,) = await here.bot.wait_for_records(1)
    assert (said["value"]["text"], "reply" in said["value"]) == ("Good morning, everybody.", False)
    await ask({"operation": "like", "target": shown["uri"]}, {"operation": "follow", "target": here.ana.did})
    (liked,) = await here.bot.wait_for_records(1, collection=LIKES)
    (followed,) = await here.bot.wait_for_records(1, collection=FOLLOWS)
    assert (liked["value"]["subject"]["uri"], followed["value"]["subject"]) == (shown["uri"], here.ana.did)
    await here.net.flush()
    for operation, target, collection in (
        ("unlike", shown["uri"], LIKES), ("unfollow", here.ana.did, FOLLOWS), ("delete", said["uri"], POSTS),
    ):  # fmt: skip
        await ask({"operation": operation, "target": target})
        await gone(here.bot, collection)
    await here.service.stop()


async def test_a_job_posts_by_a_yes_and_reads_a_list(here: Stage) -> None:
    agents = (
        '[[agents]]\nname = "Carina"\n[[agents.patrols]]\nname = "morning"\ncron = "0 0 1 1 *"\ntask = "Say hello."'
    )
    configure(here, before=agents)
    await here.ana.post("the ferry leaves at noon")
    kind = {"purpose": "app.bsky.graph.defs#curatelist", "name": "harbor", "createdAt": "2026-11-22T12:00:00.000Z"}
    made = await here.ana.do(
        "com.atproto.repo.createRecord", repo=here.ana.did, collection="app.bsky.graph.list",
        record={"$type": "app.bsky.graph.list", **kind},
    )  # fmt: skip
    member = {"subject": here.ana.did, "list": made["uri"], "createdAt": "2026-11-22T12:00:00.000Z"}
    await here.ana.do(
        "com.atproto.repo.createRecord", repo=here.ana.did, collection="app.bsky.graph.listitem",
        record={"$type": "app.bsky.graph.listitem", **member},
    )  # fmt: skip
    await here.net.flush()
    await here.start()
    read = Call("bluesky_read", {"operation": "feed", "target": made["uri"]})
    post = Call("bluesky", {"operation": "post", "text": "The ferry leaves at noon."})
    here.model.default = lambda _request: Answer("SILENT")
    here.model.script(Calls(read), Calls(post))
    approved = 0
    code, _, error = await here.service.run("jobs", "run", "patrol:morning", within=60)
    assert code == 0, error
    async with asyncio.timeout(120):
        while not await here.bot.records():  # the words are asked for, and the post itself
            for request in await requests(here):
                approved += 1
                await here.service.run("approve", str(request["id"]), within=60)
            await asyncio.sleep(0.2)
    await until(
        lambda: any("the ferry leaves at noon" in str(each.messages) for each in here.model.requests), within=60
    )
    (said,) = await here.bot.wait_for_records(1)
    await here.service.stop()
    assert approved > 0
    assert said["value"]["text"] == "The ferry leaves at noon."


# ----------------------------------------------------------------------------------------------------------- machines


async def test_two_bots_that_do_not_say_so_stop_answering_each_other(here: Stage, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    numbers = iter(range(1, 1_000))

    def story(_request: Request) -> Answer:
        return Answer(
            f"That was part {next(numbers)} of a really good story, and I would like to hear the next one soon."
        )

    beep = await Human.join(here.net, here.ana.http, "beep")
    await here.net.flush()
    async with stage(other, here.net, beep, here.ana) as there:
        here.model.default = there.model.default = story
        await here.start()
        await there.start()
        await mention(here, "tell me a long story about the sea, please, and all the fish in it", by=beep)
        stages = (here, there)
        async with asyncio.timeout(240):
            while not any(each.service.logged_events("bluesky_posts_skipped") for each in stages):
                await asyncio.sleep(0.2)
        (noticed,) = [each for each in stages if each.service.logged_events("bluesky_posts_skipped")]
        assert noticed.service.logged_events("bluesky_posts_skipped")[0]["reasons"] == ["machine"]
        await until(lambda: found(noticed, NOTICE, "answers like a bot"))
        said = [len(await each.bot.records()) for each in stages]
        await looked(here, 40)
        assert [len(await each.bot.records()) for each in stages] == said
        await here.service.stop()
        await there.service.stop()
    assert max(said) <= 8


# ------------------------------------------------------------------------------------------------- reading and waiting


async def test_pictures_are_heard_with_all_that_describes_them(here: Stage) -> None:
    described = ("a red house beside the sea " * 74)[:1_990] + "END"
    dot = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c02") + bytes.fromhex(
        "0000000b4944415478da63646060000000060002 3081d02f0000000049454e44ae426082".replace(" ", "")
    )
    headers = {"Authorization": f"Bearer {here.ana.token}", "Content-Type": "image/png"}
    upload = f"{here.net.pds}/xrpc/com.atproto.repo.uploadBlob"
    async with here.ana.http.post(upload, data=dot, headers=headers) as answer:
        blob = (await answer.json())["blob"]
    text = f"@{here.bot.handle} what is this?"
    feature = {"$type": "app.bsky.richtext.facet#mention", "did": here.bot.did}
    record = {
        "$type": POSTS, "text": text, "createdAt": "2026-11-22T12:00:00.000Z", "langs": ["en"],
        "facets": [{"index": {"byteStart": 0, "byteEnd": len(here.bot.handle) + 1}, "features": [feature]}],
        "embed": {"$type": "app.bsky.embed.images", "images": [{"alt": described, "image": blob}]},
    }  # fmt: skip
    here.model.script(Answer("A red house."))
    await here.start()
    await here.ana.do("com.atproto.repo.createRecord", repo=here.ana.did, collection=POSTS, record=record)
    await here.bot.wait_for_records(1)
    await here.service.stop()
    shown = here.model.requests[0].last_user
    assert described in shown
    assert "[image that you cannot see: " in shown  # this model is on a server that is asked in words alone


async def test_the_first_answer_and_those_in_its_thread_come_within_seconds_on_shipped_defaults(here: Stage) -> None:
    del here.service.environment["BLUESKY_POLL_SECONDS"]
    here.service.file.write_text("", "utf-8")
    here.model.script(*(Answer(f"answer {number}") for number in range(4)))
    await here.start()
    above, waits = None, []
    for number in range(4):
        asked = await mention(here, f"question {number}", to=above)
        began = time.monotonic()
        answer = (await here.bot.wait_for_records(number + 1))[-1]
        waits.append(time.monotonic() - began)
        assert answer["value"]["reply"]["parent"]["uri"] == asked["uri"]
        await here.net.flush()
        above = {**answer, "record": answer["value"]}
    await here.service.stop()
    assert max(waits) < 3, waits
