"""What is configured and where it came from; of a secret only whether it is set."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, SecretStr

from bot.agents.permissions.policy import Action
from bot.config import Config
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.registry import Options, operation
from bot.services.results import Ink, Listing, Row
from texts import _

_LONG = 200
_ELSEWHERE = frozenset({"agents", "groups", "mcp"})
"""Sections that have pages and commands of their own."""


class SettingRow(Row):
    """One setting."""

    name: str
    value: str
    origin: str
    """"environment", "file" or "default"."""
    secret: bool = False

    def line(self, ink: Ink) -> str:
        return ink.text(f"{self.name} = {self.value} ({self.origin})")


@dataclass(frozen=True)
class Settings:
    """The configuration of a running service."""

    config: Config

    @operation("settings", "Show what is configured and where it came from", Action.EXAMINE, Options(via=TERMINAL_ONLY))
    async def show(self, _caller: Caller) -> Listing[SettingRow]:
        """Every setting but those of agents and groups, which have commands of their own."""
        return Listing(rows=tuple(_rows(self.config)), empty=_("Nothing is configured."))


def _rows(config: Config) -> Iterator[SettingRow]:
    for name in ("home", "file"):
        yield SettingRow(name=f"files.{name}", value=str(getattr(config, name)), origin="environment or default")
    for name in type(config).model_fields:
        held = getattr(config, name, None)
        if isinstance(held, BaseModel) and name not in _ELSEWHERE:
            yield from _section(name, held)
    for name in ("discord_token", "discord_client_secret", "bluesky_password", "embedding_key"):
        yield _secret(f"secrets.{name}", getattr(config, name))
    for provider, key in config.keys.items():
        yield _secret(f"secrets.{provider}_key", key)


def _section(name: str, held: BaseModel) -> Iterator[SettingRow]:
    for field in type(held).model_fields:
        value = getattr(held, field)
        if isinstance(value, BaseModel):
            yield from _section(f"{name}.{field}", value)
        elif isinstance(value, SecretStr):
            yield _secret(f"{name}.{field}", value)
        else:
            origin = "file or environment" if field in held.model_fields_set else "default"
            yield SettingRow(name=f"{name}.{field}", value=_words(value), origin=origin)


def _secret(name: str, value: SecretStr | None) -> SettingRow:
    return SettingRow(name=name, value=_("set") if value else _("not set"), origin="environment or .env", secret=True)


def _words(value: Any) -> str:
    match value:
        case bool():
            return _("yes") if value else _("no")
        case None | "":
            return _("not set")
        case Mapping():
            text = ", ".join(f"{key}: {_words(each)}" for key, each in value.items())
        case tuple() | frozenset() | list():
            text = ", ".join(map(_words, value))
        case _:
            text = str(value)
    return text[:_LONG] or _("none")
