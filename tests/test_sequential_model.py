"""Whatever happens to messages in whatever order, however slow the disk and wherever the process dies: the store ends
as if one hand had written everything down in the order of arrival."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.queue.notifications import Kind, Notification
from memory.store.clock import to_text
from memory.store.database import Tx, as_dict
from tests.bot.parts import ANN, BOB, HALL, NOON, MovableClock, Platform, channel, deleted, edited, said
from tests.bot.stage import SETUP, Service, Setting, running

ATTIC = channel("attic")
NUMBERS = range(1, 5)


@dataclass(frozen=True)
class Arrival:
    """One thing that happens to message `number`; `after` seconds is when an edit was made."""

    what: str
    number: int
    after: int = 0
    answer: bool = False

    def notification(self) -> Notification:
        place = HALL if self.number % 2 else ATTIC
        speaker = ANN if self.number < 3 else BOB
        match self.what:
            case "created":
                return said(f"words {self.number}", self.number, place, speaker, answer=self.answer)
            case "edited":
                return edited(f"edit {self.number} of {self.after}", self.number, place, speaker, after=self.after)
            case "deleted":
                return deleted(self.number, place)
            case _:
                identifier = f"{self.number}/{speaker.id}/:wave:/{self.after}"
                text = f"reacted {self.after}"
                return said(text, self.number, place, speaker, kind=Kind.REACTION, external_id=identifier, answer=False)


@dataclass
class Row:
    text: str
    edited_at: datetime | None = None
    gone: bool = False


@dataclass
class Model:
    """One hand, writing down one thing after the other."""

    rows: dict[str, Row] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def hear(self, heard: Notification) -> None:
        known = self.rows.get(heard.subject)
        if heard.kind in (Kind.EDIT, Kind.DELETE) and known is None:
            return
        if heard.external_id in self.seen:
            return
        self.seen.add(heard.external_id)
        match heard.kind:
            case Kind.EDIT if known is not None and not known.gone:
                if known.edited_at is None or heard.at > known.edited_at:
                    known.text, known.edited_at = heard.text, heard.at
            case Kind.DELETE if known is not None:
                known.text, known.gone = "", True
            case Kind.MESSAGE:
                self.rows[heard.external_id] = Row(heard.text)
            case Kind.REACTION:
                self.rows[heard.external_id] = Row(f"(reacted with {heard.text} to a message of yours)")
            case _:
                pass

    def stored(self) -> list[dict[str, object]]:
        return [
            {
                "external_id": identifier,
                "content": row.text,
                "edited_at": None if row.edited_at is None else to_text(row.edited_at),
                "gone": int(row.gone),
            }
            for identifier, row in self.rows.items()
        ]


arrivals = st.builds(
    Arrival,
    st.sampled_from(["created", "created", "edited", "edited", "deleted", "reacted"]),
    st.sampled_from(NUMBERS),
    st.integers(1, 4),
    st.booleans(),
)
pauses = st.sampled_from(["", "", "yield", "slow", "slow", "again", "die"])


async def live(steps: Sequence[tuple[Arrival, str]], folder: Path) -> tuple[list[dict[str, object]], Model]:
    """Hear it all; between two of these the loop runs, the disk is slow, or the process dies and hears it again."""
    heard, model = list[Notification](), Model()
    platform: Platform | None = None
    clock = MovableClock()
    left = list(steps)
    while True:
        async with running(folder, Setting(platform=platform, clock=clock)) as service:
            platform = service.platform
            _hear(service, model, *heard[-3:])  # what a platform repeats after a reconnect
            while left:
                arrival, pause = left.pop(0)
                heard.append(arrival.notification())
                _hear(service, model, heard[-1])
                if pause == "die":
                    await service.router.taken_in(30)  # else it may not have been heard: the source reads it back
                    service.crash()
                    break
                if pause == "again":
                    _hear(service, model, heard[len(heard) // 2])
                await _pause(service, pause)
            else:
                await service.router.taken_in(30)
                # What was at work when the process died more than once waits a moment for its next try.
                clock.forward(60)
                service.resume()
                await service.settled()
                rows = await service.rows(
                    "SELECT external_id, content, edited_at, deleted_at IS NOT NULL AS gone FROM messages "
                    "WHERE role = 'user' ORDER BY id"
                )
                return [dict(as_dict(row)) for row in rows], model


def _hear(service: Service, model: Model, *notifications: Notification) -> None:
    for notification in notifications:
        service.hear(notification)
        model.hear(notification)


async def _pause(service: Service, pause: str) -> None:
    match pause:
        case "yield":
            await asyncio.sleep(0)
        case "slow":
            service.database.write(SETUP, _sleep)
        case _:
            pass


def _sleep(_tx: Tx) -> None:
    time.sleep(0.003)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(st.tuples(arrivals, pauses), min_size=1, max_size=25))
def test_the_store_ends_as_if_one_hand_had_written_it(steps: list[tuple[Arrival, str]]) -> None:
    with TemporaryDirectory() as folder:
        stored, model = asyncio.run(live(steps, Path(folder)))
    assert stored == model.stored()


@pytest.mark.parametrize("pause", ["", "yield", "slow", "again", "die"])
def test_a_message_that_is_created_edited_and_deleted_in_one_breath_leaves_nothing(pause: str) -> None:
    life = [
        (Arrival("created", 1, answer=True), pause),
        (Arrival("edited", 1, 2), pause),
        (Arrival("edited", 1, 1), pause),  # overtaken on its way
        (Arrival("deleted", 1), pause),
        (Arrival("edited", 1, 3), pause),
        (Arrival("created", 1), pause),
    ]
    with TemporaryDirectory() as folder:
        found, model = asyncio.run(live(life, Path(folder)))
    edited_at = to_text(NOON + timedelta(seconds=2))
    assert found == [{"external_id": "1", "content": "", "edited_at": edited_at, "gone": 1}] == model.stored()
