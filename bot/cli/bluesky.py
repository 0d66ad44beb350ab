"""`carina bluesky`: making the account known as a bot, and how it stands."""

import importlib
from typing import Annotated, Any

import typer

from bot.cli.holder import holder_of
from bot.cli.people import Administer, Json
from bot.cli.printing import print_found
from bot.config import Config
from bot.errors import UserError
from memory.folder import DataFolder


def add_bluesky(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    bluesky = typer.Typer(help="The account on Bluesky.")
    app.add_typer(bluesky, name="bluesky")

    @bluesky.command("setup")
    def bluesky_setup(
        line: Annotated[str, typer.Option(help="Whose bot it is, for its profile; else from the owner's DID.")] = "",
        as_json: Json = False,
    ) -> None:
        """Label the account as a bot and say in its profile whose it is."""
        administer(_ask, as_json, "bluesky.setup", {"line": line})

    @bluesky.command("status")
    def bluesky_status(as_json: Json = False) -> None:
        """Show how the account stands, and what was passed over during the last day."""
        administer(_ask, as_json, "bluesky.status", {})


async def _ask(config: Config, operation: str, arguments: dict[str, Any], *, as_json: bool) -> None:
    """Have it done by the running service, which has the session, or here. Raises UserError."""
    if not config.serves_bluesky:
        raise UserError("Bluesky is not configured: set BLUESKY_HANDLE and BLUESKY_APP_PASSWORD (docs/bluesky.md)")
    if (holder := holder_of(DataFolder(config.home))) is not None:
        found = await holder.ask(operation, **arguments)
    else:
        module = importlib.import_module("bot.bluesky")  # loads the library
        found = await module.standing_alone(config, operation, arguments)
    print_found(found, found["lines"], as_json=as_json)
