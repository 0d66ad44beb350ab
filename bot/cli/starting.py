"""`carina init`: a configuration file to begin with."""

import os
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from bot.cli.people import Administer, Json
from bot.cli.printing import print_found
from bot.config import Config
from bot.errors import UserError

Starter: TypeAlias = Literal["plain", "adhd"]


def add_init(app: typer.Typer, administer: Administer) -> None:
    """Put the command into the program."""

    @app.command("init")
    def init(
        starter: Annotated[Starter, typer.Option(help="plain: one agent; adhd: six agents in five groups.")] = "plain",
        as_json: Json = False,
    ) -> None:
        """Write a commented carina.toml to begin with; one that is there stays as it is."""
        administer(_init, as_json, starter)


def starter_text(starter: Starter) -> str:
    """The file of a starter."""
    return resources.files("bot.starters").joinpath(f"{starter}.toml").read_text("utf-8")


async def _init(config: Config, starter: Starter, *, as_json: bool) -> None:
    path: Path = config.file
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as file:
            file.write(starter_text(starter))
    except FileExistsError:
        raise UserError(
            f"{path} is there already and was left as it is; move it away, or name another file by CARINA_CONFIG"
        ) from None
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error
    words = [
        f"Written: {path}, the starter {starter}. Look through it, then:",
        "- `carina` talks here at once, with the offline model;",
        "- CARINA_MODEL and a provider's key in .env name a language model;",
        "- DISCORD_TOKEN and DISCORD_OWNER_ID in .env connect Discord (README.md says how).",
    ]
    if config.home.joinpath("global.db").exists():
        words.append(
            f"{config.home} was used before: its agents stay as they are, and those of the file are added at the next "
            "start."
        )
    print_found({"file": str(path), "starter": starter}, words, as_json=as_json)
