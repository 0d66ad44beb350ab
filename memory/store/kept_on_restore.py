"""What a restore does not undo: erasures begun since the backup, choices such as opt-outs, who is let in or shut out,
and that a token or a permission was revoked or accounts were unlinked.

`memory.erasure.deleted_since_backup` does the same for messages.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from memory.store import erasure_records
from memory.store.constellations import Constellation, constellations
from memory.store.data_folder import GLOBAL_DB
from memory.store.database import Rows, Tx, as_dict
from memory.store.sqlite import connect, driver, transaction


class PresentData(Struct, frozen=True):
    """Data of the current registry: the choices are kept, constellations that the backup lacks are set aside."""

    constellations: list[Constellation]
    choices: list[dict[str, Any]]
    ended: list[dict[str, Any]]
    """When choices held that are over."""
    keys: list[str]
    """Ids of the tokens and sessions that are valid."""
    linked: list[set[str]]
    """The accounts of each person who has several."""
    decided: dict[str, "Decided"]
    """By the names of the constellations' files."""


class Decided(Struct, frozen=True):
    """Who is let in or shut out, and which permissions were revoked."""

    rules: list[dict[str, Any]]
    revoked: list[dict[str, Any]]


def carry_over(folder: Path, registry: Path, present: PresentData | None) -> int:
    """Write into a staged registry what happened since and must be kept."""
    with staged_file(registry) as tx:
        known = {row["id"] for row in tx.all("SELECT id FROM erasures WHERE status = 'done'")}
        due = erasure_records.due_again(folder, known)
        for entry in due:
            erasure_records.begin_again(tx, entry)
        if present is not None:
            _keep_choices(tx, present)
    return len(due)


def keep_decided(path: Path, decided: Decided) -> None:
    revoked = "UPDATE permission_grants SET revoked_at = ? WHERE id = ? AND created_at = ? AND revoked_at IS NULL"
    with staged_file(path) as tx:
        tx.run("DELETE FROM people_rules")
        for rule in decided.rules:
            tx.insert("people_rules", rule)
        for each in decided.revoked:
            tx.run(revoked, (each["revoked_at"], each["id"], each["created_at"]))


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


def _keep_choices(tx: Tx, present: PresentData) -> None:
    """Keep people's current choices; a person without one has ended theirs.

    A registry that was created anew knows nothing of that: then the backup's choices are kept beside its own.
    """
    known = {each.id for each in present.constellations}
    if any(row["id"] in known for row in tx.all("SELECT id FROM constellations")):
        tx.run("DELETE FROM privacy_choices")
        _keep_ended(tx, present)
    for choice in present.choices:
        tx.run("DELETE FROM privacy_choices WHERE person_id = ?", (choice["person_id"],))
        tx.insert("privacy_choices", choice)


def _keep_ended(tx: Tx, present: PresentData) -> None:
    """Keep revoked tokens, ended sessions and ended links ended, and the times in which people wanted nothing kept."""
    there = _tables(tx)
    if "web_keys" in there:
        tx.run("DELETE FROM web_keys WHERE id NOT IN (SELECT value FROM json_each(?))", (json.dumps(present.keys),))
    for accounts in _linked(tx):
        still = max((accounts & each for each in present.linked), key=len, default=set())
        ended = accounts - still if len(still) > 1 else accounts
        parted = "DELETE FROM user_identities WHERE id IN (SELECT value FROM json_each(?))"
        tx.run(parted, (json.dumps(sorted(ended)),))
    for each in present.ended if "ended_privacy_choices" in there else ():
        tx.insert("ended_privacy_choices", each, ignore=True)


def _tables(rows: Rows) -> set[str]:
    return {row["name"] for row in rows.all("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def _linked(rows: Rows) -> list[set[str]]:
    found = defaultdict[str, set[str]](set)
    for row in rows.all("SELECT id, user_id FROM user_identities"):
        found[row["user_id"]].add(row["id"])
    return [accounts for accounts in found.values() if len(accounts) > 1]


def present_data(folder: Path) -> PresentData | None:
    """The current registry's data; None if it is missing or unreadable."""
    if not (folder / GLOBAL_DB).exists():
        return None
    try:
        with closing(connect(folder / GLOBAL_DB, read_only=True)) as raw:
            rows = Rows(raw)
            there, over = _tables(rows), "SELECT person_id, since, until FROM ended_privacy_choices"
            known = constellations(rows, folder)
            return PresentData(
                known,
                [as_dict(row) for row in rows.all("SELECT person_id, choice, since FROM privacy_choices")],
                [as_dict(row) for row in (rows.all(over) if "ended_privacy_choices" in there else ())],
                [row["id"] for row in (rows.all("SELECT id FROM web_keys") if "web_keys" in there else ())],
                _linked(rows),
                {
                    name_in_backup(each.path, folder): found
                    for each in known
                    if (found := _decided(each.path)) is not None
                },
            )
    except driver.DatabaseError:
        return None


def _decided(path: Path) -> Decided | None:
    """None if the file is missing or unreadable."""
    if not path.exists():
        return None
    try:
        with closing(connect(path, read_only=True)) as raw:
            rows = Rows(raw)
            rules = rows.all("SELECT subject, rule, via, decided_by, decided_at FROM people_rules")
            revoked = "SELECT id, created_at, revoked_at FROM permission_grants WHERE revoked_at IS NOT NULL"
            return Decided([as_dict(row) for row in rules], [as_dict(row) for row in rows.all(revoked)])
    except driver.DatabaseError:
        return None


def name_in_backup(path: Path, folder: Path) -> str:
    """The name of a database in a backup: its path in the data folder."""
    return path.relative_to(folder).as_posix()
