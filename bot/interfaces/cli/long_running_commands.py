"""`carina run`, `chat` and `mcp`: commands that run until they are stopped, and so are not operations.

`bot.interfaces.exit_codes` explains the exit codes. This module is loaded after the reader's language is known, which
its help needs.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from bot import logs
from bot.config import Config
from bot.errors import CallError
from bot.interfaces.cli import streams
from bot.interfaces.cli.data_folder import data_folder, loaded
from bot.interfaces.cli.local_operations import load_settings, log_to
from bot.interfaces.cli.main import CommandFailed
from bot.interfaces.control.async_client import holder_of
from bot.interfaces.exit_codes import EXPECTED, exit_code
from bot.interfaces.version import version
from bot.redactor import Redactor
from memory.store.data_folder import DataFolder
from texts import _, error_text


def main(arguments: Sequence[str]) -> Any:
    """Run one of them; returns an exit code, or nothing. Raises CommandFailed for an expected error."""
    error: BaseException
    try:
        return commands.main(list(arguments), "carina", standalone_mode=False)
    except BaseExceptionGroup as group:
        error = _innermost(group)
    except EXPECTED as expected:
        error = expected
    if isinstance(error, EXPECTED):
        raise CommandFailed(error_text(error), exit_code(error))
    raise error


@click.group("carina", invoke_without_command=True)
@click.pass_context
def commands(context: click.Context) -> None:
    """Without a command: chat if a person is at the terminal and no front end is configured, else serve."""
    if context.invoked_subcommand is not None:
        return
    config = load_settings()
    if streams.is_interactive() and not config.sources:
        _talk(config, dashboard=True)
    else:
        _serve()


@commands.command(options_metavar=_("[OPTIONS]"), help=_("Run the service with all configured front ends."))
@click.option("--log-json", is_flag=True, help=_("Log one JSON object per line."))
def run(log_json: bool) -> None:
    if log_json:
        with log_error():
            _serve(as_json=True)
    else:
        _serve()


@commands.command(options_metavar=_("[OPTIONS]"), help=_("Chat with your agents at this terminal."))
@click.option("--once", metavar=_("TEXT"), help=_("Send this message, print the answer and exit."))
@click.option("--constellation", metavar=_("NAME"), default="", help=_("Constellation whose agents answer."))
def chat(once: str | None, constellation: str) -> None:
    if once is not None and not once.strip():
        raise CallError('--once: give a message to send, such as --once "what do you know about me?"')
    config = load_settings()
    if once is None:
        _talk(config, constellation)
    else:
        log_to(config, level="error")
        asyncio.run(_chatting().once(config, once, constellation))


@commands.command(
    "mcp",
    options_metavar=_("[OPTIONS]"),
    help=_("Serve your agents' tools to an MCP client over standard input and output."),
)
def serve_tools() -> None:
    folder = DataFolder(data_folder(Path.cwd()))  # it needs no other setting, and so none of the secrets
    logs.setup_logs(Redactor(()), as_json=False, level="error", no_color=True)
    if holder_of(folder) is None:
        logs.log.error(
            "service_not_running", folder=str(folder.path), do="start it with `carina run`; calls fail until then"
        )
    if streams.typed():
        told = _("An MCP client, such as an editor, starts this command and talks to it. Ctrl-C ends it.")
        click.echo(streams.wrapped(told), err=True)
    serving_tools = loaded("bot.interfaces.mcp_server")  # only here: loading it takes a second
    asyncio.run(serving_tools.serve_tools(folder, version()))


def _talk(config: Config, constellation: str = "", *, dashboard: bool = False) -> None:
    log_to(config, level="error")
    asyncio.run(_chatting().interactive(config, constellation, dashboard=dashboard))


def _chatting() -> Any:
    """The chat, loaded only here: it needs libraries for the terminal that a service does not."""
    return loaded("bot.interfaces.cli.chat.chat")


def _serving() -> Any:
    """The service, loaded only here: a chat with a running service needs little of it."""
    return loaded("bot.interfaces.cli.serve")


@commands.command(help=_("Show the dashboard with made-up data in a temporary folder."))
def demo() -> None:
    logs.setup_logs(Redactor(()), as_json=False, level="error", no_color=True)
    asyncio.run(_serving().show_demo())


def _serve(*, as_json: bool = False) -> None:
    config = load_settings()
    log_to(config, as_json=as_json)
    if ":" in config.model.default:  # first, so that later imports reuse the memory that the price tables free
        loaded("bot.models.prices").context_window(config.model.default)
    asyncio.run(_serving().serve(config))


@contextmanager
def log_error() -> Iterator[None]:
    """Log the error that ends the service: an event with the reason, then `stopped` with the exit code."""
    logs.setup_logs(Redactor(), as_json=True)  # until the configuration is known, whose errors contain no secret
    logging.captureWarnings(capture=True)
    try:
        yield
    except Exception as error:  # all kinds: even unexpected ones must not end up as plain lines
        raise click.exceptions.Exit(_log_end(_innermost(error))) from error


def _log_end(error: BaseException) -> int:
    code = exit_code(error)
    if isinstance(error, EXPECTED):
        logs.log.error("startup_failed", reason=str(error), exit_code=code)
    else:
        logs.log.error("service_crashed", exit_code=code, exc_info=error)
    logs.stopped(exit_code=code)
    return code


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
