"""What a turn costs beside the model, with a full memory: 100 blocks and 10,000 messages."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from memory import blocks
from memory.blocks import BlockType, NewBlock
from memory.blocks.document import SYSTEM
from memory.people.audience import Audience, Trust
from memory.queue import messages
from memory.store.clock import utc_now
from memory.store.database import Database, Tx
from memory.store.faults import Point, commit_point
from memory.store.ids import AgentId, PersonId, PlaceId, TurnId, snowflakes
from tests.benchmarks.options import Options, in_folder
from tests.benchmarks.report import Report, at_most, percentiles
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
            heard = NAMES[number // 2 % 10], words.sentence(), "bench", f"old{first + number}", GUILD, Trust(2), now
            messages.add(tx, messages.NewMessage(where, person, *heard))
        else:
            turn = TurnId(snowflakes.next())
            text = words.sentence(20)
            said = messages.NewMessage(
                where, person, "Carina", text, "bench", None, GUILD, Trust.AGENT, now, "assistant", agent, turn, 2
            )
            messages.add(tx, said)


@dataclass(frozen=True)
class TurnTimes:
    """Milliseconds from the claimed notification to the outbox row, and from accepted to sent; those of processors."""

    turn: float
    sent: float
    busy: float


@contextmanager
def _timed_writes() -> Iterator[Mapping[str, tuple[float, float]]]:
    """When the newest write of each point began and ended, on the clock of `time.perf_counter`."""
    found, write = dict[str, tuple[float, float]](), Database.write

    def timed(self: Database, point: Point, work: Any, *, durable: bool = False) -> Any:
        begin, done = time.perf_counter(), write(self, point, work, durable=durable)
        done.add_done_callback(lambda _: found.update({point.name: (begin, time.perf_counter())}))
        return done

    with patch.object(Database, "write", timed):
        yield found


async def take_turns(world: World, words: Words, count: int) -> list[TurnTimes]:
    """One after the other; what each of them took."""
    found = []
    with _timed_writes() as writes:
        for number in range(count):
            busy = time.process_time()
            heard = said(0, number % 10, words.sentence(), snowflakes.next())
            accepted = time.perf_counter()
            world.router.receive(heard)
            await world.endpoint.until(world.endpoint.count + 1)
            await world.runtime.delivered(heard.place.id)
            while writes.get("outbox.sent", (0, 0))[1] < accepted:  # a reader may see it before who wrote it is told
                await asyncio.sleep(0)
            seconds = (
                writes["turn.answer"][1] - writes["turn.begin"][0],
                writes["outbox.sent"][1] - accepted,
                time.process_time() - busy,
            )
            found.append(TurnTimes(*(1000 * each for each in seconds)))
            await asyncio.sleep(0.002)
    return found


async def _round(folder: Path, options: Options) -> list[TurnTimes]:
    words = Words(7)
    async with open_world(Making(folder)) as world:

        def fill(tx: Tx) -> None:
            fill_blocks(tx, world.agent.id, BLOCKS, words)
            fill_messages(tx, world.agent.id, MESSAGES, HERE, words)

        await world.runtime.database.write(_FILL, fill)
        await take_turns(world, words, _WARM)
        return await take_turns(world, words, options.scaled(300))


def run(options: Options) -> Report:
    rounds = [in_folder(partial(_round, options=options)) for _ in range(options.rounds)]
    report = Report("Turn without the model: 100 blocks (75 in the prompt), 10,000 messages (2,000 in the place)")
    turns, sents, busy = ([[getattr(turn, of) for turn in each] for each in rounds] for of in ("turn", "sent", "busy"))
    targets = {0.5: at_most(10.0), 0.99: at_most(50.0)}
    report.measures += percentiles("claimed notification to outbox row", "ms", turns, targets)
    report.measures += percentiles("accepted to sent", "ms", sents, {0.5: None, 0.99: None})
    report.measures += percentiles("accepted to sent: processor time", "ms", busy, {0.5: None})
    report.notes.append(f"{len(rounds[0])} turns a round, one after the other; nothing else in the process.")
    return report
