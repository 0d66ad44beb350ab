"""`carina`: every command and its options.

`--json` prints one JSON document for machines; what an exit code means stands in `bot.cli.ending`.
"""

import asyncio
import importlib
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import typer

from bot import logs
from bot.cli import administration, chatting, files, memory, serving, status, streams
from bot.cli.agenda import add_agenda, add_state
from bot.cli.agents import add_agents
from bot.cli.backup import add_backup
from bot.cli.bluesky import add_bluesky
from bot.cli.budgets import add_budgets
from bot.cli.coordinating import add_coordinating
from bot.cli.doctor import add_doctor
from bot.cli.dreams import add_dreams
from bot.cli.ending import explained, logged
from bot.cli.facts import add_facts
from bot.cli.folders import add_folders
from bot.cli.groups import add_constellations, add_groups
from bot.cli.holder import holder_of
from bot.cli.house import add_archive, add_books, add_sources
from bot.cli.outbox import add_outbox
from bot.cli.people import add_link, add_pairing, add_people
from bot.cli.printing import print_lines
from bot.cli.projects import add_projects
from bot.cli.schedule import add_jobs
from bot.cli.searching import add_search
from bot.cli.starting import add_init
from bot.cli.summaries import add_summaries
from bot.cli.version import version
from bot.config import Config, load_here
from bot.errors import CallError, ConfigError, UserError
from bot.secrets import Redactor
from memory.faults import faults
from memory.folder import DataFolder

_LARGEST = 2**63 - 1  # of what SQLite takes as an integer

app = typer.Typer(
    name="carina",
    help="A constellation of agents that remember. Without a command: a chat at a terminal, the service elsewhere.",
    epilog="Exit codes: 0 done; 1 could not, and says why; 2 the call or the configuration is wrong; "
    "3 run `carina db migrate` first.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
)
database = typer.Typer(help="The database files: their version, migration, size.")
inbox = typer.Typer(help="What arrived and how it was answered.")
permits = typer.Typer(help="What agents ask to do, and what they were allowed.")
privacy = typer.Typer(help="What is kept about a person: seen, exported, paused, erased.")
app.add_typer(database, name="db")
app.add_typer(inbox, name="inbox")
app.add_typer(permits, name="permits")
app.add_typer(privacy, name="privacy")


def _an_id(given: int) -> int:
    if not 0 <= given <= _LARGEST:
        raise typer.BadParameter("no id is so large or so small")
    return given


Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, metavar="ROWS", help="How many at most, the newest.")]
Row = Annotated[int, typer.Argument(metavar="ROW", callback=_an_id, help="Its id, as `carina inbox list` shows it.")]
Request = Annotated[
    int, typer.Argument(metavar="REQUEST", callback=_an_id, help="Its id, as `carina permits list` shows it.")
]
Grant = Annotated[
    int, typer.Argument(metavar="GRANT", callback=_an_id, help="Its id, as `carina permits list` shows it.")
]
Person = Annotated[
    str, typer.Argument(metavar="PERSON", help="The person's id, such as discord:1234 or terminal:owner.")
]
LogJson = Annotated[bool, typer.Option("--log-json", help="Log one JSON object a line.")]


def main() -> None:
    """Run the command line; errors that say what to do are printed, not raised."""
    streams.be_lenient()
    with explained():
        app()


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"carina {version()}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def default(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version.")
    ] = False,
) -> None:
    """Without a command: chat when somebody sits there and no front end is configured, else serve."""
    if context.invoked_subcommand is not None:
        return
    config = _configure()
    if streams.attended() and not config.sources:
        _log(config, level="error")
        asyncio.run(chatting.interactive(config))
    else:
        _log(config)
        asyncio.run(serving.serve(config))


@app.command()
def run(log_json: LogJson = False) -> None:
    """Start the service: all front ends that are configured, and the terminal for `carina chat`."""
    if log_json:
        with logged():
            _serve(as_json=True)
    else:
        _serve()


def _serve(*, as_json: bool = False) -> None:
    config = _configure()
    _log(config, as_json=as_json)
    asyncio.run(serving.serve(config))


