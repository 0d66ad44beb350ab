"""What is heard on Bluesky over sockets: pages, threads, downtime, and servers that go wrong."""

import asyncio
import dataclasses
import re
import stat
import time
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from atproto_client import Session, SessionEvent

from memory.people.audience import PUBLIC, Trust
from memory.queue.notifications import Kind
from memory.store.clock import to_text, utc_now
from memory.store.ids import PersonId
from sources.base import Deliver
from sources.bluesky.failures import NoAnswer, RateLimited, ServerUnreachable
from sources.bluesky.session import LOGIN_PAUSE
from sources.bluesky.source import PollPace
from tests.captured_logs import capture_logs
from tests.sources.bluesky_stage import AWAY, Away, Harness, delivery, denies, excludes, hides, mutes, opts_out, pauses
from tests.wire.bluesky import User

LIST, THREAD = "app.bsky.notification.listNotifications", "app.bsky.feed.getPostThread"
LOGIN = "com.atproto.server.createSession"


async def test_what_was_there_before_is_not_heard_and_what_comes_is_heard_once(here: Harness) -> None:
    here.mention("before")
    source = await here.begun()
    asked = here.mention("now")
    await here.poll(source, 3)
    await here.poll(here.source(), 2)
    assert here.texts == ["now"]
    (heard,) = here.heard
    assert (heard.place.id, heard.place.audience) == (f"bluesky:{asked.uri}", PUBLIC)
    assert heard.external_id == f"{asked.uri}#{asked.cid}"
    assert heard.speaker is not None
    assert (heard.speaker.id, heard.speaker.trust) == (f"bluesky:{here.ana.did}", Trust.STRANGER)
    assert here.why == ["before"]


async def test_a_mark_in_the_future_loses_nothing_of_what_comes_now(here: Harness) -> None:
    here.memory.marks["bluesky.mark"] = "2999-01-01T00:00:00.000Z"
    here.server.page = 2
    for number in range(6):
        here.mention(f"question {number}")
    source = here.source()
    await here.poll(source, 2)
    assert here.texts == [f"question {number}" for number in range(6)]
    assert here.memory.marks["bluesky.mark"] < "2999"


@pytest.mark.parametrize(
    "created",
    ["9999-12-31T00:00:00.000Z", "9999-12-31T23:59:59-14:00", "tomorrow", "", "2020-01-01T00:00:00.000Z"],
)
async def test_nobody_posts_in_the_future(here: Harness, created: str) -> None:
    source = await here.begun()
    asked = here.mention("hi")
    asked.record["createdAt"] = created
    await here.poll(source)
    (heard,) = here.heard
    assert to_text(heard.at) <= asked.indexed_at
    invalid = created == "tomorrow" or created.endswith("-14:00")
    assert heard.at.year == (2020 if created.startswith("2020") else 1970 if invalid else heard.at.year)


async def test_duplicate_and_disordered_pages_are_heard_once_in_order(here: Harness) -> None:
    source = await here.begun()
    posts = [here.mention(f"number {number}") for number in range(3)]
    told = here.server.told[here.bot.did]
    told += [*told[::-1], *told]
    await here.poll(source)
    assert here.texts == ["number 0", "number 1", "number 2"]
    assert len({each.external_id for each in here.heard}) == len(posts)


async def test_what_was_not_stored_is_heard_again(here: Harness) -> None:
    source = await here.begun()
    here.memory.stores = False
    here.mention("lost by a crash")
    await here.poll(source)
    here.memory.stores = True
    await here.poll(source)
    assert here.texts == ["lost by a crash"] * 2, "though it was the newest"
    await here.poll(here.source())
    assert len(here.heard) == 2


async def test_posts_of_one_thread_are_answered_together(here: Harness) -> None:
    source = await here.begun(batch_seconds=3_600)
    began = here.bot.post("I begin")
    for number in range(40):
        (here.ana, here.bob)[number % 2].post(f"reply {number}", reply_to=began)
        if number == 0:
            await here.poll(source)
    await here.poll(source)
    assert here.texts == ["reply 0"]
    for batch in source._waiting.values():  # the time is over
        batch.due = 0
    await here.poll(source)
    assert here.texts == [f"reply {number}" for number in range(40)]
    assert [each.text for each in here.heard if each.answer] == ["reply 0", "reply 39"]


