"""Accounts that belong to one person: rows of global.db, each link proven from both sides by a code.

What is stored of somebody stays under the account that said it. A link says only that the accounts are one person's.
What people and places are called is said as far as a scope knows it.
"""

import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.people.audience import Audience, Scope
from memory.store.clock import to_text
from memory.store.database import Rows, Tx, Value
from memory.store.ids import PersonId, PlaceId, new_id, place_source

CODE_LIFE = timedelta(minutes=10)
"""How long a code can be said."""
MOST_OPEN = 200
"""Codes of all people together that are open at the same time."""
MOST_LINKED = 10
"""Accounts of one person."""


@dataclass(frozen=True)
class Half:
    """One side is proven: `other` was told the first code. The second one is for `other` to say."""

    other: PersonId
    code: str


@dataclass(frozen=True)
class Linked:
    other: PersonId


def links(rows: Rows) -> dict[PersonId, frozenset[PersonId]]:
    """For every account that is linked: all accounts of its person, itself among them."""
    by_user: dict[str, set[PersonId]] = defaultdict(set)
    for row in rows.all("SELECT id, user_id FROM user_identities"):
        by_user[row["user_id"]].add(PersonId(row["id"]))
    return {person: frozenset(found) for found in by_user.values() if len(found) > 1 for person in found}


def offer(tx: Tx, person: PersonId, code: str, now: datetime, other: PersonId | None = None) -> bool:
    """Tell somebody a code instead of the one they have; False when there are too many, or somebody has that one."""
    tx.run("DELETE FROM link_codes WHERE person_id = ? OR expires_at <= ?", (person, now))
    if tx.number("SELECT count(*) FROM link_codes") >= MOST_OPEN:
        return False
    values: dict[str, Value] = {"person_id": person, "code": code, "other_id": other}
    return tx.insert("link_codes", {**values, "expires_at": now + CODE_LIFE}, ignore=True)


def say(tx: Tx, person: PersonId, said: str, code: str, now: datetime) -> Half | Linked | None:
    """Somebody says a code that another account was told; None when there is none for them to say.

    A first code proves one side, and `code` becomes the second one; the second one links. Each works once.
    """
    row = tx.one("SELECT * FROM link_codes WHERE code = ? AND expires_at > ?", (said, now))
    if row is None or row["person_id"] == person or row["other_id"] not in (None, person):
        return None
    other = PersonId(row["person_id"])
    tx.run("DELETE FROM link_codes WHERE code = ?", (said,))
    if row["other_id"] is None:
        return Half(other, code) if offer(tx, person, code, now, other) else None
    return Linked(other) if _link(tx, person, other, now) else None


def _link(tx: Tx, one: PersonId, other: PersonId, now: datetime) -> bool:
    """Make all accounts of the two one person's; False when those would be too many."""
    users = [_user(tx, person) for person in (one, other)]
    named = [user for user in users if user is not None]
    together = tx.all(
        "SELECT id FROM user_identities WHERE user_id IN (SELECT value FROM json_each(?))", (_json(named),)
    )
    if len({row["id"] for row in together} | {one, other}) > MOST_LINKED:
        return False
    user, moment = named[0] if named else new_id("usr"), to_text(now)
    tx.insert("users", {"id": user, "username": user, "created_at": moment, "updated_at": moment}, ignore=True)
    tx.run(
        "UPDATE user_identities SET user_id = ? WHERE user_id IN (SELECT value FROM json_each(?))", (user, _json(named))
    )
    for person in (one, other):
        values: dict[str, Value] = {"id": person, "user_id": user, "provider": place_source(person)}
        tx.insert(
            "user_identities", {**values, "provider_id": person.partition(":")[2], "created_at": moment}, ignore=True
        )
    _drop_empty(tx)
    return True


def unlink(tx: Tx, person: PersonId) -> bool:
    """Take an account out of its person's others; False when it is linked with none."""
    gone = tx.run("DELETE FROM user_identities WHERE id = ?", (person,))
    alone = "SELECT user_id FROM user_identities GROUP BY user_id HAVING count(*) = 1"
    tx.run(f"DELETE FROM user_identities WHERE user_id IN ({alone})")
    _drop_empty(tx)
    return gone == 1


def _drop_empty(tx: Tx) -> None:
    """Remove persons that links made and that have no account any more."""
    tx.run("DELETE FROM users WHERE id GLOB 'usr_*' AND id NOT IN (SELECT user_id FROM user_identities)")


def _user(rows: Rows, person: PersonId) -> str | None:
    return rows.value("SELECT user_id FROM user_identities WHERE id = ?", (person,), str)


def _json(values: list[str]) -> str:
    return json.dumps(values)


# --------------------------------------------------------------------------------- names, as far as a scope knows them


def place_called(rows: Rows, audience: Audience, scope: Scope) -> str:
    """The name of a place with exactly that audience, the one heard of last; empty when none is known."""
    condition, parameters = scope.sql("audience")
    sql = f"SELECT name FROM places WHERE audience = ? AND name <> '' AND {condition} ORDER BY heard_at DESC LIMIT 1"
    row = rows.one(sql, (audience, *parameters))
    return "" if row is None else str(row["name"])


def spot_called(rows: Rows, audience: Audience, scope: Scope) -> str:
    """The name of a server, or of the channel, whose members are an audience; empty when none is known."""
    name = place_called(rows, audience, scope)
    return name.rpartition(" in ")[2] if audience.startswith("guild:") else name


def place_named(rows: Rows, place: PlaceId, scope: Scope) -> str:
    """A place by its name, as far as the scope may know it, with its id: "#hall in Town (discord:12)"."""
    name = spot_named(rows, place, scope)
    return f"{name} ({place})" if name else place


def spot_named(rows: Rows, place: PlaceId, scope: Scope) -> str:
    """The same without its id; empty when no name is known."""
    row = rows.one("SELECT audience, name FROM places WHERE id = ?", (place,))
    if row is None:
        return ""
    audience = Audience(row["audience"])
    if row["name"] and scope.may_use(audience):
        return str(row["name"])
    kind, _, person = audience.partition(":")
    name = person_called(rows, PersonId(person), scope) if kind == "person" else ""
    return f"the direct messages with {name}" if name else ""


def label_called(rows: Rows, label: str, scope: Scope) -> str:
    """The label of a block, with a name for the number of a person or a channel: "discord_user:Ana"."""
    kind, _, number = label.partition(":")
    source, _, what = kind.partition("_")
    identifier = f"{source}:{number}"
    name = ""
    if what == "user" and number:
        name = person_called(rows, PersonId(identifier), scope)
    elif what == "channel" and number:
        name = spot_named(rows, PlaceId(identifier), scope)
    return f"{kind}:{name}" if name else label


def person_named(rows: Rows, person: PersonId, scope: Scope) -> str:
    """A person by the name under which they spoke last, as far as the scope may know it, with their id."""
    name = person_called(rows, person, scope)
    return f"{name} ({person})" if name else person


def person_called(rows: Rows, person: PersonId, scope: Scope) -> str:
    """The name under which a person spoke last; empty when none is known."""
    condition, parameters = scope.sql("audience")
    sql = f"SELECT speaker FROM messages WHERE person_id = ? AND role = 'user' AND {condition} ORDER BY id DESC LIMIT 1"
    row = rows.one(sql, (person, *parameters))
    return "" if row is None else str(row["speaker"] or "")