@app.command()
def chat(
    once: Annotated[str | None, typer.Option("--once", metavar="TEXT", help="Say this, print the answer, end.")] = None,
) -> None:
    """Talk to your agents here; joins the running service, or starts one for as long as the chat lasts."""
    if once is not None and not once.strip():
        raise CallError('--once: found nothing to say; expected a text, such as --once "what do you know about me?"')
    config = _configure()
    _log(config, level="error")
    if once is not None:
        asyncio.run(chatting.once(config, once))
    else:
        asyncio.run(chatting.interactive(config))


@app.command("status")
def service_status(as_json: Json = False) -> None:
    """Show how the service stands: front ends, models, what waits, and what is not configured."""
    _administer(status.show_status, as_json)


@app.command()
def why(as_json: Json = False) -> None:
    """Say what the last answer at this terminal was made from."""
    _administer(administration.explain, as_json)


@app.command()
def halt(as_json: Json = False) -> None:
    """Stop every answer and every message of the running service now, until `carina release`."""
    _administer(administration.switch, as_json, "halt")


@app.command()
def release(as_json: Json = False) -> None:
    """Go on after a halt."""
    _administer(administration.switch, as_json, "release")


@app.command("mcp")
def serve_tools() -> None:
    """Offer tools of your agents to another program, by the Model Context Protocol on standard input and output."""
    config = _configure()
    _log(config, level="error")
    if holder_of(DataFolder(config.home)) is None:
        logs.log.error("no_service", folder=str(config.home), do="start it with `carina run`; calls fail until then")
    serving_tools = importlib.import_module("bot.mcp.serving")  # only here: loading it takes a second
    asyncio.run(serving_tools.serve_tools(config, version()))


@app.command("invite-url")
def invite_url(
    application: Annotated[
        str, typer.Argument(metavar="APPLICATION_ID", help="Its id, from Discord's developer portal.")
    ],
) -> None:
    """Print the link that installs the bot in Discord, with the least permissions it needs."""
    print_lines([administration.invite(application)])


@database.command("status")
def database_status(as_json: Json = False) -> None:
    """Show the version of every database file and the version this program needs."""
    files.show_status(_configure(), as_json=as_json)


@database.command("migrate")
def database_migrate(as_json: Json = False) -> None:
    """Bring older files up to date; each is copied first. The service must not be running."""
    files.migrate_all(_configure(), as_json=as_json)


@database.command("vacuum")
def database_vacuum(as_json: Json = False) -> None:
    """Give freed pages back to the disk."""
    _administer(administration.vacuum, as_json)


@inbox.command("list")
def inbox_list(
    dead: Annotated[bool, typer.Option("--dead", help="Only what was given up.")] = False,
    limit: Limit = 20,
    as_json: Json = False,
) -> None:
    """Show the newest notifications and how they stand."""
    _administer(administration.inbox_list, as_json, "dead" if dead else "", limit)


@inbox.command("show")
def inbox_show(row: Row, as_json: Json = False) -> None:
    """Show one notification."""
    _administer(administration.inbox_show, as_json, row)


@inbox.command("retry")
def inbox_retry(row: Row, as_json: Json = False) -> None:
    """Let a notification that was given up be tried again."""
    _administer(administration.inbox_retry, as_json, row)


@permits.command("list")
def permits_list(as_json: Json = False) -> None:
    """Show what waits for your yes, and what was allowed for longer."""
    _administer(administration.permits_list, as_json)


@permits.command("show")
def permits_show(request: Request, as_json: Json = False) -> None:
    """Show one request with all its arguments."""
    _administer(administration.permits_show, as_json, request)


@permits.command("approve")
def permits_approve(
    request: Request,
    hour: Annotated[bool, typer.Option("--hour", help="And the same again for an hour.")] = False,
    always: Annotated[bool, typer.Option("--always", help="And the same again until it is revoked.")] = False,
    as_json: Json = False,
) -> None:
    """Allow what an agent asks to do."""
    if hour and always:
        raise CallError("--hour and --always: found both; expected one of them, or none for once")
    _administer(administration.permits_answer, as_json, request, "always" if always else "hour" if hour else "once")


