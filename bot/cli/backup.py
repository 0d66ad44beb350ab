"""`carina backup`: copies of the data folder, for the owner. Putting one back needs the folder alone."""

from typing import Annotated, Any

import typer

from bot.cli import streams
from bot.cli.holder import holder_of
from bot.cli.people import Administer, Json, told
from bot.cli.printing import print_found
from bot.config import Config
from bot.desks.erasing import Eraser
from bot.errors import CallError, UserError
from memory import backups
from memory.clock import utc_now
from memory.constellation import Constellations
from memory.errors import DatabaseOutdated, FolderLocked
from memory.folder import DataFolder
from memory.people import privacy


def add_backup(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    group = typer.Typer(help="Verified copies of everything, and putting one back.")
    app.add_typer(group, name="backup")

    @group.command("create")
    def create(as_json: Json = False) -> None:
        """Make and verify a backup now, also while the service runs."""
        administer(told("backup.create", "", within=None), as_json)

    @group.command("list")
    def listed(as_json: Json = False) -> None:
        """Show the backups, newest first."""
        administer(told("backup.list", "There are no backups yet."), as_json)

    @group.command("restore")
    def restore(
        name: Annotated[str, typer.Argument(help="Which, as `carina backup list` names it.")],
        yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")] = False,
        as_json: Json = False,
    ) -> None:
        """Put a backup in the place of what is there; who was erased stays erased. Not while the service runs."""
        if not yes and not streams.attended():
            raise CallError("backup restore: nobody can be asked here whether it is meant; expected --yes")
        if not yes and not typer.confirm(f"Put {name} in the place of everything that is there now?"):
            raise UserError("nothing was restored")
        administer(put_back, as_json, name)


async def put_back(config: Config, name: str, *, as_json: bool) -> None:
    """Restore a backup, and say what came of the erasures that must hold."""
    folder = DataFolder(config.home)
    backup = next((each for each in backups.listing(folder.path) if each.name == name), None)
    if backup is None:
        where = folder.path / backups.FOLDER
        none = f"there is no backup {name!r} in {where}; `carina backup list` names them"
        raise UserError(backups.damaged(folder.path).get(name, none))
    try:
        with folder.lock():
            again = backups.restore(folder.path, backup)
            left = await _erase_again(folder)
    except FolderLocked as error:
        who = holder_of(folder) or "another process"
        raise FolderLocked(f"{who}, and restoring needs the data folder alone: stop it, then restore") from error
    waiting = again if left is None else left
    found: dict[str, Any] = {"name": name, "made": backup.at, "files": len(backup.files)}
    found |= {"erased_again": max(again - waiting, 0), "to_erase": waiting}
    words = [f"Everything is as it was at {backup.at}."]
    if found["erased_again"]:
        words.append(f"{_erasures(found['erased_again'], 'was', 'were')} done again.")
    if waiting:
        words.append(f"{_erasures(waiting, 'is', 'are')} NOT done yet, but at the next start.")
    if left is None:
        words.append("Run `carina db migrate`: the backup is of an older version.")
    elif left:
        words.append("If the backup is of an older version, run `carina db migrate` first.")
    print_found(found, [" ".join(words)], as_json=as_json)


def _erasures(count: int, one: str, many: str) -> str:
    return f"1 erasure that was asked for {one}" if count == 1 else f"{count} erasures that were asked for {many}"


async def _erase_again(folder: DataFolder) -> int | None:
    """Do the erasures that are begun in what was put back, and give how many are still to be done.

    None where the program cannot open it before migrating, so that none is done.
    """
    try:
        async with Constellations.open(folder.path, utc_now) as constellations:
            await Eraser(constellations, folder.path, utc_now).take_up()
            return len(await constellations.registry.read(privacy.open_erasures))
    except DatabaseOutdated:
        return None
