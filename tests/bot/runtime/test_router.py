"""From a notification to a conversation: whose it is, in which order, what runs beside it, and what is refused."""

import asyncio
import functools
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from bot.runtime.group_routing import GroupRouting
from bot.runtime.turn_retries import GIVEN_UP
from bot.services.system.missed_messages import Gaps
from memory.people.audience import Trust
from memory.queue import inbox, missed_messages
from memory.queue.missed_messages import Span
from memory.queue.notifications import Kind, Place
from memory.queue.payloads import Extras
from memory.store.clock import utc_now
from memory.store.constellations import Constellations
from memory.store.database import Tx
from memory.store.ids import GroupId, new_id
from memory.store.records import replace
from sources.base import DeliveryFailed
from tests.bot.parts import BOB, HALL, NOON, OLGA, SOURCE, HeldReply, ScriptedModel, channel, said, says, texts
from tests.bot.stage import AT_ONCE, SETUP, Service, Setting, locked, running, until

ATTIC = channel("attic")


def file(service: Service) -> Path:
    return service.constellations.all()[0].path


def logged(service: Service) -> int:
    return sum(log["event"] == "waiting_for_database" for log in service.logs)


async def on_disk(folder: Path, count: int) -> None:
    """Constellations that nobody uses. Their files are one file by many names, as nothing may open them."""
    async with Constellations.open(folder, utc_now) as constellations:
        first = await constellations.ensure("idle", OLGA.id)

        def work(tx: Tx) -> None:
            row = dict(tx.all("SELECT * FROM constellations WHERE id = ?", (first.id,))[0])
            for number in range(1, count):
                identifier = new_id("con")
                path = first.path.parent.with_name(identifier) / first.path.name
                path.parent.mkdir()
                path.hardlink_to(first.path)
                own = {"id": identifier, "name": f"idle {number}", "db_path": path.relative_to(folder).as_posix()}
                tx.insert("constellations", row | own)

        await constellations.registry.write(SETUP, work)


async def test_of_a_thousand_constellations_twenty_answer_beside_each_other_and_few_files_stay_open(
    tmp_path: Path,
) -> None:
    await on_disk(tmp_path, 1_000)
    numbers = range(1, 21)
    halls = {number: channel(f"hall{number}", of=f"of{number}") for number in numbers}
    held = [HeldReply(says("Yes.")) for _ in numbers]
    more = {f"number {number}": [f"discord:guild:of{number}"] for number in numbers}
    async with running(tmp_path, Setting(ScriptedModel(*held), more=more)) as service:
        service.router.opened.most = 4
        service.hear(*(said(f"hello {number}", number, hall) for number, hall in halls.items()))
        for each in held:
            await each.begun.wait()  # all of them at the same time
        for each in held:
            each.free.set()
        await service.settled()
        for number, hall in halls.items():
            assert service.platform.texts(hall.id) == ["Yes."]
            (heard,) = await service.rows("SELECT content FROM messages WHERE role = 'user'", of=service.ids[number])
            assert heard["content"] == f"hello {number}"
        await until(lambda: all(runtime.idle for runtime in service.router.opened))
        await service.router.opened.close_idle()
        assert len(list(service.router.opened)) <= 4
        assert len(service.constellations.open_now()) <= 5  # the configured one as well
        assert len(service.constellations.all()) == 1_021


async def test_messages_of_a_place_are_stored_in_the_order_of_arrival_and_the_cursor_with_them(tmp_path: Path) -> None:
    held = HeldReply(says("x"))
    async with running(tmp_path, Setting(ScriptedModel(held))) as service:
        service.hear(*(said(f"line {number}", number) for number in range(1, 301)))
        await service.router.taken_in(30)
        stored = await service.column("SELECT content FROM messages ORDER BY id")
        assert stored == [f"line {number}" for number in range(1, 301)]
        assert await service.read(lambda rows: inbox.cursors(rows, "discord")) == {HALL.id: "300"}
        service.crash()


