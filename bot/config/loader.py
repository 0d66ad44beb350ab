"""Reads the environment, `.env` and the file, and combines them."""

import difflib
import importlib
import io
import os
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError

from bot.agents.groups.settings import Member
from bot.config.bluesky import check_handle
from bot.config.file_settings import Agent, FileSettings, Group
from bot.config.group_problems import group_problems
from bot.config.mcp import agent_problems, server_problems, variables
from bot.config.problems import (
    environment_problem,
    file_problems,
    folder_problem,
    located,
    nearest,
    shown,
    unmet,
    unset,
)
from bot.config.values import (
    KEY_OF_PROVIDER,
    OFFLINE,
    ApiUrl,
    DiscordId,
    ModelName,
    Section,
    Token,
    check_embedding,
    check_url,
    split_list,
)
from bot.errors import ConfigError
from bot.redactor import Redactor
from memory.search.embedding.choice import Choice
from texts import _, gettext_lazy, gettext_noop

_BLUESKY = "https://bsky.social"
_LIKE = 0.8  # minimum similarity of a name to count as one of ours; DISCORD_BOT_TOKEN and OPENAI_KEY do


def read_dotenv(path: Path, problems: list[str]) -> dict[str, str]:
    """The variables in the file, empty if it does not exist; unreadable lines are added to `problems`."""
    if not path.is_file():
        return {}
    reader, parser = (importlib.import_module(f"dotenv.{each}") for each in ("main", "parser"))
    try:
        lines = list(parser.parse_stream(io.StringIO(path.read_text("utf-8"))))
    except (OSError, UnicodeDecodeError) as error:
        problems.append(
            _(
                "{file}: cannot be read ({error}); expected a text file in UTF-8",
                file=path.name,
                error=type(error).__name__,
            )
        )
        return {}
    problems += [
        _(
            "{file}: line {line} cannot be read; expected NAME=value on each line",
            file=path.name,
            line=each.original.line,
        )
        for each in lines
        if each.error
    ]
    text = "".join(each.original.string for each in lines if not each.error)
    found = reader.dotenv_values(stream=io.StringIO(text))
    if None in found.values():
        problems.append(_("{file}: a line has no value; expected NAME=value on each line", file=path.name))
    return {name: value for name, value in found.items() if value}


def misspelled(given: Collection[str], used: Collection[str]) -> dict[str, str]:
    """Names that resemble a setting's, by that setting. `used` are those of MCP servers; CARINA_… is always ours."""
    others = sorted(name for name in {*given} - {*_NAMES} - {*used} if not name.startswith("CARINA_"))
    near = {name: difflib.get_close_matches(name, _PUBLIC, n=1, cutoff=_LIKE) for name in others}
    return {meant[0]: name for name, meant in near.items() if meant}


