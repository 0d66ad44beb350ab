"""Playing cases: survey what a scenario reaches, then kill at each point of it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.kill.checks import check, settled
from tests.kill.harness import LATE, Case, Harness, Restart
from tests.kill.lives import Life, check_death, living
from tests.kill.points import BY_CLOCK, EXEMPT
from tests.kill.scenarios import Scenario

AT_ONCE = 3
"""Cases at the same time; on two cores each of them mostly waits for processes to start and pauses to pass."""
EACH = frozenset(["outbox.sending", "outbox.sent", "discord.send", "discord.webhook_send"])
"""Points at which each of several times matters: between the messages of one answer."""
MOST_TIMES = 4
STARTING = frozenset(["discord.channel", "discord.history", "job.built_in", "outbox.release"])
"""Reached while a life begins; killed in the scenarios that are about that and about reading back."""


@dataclass(frozen=True)
class Kill:
    """Where a life ends, and how soon the next one begins."""

    fault: str
    restart: Restart

    def __str__(self) -> str:
        return f"{self.fault} {self.restart.name}"


@dataclass(frozen=True)
class Played:
    """How a case went: what was reached once it had begun (by the last life, where starts count), and what is wrong."""

    reached: tuple[str, ...]
    trace: tuple[str, ...]
    wrong: tuple[str, ...]


class Play:
    """One case: lives that end at their faults, then one that goes on to the end."""

    def __init__(self, scenario: Scenario, case: Case) -> None:
        self._scenario = scenario
        self._case = case
        self._acting: asyncio.Future[object] | None = None
        self._begun = 0
        self._log: list[str] = []

    async def run(self, kill: Kill | None) -> Played:
        scenario, case = self._scenario, self._case
        case.model.default = lambda _: scenario.rule(case.model.requests)
        earlier = [Kill(fault, restart) for fault, restart in scenario.earlier]
        wrong: Sequence[str] = ()
        try:
            for each in (*earlier, *([kill] if kill else [])):
                await self._die(each)
            await self._live_on(kill.restart if kill else earlier[-1].restart if earlier else scenario.restarts[0])
            wrong = check(scenario, case, await settled(case))
        except (AssertionError, TimeoutError) as error:
            wrong = [str(error) or type(error).__name__]
        finally:
            if self._acting is not None:
                self._acting.cancel()
        if wrong:
            wrong = [*wrong, *self._log]
        trace = case.home.trace
        return Played(tuple(trace[self._begun :]), tuple(trace), tuple(wrong))

    async def _die(self, kill: Kill) -> None:
        earlier = len(self._case.home.deaths)
        async with self._life(kill.restart, kill.fault) as life:
            code = await self._watch(life)
        check_death(self._case.home, code, kill.fault, earlier)
        await asyncio.sleep(kill.restart.seconds)
        if self._scenario.from_start:
            self._begun = len(self._case.home.trace)

    async def _watch(self, life: Life) -> int:
        if await life.ready():
            self._act()
        try:
            return await life.end()
        except TimeoutError as error:
            raise AssertionError(f"it was never killed: {error}") from None

    def _act(self) -> None:
        if self._acting is None:
            if not self._scenario.from_start:
                self._begun = len(self._case.home.trace)
            self._acting = asyncio.ensure_future(self._scenario.act(self._case))

    async def _live_on(self, restart: Restart) -> None:
        async with self._life(restart, "") as life:
            assert await life.ready(), "it did not come up again"
            self._act()
            assert self._acting is not None
            async with asyncio.timeout(60):
                await self._acting
            await settled(self._case)
            code = await life.stop()
            assert code == 0, f"ended with {code} after SIGTERM"

    @asynccontextmanager
    async def _life(self, restart: Restart, fault: str) -> AsyncIterator[Life]:
        self._case.server.settings.nonce_window = restart.nonce_window
        variables = {"KILL_TEST_NONCE_SECONDS": str(restart.nonce_seconds), "CARINA_FAULT": fault}
        async with living(self._case.home, "run", "--log-json", **variables) as life:
            try:
                yield life
            finally:
                self._log.append(f"--- a life with {fault or 'no fault'}")
                self._log.extend(life.lines[-12:])


async def play(ground: Harness, scenario: Scenario, kill: Kill | None) -> Played:
    case = await ground.case(scenario.name, fresh=scenario.fresh)
    case.home.environment |= scenario.variables
    if scenario.question is not None:
        case.home.environment["DISCORD_OWNER_ID"] = str(ground.olga.id)
    settings = ground.server.settings
    settings.granted_privileged = {one for one in ("members", "message_content") if one in scenario.privileged}
    try:
        return await Play(scenario, case).run(kill)
    finally:
        settings.granted_privileged = {"members", "message_content"}
        ground.clear(case)


def kills(scenario: Scenario, reached: Iterable[str]) -> list[Kill]:
    """Every point and side that a scenario is killed at, as often as each of its times matters."""
    faults: list[str] = []
    speaking = False
    late: set[str] = set()
    counted: Counter[str] = Counter()
    for one in reached:
        counted[one] += 1
        name = one.partition(":")[0]
        often = name == "inbox.accept" or name in scenario.each or (scenario.whole and name in EACH)
        if counted[one] > (MOST_TIMES if often else 1):
            continue
        if name in scenario.points or (scenario.whole and name not in STARTING | BY_CLOCK):
            fault = one if counted[one] == 1 else f"{one}:{counted[one]}"
            faults.append(fault)
            if speaking:
                late.add(fault)
        speaking = speaking or one == "outbox.sending:after" or "outbox.sending:after" in counted
    return [
        Kill(fault, restart)
        for fault in faults
        for restart in scenario.restarts
        if restart is not LATE or fault in late or scenario.earlier or fault == "outbox.sending:after"
    ]


class Harnesses:
    """A few places for one case at a time, each with a ground for every configuration."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._made: dict[tuple[int, str], Harness] = {}
        self._free: asyncio.Queue[int] = asyncio.Queue()
        for number in range(AT_ONCE):
            self._free.put_nowait(number)

    @classmethod
    @asynccontextmanager
    async def start(cls, folder: Path) -> "AsyncIterator[Harnesses]":
        async with AsyncExitStack() as stack:
            yield cls(folder, stack)

    async def play(self, scenario: Scenario, kill: Kill | None = None) -> Played:
        """One case, as soon as there is room for it."""
        number = await self._free.get()
        try:
            if (number, scenario.toml) not in self._made:
                starting = Harness.start(self._folder / f"{number}-{len(self._made)}", scenario.toml)
                self._made[number, scenario.toml] = await self._stack.enter_async_context(starting)
            return await play(self._made[number, scenario.toml], scenario, kill)
        finally:
            self._free.put_nowait(number)

    async def play_all(self, scenario: Scenario, chosen: Sequence[Kill]) -> list[str]:
        """Kill it at all of these; gives what went wrong."""
        played = await asyncio.gather(*(self.play(scenario, kill) for kill in chosen))
        return [line for kill, one in zip(chosen, played, strict=True) for line in _faults(scenario, one, str(kill))]

    async def kill_at_each(self, scenario: Scenario) -> list[str]:
        """Play it undisturbed, then kill it at each point it reached on its way; gives what went wrong."""
        survey = await self.play(scenario)
        wrong = _faults(scenario, survey, "undisturbed")
        reached = {one.partition(":")[0] for one in survey.reached}
        if missed := scenario.points - reached:
            wrong.append(f"{scenario.name} does not reach {sorted(missed)}")
        return wrong or await self.play_all(scenario, kills(scenario, survey.reached))


def _faults(scenario: Scenario, played: Played, how: str) -> list[str]:
    reached = {one.partition(":")[0] for one in played.trace}
    wrong = list(played.wrong)
    if found := (reached & EXEMPT.keys()) - BY_CLOCK:
        wrong.append(f"reaches {sorted(found)}, which is said to be out of reach")
    return [f"\n{scenario.name}, {how}:", *wrong] if wrong else []
