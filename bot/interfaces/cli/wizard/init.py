"""`carina init`, which writes a first configuration file, and `carina invite-url`."""

import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import tomlkit
from msgspec import Struct
from pydantic import Field

from bot.agents.permissions.roles_and_rights import Action
from bot.config import Config, load_config, load_here
from bot.config.loader import environment, read_dotenv
from bot.errors import CallError, ConfigError, UserError
from bot.interfaces.cli.automatic_startup import no_manager
from bot.services.caller import Caller
from bot.services.registry import AT_TERMINAL, CHANGES_AT_TERMINAL, Arguments, Param, operation
from bot.services.results import Markup, Result
from memory.store.data_folder import DataFolder
from sources.discord.markup import invite_url
from texts import _

_PRIVATE, _USUAL = 0o600, 0o644

Starter: TypeAlias = Literal["plain", "adhd"]
_Text = Field(max_length=500)


class WriteFile(Arguments):
    """Settings to write; an empty one keeps the default or the current value. If carina.toml exists, only those of
    .env."""

    starter: Annotated[
        Starter, Param("Starter: plain (one agent) or adhd (six agents in five groups)", labels={"adhd": "ADHD"})
    ] = "plain"
    name: Annotated[str, _Text, Param("Name of the constellation", metavar="TEXT")] = ""
    owner: Annotated[str, _Text, Param("What agents call you at the terminal", metavar="TEXT")] = ""
    model: Annotated[str, _Text, Param("Language model, such as openai:gpt-5-mini", metavar="MODEL")] = ""
    api_key: Annotated[str, _Text, Param("API key for the model's provider", metavar="KEY")] = ""
    base_url: Annotated[str, _Text, Param("URL of a server with a Chat Completions API", metavar="URL")] = ""
    discord_token: Annotated[str, _Text, Param("Token of the Discord bot", metavar="TOKEN")] = ""
    discord_owner: Annotated[str, _Text, Param("Your Discord user ID", metavar="ID")] = ""
    bluesky_handle: Annotated[str, _Text, Param("Handle of the Bluesky account", metavar="HANDLE")] = ""
    bluesky_password: Annotated[str, _Text, Param("App password for the Bluesky account", metavar="PASSWORD")] = ""
    embedder: Annotated[str, _Text, Param("Embedding model, such as packaged or none", metavar="MODEL")] = ""
    web: Annotated[Literal["on", "off"], Param("The dashboard, for this machine only")] = "on"

    def environment(self) -> dict[str, str]:
        provider = self.model.partition(":")[0].upper()
        said = {
            f"{provider}_API_KEY": self.api_key if provider else "",
            "OPENAI_BASE_URL": self.base_url,
            "DISCORD_TOKEN": self.discord_token,
            "DISCORD_OWNER_ID": self.discord_owner,
            "BLUESKY_HANDLE": self.bluesky_handle,
            "BLUESKY_APP_PASSWORD": self.bluesky_password,
            "EMBEDDING_MODEL": self.embedder,
        }
        return {name: value for name, value in said.items() if value}

    def additions(self, file: Path) -> dict[str, str]:
        """The additions to an existing `.env`. Raises UserError if there are none, or if some do not belong there."""
        found = self.environment() | ({"CARINA_MODEL": self.model} if self.model else {})
        if not found or (self.starter, self.name, self.owner, self.web) != ("plain", "", "", "on"):
            require_new(file)
        return found

    def toml(self, starter: str) -> str:
        """A starter file with these settings; its comments stay."""
        document = tomlkit.parse(starter)
        for table, key, value in (
            ("constellation", "name", self.name),
            ("constellation", "owner", self.owner),
            ("model", "default", self.model),
        ):
            if value:
                document.setdefault(table, tomlkit.table())[key] = value
        if self.web == "off":
            document.setdefault("web", tomlkit.table()).setdefault("server", tomlkit.table())["listen"] = ""
        return tomlkit.dumps(document)


def dotenv_text(before: str, wanted: Mapping[str, str]) -> str:
    """The text of a `.env` with these variables, replacing earlier values. Raises UserError for an invalid value."""
    for name, value in wanted.items():
        if re.search(r"[\s'\"\\#$]", value):
            raise UserError("{name}: enter only the value, without spaces or quotation marks.", name=name)
    lines = ((line.strip().removeprefix("export ").partition("=")[0].strip(), line) for line in before.splitlines())
    kept = [line for name, line in lines if name not in wanted]
    return "\n".join([*kept, *(f"{name}={value}" for name, value in wanted.items())]) + "\n"


def require_new(file: Path) -> None:
    """Raise UserError if the file exists."""
    if file.exists():
        raise UserError(
            "{file} already exists and was not changed. Edit it by hand. To set up a language model, Discord or "
            "Bluesky, run `carina init` at a terminal, or give it flags such as --model.",
            file=file,
        )


