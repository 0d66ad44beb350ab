"""The program with an account on a small Bluesky server, and somebody to talk to."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.service.live_service import SCRIPTED
from tests.service.live_service import until as until_true
from tests.service.program import Service
from tests.wire.bluesky import BlueskyServer, Post, User
from tests.wire.model import ModelServer


@dataclass
class Skies:
    """Ana talks to the account `bot`, which the program serves."""

    server: BlueskyServer
    model: ModelServer
    service: Service
    bot: User
    ana: User

    def configure(self, bluesky: str = "", toml: str = "") -> None:
        """Write the file: `bluesky` is what the table [bluesky] says."""
        self.service.file.write_text(
            f"{toml}\n[schedule]\nsummaries = false\nzone = 'UTC'\n[bluesky]\nbatch_seconds = 0\n{bluesky}\n", "utf-8"
        )

    def mention(self, text: str, by: User | None = None, **more: Any) -> Post:
        who = by or self.ana
        return who.post(f"@{self.bot.handle} {text}", mentions=(self.bot,), **more)

    async def until(self, true: Callable[[], object]) -> None:
        await until_true(true)

    async def looked(self, times: int = 3) -> None:
        """Until the program has looked for notifications so often again."""
        method = "app.bsky.notification.listNotifications"
        count = self.server.count(method) + times
        await self.server.until(lambda: self.server.count(method) >= count)


def account(bot: User, server: BlueskyServer) -> dict[str, str]:
    """The program's environment for an account of its own, looked at often."""
    return {
        "BLUESKY_HANDLE": bot.handle,
        "BLUESKY_APP_PASSWORD": bot.password,
        "BLUESKY_SERVICE": server.url,
        "BLUESKY_POLL_SECONDS": "0.1",
    }


@contextlib.asynccontextmanager
async def skies(folder: Path) -> AsyncIterator[Skies]:
    """A server with the account and Ana on it, and the program, not yet started."""
    async with BlueskyServer.start() as server, ModelServer.start() as model:
        bot, ana = server.user("carina.test", "Carina"), server.user("ana.test", "Ana")
        environment = {**model.environment(), "CARINA_MODEL": SCRIPTED, **account(bot, server)}
        made = Skies(server, model, Service(folder, environment, "bluesky"), bot, ana)
        made.configure()
        try:
            yield made
            if made.service.is_running:
                await made.service.stop()
        finally:
            await made.service.close()
        assert made.service.unexpected() == []
        assert server.problems == []
        await asyncio.sleep(0)
