"""Where cases are played: a Discord and a model server of their own, and data folders that have lived before.

A case begins on a copy of a folder in which the bot has already answered once, as every bot but a brand-new one
has; so there is something to read back from.
"""

import itertools
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

from tests.kill.lives import Home, living
from tests.wire.discord import Channel, DiscordServer, GuildChannel, Message
from tests.wire.model import Answer, ModelServer

TOML = """
[discord]
default_mode = "open"
merge_seconds = 0
dm = "shared"
"""
PREVIEW_SECONDS = "0.25"
GREETING = "good morning to you too"
NUMBERS = itertools.count(1)
LIVED_SECONDS = 600.0
"""How old a folder that has lived may be: half an hour after its talk every start would write down that it is over."""


@dataclass(frozen=True)
class Restart:
    """How long after a death the next life begins, and how long nonces count, for the server and for the bot."""

    name: str
    seconds: float
    nonce_window: float
    nonce_seconds: float


SOON = Restart("soon", 1.0, nonce_window=120, nonce_seconds=60)
"""About a second later, while Discord still knows every nonce."""
LATE = Restart("late", 2.0, nonce_window=1.5, nonce_seconds=1)
"""After the nonce window, so that only the history tells."""


@dataclass
class Harness:
    """Serves one case after another, all with the same configuration."""

    server: DiscordServer
    model: ModelServer
    folder: Path
    toml: str
    template: Path | None = None
    lived_at: float = 0.0
    """When the template was made, on the clock of `time.monotonic`."""

    @classmethod
    @asynccontextmanager
    async def start(cls, folder: Path, toml: str) -> AsyncIterator[Self]:
        async with DiscordServer.start() as server, ModelServer.start() as model:
            yield cls(server, model, folder, toml)

    def __post_init__(self) -> None:
        self.guild = self.server.guild("Home")
        self.warm = self.guild.text_channel("warm")
        self.ana = self.server.person("ana", global_name="Ana")
        self.guild.add(self.ana)
        self.olga = self.server.person("olga", global_name="Olga")
        """The owner, in scenarios that ask one."""
        self.guild.add(self.olga)

    def environment(self) -> dict[str, str]:
        return {
            **self.server.environment(),
            **self.model.environment(),
            "DISCORD_TOKEN": self.server.token,
            "CARINA_MODEL": "openai:scripted",
            "KILL_TEST_PREVIEW": PREVIEW_SECONDS,
        }

    def home(self, name: str) -> Home:
        return Home(self.folder / f"{next(NUMBERS)}-{name}", self.toml, self.environment())

    async def case(self, name: str, *, fresh: bool) -> "Case":
        """A place for one case; `fresh`: the bot has never run before."""
        home = self.home(name)
        if not fresh:
            if self.template is None or time.monotonic() - self.lived_at > LIVED_SECONDS:
                self.template, self.lived_at = await self._live_once(), time.monotonic()
            shutil.copytree(self.template, home.data)
        self.server.faults.clear()
        self.model.requests.clear()
        return Case(self, home, self.guild.text_channel(f"case-{next(NUMBERS)}"))

    async def _live_once(self) -> Path:
        """A data folder of a bot that has answered in a channel and in a direct conversation."""
        home = self.home("template")
        self.model.default = lambda _: Answer(GREETING)
        before = self._greetings()
        async with living(home, "run", "--log-json") as life:
            assert await life.ready(), life.lines
            for number, channel in enumerate((self.warm, self.ana.direct), 1):
                await self.ana.say(channel, "good morning <@bot>")
                await self.server.until(partial(self._greeted, before + number), 60, "a greeting")
            code = await life.stop()
            assert code == 0, life.lines
        return home.data

    def _greeted(self, times: int) -> bool:
        return self._greetings() >= times

    def _greetings(self) -> int:
        places = (self.warm, *self.guild.threads, self.ana.direct)
        return sum(GREETING in post.text for place in places for post in place.from_bot)

    def clear(self, case: "Case") -> None:
        """Take away what a case left on the server."""
        case.channel.delete()
        for direct in (self.ana.direct, self.olga.direct):
            for number in [one for one in direct.posts if one > case.since]:
                del direct.posts[number]
            direct.log.clear()


@dataclass
class Case:
    """One case: its place, its data folder, and what the person has said."""

    ground: Harness
    home: Home
    channel: GuildChannel
    said: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.since = self.channel.id
        self.server, self.model, self.direct = self.ground.server, self.ground.model, self.ground.ana.direct

    async def say(self, text: str, channel: Channel | None = None) -> Message:
        self.said.append(message := await self.ground.ana.say(channel or self.channel, text))
        return message

    async def asked(self, text: str, count: int = 1) -> None:
        """Wait until the model was asked so often with these words in the newest message."""
        while sum(text in request.last_user for request in self.model.requests) < count:
            await self.model.wait_for(len(self.model.requests) + 1, timeout=60)