async def test_a_thread_is_shown_with_parents_quotes_and_own_posts(here: Harness) -> None:
    source = await here.begun()
    here.server.user("shy.test", labels=("!no-unauthenticated",)).post("hm")
    began = here.ana.post("the first of all")
    shy = next(each for each in here.server.users.values() if each.handle == "shy.test")
    hidden = shy.post("not for everybody", reply_to=here.bot.post("our word", reply_to=began))
    here.server.told[here.bot.did].clear()  # else it is heard itself
    here.mention("and you?", here.bob, reply_to=hidden, quotes=began)
    await here.poll(source)
    (heard,) = [each for each in here.heard if each.answer]
    assert heard.extras.background == ("Ana: the first of all", "you: our word", "(1 post is not shown)")
    assert heard.extras.quoted is None
    labels = [block.label for block in heard.extras.blocks]
    assert labels == [f"bluesky_thread:{began.uri}", f"bluesky_user:{here.bob.did}"]


def is_seen(_here: Harness, _user: User) -> None:
    """Nothing is against it."""


@pytest.mark.parametrize("excluded", [True, False])
@pytest.mark.parametrize("how", [opts_out, denies, mutes, hides, is_seen])
async def test_words_of_who_is_not_shown_are_not_shown_in_quotes_either(
    here: Harness, how: Away, excluded: bool
) -> None:
    source = await here.begun({"exclude_dids": frozenset({here.ana.did} if excluded else ())})
    quoted = here.ana.post("Quetzal")
    how(here, here.ana)
    began = here.bob.post("look at this", quotes=quoted)
    above = here.bob.post("and at this", quotes=quoted, reply_to=began)
    asked = here.mention("what is it?", here.bob, reply_to=above)
    here.bob.post("below", quotes=quoted, reply_to=asked)
    await here.poll(source)
    heard = next(each for each in here.heard if each.answer)
    line = "" if excluded or how is not is_seen else "(quotes Ana: Quetzal)"
    assert heard.extras.background[0] == f"bob.test: look at this {line}".strip()
    assert heard.extras.background[-1] == f"bob.test: below {line}".strip()
    assert heard.extras.quoted is not None
    assert heard.extras.quoted.text == f"and at this\n{line}".strip()
    assert ("Quetzal" in repr(here.heard)) is bool(line)


async def test_stop_is_kept_by_person_and_opt_in_ends_it(here: Harness) -> None:
    source = await here.begun()
    for text in ("stop", "hello?", "opt in", "hello again"):
        here.mention(text)
        await here.poll(source)
    assert here.texts == ["hello again"]
    assert here.why == ["opting", "opted_out", "opting"]
    assert here.memory.opted == {PersonId(f"bluesky:{here.ana.did}"): False}


async def test_stop_counts_however_old_it_is_and_nothing_else_does(here: Harness) -> None:
    await here.poll(here.source())
    here.server.page = 3
    here.mention("stop")
    here.mention("too late", here.bob)
    for each in here.server.told[here.bot.did]:
        each["indexedAt"] = "2020-02-01T12:00:00.000Z"
    here.memory.marks["bluesky.mark"] = "2020-01-31T12:00:00.000Z"
    for number in range(4):
        here.mention(f"news {number}", here.bob)
    here.mention("hello?")
    await here.poll(here.source())
    assert here.memory.opted == {PersonId(f"bluesky:{here.ana.did}"): True}
    assert here.texts == [f"news {number}" for number in range(4)]
    assert here.why == ["opting", "too_old", "opted_out"]


@pytest.mark.parametrize(("most", "answered", "heard"), [(0, 0, 0), (2, 1, 1), (2, 2, 0)])
async def test_another_bot_is_answered_as_often_as_allowed(here: Harness, most: int, answered: int, heard: int) -> None:
    source = await here.begun(bot_answers_per_day=most)
    here.memory.answers = answered
    here.mention("beep", here.server.user("beep.test", labels=("bot",)))
    await here.poll(source)
    assert len(here.heard) == heard


