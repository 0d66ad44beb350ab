"""Delivery row by row, and what becomes of a row that is found in the middle of being sent."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from bot.agents.owner_notices import Notices
from bot.agents.permissions.approval_requests import Broker, Terms
from bot.agents.permissions.roles_and_rights import People
from bot.runtime import outbox_delivery
from bot.runtime.outbox_delivery import MAX_ATTEMPTS, DeliveryDeps, DeliveryWorker
from memory.people.audience import Scope, Trust, guild_audience
from memory.queue import messages, outbox, turns
from memory.queue.message_files import Image
from memory.queue.outbox import ActDetail, EditDetail, NewRow, OutRow, Status, TextDetail
from memory.queue.turns import Turn
from memory.store.clock import Clock
from memory.store.constellations import Constellations
from memory.store.database import Database, Tx
from memory.store.faults import Point, commit_point
from memory.store.ids import AgentId, GuildId, OutboxId, PlaceId
from sources.base import Buttons, Delivery, DeliveryFailed, DeliveryUnclear, HistoryUnreadable
from tests.bot.parts import ANN, HALL, OLGA, Fate, MovableClock, Platform, direct
from tests.memory.parts import spoken

T = TypeVar("T")
SETUP = commit_point("test_outbox_delivery.setup")
GUILD = guild_audience(GuildId("discord:guild"))
OWNERS = direct(OLGA).id
STAR = AgentId("agt_star")


AGAIN = "I won't send it again on my own. `/owner outbox retry` sends it."


def _deps(clock: Clock, owner: PlaceId) -> DeliveryDeps:
    broker = Broker(Terms(People(()), (), PlaceId), lambda _person: "en")
    return DeliveryDeps(clock, Notices(owner), lambda: None, lambda: None, broker)


class Post:
    """One place's post office: a real outbox, a delivery for each run, a platform that remembers."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.clock = MovableClock()
        self.platform = Platform(self.clock)
        self.delivery: DeliveryWorker | None = None

    async def put(self, key: str, text: str = "hello", **change: Any) -> OutboxId:
        row = {"key": key, "place": HALL.id, "content": text, "audience": GUILD, **change}
        found = await self.write(lambda tx: outbox.add(tx, NewRow(**row), self.clock()))
        assert found is not None
        return found

    async def write(self, work: Callable[[Tx], T]) -> T:
        return await self.database.write(SETUP, work)

    async def run(self) -> None:
        """Deliver all there is; every pause is over at once, and the clock has moved on by a second."""
        waker = asyncio.create_task(self._wake())
        self.delivery = DeliveryWorker(self.database, HALL.id, self.platform, _deps(self.clock, OWNERS))
        try:
            async with asyncio.timeout(10):
                await self.delivery.run()
        finally:
            waker.cancel()

    async def _wake(self) -> None:
        while True:
            await asyncio.sleep(0.002)
            if self.delivery is not None and self.delivery.waiting:
                self.clock.forward(1)
                self.delivery.wake()

    async def begun(self, *rows: OutboxId, arrived: Collection[OutboxId] = ()) -> None:
        """As a process leaves them that died while it sent them; some had arrived."""
        for row in rows:
            found = await self.write(partial(outbox.mark_sending, identifier=row, now=self.clock()))
            assert found is not None
            if row in arrived:
                await self.platform.send(outbox_delivery.to_delivery(found))
        self.platform.sends.clear()

    async def row(self, identifier: OutboxId) -> OutRow:
        found = await self.database.read(lambda rows: outbox.get(rows, identifier))
        assert found is not None
        return found

    async def states(self, *rows: OutboxId) -> list[Status]:
        return [(await self.row(row)).status for row in rows]

    async def notices(self) -> list[str]:
        return [row.content for row in await self.database.read(lambda rows: outbox.for_delivery(rows, OWNERS)[0])]

    def sent(self) -> list[OutboxId]:
        return [delivery.id for delivery in self.platform.sends]

    async def turn(self) -> Turn:
        def work(tx: Tx) -> Turn:
            columns = ("id", "name", "model", "system_prompt", "enabled_tools", "created_at", "updated_at")
            tx.insert("agents", dict.fromkeys(columns, "[]") | {"id": STAR}, ignore=True)
            turn = Turn(
                turns.new_turn_id(), STAR, None, HALL.id, ANN.id, Scope(GUILD), Trust.SYSTEM, (), 0, self.clock()
            )
            turns.begin(tx, turn)
            return turn

        return await self.write(work)


