"""`carina db ...` and `carina inbox ...`: through the running service, or on the files when none runs."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bot import control
from bot.app import open_folder
from bot.approving import Approvals, approval_terms
from bot.archive import Archive
from bot.broker import Broker
from bot.community import open_community
from bot.config import Config
from bot.costs import Costs
from bot.errors import CallError, UserError
from bot.granting import Granting
from bot.houses import open_house
from bot.operations import Operations
from bot.privacy import receipt_lines, seen_lines
from bot.remembering import Remembering
from bot.steering import open_steering
from bot.tools import make_tools
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
    print_rows(rows, as_json=as_json, empty="There is no database yet; `carina run` makes one.")
    if any(each.version < each.needed for each in found):
        raise DatabaseOutdated("some files are older than this program: run `carina db migrate`")


def migrate_all(config: Config, *, as_json: bool) -> None:
    """Migrate what is older."""
    folder = open_folder(config)
    rows = []
    with folder.lock():
        for kind, path in _files(folder):
            before = status(path, kind).version
            copy = migrate(path, kind, utc_now())
            after = status(path, kind).version
            rows.append({"file": path.name, "from": before, "to": after, "copy": copy.name if copy else ""})
    print_rows(rows, as_json=as_json, empty="There is no database yet.")


async def vacuum(config: Config, *, as_json: bool) -> None:
    """Vacuum every file."""
    print_rows(await ask_service(config, "db.vacuum"), as_json=as_json, empty="There is no database yet.")


async def inbox_list(config: Config, wanted: str, limit: int, *, as_json: bool) -> None:
    """List inbox rows."""
    rows = await ask_service(config, "inbox.list", status=wanted, limit=limit)
    print_rows(rows, as_json=as_json, empty="Nothing was given up." if wanted else "Nothing has arrived yet.")


async def inbox_show(config: Config, row: int, *, as_json: bool) -> None:
    """Show one inbox row."""
    print_rows([await ask_service(config, "inbox.show", identifier=row)], as_json=as_json, empty="")


async def inbox_retry(config: Config, row: int, *, as_json: bool) -> None:
    """Try a dead row again."""
    print_rows([await ask_service(config, "inbox.retry", identifier=row)], as_json=as_json, empty="")


async def switch(config: Config, operation: str, *, as_json: bool) -> None:
    """Halt the running service, or let it go on. Raises UserError when none runs."""
    folder = DataFolder(config.home)
    if not config.home.exists() or folder.holder() is None:
        raise UserError("no service runs on this data folder, so there is nothing to halt or release")
    print_rows(await control.ask(folder, operation), as_json=as_json, empty="")


async def permits_list(config: Config, *, as_json: bool) -> None:
    """List what waits for a yes, and what was allowed for longer."""
    found = await ask_service(config, "permits.list")
    if as_json:
        print_data(found)
        return
    print_rows(found["requests"], as_json=False, empty="Nothing waits for your yes.")
    print_rows(found["grants"], as_json=False, empty="Nothing was allowed for longer.")


async def permits_show(config: Config, request: int, *, as_json: bool) -> None:
    """Show one request with its arguments."""
    found = await ask_service(config, "permits.show", request=request)
    if as_json:
        print_data(found)
    else:
        Console(highlight=False, soft_wrap=True).print(f"{found['text']}\n{found['arguments']}", markup=False)


async def permits_answer(config: Config, request: int, verdict: str, *, as_json: bool) -> None:
    """Answer one request. Raises UserError when the answer does not count."""
    found = await ask_service(config, "permits.answer", request=request, verdict=verdict)
    if not found["counted"]:
        raise UserError(found["text"])
    print_rows([found], as_json=as_json, empty="")


async def permits_revoke(config: Config, grant: int, *, as_json: bool) -> None:
    """End one grant."""
    print_rows([await ask_service(config, "permits.revoke", grant=grant)], as_json=as_json, empty="")


async def permits_audit(config: Config, limit: int, *, as_json: bool) -> None:
    """Print the record."""
    rows = await ask_service(config, "permits.audit", limit=limit)
    print_rows(rows, as_json=as_json, empty="Nothing was ever asked.")


async def privacy_see(config: Config, person: str, *, as_json: bool) -> None:
    """Print how much is kept about somebody."""
    found = await ask_service(config, "privacy.see", person=person)
    if as_json:
        print_data(found)
    else:
        print_lines(seen_lines(found, you=False))


async def privacy_export(config: Config, person: str, *, as_json: bool) -> None:
    """Print everything that is kept about somebody: as one document, or a line for each row."""
    found = await ask_service(config, "privacy.export", person=person)
    if as_json:
        print_data(found)
        return
    rows = [
        {"constellation": name, "store": store, "row": json.dumps(row, ensure_ascii=False)}
        for name, stores in found["constellations"].items()
        for store, held in stores.items()
        for row in held
    ]
    print_rows(rows, as_json=False, empty="Nothing is kept about them.")


async def privacy_choose(config: Config, person: str, choice: str, *, as_json: bool) -> None:
    """Pause, opt out or resume for somebody."""
    print_rows([await ask_service(config, "privacy.choose", person=person, choice=choice)], as_json=as_json, empty="")


async def privacy_erase(config: Config, person: str, *, as_json: bool) -> None:
    """Erase somebody, however long that takes, and print the receipt."""
    receipt = await ask_service(config, "privacy.erase", None, person=person)
    if as_json:
        print_data(receipt)
    else:
        print_lines(receipt_lines(receipt))


async def tell(config: Config, operation: str, empty: str, *, as_json: bool, **arguments: Any) -> None:
    """Have something done or looked up, and print the rows that come of it."""
    print_rows(await ask_service(config, operation, **arguments), as_json=as_json, empty=empty)


def invite(application: str) -> str:
    """The install link for an application. Raises CallError for what is no id."""
    if not re.fullmatch(r"[0-9]{1,20}", application):
        raise CallError(
            f"{application!r} is no application id, which is digits only; copy the Application ID under "
            "General Information of your application in Discord's developer portal"
        )
    return invite_url(int(application))


async def ask_service(config: Config, operation: str, within: float | None = 30, **arguments: Any) -> Any:
    """Ask the service that holds the folder, waiting so many seconds, or do it here when none does."""
    folder = DataFolder(config.home)
    if not folder.global_db.exists():
        raise UserError(f"there is no data in {config.home} yet; `carina run` or `carina chat` begins")
    if folder.holder() is not None:
        return await control.ask(folder, operation, within=within, **arguments)
    with folder.lock():
        async with Constellations.open(folder.path, utc_now) as constellations:
            house, answering = await open_house(config, constellations, PersonId(PERSON), utc_now)
            operations = Operations(constellations, house, lambda *_lane: None)
            approvals = Approvals(constellations, house, Broker(approval_terms(config)), utc_now, lambda: None)
            community = await open_community(config, approvals, (folder.path, utc_now))
            steering = await open_steering(config, approvals, answering)
            books = (
                Remembering(constellations, house, approvals.people, utc_now),
                Costs(constellations, house, approvals.people, utc_now),
                Archive(constellations, house, approvals.people, utc_now),
                Granting(constellations, house, approvals.people, utc_now, make_tools({})),
            )
            doors = operations, approvals, community, steering, *books
            handlers = {name: handler for door in doors for name, handler in door.handlers().items()}
            return await handlers[operation](**arguments)


def _files(folder: DataFolder) -> list[tuple[Kind, Any]]:
    found: list[tuple[Kind, Any]] = []
    if folder.global_db.exists():
        found.append((Kind.GLOBAL, folder.global_db))
    found += [(Kind.CONSTELLATION, path) for path in sorted(folder.path.glob("constellations/*/carina.db"))]
    return found


def _statuses(folder: DataFolder) -> list[Status]:
    return [status(path, kind) for kind, path in _files(folder)]


def print_lines(lines: Sequence[str]) -> None:
    """Print lines as they are."""
    Console(highlight=False, soft_wrap=True).print("\n".join(lines), markup=False)


def print_data(data: Any) -> None:
    """Print one JSON document."""
    Console(highlight=False, soft_wrap=True).print(json.dumps(data, ensure_ascii=False, indent=2), markup=False)


def print_rows(rows: Sequence[Mapping[str, Any]], *, as_json: bool, empty: str) -> None:
    """Print rows: as JSON, as a table on a terminal, else one a line, with tabs between."""
    console = Console(highlight=False, soft_wrap=True)
    if as_json:
        print_data(rows)
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
