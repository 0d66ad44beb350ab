"""`carina init`, which writes a configuration file to begin with, and `carina invite-url`."""

import os
from dataclasses import dataclass
from importlib import resources
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from bot.agents.permissions.policy import Action
from bot.config import Config
from bot.errors import CallError, UserError
from bot.services.caller import Caller, Via
from bot.services.parameters import Arguments, Param
from bot.services.registry import Told, operation
from bot.services.results import Ink, Result, Sentence
from sources.discord.invite import invite_url

Starter: TypeAlias = Literal["plain", "adhd"]
_HERE = frozenset({Via.TERMINAL})


class WriteFile(Arguments):
    starter: Annotated[Starter, Param("plain: one agent; adhd: six agents in five groups")] = "plain"


class Application(Arguments):
    application: Annotated[
        str, Field(min_length=1, max_length=100),
        Param("Application ID, from Discord's developer portal", metavar="APPLICATION_ID"),
    ]  # fmt: skip


class Written(Result):
    """A file to begin with, and what to do next."""

    file: str
    starter: Starter
    before: str = Field(exclude=True)
    """A data folder that was used before."""

    def lines(self, ink: Ink) -> list[str]:
        return [
            ink.text(f"Wrote {self.file} (starter: {self.starter}). Look through it, then:"),
            "- `carina` talks right here, with the offline model;",
            "- CARINA_MODEL and a provider's key in .env name a language model;",
            "- DISCORD_TOKEN and DISCORD_OWNER_ID in .env connect Discord (README.md says how).",
            *([ink.text(f"{self.before} was used before: its agents stay, and the next start adds those of the file.")]
              if self.before else []),
        ]  # fmt: skip


@dataclass(frozen=True)
class Beginning:
    """What is needed before a first start."""

    config: Config

    @operation(
        "init", "Write a commented carina.toml as a starting point", Action.EXAMINE, Told(via=_HERE, changes=True)
    )
    async def write(self, _caller: Caller, arguments: WriteFile) -> Written:
        """One that is there stays as it is."""
        path, home = self.config.file, self.config.home
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as file:
                file.write(starter_text(arguments.starter))
        except FileExistsError:
            raise UserError(
                f"{path} is there already and was left as it is; move it away, or name another file by CARINA_CONFIG"
            ) from None
        except OSError as error:
            raise UserError(f"{path} cannot be written: {error.strerror}") from error
        used = home.joinpath("global.db").exists()
        return Written(file=str(path), starter=arguments.starter, before=str(home) if used else "")

    @operation("invite-url", "Print the link that adds the bot to a Discord server", Action.EXAMINE, Told(via=_HERE))
    async def invite(self, _caller: Caller, arguments: Application) -> Sentence:
        """With the least permissions it needs. Raises CallError for what is no id."""
        given = arguments.application
        if not (given.isascii() and given.isdecimal() and len(given) <= 20):
            raise CallError(
                f"{given!r} is no application id, which is digits only; copy the Application ID under "
                "General Information of your application in Discord's developer portal"
            )
        return Sentence(text=invite_url(int(given)))


def starter_text(starter: Starter) -> str:
    """The file of a starter."""
    return resources.files("bot.config.templates").joinpath(f"{starter}.toml").read_text("utf-8")
