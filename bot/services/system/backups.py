"""Backups for people: create and list them; the daily job. A restore requires the service to be stopped."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from bot.agents.permissions.roles_and_rights import Action
from bot.errors import UserError
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.registry import Options, Param, operation
from bot.services.results import Entry, Listing, Markdown, Markup, Row
from memory.store import backups
from memory.store.backups import Backup
from memory.store.clock import Clock
from memory.store.database import Database
from memory.store.errors import StoreError
from memory.store.logs import Log
from scheduler.job_kinds import DueJob, Kinds, WorkJob
from texts import _, error_text, gettext_lazy, ngettext, size_text

BACKUP = "backup"

_CREATES = Options(changes=True, seconds=3_600.0)
_log = Log("bot.services.system.backups")


_To = Annotated[Path | None, Param("Folder for a copy, ideally on another disk", metavar="PATH", via=TERMINAL_ONLY)]


class BackupRow(Row):
    name: str
    made: datetime | None = Field(validation_alias="at")
    files: int = 0
    bytes: int = Field(default=0, validation_alias="size")
    reason: str = ""
    """The reason it cannot be restored."""
    copied_to: str = ""

    @classmethod
    def from_backup(cls, each: Backup) -> "BackupRow":
        return cls.from_record(each, files=len(each.files))

    def line(self, markup: Markup) -> str:
        name = "" if isinstance(markup, Markdown) else f"{markup.text(self.name)}, "  # restored at a terminal, by name
        if self.made is None:
            return f"{name}{markup.text(self.reason)}"
        size = f"{ngettext('{count} file', '{count} files', self.files)}, {size_text(self.bytes)}"
        copied = _("; copied to {copied_to}", copied_to=markup.text(self.copied_to)) if self.copied_to else ""
        return f"{name}{markup.time(self.made)} ({size}){copied}"


@dataclass(frozen=True)
class Backups:
    """The backups of one data folder; the newest `keep` are kept."""

    titles: ClassVar = {"backup": "Back up and restore all data"}

    folder: Path
    clock: Clock
    keep: int
    _one: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    """Held while one is created, because unfinished ones are deleted then."""

    def kinds(self) -> Kinds:
        return {BACKUP: WorkJob(self.daily)}

    async def daily(self, _database: Database, _firing: DueJob) -> str:
        made = await self._make()
        return gettext_lazy("{size}, verified", size=size_text(made.size))

    @operation("backup.create", "Create and verify a backup now", Action.BACKUP, _CREATES)
    async def create(self, _caller: Caller, to: _To = None) -> Entry[BackupRow]:
        row = BackupRow.from_backup(made := await self._make())
        if to is not None:
            try:
                copy = await asyncio.to_thread(backups.copy_to, made, to)
            except StoreError as error:
                raise UserError(
                    "The backup “{name}” was created, but not copied: {error}.", name=made.name, error=error
                ) from error
            row = row.model_copy(update={"copied_to": str(copy)})
        return Entry(done=_("Created and verified"), row=row)

    @operation("backup.list", "List the backups, newest first", Action.BACKUP)
    async def list_backups(self, _caller: Caller) -> Listing[BackupRow]:
        found = await asyncio.to_thread(backups.listing, self.folder)
        damaged = await asyncio.to_thread(backups.damaged, self.folder)
        broken = (BackupRow(name=name, made=None, reason=words) for name, words in damaged.items())
        return Listing.of((*map(BackupRow.from_backup, found), *broken), _("There are no backups yet."))

    async def _make(self) -> Backup:
        try:
            async with self._one:
                made = await asyncio.to_thread(backups.create, self.folder, self.clock())
                gone = await asyncio.to_thread(backups.rotate, self.folder, self.keep, made)
                damaged = await asyncio.to_thread(backups.damaged, self.folder)
        except StoreError as error:
            raise UserError(error_text(error)) from error
        for name, words in damaged.items():
            _log.warning("backup_damaged", name=name, reason=words)
        _log.info("backup_created", name=made.name, files=len(made.files), size=made.size, deleted=len(gone))
        return made