@permits.command("deny")
def permits_deny(request: Request, as_json: Json = False) -> None:
    """Refuse what an agent asks to do."""
    _administer(administration.permits_answer, as_json, request, "deny")


@permits.command("revoke")
def permits_revoke(grant: Grant, as_json: Json = False) -> None:
    """End something that was allowed for longer."""
    _administer(administration.permits_revoke, as_json, grant)


@permits.command("audit")
def permits_audit(
    limit: Annotated[
        int, typer.Option(min=1, max=100_000, metavar="LINES", help="How many at most, the newest.")
    ] = 100,
    as_json: Json = False,
) -> None:
    """Print the record of every question, answer and use, newest first."""
    _administer(administration.permits_audit, as_json, limit)


@privacy.command("see")
def privacy_see(person: Person, as_json: Json = False) -> None:
    """Show how much is kept about somebody."""
    _administer(administration.privacy_see, as_json, person)


@privacy.command("export")
def privacy_export(person: Person, as_json: Json = False) -> None:
    """Print everything that is kept about somebody: with --json one document, else a line for each thing."""
    _administer(administration.privacy_export, as_json, person)


@privacy.command("pause")
def privacy_pause(person: Person, as_json: Json = False) -> None:
    """Keep and answer nothing that somebody says, until they resume."""
    _administer(administration.privacy_choose, as_json, person, "paused")


@privacy.command("optout")
def privacy_optout(person: Person, as_json: Json = False) -> None:
    """Never keep or answer what somebody says, until they resume."""
    _administer(administration.privacy_choose, as_json, person, "opted_out")


@privacy.command("resume")
def privacy_resume(person: Person, as_json: Json = False) -> None:
    """Hear somebody again."""
    _administer(administration.privacy_choose, as_json, person, "")


@privacy.command("erase")
def privacy_erase(
    person: Person,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")] = False,
    as_json: Json = False,
) -> None:
    """Erase everything that is kept about somebody, and print the receipt."""
    if not yes and not streams.attended():
        raise CallError("privacy erase: nobody can be asked here whether it is meant; expected --yes")
    if not yes and not typer.confirm(f"Erase everything that is kept about {person}? It cannot be brought back."):
        raise UserError("nothing was erased")
    _administer(administration.privacy_erase, as_json, person)


def _administer(work: Callable[..., Coroutine[Any, Any, None]], as_json: bool, *arguments: Any) -> None:
    _run(_configure(), work, as_json, *arguments)


def _begin(work: Callable[..., Coroutine[Any, Any, None]], as_json: bool, *arguments: Any) -> None:
    _run(_configure(beginning=True), work, as_json, *arguments)


def _run(config: Config, work: Callable[..., Coroutine[Any, Any, None]], as_json: bool, *arguments: Any) -> None:
    _log(config, level="error")
    asyncio.run(work(config, *arguments, as_json=as_json))


app.add_typer(memory.commands(_administer), name="memory")


def _configure(*, beginning: bool = False) -> Config:
    config = load_here(beginning=beginning)
    if config.fault:
        try:
            faults.arm(config.fault)
        except ValueError as error:
            raise ConfigError(f"CARINA_FAULT: {error}; expected such as outbox.sending:after") from None
    return config


def _log(config: Config, *, as_json: bool = False, level: str = "info") -> None:
    redactor = Redactor(config.secrets())
    logs.setup_logs(redactor, as_json=as_json, level=level, no_color=config.no_color)


add_pairing(app, _administer)
add_people(app, _administer)
add_link(app, _administer)
add_sources(app, _administer)
add_books(app, permits, _administer)
add_search(app, add_archive(app, _administer), _administer)
add_outbox(app, _administer)
add_jobs(app, _administer)
add_coordinating(app, _administer)
add_summaries(app, _administer)
add_agents(app, _administer)
add_groups(app, _administer)
add_constellations(app, _administer)
add_init(app, _begin)
add_budgets(app, _administer)
add_bluesky(app, _administer)
add_agenda(app, _administer)
add_state(app, _administer)
add_backup(app, _administer)
add_folders(app, _administer)
add_facts(app, _administer)
add_projects(app, _administer)
add_dreams(app, _administer)
add_doctor(app, _administer)