class Environment(Section):
    """What is read from the environment and `.env`, under the names given as aliases."""

    home: Path = Field(default=Path("data"), alias="CARINA_HOME")
    """The data folder; it need not exist yet."""
    config: Path = Field(default=Path("carina.toml"), alias="CARINA_CONFIG")
    default_model: ModelName | None = Field(default=None, alias="CARINA_MODEL")
    fallback_models: Annotated[tuple[ModelName, ...], BeforeValidator(split_list)] | None = Field(
        default=None, alias="CARINA_FALLBACK_MODELS"
    )
    fault: str = Field(default="", alias="CARINA_FAULT")
    """Fault point to die at, for tests of crashes (`memory.store.faults`); empty for none."""
    no_color: Annotated[bool, BeforeValidator(bool)] = Field(default=False, alias="NO_COLOR")
    discord_token: Token | None = Field(default=None, alias="DISCORD_TOKEN")
    discord_owner: DiscordId = Field(default="", alias="DISCORD_OWNER_ID")
    """Empty if nobody on Discord is the owner."""
    discord_client: DiscordId = Field(default="", alias="DISCORD_CLIENT_ID")
    """The application for signing in to the dashboard; empty if that is off."""
    discord_client_secret: Token | None = Field(default=None, alias="DISCORD_CLIENT_SECRET")
    bluesky_handle: Annotated[str, AfterValidator(check_handle)] = Field(default="", alias="BLUESKY_HANDLE")
    bluesky_password: Token | None = Field(default=None, alias="BLUESKY_APP_PASSWORD")
    bluesky_service: Annotated[str, AfterValidator(partial(check_url, example=_BLUESKY))] = Field(
        default=_BLUESKY, alias="BLUESKY_SERVICE"
    )
    bluesky_poll_seconds: float = Field(default=2, ge=0.1, le=3_600, alias="BLUESKY_POLL_SECONDS")
    openai_key: Token | None = Field(default=None, alias="OPENAI_API_KEY")
    openai_base_url: ApiUrl = Field(default="", alias="OPENAI_BASE_URL")
    anthropic_key: Token | None = Field(default=None, alias="ANTHROPIC_API_KEY")
    google_key: Token | None = Field(default=None, alias="GOOGLE_API_KEY")
    groq_key: Token | None = Field(default=None, alias="GROQ_API_KEY")
    mistral_key: Token | None = Field(default=None, alias="MISTRAL_API_KEY")
    embedding_model: Annotated[str, AfterValidator(check_embedding)] = Field(
        default="packaged", alias="EMBEDDING_MODEL"
    )
    """"packaged", "none", "openai:<model>" or "ollama:<model>"."""
    embedding_base_url: ApiUrl = Field(default="", alias="EMBEDDING_BASE_URL")
    embedding_key: Token | None = Field(default=None, alias="EMBEDDING_API_KEY")
    replica_key: Token | None = Field(default=None, alias="LITESTREAM_ACCESS_KEY_ID")
    replica_secret: Token | None = Field(default=None, alias="LITESTREAM_SECRET_ACCESS_KEY")


_NAMES = [str(field.alias) for field in Environment.model_fields.values()]
_PUBLIC = [name for name in _NAMES if name != "CARINA_FAULT"]
"""Names that an error may suggest."""
_ENVIRONMENT = gettext_noop("environment")
SECRET = re.compile("KEY|TOKEN|SECRET|PASSWORD")
"""Parts of variable names whose values are never shown."""


class Config(FileSettings, Environment):
    """The whole configuration, in which the environment overrides the file."""

    file: Path
    """The TOML file; it need not exist unless it was named."""
    mcp_secrets: Mapping[str, SecretStr]
    """Secrets of MCP servers, by the name of the variable."""
    misspelled: Mapping[str, str]
    """Variables of the environment that resemble a setting, by that setting. No error: other programs use it, too."""
    origins: Mapping[str, str]
    """Where each variable that is set comes from: "environment" or ".env"."""

    @property
    def keys(self) -> Mapping[str, SecretStr]:
        """Keys by provider ("openai", ...)."""
        found: dict[str, SecretStr | None] = {each: getattr(self, f"{each}_key") for each in KEY_OF_PROVIDER}
        return {provider: key for provider, key in found.items() if key is not None}

    @property
    def default_group(self) -> Group:
        """The default group."""
        return next(group for group in self.groups if group.default)

    def model_of(self, agent: Agent) -> str:
        """An agent's model: its own, else the default."""
        return agent.model or self.model.default

    def embedder(self, model: str = "") -> Choice:
        """The requested embedder, or that of a folder's own model, with its key; OpenAI's own server also accepts the
        key of its models. The configured server and key apply to one provider only."""
        model, (provider, apart, _) = model or self.embedding_model, self.embedding_model.partition(":")
        ours = not apart or model.startswith(f"{provider}:")
        url, key = (self.embedding_base_url, self.embedding_key) if ours else ("", None)
        if key is None and model.startswith("openai:") and not url:
            key = self.keys.get("openai")
        return Choice(model, url, key.get_secret_value() if key else "")

    @property
    def serves_bluesky(self) -> bool:
        return bool(self.bluesky_handle) and self.bluesky_password is not None

    @property
    def sources(self) -> list[str]:
        """The configured front ends, besides the terminal."""
        there = {"discord": self.discord_token is not None, "bluesky": self.serves_bluesky}
        return [name for name, configured in there.items() if configured]

    def unset(self) -> dict[str, str]:
        """The parts that are not configured, each with its setting."""
        found = {}
        if all(self.model_of(agent) == OFFLINE for agent in self.agents):
            found[gettext_noop("language model")] = "CARINA_MODEL"
        if self.discord_token is None:
            found["discord"] = self._setting("DISCORD_TOKEN")
        elif not self.discord_owner:
            found[gettext_noop("owner on Discord")] = self._setting("DISCORD_OWNER_ID")
        if not self.serves_bluesky:
            found["bluesky"] = gettext_noop("BLUESKY_HANDLE and BLUESKY_APP_PASSWORD")
        if not self.web.fetch:
            found[gettext_noop("reading the web")] = "[web] fetch"
        if not self.web.search:
            found[gettext_noop("searching the web")] = "[web] search"
        return found

    def _setting(self, name: str) -> str:
        written = self.misspelled.get(name)
        return gettext_lazy("{setting}, not {written}", setting=name, written=written) if written else name

    def secrets(self) -> tuple[str, ...]:
        held = [given for _name, given in self if isinstance(given, SecretStr)]
        urls = [self.openai_base_url, self.embedding_base_url, self.telemetry.otlp]
        urls += [server.url for server in self.mcp.values()]
        passwords = [urlsplit(url).password for url in urls]
        held += self.mcp_secrets.values()
        return (*(secret.get_secret_value() for secret in held), *filter(None, passwords))


