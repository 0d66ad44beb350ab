"""The kill matrix: the program dies at every point where it may, and nothing is lost or said twice.

See README.md. The points are enumerated by the program; what no scenario reaches must stand in `exempt.toml`.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.kill import terminal
from tests.kill.harness import LATE, LIVED_SECONDS, SOON, TOML, Harness
from tests.kill.lives import Home, check_death
from tests.kill.playing import AT_ONCE, Harnesses, Kill
from tests.kill.points import BY_CLOCK, EXEMPT, all_points
from tests.kill.scenarios import ALL, GROUPS
from tests.wire.model import ModelServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

SAMPLE = (
    ("three_chunks", Kill("turn.tool:after", SOON)),
    ("three_chunks", Kill("discord.send:after:2", LATE)),
    ("streamed", Kill("discord.edit:after", SOON)),
)
"""What runs with the fast tests."""

DYING = """
import os, signal, threading
from memory.store.faults import call_point, faults
HERE, ELSEWHERE = call_point("here"), call_point("elsewhere")
kill = os.kill

def kill_after_another_thread(*how):
    other = threading.Thread(target=faults.reach, args=("after", ELSEWHERE))
    other.start()
    other.join()
    kill(*how)

os.kill = kill_after_another_thread
faults.arm("here:before:2")
faults.reach("before", HERE)
"""
AT_THE_FAULT = 'faults.reach("before", HERE)'
BY_ANOTHER = "kill(os.getpid(), signal.SIGKILL)"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def grounds(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Harnesses]:
    async with Harnesses.start(tmp_path_factory.mktemp("kill")) as grounds:
        yield grounds


async def test_every_point_is_covered_or_exempt() -> None:
    covered = frozenset(terminal.POINTS).union(*(scenario.points for scenario in ALL))
    points = all_points()
    assert sorted(points - covered - EXEMPT.keys()) == [], (
        "add a scenario to tests/kill/scenarios.py, or a reason to tests/kill/exempt.toml"
    )
    assert sorted((covered | EXEMPT.keys()) - points) == [], "these points do not exist any more"
    assert sorted(covered & EXEMPT.keys()) == []


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        (AT_THE_FAULT, ""),
        (BY_ANOTHER, "killed at no fault, not at here:before:2"),
        ("raise SystemExit(3)", "ended with 3"),
    ],
)
async def test_a_death_counts_at_its_fault_whatever_another_thread_reaches_meanwhile(
    tmp_path: Path, end: str, problem: str
) -> None:
    home = Home(tmp_path)
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", DYING + end, env=home.variables({}))
    code = await process.wait()
    expected = pytest.raises(AssertionError, match=problem) if problem else contextlib.nullcontext()
    with expected:
        check_death(home, code, "here:before:2", 0)
    assert home.trace == ["here:before", *(["here:before", "elsewhere:after"] if end == AT_THE_FAULT else [])]


async def test_a_folder_that_has_lived_is_made_anew_before_its_talk_counts_as_over(tmp_path: Path) -> None:
    async with Harness.start(tmp_path, TOML) as ground:
        made = []
        for _ in range(3):
            await ground.case("aged", fresh=False)
            made.append(ground.template)
            if len(made) == 2:
                ground.lived_at -= LIVED_SECONDS
        first, again, anew = made
        assert first == again != anew


@pytest.mark.timeout(300)
async def test_a_few_deaths(grounds: Harnesses) -> None:
    named = {scenario.name: scenario for scenario in ALL}
    played = await asyncio.gather(*(grounds.play_all(named[name], [kill]) for name, kill in SAMPLE))
    wrong = [line for lines in played for line in lines]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("group", GROUPS)
async def test_kill_at_each_point(grounds: Harnesses, group: str) -> None:
    played = await asyncio.gather(*map(grounds.kill_at_each, GROUPS[group]))
    wrong = [line for lines in played for line in lines]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_kill_a_chat_at_each_point(tmp_path: Path) -> None:
    room = asyncio.Semaphore(AT_ONCE)
    async with ModelServer.start() as model:
        model.default = terminal.answer
        survey = await terminal.chat(tmp_path, model, "")
        assert not survey.wrong, "\n".join(survey.wrong)
        faults = [fault for fault in dict.fromkeys(survey.trace) if fault.partition(":")[0] not in BY_CLOCK]
        reached = {fault.partition(":")[0] for fault in faults}
        assert reached >= terminal.POINTS
        assert not (reached & EXEMPT.keys()) - BY_CLOCK

        async def die(fault: str) -> list[str]:
            async with room:
                chatted = await terminal.chat(tmp_path, model, fault)
            return [f"\n{fault}:", *chatted.wrong] if chatted.wrong else []

        wrong = [line for lines in await asyncio.gather(*map(die, faults)) for line in lines]
    assert not wrong, "\n".join(wrong)