async def test_blocked_gated_vacated_paused_and_deleted_are_passed_over(here: Harness) -> None:
    eve = here.server.user("eve.test")
    source = await here.begun({"exclude_dids": frozenset({eve.did})})
    here.bot.blocks.add(here.bob.did)
    here.mention("blocked", here.bob)
    gated = here.ana.post("for friends")
    gated.gate = True
    here.mention("gated", reply_to=gated)
    began = eve.post("Eve was here")
    here.mention("below", reply_to=began)
    await here.poll(source)
    assert sorted(here.why) == ["blocked", "closed", "vacated"]
    here.server.fail(THREAD, 502)
    lost = here.mention("gone")
    await here.poll(source)
    lost.delete()
    here.memory.paused = True
    here.mention("paused")
    await here.poll(source)
    assert here.heard == []
    assert "paused" in here.why


async def test_of_a_thread_everything_is_shown_with_each_answer_but_what_stands_in_the_conversation(
    here: Harness,
) -> None:
    source = await here.begun()
    last = here.bob.post("began")
    for number in range(3):
        last = here.bob.post(f"old {number}", reply_to=last)
    last = here.mention("first?", reply_to=last)
    await here.poll(source)
    for number in range(4):
        last = here.bob.post(f"new {number}", reply_to=last)
    last = here.mention("second?", reply_to=last)
    here.mention("third?", reply_to=last)
    await here.poll(source)
    first, _, third = here.heard
    old = ("bob.test: began", "bob.test: old 0", "bob.test: old 1")
    assert first.extras.background == old
    assert (first.extras.quoted and first.extras.quoted.text) == "old 2"
    new = (f"bob.test: new {number}" for number in range(4))
    assert third.extras.background == (*old, "bob.test: old 2", *new)


async def test_a_thread_whose_beginning_cannot_be_seen_or_shown_is_not_told_to_be_somebody_elses(here: Harness) -> None:
    source = await here.begun()
    gone = here.ana.post("gone")
    below = here.bob.post("below", reply_to=gone)
    gone.delete()
    here.mention("and?", reply_to=below)
    eve = here.server.user("eve.test", "Evelyn")
    theirs = eve.post("theirs")
    here.memory.opted[PersonId(f"bluesky:{eve.did}")] = True
    here.mention("here?", reply_to=theirs)
    await here.poll(source)
    for each, root in zip(here.heard, (gone, theirs), strict=True):
        assert each.place.name == "a thread on Bluesky"
        profile = each.extras.blocks[0].profile.splitlines()
        assert profile[:2] == [f"First post: {root.uri}", "Begun by somebody whose post is not shown"]
        assert "Evelyn" not in str(each)


async def test_other_branches_are_shown_marked_bounded_and_without_who_is_left_out(here: Harness) -> None:
    source = await here.begun({"exclude_keywords": ("lottery",)})
    eve = here.server.user("eve.test", "Evelyn")
    began = here.ana.post("what do you all think?")
    away = here.bob.post("of tea?", reply_to=began)
    here.bot.post("yes, of tea", reply_to=away)
    here.memory.opted[PersonId(f"bluesky:{eve.did}")] = True
    here.bob.post("never heard of it", reply_to=eve.post("I left", reply_to=began))
    here.bob.post("win the lottery", reply_to=began)
    way = here.bob.post("of coffee", reply_to=began)
    asked = here.mention("and you?", reply_to=way)
    here.ana.post("x" * 290, reply_to=way)
    here.bob.post("below", reply_to=asked)
    await here.poll(source)
    assert here.heard[-1].extras.background == (
        "Ana: what do you all think?",
        "beside it, in other branches of the thread, the nearest first:",
        f"Ana (to bob.test): {'x' * 199}…",
        "  bob.test (to a post that is not shown): never heard of it",
        "bob.test (to Ana): of tea?",
        "  you (to bob.test): yes, of tea",
        "after the newest post:",
        "bob.test: below",
        "(2 posts are not shown)",
    )
    assert "Evelyn" not in str(here.heard)
    for number in range(12):
        here.bob.post(f"beside {number}", reply_to=way)
    here.mention("again?", reply_to=way)
    await here.poll(source)
    beside = [f"bob.test (to bob.test): beside {number}" for number in reversed(range(4, 12))]
    assert list(here.heard[-1].extras.background[2:]) == [*beside, "(11 posts are not shown)"]


