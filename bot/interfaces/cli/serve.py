"""`carina run`: the service until it is told to stop."""

import asyncio
import contextlib
import signal
import tempfile
from pathlib import Path

import click

from bot import logs
from bot.app import build
from bot.config import Config, load_config
from bot.config.systemd_notifications import SystemdNotifications
from bot.errors import UserError
from bot.interfaces.cli import streams
from bot.interfaces.cli.data_folder import loaded
from bot.interfaces.web.server import WebServer
from bot.services.caller import owner_at_terminal
from bot.services.people.sign_in_links import sign_in_words
from bot.services.registry import Registry
from bot.services.system.restart import begin_anew
from memory.store import heap
from memory.store.clock import utc_now
from memory.store.faults import commit_point
from memory.store.logs import Log
from scheduler.times_in_words import clock_words
from scheduler.zones import zone_of
from texts import _, error_text, show_times

_log = Log("bot.interfaces.cli.serve")
_BEGINNING = 600_000_000  # time limit of a new start, in microseconds


def show_local_times(config: Config) -> None:
    """Write times in the service's zone, with its name, from now on."""
    zone = config.schedule.zone_name()
    show_times(lambda moment: f"{clock_words(moment, zone)} {moment.astimezone(zone_of(zone)):%Z}")


async def serve(config: Config) -> None:
    """Serve until SIGTERM, SIGINT or a restart by the owner, then drain."""
    heap.share_heap()
    show_local_times(config)
    manager = SystemdNotifications.of_process()
    async with build(config, restarts=True) as app:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)

        async def until_stopped() -> None:
            logs.log.info("data_folder", path=str(config.home.resolve()), chosen_by="CARINA_HOME, else ./data")
            for part, setting in config.unset().items():
                logs.log.info("part_not_configured", part=part, setting=setting)
            await report_differences(app.services.registry)
            logs.ready("terminal")
            aside = [asyncio.create_task(each) for each in (_invite(app.web), report_alive(manager))]
            try:
                await _either(stop, app.restart.wanted)
            finally:
                for task in aside:
                    task.cancel()

        await app.run(until_stopped)
    logs.stopped()
    if app.restart.wanted.is_set() and not stop.is_set():
        logs.log.info("service_restarting")
        manager.tell(f"WATCHDOG_USEC={_BEGINNING}")  # a migration may take long
        begin_anew()


async def _invite(web: WebServer) -> None:
    """Print at a terminal how to open the dashboard, until somebody has signed in."""
    if not streams.is_interactive():
        return
    try:
        if url := await web.first_link():
            click.echo(f"{sign_in_words()}\n{url}")
    except UserError as error:
        click.echo(error_text(error))


async def report_alive(manager: SystemdNotifications) -> None:
    """Tell the system's service manager that the service is ready, then regularly that its event loop responds."""
    manager.tell(f"READY=1\nWATCHDOG_USEC={manager.within}" if manager.within else "READY=1")
    while manager.within:
        await asyncio.sleep(manager.within / 3_000_000)
        manager.tell("WATCHDOG=1")


async def report_differences(registry: Registry) -> None:
    """Log which agents and groups of the file differ from the database, which takes precedence."""
    try:
        found = await registry.call("config.diff", owner_at_terminal(), {})
        for line in found.lines(await registry.plain(owner_at_terminal())) if found.data() else ():
            logs.log.warning("agents_differ_from_file", what=line, do="`carina config apply` applies the file")
    except UserError as error:
        logs.log.warning("configuration_not_compared", reason=str(error))
    except Exception:  # a mere notice is no reason to end the service
        _log.exception("configuration_not_compared")


async def _either(*events: asyncio.Event) -> None:
    """Wait until one of the events is set."""
    waiting = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()


_WRITE = commit_point("demo.write")


async def show_demo() -> None:
    """Create a constellation in a temporary folder, print the URL of its dashboard, and serve it until a signal."""
    stop, demo = asyncio.Event(), loaded("bot.services.system.demo")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # before creating a folder that would be left behind
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with tempfile.TemporaryDirectory(prefix="carina-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "carina.toml").write_text(demo.CONFIGURATION, "utf-8")
        config = load_config({"CARINA_HOME": str(folder / "data"), "EMBEDDING_MODEL": "none"}, folder)
        async with build(config, fronts=False) as app:
            await app.services.database.write(_WRITE, lambda tx: demo.write_demo(tx, utc_now()))

            async def until_stopped() -> None:
                listening = app.web.parts.listening
                while not listening.address and not stop.is_set():
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(stop.wait(), 0.05)
                if stop.is_set():
                    return
                call = app.services.registry.call
                for operation, given in demo.demo_agenda():
                    await call(operation, owner_at_terminal(), given)
                url = (await call("dashboard.open", owner_at_terminal(), {})).data()["url"]
                click.echo(url)
                click.echo(_("All of its data is made up and is deleted when you press Ctrl-C."), err=True)
                if streams.is_interactive():
                    loaded("webbrowser").open(url)
                await stop.wait()

            await app.run(until_stopped)
