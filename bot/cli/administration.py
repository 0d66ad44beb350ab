"""`carina db ...` and `carina inbox ...`: through the running service, or on the files when none runs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bot import control
from bot.config import Config
from bot.errors import UserError
from bot.houses import open_house
from bot.operations import Operations
from memory.clock import utc_now
from memory.constellation import Constellations
from memory.errors import DatabaseOutdated
from memory.folder import DataFolder
from memory.ids import PersonId
from memory.migrations import Kind, Status, migrate, status
from sources.discord.invite import invite_url
from sources.terminal import PERSON


def show_status(config: Config, *, as_json: bool) -> None:
    """Print the version of every file. Raises DatabaseOutdated when one has to be migrated."""
    found = _statuses(DataFolder(config.home))
    rows = [
        {
            "file": str(each.path.relative_to(config.home)),
            "version": each.version,
            "needed": each.needed,
            "bytes": each.path.stat().st_size,
        }
        for each in found
    ]
    _print(rows, as_json=as_json, empty="There is no database yet; `carina run` makes one.")
    if any(each.version < each.needed for each in found):
        raise DatabaseOutdated("some files are older than this program: run `carina db migrate`")


def migrate_all(config: Config, *, as_json: bool) -> None:
    """Migrate what is older."""
    folder = DataFolder(config.home)
    folder.prepare()
    rows = []
    with folder.lock():
        for kind, path in _files(folder):
            before = status(path, kind).version
            copy = migrate(path, kind, utc_now())
            after = status(path, kind).version
            rows.append({"file": path.name, "from": before, "to": after, "copy": copy.name if copy else ""})
    _print(rows, as_json=as_json, empty="There is no database yet.")


async def vacuum(config: Config, *, as_json: bool) -> None:
    """Vacuum every file."""
    _print(await _ask(config, "db.vacuum"), as_json=as_json, empty="There is no database yet.")


async def inbox_list(config: Config, wanted: str, limit: int, *, as_json: bool) -> None:
    """List inbox rows."""
    rows = await _ask(config, "inbox.list", status=wanted, limit=limit)
    _print(rows, as_json=as_json, empty="Nothing was given up." if wanted else "Nothing has arrived yet.")


async def inbox_show(config: Config, row: int, *, as_json: bool) -> None:
    """Show one inbox row."""
    _print([await _ask(config, "inbox.show", identifier=row)], as_json=as_json, empty="")


async def inbox_retry(config: Config, row: int, *, as_json: bool) -> None:
    """Try a dead row again."""
    _print([await _ask(config, "inbox.retry", identifier=row)], as_json=as_json, empty="")


def invite(application: str) -> str:
    """The install link for an application. Raises UserError for what is no id."""
    if not application.isdecimal():
        raise UserError(f"{application!r} is no application id: it is the number under General Information")
    return invite_url(int(application))


async def _ask(config: Config, operation: str, **arguments: Any) -> Any:
    """Ask the service that holds the folder, or do it here when none does."""
    folder = DataFolder(config.home)
    if not folder.global_db.exists():
        raise UserError(f"there is no data in {config.home} yet; `carina run` or `carina chat` begins")
    if folder.holder() is not None:
        return await control.ask(folder, operation, **arguments)
    with folder.lock():
        async with Constellations.open(folder.path, utc_now) as constellations:
            house, _answering = await open_house(config, constellations, PersonId(PERSON), utc_now)
            operations = Operations(constellations, house, lambda *_lane: None)
            return await operations.handlers()[operation](**arguments)


def _files(folder: DataFolder) -> list[tuple[Kind, Any]]:
    found: list[tuple[Kind, Any]] = []
    if folder.global_db.exists():
        found.append((Kind.GLOBAL, folder.global_db))
    found += [(Kind.CONSTELLATION, path) for path in sorted(folder.path.glob("constellations/*/carina.db"))]
    return found


def _statuses(folder: DataFolder) -> list[Status]:
    return [status(path, kind) for kind, path in _files(folder)]


def _print(rows: Sequence[Mapping[str, Any]], *, as_json: bool, empty: str) -> None:
    console = Console(highlight=False, soft_wrap=True)
    if as_json:
        console.print(json.dumps(rows, ensure_ascii=False, indent=2), markup=False)
        return
    if not rows:
        console.print(empty, markup=False)
        return
    if not console.is_terminal:  # for other programs: one row a line
        console.print("\t".join(rows[0]), markup=False)
        for row in rows:
            console.print("\t".join(" ".join(str(value).split()) for value in row.values()), markup=False)
        return
    table = Table(box=None, pad_edge=False)
    for name in rows[0]:
        # What is copied from here, or is always short, stands on one line; texts take what is left.
        table.add_column(name.replace("_", " "), overflow="fold", no_wrap=name not in ("last_error", "text", "place"))
    for row in rows:
        table.add_row(*(escape(str(value)) for value in row.values()))
    console.print(table)