async def test_a_thread_whose_other_branches_cannot_be_read_is_heard_without_them_unless_somebody_is_excluded(
    here: Harness,
) -> None:
    source = await here.begun()
    began = here.ana.post("what do you all think?")
    here.bob.post("beside", reply_to=began)
    here.mention("and you?", reply_to=began)
    here.server.fail(THREAD, "", 502)
    await here.poll(source)
    (heard,) = here.heard
    assert (heard.extras.background, heard.extras.quoted and heard.extras.quoted.text) == ((), "what do you all think?")
    strict = here.source({"exclude_dids": frozenset({"did:plc:somebody"})})
    here.mention("and now?", reply_to=began)
    here.server.fail(THREAD, "", 502)
    await here.poll(strict)
    assert here.texts == ["and you?"]


@pytest.mark.parametrize("blocks", [False, True])
async def test_somebody_excluded_in_another_branch_vacates_the_thread(here: Harness, blocks: bool) -> None:
    eve = here.server.user("eve.test")
    source = await here.begun({"exclude_dids": frozenset({eve.did})})
    began = here.ana.post("what do you all think?")
    beside = here.bob.post("hm", reply_to=began)
    for number in range(8):
        beside = here.bob.post(f"and {number}", reply_to=beside)
    eve.post("Eve was here", reply_to=beside)
    if blocks:
        eve.blocks.add(here.bot.did)
    here.mention("and you?", reply_to=began)
    await here.poll(source)
    assert (here.heard, here.why) == ([], ["vacated"])
    here.mention("elsewhere", reply_to=here.ana.post("without her"))
    await here.poll(source)
    assert here.texts == ["elsewhere"]


async def test_what_pictures_show_is_heard_in_words_also_where_they_are_quoted(here: Harness) -> None:
    source = await here.begun()
    here.mention("mine", alts=("a cat", ""))
    theirs = here.bob.post("theirs", alts=("a dog",))
    here.mention("look", quotes=theirs)
    here.ana.post("see this", quotes=here.bot.post("mine"))
    await here.poll(source)
    first, second, third = here.texts
    assert first.splitlines() == ["mine", "(image: a cat)", "(image without a description)"]
    assert second.splitlines() == ["look", "(quotes bob.test: theirs (image: a dog))"]
    assert third.splitlines() == ["see this", "(quotes you: mine)"]


