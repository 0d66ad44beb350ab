"""The unmodified program with an account on the network."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bluesky_network.people import Human
from tests.bluesky_network.runner import Network
from tests.processes import START_SECONDS
from tests.service.live_service import SCRIPTED
from tests.service.program import Service
from tests.wire.model import ModelServer


@dataclass
class Stage:
    """Ana talks to `bot`, whom the program serves."""

    net: Network
    bot: Human
    ana: Human
    model: ModelServer
    service: Service

    async def start(self) -> None:
        await self.service.launch()
        await self.service.logged("ready", front_end="bluesky", within=START_SECONDS)


@asynccontextmanager
async def stage(folder: Path, net: Network, bot: Human, ana: Human, bluesky: str = "") -> AsyncIterator[Stage]:
    """`bluesky` is what the table [bluesky] says."""
    async with ModelServer.start() as model:
        environment = {
            **model.environment(),
            "CARINA_MODEL": SCRIPTED,
            "BLUESKY_HANDLE": bot.handle,
            "BLUESKY_APP_PASSWORD": await bot.app_password(),
            "BLUESKY_SERVICE": net.pds,
            "BLUESKY_POLL_SECONDS": "0.1",
        }
        service = Service(folder, environment)
        service.file.write_text(f"[bluesky]\nbatch_seconds = 0\n{bluesky}\n", "utf-8")
        made = Stage(net, bot, ana, model, service)
        try:
            yield made
        finally:
            await service.close()
        assert service.unexpected() == []