def write_both(file: Path, toml: str | None, dotenv: Path, wanted: Mapping[str, str]) -> None:
    """Write both files, or `.env` alone; it keeps its other lines and is private.

    Raises UserError; then neither was changed.
    """
    if toml is not None:
        require_new(file)
    made: list[Path] = []
    try:
        if wanted:
            before = dotenv.read_text("utf-8") if dotenv.exists() else ""
            made.append(_beside(dotenv, dotenv_text(before, wanted), _PRIVATE))
        if toml is not None:
            made.append(_beside(file, toml, _USUAL))
        if wanted:
            made[0].replace(dotenv)
        if toml is not None:
            made[-1].replace(file)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            "{file} and {dotenv} could not be written: {error}.", file=file, dotenv=dotenv, error=error
        ) from error
    finally:
        for path in made:
            with suppress(FileNotFoundError):
                path.unlink()


def _beside(path: Path, text: str, mode: int) -> Path:
    part = path.with_name(f".{path.name}.new")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as written:
        written.write(text)
        written.flush()
        os.fsync(written.fileno())
    return part


_Application = Annotated[
        str, Field(min_length=1, max_length=100),
        Param("Application ID, from Discord's developer portal", example="1234", metavar="APPLICATION_ID")
    ]  # fmt: skip


class SetupFiles(Result):
    file: str
    starter: Starter
    before: str = Field(exclude=True)
    """A data folder that already has data; else empty."""
    added: bool = Field(exclude=True)
    """Whether only settings were added to a `.env`."""
    unset: frozenset[str] = Field(exclude=True)
    """What is not configured."""

    def lines(self, markup: Markup) -> list[str]:
        done = _("Wrote {file} (starter: {starter}). Review it. Next:", file=self.file, starter=self.starter)
        if self.added:
            done = _("Wrote {file}. Next (`carina restart` if Carina is already running):", file=self.file)
        used = _("{before} already has agents. They stay, and the next start adds those in the file.")
        model = _("- For a language model, set CARINA_MODEL and the provider's key in .env.")
        discord = _("- For Discord, set DISCORD_TOKEN and DISCORD_OWNER_ID in .env.")
        alone = {"language model", "discord", "bluesky"} <= self.unset
        return [
            markup.text(done),
            _("- `carina` starts a chat right here, with the offline model.")
            if alone
            else _("- `carina run` starts Carina. `carina chat` starts a chat right here."),
            *([model] if "language model" in self.unset else []),
            *([discord] if "discord" in self.unset else []),
            *([] if no_manager() else [_("- `carina service install` makes Carina start automatically.")]),
            _("- `carina init --help` lists a flag for each of these settings."),
            *([markup.text(used.format(before=self.before))] if self.before else []),
        ]


class Setup(Struct, frozen=True):
    config: Config

    @operation(
        "init",
        "Set up Carina: answer a few questions to create carina.toml and .env",
        Action.EXAMINE,
        CHANGES_AT_TERMINAL,
    )
    async def write(self, _caller: Caller, arguments: WriteFile) -> SetupFiles:
        path, home = self.config.file, self.config.home
        dotenv, added = path.with_name(".env"), path.exists()
        variables = arguments.additions(path) if added else arguments.environment()
        if arguments.model and "CARINA_MODEL" in read_dotenv(dotenv, []):  # takes precedence over carina.toml
            variables["CARINA_MODEL"] = arguments.model
        toml = path.read_text("utf-8") if added else arguments.toml(starter_text(arguments.starter))
        try:
            check_config(toml, variables, current_environment(path) if added else {})
        except ConfigError as error:
            raise UserError("Nothing was written: {error}", error=error) from error
        write_both(path, None if added else toml, dotenv, variables)
        used = not added and DataFolder(home).global_db.exists()
        return SetupFiles(
            file=str(dotenv if added else path),
            starter=arguments.starter,
            before=str(home) if used else "",
            added=added,
            unset=frozenset(load_here().unset()),
        )

    @operation("invite-url", "Print the link that adds the bot to a Discord server", Action.EXAMINE, AT_TERMINAL)
    async def invite(self, _caller: Caller, application: _Application) -> str:
        given = application
        if not (given.isascii() and given.isdecimal() and len(given) <= 20):
            raise CallError(
                "“{given}” is not an application ID, which has digits only. Copy it from your "
                "application's “General Information” page in Discord's developer portal.",
                given=given,
            )
        return invite_url(int(given))


def current_environment(file: Path) -> dict[str, str]:
    """The current settings in the environment and in `.env`, without Carina's own, such as its folder."""
    found = read_dotenv(file.with_name(".env"), []) | read_dotenv(Path(".env"), []) | environment()
    return {name: value for name, value in found.items() if not name.startswith("CARINA_")}


def check_config(toml: str, wanted: Mapping[str, str], around: Mapping[str, str]) -> Config:
    """The configuration of these and the current settings. Raises ConfigError, UserError if it is invalid."""
    with tempfile.TemporaryDirectory(prefix="carina-") as folder:
        Path(folder, "carina.toml").write_text(toml, "utf-8")
        Path(folder, ".env").write_text(dotenv_text("", wanted), "utf-8")
        return load_config({name: value for name, value in around.items() if name not in wanted}, Path(folder))


def starter_text(starter: Starter) -> str:
    return resources.files("bot.config.templates").joinpath(f"{starter}.toml").read_text("utf-8")
