"""The process itself: its configuration, data folder, signals, and the exit code of each end."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.processes import START_SECONDS
from tests.service.live_service import Live, answered_within, live_service, started, until
from tests.service.program import STOP_SECONDS
from tests.wire.model import Answer, Hang, Slow

HELD_UP = 8.0
"""Seconds that an end may take beyond twice what it takes with nothing under way: a container is killed after ten."""


async def started_once(t: Live) -> float:
    """A data folder with databases, and nobody on it; how many seconds such an end takes on this machine."""
    await t.service.start()
    return await end(t)


async def end(t: Live) -> float:
    """SIGTERM; how many seconds it takes to end in order."""
    began = time.monotonic()
    await t.service.stop()
    return time.monotonic() - began


async def test_it_says_when_it_is_ready_and_when_it_has_stopped(tmp_path: Path) -> None:
    async with started(tmp_path, scripted=False) as t:
        assert {event["front_end"] for event in t.service.logged_events("ready")} == {"terminal", "discord"}
        unset = {event["part"]: event["setting"] for event in t.service.logged_events("part_not_configured")}
        assert unset["language model"] == "CARINA_MODEL"
        assert "discord" not in unset
        await t.service.stop()
        await t.server.wait_disconnected()


@pytest.mark.parametrize(
    ("toml", "said"), [("[discord]\ndefault_mode = 'loud'", "discord.default_mode"), ("[model", "not valid TOML")]
)
async def test_a_wrong_setting_is_named_and_the_exit_code_is_2(tmp_path: Path, toml: str, said: str) -> None:
    async with live_service(tmp_path) as t:
        t.service.file.write_text(toml, "utf-8")
        code, _out, error = await t.service.run("run", "--log-json")
        assert code == 2
        assert said in error
        assert "Traceback" not in error
        assert not t.service.home.exists()


async def test_a_second_process_on_the_same_folder_says_so_and_ends_with_1(tmp_path: Path) -> None:
    async with started(tmp_path, scripted=False) as t:
        error = await t.service.refused("run", "--log-json")
        assert "is already using the data folder" in error
        assert "Traceback" not in error
        assert (await t.ask(t.ana, t.general, "<@bot> hello")).text, "the first one goes on"


async def test_a_locked_database_is_waited_for_and_nothing_is_lost(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        t.service.expected_errors |= {"waiting_for_database", "jobs_not_served"}
        await t.service.start()
        await t.ask(t.ana, t.general, "<@bot> remember that my dentist is on Elm Street")
        form = await t.olga.command("memory edit", {"label": "persona"}, t.general)
        path = next(path for path in databases(t) if path.name == "carina.db")
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        said = await t.ana.say(t.general, "<@bot> where is my dentist?")
        await t.service.logged("waiting_for_database", what=f"arrivals in {path.parent.name}")
        out = await t.service.said("status")
        assert "The database has not accepted writes since" in out
        assert "another program is locking the database" in out
        assert "1 new message is only in memory" in out
        told = await t.ana.command("tasks add", {"title": "buy milk"}, t.general)
        assert "another program is locking the database" in told.text
        assert "try again" in told.text
        assert (
            "another program is locking the database" in (await t.olga.submit_modal(form, {"text": "I am calm."})).text
        )
        holder.execute("ROLLBACK")
        holder.close()
        answer = await t.general.wait_for_bot(after=said)
        assert "Elm Street" in answer.text
        assert "has not accepted writes" not in await t.service.said("status")


async def test_a_disk_that_takes_no_more_is_waited_for_and_nothing_is_lost(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        t.service.expected_errors |= {"waiting_for_database", "jobs_not_served"}
        await t.service.start()
        await t.ask(t.ana, t.general, "<@bot> remember that my dentist is on Elm Street")
        path = next(path for path in databases(t) if path.name == "carina.db")
        t.service.limit_files(20_000)
        said = await t.ana.say(t.general, "<@bot> where is my dentist?")
        await t.service.logged("waiting_for_database", what=f"arrivals in {path.parent.name}")
        assert "the disk did not accept the write" in await t.service.said("status")
        t.service.limit_files(-1)
        answer = await t.general.wait_for_bot(after=said)
        assert "Elm Street" in answer.text
        assert len(t.general.from_bot) == 2
        assert "has not accepted writes" not in await t.service.said("status")


@pytest.mark.slow
async def test_sigterm_in_the_middle_of_a_turn_ends_in_bounded_time_and_it_is_answered_once_later(
    tmp_path: Path,
) -> None:
    async with started(tmp_path) as t:
        t.model.script(Hang(), Answer("after the restart"))
        said = await t.ana.say(t.general, "<@bot> hello")
        await t.model.wait_for(1)
        await t.service.stop(within=25)
        await t.service.start()
        answer = await t.general.wait_for_bot(after=said)
        assert answer.text == "after the restart"
        await t.service.stop()
        assert len(t.general.from_bot) == 1
        assert len(t.model.requests) == 2


async def test_sigterm_lets_a_turn_that_is_nearly_done_come_to_its_end(tmp_path: Path) -> None:
    async with started(tmp_path) as t:
        t.model.script(Slow(1, Answer("in time")))
        await t.ana.say(t.general, "<@bot> hello")
        await t.model.wait_for(1)
        await t.service.stop(within=15)
        texts = [message.text for message in t.general.from_bot]
        await t.service.start()
        await t.general.wait_for_bot(lambda m: m.text == "in time")
        await t.service.stop()
        assert texts in ([], ["in time"])
        assert [message.text for message in t.general.from_bot] == ["in time"]
        assert len(t.model.requests) == 1


async def test_a_turn_and_a_command_that_hang_share_the_time_before_a_container_is_killed(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        usual = await started_once(t)
        t.model.script(Hang())
        await t.service.start()
        await t.ana.say(t.general, "<@bot> hello")
        await t.model.wait_for(1)
        hanging = t.server.faults.hang("POST", "/webhooks/*")
        asking = asyncio.create_task(t.olga.command("admin status"))
        await until(lambda: hanging.hits > 0)
        ending = asyncio.create_task(end(t))
        answered = await asking
        assert "I'm restarting and couldn't finish this. Part of it may have been done." in answered.text
        assert answered.ephemeral
        with answered_within(t, 1.0):  # it may be gone by now
            late = await t.ana.command("help")
        assert late.failed or late.text == "I'm restarting, so nothing was done. Please try again in a minute."
        assert await ending < HELD_UP + 2 * usual


async def test_a_database_that_somebody_holds_does_not_hold_up_the_end(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        t.service.expected_errors |= {"waiting_for_database", "jobs_not_served"}
        usual = await started_once(t)
        await t.service.start()
        await t.ask(t.ana, t.general, "<@bot> hello")
        path = next(path for path in databases(t) if path.name == "carina.db")
        with closing(sqlite3.connect(path, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            for number in range(6):
                await t.ana.say(t.general, f"<@bot> remember that my key {number} is K{number}")
            await asyncio.sleep(1)
            assert await end(t) < HELD_UP + 2 * usual
        await t.service.start()
        await t.general.wait_for_bot(lambda m: "K5" in m.text)


async def test_a_command_that_is_nearly_done_is_answered_before_it_stops(tmp_path: Path) -> None:
    async with started(tmp_path, scripted=False) as t:
        t.server.faults.delay("POST", "/webhooks/*", 2, times=1)
        asking = asyncio.create_task(t.olga.command("admin status"))
        await until(lambda: bool(t.server.faults.rules[0].hits))
        t.service.terminate()
        assert "I'm restarting" not in (await asking).text
        assert (await asking).text
        assert await t.service.ended(STOP_SECONDS) == 0


async def test_sigterm_while_it_still_connects_ends_it(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        t.server.faults.hang("GET", "*", times=50)
        await t.service.launch()
        await t.service.logged("ready", front_end="terminal", within=START_SECONDS)
        await t.service.stop(within=15)


def databases(t: Live) -> list[Path]:
    return [t.service.home / "global.db", *t.service.home.glob("constellations/*/carina.db")]
