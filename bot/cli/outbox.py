"""`carina outbox list|retry|drop`: what could not be delivered."""

from typing import Annotated

import typer

from bot.cli import streams
from bot.cli.asking import ask
from bot.cli.people import Administer, Json, told
from bot.cli.printing import print_found
from bot.config import Config
from bot.errors import CallError, UserError

_LARGEST = 2**63 - 1  # of what SQLite takes as an integer
Row = Annotated[
    int, typer.Argument(metavar="ROW", min=0, max=_LARGEST, help="Its number, as `carina outbox list` shows it.")
]


def add_outbox(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    outbox = typer.Typer(help="What could not be delivered: shown, sent again, dropped.")
    app.add_typer(outbox, name="outbox")

    @outbox.command("list")
    def outbox_list(
        limit: Annotated[int, typer.Option(min=1, max=1000, metavar="ROWS", help="How many at most, the newest.")] = 20,
        as_json: Json = False,
    ) -> None:
        """Show what could not be delivered, and why."""
        administer(told("outbox.list", "Everything was delivered.", limit=limit), as_json)

    @outbox.command("retry")
    def outbox_retry(
        row: Row,
        yes: Annotated[bool, typer.Option("--yes", help="Send it also where it may appear twice.")] = False,
        as_json: Json = False,
    ) -> None:
        """Send something again, with the later pieces of the same answer."""
        administer(_retry, as_json, row, yes)

    @outbox.command("drop")
    def outbox_drop(row: Row, as_json: Json = False) -> None:
        """Give something up for good, and forget what it said."""
        administer(_drop, as_json, row)


async def _retry(config: Config, row: int, yes: bool, *, as_json: bool) -> None:
    found = await ask(config, "outbox.retry", identifier=row, twice=yes)
    if found["asks"]:
        if as_json or not streams.attended():
            raise CallError(f"outbox retry: {found['asks']} Expected --yes")
        if not typer.confirm(f"{found['asks']} Send it?"):
            raise UserError("nothing was sent")
        found = await ask(config, "outbox.retry", identifier=row, twice=True)
    words = f"Row {found['id']} is to be sent again: the running service does it now, or the next `carina run`."
    print_found(found, [words], as_json=as_json)


async def _drop(config: Config, row: int, *, as_json: bool) -> None:
    found = await ask(config, "outbox.drop", identifier=row)
    print_found(found, [f"Row {found['id']} is dropped; what it said is forgotten."], as_json=as_json)
