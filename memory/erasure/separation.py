"""What a constellation forgets when two accounts are not one person's any more."""

import json
from collections.abc import Callable, Collection, Iterator
from typing import Any

from memory.erasure.person import begin_again
from memory.people.audience import Audience
from memory.store.database import Rows, Tx
from memory.store.ids import TurnId

_KEPT = (
    ("places", "true"),
    ("turns", "status IN ('running', 'suspended')"),
    ("permission_requests", "status IN ('waiting', 'approved')"),
)
"""Where it is kept what hearers know: in places, and with what runs and what waits."""


def part(tx: Tx, linked: Callable[[Audience], Collection[Audience]]) -> tuple[TurnId, ...]:
    """Let hearers know of what was said to one account alone only what `linked` gives for their audience now.

    Turns that knew more begin again, unless they did something that cannot be done twice. Gives those turns. Doing it
    again changes nothing. Must be durable.
    """
    changed: list[TurnId] = []
    for table, row, left in list(_too_wide(tx, linked)):
        tx.run(f"UPDATE {table} SET within = ? WHERE id = ?", (json.dumps(left), row))
        changed += [TurnId(row)] if table == "turns" else []
    begin_again(tx, changed)
    return tuple(changed)


def is_to_part(rows: Rows, linked: Callable[[Audience], Collection[Audience]]) -> bool:
    """Whether `part` would change anything."""
    return next(_too_wide(rows, linked), None) is not None


def _too_wide(
    rows: Rows, linked: Callable[[Audience], Collection[Audience]]
) -> Iterator[tuple[str, Any, list[Audience]]]:
    """Rows whose hearers know more than they may: table, id, and what is left of it."""
    for table, condition in _KEPT:
        found = rows.all(f"""SELECT id, audience, within FROM {table} WHERE within LIKE '%"person:%' AND {condition}""")
        for row in found:
            known, now = json.loads(row["within"]), linked(Audience(row["audience"]))
            left = [each for each in known if not each.startswith("person:") or each in now]
            if left != known:
                yield table, row["id"], left
