"""`carina backup restore`: it needs the data folder alone, and no registry, as what is there may not open."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import Field

from bot.agents.permissions.policy import Action
from bot.config import Config
from bot.errors import UserError
from bot.interfaces.service_client import holder_of
from bot.services.caller import Caller, Via
from bot.services.erasure import Eraser
from bot.services.parameters import Arguments, Param
from bot.services.registry import Options, operation
from bot.services.results import Ink, Result
from memory.people import privacy
from memory.store import backups
from memory.store.clock import from_text, utc_now
from memory.store.constellation import Constellations
from memory.store.errors import DatabaseOutdated, FolderLocked
from memory.store.folder import DataFolder
from texts import _, ngettext

_QUESTION = "Replace all current data with the backup {name}?"


class RestoreBackup(Arguments):
    name: Annotated[str, Field(min_length=1), Param("Name of the backup, as listed")]


class Restored(Result):
    """What was put back, and what came of the erasures that must hold."""

    name: str
    made: datetime
    files: int
    erased_again: int
    to_erase: int
    outdated: bool | None = Field(exclude=True)
    """Whether it has to be migrated first; None where that is not known."""

    def lines(self, ink: Ink) -> list[str]:
        words = [_("Restored everything as it was on {at}.", at=ink.time(self.made))]
        if self.erased_again:
            words.append(_("Repeated {erasures}.", erasures=_erasures(self.erased_again)))
        if self.to_erase:
            words.append(
                _("NOT repeated yet: {erasures}. The next start does that.", erasures=_erasures(self.to_erase))
            )
        if self.outdated:
            words.append(_("Run `carina db migrate` now: the backup is from an older version."))
        elif self.outdated is None:
            words.append(_("If the backup is from an older version, run `carina db migrate` first."))
        return [" ".join(words)]


@dataclass(frozen=True)
class BackupFiles:
    """Backups as far as no service has to run."""

    titles: ClassVar = {"backup": "Back up and restore all data"}

    config: Config

    @operation(
        "backup.restore", "Restore a backup, replacing all data; erased people stay erased", Action.BACKUP,
        Options(via=frozenset({Via.TERMINAL}), changes=True, seconds=3_600.0, confirm=_QUESTION),
    )  # fmt: skip
    async def restore(self, _caller: Caller, arguments: RestoreBackup) -> Restored:
        """Not while a service runs."""
        name, folder = arguments.name, DataFolder(self.config.home)
        backup = next((each for each in backups.listing(folder.path) if each.name == name), None)
        if backup is None:
            where = folder.path / backups.FOLDER
            none = _("There is no backup {name!r} in {where}. `carina backup list` lists them.", name=name, where=where)
            raise UserError(backups.damaged(folder.path).get(name, none))
        try:
            with folder.lock():
                again = backups.restore(folder.path, backup)
                left = await _erase_again(folder)
        except FolderLocked as error:
            who = holder_of(folder) or _("Another process was using the data folder a moment ago")
            raise FolderLocked(_("{who}. Stop it, then restore.", who=who)) from error
        waiting = again if left is None else left
        return Restored(
            name=name,
            made=from_text(backup.at),
            files=len(backup.files),
            erased_again=max(again - waiting, 0),
            to_erase=waiting,
            outdated=True if left is None else None if left else False,
        )


def _erasures(count: int) -> str:
    return ngettext("{count} requested erasure", "{count} requested erasures", count)


async def _erase_again(folder: DataFolder) -> int | None:
    """Do the erasures that are begun in what was put back, and give how many are still to be done.

    None where the program cannot open it before migrating, so that none is done.
    """
    try:
        async with Constellations.open(folder.path, utc_now) as constellations:
            await Eraser.at_rest(constellations, folder.path, utc_now).take_up()
            return len(await constellations.registry.read(privacy.open_erasures))
    except DatabaseOutdated:
        return None
