"""`carina export`, `carina import` and `carina car inspect`: they work on files, in the process of the command."""

import asyncio
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, ClassVar, TypeVar

import click
from msgspec import Struct
from pydantic import Field

from bot.agents.permissions.roles_and_rights import Action
from bot.config import Config
from bot.errors import CallError, UserError
from bot.interfaces.cli import streams
from bot.interfaces.control.client import hold
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.names import NO_CONSTELLATION, find, find_agent, find_group, require_name
from bot.services.registry import Arguments, Options, Param, operation
from bot.services.results import Markup, Result
from memory.agent_groups import Group
from memory.agents import Agent
from memory.portability import destination
from memory.portability.car import About, CarError, Kind, shown
from memory.portability.destination import become_constellation, is_joined, join_constellation, require_new_name
from memory.portability.exported_tables import ExportScope
from memory.portability.exports import Origin, export
from memory.portability.imports import Import, Opener, VerifiedFile, is_sealed, opener, require_schema, stage, verify
from memory.portability.untrusted_imports import Checks
from memory.store import erasure_records
from memory.store.backups import RESTORING
from memory.store.clock import utc_now
from memory.store.constellations import Constellation, Constellations, constellations, require
from memory.store.data_folder import GLOBAL_DB, DataFolder, private_folder
from memory.store.database import Rows
from memory.store.migrations import Kind as File
from memory.store.migrations import check, migrations, status
from memory.store.records import replace
from memory.store.sqlite import connect, copy_database
from scheduler import triggers
from scheduler.zones import zone_of
from sources.terminal import PERSON
from texts import _, gettext_noop, size_text

N = TypeVar("N", Agent, Group)

_READS = Options(via=TERMINAL_ONLY, seconds=None)
_IMPORTS = Options(via=TERMINAL_ONLY, changes=True, seconds=None, default=True)


class Target(Arguments):
    output: Annotated[Path | None, Param("File to write (default: NAME.car here)", metavar="FILE", short="-o")] = None
    thin: Annotated[bool, Param("Leave out messages and activity; keep agents, memory, tasks and settings")] = False
    encrypt: Annotated[bool, Param("Ask for a passphrase, and encrypt the file with it")] = False
    passphrase_file: Annotated[Path | None, Param("Read the passphrase from this file", metavar="FILE")] = None


class ExportConstellation(Target):
    name: Annotated[str, Param("Name of the constellation (default: the configured one)", positional=True)] = ""


class ExportOne(Target):
    name: Annotated[str, Field(min_length=1), Param("Name of the agent or group", example="Carina")]


class OneFile(Arguments):
    file: Annotated[Path, Param("A CAR file exported by Carina", example="home.car")]
    passphrase_file: Annotated[Path | None, Param("Read the passphrase from this file", metavar="FILE")] = None


class ImportCar(OneFile):
    rename: Annotated[str, Param("Import the constellation or agent under this name", metavar="NAME")] = ""
    dry_run: Annotated[bool, Param("Only try it on a copy, and show what the file contains")] = False
    trust: Annotated[bool, Param("Keep permissions, trust and jobs unchanged; only for your own files")] = False


class Contents(Result):
    done: str = Field(exclude=True)
    kind: str
    name: str
    root: str
    thin: bool
    rows: dict[str, int]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, done: str, verified: VerifiedFile, notes: tuple[str, ...] = (), name: str = "") -> "Contents":
        about, tables = verified.manifest.about, verified.manifest.tables
        rows = {table: held.rows for table, held in sorted(tables.items()) if held.rows}
        root = shown(verified.root)
        return cls(
            done=done, kind=about.kind, name=name or about.name, root=root, thin=about.thin, rows=rows, notes=notes
        )

    def lines(self, markup: Markup) -> list[str]:
        held = "; ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in self.rows.items()) or _("none")
        whole = gettext_noop("{done}: the {kind} {name}")
        thin = gettext_noop("{done}: the {kind} {name}, without messages")
        notes = (_("Note: {note}.", note=each) for each in self.notes)
        head = self.told(markup, thin if self.thin else whole, kind=_(self.kind))
        return [head, self.told(markup, gettext_noop("Fingerprint: {root}")), _("Records: {rows}", rows=held), *notes]


