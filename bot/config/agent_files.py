"""Agents and groups as TOML files: parsed with the types of the whole file, and written in the same form.

The tables are those of `carina.toml`, so they can be copied between the files.
"""

import importlib
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from pydantic import BaseModel, ValidationError

from bot.config.file_settings import Agent, FileSettings, Group
from bot.config.loader import Config, problems_of
from bot.config.problems import file_problems
from bot.errors import ConfigError
from texts import _


class Exchange(Struct, frozen=True):
    """The content of such a file."""

    agents: tuple[Agent, ...] = ()
    groups: tuple[Group, ...] = ()


def read_exchange(text: str, name: str, *, needed: bool = True) -> Exchange:
    """The agents and groups of a file; other tables are checked and ignored. Raises ConfigError.

    `needed`: a file with neither is an error.
    """
    try:
        data = tomllib.loads(text)
        settings = FileSettings.model_validate(data)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError("{name}: not valid TOML: {error}", name=name, error=error) from error
    except ValidationError as error:
        raise _wrong([f"{name}: {problem}" for problem in file_problems(error, data, FileSettings)]) from error
    if needed and not {"agents", "groups"} & data.keys():
        raise ConfigError("{name}: found neither [[agents]] nor [[groups]]; expected at least one of them", name=name)
    return Exchange(settings.agents if "agents" in data else (), settings.groups)


def read_agent(data: Mapping[str, Any]) -> Agent:
    """One agent's table. Raises ConfigError."""
    return _read({"agents": [dict(data)]}).agents[0]


def read_group(data: Mapping[str, Any]) -> Group:
    """One group's table. Raises ConfigError."""
    return _read({"groups": [dict(data)]}).groups[0]


def problem_with(section: type[BaseModel], **values: Any) -> str:
    """The first problem with these values of a table, without its location; empty if there is none."""
    try:
        section.model_validate(values)
    except ValidationError as error:
        return file_problems(error, values, section)[0].partition(": ")[2]
    return ""


def require_sound(config: Config, agents: Sequence[Agent], groups: Sequence[Group]) -> None:
    """Raise ConfigError if these agents and groups contradict each other in that service."""
    whole = config.model_copy(update={"agents": tuple(agents), "groups": tuple(groups)})
    if problems := [problem.removeprefix(f"{config.file.name}: ") for problem in problems_of(whole)]:
        raise _wrong(problems)


def write_exchange(agents: Sequence[Mapping[str, Any]] = (), groups: Sequence[Mapping[str, Any]] = ()) -> str:
    tables = {"agents": list(agents), "groups": list(groups)}
    said = {name: [_plain(each) for each in given] for name, given in tables.items() if given}
    return str(importlib.import_module("tomlkit").dumps(said))  # imported only to write such a file


def _read(data: dict[str, Any]) -> FileSettings:
    try:
        return FileSettings.model_validate(data)
    except ValidationError as error:
        raise _wrong(file_problems(error, data, FileSettings)) from error


def _wrong(problems: Sequence[str]) -> ConfigError:
    return ConfigError("\n  ".join([_("these settings cannot be used:"), *problems]))


def _plain(value: Any) -> Any:
    """A value as TOML can write it: without None, and with multi-line texts."""
    match value:
        case Mapping():
            return {key: _plain(each) for key, each in value.items() if each is not None}
        case str():
            several = "\n" in value and "\r" not in value  # TOML only keeps plain line feeds as such
            return importlib.import_module("tomlkit").string(value, multiline=several)
        case Sequence():
            return [_plain(each) for each in value]
    return value
