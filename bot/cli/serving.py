"""`carina run`: the service until it is told to stop."""

import asyncio
import signal

from bot import logs
from bot.app import build
from bot.config import Config


async def serve(config: Config) -> None:
    """Serve until SIGTERM or SIGINT, then drain."""
    async with build(config) as app:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)

        async def until_stopped() -> None:
            for part, setting in config.unset().items():
                logs.log.info("not_configured", part=part, setting=setting)
            logs.ready("terminal")
            await stop.wait()

        await app.run(until_stopped)
    logs.stopped()
