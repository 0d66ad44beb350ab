"""`carina doctor` and `carina restart`: check and restart the service from outside."""

import asyncio
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from bot.agents.permissions.who_may import Action
from bot.config import Config
from bot.errors import UserError
from bot.interfaces.cli.database_files import File, examine
from bot.interfaces.client import not_running
from bot.interfaces.diagnostics import (
    examine_approvals,
    examine_backups,
    examine_databases,
    examine_directives,
    examine_folder,
    examine_outside,
    examine_service,
)
from bot.interfaces.service_client import Holder, holder_of
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.registry import Options, operation
from bot.services.results import ActionReport, report
from bot.services.status_results import Findings
from memory.agents import models_named
from memory.store.clock import from_text, utc_now
from memory.store.errors import StoreError
from memory.store.folder import DataFolder
from memory.store.migrations import Kind
from sources.diagnostics import Finding, State
from texts import _, error_text

_CHECKS = Options(via=TERMINAL_ONLY, seconds=300.0)
_RESTARTS = Options(via=TERMINAL_ONLY, changes=True, running=True, seconds=300.0)
_LOOKS, _LOOK_SECONDS = 300, 0.2  # at least a minute until it answers again


class Installation(Struct, frozen=True):
    """Checks the installation, whether the service runs or not."""

    config: Config

    @operation("doctor", "Check the installation and suggest fixes", Action.EXAMINE, _CHECKS)
    async def examine(self, _caller: Caller) -> Findings:
        folder = DataFolder(self.config.home)
        files = examine(folder)
        stored, unread = _stored_models(files)
        found = [
            *examine_folder(folder),
            *examine_databases(len(files), [file.problem for file in files if file.problem]),
            *unread,
            *([examine_backups(folder, utc_now())] if files else []),
            *examine_directives(folder),
            *examine_approvals(self.config),
        ]
        holder = holder_of(folder)
        status, told = await _status(holder)
        ask = holder.data if holder is not None and status is not None else None
        parts = await asyncio.gather(*examine_outside(self.config, utc_now, ask, status, stored))
        return Findings.of_checks([*found, *told, *(each for part in parts for each in part)])

    @operation("restart", "Restart the service gracefully", Action.RESTART, _RESTARTS)
    async def restart(self, _caller: Caller) -> ActionReport:
        """Restart the service, and wait until it answers. Raises UserError."""
        folder = DataFolder(self.config.home)
        holder = holder_of(folder)
        if holder is None:
            raise not_running(folder)
        before = (await holder.data("status"))["started"]
        await holder.data("restart")
        for _look in range(_LOOKS):
            await asyncio.sleep(_LOOK_SECONDS)
            status, _told = await _status(holder_of(folder))
            if status is not None and status["started"] != before:
                return report(_("The service restarted at {started}."), started=from_text(status["started"]))
        raise UserError(
            "The service did not come back within {seconds} seconds. Check its log.",
            seconds=f"{_LOOKS * _LOOK_SECONDS:.0f}",
        )


def _stored_models(files: Iterable[File]) -> tuple[list[tuple[str, str]], list[Finding]]:
    """The models that stored agents name, whether their files are served or not, and the files that cannot be read."""
    found, unread = [], []
    for file in files:
        if file.kind is Kind.CONSTELLATION and not file.problem:
            try:
                named = models_named(file.path)
            except StoreError as error:
                unread.append(Finding("database", State.PROBLEM, error_text(error)))
                continue
            found += [(model, f"the agent {agent} in {file.path.parent.name}") for model, agent in named]
    return found, unread


async def _status(holder: Holder | None) -> tuple[dict[str, Any] | None, list[Finding]]:
    """The status that a running service reports."""
    if holder is None:
        return None, examine_service(None)
    try:
        status: dict[str, Any] = await holder.data("status")
    except UserError as error:
        return None, [Finding("service", State.PROBLEM, error_text(error))]
    return status, examine_service(status)
