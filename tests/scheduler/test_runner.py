"""Jobs as they run: on time, late, skipped, failing, asked for, in two processes, with a clock that is adjusted."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest

from memory import jobs
from memory.jobs import EntryDue, Status
from memory.store.database import Database, Tx
from memory.store.errors import DatabaseFull, EntryNotFound
from memory.store.ids import ConstellationId, PersonId
from memory.store.sqlite import driver
from scheduler.job_kinds import DueJob, JobResult, QueueJob, WorkJob
from scheduler.runner import LEASE, MAX_ATTEMPTS
from scheduler.triggers import CronTrigger, DateTrigger, IntervalTrigger
from tests.captured_logs import capture_logs
from tests.scheduler.parts import NOON, PUT, SECRET, Clock, Harness, ground

HOUR, MINUTE, DAY = timedelta(hours=1), timedelta(minutes=1), timedelta(days=1)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Harness]:
    async with ground(tmp_path) as made:
        yield made


@pytest.fixture(autouse=True)
def quietly() -> Iterator[None]:
    """Tracebacks of failures that are meant are not written out."""
    with capture_logs():
        yield


async def test_26_hours_and_then_three_days_away(here: Harness) -> None:
    await here.put("hourly", IntervalTrigger(HOUR, NOON))
    await here.put("daily", CronTrigger("0 4 * * *"))
    await here.put("once", DateTrigger(NOON + 5 * HOUR))
    await here.pass_by(26 * HOUR, MINUTE)
    assert [len(here.runs(name)) for name in ("hourly", "daily", "once")] == [27, 1, 1]
    assert all(firing.late == timedelta() for firing in here.fired)
    assert (await here.job("once")).status is Status.DONE

    here.fired.clear()
    await here.pass_by(3 * DAY, 3 * DAY)
    assert sorted(firing.job.id for firing in here.fired) == ["daily", "hourly"]
    (daily,) = here.runs("daily")
    assert daily.due == datetime(2026, 3, 6, 4, tzinfo=UTC)
    assert (await here.job("daily")).last_outcome == "late"
    assert "late by 10 h 0 min; noted" in (await here.job("daily")).last_detail
    assert (await here.job("daily")).next_at == datetime(2026, 3, 7, 4, tzinfo=UTC)


async def test_what_is_too_late_is_skipped_and_says_so(here: Harness) -> None:
    await here.put("patrol", CronTrigger("0 9 * * *"), grace=HOUR)
    await here.pass_by(3 * DAY, 3 * DAY)
    assert here.fired == []
    job = await here.job("patrol")
    assert job.last_outcome == "skipped"
    assert job.last_detail == "skipped the due time 2026-03-05 09:00 UTC: too late"
    assert job.next_at == datetime(2026, 3, 6, 9, tzinfo=UTC)
    await here.pass_by(DAY, DAY)
    assert (await here.job("patrol")).last_detail == "skipped the due time 2026-03-06 09:00 UTC: too late"


async def test_a_job_that_is_once_and_too_late_is_over_and_still_there(here: Harness) -> None:
    await here.put("once", DateTrigger(NOON + HOUR), grace=HOUR)
    await here.pass_by(3 * DAY, 3 * DAY)
    job = await here.job("once")
    assert (job.status, job.last_outcome) == (Status.DONE, "skipped")


async def test_two_processes_on_one_database_run_it_once(tmp_path: Path) -> None:
    clock = Clock()
    async with ground(tmp_path, clock) as one, ground(tmp_path, clock) as other:
        for number in range(20):
            await one.put(f"q{number}", DateTrigger(NOON + HOUR), "note")
            await one.put(f"w{number}", DateTrigger(NOON + HOUR), "work")
        await one.runner.tick()
        clock.now += HOUR
        await asyncio.gather(one.runner.tick(), other.runner.tick())
        await asyncio.gather(one.runner.settled(), other.runner.settled())
        ran = sorted(firing.job.id for firing in (*one.fired, *other.fired))
        assert ran == sorted([f"q{number}" for number in range(20)] + [f"w{number}" for number in range(20)])


async def test_work_that_was_cut_off_is_done_again_when_its_lease_is_over(tmp_path: Path) -> None:
    clock = Clock()
    async with ground(tmp_path, clock) as one:
        await one.put("w", DateTrigger(NOON), "work")
        async with one.constellations.use(one.home) as database:
            await database.write(PUT, lambda tx: jobs.claim(tx, "w", "somebody who died", NOON + LEASE))
        await one.runner.tick()
        await one.runner.settled()
        assert one.fired == []
        clock.now += LEASE
        await one.runner.tick()
        await one.runner.settled()
        assert [firing.job.id for firing in one.fired] == ["w"]
        assert (await one.job("w")).status is Status.DONE


@pytest.mark.parametrize("error", [ValueError, EntryNotFound])
@pytest.mark.parametrize("kind", ["note", "work"])
async def test_what_fails_is_tried_again_and_then_given_up_until_the_next_time(
    here: Harness, kind: str, error: type[Exception]
) -> None:
    here.fail = error("no such thing")
    await here.put("daily", IntervalTrigger(DAY, NOON), kind)
    await here.tick()
    job = await here.job("daily")
    assert job.attempts == 1
    assert f"failed once, trying again: {error.__name__}: no such thing" in job.last_detail
    await here.pass_by(6 * HOUR, MINUTE)
    job = await here.job("daily")
    assert (job.last_outcome, job.attempts, job.status) == ("failed", 0, Status.ACTIVE)
    assert job.next_at == NOON + DAY

    here.fail = None
    await here.pass_by(DAY, HOUR)
    assert len(here.fired) == 1
    assert MAX_ATTEMPTS == 5


@pytest.mark.parametrize("kind", ["note", "work"])
async def test_what_is_kept_of_a_failure_holds_no_secret(here: Harness, kind: str) -> None:
    here.fail = ValueError(f"https://example.org/?key={SECRET} was refused")
    await here.put("once", DateTrigger(NOON), kind)
    for _ in range(MAX_ATTEMPTS):
        await here.pass_by(2 * HOUR, MINUTE)
        assert SECRET not in (job := await here.job("once")).last_detail
        assert "[secret] was refused" in job.last_detail


async def test_a_job_that_failed_for_good_stays_to_be_seen(here: Harness) -> None:
    here.fail = ValueError("no such thing")
    await here.put("once", DateTrigger(NOON))
    await here.pass_by(6 * HOUR, MINUTE)
    assert (await here.job("once")).status is Status.FAILED


async def test_a_job_whose_data_is_damaged_fails_alone(here: Harness) -> None:
    def about(_tx: Tx, firing: DueJob) -> JobResult:
        return JobResult(firing.job.read(EntryDue).entry)

    here.kinds["about"] = QueueJob(about)
    await here.put("damaged", DateTrigger(NOON), "about")
    await here.put("sound", DateTrigger(NOON))
    async with here.constellations.use(here.home) as database:
        await database.write(PUT, lambda tx: tx.run("UPDATE jobs SET payload = '{' WHERE id = 'damaged'"))
    await here.tick()
    assert "RowUnreadable" in (await here.job("damaged")).last_detail
    assert (await here.job("sound")).last_outcome == "run"


@pytest.mark.parametrize(
    "trigger", ["{", "{}", '{"cron": "a b c", "zone": "UTC"}', '{"cron": "0 4 * * *", "zone": "Mars/Base"}']
)
async def test_a_job_whose_trigger_is_damaged_is_given_up_alone(here: Harness, trigger: str) -> None:
    await here.put("damaged", DateTrigger(NOON))
    await here.put("sound", IntervalTrigger(HOUR, NOON))
    async with here.constellations.use(here.home) as database:
        await database.write(
            PUT, lambda tx: tx.run("UPDATE jobs SET trigger_json = ? WHERE id = 'damaged'", (trigger,))
        )
    await here.pass_by(6 * HOUR, MINUTE)
    assert (await here.job("damaged")).status is Status.FAILED
    assert len(here.runs("sound")) == 7


async def test_a_kind_that_nobody_knows_waits_and_says_so(here: Harness) -> None:
    await here.put("strange", DateTrigger(NOON), "of another version")
    await here.runner.tick()
    job = await here.job("strange")
    assert (job.status, job.held_until) == (Status.ACTIVE, NOON + HOUR)
    assert "nothing here handles" in job.last_detail
    here.kinds["of another version"] = QueueJob(here.note)
    await here.pass_by(HOUR, HOUR)
    assert len(here.fired) == 1


@pytest.mark.parametrize("kind", ["note", "work"])
async def test_a_handler_may_want_to_be_asked_again(here: Harness, kind: str) -> None:
    here.again = NOON + 3 * HOUR
    await here.put("quiet", DateTrigger(NOON), kind)
    await here.runner.tick()
    await here.runner.settled()
    job = await here.job("quiet")
    assert (job.status, job.holder, job.held_until) == (Status.ACTIVE, "", NOON + 3 * HOUR)
    assert job.attempts == 0  # asking for more time is no failure
    here.again = None
    here.fired.clear()
    await here.pass_by(3 * HOUR, MINUTE)
    (firing,) = here.fired
    assert (firing.now, firing.due) == (NOON + 3 * HOUR, NOON)


async def test_a_paused_job_runs_only_when_it_is_asked_for(here: Harness) -> None:
    await here.put("hourly", IntervalTrigger(HOUR, NOON + HOUR))
    async with here.constellations.use(here.home) as database:
        await database.write(PUT, lambda tx: jobs.pause(tx, "hourly"))
        await here.pass_by(5 * HOUR, HOUR)
        assert here.fired == []
        await database.write(PUT, lambda tx: jobs.ask(tx, "hourly", here.clock()))
    here.runner.changed(here.home)
    await here.runner.tick()
    (firing,) = here.fired
    assert firing.asked
    job = await here.job("hourly")
    assert (job.status, job.asked_at, job.last_outcome) == (Status.PAUSED, None, "run")


@pytest.mark.parametrize("later", [timedelta(), 2 * LEASE])
async def test_one_that_is_asked_for_while_it_runs_is_not_run_beside_itself(here: Harness, later: timedelta) -> None:
    """Nor if the clock jumps meanwhile, as after the machine was suspended."""
    begun, go_on = asyncio.Event(), asyncio.Event()
    runs: list[str] = []

    async def work(_database: Database, firing: DueJob) -> str:
        runs.append(firing.job.id)
        begun.set()
        await go_on.wait()
        return "worked"

    here.kinds["long"] = WorkJob(work)
    await here.put("w", DateTrigger(NOON), "long")
    await here.runner.tick()
    await begun.wait()
    async with here.constellations.use(here.home) as database:
        await database.write(PUT, lambda tx: jobs.ask(tx, "w", here.clock()))
    here.runner.changed(here.home)
    here.clock.now += later
    await here.runner.tick()
    go_on.set()
    await here.runner.settled()
    assert runs == ["w"]
    assert (await here.job("w")).last_detail == "worked"


async def test_a_clock_that_is_adjusted_repeats_nothing(here: Harness) -> None:
    await here.put("daily", CronTrigger("0 12 * * *"))
    await here.runner.tick()
    here.clock.now -= timedelta(seconds=5)
    await here.pass_by(MINUTE, timedelta(seconds=1))
    assert len(here.fired) == 1


async def test_at_a_start_the_index_is_as_the_files_are(tmp_path: Path) -> None:
    clock = Clock()
    async with ground(tmp_path, clock) as one:
        await one.put("soon", DateTrigger(NOON + HOUR))  # and nobody lives to index it
    clock.now += 2 * HOUR
    async with ground(tmp_path, clock) as other:
        await other.run_until_fired()
    assert other.fired[0].late == HOUR


async def test_a_file_that_cannot_be_read_at_a_start_is_opened_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: Path, *, read_only: bool) -> None:
        raise driver.OperationalError(f"database is locked, read only: {read_only}")

    clock = Clock()
    async with ground(tmp_path, clock) as one:
        await one.put("soon", DateTrigger(NOON + HOUR))
    clock.now += 2 * HOUR
    monkeypatch.setattr("scheduler.runner.connect", refuse)
    async with ground(tmp_path, clock) as other:
        await other.run_until_fired()
    assert [each.job.id for each in other.fired] == ["soon"]


async def test_closed_constellations_in_which_nothing_is_due_stay_closed(
    here: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await here.put("far", DateTrigger(NOON + 30 * DAY))
    await here.runner.tick()
    assert here.constellations.open_now() == []
    opened: list[ConstellationId] = []
    use = here.constellations.use

    def watched(home: ConstellationId) -> object:
        opened.append(home)
        return use(home)

    monkeypatch.setattr(here.constellations, "use", watched)
    await here.pass_by(DAY, HOUR)
    assert opened == []


async def test_a_damaged_file_keeps_no_other_constellation_from_its_jobs(here: Harness) -> None:
    await here.put("soon", DateTrigger(NOON + HOUR))
    other = await here.constellations.ensure("other", PersonId("terminal:owner"))
    async with here.constellations.use(other.id) as database, here.constellations.use(here.home):
        await database.write(PUT, lambda tx: tx.run("ALTER TABLE jobs RENAME TO lost"))
        here.clock.now += HOUR
        await here.runner.tick()
    assert [each.job.id for each in here.fired] == ["soon"]


async def test_what_a_full_disk_refuses_is_tried_again_in_a_minute(here: Harness) -> None:
    await here.put("soon", DateTrigger(NOON))
    with patch.object(Database, "write", side_effect=DatabaseFull("the disk is full")):
        assert await here.runner.tick() == NOON + MINUTE
    assert here.fired == []
    here.clock.now += MINUTE
    await here.runner.tick()
    assert [each.job.id for each in here.fired] == ["soon"]


async def test_a_deleted_constellation_is_looked_at_no_more(here: Harness) -> None:
    await here.put("soon", DateTrigger(NOON + HOUR))
    assert await here.runner.tick() == NOON + HOUR
    await here.constellations.remove(here.home)
    here.clock.now += 2 * HOUR
    assert await here.runner.tick() is None


async def test_one_that_is_deleted_while_it_is_looked_at_is_no_error(here: Harness) -> None:
    await here.put("soon", DateTrigger(NOON + HOUR))
    using = here.constellations.use(here.home)
    await using.__aenter__()
    with capture_logs() as events:  # the runner waits until the file is closed, and by then it is deleted
        closing = using.__aexit__(None, None, None)
        await asyncio.gather(closing, here.runner.tick(), here.constellations.remove(here.home))
    assert events == []


async def test_what_is_made_while_it_sleeps_wakes_it(here: Harness) -> None:
    here.clock.now = datetime.now(tz=UTC)
    task = asyncio.create_task(here.runner.run())
    await asyncio.sleep(0)
    await here.put("soon", DateTrigger(here.clock.now))
    async with asyncio.timeout(20):
        while not here.fired:
            await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_one_that_is_planned_anew_while_it_runs_waits_for_its_end(here: Harness) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    runs: list[str] = []

    async def work(_database: Database, firing: DueJob) -> str:
        runs.append(firing.job.id)
        begun.set()
        await go_on.wait()
        return "worked"

    here.kinds["long"] = WorkJob(work)
    await here.put("w", DateTrigger(NOON), "long")
    await here.put("soon", DateTrigger(NOON + MINUTE))
    await here.runner.tick()
    await begun.wait()
    await here.put("w", DateTrigger(NOON), "long")
    here.clock.now += MINUTE
    async with asyncio.timeout(5):
        await here.runner.tick()
    assert (runs, [each.job.id for each in here.fired]) == (["w"], ["soon"])
    go_on.set()
    await here.tick()
    assert runs == ["w", "w"]
    assert (await here.job("w")).last_detail == "worked"