def load_here(*, beginning: bool = False) -> Config:
    """The configuration of this process: its environment and its current folder. Raises ConfigError."""
    return load_config(os.environ, Path.cwd(), beginning=beginning)


def environment(**more: str) -> dict[str, str]:
    """The environment for a child process."""
    return {**os.environ, **more}


def load_config(environ: Mapping[str, str], cwd: Path, *, beginning: bool = False) -> Config:
    """Read everything once. Raises ConfigError with one line for each problem; none of them shows a secret.

    `beginning`: the file that CARINA_CONFIG names need not exist yet.
    """
    problems: list[str] = []
    dotenv, set_here = read_dotenv(cwd / ".env", problems), {name: value for name, value in environ.items() if value}
    named = (dotenv | set_here).get("CARINA_CONFIG", "")
    path = _path("CARINA_CONFIG", named or "carina.toml", cwd, problems)
    if path.parent.absolute() != cwd.absolute():
        dotenv = read_dotenv(path.with_name(".env"), problems) | dotenv
    given = dotenv | set_here
    environment = _read_environment(given, environ, problems)
    settings = _read_file(path, bool(named) and not beginning, problems)
    if settings:
        problems += [
            _("{key}: unknown setting; {hint}", key=f"{name} (.env)", hint=nearest(name, [meant]))
            for meant, name in misspelled(dotenv, variables(settings.mcp)).items()
        ]
    home = _path("CARINA_HOME", given.get("CARINA_HOME", "data"), cwd, problems)
    if why := folder_problem(home):
        problems.append(
            unmet("CARINA_HOME", str(home), _("a folder that you can write to or create, but {why}", why=why))
        )
    if environment and settings:
        config = _compose(environment, settings, (home, path), given, environ)
        problems += [
            *problems_of(config),
            *_check_pairs(config),
            *_check_embedding(config),
            *_check_replica(config),
            *server_problems(path.name, config.mcp, config.mcp_secrets, config.limits.tool_seconds),
            *_check_approvals(config),
        ]
        if not problems:
            return config
    hidden = Redactor(value for name, value in given.items() if SECRET.search(name))
    raise ConfigError("\n  ".join([_("the configuration cannot be used:"), *map(hidden.text, problems)]))


def problems_of(config: Config) -> list[str]:
    foreign = agent_problems(config.file.name, config.mcp, {agent.name: agent.tools for agent in config.agents})
    return [*_check_groups(config), *_check_models(config), *foreign]


def _path(name: str, text: str, cwd: Path, problems: list[str]) -> Path:
    try:
        return located(text, cwd)
    except ValueError as error:
        problems.append(unmet(name, shown(text), str(error)))
        return cwd


