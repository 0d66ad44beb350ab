"""What model calls cost, one row each; numbers only, never text."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from memory.people.audience import Audience, Scope
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx, Value
from memory.store.ids import AgentId, TurnId, snowflakes
from memory.store.row_mapper import RowMapper


@dataclass(frozen=True)
class Spent:
    """One call. `cost_usd` is None when the model's price is not known, which is not the same as free."""

    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: float | None


def guild_of(scope: Scope) -> Audience | None:
    """The guild in which something is heard, if it is heard in one; a direct message is heard in none."""
    if scope.audience.startswith("person:"):
        return None
    return next((each for each in (scope.audience, *sorted(scope.within)) if each.startswith("guild:")), None)


def record(tx: Tx, turn: Turn, spent: Spent, now: datetime) -> None:
    """Add a call made for a turn."""
    whose: dict[str, Value] = {"turn_id": turn.id, "agent_id": turn.agent, "person_id": turn.person}
    _add(tx, whose | {"place_id": turn.place, "guild_id": guild_of(turn.scope)}, spent, now)


def record_upkeep(tx: Tx, agent: AgentId, guild: Audience | None, spent: Spent, now: datetime) -> None:
    """Add a call that nobody waited for: it counts for the agent and its constellation, and for no person."""
    _add(tx, {"agent_id": agent, "guild_id": guild}, spent, now)


def _add(tx: Tx, whose: dict[str, Value], spent: Spent, now: datetime) -> None:
    tx.insert("model_usage", {"id": snowflakes.next(), **whose, **_spent.values(spent), "at": now})


_spent = RowMapper(Spent)


def of_turn(rows: Rows, turn: TurnId) -> tuple[int, int]:
    """How many tokens a turn and its members' parts sent to models, and how many they wrote."""
    sql = """SELECT coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) FROM model_usage
             WHERE turn_id = ? OR turn_id IN (SELECT id FROM turns WHERE parent_id = ?)"""
    row = rows.one(sql, (turn, turn))
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


@dataclass(frozen=True)
class Bill:
    """Calls of one agent, model or day. `cost_usd` is of those whose price is known; `unpriced` are the others."""

    of: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced: int


By: TypeAlias = Literal["agent", "model", "day"]
_BY: dict[By, str] = {
    "agent": "coalesce((SELECT name FROM agents WHERE id = agent_id), agent_id, 'nobody')",
    "model": "model",
    "day": "substr(at, 1, 10)",
}


def bills(rows: Rows, since: datetime, by: By) -> list[Bill]:
    """What was called since then, by agent, model or day (UTC); the newest day or the dearest first."""
    order = "1 DESC" if by == "day" else "5 DESC, 3 + 4 DESC, 1"
    sql = f"""SELECT {_BY[by]}, count(*), sum(input_tokens), sum(output_tokens), coalesce(sum(cost_usd), 0),
              sum(cost_usd IS NULL) FROM model_usage WHERE at >= ? GROUP BY 1 ORDER BY {order}"""
    return [Bill(*row) for row in rows.all(sql, (since,))]
