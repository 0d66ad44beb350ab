"""`carina demo`: a made-up constellation in a throw-away folder, to look around in."""

import asyncio
import contextlib
import signal
import tempfile
import webbrowser
from pathlib import Path

import click

from bot.app import build
from bot.config import load_config
from bot.interfaces.cli import streams
from bot.services.caller import owner_at_terminal
from bot.services.demo import CONFIGURATION, demo_agenda, write_demo
from memory.store.clock import utc_now
from memory.store.faults import commit_point
from texts import _

_WRITE = commit_point("demo.write")


async def show() -> None:
    """Make it, say where it can be seen, and serve it until somebody ends this."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # before there is a folder that would be left behind
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with tempfile.TemporaryDirectory(prefix="carina-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "carina.toml").write_text(CONFIGURATION, "utf-8")
        config = load_config({"CARINA_HOME": str(folder / "data"), "EMBEDDING_MODEL": "none"}, folder)
        async with build(config, fronts=False) as app:
            await app.services.database.write(_WRITE, lambda tx: write_demo(tx, utc_now()))

            async def until_stopped() -> None:
                listening = app.web.parts.listening
                while not listening.address and not stop.is_set():
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(stop.wait(), 0.05)
                if stop.is_set():
                    return
                call = app.services.registry.call
                for operation, given in demo_agenda():
                    await call(operation, owner_at_terminal(), given)
                url = (await call("dashboard.open", owner_at_terminal(), {})).data()["url"]
                click.echo(url)
                click.echo(_("All of its data is made up and is deleted when you press Ctrl-C."), err=True)
                if streams.attended():
                    webbrowser.open(url)
                await stop.wait()

            await app.run(until_stopped)