class CarFiles(Struct, frozen=True):
    titles: ClassVar = {
        "export": "Export a constellation, a group or an agent to a file that Carina can import",
        "car": "Inspect exported files",
    }

    config: Config

    @operation("export.constellation", "Export a whole constellation", Action.EXPORT, _READS)
    async def export_constellation(self, _caller: Caller, arguments: ExportConstellation) -> Contents:
        found = self._constellation(arguments.name)
        return await self._export(found, "constellation", found, ExportScope(thin=arguments.thin), arguments)

    @operation("export.agent", "Export an agent with its memory and messages", Action.EXPORT, _READS)
    async def export_agent(self, _caller: Caller, arguments: ExportOne) -> Contents:
        found, agent = self._named(find_agent, arguments.name)
        return await self._export(found, "agent", agent, ExportScope((agent.id,), (), arguments.thin), arguments)

    @operation("export.group", "Export a group with its agents and their memory", Action.EXPORT, _READS)
    async def export_group(self, _caller: Caller, arguments: ExportOne) -> Contents:
        found, group = self._named(find_group, arguments.name)
        members = tuple(each.agent for each in group.members)
        return await self._export(found, "group", group, ExportScope(members, (group.id,), arguments.thin), arguments)

    @operation("car.inspect", "Verify an exported file and show what it contains", Action.EXPORT, _READS)
    async def inspect(self, _caller: Caller, arguments: OneFile) -> Contents:
        _open, verified = await _verified(arguments)
        return Contents.of(_("Verified"), verified)

    @operation("import.car", "Import an exported file", Action.AGENTS, _IMPORTS)
    async def import_car(self, _caller: Caller, arguments: ImportCar) -> Contents:
        """Import a file, which is verified completely before anything is changed. Not while a service runs.

        With `dry_run`, it is imported into a copy, so the report is that of a real import.
        """
        if arguments.rename:
            require_name(arguments.rename)
        open_file, verified = await _verified(arguments)
        require_schema(verified.manifest)
        folder = DataFolder(self.config.home)
        with progress_line(_("Importing")) as progress:
            now = utc_now()
            checks: Checks = {"trigger": partial(triggers.require_stored, now=now), "zone": zone_of}
            taken = Import(open_file, verified, folder.path, now, arguments.trust, progress, checks)
            if arguments.dry_run:
                done = _("This would be imported")
                with self._copied(taken.manifest.about.kind) as copy:
                    new = await self._take(replace(taken, folder=copy), arguments.rename)
            else:
                done = _("Imported")
                folder.prepare()
                with hold(folder, _("Stop it, then import.")):
                    new = await self._take(taken, arguments.rename)
        if not new:
            done = _("This file was already imported, so nothing was changed")
        return Contents.of(done, verified, tuple(taken.notes), arguments.rename if new else "")

    @contextmanager
    def _copied(self, kind: Kind) -> Iterator[Path]:
        """A temporary copy of the parts of the data folder that such an import reads."""
        home = self.config.home
        with TemporaryDirectory(prefix=RESTORING, dir=home if home.exists() else None) as made:
            copy, found = Path(made), list[Path]()
            if (registry := home / GLOBAL_DB).exists():
                with closing(connect(registry, read_only=True)) as raw:
                    known = constellations(Rows(raw), home)
                wanted = self.config.constellation.name
                found = [each.path for each in known if kind != "constellation" and each.name == wanted]
                found.append(registry)
            for path in found:
                copy_database(path, private_folder((copy / path.relative_to(home)).parent) / path.name)
            if (ledger := home / erasure_records.NAME).exists():
                shutil.copy(ledger, copy)
            yield copy

    async def _take(self, taken: Import, rename: str) -> bool:
        """Import the file; returns whether anything was new."""
        if taken.manifest.about.kind == "constellation":
            if not destination.placed(taken, rename):
                self._require_new_name(taken, rename)
                await asyncio.to_thread(stage, taken)
            await asyncio.to_thread(become_constellation, taken, PERSON, rename)
            return True
        async with Constellations.open(taken.folder, utc_now) as constellations:
            target = await constellations.ensure(self.config.constellation.name, PERSON)
        if is_joined(taken, target.path):
            destination.discard(taken)
            return False
        await asyncio.to_thread(stage, taken)
        try:
            await asyncio.to_thread(join_constellation, taken, target.path, rename)
        except CarError:
            destination.discard(taken)
            raise
        return True

    def _require_new_name(self, taken: Import, rename: str) -> None:
        registry = self.config.home / GLOBAL_DB
        if registry.exists():
            with closing(connect(registry, read_only=True)) as raw:
                require_new_name(Rows(raw), taken, rename)

    def _named(self, search: Callable[[Rows, str], N], name: str) -> tuple[Constellation, N]:
        """An agent or group of the configured constellation, and the constellation. Raises UserError."""
        found = self._constellation("")
        with closing(connect(found.path, read_only=True)) as raw:
            return found, search(Rows(raw), name)

    def _constellation(self, name: str) -> Constellation:
        """The constellation of that name, or the configured one, in this program's version.

        Raises UserError, and StoreError for a file of another version: its export would claim this one.
        """
        folder, wanted = DataFolder(self.config.home), name or self.config.constellation.name
        if not folder.global_db.exists():
            raise UserError("There is no data in {path} yet, so nothing can be exported.", path=folder.path)
        check(status(folder.global_db, File.GLOBAL))
        with closing(connect(folder.global_db, read_only=True)) as raw:
            found = find(constellations(Rows(raw), folder.path), wanted, NO_CONSTELLATION)
        require(found.path)
        check(status(found.path, File.CONSTELLATION))
        return found

    async def _export(
        self, found: Constellation, kind: Kind, of: Constellation | Agent | Group, part: ExportScope, arguments: Target
    ) -> Contents:
        name = "".join(each if each.isalnum() else "-" for each in of.name)
        target = arguments.output or Path.cwd() / f"{name}.car"
        if target.exists():
            raise UserError(
                "{path} already exists, so nothing was written. Name another file with `--output`.", path=target
            )
        if not target.parent.is_dir():
            raise UserError("There is no folder {path}.", path=target.parent)
        about = About(kind, of.id, of.name, migrations(File.CONSTELLATION)[-1].version, part.thin)
        passphrase = (
            _passphrase(arguments.passphrase_file, twice=True) if arguments.encrypt or arguments.passphrase_file else ""
        )
        origin = Origin(found.path, self.config.home / GLOBAL_DB, about, part)
        with progress_line(_("Exporting")) as progress:
            made = await asyncio.to_thread(export, origin, target, passphrase, progress)
        done = _("Exported to {path} ({size})", path=target, size=size_text(made.size))
        return Contents.of(done, VerifiedFile(made.root, made.manifest, 0))


