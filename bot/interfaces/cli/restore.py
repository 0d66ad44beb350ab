"""`carina backup list` and `restore` while no service runs: a backup, or the replica of Litestream, is restored."""

from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from pydantic import Field

from bot.agents.permissions.roles_and_rights import Action
from bot.config import Config
from bot.errors import UserError
from bot.interfaces.control.client import hold
from bot.runtime.replication import replica_of
from bot.services.caller import TERMINAL_ONLY, Caller, Via
from bot.services.people.person_erasure import Eraser
from bot.services.registry import Options, Param, operation
from bot.services.results import Listing, Markup, Result
from bot.services.system.backups import BackupRow, Backups
from memory.erasure.deleted_since_backup import take_out
from memory.store import backups, erasure_records
from memory.store.clock import from_text, utc_now
from memory.store.constellations import Constellations
from memory.store.data_folder import UNFINISHED_RESTORE, DataFolder
from memory.store.errors import DatabaseOutdated, StoreError
from texts import _, error_text, gettext_noop, ngettext

_ENDS = gettext_noop(
    "The current data is backed up first, if it can be read. Sign-ins, tokens and lasting permissions will end."
)
_ASK = Options(via=TERMINAL_ONLY, changes=True, asks=True, seconds=3_600.0)

_Name = Annotated[str, Param("Name of the backup, as listed", positional=True)]
_Replica = Annotated[bool, Param("Restore Litestream's latest copy")]


class RestoreResult(Result):
    """The restored backup, and the erasures that were repeated or are pending."""

    name: str
    made: datetime
    files: int
    erased_again: int
    to_erase: int
    missing: tuple[str, ...] = ()
    """Files that were not in the replica yet, and are empty now."""
    set_aside: list[str] = Field(default=[])
    """Constellations that are newer than the backup; their files are in `deleted/`."""
    saved: str = ""
    """The backup of the replaced data; empty if that could not be read."""
    outdated: bool | None = Field(exclude=True)
    """Whether it must be migrated first; None if that is unknown."""

    def lines(self, markup: Markup) -> list[str]:
        words = [_("Restored everything as it was on {at}.", at=markup.time(self.made))]
        if self.saved:
            words.append(_("The previous data is in the backup “{name}”.", name=self.saved))
        words.append(
            _(
                "Sign-ins to the dashboard, tokens and lasting permissions have ended: sign in again, create new "
                "tokens with `carina token create`, and give permissions again."
            )
        )
        if self.set_aside:
            names = ", ".join(self.set_aside)
            words.append(_("Constellations that are newer than the backup are in deleted/ now: {names}.", names=names))
        if self.erased_again:
            words.append(_("Repeated {erasures}.", erasures=_erasures(self.erased_again)))
        if self.to_erase:
            words.append(
                _("Not repeated yet: {erasures}. The next start will repeat them.", erasures=_erasures(self.to_erase))
            )
        if self.missing:
            words.append(_("Too new to be in the replica, and empty now: {files}.", files=", ".join(self.missing)))
        if self.outdated:
            words.append(_("Run `carina db migrate` now: the backup is from an older version."))
        elif self.outdated is None:
            words.append(_("If the backup is from an older version, run `carina db migrate` first."))
        return [" ".join(words)]


class Restore(Struct, frozen=True):
    config: Config

    @operation("backup.list", "List the backups, newest first", Action.BACKUP, Options(via=frozenset(Via)))
    async def list_backups(self, caller: Caller) -> Listing[BackupRow]:
        """List backups without opening the databases, which may be what has to be restored."""
        return await Backups(self.config.home, utc_now, keep=0).list_backups(caller)

    @operation("backup.restore", "Restore a backup, replacing all data; erased people stay erased", Action.BACKUP, _ASK)
    async def restore(self, caller: Caller, name: _Name = "", from_replica: _Replica = False) -> RestoreResult:
        folder, missing = DataFolder(self.config.home), tuple[str, ...]()
        alone = _("Stop it, then restore.")
        if from_replica == bool(name):
            raise UserError("Name a backup, or give --from-replica.")
        if folder.path.is_dir():
            with hold(folder, alone):  # no question about something impossible
                pass
        if from_replica:
            caller.confirm("\n".join([_("Replace all current data with Litestream's latest copy?"), _(_ENDS)]))
            name, missing = await self._fetched(folder, alone)
        backup = next((each for each in backups.listing(folder.path) if each.name == name), None)
        if backup is None:
            where = folder.path / backups.FOLDER
            none = _("There is no backup “{name}” in {where}. `carina backup list` shows them.", name=name, where=where)
            raise UserError(backups.damaged(folder.path).get(name, none))
        if not from_replica:
            caller.confirm("\n".join([_("Replace all current data with the backup “{name}”?", name=name), _(_ENDS)]))
        with hold(folder, alone):
            saved = _saved(folder.path)
            again, newer = backups.restore(folder.path, backup, take_out)
            left = await _erase_again(folder)
        waiting = again if left is None else left
        return RestoreResult(
            name=name, made=from_text(backup.at), files=len(backup.files), erased_again=max(again - waiting, 0),
            to_erase=waiting, missing=missing, set_aside=newer, saved=saved,
            outdated=True if left is None else None if left else False,
        )  # fmt: skip

    async def _fetched(self, folder: DataFolder, alone: str) -> tuple[str, tuple[str, ...]]:
        replica = replica_of(self.config)
        if replica is None:
            raise UserError("There is no replica. Set litestream and replica in [backup].")
        try:
            folder.prepare()
            with hold(folder, alone):
                made, missing = await replica.fetch(utc_now())
                return made.name, tuple(map(str, missing))
        except StoreError as error:
            raise UserError(error_text(error)) from error


def _saved(folder: Path) -> str:
    """Back up the data to be replaced; returns an empty name if it cannot be read or is itself half restored."""
    with suppress(StoreError):
        return "" if (folder / UNFINISHED_RESTORE).exists() else backups.create(folder, utc_now()).name
    return ""


def _erasures(count: int) -> str:
    return ngettext("{count} requested erasure", "{count} requested erasures", count)


async def _erase_again(folder: DataFolder) -> int | None:
    """Finish the erasures that are open in the restored data; returns how many remain.

    None if the data must be migrated before it can be opened, so that none was repeated.
    """
    try:
        async with Constellations.open(folder.path, utc_now) as constellations:
            await Eraser.at_rest(constellations, folder.path, utc_now).take_up()
            return len(await constellations.registry.read(erasure_records.open_erasures))
    except DatabaseOutdated:
        return None
