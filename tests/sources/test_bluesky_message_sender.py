"""What is said on Bluesky over sockets: right references, one record for each row, nothing where it is not wanted."""

from collections.abc import Callable

import pytest

from memory.queue.message_files import Image
from memory.store.ids import PersonId, PlaceId, TurnId
from memory.store.records import replace
from sources.base import DeliveryFailed, DeliveryUnclear
from tests.sources.bluesky_stage import Away, Harness, blocks, delivery, denies, excludes, mutes, opts_out
from tests.wire.bluesky import Post

CREATE = "com.atproto.repo.createRecord"
ACCOUNT = PlaceId("bluesky:account")


def place(post: Post) -> PlaceId:
    return PlaceId(f"bluesky:{post.root}")


def message(post: Post) -> str:
    return f"{post.uri}#{post.cid}"


async def test_an_answer_goes_on_from_what_it_answers_and_the_next_from_the_answer(here: Harness) -> None:
    began = here.ana.post("began")
    asked = here.mention("hi", reply_to=began, langs=("de", "en"))
    endpoint = here.source().endpoint
    first = await endpoint.send(delivery(place(asked), "one", message(asked)))
    await here.source().endpoint.send(delivery(place(asked), "two", follows=first))
    one, two = here.bot.posts
    assert one.record["reply"] == {"root": began.reference, "parent": asked.reference}
    assert two.record["reply"] == {"root": began.reference, "parent": one.reference}
    assert one.record["langs"] == two.record["langs"] == ["de", "en"]


async def test_a_post_hides_nothing(here: Harness) -> None:
    asked = here.mention("hi")
    evil = "https://evil.example/x"
    said = f"a\u202eb\x1b [good.example]({evil})"
    await here.source().endpoint.send(delivery(place(asked), said, message(asked)))
    assert here.bot.posts[0].record["text"] == f"ab good.example ({evil})"
    assert here.source().endpoint.split(said) == [f"ab good.example ({evil})"]


async def test_a_later_piece_without_the_one_before_answers_nobody(here: Harness) -> None:
    began = here.bob.post("Bob never spoke to us")
    asked = here.mention("hi", reply_to=began)
    lost = delivery(place(asked), "two", turn=TurnId(7), later=True)
    with pytest.raises(DeliveryFailed, match="continues was not delivered"):
        await here.source().endpoint.send(lost)
    assert here.bot.posts == []
    await here.source().endpoint.send(delivery(place(asked), "of its own", turn=TurnId(7)))
    assert here.bot.posts[0].parent == began.uri  # what answers no post in particular is said to the thread


@pytest.mark.parametrize("fault", ["after", 500, 502])
async def test_the_same_row_is_the_same_record_however_often_it_is_tried(here: Harness, fault: int | str) -> None:
    asked = here.mention("hi")
    row = delivery(place(asked), "once", message(asked))
    here.server.fail(CREATE, fault)
    said = []
    for _ in range(3):
        try:
            said.append(await here.source().endpoint.send(row))
        except DeliveryUnclear:
            continue
    assert [post.text for post in here.bot.posts] == ["once"]
    assert said[-1] == message(here.bot.posts[0])
    assert await here.source().endpoint.find((row, delivery(row.place, "never"))) == {row.id: said[-1]}


async def test_too_many_requests_are_waited_for_and_nothing_is_counted_as_said(here: Harness) -> None:
    asked = here.mention("hi")
    endpoint, row = here.source().endpoint, delivery(place(asked), "later", message(asked))
    here.server.fail(CREATE, 429, headers={"retry-after": "30"})
    with pytest.raises(DeliveryFailed) as failed:
        await endpoint.send(row)
    assert failed.value.retry_after == 30
    assert not failed.value.reached
    await endpoint.send(row)
    assert len(here.bot.posts) == 1


def of_the_author(act: Away) -> Callable[[Harness, Post], None]:
    return lambda here, asked: act(here, asked.author)


def gates(_here: Harness, asked: Post) -> None:
    asked.gate = True


def deletes(_here: Harness, asked: Post) -> None:
    asked.delete()


@pytest.mark.parametrize("meanwhile", [gates, deletes, *map(of_the_author, (blocks, mutes, opts_out, denies))])
async def test_what_is_not_wanted_any_more_is_not_posted(
    here: Harness, meanwhile: Callable[[Harness, Post], None]
) -> None:
    asked = here.mention("hi")
    source = here.source()
    meanwhile(here, asked)
    with pytest.raises(DeliveryFailed) as failed:
        await source.endpoint.send(delivery(place(asked), "hello", message(asked)))
    assert failed.value.retry_after is None
    assert here.server.count(CREATE) == 0


