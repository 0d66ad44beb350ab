"""Lives that end by SIGKILL at random moments, while people talk: every message is answered once, or given up and said.

    python -m tests.kill.rounds --rounds 300

The unmodified program runs against the servers of `tests/wire`. Each person talks in a place of their own, also while
nothing runs. Half of the lives are killed 0.5 to 5 seconds after they were begun, half so long after they were ready.
The last life goes on until nothing waits; then every message is looked for, on Discord and in the store.
"""

import argparse
import asyncio
import itertools
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.kill.checks import Store, settled
from tests.kill.harness import SOON, TOML, Case, Harness
from tests.kill.lives import Life, living
from tests.wire.discord import Channel, Message, Person
from tests.wire.model import Answer, Request, text_of

SHORTEST, LONGEST = 0.5, 5.0
"""Seconds of a life."""
PLACES = 5
UNLIMITED = "[limits]\nperson_per_hour = 0\nguild_per_hour = 0\nall_per_hour = 0\n"
MOST_SAID = 3
"""Messages in a round."""
SETTLE_SECONDS = 600.0
PAUSES = "0 0.5 1 2", "5 10"
"""Between tries, after deaths and after all tries: in seconds, so that the end can be waited for."""
_NUMBERS = itertools.count(1)


@dataclass
class Tally:
    rounds: int
    seconds: float = 0.0
    said: int = 0
    before_ready: int = 0
    answered: int = 0
    given_up: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        head = (
            f"{self.rounds} SIGKILLs in {self.seconds:.0f} s, {self.before_ready} of them before the bot was ready: "
            f"{self.said} messages, {self.answered} answered once, {self.given_up} given up and said, "
            f"{len(self.wrong)} faults"
        )
        return "\n".join([head, *self.wrong])


def answer(_request: Request) -> Answer:
    """Each answer is told apart from every other by its number."""
    return Answer(f"This is answer {next(_NUMBERS)}. " + "It is a long story. " * 10, chunks=6, pace=0.1)


