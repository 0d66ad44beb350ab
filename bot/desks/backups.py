"""Backups for people: making and listing them; the daily job. Putting one back needs the service to be stopped."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from bot import policy
from bot.errors import UserError
from bot.policy import Action, Approver, People
from memory import backups
from memory.amounts import many
from memory.backups import Backup
from memory.clock import Clock
from memory.errors import StoreError
from scheduler.jobs import Firing, Kinds, Working
from sources.terminal import PERSON

BACKUP = "backup"

_OWNER = Approver(PERSON, door="command line")
_log = structlog.get_logger("bot.desks.backups")


@dataclass(frozen=True)
class Backups:
    """The backups of one data folder; the newest `keep` stay."""

    folder: Path
    people: People
    clock: Clock
    keep: int
    _one: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    """Held while one is made: what is unfinished then is deleted."""

    def add(self, kinds: Kinds) -> None:
        """Make the daily job known."""
        kinds.add(Working(BACKUP, self.daily))

    async def daily(self, _firing: Firing) -> str:
        """Make one, and delete what is too old."""
        made = await self._make()
        return f"{made.name}, {made.size:,} bytes, verified"

    async def create(self, who: Approver) -> str:
        """Make one now; gives words for who asked. Raises UserError."""
        policy.require(self.people, who, Action.BACKUP)
        made = await self._make()
        return f"Backup {made.name} is made and verified: {many(len(made.files), 'file')}, {made.size:,} bytes."

    async def listed(self, who: Approver) -> list[dict[str, Any]]:
        """Those that are there, newest first, then those that are damaged, as plain data. Raises UserError."""
        policy.require(self.people, who, Action.BACKUP)
        found = await asyncio.to_thread(backups.listing, self.folder)
        whole = [
            {"name": each.name, "made": each.at, "files": len(each.files), "bytes": each.size, "reason": ""}
            for each in found
        ]
        damaged = await asyncio.to_thread(backups.damaged, self.folder)
        return whole + [
            {"name": name, "made": "", "files": 0, "bytes": 0, "reason": words} for name, words in damaged.items()
        ]

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {"backup.create": self.owner_create, "backup.list": self.owner_list}

    async def owner_create(self) -> list[dict[str, Any]]:
        """Make one."""
        return [{"text": await self.create(_OWNER)}]

    async def owner_list(self) -> list[dict[str, Any]]:
        """List them."""
        return await self.listed(_OWNER)

    async def _make(self) -> Backup:
        try:
            async with self._one:
                made = await asyncio.to_thread(backups.create, self.folder, self.clock())
                gone = await asyncio.to_thread(backups.rotate, self.folder, self.keep)
                damaged = await asyncio.to_thread(backups.damaged, self.folder)
        except StoreError as error:
            raise UserError(str(error)) from error
        for name, words in damaged.items():
            _log.warning("backup_damaged", name=name, reason=words)
        _log.info("backed_up", name=made.name, files=len(made.files), size=made.size, deleted=len(gone))
        return made
