"""What a turn costs beside the model, with a full memory: 100 blocks and 10,000 messages."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.agents import turn as bot_turn
from bot.agents.context import prompt
from bot.agents.tools.base import Toolset
from bot.runtime import conversation, turn_start
from memory import blocks
from memory.blocks import BlockType, NewBlock
from memory.blocks.document import SYSTEM
from memory.people.audience import Audience, Trust
from memory.queue import messages
from memory.store.clock import utc_now
from memory.store.database import Tx
from memory.store.faults import commit_point
from memory.store.ids import AgentId, PersonId, PlaceId, TurnId, snowflakes
from tests.benchmarks.options import Options
from tests.benchmarks.report import Detail, Measure, Report, at_most, percentile
from tests.benchmarks.spans import Spans, timed, timed_writes
from tests.benchmarks.words import Words
from tests.benchmarks.world import GUILD, NAMES, Making, World, open_world, place, said

_FILL = commit_point("bench.fill_turns")

BLOCKS = 100
MESSAGES = 10_000
HERE = 2_000
"""How many of the messages were said in the place of the turns; the others in nine other places."""
_WARM = 20


def fill_blocks(tx: Tx, agent: AgentId, count: int, words: Words, audience: Audience = GUILD) -> None:
    """Half core, half working, every second working one pinned; three quarters are in every prompt."""
    now = utc_now()
    for number in range(count):
        core = number % 2 == 0
        new = NewBlock(
            owner=agent,
            label=f"{'topic' if core else 'work'}_{number}",
            description=f"What you know about matter {number}.",
            audience=audience,
            trust=Trust.AGENT,
            type=BlockType.CORE if core else BlockType.WORKING,
            pinned=not core and number % 4 == 1,
            content=words.text(400),
        )
        blocks.create_block(tx, new, SYSTEM, now)


def fill_messages(
    tx: Tx, agent: AgentId, count: int, here: int, words: Words, first: int = 0, here_is: PlaceId | None = None
) -> None:
    """Question and answer in turn: the newest `here` of them in the first place (or `here_is`), the others around."""
    now = utc_now()
    for number in range(count):
        where = place(1 + number // 2 % 9).id if number < count - here else here_is or place(0).id
        person = PersonId(f"bench:p{number // 2 % 10}")
        if number % 2 == 0:
            heard = messages.NewMessage(
                where,
                person,
                NAMES[number // 2 % 10],
                words.sentence(),
                "bench",
                f"old{first + number}",
                GUILD,
                Trust(2),
                now,
            )
            messages.add_heard(tx, heard)
        else:
            turn = TurnId(snowflakes.next())
            text = words.sentence(20)
            row = messages.TurnRow(
                turn, 2, where, agent, person, "Carina", "assistant", text, "bench", GUILD, Trust.AGENT, now
            )
            messages.add_said(tx, row)


@contextmanager
def _watched(spans: Spans) -> Iterator[None]:
    places = [
        (conversation, "begin_turn", "begin"),
        (turn_start, "ensure_blocks", "begin:ensure"),
        (prompt, "add_inputs", "gather"),
        (prompt, "_history", "gather:history"),
        (bot_turn, "arrivals", "arrivals"),
        (Toolset, "specs", "specs"),
        (blocks, "visible_blocks", "gather:blocks"),
        (prompt, "render", "render"),
    ]
    with timed_writes(spans), timed(spans, places):
        yield


async def take_turns(world: World, spans: Spans, words: Words, count: int) -> None:
    for number in range(count):
        busy = time.process_time()
        heard = said(0, number % 10, words.sentence(), snowflakes.next())
        accepted = time.perf_counter()
        world.router.receive(heard)
        await world.endpoint.until(world.endpoint.count + 1)
        await world.runtime.delivered(heard.place.id)
        while spans.ended.get("outbox.sent", 0.0) < accepted:  # a reader may see it before who wrote it is told
            await asyncio.sleep(0)
        spans.add("whole", accepted)
        sample = spans.close()
        sample["turn"] = spans.ended["turn.answer"] - spans.began["turn.begin"]
        sample["sent"] = spans.ended["outbox.sent"] - accepted
        sample["cpu"] = time.process_time() - busy
        await asyncio.sleep(0.002)


async def _round(folder: Path, options: Options) -> tuple[Spans, Spans]:
    """Turns with nothing but their ends timed, then as many with every part timed."""
    words, plain, spans = Words(7), Spans(), Spans()
    async with open_world(Making(folder)) as world:

        def fill(tx: Tx) -> None:
            fill_blocks(tx, world.agent.id, BLOCKS, words)
            fill_messages(tx, world.agent.id, MESSAGES, HERE, words)

        await world.runtime.database.write(_FILL, fill)
        with timed_writes(plain):
            await take_turns(world, plain, words, _WARM)
            plain.forget()
            await take_turns(world, plain, words, options.scaled(300))
        with _watched(spans):
            await take_turns(world, spans, words, options.scaled(300))
    return plain, spans


def run(options: Options) -> Report:
    rounds = []
    for _ in range(options.rounds):
        with TemporaryDirectory() as folder:
            rounds.append(asyncio.run(_round(Path(folder), options)))
    report = Report("Turn without the model: 100 blocks (75 in the prompt), 10,000 messages (2,000 in the place)")
    for what, name in (("claimed notification to outbox row", "turn"), ("accepted to sent", "sent")):
        for share, limit in ((0.5, 10.0), (0.99, 50.0)):
            found = tuple(percentile(plain.of(name), share) for plain, _ in rounds)
            target = at_most(limit) if name == "turn" else None
            report.measures.append(Measure(f"{what}, p{share * 100:.0f}", "ms", found, target))
    busy = tuple(percentile(plain.of("cpu"), 0.5) for plain, _ in rounds)
    report.measures.append(Measure("accepted to sent: processor time, p50", "ms", busy))
    best = min((spans for _, spans in rounds), key=lambda spans: percentile(spans.of("turn"), 0.5))
    report.details.append(Detail("Where it goes (best round)", ("step", "p50 ms", "p99 ms"), _breakdown(best)))
    report.notes.append(f"{len(best.samples)} turns a round, one after the other; nothing else in the process.")
    return report


def _breakdown(spans: Spans) -> tuple[tuple[str, float, float], ...]:
    return (
        spans.row("accept: durable write of the notification", "inbox.accept"),
        spans.row("begin: whole write", "turn.begin"),
        spans.row("  · ensure blocks", "begin:ensure"),
        spans.rest("  · rest of the unit", "begin", "begin:ensure", "gather"),
        spans.rest("  · BEGIN and COMMIT", "turn.begin:commit", "turn.begin:units"),
        spans.rest("  · to the thread and back", "turn.begin", "turn.begin:commit"),
        spans.row("  · gather: all looks", "gather"),
        spans.row("  · visible blocks", "gather:blocks"),
        spans.row("  · history", "gather:history"),
        spans.row("tool schemas", "specs"),
        spans.row("render", "render"),
        spans.row("answer and end: whole write (with its own look)", "turn.answer"),
        spans.rest("  · BEGIN and COMMIT", "turn.answer:commit", "turn.answer:units"),
        spans.row("sending: durable write", "outbox.sending"),
        spans.row("sent: write", "outbox.sent"),
    )
