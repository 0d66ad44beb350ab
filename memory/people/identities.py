"""Accounts that belong to one person: rows of global.db; both accounts prove each link with a code.

A person's data stays under the account that it came from; a link only says that the accounts belong together. Names of
people and places are shown as far as a scope may know them.
"""

import json
from collections import defaultdict
from datetime import datetime, timedelta

from msgspec import Struct

from memory.people.audience import OWNER, Audience, Scope
from memory.store.clock import to_text
from memory.store.database import Rows, Tx, Value
from memory.store.ids import PersonId, PlaceId, new_id, place_source

CODE_LIFE = timedelta(minutes=10)
"""How long a code is valid."""
MOST_OPEN = 200
"""Open codes of all people at the same time."""
MOST_LINKED = 10
"""Accounts of one person."""


class Link(Struct, frozen=True):
    """A link to `other`, who got the code. Unless it is `proven`, `other` still has to enter the second code."""

    other: PersonId
    proven: bool


def links(rows: Rows) -> dict[PersonId, frozenset[PersonId]]:
    """For every linked account, all accounts of its person, including itself."""
    by_user: dict[str, set[PersonId]] = defaultdict(set)
    for row in rows.all("SELECT id, user_id FROM user_identities"):
        by_user[row["user_id"]].add(PersonId(row["id"]))
    return {person: frozenset(found) for found in by_user.values() if len(found) > 1 for person in found}


def issue_code(tx: Tx, person: PersonId, code: str, now: datetime, other: PersonId | None = None) -> bool:
    """Give an account a new code in place of its old one; False if too many are open, or if somebody has this code."""
    tx.run("DELETE FROM link_codes WHERE person_id = ? OR expires_at <= ?", (person, now))
    if tx.number("SELECT count(*) FROM link_codes") >= MOST_OPEN:
        return False
    values: dict[str, Value] = {"person_id": person, "code": code, "other_id": other}
    return tx.insert("link_codes", {**values, "expires_at": now + CODE_LIFE}, ignore=True)


def redeem_code(tx: Tx, person: PersonId, said: str, code: str, now: datetime) -> Link | None:
    """An account enters a code that another account got; None if there is no such code for it.

    The first code proves one account and turns `code` into the second; the second one links them. Each works once.
    """
    row = tx.one("SELECT * FROM link_codes WHERE code = ? AND expires_at > ?", (said, now))
    if row is None or row["person_id"] == person or row["other_id"] not in (None, person):
        return None
    other = PersonId(row["person_id"])
    tx.run("DELETE FROM link_codes WHERE code = ?", (said,))
    if row["other_id"] is None:
        return Link(other, proven=False) if issue_code(tx, person, code, now, other) else None
    return Link(other, proven=True) if _link(tx, person, other, now) else None


def _link(tx: Tx, one: PersonId, other: PersonId, now: datetime) -> bool:
    """Link all accounts of both persons; False if those would be too many."""
    sql = "SELECT user_id FROM user_identities WHERE id IN (:one, :other) ORDER BY id = :other"
    users = [str(row["user_id"]) for row in tx.all(sql, {"one": one, "other": other})]
    theirs, named = "user_id IN (SELECT value FROM json_each(?))", json.dumps(users)
    together = tx.all(f"SELECT id FROM user_identities WHERE {theirs}", (named,))
    if len({row["id"] for row in together} | {one, other}) > MOST_LINKED:
        return False
    user, moment = users[0] if users else new_id("usr"), to_text(now)
    tx.insert("users", {"id": user, "username": user, "created_at": moment, "updated_at": moment}, ignore=True)
    tx.run(f"UPDATE user_identities SET user_id = ? WHERE {theirs}", (user, named))
    for person in (one, other):
        values: dict[str, Value] = {"id": person, "user_id": user, "provider": place_source(person)}
        values |= {"provider_id": person.partition(":")[2], "created_at": moment}
        tx.insert("user_identities", values, ignore=True)
    _drop_empty(tx)
    return True


def unlink(tx: Tx, person: PersonId) -> bool:
    """Unlink an account from its person's others; False if it is not linked."""
    gone = tx.run("DELETE FROM user_identities WHERE id = ?", (person,))
    alone = "SELECT user_id FROM user_identities GROUP BY user_id HAVING count(*) = 1"
    tx.run(f"DELETE FROM user_identities WHERE user_id IN ({alone})")
    _drop_empty(tx)
    return gone == 1


def _drop_empty(tx: Tx) -> None:
    """Remove persons created by links that have no account left."""
    tx.run("DELETE FROM users WHERE id GLOB 'usr_*' AND id NOT IN (SELECT user_id FROM user_identities)")


# --------------------------------------------------------------------------------- names, as far as a scope knows them


def audience_called(rows: Rows, audience: Audience, scope: Scope) -> str:
    """The name of the server or channel whose members are an audience; empty if none is known."""
    sql = "SELECT name FROM places WHERE audience = ? AND name <> '' AND KNOWN(audience) ORDER BY heard_at DESC LIMIT 1"
    name = rows.value(*scope.bind(sql, audience), str) or ""
    return name.rpartition(" in ")[2] if audience.startswith("guild:") else name


def place_named(rows: Rows, place: PlaceId, scope: Scope) -> str:
    """A place by name, as far as the scope may know it, or else by its id."""
    return place_called(rows, place, scope) or place


def place_called(rows: Rows, place: PlaceId, scope: Scope) -> str:
    """The same; empty when no name is known."""
    row = rows.one("SELECT audience, name FROM places WHERE id = ?", (place,))
    audience = Audience("" if row is None else row["audience"])
    if row is not None and row["name"] and scope.may_use(audience):
        return str(row["name"])
    source, _, user = place.partition(":user:")  # of a person who never wrote there
    kind, _, person = ("person", "", f"{source}:{user}") if user else audience.partition(":")
    name = person_called(rows, PersonId(person), scope) if kind == "person" else ""
    if not name and scope.audience == OWNER and person.startswith("api:"):  # a program's user: the id is their name
        program, _, user = person.removeprefix("api:").partition("/")
        name = f"{user} ({program})"
    return f"the direct messages with {name}" if name else ""


def label_called(rows: Rows, label: str, scope: Scope) -> str:
    """A block's label with a name in place of the number of a person or channel: "discord_user:Ana"."""
    kind, _, number = label.partition(":")
    source, _, what = kind.partition("_")
    identifier = f"{source}:{number}"
    name = ""
    if what == "user" and number:
        name = person_called(rows, PersonId(identifier), scope)
    elif (what == "channel" or kind == "discord_thread") and number:
        name = place_called(rows, PlaceId(identifier), scope)
    return f"{kind}:{name}" if name else label


def person_named(rows: Rows, person: PersonId, scope: Scope) -> str:
    """A person by the name that they last spoke under, as far as the scope may know it, with their id."""
    name = person_called(rows, person, scope)
    return f"{name} ({person})" if name else person


def person_called(rows: Rows, person: PersonId, scope: Scope) -> str:
    """The name that a person last spoke under; empty if none is known."""
    sql = """SELECT speaker FROM messages WHERE person_id = ? AND role = 'user' AND KNOWN(audience)
             ORDER BY id DESC LIMIT 1"""
    return rows.value(*scope.bind(sql, person), str) or ""