@pytest.mark.usefixtures("hurried")
async def test_after_a_start_with_a_clock_that_is_behind_what_is_said_follows_what_was_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as service:
        await service.heard(said("one", 1))
    now = time.time_ns()
    monkeypatch.setattr("memory.store.ids.time.time_ns", lambda: now - 3_600_000_000_000)
    monkeypatch.setattr("memory.store.ids.snowflakes._last_ms", 0)
    async with running(tmp_path) as service:
        await service.heard(said("two", 2))
        await service.heard(said("three", 3))
        assert texts(service.model.requests[-1]) == ["one", "two", "three"]


async def test_what_waits_for_a_platform_is_sent_as_soon_as_that_can_be_reached(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        down = DeliveryFailed("not connected", retry_after=120.0, reached=False)
        service.platform.refuses |= {HALL.id: down, ATTIC.id: down}
        service.hear(said("one", 1), said("two", 2, ATTIC))
        waiting = "SELECT count(*) FROM outbox WHERE next_attempt_at IS NOT NULL AND status = 'pending'"
        await until(lambda: service.column(f"SELECT 1 WHERE ({waiting}) = 2"))
        service.platform.refuses.clear()
        service.router.reachable("bluesky")
        await service.read(lambda _rows: None)
        assert len(service.platform.sends) == 2, "that is another platform"
        with locked(file(service)):
            service.router.reachable("discord")
            await until(lambda: logged(service))
        await until(lambda: len(service.platform.posts) == 2)
        assert {post.place for post in service.platform.posts} == {HALL.id, ATTIC.id}
        await service.settled()
        assert len(service.platform.posts) == 2


async def test_what_cannot_be_stored_takes_nothing_else_with_it_and_the_owner_is_told(service: Service) -> None:
    bad: Any = object()
    await service.heard(said("one", 1, ATTIC), said("bad", 2, extras=Extras(background=(bad,))), said("three", 3))
    assert await service.column("SELECT content FROM messages WHERE role = 'user'") == ["one", "three"]
    failed = [(log["event"], log["external_id"]) for log in service.logs if "external_id" in log]
    assert failed == [("notification_not_stored", "2")]
    assert await service.column("SELECT key FROM outbox WHERE key LIKE 'notice/lost/%'") == ["notice/lost/discord/2"]


async def test_what_was_stored_before_an_error_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missed = replace(AT_ONCE, careful_before=NOON + timedelta(minutes=1))
    async with running(tmp_path, Setting(retry_policy=missed)) as service:
        monkeypatch.setattr(service.runtime, "follow", AsyncMock(side_effect=[KeyError("a bug"), None]))
        await service.heard(said("one", 1), said("", 2, kind=Kind.DELETE, subject="9"))
        assert service.platform.texts() == ["Yes."]
        assert [log["event"] for log in service.logs if "batch" in log["event"]] == ["batch_not_stored"]


async def test_what_arrives_is_on_the_disk_before_it_counts_as_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, synced = HeldReply(says("Yes.")), list[int]()
    async with running(tmp_path, Setting(ScriptedModel(held))) as service:
        monkeypatch.setattr("memory.store.database._to_disk", synced.append)
        service.hear(said("one", 1))
        await service.router.taken_in(30)
        assert synced, "its answer takes longer"
        held.free.set()
        await service.settled()


@pytest.mark.usefixtures("hurried")
async def test_what_the_database_refuses_is_kept_and_stored_when_it_can_be(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await service.heard(said("before", 1))
        with locked(file(service)):
            service.hear(said("one", 2), said("two", 3, speaker=BOB))
            await until(lambda: logged(service))
            service.hear(said("three", 4, ATTIC))
            await until(lambda: "3 new messages" in service.router.supervisor.unstored.words())
        await service.settled()
        assert service.router.supervisor.unstored.words() == ""
        assert service.platform.texts() == ["Yes."] * 3
        assert service.platform.texts(ATTIC.id) == ["Yes."]
        assert await service.column("SELECT content FROM messages WHERE role = 'user'") == [
            *("before", "one", "two", "three")
        ]


@pytest.mark.usefixtures("hurried")
async def test_a_database_that_refuses_holds_up_no_other_constellation(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(more={"abroad": [ATTIC.id]})) as service:
        await service.heard(said("before", 1, ATTIC))
        with locked(service.constellations.of(service.ids[1]).path):
            service.hear(said("one", 2, ATTIC))
            await until(lambda: logged(service))
            service.hear(said("two", 3))
            assert await service.router.taken_in(30, service.ids[0])
            assert not await service.router.taken_in(0.1)
            await until(lambda: service.platform.texts() == ["Yes."])
            await until(lambda: "1 new message " in service.router.supervisor.unstored.words())
            await service.router.drain(0.2)
            assert service.router.supervisor.stopping, "turns come to a stored step all the same"
        await service.stored()
        said_there = await service.rows("SELECT content FROM messages WHERE role = 'user'", of=service.ids[1])
        assert [row["content"] for row in said_there] == ["before", "one"]


@pytest.mark.usefixtures("hurried")
async def test_a_gap_counts_as_read_only_when_what_was_read_is_stored(tmp_path: Path) -> None:
    span = Span(ATTIC.id, "1", "9")
    async with running(tmp_path, Setting(more={"abroad": [ATTIC.id]})) as service:
        gaps = Gaps(service.database, service.clock, functools.partial(service.router.taken_in, 0.1))
        await gaps.note([span], "503", at_once=True)
        await service.heard(said("before", 1, ATTIC))
        with locked(service.constellations.of(service.ids[1]).path):
            service.hear(said("one", 2, ATTIC))
            await gaps.fill(span)
        (gap,) = await service.read(missed_messages.listing)
        assert (gap.tries, gap.reason) == (1, "what was read could not be stored yet")
        await service.stored()
        await gaps.fill(span)
        assert await service.read(missed_messages.listing) == []


@pytest.mark.usefixtures("hurried")
async def test_a_turn_survives_a_database_that_refuses_for_a_while(tmp_path: Path) -> None:
    held = HeldReply(says("Never stored."))
    model = ScriptedModel(held, says("At last."))
    async with running(tmp_path, Setting(model)) as service:
        service.hear(said("hello", 1))
        await held.begun.wait()
        with locked(file(service)):
            held.free.set()
            await until(lambda: logged(service) > 6)
            await until(lambda: "Answers wait" in service.router.supervisor.unstored.words())
        await service.settled()
        assert service.router.supervisor.unstored.words() == ""
        assert service.platform.texts() == ["At last."]
        assert await service.column("SELECT status FROM inbox") == ["done"]


async def test_a_place_that_can_be_reached_again_gets_what_waited_for_it(service: Service) -> None:
    service.platform.fates.append(DeliveryFailed("nobody there", retry_after=86_400))
    service.hear(said("hello", 1))
    await until(lambda: service.column("SELECT 1 FROM outbox WHERE next_attempt_at IS NOT NULL"))
    await service.runtime.delivered(HALL.id)  # it has to wait: nobody waits for it here
    assert service.platform.texts() == []
    await service.runtime.reachable(HALL.id)
    await service.settled()
    assert service.platform.texts() == ["Yes."]


async def test_a_beginning_is_shown_and_becomes_the_answer(tmp_path: Path) -> None:
    held = HeldReply(says("Once upon a time."))
    async with running(tmp_path, Setting(ScriptedModel(held))) as service:
        service.hear(said("a story", 1))
        await held.begun.wait()
        (turn,) = await service.column("SELECT id FROM turns")
        assert await service.runtime.preview(turn, HALL.id, "Once …") == "post-1"
        assert await service.runtime.preview(turn, HALL.id, "Once upon …") == "post-1"  # it has one already
        assert service.platform.texts() == ["Once …"]
        held.free.set()
        await service.settled()
        assert service.platform.texts() == ["Once upon a time."]
        assert await service.runtime.preview(turn, HALL.id, "too late") == ""


async def test_an_orderly_stop_stores_what_was_heard_and_gives_up_waiting_in_time(tmp_path: Path) -> None:
    held = HeldReply(says("never"))
    async with running(tmp_path, Setting(ScriptedModel(held, HeldReply(says("never"))))) as service:
        service.hear(said("hello", 1))
        await held.begun.wait()
        service.hear(said("late", 2, ATTIC))
        await service.router.drain(0.2)
        assert [log["event"] for log in service.logs if log["event"] == "drain_timed_out"]
        assert await service.column("SELECT content FROM messages ORDER BY id") == ["hello", "late"]
        service.crash()


async def test_nothing_of_a_paused_source_is_stored_and_it_is_read_from_there_when_it_goes_on(tmp_path: Path) -> None:
    setting = Setting(paused={SOURCE})
    async with running(tmp_path, setting) as service:
        await service.heard(said("hello", 1))
        stored = "SELECT id FROM messages UNION ALL SELECT id FROM places WHERE cursor <> ''"
        assert await service.column(stored) == []
        setting.paused.clear()
        await service.heard(said("hello", 1))
        assert service.platform.texts() == ["Yes."]


async def test_no_turn_begins_while_the_service_ends(tmp_path: Path) -> None:
    held = HeldReply(says("Yes."))
    async with running(tmp_path, Setting(ScriptedModel(held))) as service:
        service.hear(said("hello", 1))
        await held.begun.wait()
        draining = asyncio.create_task(service.router.drain(5))
        await until(lambda: service.router.supervisor.stopping)
        service.hear(said("late", 2, ATTIC))
        await until(lambda: service.column("SELECT id FROM messages WHERE content = 'late'"))
        held.free.set()
        await draining
        assert await service.column("SELECT turn_id IS NULL FROM inbox ORDER BY id") == [0, 1]


@pytest.mark.parametrize(
    ("change", "answered"),
    [
        ({}, True),
        ({"kind": Kind.REACTION}, True),
        ({"answer": False}, False),
        ({"kind": Kind.DELETE}, False),
    ],
)
def test_only_what_is_said_or_reacted_to_us_is_answered(change: dict[str, Any], answered: bool) -> None:
    routing = GroupRouting({}, GroupId("g"))
    assert (routing.group_of(said("x", 1, **change)) is not None) is answered


def test_what_the_platform_says_of_nobody_is_trusted_least() -> None:
    heard = replace(said("x", 1), speaker=None)
    assert (heard.person, heard.trust) == (None, Trust.STRANGER)


async def test_a_row_without_a_group_that_exists_is_given_up_and_the_conversation_goes_on(service: Service) -> None:
    lost = GroupId("grp_lost")
    await service.write(lambda tx: inbox.accept(tx, said("to nobody", 1), lost, service.clock()))
    service.runtime.answer(HALL.id, lost)
    await service.heard(said("hello", 2))
    assert await service.column("SELECT status FROM inbox ORDER BY id") == ["dead", "done"]
    assert sorted(service.platform.texts()) == [GIVEN_UP, "Yes."], "two conversations, in whatever order"


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (HALL, '(reacted with 👍 to a message of yours: "Tea is ready.")'),
        (channel("port", "elsewhere"), "(reacted with 👍 to a message of yours)"),  # words of another place
    ],
)
async def test_a_reaction_says_which_message_it_is_on(tmp_path: Path, place: Place, told: str) -> None:
    async with running(tmp_path, Setting(model=ScriptedModel(says("Tea is ready.")))) as service:
        await service.heard(said("tea?", 1))
        mine = service.platform.posts[0].external_id
        like = said("👍", 2, place, kind=Kind.REACTION, subject=mine, external_id="x/ann/👍/1", answer=False)
        await service.heard(like)
        assert await service.column("SELECT content FROM messages WHERE content LIKE '%👍%'") == [told]
