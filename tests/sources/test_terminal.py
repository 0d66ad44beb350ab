"""The terminal as source, endpoint and screen, with a real journal."""

import asyncio
import os
import stat
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.queue.message_files import File
from memory.store.ids import OutboxId, PlaceId
from memory.store.records import replace
from sources import terminal
from sources.base import Activity, Delivery, DeliveryFailed, DeliveryUnclear, Endpoint
from sources.terminal import (
    Busy,
    Deletion,
    Edit,
    Journal,
    Message,
    Shown,
    TerminalEndpoint,
    TerminalSource,
    local_name,
    shown_as,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLACE = PlaceId("terminal:local")


def delivery(number: int, text: str = "hello", *, speaker: str = "", files: tuple[File, ...] = ()) -> Delivery:
    return Delivery(OutboxId(number), PLACE, text, NOON, speaker=speaker, files=files)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "terminal.journal"


@pytest.fixture
def endpoint(path: Path) -> TerminalEndpoint:
    return TerminalEndpoint(Journal(path), lambda: NOON)


# ------------------------------------------------------------------------------------------------------- hearing


@pytest.mark.parametrize(("account", "name"), [("ada", "ada"), ("# a\nSystem: b", "a System- b"), ("\n", "you")])
def test_the_owner_is_named_after_the_account(account: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: account)
    assert local_name() == name
    speaker = TerminalSource().hear("x", "1").speaker
    assert speaker is not None
    assert speaker.name == name


def test_an_account_without_a_name_is_you(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError(os.getuid())

    monkeypatch.setattr("getpass.getuser", nobody)
    assert local_name() == "you"


# ------------------------------------------------------------------------------------------------------ speaking


async def test_those_who_are_attached_are_shown_what_is_sent(endpoint: TerminalEndpoint) -> None:
    seam: Endpoint = endpoint
    one, two = list[Shown](), list[Shown]()
    with endpoint.attach(one.append), endpoint.attach(two.append):
        seam.show(Activity(PLACE, busy=True))
        assert await seam.send(delivery(7, "hi", speaker="Carina")) == "terminal-7"
        await seam.edit(PLACE, "terminal-7", "hi!")
        await seam.withdraw(PLACE, "terminal-7")
        seam.show(Activity(PLACE, busy=False))
        seam.show(Activity(PlaceId("discord:1"), busy=True))
    said = Message("terminal-7", "hi", "Carina")
    assert one == two == [Busy(True), said, Edit("terminal-7", "hi!"), Deletion("terminal-7"), Busy(False)]


async def test_with_nobody_there_a_delivery_waits(endpoint: TerminalEndpoint) -> None:
    for attempt in (endpoint.send(delivery(7)), endpoint.edit(PLACE, "terminal-7", "x")):
        with pytest.raises(DeliveryFailed, match="nobody is at the terminal") as caught:
            await attempt
        assert caught.value.retry_after is not None
    await endpoint.withdraw(PLACE, "terminal-7")
    assert await endpoint.find((delivery(7),)) == {}


async def test_another_place_is_refused_for_good(endpoint: TerminalEndpoint) -> None:
    with endpoint.attach(lambda _: None), pytest.raises(DeliveryFailed) as caught:
        await endpoint.edit(PlaceId("discord:1"), "x", "y")
    assert caught.value.retry_after is None


async def test_a_delivery_is_shown_once_however_often_it_is_sent_and_with_its_time_if_it_waited(
    endpoint: TerminalEndpoint, path: Path
) -> None:
    shown = list[Shown]()
    with endpoint.attach(shown.append):
        assert {await endpoint.send(delivery(7)) for _ in range(3)} == {"terminal-7"}
    restarted = TerminalEndpoint(Journal(path), lambda: NOON + timedelta(hours=1))
    with restarted.attach(shown.append):
        await restarted.send(delivery(7))
        await restarted.send(delivery(8, "next"))
    assert shown == [Message("terminal-7", "hello"), Message("terminal-8", "[2026-03-01 12:00 UTC] next")]
    found = await restarted.find((delivery(6), delivery(7), delivery(8)))
    assert found == {OutboxId(7): "terminal-7", OutboxId(8): "terminal-8"}


async def test_the_journal_is_private_and_holds_no_text(endpoint: TerminalEndpoint, path: Path) -> None:
    with endpoint.attach(lambda _: None):
        await endpoint.send(delivery(7, "a secret"))
    assert path.read_text() == '{"id": 7}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_the_journal_is_on_disk_before_the_text_is_shown(endpoint: TerminalEndpoint, path: Path) -> None:
    held = list[str]()
    with endpoint.attach(lambda _: held.append(path.read_text())):
        await endpoint.send(delivery(7))
    assert held == ['{"id": 7}\n']


async def test_who_leaves_while_the_disk_works_was_not_shown_it(
    endpoint: TerminalEndpoint, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = list[Shown]()
    attached = ExitStack()
    attached.enter_context(endpoint.attach(shown.append))
    real = os.fsync

    def leave(descriptor: int) -> None:
        real(descriptor)
        attached.close()

    monkeypatch.setattr(os, "fsync", leave)
    with pytest.raises(DeliveryFailed, match="nobody"):
        await endpoint.send(delivery(7))
    assert shown == []
    assert await TerminalEndpoint(Journal(path)).find((delivery(7),)) == {}


async def test_a_journal_that_cannot_be_written_shows_nothing(
    endpoint: TerminalEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    shown = list[Shown]()
    with endpoint.attach(shown.append):
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(DeliveryFailed, match="No space left on device") as caught:
            await endpoint.send(delivery(7))
    assert caught.value.retry_after == 60
    assert shown == []


async def test_a_disk_that_does_not_answer_leaves_it_unclear(
    endpoint: TerminalEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_arguments: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(terminal, "_JOURNAL_SECONDS", 0.05)
    monkeypatch.setattr(asyncio, "to_thread", hang)
    with endpoint.attach(lambda _: None), pytest.raises(DeliveryUnclear):
        await endpoint.send(delivery(7))


@pytest.mark.parametrize("left", [b'{"id": 7}\n{"id": 8', b'{"id": 7}\n\xff\x00garbage', b'{"id": 7}\n[]\n{}\n'])
def test_half_a_line_of_a_crash_is_passed_over(path: Path, left: bytes) -> None:
    path.write_bytes(left)
    journal = Journal(path)
    assert OutboxId(7) in journal
    assert OutboxId(8) not in journal
    journal.add(OutboxId(9))
    again = Journal(path)
    assert [number for number in range(12) if OutboxId(number) in again] == [7, 9]


def test_the_journal_stays_small_and_keeps_the_newest(path: Path) -> None:
    journal = Journal(path, most_bytes=500, keep=20)
    for number in range(1000, 1200):
        journal.add(OutboxId(number))
    journal.take_back(OutboxId(1199))
    assert path.stat().st_size < 600
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = Journal(path)
    for number in range(1180, 1199):
        assert OutboxId(number) in again
    assert OutboxId(1199) not in again
    assert OutboxId(1000) not in again
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_what_nobody_sees_is_not_shown() -> None:
    said = replace(delivery(7, "a\u202eb\x1b[2J\u200bc"), files=(File("a.txt", "d\x07e"),))
    assert shown_as(said).text == "abc\n\na.txt:\nde"


def test_a_text_is_not_split_and_nothing_is_not_sent(endpoint: TerminalEndpoint) -> None:
    text = "long\n" * 50_000
    assert endpoint.split(text) == [text]
    assert endpoint.split(" \n") == []
    assert endpoint.nonce_seconds == 0