def _hint(name: str) -> str:
    if name.startswith(("CARINA_LANG", "CARINA_LOCALE")):
        return _("`carina language` sets your language; LANGUAGE, such as LANGUAGE=de, sets it for one command")
    return nearest(name, _PUBLIC)


def _read_environment(given: Mapping[str, str], environ: Mapping[str, str], problems: list[str]) -> Environment | None:
    def where(name: str) -> str:
        return _("{name} (environment)", name=name) if environ.get(name) else f"{name} (.env)"

    unknown = [name for name in sorted(given.keys() - set(_NAMES)) if name.startswith("CARINA_")]
    problems += [_("{key}: unknown setting; {hint}", key=where(name), hint=_hint(name)) for name in unknown]
    try:
        return Environment.model_validate({name: given[name] for name in _NAMES if name in given})
    except ValidationError as error:
        problems += [environment_problem(item, where(str(item["loc"][0]))) for item in error.errors()]
        return None


def _read_file(path: Path, required: bool, problems: list[str]) -> FileSettings | None:
    data = {}
    try:
        if not path.exists() and not required:
            return FileSettings()
        data = tomllib.loads(path.read_text("utf-8"))
        return FileSettings.model_validate(data)
    except ValidationError as error:
        problems += [f"{path.name}: {problem}" for problem in file_problems(error, data, FileSettings)]
    except tomllib.TOMLDecodeError as error:
        problems.append(_("{name}: not valid TOML: {error}", name=path.name, error=error))
    except UnicodeDecodeError:
        problems.append(_("{name}: not UTF-8 text; expected a TOML file", name=path.name))
    except OSError as error:
        hint = _(" (`carina init` writes one)") if isinstance(error, FileNotFoundError) else ""
        problems.append(
            _(
                "{name} (CARINA_CONFIG): cannot be read: {error}; expected a TOML file{hint}",
                name=path.name,
                error=error.strerror,
                hint=hint,
            )
        )
    return None


def _compose(
    environment: Environment,
    settings: FileSettings,
    paths: tuple[Path, Path],
    given: Mapping[str, str],
    environ: Mapping[str, str],
) -> Config:
    """Combine the parts; `paths` are the data folder and the file."""
    named = {"default": environment.default_model, "fallback": environment.fallback_models}
    chosen = {key: value for key, value in named.items() if value is not None}
    sections = {name: getattr(settings, name) for name in FileSettings.model_fields}
    return Config.model_construct(
        **{
            **sections,
            **dict(environment),
            "home": paths[0],
            "file": paths[1],
            "mcp_secrets": {name: SecretStr(given[name]) for name in variables(settings.mcp) if name in given},
            "misspelled": misspelled(environ, variables(settings.mcp)),
            "origins": {each: _ENVIRONMENT if environ.get(each) else ".env" for each in _NAMES if each in given},
            "model": settings.model.model_copy(update=chosen),
            "groups": _complete(settings),
            "embedding_model": settings.constellation.embedding_model or environment.embedding_model,
        }
    )


def _complete(settings: FileSettings) -> tuple[Group, ...]:
    """The groups, where a single one is the default; without any, one for the only agent."""
    groups = settings.groups
    if not groups and len(settings.agents) == 1:
        groups = (Group(members=(Member(agent=settings.agents[0].name),)),)
    return (groups[0].model_copy(update={"default": True}),) if len(groups) == 1 else groups