class Rounds:
    """People who talk, and a service that dies."""

    def __init__(self, case: Case, chance: random.Random) -> None:
        self._case, self._chance = case, chance
        ground = case.ground
        self._places: list[tuple[Person, Channel]] = [(ground.ana, case.channel), (ground.ana, case.direct)]
        for number in range(PLACES - 2):
            person = ground.server.person(f"person{number}", global_name=f"Person {number}")
            ground.guild.add(person)
            self._places.append((person, ground.guild.text_channel(f"round-{number}")))
        self._said: dict[str, tuple[Message, Channel]] = {}
        self._wrong: list[str] = []
        self._before_ready = 0

    async def run(self, count: int) -> Tally:
        begun = time.monotonic()
        self._case.model.default = answer
        for number in range(1, count + 1):
            await self._round(number)
            if number % 20 == 0:
                sys.stdout.write(f"{number} rounds, {len(self._said)} messages\n")
        store = await self._live_on()
        tally = self._tally(count, store)
        tally.seconds = time.monotonic() - begun
        return tally

    async def _round(self, number: int) -> None:
        async with living(self._case.home, "run", "--log-json", **_variables()) as life:
            talking = asyncio.create_task(self._talk(self._chance.randint(1, MOST_SAID)))
            if self._chance.random() < 0.5:
                await life.ready()
            await asyncio.sleep(self._chance.uniform(SHORTEST, LONGEST))
            self._before_ready += not life.is_ready
            if life.code is not None:
                self._wrong.append(f"round {number}: it ended by itself with {life.code}")
        await talking
        self._look(number, life)

    async def _talk(self, count: int) -> None:
        """Say some things, at any moment of the round and in any place."""
        for _ in range(count):
            await asyncio.sleep(self._chance.uniform(0, LONGEST / count))
            person, place = self._chance.choice(self._places)
            mark = f"R{len(self._said):05}"
            message = await person.say(place, f"<@bot> {mark} what do you think?")
            self._said[mark] = message, place
            self._case.said.append(message)

    async def _live_on(self) -> Store:
        async with living(self._case.home, "run", "--log-json", **_variables()) as life:
            settling = asyncio.create_task(settled(self._case, SETTLE_SECONDS))
            ending = asyncio.create_task(life.end(SETTLE_SECONDS))
            await asyncio.wait({settling, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not settling.done():
                settling.cancel()
                raise AssertionError("the last life ended by itself:\n" + "\n".join(life.lines[-20:]))
            ending.cancel()
            store = settling.result()
            await life.ready()  # before that, SIGTERM ends any program; nothing may be left to settle
            if (code := await life.stop()) != 0:
                self._wrong.append(f"the last life ended with {code} after SIGTERM")
        self._look(0, life)
        return store

    def _look(self, number: int, life: Life) -> None:
        """Whatever was logged with a traceback is a fault."""
        for line in life.lines:
            if "Traceback" in line or '"exception"' in line:
                event = json.loads(line) if line.startswith("{") else {"event": line}
                self._wrong.append(f"round {number}: {event.get('event')}: {str(event.get('exception'))[-600:]}")

    def _tally(self, count: int, store: Store) -> Tally:
        tally = Tally(count, said=len(self._said), before_ready=self._before_ready, wrong=self._wrong)
        rows = {row["external_id"]: row for row in store.all("SELECT * FROM inbox WHERE kind = 'message'")}
        sent = store.all("SELECT * FROM outbox WHERE status = 'sent' AND kind = 'text' AND external_id <> ''")
        answers = {row["turn_id"]: row["external_id"] for row in sent if row["turn_id"] is not None}
        told = {row["key"].split("/")[1]: row["external_id"] for row in sent if row["key"].startswith("given_up/")}
        asked = "".join(text_of(message) for request in self._case.model.requests for message in request.messages)
        for mark, (message, place) in self._said.items():
            row, standing = rows[str(message.id)], {str(post.id) for post in place.from_bot}
            gave_up = row["status"] == "dead"
            replied = (told.get(str(row["id"])) if gave_up else answers.get(row["turn_id"])) in standing
            tally.given_up += gave_up and replied
            tally.answered += not gave_up and replied
            if not replied or row["status"] not in ("done", "dead"):
                tally.wrong.append(f"{mark}: {row['status']}, and nothing was said to it: {row['last_error']}")
            if not gave_up and mark not in asked:
                tally.wrong.append(f"{mark}: the model was never shown it")
        tally.wrong += self._beside({row["external_id"] for row in sent})
        return tally

    def _beside(self, known: set[str]) -> list[str]:
        """What stands on Discord and should not: twice, cut, or unknown to the store."""
        posts = [post for _, place in self._places for post in place.from_bot if post.id > self._case.since]
        texts = Counter(post.text for post in posts if post.text.startswith("This is answer"))
        return [
            *(f"the store does not know it: {post.text[:80]}" for post in posts if str(post.id) not in known),
            *(f"said {times} times: {text[:80]}" for text, times in texts.items() if times > 1),
            *(f"cut: {text[:80]}" for text in texts if not text.endswith("It is a long story.")),
        ]


def _variables() -> dict[str, str]:
    pauses, healthy = PAUSES
    return {
        "KILL_TEST_NONCE_SECONDS": str(SOON.nonce_seconds),
        "KILL_TEST_PAUSES": pauses,
        "KILL_TEST_HEALTHY": healthy,
    }


async def play(folder: Path, count: int, seed: int) -> Tally:
    """So many rounds; the same seed has the same plan, though not the same moments."""
    async with Harness.start(folder, f"{UNLIMITED}{TOML}") as ground:
        case = await ground.case("rounds", fresh=False)
        case.server.settings.nonce_window = SOON.nonce_window
        return await Rounds(case, random.Random(seed)).run(count)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, and say how it went; 1 for faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.kill.rounds", description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        tally = asyncio.run(play(Path(folder), given.rounds, given.seed))
    sys.stdout.write(f"{tally}\n")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
