"""What a restore does not undo: erasures begun since the backup, choices such as opt-outs, who is allowed or blocked,
which accounts are linked, and a halt. Sign-ins, tokens and permissions all end: some may have been revoked since.

`memory.erasure.deleted_since_backup` does the same for messages.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from memory.store import erasure_records
from memory.store.clock import utc_now
from memory.store.constellations import HALT, Constellation, constellations
from memory.store.data_folder import GLOBAL_DB
from memory.store.database import Rows, Tx, as_dict
from memory.store.sqlite import connect, driver, transaction

_KEPT = {
    "privacy_choices": "person_id, choice, since",
    "ended_privacy_choices": "person_id, since, until",
    "users": "id, username, created_at, updated_at",
    "user_identities": "id, user_id, provider, provider_id, created_at",
    "people_rules": "subject, rule, via, decided_by, decided_at",
    "cursors": "source, position, updated_at",
}

_Tables = dict[str, list[dict[str, Any]]]


class PresentData(Struct, frozen=True):
    """The current constellations, and by the name of each file that can be read what is kept from its tables."""

    constellations: list[Constellation] = []
    files: dict[str, _Tables] = {}


def carry_over(folder: Path, registry: Path, present: PresentData) -> int:
    """Write into a staged registry what happened since and must be kept."""
    with staged_file(registry) as tx:
        known = {row["id"] for row in tx.all("SELECT id FROM erasures WHERE status = 'done'")}
        due = erasure_records.due_again(folder, known)
        for entry in due:
            erasure_records.begin_again(tx, entry)
        if "web_keys" in _tables(tx):  # unless the backup is from before the dashboard
            tx.run("DELETE FROM web_keys")
        if (kept := present.files.get(GLOBAL_DB)) is not None:
            _keep_choices(tx, kept, {each.id for each in present.constellations})
            _keep_halt(tx, kept)
    return len(due)


def keep_rules(path: Path, kept: _Tables | None) -> None:
    """Write into a staged constellation who is allowed or blocked now, if that is known."""
    with staged_file(path) as tx:
        tx.run("UPDATE permission_grants SET revoked_at = ? WHERE revoked_at IS NULL", (utc_now(),))
        if kept is not None:
            tx.run("DELETE FROM people_rules")
            for rule in kept["people_rules"]:
                tx.insert("people_rules", rule)


@contextmanager
def staged_file(path: Path) -> Iterator[Tx]:
    """Change a staged file so that it is complete without its log."""
    try:
        with closing(connect(path)) as raw:
            with transaction(raw):
                yield Tx(raw)
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        for beside in ("-wal", "-shm"):
            path.with_name(path.name + beside).unlink(missing_ok=True)


def _keep_choices(tx: Tx, kept: _Tables, known: set[str]) -> None:
    """Keep people's current choices and links; a person without a choice, or an account without a link, ended it.

    A registry that was created anew knows nothing of that: then the backup's choices are kept beside its own.
    """
    if any(row["id"] in known for row in tx.all("SELECT id FROM constellations")):
        tx.run("DELETE FROM privacy_choices")
        tx.run("DELETE FROM user_identities")
        for user in kept["users"]:
            tx.insert("users", user, ignore=True)
        for account in kept["user_identities"]:
            tx.insert("user_identities", account)
    for choice in kept["privacy_choices"]:
        tx.run("DELETE FROM privacy_choices WHERE person_id = ?", (choice["person_id"],))
        tx.insert("privacy_choices", choice)
    for each in kept["ended_privacy_choices"] if "ended_privacy_choices" in _tables(tx) else ():
        tx.insert("ended_privacy_choices", each, ignore=True)


def _keep_halt(tx: Tx, kept: _Tables) -> None:
    for mark in kept["cursors"]:
        if mark["source"] == HALT and mark["position"]:
            tx.run("DELETE FROM cursors WHERE source = ?", (HALT,))
            tx.insert("cursors", mark)


def _tables(rows: Rows) -> set[str]:
    return {row["name"] for row in rows.all("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def present_data(folder: Path) -> PresentData:
    try:
        with closing(connect(folder / GLOBAL_DB, read_only=True)) as raw:
            known = constellations(Rows(raw), folder)
    except driver.DatabaseError:  # missing or damaged
        return PresentData()
    found = {name_in_backup(path, folder): _kept(path) for path in (folder / GLOBAL_DB, *(each.path for each in known))}
    return PresentData(known, {name: kept for name, kept in found.items() if kept is not None})


def _kept(path: Path) -> _Tables | None:
    """None if the file is missing or damaged; an older version may lack some of the tables."""
    try:
        with closing(connect(path, read_only=True)) as raw:
            there = _tables(rows := Rows(raw))
            return {
                table: [as_dict(row) for row in rows.all(f"SELECT {columns} FROM {table}")] if table in there else []
                for table, columns in _KEPT.items()
            }
    except driver.DatabaseError:
        return None


def name_in_backup(path: Path, folder: Path) -> str:
    """The name of a database in a backup: its path in the data folder."""
    return path.relative_to(folder).as_posix()
