"""However long a platform is out of reach, what waits for it is neither given up nor said twice."""

import asyncio
from collections import deque
from collections.abc import Collection
from pathlib import Path

import pytest

from bot.agents.notices import Notices
from bot.runtime.delivery import MAX_ATTEMPTS, DeliveryDeps, DeliveryWorker
from memory.people.audience import OWNER
from memory.queue import outbox
from memory.queue.outbox import NewRow, Status
from memory.store.clock import utc_now
from memory.store.database import Database
from memory.store.faults import Kind as PointKind
from memory.store.faults import Point
from memory.store.ids import OutboxId, PlaceId
from memory.store.migrations import Kind, prepare
from sources.base import MESSAGES, Activity, Buttons, Delivery, DeliveryFailed, HistoryUnreadable
from tests.bot.parts import unconcerned

PLACE = PlaceId("discord:10")
ADD = Point("tests.outages.add", PointKind.COMMIT)  # not one of the program's
DOWN = DeliveryFailed("not connected", retry_after=0.0, reached=False)
BUSY = DeliveryFailed("too many requests", retry_after=0.0)


class Platform:
    """Fails as often as it is told, then takes everything."""

    max_length = 2000
    has_previews = False
    has_nonce = False
    nonce_seconds = 0.0
    form = MESSAGES

    def __init__(self, *failures: DeliveryFailed | HistoryUnreadable) -> None:
        self.failures = deque(failures)
        self.said: list[str] = []

    def split(self, text: str) -> list[str]:
        return [text]

    async def send(self, delivery: Delivery) -> str:
        if self.failures:
            raise self.failures.popleft()
        self.said.append(delivery.text)
        return f"m{len(self.said)}"

    async def find(self, deliveries: tuple[Delivery, ...], taken: Collection[str] = ()) -> dict[OutboxId, str]:
        if self.failures:
            raise self.failures.popleft()
        return {}

    async def edit(self, place: PlaceId, external_id: str, text: str, buttons: Buttons | None = None) -> None:
        raise AssertionError

    async def withdraw(self, place: PlaceId, external_id: str) -> None:
        raise AssertionError

    async def show(self, activity: Activity) -> None:
        raise AssertionError


async def delivered(tmp_path: Path, platform: Platform, *, sending: bool = False) -> list[Status]:
    """Run a delivery over one row until it is settled; gives the states of all rows, notices included."""
    path = tmp_path / "carina.db"
    prepare(path, Kind.CONSTELLATION)
    async with Database.open(path) as database:
        now = utc_now()
        new = NewRow("row", PLACE, "discord", "hello", OWNER)
        row = await database.write(ADD, lambda tx: outbox.add(tx, new, now))
        assert row is not None
        if sending:
            await database.write(ADD, lambda tx: outbox.mark_sending(tx, row, now))
        office = DeliveryDeps(
            utc_now,
            Notices(PlaceId("terminal:local"), "terminal"),
            lambda: None,
            lambda: None,
            unconcerned,
            unconcerned,
        )
        delivery = DeliveryWorker(database, PLACE, platform, office)
        task = asyncio.create_task(delivery.run())
        async with asyncio.timeout(20):
            while not task.done():
                delivery.wake()
                await asyncio.sleep(0.005)
        await task
        found = await database.read(lambda rows: [outbox.get(rows, row), outbox.of_key(rows, f"notice/outbox/{row}")])
        return [each.status for each in found if each is not None]


async def test_a_long_outage_uses_no_attempts_up(tmp_path: Path) -> None:
    platform = Platform(*[DOWN] * (3 * MAX_ATTEMPTS))
    assert await delivered(tmp_path, platform) == [Status.SENT]
    assert platform.said == ["hello"]


async def test_refusals_are_counted_and_at_last_the_owner_is_told(tmp_path: Path) -> None:
    platform = Platform(*[BUSY] * (3 * MAX_ATTEMPTS))
    assert await delivered(tmp_path, platform) == [Status.FAILED, Status.PENDING]
    assert len(platform.failures) == 2 * MAX_ATTEMPTS


async def test_outages_between_refusals_are_not_counted(tmp_path: Path) -> None:
    platform = Platform(*[BUSY, DOWN, DOWN] * (MAX_ATTEMPTS - 1))
    assert await delivered(tmp_path, platform) == [Status.SENT]


@pytest.mark.parametrize(("passing", "states"), [(True, [Status.SENT]), (False, [Status.UNKNOWN, Status.PENDING])])
async def test_a_history_out_of_reach_is_read_later_and_a_forbidden_one_is_not_guessed(
    tmp_path: Path, passing: bool, states: list[Status]
) -> None:
    why = HistoryUnreadable("no way there", passing=passing)
    platform = Platform(*[why] * (2 * MAX_ATTEMPTS))
    assert await delivered(tmp_path, platform, sending=True) == states
    assert platform.said == (["hello"] if passing else [])