async def _verified(arguments: OneFile) -> tuple[Opener, VerifiedFile]:
    path = arguments.file
    passphrase = _passphrase(arguments.passphrase_file, twice=False) if is_sealed(path) else ""
    open_file = opener(path, passphrase)
    with progress_line(_("Verifying")) as progress:
        return open_file, await asyncio.to_thread(verify, open_file, path.stat().st_size, progress)


def _passphrase(file: Path | None, *, twice: bool) -> str:
    """The passphrase, from a file or asked for. Raises CallError if nobody can be asked."""
    if file is not None:
        try:
            said = file.read_text("utf-8").strip("\r\n")
        except OSError as error:
            raise UserError("{path} cannot be read: {error}.", path=file, error=error.strerror) from error
        except UnicodeDecodeError as error:
            raise UserError("{value}: not UTF-8 text", value=file) from error
    elif streams.is_interactive():
        said = str(click.prompt(_("Passphrase"), hide_input=True, confirmation_prompt=twice))
    else:
        raise CallError("A passphrase is needed, and there is no terminal to enter it at. Use --passphrase-file.")
    if not said:
        raise UserError("The passphrase is empty.")
    return said


@contextmanager
def progress_line(what: str) -> Iterator[Callable[[float], None]]:
    """Show the progress if a person watches, on a line that is cleared at the end."""
    watched, said = streams.is_interactive() and sys.stderr is not None and sys.stderr.isatty(), ""

    def show(done: float) -> None:
        nonlocal said
        if watched and (words := _("{what}: {percent}%", what=what, percent=int(done * 100))) != said:
            said = words
            click.echo(f"\r{words}", nl=False, err=True)

    try:
        yield show
    finally:
        if said:
            click.echo("\r\x1b[K", nl=False, err=True)
