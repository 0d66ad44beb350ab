"""The database files of a data folder: whether this program can open them, and their migration.

`carina db status`, `carina db migrate`, and what other commands report about missing files. `db status` creates and
changes nothing.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from pydantic import ConfigDict, Field

from bot.agents.permissions.roles_and_rights import Action
from bot.config import Config
from bot.errors import UserError
from bot.interfaces.control.client import hold
from bot.interfaces.exit_codes import exit_code
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.registry import Options, Param, operation
from bot.services.results import Lines, Listing, Markup, Row
from memory.store.clock import utc_now
from memory.store.constellations import registered, require, require_registry
from memory.store.data_folder import DataFolder
from memory.store.errors import DatabaseCorrupt, DatabaseFull, DatabaseOutdated, DatabaseTooNew, StoreError
from memory.store.migrations import Kind, check, migrate, migrations, rehearse, status, steps
from memory.store.sqlite import driver
from texts import _, error_text, gettext_noop, ngettext

_EXAMINES = Options(via=TERMINAL_ONLY, seconds=None)
_MIGRATES = Options(via=TERMINAL_ONLY, changes=True, seconds=3_600.0, formerly=("upgrade",))


class State(StrEnum):
    OK = "ok"
    OLDER = "older"
    NEWER = "newer"
    UNREADABLE = "unreadable"
    MISSING = "missing"


class File(Row):
    """The state of a file; its `version` is None if it cannot be read."""

    file: str
    """Its path inside the data folder."""
    path: Path = Field(exclude=True)
    kind: Kind = Field(exclude=True)
    version: int | None
    needed: int
    bytes: int | None
    state: State
    problem: str
    """Why it cannot be opened in its current form, and the remedy."""

    @property
    def error(self) -> StoreError | None:
        return _ERRORS.get(self.state, DatabaseCorrupt)(self.problem) if self.problem else None

    def line(self, markup: Markup) -> str:
        if self.problem:
            return markup.text(f"{self.file}: {self.problem}")
        return self.told(markup, gettext_noop("{file}: version {version}, up to date"))


_ERRORS: Mapping[State, type[StoreError]] = {State.OLDER: DatabaseOutdated, State.NEWER: DatabaseTooNew}
_STATES: Mapping[type, State] = {type(None): State.OK, **{kind: state for state, kind in _ERRORS.items()}}


class MigratedFile(Row):
    model_config = ConfigDict(serialize_by_alias=True)

    file: str
    before: int | None = Field(serialization_alias="from")
    after: int = Field(serialization_alias="to")
    copied: str = Field(serialization_alias="copy")
    """The copy of the file from before."""
    phrase = gettext_noop("{file}: version {before} to {after}")


class PendingMigrations(Row):
    file: str
    version: int | None
    migrations: int
    megabytes: float
    seconds: float
    """The duration of the trial with a copy."""

    @classmethod
    def of(cls, file: File) -> "PendingMigrations":
        count = len(steps(file.kind, file.version or 0))
        seconds = round(rehearse(file.path, file.kind), 1) if count else 0
        return cls.from_record(file, migrations=count, megabytes=round((file.bytes or 0) / 1e6, 1), seconds=seconds)

    def line(self, markup: Markup) -> str:
        if not self.migrations:
            return markup.text(_("{file}: up to date", file=self.file))
        work = ngettext("{count} migration", "{count} migrations", self.migrations)
        return markup.text(
            _(
                "{file}: {migrations} from version {version}, about {seconds:g} s, after a backup of {megabytes:g} MB",
                file=self.file,
                migrations=work,
                version=self.version,
                megabytes=self.megabytes,
                seconds=self.seconds,
            )
        )


_Check = Annotated[bool, Param("Only show what would be migrated, after trying it on copies")]


def examine(folder: DataFolder) -> list[File]:
    """Every file that is in the folder or should be; empty if no data was ever created there."""
    found = sorted(path for path in folder.path.glob("constellations/[!.]*/carina.db") if _holds(path))
    if not _holds(folder.global_db) and not found:
        return []
    registry, expected = _registry(folder)
    every = sorted({*found, *expected})
    return [registry, *(_examined(folder, path, Kind.CONSTELLATION, expected=path in expected) for path in every)]


def worst(files: Sequence[File]) -> StoreError | None:
    """The error to solve first: those that a migration does not solve come before outdated files."""
    errors = [file.error for file in files if file.error is not None]
    others = [error for error in errors if not isinstance(error, DatabaseOutdated)]
    return next(iter([*others, *errors]), None)


def require_data(config: Config) -> DataFolder:
    """The data folder. Raises UserError if it has no data yet, StoreError if its registry is missing."""
    folder = DataFolder(config.home)
    if not _holds(folder.global_db):
        raise next((file.error for file in examine(folder) if file.error), UserError(_nothing(folder)))
    return folder


class Files(Listing[File]):
    """The state of the files; the command fails if one cannot be opened."""

    @property
    def code(self) -> int:
        error = worst(self.rows)
        return 0 if error is None else exit_code(error)


class DatabaseFiles(Struct, frozen=True):
    """Commands on the files while no service holds them."""

    config: Config

    @operation("db.status", "Show the version of every database file", Action.EXAMINE, _EXAMINES)
    async def show_status(self, _caller: Caller) -> Files:
        return Files.of(_files(self.config), _nothing(DataFolder(self.config.home)))

    @operation("db.migrate", "Migrate older database files after backing them up", Action.EXAMINE, _MIGRATES)
    async def migrate(self, _caller: Caller, check: _Check = False) -> Listing[MigratedFile] | Lines[PendingMigrations]:
        """Migrate all files, or none if one has a problem that a migration does not solve."""
        folder = DataFolder(self.config.home)
        if check:
            return Lines.of(map(PendingMigrations.of, _mendable(self.config)), _nothing(folder))
        rows: list[MigratedFile] = []
        if _files(self.config):
            with hold(
                folder, _("Stop it (Ctrl-C where it runs, or SIGTERM), run `carina db migrate`, and start it again.")
            ):
                rows = [_migrated(file, self.config.home) for file in _mendable(self.config)]
        return Listing.of(rows, _nothing(folder))


def _mendable(config: Config) -> list[File]:
    """The files, if none of them needs more than a migration. Raises the error that prevents it."""
    files = _files(config)
    if (error := worst(files)) is not None and not isinstance(error, DatabaseOutdated):
        raise error
    return files


def _files(config: Config) -> list[File]:
    """The files, as in `examine`. Raises UserError for a folder that has other files and none of Carina's."""
    folder = DataFolder(config.home)
    files = examine(folder)
    if not files and _of_others(folder):
        raise UserError(_nothing(folder))
    return files


