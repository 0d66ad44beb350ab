"""How places and people are called, as far as a scope knows them."""

from memory.audience import Audience, Scope
from memory.database import Rows
from memory.ids import PersonId


def place_called(rows: Rows, audience: Audience, scope: Scope) -> str:
    """The name of a place with exactly that audience, the one heard of last; empty when none is known."""
    condition, parameters = scope.sql("audience")
    sql = f"SELECT name FROM places WHERE audience = ? AND name <> '' AND {condition} ORDER BY heard_at DESC LIMIT 1"
    row = rows.one(sql, (audience, *parameters))
    return "" if row is None else str(row["name"])


def person_called(rows: Rows, person: PersonId, scope: Scope) -> str:
    """The name under which a person spoke last; empty when none is known."""
    condition, parameters = scope.sql("audience")
    sql = f"SELECT speaker FROM messages WHERE person_id = ? AND role = 'user' AND {condition} ORDER BY id DESC LIMIT 1"
    row = rows.one(sql, (person, *parameters))
    return "" if row is None else str(row["speaker"] or "")