@pytest.mark.parametrize("act", ["like", "repost", "quote", "reply", "follow"])
@pytest.mark.parametrize("why", [blocks, mutes, opts_out, excludes, denies])
async def test_nothing_is_done_to_who_wants_it_not_or_whom_we_want_not(here: Harness, act: str, why: Away) -> None:
    post = (here.bob if why is excludes else here.ana).post("look")
    endpoint = here.source({"exclude_dids": frozenset({here.bob.did})}).endpoint
    target = post.author.did if act == "follow" else post.uri
    if why is not excludes:
        await endpoint.send(delivery(ACCOUNT, "so it is", act=act, target=target))
    made = here.server.count(CREATE)
    why(here, post.author)
    with pytest.raises(DeliveryFailed) as failed:
        await endpoint.send(delivery(ACCOUNT, "so it is", act=act, target=target))
    assert (failed.value.retry_after, failed.value.withdrawn) == (None, True)
    assert here.server.count(CREATE) == made


@pytest.mark.parametrize("act", ["like", "repost", "follow"])
async def test_an_act_stands_once_and_is_possible_again_when_it_was_undone_by_hand(here: Harness, act: str) -> None:
    post = here.ana.post("look")
    target = post.author.did if act == "follow" else post.uri
    endpoint = here.source().endpoint
    first = delivery(ACCOUNT, act, act=act, target=target)
    done = await endpoint.send(first)
    again = delivery(ACCOUNT, act, act=act, target=target, earlier=(first.id,))
    assert await endpoint.send(again) == done
    assert len(here.bot.records) == 1
    here.bot.records.clear()  # by hand, in another client
    anew = delivery(ACCOUNT, act, act=act, target=target, earlier=(first.id, again.id))
    made = await endpoint.send(anew)
    assert made != done
    assert await here.source().endpoint.send(replace(anew, again=True)) == made, "a crash before it was stored"
    by_hand = delivery(ACCOUNT, act, act=act, target=target)
    assert await here.source().endpoint.send(by_hand) == made, "the server shows it, whoever made it"
    assert len(here.bot.records) == 1


