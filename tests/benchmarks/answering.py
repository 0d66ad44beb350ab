"""Bluesky: how soon the reply is posted after the program sees a mention, with a model that takes no time.

The clock starts when the look that shows the mention reaches the server, so that waiting for the next look is not in
it, and ends when the server has answered the post. On the small server of the tests always, on the real network where
its packages are installed.
"""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp

from tests.benchmarks.options import Options
from tests.benchmarks.report import Detail, Measure, Report, at_most, milliseconds, percentile
from tests.bluesky_network.people import Human
from tests.bluesky_network.runner import Network, Programs, is_installed, network, programs
from tests.bluesky_network.stage import stage
from tests.service.bluesky import Skies, skies
from tests.wire.model import Answer

_LOOK, _POST = "app.bsky.notification.listNotifications", "com.atproto.repo.createRecord"
_THREAD, _CHECK = "app.bsky.feed.getPostThread", "app.bsky.feed.getPosts"
_WARM, _MENTIONS = 3, 30
_NO_LIMITS = "person_per_hour = 0\nthread_per_hour = 0"
_LOOKS, _PAUSE = "0.5", 0.35
"""Seconds between looks, and between an answer and the next mention."""


@dataclass(frozen=True)
class _Times:
    """One mention, on the server's clock; calls are (method, came, answered). `model`: when it was asked."""

    calls: list[tuple[str, float, float]]
    model: float

    def steps(self) -> dict[str, float]:
        """Seconds by what they were spent on."""
        post = next(each for each in self.calls if each[0] == _POST)
        thread = next(each for each in self.calls if each[0] == _THREAD)
        look = [each for each in self.calls if each[0] == _LOOK and each[2] <= thread[1]][-1]
        check = [each for each in self.calls if each[0] == _CHECK and each[2] <= post[1]][-1]
        return {
            "the look itself (server)": look[2] - look[1],
            "deciding whether it is heard": thread[1] - look[2],
            "reading the thread (server)": thread[2] - thread[1],
            "storing, conversation, prompt until the model is asked": self.model - thread[2],
            "model, end of the turn, delivery": check[1] - self.model,
            "looking at the post again (server)": check[2] - check[1],
            "making the record": post[1] - check[2],
            "posting (server)": post[2] - post[1],
        }


async def _on_small_server(folder: Path, count: int) -> list[dict[str, float]]:
    async with skies(folder) as sky:
        sky.configure(_NO_LIMITS)
        sky.service.environment["BLUESKY_POLL_SECONDS"] = _LOOKS
        sky.model.default = lambda _request: Answer("Hello there.")
        await sky.start()
        found = [await _mention(sky, number) for number in range(_WARM + count)]
        await sky.service.stop()
    return [each.steps() for each in found[_WARM:]]


async def _mention(sky: Skies, number: int) -> _Times:
    await asyncio.sleep(_PAUSE)
    sky.server.spans.clear()
    asked = len(sky.model.requests)
    sky.mention(f"number {number}")
    await sky.server.until(lambda: any(method == _POST for method, _, _ in sky.server.spans))
    return _Times(sorted(sky.server.spans, key=lambda each: each[1]), sky.model.requests[asked].at)


async def _on_network(folder: Path, net: Network, count: int) -> list[dict[str, float]]:
    found = []
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(30)) as http:
        bot, ana = await Human.join(net, http, "carina"), await Human.join(net, http, "ana")
        await net.flush()
        async with stage(folder, net, bot, ana, _NO_LIMITS) as here:
            here.service.environment["BLUESKY_POLL_SECONDS"] = _LOOKS
            here.model.default = lambda _request: Answer("Hello there.")
            await here.start()
            for number in range(_WARM + count):
                await asyncio.sleep(_PAUSE)
                await net.calls()
                await ana.post(f"@{bot.handle} number {number}", mention=bot)
                model = (await here.model.wait_for(number + 1))[number].at + time.time() - time.monotonic()
                calls = await _until_posted(net)
                found.append(_Times(calls, model))
            await here.service.stop()
    return [each.steps() for each in found[_WARM:]]


async def _until_posted(net: Network) -> list[tuple[str, float, float]]:
    """The program's calls, up to its post."""
    calls: list[tuple[str, float, float]] = []
    while not any(method == _POST for method, _, _ in calls):
        await asyncio.sleep(0.2)
        calls += [(method, came, done) for method, agent, came, done in await net.calls() if "atproto" in agent]
    return sorted(calls, key=lambda each: each[1])


async def _network_rounds(found: Programs, options: Options) -> list[list[dict[str, float]]]:
    rounds = []
    with TemporaryDirectory() as servers:
        async with network(found, Path(servers)) as net:
            for _ in range(options.rounds):
                with TemporaryDirectory() as folder:
                    rounds.append(await _on_network(Path(folder), net, options.scaled(_MENTIONS)))
    return rounds


def run(options: Options) -> Report:
    small = []
    for _ in range(options.rounds):
        with TemporaryDirectory() as folder:
            small.append(asyncio.run(_on_small_server(Path(folder), options.scaled(_MENTIONS))))
    report = Report("Bluesky: mention seen to reply posted, without the model, one mention after the other")
    _add(report, "small server of the tests", small)
    there = programs()
    if isinstance(there, str) or not is_installed():
        report.notes.append(f"The real network: {there if isinstance(there, str) else 'run `make test-network` once'}.")
    else:
        _add(report, "real network", asyncio.run(_network_rounds(there, options)))
    return report


def _add(report: Report, where: str, rounds: list[list[dict[str, float]]]) -> None:
    waits = [milliseconds(sum(steps.values()) for steps in found) for found in rounds]
    for share, target in ((0.5, at_most(300.0)), (0.95, None)):
        values = tuple(percentile(each, share) for each in waits)
        report.measures.append(Measure(f"{where}, p{share * 100:.0f}", "ms", values, target))
    own = [[1000 * sum(sec for what, sec in steps.items() if "server" not in what) for steps in f] for f in rounds]
    report.measures.append(Measure(f"{where}, Carina's part, p50", "ms", tuple(percentile(each, 0.5) for each in own)))
    every = [steps for found in rounds for steps in found]
    rows = tuple((name, percentile(milliseconds(each[name] for each in every), 0.5)) for name in every[0])
    report.details.append(Detail(f"Where it goes: {where}, all rounds", ("step", "p50 ms"), rows))