@pytest.fixture
async def post(tmp_path: Path) -> AsyncIterator[Post]:
    async with Constellations.open(tmp_path, MovableClock()) as constellations:
        home = await constellations.ensure("home", OLGA.id)
        async with constellations.use(home.id) as database:
            yield Post(database)


async def test_a_row_that_is_erased_while_it_is_sent_holds_up_none_behind_it(post: Post) -> None:
    first, second = await post.put("a"), await post.put("b")

    class Erasing(Platform):
        async def send(self, delivery: Delivery) -> str:
            if delivery.id == first:
                await post.write(lambda tx: tx.run("DELETE FROM outbox WHERE id = ?", (first,)))
            return await super().send(delivery)

    post.platform = Erasing(post.clock)
    await post.run()
    assert post.sent() == [first, second]


async def test_a_row_is_durably_sending_before_its_first_byte_leaves(post: Post) -> None:
    row = await post.put("a")
    seen: list[Status] = []

    class Watching(Platform):
        async def send(self, delivery: Delivery) -> str:
            seen.append((await post.row(delivery.id)).status)
            return await super().send(delivery)

    post.platform = Watching(post.clock)
    await post.run()
    assert seen == [Status.SENDING]
    assert await post.states(row) == [Status.SENT]


async def test_a_row_that_waits_is_not_written(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    write, points = post.database.write, list[str]()

    def noted(point: Point, work: Callable[[Tx], T], *, durable: bool = False) -> "asyncio.Future[T]":
        points.append(point.name)
        return write(point, work, durable=durable)

    post.platform.fates.append(DeliveryFailed("busy", retry_after=20))
    await post.put("a")
    monkeypatch.setattr(post.database, "write", noted)
    monkeypatch.setattr(DeliveryWorker, "wake", lambda _self: None)
    monkeypatch.setattr(outbox_delivery, "_LONGEST_PAUSE", 0.002)
    await post.run()
    assert points.count("outbox.sending") == 2, "for each attempt"


async def test_an_answer_that_got_lost_is_asked_for_again_with_the_same_nonce(post: Post) -> None:
    row, after = await post.put("a"), await post.put("b", "next")
    post.platform.fates.extend([Fate.LOST_ANSWER])
    await post.run()
    assert post.sent() == [row, row, after]
    assert post.platform.texts() == ["hello", "next"]
    assert post.platform.finds == []


@pytest.mark.parametrize("has_nonce", [True, False])
@pytest.mark.parametrize("edits", [True, False])
async def test_what_never_gets_an_answer_does_not_block_its_place_for_ever(
    post: Post, monkeypatch: pytest.MonkeyPatch, *, has_nonce: bool, edits: bool
) -> None:
    monkeypatch.setattr(outbox_delivery, "_GIVE_UP", timedelta(minutes=3))
    shown = await post.put("card")
    await post.run()
    row = await post.put("a", "never", detail=EditDetail("card") if edits else TextDetail())
    after = await post.put("b", "next")

    class Failing(Platform):
        async def send(self, delivery: Delivery) -> str:
            if delivery.id == row:
                self.fates.append(Fate.NOWHERE)
            return await super().send(delivery)

        async def edit(self, place: PlaceId, external_id: str, text: str, buttons: Buttons | None = None) -> None:
            raise DeliveryUnclear("no answer came")

    post.platform = Failing(post.clock, posts=post.platform.posts, nonce_seconds=60 * has_nonce)
    began = post.clock()
    await post.run()
    assert await post.states(shown, row, after) == [Status.SENT, Status.FAILED, Status.SENT]
    assert timedelta(minutes=3) < post.clock() - began < timedelta(minutes=5)
    told = await post.notices()
    assert ["was not delivered: it failed" in each for each in told] == ([] if edits else [True])


async def test_what_never_works_is_given_up_and_the_owner_is_told_once(post: Post) -> None:
    row, after = await post.put("a"), await post.put("b", "next")
    post.platform.fates.extend([DeliveryFailed("busy", retry_after=1)] * outbox_delivery.MAX_ATTEMPTS)
    await post.run()
    assert await post.states(row, after) == [Status.FAILED, Status.SENT]
    told = f"An answer in {HALL.id} was not delivered: busy. {AGAIN}"
    assert await post.notices() == [told]
    await post.run()
    assert await post.notices() == [told]


async def test_an_action_that_became_impossible_is_told_the_owner_and_not_offered_again(post: Post) -> None:
    """While somebody who does not want an answer any more is no news."""
    act = ActDetail("quote", "at://did:plc:ana/app.bsky.feed.post/3k1", (Image("image/png", "a cat", "aGk="),))
    row, refused = await post.put("a", detail=act), await post.put("b", detail=act)
    unwanted = await post.put("c")
    gone = DeliveryFailed("the post was deleted", withdrawn=True)
    post.platform.fates.extend([gone, DeliveryFailed("busy"), DeliveryFailed("opted out", withdrawn=True)])
    await post.run()
    assert await post.states(row, refused, unwanted) == [Status.WITHDRAWN, Status.FAILED, Status.WITHDRAWN]
    kept = [(await post.row(each)).detail for each in (row, refused)]
    assert kept == [replace(act, images=()), act], "pictures are kept for what can be sent again"
    assert await post.notices() == [
        "The action “quote” on Bluesky was not done: the post was deleted.",
        f"The action “quote” on Bluesky was not done: busy. {AGAIN}",
    ]


async def test_what_cannot_be_told_the_owner_is_not_told_the_owner(post: Post) -> None:
    """A notice that fails would otherwise make the next notice."""
    row = await post.put("notice/x")
    post.platform.fates.append(DeliveryFailed("forbidden"))
    await DeliveryWorker(post.database, HALL.id, post.platform, _deps(post.clock, HALL.id)).run()
    assert await post.states(row) == [Status.FAILED]
    assert await post.database.read(outbox.count_open) == 0


async def test_a_first_piece_that_fails_takes_the_rest_with_it_and_nothing_else(post: Post) -> None:
    turn = await post.turn()
    pieces = [await post.put(f"turn/{turn.id}/{n}", f"piece {n}", turn=turn.id) for n in range(3)]
    other = await post.put(f"tool/{turn.id}/1/0", "a message of its own", turn=turn.id)
    post.platform.fates.append(DeliveryFailed("forbidden"))
    await post.run()
    assert await post.states(*pieces, other) == [Status.FAILED, Status.WITHDRAWN, Status.WITHDRAWN, Status.SENT]
    assert post.platform.texts() == ["a message of its own"]
    assert len(await post.notices()) == 1


async def test_a_failed_answer_is_marked_in_the_transcript_for_the_agent(post: Post) -> None:
    turn = await post.turn()
    message = await post.write(lambda tx: messages.add(tx, spoken(turn)))
    await post.put(f"turn/{turn.id}/0", turn=turn.id, message=message)
    post.platform.fates.append(DeliveryFailed("forbidden"))
    await post.run()
    (stored,) = await post.database.read(lambda rows: messages.by_ids(rows, [message], Scope(GUILD)))
    assert stored.delivery == "failed: forbidden"


async def test_where_the_history_cannot_be_read_nobody_can_tell_and_nothing_is_sent_again(post: Post) -> None:
    row, after = await post.put("a"), await post.put("b", "next")
    await post.begun(row, arrived=[row])
    post.platform.readable = False
    post.clock.forward(61)
    await post.run()
    assert len(post.platform.finds) == outbox_delivery.MAX_ATTEMPTS
    assert await post.states(row, after) == [Status.UNKNOWN, Status.SENT]
    assert await post.notices() == [
        f"An answer in {HALL.id} may or may not have been delivered: the history there cannot be read (forbidden). "
        + AGAIN
    ]
    post.platform.readable = True
    await post.run()
    assert post.sent() == [after]


async def test_a_history_that_can_be_read_again_in_time_decides(post: Post) -> None:
    row = await post.put("a")
    await post.begun(row, arrived=[row])
    post.clock.forward(61)

    class Recovering(Platform):
        async def find(self, deliveries: tuple[Delivery, ...], taken: Collection[str] = ()) -> dict[OutboxId, str]:
            self.readable = len(self.finds) >= 3
            return await super().find(deliveries, taken)

    post.platform = Recovering(post.clock, posts=post.platform.posts, readable=False)
    await post.run()
    assert (await post.states(row), post.sent(), await post.notices()) == ([Status.SENT], [], [])


DOWN = DeliveryFailed("not connected", retry_after=0.0, reached=False)
BUSY = DeliveryFailed("too many requests", retry_after=0.0)


@pytest.mark.parametrize(
    ("failures", "state", "said"),
    [
        ([DOWN] * 3 * MAX_ATTEMPTS, Status.SENT, ["hello"]),
        ([BUSY, DOWN, DOWN] * (MAX_ATTEMPTS - 1), Status.SENT, ["hello"]),
        ([BUSY] * MAX_ATTEMPTS, Status.FAILED, []),
    ],
    ids=["an outage", "between refusals", "refusals"],
)
async def test_however_long_a_platform_is_out_of_reach_no_attempt_is_used_up(
    post: Post, failures: list[DeliveryFailed], state: Status, said: list[str]
) -> None:
    post.platform.fates.extend(failures)
    row = await post.put("a")
    await post.run()
    assert await post.states(row) == [state]
    assert post.platform.texts() == said


async def test_the_longer_an_outage_the_longer_the_pauses(post: Post) -> None:
    post.platform.fates.extend([DeliveryFailed("not connected", retry_after=5.0, reached=False)] * 8)
    row, pauses = await post.put("a"), list[float]()

    async def watch() -> None:
        while True:
            now = await post.row(row)
            if now.next_attempt_at is not None and now.next_attempt_at > post.clock():
                pauses.append((now.next_attempt_at - post.clock()).total_seconds())
                post.clock.now = now.next_attempt_at
            await asyncio.sleep(0.001)

    watching = asyncio.create_task(watch())
    await post.run()
    watching.cancel()
    assert [round(each / 5) * 5 for each in pauses] == [5, 10, 20, 40, 80, 120, 120, 120]
    assert post.platform.texts() == ["hello"]


async def test_a_history_out_of_reach_is_read_when_it_is_there_again(post: Post) -> None:
    class Unreachable(Platform):
        left = 2 * MAX_ATTEMPTS

        async def find(self, deliveries: tuple[Delivery, ...], taken: Collection[str] = ()) -> dict[OutboxId, str]:
            self.left -= 1
            if self.left > 0:
                raise HistoryUnreadable("no way there", passing=True)
            return await super().find(deliveries, taken)

    post.platform = Unreachable(post.clock, nonce_seconds=0)
    row = await post.put("a")
    await post.begun(row)
    await post.run()
    assert await post.states(row) == [Status.SENT]
    assert post.platform.texts() == ["hello"]


async def test_identical_rows_are_matched_in_order(post: Post) -> None:
    rows = [await post.put(str(number), "the same") for number in range(3)]
    await post.begun(*rows, arrived=rows[:2])
    post.clock.forward(61)
    await post.run()
    assert post.sent() == rows[2:]
    found = [(await post.row(row)).external_id for row in rows]
    assert found == ["post-1", "post-2", "post-3"]
    assert post.platform.texts() == ["the same"] * 3


async def test_a_row_that_cannot_be_read_is_given_up_and_the_next_one_is_said(post: Post) -> None:
    damaged = await post.put("turn/1/0", "never")
    await post.put("turn/2/0", "hello")
    await post.write(lambda tx: tx.run("UPDATE outbox SET detail = '{\"sings\": true}' WHERE id = ?", (damaged,)))
    await post.run()
    assert post.platform.texts(HALL.id) == ["hello"]
    assert (await post.row(damaged)).status is Status.FAILED
    assert "A stored row cannot be read" in (await post.notices())[0]


async def previewed(post: Post) -> Turn:
    """A turn whose beginning is shown, and that is over with its answer."""
    turn = await post.turn()
    await post.put(f"preview/{turn.id}", "Once upon …", kind="preview", turn=turn.id)
    await post.run()
    detail = TextDetail(preview=f"preview/{turn.id}")
    await post.put(f"turn/{turn.id}/0", "Once upon a time.", turn=turn.id, detail=detail)
    await post.write(lambda tx: turns.end(tx, turn.id, "done", post.clock()))
    return turn


async def test_a_preview_that_cannot_be_changed_is_withdrawn_after_the_answer_was_sent(post: Post) -> None:
    await previewed(post)
    post.platform.edit_fails = True
    await post.run()
    assert post.platform.texts() == ["Once upon a time."]


async def test_a_death_while_the_preview_was_replaced_leaves_one_message(post: Post) -> None:
    turn = await previewed(post)
    answer = await post.database.read(lambda rows: outbox.of_key(rows, f"turn/{turn.id}/0"))
    assert answer is not None
    await post.write(lambda tx: outbox.mark_sending(tx, answer.id, post.clock()))
    await post.platform.edit(HALL.id, "post-1", "Once upon a time.")
    post.clock.forward(600)
    await post.run()
    assert post.platform.texts() == ["Once upon a time."]
    assert await post.states(answer.id) == [Status.SENT]
