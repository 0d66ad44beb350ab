"""`carina init`, which writes a configuration file to begin with, and `carina invite-url`."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from bot.agents.permissions.policy import Action
from bot.config import Config, load_config
from bot.errors import CallError, ConfigError, UserError
from bot.interfaces.cli.first_files import Answers, write_both
from bot.services.caller import Caller, Via
from bot.services.parameters import Arguments, Param
from bot.services.registry import Options, operation
from bot.services.results import Ink, Result, Sentence
from sources.discord.invite import invite_url
from texts import _

Starter: TypeAlias = Literal["plain", "adhd"]
_HERE = frozenset({Via.TERMINAL})


_Text = Field(max_length=500)


class WriteFile(Arguments):
    starter: Annotated[Starter, Param("plain: one agent; adhd: six agents in five groups")] = "plain"
    name: Annotated[str, _Text, Param("Name of the constellation", metavar="TEXT")] = ""
    owner: Annotated[str, _Text, Param("What agents call you at the terminal", metavar="TEXT")] = ""
    model: Annotated[str, _Text, Param("Language model, such as openai:gpt-5-mini", metavar="MODEL")] = ""
    api_key: Annotated[str, _Text, Param("Key for its provider", metavar="KEY")] = ""
    base_url: Annotated[str, _Text, Param("Server that speaks Chat Completions", metavar="URL")] = ""
    discord_token: Annotated[str, _Text, Param("Token of the Discord bot", metavar="TOKEN")] = ""
    discord_owner: Annotated[str, _Text, Param("Your Discord user ID", metavar="ID")] = ""
    bluesky_handle: Annotated[str, _Text, Param("Handle of the Bluesky account", metavar="HANDLE")] = ""
    bluesky_password: Annotated[str, _Text, Param("App password for that account", metavar="PASSWORD")] = ""
    embedder: Annotated[str, _Text, Param("Embedding model, such as packaged or none", metavar="MODEL")] = ""


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
        done = _("Wrote {file} (starter: {starter}). Look through it. Next:", file=self.file, starter=self.starter)
        used = _("{before} was used before. Its agents stay, and the next start adds those of the file.")
        return [
            ink.text(done),
            _("- `carina` starts a chat right here, with the offline model."),
            _("- CARINA_MODEL and a provider's key in .env choose a language model."),
            _("- DISCORD_TOKEN and DISCORD_OWNER_ID in .env connect Discord (see README.md)."),
            _("- `carina service install` starts Carina with the system."),
            _("- `carina init --help` lists a flag for each of these settings."),
            *([ink.text(used.format(before=self.before))] if self.before else []),
        ]


@dataclass(frozen=True)
class Beginning:
    """What is needed before a first start."""

    config: Config

    @operation(
        "init",
        "Set up Carina: answer a few questions, and get carina.toml and .env",
        Action.EXAMINE,
        Options(via=_HERE, changes=True),
    )
    async def write(self, _caller: Caller, arguments: WriteFile) -> Written:
        """One that is there stays as it is."""
        path, home = self.config.file, self.config.home
        answers = Answers(**arguments.model_dump(exclude={"starter"}))
        toml = answers.toml(starter_text(arguments.starter))
        _require_usable(toml, answers.environment())
        write_both(path, toml, path.with_name(".env"), answers.environment())
        used = home.joinpath("global.db").exists()
        return Written(file=str(path), starter=arguments.starter, before=str(home) if used else "")

    @operation("invite-url", "Print the link that adds the bot to a Discord server", Action.EXAMINE, Options(via=_HERE))
    async def invite(self, _caller: Caller, arguments: Application) -> Sentence:
        """With the least permissions it needs. Raises CallError for what is no id."""
        given = arguments.application
        if not (given.isascii() and given.isdecimal() and len(given) <= 20):
            raise CallError(
                _(
                    "{given!r} is not an application ID, which has digits only. Copy it from “General Information” of "
                    "your application in Discord's developer portal.",
                    given=given,
                )
            )
        return Sentence(text=invite_url(int(given)))


def _require_usable(toml: str, environment: Mapping[str, str]) -> None:
    """Raise UserError, which names what is wrong, where no service could start with these."""
    with tempfile.TemporaryDirectory(prefix="carina-") as folder:
        Path(folder, "carina.toml").write_text(toml, "utf-8")
        try:
            load_config(environment, Path(folder))
        except ConfigError as error:
            raise UserError(_("Nothing was written: {error}", error=error)) from error


def starter_text(starter: Starter) -> str:
    """The file of a starter."""
    return resources.files("bot.config.templates").joinpath(f"{starter}.toml").read_text("utf-8")
