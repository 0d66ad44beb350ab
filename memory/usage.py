"""What model calls cost, one row each; numbers only, never text."""

from dataclasses import dataclass
from datetime import datetime

from memory.clock import to_text
from memory.database import Rows, Tx, Value, as_dict
from memory.ids import PersonId, snowflakes
from memory.turns import Turn


@dataclass(frozen=True)
class Spent:
    """One call. `cost_usd` is None when the model's price is not known, which is not the same as free."""

    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: float | None


def record(tx: Tx, turn: Turn, spent: Spent, now: datetime) -> None:
    """Add a call made for a turn."""
    values: dict[str, Value] = {
        "id": snowflakes.next(),
        "turn_id": turn.id,
        "agent_id": turn.agent,
        "person_id": turn.person,
        "place_id": turn.place,
        "model": spent.model,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "cache_read_tokens": spent.cache_read_tokens,
        "cache_write_tokens": spent.cache_write_tokens,
        "cost_usd": spent.cost_usd,
        "at": to_text(now),
    }
    tx.insert("model_usage", values)


def export_person(rows: Rows, person: PersonId) -> list[dict[str, Value]]:
    sql = "SELECT model, input_tokens, output_tokens, cost_usd, at FROM model_usage WHERE person_id = ? ORDER BY id"
    return [as_dict(row) for row in rows.all(sql, (person,))]


def erase_person(tx: Tx, person: PersonId) -> int:
    """The numbers stay for the books; whose they were goes."""
    return tx.run("UPDATE model_usage SET person_id = NULL, place_id = NULL WHERE person_id = ?", (person,))


def count_person(rows: Rows, person: PersonId) -> int:
    row = rows.one("SELECT count(*) AS n FROM model_usage WHERE person_id = ?", (person,))
    return 0 if row is None else int(row["n"])
