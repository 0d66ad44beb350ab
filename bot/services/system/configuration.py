"""Compares agents and groups of the configuration file with the database, and applies the file.

A start creates what the database does not know and leaves the rest, so later changes of a table are applied here.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct
from pydantic import BaseModel, SecretStr

from bot.agents.permissions.roles_and_rights import Action
from bot.config import Agent, Config, Group
from bot.config.agent_files import Exchange, read_exchange
from bot.config.loader import SECRET, Environment
from bot.errors import UserError
from bot.redactor import MASK
from bot.services.agents.toml_tables import Changes, Difference, Tables
from bot.services.caller import Caller
from bot.services.registry import AT_TERMINAL, CHANGES_AT_TERMINAL, operation
from bot.services.results import Lines, Listing, Markup, Row
from memory import agent_groups, agents
from memory.store.database import Rows
from texts import _, gettext_noop

_LONG = 200
_ELSEWHERE = frozenset({"agents", "groups", "mcp"})
"""Sections with pages and commands of their own."""
_PATHS = {"home": "CARINA_HOME", "file": "CARINA_CONFIG"}
_ALSO_IN_FILE = {"model.default": "CARINA_MODEL", "model.fallback": "CARINA_FALLBACK_MODELS"}
"""Settings of the file that an environment variable overrides."""
_UNSHOWN = frozenset({*_PATHS.values(), *_ALSO_IN_FILE.values(), "CARINA_FAULT", "NO_COLOR"})
_CREDENTIALS = re.compile(r"(?<=://)[^/\s]+@")
"""The name and password in a URL."""
_DEFAULT, _FILE = gettext_noop("default"), gettext_noop("file")


class SettingRow(Row):
    name: str
    value: str
    origin: str
    """"environment", ".env", "file" or "default"."""
    secret: bool = False

    def line(self, markup: Markup) -> str:
        return self.told(markup, "{name} = {value} ({origin})", origin=_(self.origin))


class ConfigurationFile(Struct, frozen=True):
    """The settings at the start of the service, and the file in its current form."""

    titles: ClassVar = {"config": "Show and apply changes in carina.toml"}

    config: Config
    tables: Tables

    @property
    def path(self) -> Path:
        return self.config.file

    @operation(
        "config.diff", "Show how agents and groups in carina.toml differ from the database", Action.STATUS, AT_TERMINAL
    )
    async def diff(self, _caller: Caller) -> Lines[Difference]:
        same = gettext_noop("Agents and groups match {file}.")
        empty = _(same if self.path.exists() else gettext_noop("There is no {file}."), file=self.path.name)
        file, there = self._read(), self.path.exists()
        beside = await self.tables.database.read(lambda rows: _only_stored(rows, file)) if there else []
        return Lines.of([*await self.tables.differences(file), *beside], empty)

    @operation(
        "config.apply", "Apply the agents and groups in carina.toml to the database", Action.AGENTS, CHANGES_AT_TERMINAL
    )
    async def apply(self, _caller: Caller) -> Changes:
        """Apply the tables that differ, all or none; memory stays as it is."""
        file = self._read()
        differing = {(each.kind, each.name) for each in await self.tables.differences(file)}
        agents = tuple(each for each in file.agents if ("agent", each.name) in differing)
        groups = tuple(each for each in file.groups if ("group", each.name) in differing)
        if differing:
            return await self.tables.save(Exchange(agents, groups))
        same = gettext_noop("Nothing to apply: agents and groups match {file}.")
        return Lines.of([], _(same if self.path.exists() else gettext_noop("There is no {file}."), file=self.path.name))

    @operation("settings", "Show what is configured and where it comes from", Action.EXAMINE, AT_TERMINAL)
    async def show(self, _caller: Caller) -> Listing[SettingRow]:
        return Listing.of(_rows(self.config))

    def _read(self) -> Exchange:
        """Read the file. Raises UserError if it exists but cannot be used."""
        try:
            text = self.path.read_text("utf-8") if self.path.exists() else ""
            return read_exchange(text, self.path.name, needed=False)
        except (OSError, UnicodeDecodeError) as error:
            raise UserError("{path} cannot be read: {error}.", path=self.path, error=error) from error


def _only_stored(rows: Rows, file: Exchange) -> list[Difference]:
    """Stored agents and groups that are not in the file and are not the ones created without a table."""
    kinds = (
        ("agent", agents.every_agent(rows), file.agents or (Agent(),)),
        ("group", agent_groups.groups(rows), file.groups or (Group(),)),
    )
    return [
        Difference(kind=kind, name=each.name, only="database")
        for kind, stored, tables in kinds
        for each in stored
        if each.name not in {table.name for table in tables}
    ]


def _rows(config: Config) -> Iterator[SettingRow]:
    for name, variable in _PATHS.items():
        origin = config.origins.get(variable, _DEFAULT)
        yield SettingRow(name=f"files.{name}", value=str(getattr(config, name)), origin=origin)
    for name in type(config).model_fields:
        held = getattr(config, name, None)
        if isinstance(held, BaseModel) and name not in _ELSEWHERE:
            yield from _section(config, name, held)
    for name, field in Environment.model_fields.items():
        if (variable := str(field.alias)) not in _UNSHOWN:
            yield _variable(config, variable, getattr(config, name))


def _section(config: Config, name: str, held: BaseModel) -> Iterator[SettingRow]:
    for field in type(held).model_fields:
        value, path = getattr(held, field), f"{name}.{field}"
        if isinstance(value, BaseModel):
            yield from _section(config, path, value)
        else:
            origin = _FILE if field in held.model_fields_set else _DEFAULT
            origin = config.origins.get(_ALSO_IN_FILE.get(path, ""), origin)
            yield SettingRow(name=path, value=_words(value), origin=origin)


def _variable(config: Config, name: str, value: Any) -> SettingRow:
    origin = config.origins.get(name, _DEFAULT)
    if name == "EMBEDDING_MODEL" and config.constellation.embedding_model:
        origin = _FILE  # which overrides the variable here
    return SettingRow(name=name, value=_words(value), origin=origin, secret=bool(SECRET.search(name)))


def _words(value: Any) -> str:
    match value:
        case bool():
            return _("yes") if value else _("no")
        case None | "":
            return _("not set")
        case SecretStr():
            return _("set")
        case BaseModel():
            return _words(value.model_dump(exclude_none=True))
        case Mapping():
            text = ", ".join(f"{key}: {_words(each)}" for key, each in value.items())
        case tuple() | frozenset() | list():
            text = ", ".join(map(_words, value))
        case _:
            text = _CREDENTIALS.sub(f"{MASK}@", str(value))
    return text[:_LONG] or _("none")
