"""A thousand constellations on disk, fifty of them in use: memory and time, in a process of its own."""

import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.config import Config, load_config
from bot.runtime.constellation import ConstellationRuntime
from bot.runtime.group_routing import GroupRouting
from bot.runtime.open_constellations import OpenConstellations
from bot.runtime.router import Router
from memory.queue.notifications import Notification
from memory.store.clock import utc_now
from memory.store.constellations import Constellations
from memory.store.database import Tx
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId, GroupId, PersonId
from memory.store.records import replace
from tests.benchmarks.options import Options
from tests.benchmarks.process import measured_apart, resident_mib, threads
from tests.benchmarks.report import Measure, Report, at_most, percentile
from tests.benchmarks.turns import fill_messages
from tests.benchmarks.words import Words
from tests.benchmarks.world import EchoModel, Sink, running, said, shared_parts, turn_deps_with
from tests.bot.seeding import seeded

_FILL = commit_point("bench.fill_constellations")

CONSTELLATIONS, ACTIVE = 1_000, 50
_MESSAGES = 500  # stored in each active one before it is measured
_SAID = 20  # notifications to each active one while it is measured


def _named(config: Config, number: int) -> Config:
    constellation = config.constellation.model_copy(update={"name": f"number {number}"})
    return config.model_copy(update={"constellation": constellation})


async def measure(folder: Path, count: int, active: int) -> dict[str, float]:
    config = load_config({"CARINA_HOME": str(folder)}, folder)
    found = {"MiB at the beginning": resident_mib()["VmRSS"]}
    begin = time.perf_counter()
    ids: list[ConstellationId] = []
    groups: dict[ConstellationId, GroupId] = {}
    async with Constellations.open(folder, utc_now) as constellations:
        for number in range(count):
            owner = PersonId("bench:owner")
            if number < active:
                identifier, answering = await seeded(_named(config, number), constellations)
                groups[identifier] = answering.default
                async with constellations.use(identifier) as database:
                    await database.write(_FILL, _talk)
            else:
                identifier = (await constellations.ensure(f"number {number}", owner)).id
            ids.append(identifier)
    found["ms to make one"] = 1000 * (time.perf_counter() - begin) / count
    begin = time.perf_counter()
    async with Constellations.open(folder, utc_now) as constellations:
        found["ms to open the registry of all"] = 1000 * (time.perf_counter() - begin)
        found |= await _serve(constellations, ids, groups)
    return found


def _talk(tx: Tx) -> None:
    row = tx.one("SELECT id FROM agents")
    if row is not None:
        fill_messages(tx, row["id"], _MESSAGES, _MESSAGES // 2, Words(5))


async def _serve(
    constellations: Constellations, ids: list[ConstellationId], groups: dict[ConstellationId, GroupId]
) -> dict[str, float]:
    endpoint, found = Sink(), dict[str, float]()
    turn_deps = turn_deps_with(EchoModel(), endpoint)

    @asynccontextmanager
    async def make(identifier: ConstellationId) -> AsyncIterator[ConstellationRuntime]:
        async with constellations.use(identifier) as file:
            routing = GroupRouting({}, groups.get(identifier, GroupId("")))
            yield ConstellationRuntime(constellations.of(identifier), file, routing, turn_deps, parts)

    parts = shared_parts(constellations)
    router = Router(constellations, OpenConstellations(make, parts.supervisor), ids[0], parts)
    opened = []
    for each in groups:
        begin = time.perf_counter()
        async with constellations.use(each):
            opened.append(1000 * (time.perf_counter() - begin))
    found |= {"ms to open one, p50": percentile(opened, 0.5), "ms to open one, p99": percentile(opened, 0.99)}
    begin = time.perf_counter()
    async with running(router):
        found["s for the router to begin"] = time.perf_counter() - begin
        found["MiB after that"] = resident_mib()["VmRSS"]
        for number, each in enumerate(groups):
            await constellations.bind(f"bench:g{number}", each, "configuration")
        begin = time.perf_counter()
        for serial in range(_SAID * len(groups)):
            router.receive(_heard(serial % len(groups), serial))
        await endpoint.until(_SAID * len(groups))
        found["turns a second in all"] = endpoint.count / (time.perf_counter() - begin)
        memory = resident_mib()
        found |= {"MiB with all active": memory["VmRSS"], "MiB of it anonymous": memory["RssAnon"]}
        found["threads"] = float(threads())
        found["files"] = float(sum(1 for _ in Path("/proc/self/fd").iterdir()))
    found["MiB at most"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def _heard(number: int, serial: int) -> Notification:
    notification = said(number, serial, f"number {serial}", serial)
    place = type(notification.place)(
        notification.place.id, notification.place.kind, notification.place.audience, bindings=(f"bench:g{number}",)
    )
    return replace(notification, place=place)


def run(options: Options) -> Report:
    count, active = options.scaled(CONSTELLATIONS), options.scaled(ACTIVE)
    loaded = "import bot.interfaces.cli.long_running_commands, bot.interfaces.discord.frontend"
    rounds = measured_apart(__name__, options.rounds, count, active, first=loaded)
    report = Report(f"{count:,} constellations on disk, {active} active (each with {_MESSAGES} messages and turns)")
    for what in rounds[0]:
        unit, _, words = what.partition(" ") if what.split(" ")[0] in ("MiB", "ms", "s") else ("", "", what)
        target = at_most(250) if what == "MiB with all active" else None
        report.measures.append(Measure(words, unit, tuple(each[what] for each in rounds), target))
    report.notes.append("Memory is VmRSS of a process with the whole program, discord.py too; no front end connected.")
    return report
