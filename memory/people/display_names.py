"""How places and people are called, as far as a scope knows them."""

from memory.people.audience import Audience, Scope
from memory.store.database import Rows
from memory.store.ids import PersonId, PlaceId


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