async def test_what_a_server_shows_late_is_looked_up_on_our_own(here: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    post = here.ana.post("look")
    gone = f"at://{here.bot.did}/app.bsky.feed.like/3kgone"
    monkeypatch.setattr(here.server, "acted", lambda *_: {"like": gone})
    first = delivery(ACCOUNT, "like", act="like", target=post.uri)
    made = await here.source().endpoint.send(first)
    monkeypatch.setattr(here.server, "acted", lambda *_: {})  # not shown yet
    again = delivery(ACCOUNT, "like", act="like", target=post.uri, earlier=(first.id,))
    assert await here.source().endpoint.send(again) == made
    assert len(here.bot.records) == 1


async def test_the_account_does_not_follow_itself(here: Harness) -> None:
    with pytest.raises(DeliveryFailed, match="cannot follow itself"):
        await here.source().endpoint.send(delivery(ACCOUNT, "so it is", act="follow", target=here.bot.did))
    assert here.server.count(CREATE) == 0


async def test_a_reply_elsewhere_goes_on_from_its_post_in_its_language(here: Harness) -> None:
    began = here.bob.post("began")
    found = here.ana.post("wer weiß das?", reply_to=began, langs=("de",))
    row = delivery(ACCOUNT, "Ich.", act="reply", target=found.uri)
    endpoint = here.source().endpoint
    assert await endpoint.send(row) == await here.source().endpoint.send(row)
    (said,) = here.bot.posts
    assert said.record["reply"] == {"root": began.reference, "parent": found.reference}
    assert said.record["langs"] == ["de"]


async def test_a_reply_elsewhere_is_not_said_where_it_is_not_wanted(here: Harness) -> None:
    closed, robot = here.ana.post("only friends"), here.server.user("beep.test", labels=("bot",)).post("beep")
    closed.gate = True
    for target, why in ((closed, "does not let the bot reply"), (robot, "a bot"), (here.bot.post("mine"), "own posts")):
        with pytest.raises(DeliveryFailed, match=why):
            await here.source().endpoint.send(delivery(ACCOUNT, "hello", act="reply", target=target.uri))
    closed.unquotable = True
    with pytest.raises(DeliveryFailed, match="does not let the bot quote"):
        await here.source().endpoint.send(delivery(ACCOUNT, "hello", act="quote", target=closed.uri))
    await here.source(bot_answers_per_day=1).endpoint.send(delivery(ACCOUNT, "beep", act="reply", target=robot.uri))


@pytest.mark.parametrize("act", ["quote", "reply"])
@pytest.mark.parametrize("fault", [None, 502, "after"])
async def test_pictures_go_with_a_post_once_each_with_its_words(
    here: Harness, act: str, fault: int | str | None
) -> None:
    target = here.ana.post("look")
    pictures = (Image("image/png", "a cat", "Y2F0"), Image("image/jpeg", "a dog", "ZG9n"))
    row = replace(delivery(ACCOUNT, "mine", act=act, target=target.uri), images=pictures)
    if fault is not None:
        here.server.fail("com.atproto.repo.uploadBlob", fault)
        with pytest.raises(DeliveryFailed) as failed:
            await here.source().endpoint.send(row)
        assert failed.value.retry_after is not None
        assert here.bot.posts == []
    await here.source().endpoint.send(row)
    (said,) = here.bot.posts
    embed = said.record["embed"]
    media = embed["media"] if act == "quote" else embed
    assert [each["alt"] for each in media["images"]] == ["a cat", "a dog"]
    assert [here.bot.blobs[each["image"]["ref"]["$link"]] for each in media["images"]] == [b"cat", b"dog"]
    if act == "quote":
        assert embed["record"]["record"] == target.reference


async def test_nothing_is_answered_to_ourselves(here: Harness) -> None:
    own = here.bot.post("my own")
    with pytest.raises(DeliveryFailed, match="own posts"):
        await here.source().endpoint.send(delivery(place(own), "hello me", message(own)))


async def test_a_handle_that_somebody_else_has_now_wakes_nobody(here: Harness) -> None:
    endpoint = here.source().endpoint
    asked = here.mention("hi")
    may = (PersonId(f"bluesky:{here.ana.did}"),)
    await endpoint.send(replace(delivery(place(asked), "@ana.test", message(asked)), may_mention=may))
    here.ana.handle, here.bob.handle = "ana-new.test", "ana.test"
    await endpoint.send(replace(delivery(place(asked), "@ana.test, @ana-new.test", message(asked)), may_mention=may))
    first, second = ([each["index"]["byteStart"] for each in post.record["facets"]] for post in here.bot.posts)
    assert (first, second) == ([0], [11])


async def test_an_answer_has_no_languages_that_a_server_would_refuse(here: Harness) -> None:
    asked = here.ana.post("salut", langs=("not one!", "x" * 500, "", "fr", "pt-BR"))
    await here.source().endpoint.send(delivery(place(asked), "ah", message(asked)))
    asked = here.ana.post("?", langs=("not one!",))
    await here.source().endpoint.send(delivery(place(asked), "ah", message(asked)))
    await here.source(post_languages=("ja",)).endpoint.send(delivery(place(asked), "oh", message(asked)))
    assert [post.record["langs"] for post in here.bot.posts] == [["fr", "pt-BR"], ["en"], ["ja"]]


async def test_a_post_of_ours_can_be_taken_back(here: Harness) -> None:
    asked = here.mention("hi")
    endpoint = here.source().endpoint
    said = await endpoint.send(delivery(place(asked), "oops", message(asked)))
    await endpoint.withdraw(place(asked), said)
    assert here.bot.posts == []
    with pytest.raises(DeliveryFailed):
        await endpoint.withdraw(place(asked), message(asked))


async def test_a_post_of_our_own_answers_nobody_and_can_be_deleted(here: Harness) -> None:
    endpoint = here.source().endpoint
    await endpoint.send(delivery(ACCOUNT, "See https://example.com today.", act="post"))
    (post,) = here.bot.posts
    assert "reply" not in post.record
    assert post.record["facets"]
    row = delivery(ACCOUNT, "delete", act="delete", target=post.uri)
    await endpoint.send(row)
    assert here.bot.posts == []
    await endpoint.send(row)  # it is gone already
    theirs = here.ana.post("mine")
    await endpoint.send(delivery(ACCOUNT, "delete", act="delete", target=theirs.uri))
    assert here.ana.posts == [theirs]


async def test_a_like_and_a_follow_are_taken_back_whoever_made_them(here: Harness) -> None:
    endpoint = here.source().endpoint
    post = here.ana.post("nice")
    here.bot.like(post)  # by hand
    await endpoint.send(delivery(ACCOUNT, "follow", act="follow", target=here.ana.did))
    await endpoint.send(delivery(ACCOUNT, "unlike", act="unlike", target=post.uri))
    await endpoint.send(delivery(ACCOUNT, "unfollow", act="unfollow", target=here.ana.did))
    kinds = {kind for kind, _ in here.bot.records}
    assert not kinds & {"app.bsky.feed.like", "app.bsky.graph.follow"}
    await endpoint.send(delivery(ACCOUNT, "unfollow", act="unfollow", target=here.ana.did))  # nothing to do
