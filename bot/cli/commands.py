"""`carina`: every command, its options, and what its exit code means.

0 it did what was asked; 1 it could not, and said why; 2 the configuration or the call is wrong; 3 a database
has to be migrated first (`carina db migrate`). `--json` prints one JSON document for machines.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from bot import logs
from bot.cli import administration, chatting, serving
from bot.config import Config, load_here
from bot.errors import ConfigError, UserError
from bot.secrets import Redactor
from memory.errors import DatabaseOutdated, StoreError
from memory.faults import faults
from sources.base import SourceRefused

app = typer.Typer(
    name="carina",
    help="A constellation of agents that remember. Without a command: a chat at a terminal, the service elsewhere.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
)
database = typer.Typer(help="The database files: their version, migration, size.")
inbox = typer.Typer(help="What arrived and how it was answered.")
app.add_typer(database, name="db")
app.add_typer(inbox, name="inbox")

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Log one JSON object a line.")]


def main() -> None:
    """Run the command line; errors that say what to do are printed, not raised."""
    with _explained():
        app()


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except BaseExceptionGroup as group:
        _exit_for(_innermost(group))
    except _EXPECTED as error:
        _exit_for(error)


_CODES: tuple[tuple[type[Exception], int], ...] = (
    (ConfigError, 2),
    (SourceRefused, 2),
    (DatabaseOutdated, 3),
    (StoreError, 1),
    (UserError, 1),
)
_EXPECTED = tuple(kind for kind, _code in _CODES)


def _innermost(group: BaseExceptionGroup[Any]) -> BaseException:
    """The first single error inside groups of errors."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _exit_for(error: BaseException) -> NoReturn:
    """Print what went wrong in its own words, and end; what nobody expected keeps its traceback."""
    for kind, code in _CODES:
        if isinstance(error, kind):
            Console(stderr=True, highlight=False, soft_wrap=True).print(f"carina: {error}", markup=False)
            raise SystemExit(code) from None
    raise error


@app.callback(invoke_without_command=True)
def default(context: typer.Context) -> None:
    """Without a command: chat when somebody sits there and no front end is configured, else serve."""
    if context.invoked_subcommand is not None:
        return
    config = _configure()
    if sys.stdin.isatty() and sys.stdout.isatty() and config.discord_token is None:
        _log(config, level="error")
        asyncio.run(chatting.interactive(config))
    else:
        _log(config)
        asyncio.run(serving.serve(config))


@app.command()
def run(log_json: LogJson = False) -> None:
    """Start the service: all front ends that are configured, and the terminal for `carina chat`."""
    config = _configure()
    _log(config, as_json=log_json)
    asyncio.run(serving.serve(config))


@app.command()
def chat(
    once: Annotated[str, typer.Option("--once", help="Say this, print the answer, end.")] = "",
) -> None:
    """Talk to your agents here; joins the running service, or starts one for as long as the chat lasts."""
    config = _configure()
    _log(config, level="error")
    if once:
        asyncio.run(chatting.once(config, once))
    else:
        asyncio.run(chatting.interactive(config))


@app.command("invite-url")
def invite_url(
    application: Annotated[str, typer.Argument(help="The application's id, from Discord's developer portal.")],
) -> None:
    """Print the link that installs the bot in Discord, with the least permissions it needs."""
    typer.echo(administration.invite(application))


@database.command("status")
def database_status(as_json: Json = False) -> None:
    """Show the version of every database file and the version this program needs."""
    administration.show_status(_configure(), as_json=as_json)


@database.command("migrate")
def database_migrate(as_json: Json = False) -> None:
    """Bring older files up to date; each is copied first. The service must not be running."""
    administration.migrate_all(_configure(), as_json=as_json)


@database.command("vacuum")
def database_vacuum(as_json: Json = False) -> None:
    """Give freed pages back to the disk."""
    _administer(administration.vacuum, as_json)


@inbox.command("list")
def inbox_list(
    dead: Annotated[bool, typer.Option("--dead", help="Only what was given up.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
    as_json: Json = False,
) -> None:
    """Show the newest notifications and how they stand."""
    _administer(administration.inbox_list, as_json, "dead" if dead else "", limit)


@inbox.command("show")
def inbox_show(row: int, as_json: Json = False) -> None:
    """Show one notification."""
    _administer(administration.inbox_show, as_json, row)


@inbox.command("retry")
def inbox_retry(row: int, as_json: Json = False) -> None:
    """Let a notification that was given up be tried again."""
    _administer(administration.inbox_retry, as_json, row)


def _administer(work: Callable[..., Coroutine[Any, Any, None]], as_json: bool, *arguments: Any) -> None:
    config = _configure()
    _log(config, level="error")
    asyncio.run(work(config, *arguments, as_json=as_json))


def _configure() -> Config:
    config = load_here()
    if config.fault:
        faults.arm(config.fault)
    return config


def _log(config: Config, *, as_json: bool = False, level: str = "info") -> None:
    redactor = Redactor(config.secrets())
    logs.setup_logs(redactor, as_json=as_json, level=level, no_color=config.no_color)
