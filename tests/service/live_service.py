"""A live service for a test: a Discord with a guild and people, a scripted model, and the program, not yet started."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.service.program import Service
from tests.wire import PATIENCE
from tests.wire.conftest import find_openapi
from tests.wire.discord import Channel, DiscordServer, Guild, GuildChannel, Message, Person
from tests.wire.discord.calls import Request as Sent
from tests.wire.model import Answer, ModelServer, Request

SCRIPTED = "openai:scripted"
NO_MERGING = "merge_seconds = 0"
ANSWER_SECONDS = 10.0
"""In which commands and buttons have to be answered: Discord gives three, but these processes share a machine. That
commands keep Discord's three is a test of its own in `test_doors`."""
DISCORDS_SECONDS = 3.0


@dataclass
class Live:
    """Ana is a member of the guild, Olga owns the bot and is a member too."""

    server: DiscordServer
    model: ModelServer
    service: Service
    guild: Guild
    general: GuildChannel
    ana: Person
    olga: Person

    def configure(self, discord: str = NO_MERGING, toml: str = "") -> None:
        """Write the file: `discord` is what the table [discord] says, `toml` what stands before it.

        Members of the guild may write directly, unless it says otherwise.
        """
        direct = "" if "dm =" in discord else 'dm = "shared"\n'
        if "[schedule]" not in toml:
            # By the clock they would ask the scripted model; and the tests say what time it is in UTC.
            toml += '\n[schedule]\nsummaries = false\nzone = "UTC"\n'
        self.service.file.write_text(f"{toml}\n[discord]\n{direct}{discord}\n", "utf-8")

    def member(self, name: str, *, nick: str | None = None) -> Person:
        """Somebody new in the guild."""
        person = self.server.person(name.lower(), global_name=name)
        self.guild.add(person, nick=nick)
        return person

    async def ask(
        self, person: Person, channel: Channel, text: str, *, within: float = PATIENCE, **more: Any
    ) -> Message:
        """Say something, and wait for what the bot says next there."""
        said = await person.say(channel, text, **more)
        return await channel.wait_for_bot(after=said, timeout=within)

    async def talk(self, person: Person, channel: Channel, text: str, answer: str, **more: Any) -> None:
        """Say something to which the model has this answer, and see it said."""
        self.model.script(Answer(answer))
        assert (await self.ask(person, channel, text, **more)).text == answer

    async def asked(self, fits: Callable[[Request], bool], within: float = PATIENCE) -> Request:
        """The first request to the model that fits, already there or still to come."""
        count = 0
        while True:
            requests = await self.model.wait_for(count + 1, within)
            if fits(requests[count]):
                return requests[count]
            count += 1


@contextlib.asynccontextmanager
async def live_service(folder: Path, *, scripted: bool = False) -> AsyncIterator[Live]:
    """Both servers and the program with default settings, bursts apart; with the offline model, or the scripted one.

    It is not started yet; if it runs at the end of the block, it must stop in order.
    """
    async with DiscordServer.start(find_openapi()) as server, ModelServer.start() as model:
        server.settings.granted_privileged = {"members", "message_content"}
        server.settings.answer_seconds = ANSWER_SECONDS
        ana, olga = server.person("ana", global_name="Ana"), server.person("olga", global_name="Olga")
        environment = {
            **server.environment(),
            "DISCORD_TOKEN": server.token,
            "DISCORD_OWNER_ID": str(olga.id),
            **({**model.environment(), "CARINA_MODEL": SCRIPTED} if scripted else {}),
        }
        service = Service(folder, environment)
        guild = server.guild("Home")
        general = guild.text_channel("general", topic="all things")
        guild.add(ana, nick="Annie")
        guild.add(olga, roles=[guild.role("staff", "manage_guild")])  # so that she is shown what is hers
        made = Live(server, model, service, guild, general, ana, olga)
        made.configure()
        try:
            yield made
            if service.is_running:
                await service.stop()
        finally:
            await service.close()
        assert service.unexpected() == []
        # A Bluesky client of another test may ask at a port that its own server gave back.
        unserved = [each for each in server.unserved if "/xrpc/" not in each]
        assert not (found := server.violations + unserved + server.own_faults), "\n".join(found)
        assert [request for request in server.requests if may_wake_somebody(request)] == []


def first_of(count: int, *cases: Any) -> list[Any]:
    """So many of these cases each time, and the others, which show the same at other points, with `make slow`."""
    given = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*each, marks=() if n < count else pytest.mark.slow) for n, each in enumerate(given)]


async def one_day() -> None:
    """Wait for midnight (UTC) where the day would end within a minute: what counts by days is counted anew then."""
    await until(lambda: (now := datetime.now(UTC)).date() == (now + timedelta(minutes=1)).date(), 90, "midnight")


def files_holding(folder: Path, *words: str) -> list[str]:
    """The names of the files in whose bytes any of these words stands, whatever its case, in order."""
    found = []
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):  # some go while they are looked through
            data = path.read_bytes().lower() if path.is_file() else b""
            if any(word.encode().lower() in data for word in words):
                found.append(path.name)
    return sorted(found)


@contextlib.contextmanager
def answered_within(t: Live, seconds: float) -> Iterator[None]:
    """Let what is pressed or commanded in this block fail after that time."""
    t.server.settings.answer_seconds = seconds
    yield
    t.server.settings.answer_seconds = ANSWER_SECONDS


async def until(find: Callable[[], object], within: float = PATIENCE, what: str = "a condition") -> None:
    """Wait for what no server tells of, looking often."""
    try:
        async with asyncio.timeout(within):
            while not find():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"after {within} s still waiting for {what}") from None


def may_wake_somebody(request: Sent) -> bool:
    """Whether a request that carries text leaves it to Discord who is woken by it."""
    if not isinstance(request.body, dict):
        return False
    body = request.body.get("data", request.body) if "/callback" in request.path else request.body
    if not isinstance(body, dict) or not body.get("content"):
        return False
    allowed = body.get("allowed_mentions")
    return allowed is None or "parse" not in allowed or bool(allowed["parse"]) or bool(allowed.get("roles"))
