"""Runs an operation in the process of the command, while it holds the data folder and no service runs."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack, closing
from typing import Any

from bot.agents.permissions.roles_and_rights import People
from bot.config import Config, load_here
from bot.errors import ConfigError, UserError
from bot.interfaces.cli.data_folder import loaded
from bot.interfaces.control import operations
from bot.interfaces.control.client import Reply, View
from bot.interfaces.exit_codes import exit_code
from bot.redactor import Redactor
from bot.services.names import NO_CONSTELLATION, find
from bot.services.registry import Clocks, Guard, Registry
from memory.queue import place_settings
from memory.store.clock import utc_now
from memory.store.constellations import constellations
from memory.store.data_folder import DataFolder
from memory.store.database import Rows
from memory.store.errors import FolderLocked, StoreError
from memory.store.faults import faults
from memory.store.ids import PersonId
from memory.store.records import replace
from memory.store.sqlite import connect, driver
from sources.terminal import PERSON
from texts import _, error_text, gettext_noop, speak

NOT_RUNNING = gettext_noop("Carina is not running. `carina run` starts it; reminders arrive only while it runs.")
"""In addition to the time limit for later replies."""


def load_settings(*, beginning: bool = False) -> Config:
    """The configuration of this process, with its fault point armed. Raises ConfigError."""
    config = load_here(beginning=beginning)
    if config.fault:
        try:
            faults.arm(config.fault)
        except ValueError as error:
            raise ConfigError(
                "CARINA_FAULT: {error}; expected a value such as outbox.sending:after", error=error_text(error)
            ) from None
    return config


def log_to(config: Config, *, as_json: bool = False, level: str = "info") -> None:
    redactor = Redactor(config.secrets())
    loaded("bot.logs").setup_logs(redactor, as_json=as_json, level=level, no_color=config.no_color)


def _in_constellation(config: Config, name: str) -> Config:
    """The configuration as if that constellation were the configured one, for commands that only use files."""
    section = config.constellation.model_copy(update={"name": name or config.constellation.name})
    return config.model_copy(update={"constellation": section})


def _require_constellation(config: Config, name: str) -> None:
    """Raise UserError if there is data, but none of this constellation."""
    folder = DataFolder(config.home)
    if folder.global_db.exists():
        with closing(connect(folder.global_db, read_only=True)) as raw:
            find(constellations(Rows(raw), folder.path), name, NO_CONSTELLATION)


def local_registry(config: Config, by: str, constellation: str = "") -> Registry:
    """A registry for the owner at the terminal, the only caller here; `by` is a class, as "module:Name".

    It works on the named constellation; settings of accounts, such as the language, are those of the configured one.
    """
    module, _colon, name = by.partition(":")
    made = getattr(loaded(module), name)(_in_constellation(config, constellation))

    async def zone_of(_person: PersonId) -> str:
        return config.schedule.zone_name()

    def language(_person: PersonId) -> str:
        return _chosen_language(config)

    guard = Guard(People((PERSON,)), lambda _person: False, Redactor(config.secrets()).clean)
    return Registry([made], guard, Clocks(utc_now, zone_of, language))


def _chosen_language(config: Config) -> str:
    """The language that the owner chose, read without opening the constellation; empty if that cannot be read."""
    folder = DataFolder(config.home)
    try:
        with closing(connect(folder.global_db, read_only=True)) as raw:
            found = constellations(Rows(raw), folder.path)
        path = next((each.path for each in found if each.name == config.constellation.name), None)
        if path is None:
            return ""
        with closing(connect(path, read_only=True)) as raw:
            held = place_settings.settings(Rows(raw))
    except driver.DatabaseError:  # the operation itself reports problems of a file
        return ""
    return next((each.value for each in held if (each.kind, each.subject) == ("language", PERSON)), "")


_LATER = frozenset({"remind.me", "remind.snooze", "events.add", "events.move"})


def reply(name: str, arguments: Mapping[str, Any], view: View, by: str) -> Reply:
    """The reply of an operation. Raises FolderLocked if another process uses the folder.

    `by` is the class for calls without a service; if it is empty, the services are opened here.
    """
    try:
        config = load_settings(beginning=name == "init")
        if view.constellation and name == "status" and by:  # the only one that neither opens it nor creates it
            speak(_chosen_language(config) or view.locale)
            _require_constellation(config, view.constellation)
        log_to(config, level="error")
        return asyncio.run(_reply(config, name, arguments, view, by))
    except FolderLocked:
        raise
    except (ConfigError, UserError, StoreError) as error:
        return Reply(error=error_text(error), code=exit_code(error))


async def _reply(config: Config, name: str, arguments: Mapping[str, Any], view: View, by: str) -> Reply:
    async with AsyncExitStack() as stack:
        if by:
            registry = local_registry(config, by, view.constellation)
        else:
            loaded("bot.interfaces.cli.database_files").require_data(config)
            opening = loaded("bot.services.served_folder")  # loads every service
            registry = await stack.enter_async_context(opening.open_registry(config, view.constellation))
        done = await operations.reply(registry, name, arguments, view)
    if name in _LATER and not view.as_json and done.text and not done.aside:
        return replace(done, aside=_(NOT_RUNNING))
    return done