def _file(
    folder: DataFolder, path: Path, kind: Kind, version: int | None = None, error: StoreError | None = None
) -> File:
    there = path.exists()
    state = _STATES.get(type(error), State.UNREADABLE if there else State.MISSING)
    return File(
        file=_named(path, folder.path), path=path, kind=kind, version=version, needed=migrations(kind)[-1].version,
        bytes=path.stat().st_size if there else None, state=state, problem=error_text(error) if error else "",
    )  # fmt: skip


def _examined(folder: DataFolder, path: Path, kind: Kind, *, expected: bool = False) -> File:
    version = None
    try:
        if expected:
            require(path)
        found = status(path, kind)
        version = found.version
        check(found)
    except (DatabaseCorrupt, DatabaseFull, DatabaseOutdated, DatabaseTooNew) as error:
        return _file(folder, path, kind, version, error)
    return _file(folder, path, kind, version)


def _registry(folder: DataFolder) -> tuple[File, list[Path]]:
    try:
        require_registry(folder.path)
    except DatabaseCorrupt as error:
        return _file(folder, folder.global_db, Kind.GLOBAL, error=error), []
    file = _examined(folder, folder.global_db, Kind.GLOBAL)
    if not file.version:
        return file, []
    try:
        return file, registered(folder.path)
    except (DatabaseCorrupt, DatabaseFull) as error:
        return _file(folder, folder.global_db, Kind.GLOBAL, file.version, error), []


def _migrated(file: File, home: Path) -> MigratedFile:
    try:
        copy = migrate(file.path, file.kind, utc_now())
    except driver.DatabaseError as error:
        reached = status(file.path, file.kind).version
        raise StoreError(
            "{path} could not be migrated beyond version {reached} ({error}). The original file is "
            "next to it, as {name}.before-….",
            path=file.path,
            reached=reached,
            error=error,
            name=file.path.name,
        ) from error
    after = status(file.path, file.kind).version
    copied = _named(copy, home) if copy else ""
    return MigratedFile(file=file.file, before=file.version, after=after, copied=copied)


def _nothing(folder: DataFolder) -> str:
    if not folder.path.exists():
        return _(
            "There is no data folder {path}. `carina run` or `carina chat` creates it. To use another folder, set "
            "CARINA_HOME.",
            path=folder.path,
        )
    if _of_others(folder):
        return _(
            "{path} is not a Carina data folder: it contains other files but no global.db. Set "
            "CARINA_HOME to the right folder or to a new one.",
            path=folder.path,
        )
    return _("There is no data in {path} yet. Start with `carina run` or `carina chat`.", path=folder.path)


def _of_others(folder: DataFolder) -> bool:
    """Whether the folder has files that neither Carina nor an interrupted first start created."""
    return folder.path.is_dir() and not folder.own_files().issuperset(folder.path.iterdir())


def _holds(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _named(path: Path, home: Path) -> str:
    return path.relative_to(home).as_posix() if path.is_relative_to(home) else str(path)