async def test_of_many_that_wait_each_is_looked_for(here: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sources.bluesky.deleted_posts._AT_ONCE", 2)
    monkeypatch.setattr("sources.bluesky.deleted_posts.EVERY", 0.3)
    source = await here.begun()
    asked = [here.mention(f"number {number}") for number in range(4)]
    await here.poll(source)
    asked[3].delete()
    async with asyncio.timeout(5):
        while len(here.heard) < 5:
            await source._watched.poll(here.deliver)
            await asyncio.sleep(0)
    assert (here.heard[4].kind, here.heard[4].subject) == (Kind.DELETE, here.heard[3].external_id)


async def test_a_deletion_of_a_post_is_heard_even_if_its_answer_is_to_a_later_one(
    here: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sources.bluesky.deleted_posts.EVERY", 0.0)
    monkeypatch.setattr("sources.bluesky.deleted_posts._MOST", 2)
    source = await here.begun()
    await source._watched.poll(here.deliver)
    began = here.mention("began")
    earlier = here.mention("QUINCE", reply_to=began)
    here.mention("and?", reply_to=earlier)
    await here.poll(source)
    assert [each.answer for each in here.heard] == [False, False, True]
    began.delete()  # of more than two posts, the newest two are watched
    earlier.delete()
    await source._watched.poll(here.deliver)
    assert [each.subject for each in here.heard if each.kind is Kind.DELETE] == [here.heard[1].external_id]


async def test_what_is_older_than_is_read_back_is_not_heard(here: Harness) -> None:
    source = await here.begun(read_back_days=2)
    for text, days in (("new", 1), ("old", 3)):
        here.mention(text)
        here.bot.world.told[here.bot.did][-1]["indexedAt"] = to_text(utc_now() - timedelta(days=days))
    await here.poll(source, 2)
    assert (here.texts, here.why) == (["new"], ["too_old"])


# -------------------------------------------------------------------------------------------- likes and follows


async def test_likes_reposts_and_follows_are_noted_once_and_heard_by_nobody(here: Harness) -> None:
    mine = here.bot.post("mine")
    here.ana.like(mine)
    source = here.source(poll_seconds=0.0)
    await source._engagement.poll()
    assert here.memory.acts == []  # what was there before is not new
    here.bob.like(mine)
    here.bob.like(mine, "repost")
    here.ana.follow(here.bot)
    here.ana.like(here.bob.post("not ours"))
    for _ in range(2):
        await source._engagement.poll()
        await here.source(poll_seconds=0.0)._engagement.poll()
    assert [(each.person, each.words) for each in here.memory.acts] == [
        (PersonId(f"bluesky:{here.bob.did}"), f"liked your post {mine.uri} on Bluesky (bob.test (@bob.test))"),
        (PersonId(f"bluesky:{here.bob.did}"), f"reposted your post {mine.uri} on Bluesky (bob.test (@bob.test))"),
        (PersonId(f"bluesky:{here.ana.did}"), "now follows you on Bluesky (Ana (@ana.test))"),
    ]
    assert here.heard == []


@pytest.mark.parametrize("why", [*AWAY, excludes, pauses])
async def test_of_who_wants_nothing_of_us_no_act_is_noted(here: Harness, why: Away) -> None:
    excluded = frozenset({here.ana.did}) if why is excludes else frozenset()
    source = here.source({"exclude_dids": excluded}, poll_seconds=0.0)
    mine = here.bot.post("mine")
    await source._engagement.poll()
    why(here, here.ana)
    here.ana.like(mine)
    await source._engagement.poll()
    here.memory.paused = False
    here.bob.like(mine)
    await source._engagement.poll()
    assert [each.person for each in here.memory.acts] == [PersonId(f"bluesky:{here.bob.did}")]


async def test_of_a_storm_of_likes_only_some_are_noted(here: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sources.bluesky.engagement._PER_HOUR", 5)
    source = here.source(poll_seconds=0.0)
    mine = here.bot.post("mine")
    await source._engagement.poll()
    for _ in range(2):
        for _ in range(4):
            here.ana.like(mine)
        await source._engagement.poll()
    assert len(here.memory.acts) == 5


# --------------------------------------------------------------------------------------------------- the server


async def test_a_session_lasts_over_restarts_for_its_owner_alone(here: Harness) -> None:
    for _ in range(3):
        await here.poll(here.source())
    assert here.server.count(LOGIN) == 1
    assert stat.S_IMODE((here.folder / "bluesky.session").stat().st_mode) == 0o600


async def test_of_two_sessions_that_are_stored_at_once_the_newer_one_stays(
    here: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, replaces = here.source(), Path.replace

    def slowly(path: Path, target: Path) -> Path:
        time.sleep(0.3)  # in a thread; the other one has written by then
        return replaces(path, target)

    await here.poll(source)
    monkeypatch.setattr(Path, "replace", slowly)
    session = source._state.session
    assert session._session is not None
    fresh = [dataclasses.replace(session._session, refresh_jwt=name) for name in ("older", "newer")]
    with capture_logs() as logged:
        await asyncio.gather(*(session._changed(SessionEvent.REFRESH, each) for each in fresh))
    assert logged == []
    assert Session.decode(session._stored()).refresh_jwt == "newer"


async def test_a_stored_session_is_of_no_use_without_the_password(here: Harness) -> None:
    await here.poll(here.source())
    stored = here.folder / "bluesky.session"
    assert here.bot.did.encode() not in stored.read_bytes()
    here.bot.password = "another-password"
    await here.poll(here.source())
    assert here.server.count(LOGIN) == 2, "it cannot be read any more"
    stored.write_bytes(b"damaged")
    await here.poll(here.source())
    await here.poll(here.source())
    assert here.server.count(LOGIN) == 3


def is_heard(here: Harness, text: str) -> bool:
    return text in here.texts


async def test_a_source_that_ended_by_an_error_hears_again_when_it_is_begun_anew(here: Harness) -> None:
    source = here.source(poll_seconds=0.01)
    for number in range(2):
        task = asyncio.create_task(source.run(here.deliver))
        await here.server.until(lambda: source.connected)
        here.mention(f"hello {number}")
        await here.server.until(partial(is_heard, here, f"hello {number}"))
        task.cancel()
        await asyncio.wait([task])
        assert source.trouble == ""
    assert here.texts == ["hello 0", "hello 1"]
    assert here.server.count(LOGIN) == 1


async def test_a_token_that_ran_out_by_the_servers_clock_is_renewed_without_a_login(here: Harness) -> None:
    source = await here.begun()
    here.server.expire()
    here.mention("still there?")
    await here.poll(source)
    assert here.texts == ["still there?"]
    assert here.server.count(LOGIN) == 1
    await here.poll(here.source())
    assert here.server.count(LOGIN) == 1


async def test_a_revoked_session_is_begun_anew_but_not_over_and_over(
    here: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = await here.begun()
    here.server.revoke()
    with pytest.raises(RateLimited) as asked:  # the first login was a moment ago
        await here.poll(source)
    assert 0 < asked.value.seconds <= LOGIN_PAUSE
    assert str(asked.value).startswith("the next login is in ")  # nobody else asked for it
    monkeypatch.setattr("sources.bluesky.session.LOGIN_PAUSE", 0.0)
    await here.poll(source)
    assert here.server.count(LOGIN) == 2


async def test_429_waits_as_long_as_the_server_says(here: Harness) -> None:
    source = here.source()
    here.server.fail(LIST, 429, headers={"ratelimit-reset": str(int(time.time()) + 90)})
    with pytest.raises(RateLimited) as asked:
        await here.poll(source)
    assert 80 < asked.value.seconds <= 91
    assert await source._turn(here.deliver) < 60  # the next one is answered


async def test_it_is_ready_while_it_reads_and_one_thing_that_breaks_keeps_no_other_from_being_read(
    here: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, looked = here.source(), list[str]()
    assert not source.readiness.ready
    await source._turn(here.deliver)
    assert source.readiness.ready

    async def broken(_deliver: Deliver) -> None:
        raise KeyError("odd")

    async def direct(_deliver: Deliver) -> None:
        looked.append("direct messages")

    with monkeypatch.context() as patched:
        patched.setattr(source._watched, "poll", broken)
        patched.setattr(source.direct, "poll", direct)
        here.mention("hello")
        await source._turn(here.deliver)
    assert (here.texts, looked) == (["hello"], ["direct messages"])
    assert (source.readiness.ready, source.readiness.words) == (False, "an unexpected error (KeyError); see the log")
    here.server.fail(LIST, 500)
    await source._turn(here.deliver)
    assert "500" in source.readiness.words
    await source._turn(here.deliver)
    assert source.readiness.ready


@pytest.mark.parametrize("fault", [500, 503, "hang"])
async def test_servers_in_trouble_are_given_up_and_asked_again(
    here: Harness, monkeypatch: pytest.MonkeyPatch, fault: int | str
) -> None:
    source = here.source()
    here.mention("before")
    await here.poll(source)
    if fault == "hang":
        monkeypatch.setattr("sources.bluesky.session.SECONDS", 0.1)
        monkeypatch.setattr("sources.bluesky.session.CONNECT_SECONDS", 0.1)
    here.mention("hello")
    here.server.fail(LIST, fault)
    with pytest.raises(NoAnswer):
        await here.poll(source)
    await here.poll(source)
    assert here.texts == ["hello"]


async def test_a_thread_that_cannot_be_read_holds_up_no_other(here: Harness) -> None:
    source = await here.begun()
    here.mention("first")
    here.mention("second")
    here.server.fail(THREAD, 500)
    await here.poll(source, 12)
    assert (here.texts, here.why, here.server.count(THREAD)) == (["second"], [], 2), "it waits, and is not given up"
    batch = next(iter(source._waiting.values()))
    batch.due = 0
    await here.poll(source)
    assert here.texts == ["second", "first"]


@pytest.mark.parametrize("answer", ["501", "404", "401", "page", "json"])
async def test_a_server_that_is_none_of_blueskys_is_named_and_no_password_blamed(here: Harness, answer: str) -> None:
    async def any_answer(_request: web.Request) -> web.Response:
        return (
            web.json_response({"hi": 1})
            if answer == "json"
            else web.Response(
                text="<p>hi</p>", status=int(answer) if answer.isdigit() else 200, content_type="text/html"
            )
        )

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", any_answer)
    async with TestServer(app) as other:
        url = f"http://127.0.0.1:{other.port}"
        with pytest.raises(NoAnswer, match=rf"^{re.escape(url)} did not open a session .*check BLUESKY_SERVICE\.$"):
            await here.poll(here.source(service=url))


async def test_an_hour_without_the_server_loses_nothing(here: Harness) -> None:
    await here.poll(here.source())
    away = here.source(service="http://127.0.0.1:9")
    (here.folder / "bluesky.session").unlink()
    for _ in range(70):  # more often than logins are allowed in a day: these are none
        with pytest.raises(ServerUnreachable, match=r"^http://127\.0\.0\.1:9 cannot be reached\. .*BLUESKY_SERVICE"):
            await here.poll(away)
    for number in range(3):
        here.mention(f"meanwhile {number}")
    assert [away._pace.failed() for _ in range(8)][-1] <= 60
    await here.poll(here.source())
    assert here.texts == ["meanwhile 0", "meanwhile 1", "meanwhile 2"]


async def test_an_exchange_with_a_bot_that_does_not_say_so_ends_and_the_owner_is_told(here: Harness) -> None:
    source = await here.begun()
    post = here.mention("Tell me a story.")
    for number in range(11):
        await here.poll(source)
        post = here.bot.post(f"Part {number} of the story.", reply_to=post)
        post = here.ana.post(f"That was part {number}.", reply_to=post)
    heard = len(here.heard)
    await here.poll(source)
    here.ana.post("That was another part.", reply_to=post)
    await here.poll(source, 2)
    assert heard < 12
    assert len(here.heard) == heard
    assert "machine" in here.why
    assert {name for _, name in here.memory.suspected} == {"Ana"}
    here.mention("a new thread")
    await here.poll(source)
    assert len(here.heard) == heard + 1


async def test_what_follows_an_answer_is_heard_at_once(here: Harness) -> None:
    source = await here.begun(batch_seconds=300)
    asked = here.mention("one")
    await here.poll(source)
    here.ana.post("@carina.test and this", reply_to=asked, mentions=(here.bot,))
    await here.poll(source)
    assert here.texts == ["one"]  # its answer is being made
    heard = here.heard[0]
    await source.endpoint.send(delivery(heard.place.id, "Yes.", heard.external_id))
    await here.poll(source)
    assert here.texts == ["one", "and this"]


def test_nobody_waits_longer_than_the_setting_says_for_a_look() -> None:
    pace = PollPace(2.0)
    assert pace.next(1_000.0) == 2.0
    pace.heard(1_000.0)
    assert pace.next(1_010.0) == 1.0
    assert pace.next(9_000.0) == 2.0


async def test_a_page_is_asked_for_only_when_something_is_new(here: Harness) -> None:
    source = here.source()
    here.mention("before")
    await here.poll(source, 2)
    here.server.limits.clear()
    await here.poll(source, 5)
    assert here.server.limits == [1] * 5
    here.mention("one")
    here.mention("two")
    await here.poll(source, 2)
    assert here.server.limits[5:] == [1, 50, 1]
    assert here.texts == ["one", "two"]
