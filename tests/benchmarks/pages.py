"""How long the service needs for each page of the dashboard with 100,000 messages, and what viewers cost.

A page is asked of the application itself, so that neither sockets nor a client are in its time.
"""

import asyncio
import functools
import gc
import gzip
import random
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp

from bot.interfaces.web.application import application
from bot.services.system import demo
from memory.agents import agent_named
from memory.knowledge import entry_changes
from memory.knowledge.entries import NewEntry, Origin
from memory.people.audience import OWNER, Scope, Trust
from memory.store.clock import utc_now
from memory.store.database import Tx
from memory.store.faults import commit_point
from sources.terminal import PERSON
from tests.benchmarks.options import Options, in_folder
from tests.benchmarks.report import Detail, Measure, Report, at_most, percentile
from tests.benchmarks.words import Words
from tests.web.screenshots import BLOCK
from tests.web.site import Site, site
from tests.web.test_faults import viewer

_FILL = commit_point("bench.fill_pages")
MESSAGES, ENTRIES, DAYS = 100_000, 10_000, 90
_BATCH = 500
_PAGES = (
    "/", "/chat/Carina", "/approvals", "/search?text={words}", "/memory", "/memory?show=entries", "/memory?show=facts",
    "/memory?show=journal", "/memory?show=tools", BLOCK, "/graph", "/nights", "/context", "/messages",
    "/messages/{row}", "/schedule", "/costs", "/agents", "/agents/Carina", "/groups/Workshop", "/people", "/logs",
    "/settings", "/commands", "/commands/remind.me",
)  # fmt: skip
_VIEWERS, _SECONDS = 100, 10.0


async def _fill(s: Site, options: Options) -> None:
    """A month of the demo, and as much talk and as many entries of other words beside it."""
    words, now, database = Words(11), utc_now(), s.app.services.database
    turns, entries = options.scaled(MESSAGES) // 2, options.scaled(ENTRIES)
    await database.write(_FILL, lambda tx: demo.write_demo(tx, now))

    def talk(tx: Tx, first: int) -> None:
        writing = demo._DemoWriter(tx, now, random.Random(first))
        for number in range(first, min(first + _BATCH, turns)):
            ago = 1 + DAYS * (turns - number) // turns
            told = demo._Said(
                who=("Robin", "Mika", "Jonas")[number % 3],
                ago=ago,
                at=f"{number // 60 % 24:02}:{number % 60:02}",
                text=words.sentence(),
                answer=words.sentence(20),
                tools=["recall"] if number % 4 == 0 else [],
                where="#general" if number % 3 else "",
            )
            writing.say(10_000 + number, told)

    def store(tx: Tx, first: int) -> None:
        agent = agent_named(tx, "Carina")
        assert agent is not None
        origin = Origin(Scope(OWNER), Trust.OWNER, PERSON)
        for _ in range(first, min(first + _BATCH, entries)):
            entry_changes.insert(tx, agent.id, NewEntry(words.sentence(), origin), now)

    for first in range(0, turns, _BATCH):
        await database.write(_FILL, functools.partial(talk, first=first))
    for first in range(0, entries, _BATCH):
        await database.write(_FILL, functools.partial(store, first=first))


@dataclass
class _Times:
    """Milliseconds from the request to the last byte, and those of processors; bytes of the page, compressed."""

    whole: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    size: int = 0


async def _page(app: ASGIApp, cookie: str, address: str, times: _Times) -> None:
    path, _mark, query = address.partition("?")
    scope: dict[str, Any] = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(b"host", b"127.0.0.1"), (b"cookie", cookie.encode())], "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }  # fmt: skip
    body, status = bytearray(), 0

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)
        body.extend(message.get("body", b""))

    begin, busy = time.perf_counter(), time.process_time()
    await app(scope, receive, send)
    times.whole.append(1000 * (time.perf_counter() - begin))
    times.busy.append(1000 * (time.process_time() - busy))
    times.size = max(times.size, len(gzip.compress(body)))
    if status != 200:
        raise RuntimeError(f"{address}: {status} {body.decode()[-300:]}")


async def _viewers(s: Site, seconds: float) -> float:
    """The share of a core that viewers take who are told every change, with their own end of the connection."""
    async with AsyncExitStack() as stack:
        idle = await _busy(seconds)
        readers = [await stack.enter_async_context(viewer(s, "/live")) for _ in range(_VIEWERS)]
        async with asyncio.TaskGroup() as tasks:
            reading = [tasks.create_task(each.read()) for each in readers]
            await asyncio.sleep(3)
            busy = await _busy(seconds)
            for each in reading:
                each.cancel()
        return 100 * (busy - idle)


async def _busy(seconds: float) -> float:
    begin, used = time.perf_counter(), time.process_time()
    await asyncio.sleep(seconds)
    return (time.process_time() - used) / (time.perf_counter() - begin)


async def _measure(folder: Path, options: Options) -> tuple[list[dict[str, _Times]], list[float]]:
    """Each round's times of each page, and what viewers took."""
    async with site(folder, demo.CONFIGURATION) as s:
        await _fill(s, options)
        await s.sign_in()
        gc.collect()
        gc.freeze()  # as `carina run` does
        app = application(s.app.web)
        cookie = "; ".join(f"{name}={value}" for name, value in s.browser.cookies.items())
        words, row = Words(29), (await s.call("inbox.list", limit=30))[7]["id"]
        rounds = []
        for _ in range(options.rounds):
            times = {each: _Times() for each in _PAGES}
            for each in _PAGES:
                await _page(app, cookie, each.format(words="x", row=row), _Times())  # the first loads its template
                for _time in range(options.scaled(50)):
                    address = each.format(words="+".join(words.question().split()), row=row)
                    await _page(app, cookie, address, times[each])
            rounds.append(times)
        return rounds, [await _viewers(s, _SECONDS) for _ in range(options.rounds)]


def run(options: Options) -> Report:
    rounds, viewers = in_folder(functools.partial(_measure, options=options))
    report = Report(f"Pages: {options.scaled(MESSAGES):,} messages, {options.scaled(ENTRIES):,} entries")
    for share, limit in ((0.5, 15.0), (0.95, 60.0)):
        for kind in ("whole", "busy"):
            slowest = tuple(max(percentile(getattr(each, kind), share) for each in times.values()) for times in rounds)
            what = "the slowest page" if kind == "whole" else "the same, processor time"
            report.measures.append(Measure(f"{what}, p{share * 100:.0f}", "ms", slowest, at_most(limit)))
    largest = tuple(max(each.size for each in times.values()) / 1000 for times in rounds)
    report.measures.append(Measure("the largest page, compressed, without scripts", "kB", largest, at_most(120)))
    told = f"{_VIEWERS} viewers of what changes, with their ends"
    report.measures.append(Measure(told, "% of a core", tuple(viewers), at_most(5)))
    best = {name: min((each[name] for each in rounds), key=lambda one: percentile(one.busy, 0.5)) for name in _PAGES}
    rows = tuple(
        (name, percentile(one.whole, 0.5), percentile(one.whole, 0.95), percentile(one.busy, 0.5), one.size / 1000)
        for name, one in best.items()
    )
    columns = ("page", "p50 ms", "p95 ms", "processor p50 ms", "kB")
    report.details.append(Detail("Best round", columns, rows))
    return report