def _twice(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _check_groups(config: Config) -> Iterator[str]:
    """Problems that no single table shows: names must be unique and refer to something."""
    file, agents = config.file.name, [agent.name for agent in config.agents]
    patrols = [patrol.name.casefold() for agent in config.agents for patrol in agent.patrols]
    named = (
        ("agents", map(str.casefold, agents), _("different names")),
        ("groups", (group.name.casefold() for group in config.groups), _("different names")),
        ("agents.patrols", patrols, _("different names, even for different agents")),
    )
    labeled = {f'agents["{agent.name}"].blocks': [each.label for each in agent.blocks] for agent in config.agents}
    labeled["constellation.blocks"] = [each.label for each in config.constellation.blocks]
    for key, names, wanted in named:
        for name in _twice(names):
            yield unmet(f"{file}: {key}", _('two named "{name}"', name=name), wanted)
    for key, labels in labeled.items():
        for label in _twice(labels):
            yield unmet(f"{file}: {key}", _('two labeled "{label}"', label=label), _("different labels"))
    if not agents:
        yield unmet(f"{file}: agents", _("none"), _("at least one, or no agents key at all, to get the default agent"))
    elif not config.groups:
        found = _("none (agents: {count})", count=len(agents))
        wanted = _(
            'a [[groups]] table with name = "Main" and default = true, and below it, for each agent that answers, a '
            '[[groups.members]] table such as agent = "{agent}"',
            agent=agents[0],
        )
        yield unmet(f"{file}: groups", found, wanted)
    yield from group_problems(file, config.groups, agents)


def _check_models(config: Config) -> Iterator[str]:
    """Every requested provider must have its key."""
    wanted = {config.model.default: _("CARINA_MODEL or model.default")}
    wanted |= dict.fromkeys(config.model.fallback, _("CARINA_FALLBACK_MODELS or model.fallback"))
    named = {"model.upkeep": config.model.upkeep, "budgets.cheaper_model": config.budgets.cheaper_model}
    for key, model in named.items():
        if model:
            wanted.setdefault(model, key)
    wanted |= {agent.model: f'agents["{agent.name}"].model' for agent in config.agents if agent.model}
    for group in config.groups:
        wanted |= {
            each.model: f'groups["{group.name}"].members["{each.agent}"].model' for each in group.members if each.model
        }
    for model, key in wanted.items():
        provider = model.partition(":")[0]
        if provider == OFFLINE or provider in config.keys or (provider == "openai" and config.openai_base_url):
            continue
        also = _(" (or OPENAI_BASE_URL for a server that needs none)") if provider == "openai" else ""
        needed = _('a key{also}, because {key} is "{model}"', also=also, key=key, model=model)
        yield unset(KEY_OF_PROVIDER[provider], needed)


def _check_pairs(config: Config) -> Iterator[str]:
    """Of each pair, both must be set or neither."""
    for pair in (
        {"BLUESKY_HANDLE": config.bluesky_handle, "BLUESKY_APP_PASSWORD": config.bluesky_password},
        {"DISCORD_CLIENT_ID": config.discord_client, "DISCORD_CLIENT_SECRET": config.discord_client_secret},
    ):
        for name, other in zip(pair, reversed(pair), strict=True):
            if pair[other] and not pair[name]:
                yield unset(name, _("a value, because {other} is set", other=other))


def _check_replica(config: Config) -> Iterator[str]:
    """The replica must not copy itself, nor be lost together with the original."""
    if (found := config.backup.replica) and Path(found).is_relative_to(config.home.absolute()):
        yield unmet(f"{config.file.name}: backup.replica", shown(found), _("a folder outside the data folder"))
    if config.backup.litestream and sys.platform == "win32":
        yield unmet(f"{config.file.name}: backup.litestream", "true", _("false, because it needs Linux or macOS"))


def _check_embedding(config: Config) -> Iterator[str]:
    """OpenAI's own server requires a key."""
    choice = config.embedder()
    if choice.model.startswith("openai:") and not choice.key and not choice.url:
        also = _(" (or EMBEDDING_BASE_URL for a server that needs none)")
        wanted = _('a key{also}, because {key} is "{model}"', also=also, key="EMBEDDING_MODEL", model=choice.model)
        yield unset("EMBEDDING_API_KEY", wanted)


def _check_approvals(config: Config) -> Iterator[str]:
    """A quorum needs as many approvers; a role may have enough."""
    quorum, admins = config.approvals.quorum, config.discord.admins
    people = 1 + len(admins.persons - {config.discord_owner})
    if quorum > people and not any(admins.roles.values()):
        wanted = _(
            "at most {people}, counting you and discord.admins; otherwise, nothing could be approved", people=people
        )
        yield unmet(f"{config.file.name}: approvals.quorum", str(quorum), wanted)
