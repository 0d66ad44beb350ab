"""How long the service takes to make each page of the dashboard, over its socket, at several sizes of memory."""

import asyncio
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.services.demo import CONFIGURATION, write_demo
from memory import agents, usage
from memory.knowledge import archival
from memory.knowledge.archival import NewEntry, Origin
from memory.people.audience import Audience, Scope, Trust
from memory.queue import inbox, messages, outbox, turns
from memory.queue.inbox import Arrival, Heard
from memory.queue.outbox import NewRow
from memory.queue.payloads import Brought
from memory.queue.turns import Turn
from memory.store.clock import utc_now
from memory.store.database import Tx
from memory.store.faults import commit_point
from memory.store.ids import InboxId, MessageId, PersonId, PlaceId
from memory.usage import Spent
from tests.benchmarks.options import Options
from tests.benchmarks.report import Measure, Report, at_most, percentile
from tests.benchmarks.words import Words
from tests.web.site import Site, site

SIZES = (1_000, 100_000)
_FILL = commit_point("bench.fill_pages")
_BATCH, _SPAN = 2_000, timedelta(days=180)
_PAGES = (
    "/", "/chat/Carina", "/memory", "/memory/block?label=human", "/messages", "/search?text=garden", "/approvals",
    "/agents", "/people", "/schedule", "/nights", "/context", "/costs", "/graph", "/settings", "/logs", "/commands",
)  # fmt: skip


def _fill(tx: Tx, numbers: range, size: int, now: datetime, words: Words) -> None:
    """Messages with their answers, as many people in ten channels cause them, and an entry for every tenth."""
    agent = next(each for each in agents.agents(tx) if each.name == "Carina")
    group = next(each for each in agents.groups(tx) if each.name == "Home")
    for number in numbers:
        at = now - _SPAN * ((size - number) / size)
        audience = Audience(f"guild:bench:{number % 2}")
        place = Heard(PlaceId(f"discord:bench{number % 10}"), "guild", f"#room{number % 10}", audience, ())
        person, scope = PersonId(f"bench:p{number % 50}"), Scope(audience)
        arrival = Arrival(
            "discord", f"bench-{number}", "message", place, person, f"Person {number % 50}", Trust.APPROVED,
            f"bench-{number}", words.sentence(), at, Brought(), group.id,
        )  # fmt: skip
        taken = inbox.accept(tx, arrival, at)
        row = None if taken is None else inbox.get(tx, InboxId(taken.id))
        if row is None:
            continue
        turn = Turn(turns.new_turn_id(), agent.id, group.id, place.id, person, scope, Trust.APPROVED, (), 0, at)
        turns.begin(tx, turn)
        inbox.claim(tx, [row], turn.id)
        messages.join_batch(tx, [row.message or MessageId(0)], turn.id)
        usage.record(tx, turn, Spent("openai:gpt-5-mini", 3_000, 200, 2_000, 0, 0.002), at)
        text = words.sentence(20)
        said = messages.add_said(
            tx,
            messages.Said(
                turn.id, 0, place.id, agent.id, person, agent.name, "assistant", text, "discord", audience,
                Trust.AGENT, at,
            ),
        )  # fmt: skip
        new = NewRow(
            f"turn/{turn.id}/0", place.id, "discord", text, audience, turn=turn.id, message=said, person=person,
            agent=agent.id,
        )  # fmt: skip
        sending = outbox.add(tx, new, at)
        inbox.finish(tx, turn.id, at)
        turns.end(tx, turn.id, "done", at)
        if sending is not None:
            outbox.mark_sending(tx, sending, at)
            outbox.mark_sent(tx, sending, f"bench-answer-{sending}", at)
        if number % 10 == 0:
            archival.insert(tx, agent.id, NewEntry(words.sentence(), Origin(scope, Trust.APPROVED, person)), at)


def _batches(size: int) -> Iterator[range]:
    for first in range(0, size, _BATCH):
        yield range(first, min(size, first + _BATCH))


async def _times(here: Site, path: str, count: int) -> list[float]:
    found = []
    for _ in range(count):
        begin = time.perf_counter()
        answer = await here.get(path)
        found.append(1000 * (time.perf_counter() - begin))
        if answer.status_code != 200:
            raise RuntimeError(f"{path} answered {answer.status_code}")
    return found[1:]  # the first one loads what the page needs


async def _round(folder: Path, size: int, count: int) -> dict[str, list[float]]:
    async with site(folder, CONFIGURATION) as here:
        database, now, words = here.app.services.database, utc_now(), Words(11)
        await database.write(_FILL, lambda tx: write_demo(tx, now))
        for numbers in _batches(size // 2):
            fill = partial(_fill, numbers=numbers, size=size // 2, now=now, words=words)
            await database.write(_FILL, fill)
        await here.sign_in()
        return {path: await _times(here, path, count + 1) for path in ("/healthz", *_PAGES)}


def run(options: Options) -> Report:
    report = Report("Pages of the dashboard, from request to the last byte; /healthz is the floor")
    for size in map(options.scaled, SIZES):
        with TemporaryDirectory() as folder:
            found = asyncio.run(_round(Path(folder), size, options.scaled(20)))
        for path, times in found.items():
            for share, limit in ((0.5, 15.0), (0.95, 60.0)):
                what = f"{size:,} messages, {path}, p{share * 100:.0f}"
                report.measures.append(Measure(what, "ms", (percentile(times, share),), at_most(limit)))
    return report
