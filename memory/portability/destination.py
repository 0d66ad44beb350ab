"""The destination of an import: a new constellation, or an existing one that the agents join."""

import hashlib
import re
import shutil
from contextlib import closing
from pathlib import Path

from memory.portability.car import CarError
from memory.portability.exported_tables import Table, registry_tables, tables
from memory.portability.import_outcomes import holds
from memory.portability.imports import Import, note_import, registry_rows
from memory.portability.untrusted_imports import require_times
from memory.store.clock import to_text
from memory.store.data_folder import GLOBAL_DB
from memory.store.database import Rows, Tx
from memory.store.ids import ConstellationId, PersonId
from memory.store.migrations import Kind, prepare
from memory.store.sqlite import connect, driver, transaction

_ID = re.compile(r"con_[0-9a-z]{1,20}")


class NameTaken(CarError):
    """Something with that name or id exists already."""


def constellation_id(taken: Import, rename: str) -> ConstellationId:
    """The constellation's old id, or with `rename` a new one, the same each time. Raises CarError for an invalid id."""
    if rename:
        return ConstellationId(f"con_{hashlib.sha256(taken.verified.root + rename.encode()).hexdigest()[:12]}")
    if not _ID.fullmatch(taken.manifest.about.id):
        raise CarError("the file does not say which constellation it was exported from")
    return ConstellationId(taken.manifest.about.id)


def require_new_name(rows: Rows, taken: Import, rename: str) -> None:
    """Raise NameTaken if a constellation with that name or id is registered."""
    name, identifier = rename or taken.manifest.about.name, constellation_id(taken, rename)
    for row in rows.all("SELECT id, name FROM constellations"):
        if str(row["name"]).casefold() == name.casefold() or row["id"] == identifier:
            raise NameTaken(
                "There is already a constellation “{name}”; `--rename NAME` imports the file as another one",
                name=row["name"],
            )


def become_constellation(taken: Import, owner: PersonId, rename: str) -> ConstellationId:
    """Move the file into place and register it. If it is interrupted in between, the next call completes it.

    Raises CarError, NameTaken.
    """
    identifier, registry = constellation_id(taken, rename), taken.folder / GLOBAL_DB
    place = taken.folder / "constellations" / identifier
    prepare(registry, Kind.GLOBAL)
    with closing(connect(registry)) as raw:
        require_new_name(Rows(raw), taken, rename)
        if taken.staged.exists() and place.exists() and any(place.iterdir()):
            raise NameTaken("{place} already exists but is not registered; move it elsewhere", place=place)
        with transaction(raw):
            try:
                _register(Tx(raw), taken, (identifier, owner, rename or taken.manifest.about.name))
            except (CarError, ValueError, driver.IntegrityError) as error:
                discard(taken)
                raise CarError("the file contains accounts that are not valid: {error}", error=error) from error
            if taken.staged.exists():
                place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                taken.staging.replace(place)
    return identifier


def _register(tx: Tx, taken: Import, entry: tuple[ConstellationId, PersonId, str]) -> None:
    """Register a constellation and its people in global.db. Raises CarError, ValueError for an invalid time."""
    (identifier, owner, name), now = entry, to_text(taken.now)
    for table, rows in registry_rows(taken, registry_tables(tx)).items():
        for row in rows:
            require_times(tx, table, row)
            tx.insert(table, row, ignore=True)
    tx.insert("users", {"id": owner, "username": owner, "created_at": now, "updated_at": now}, ignore=True)
    path = Path("constellations") / identifier / "carina.db"
    values = {"id": identifier, "owner_id": owner, "name": name, "db_path": path.as_posix()}
    tx.insert("constellations", {**values, "created_at": now, "last_accessed_at": now})


def placed(taken: Import, rename: str) -> bool:
    """Whether an import was interrupted after the file was moved into place and before it was registered."""
    path = taken.folder / "constellations" / constellation_id(taken, rename) / "carina.db"
    return not taken.staging.exists() and path.exists() and holds(path, taken.origin)


def is_joined(taken: Import, target: Path) -> bool:
    """Whether this file was imported into the constellation before."""
    return holds(target, taken.origin)


def join_constellation(taken: Import, target: Path, rename: str) -> None:
    """Insert the rows of a staged file into a constellation, all or none. Raises CarError, NameTaken."""
    with closing(connect(target)) as raw:
        raw.execute("ATTACH DATABASE ? AS staged", (str(taken.staged),))
        tx = Tx(raw)
        try:
            with transaction(raw):
                raw.execute("PRAGMA defer_foreign_keys=ON")
                if rename:
                    _rename(tx, rename)
                _require_names(tx)
                note_import(tx, taken)
                for name, table in tables(tx).items():
                    if name in taken.manifest.tables:
                        _move(tx, table)
        except driver.IntegrityError as error:
            raise CarError(
                "the records in the file do not fit the constellation: {error}; nothing was imported", error=error
            ) from error
    discard(taken)


def discard(taken: Import) -> None:
    shutil.rmtree(taken.staging, ignore_errors=True)


def _rename(tx: Tx, name: str) -> None:
    found = tx.all("SELECT id FROM staged.agents")
    if len(found) != 1:
        raise CarError("the file contains {count} agents; `--rename` works with only one", count=len(found))
    tx.run("UPDATE staged.agents SET name = ?", (name,))


def _require_names(tx: Tx) -> None:
    """Raise NameTaken if an agent or group of the file has the name or id of an existing one."""
    same = "ON m.id = s.id OR m.name = s.name COLLATE NOCASE ORDER BY m.id <> s.id LIMIT 1"
    sql = f"SELECT m.name, m.status, m.id = s.id AS itself FROM main.agents m JOIN staged.agents s {same}"
    agent = tx.one(sql)
    if agent is not None and agent["itself"] and agent["status"] == "archived":
        raise NameTaken(
            "the agent “{name}” in the file is archived here; nothing was imported. `carina agent restore "
            "{name}` restores it",
            name=agent["name"],
        )
    if agent is not None and agent["itself"]:
        raise NameTaken(
            "The agent “{name}” in the file already exists here, and `--rename` does not copy "
            "it; nothing was imported. `--constellation NAME` imports it into another "
            "constellation",
            name=agent["name"],
        )
    if agent is not None:
        raise NameTaken(
            "there is another agent “{name}” here; nothing was imported. `--rename NAME` imports it under another name",
            name=agent["name"],
        )
    group = tx.one(f"SELECT m.name FROM main.agent_groups m JOIN staged.agent_groups s {same}")
    if group is not None:
        raise NameTaken(
            "there is already a group “{name}” or one with the same ID; nothing was imported", name=group["name"]
        )


def _move(tx: Tx, table: Table) -> None:
    """Insert the rows that do not exist yet. Raises CarError if an existing one with the same key differs."""
    columns = ", ".join(table.columns)
    same = " AND ".join(f"m.{each} = s.{each}" for each in table.identity)
    differs = " OR ".join(f"m.{each} IS NOT s.{each}" for each in table.columns)
    both = f"staged.{table.name} s JOIN main.{table.name} m ON {same}"
    if tx.one(f"SELECT 1 FROM {both} WHERE {differs} LIMIT 1") is not None:
        raise CarError(
            "{name} has other records with the same IDs in this constellation; nothing was imported", name=table.name
        )
    tx.run(
        f"""INSERT INTO main.{table.name} ({columns}) SELECT {columns} FROM staged.{table.name} s
            WHERE NOT EXISTS (SELECT 1 FROM main.{table.name} m WHERE {same})"""
    )
