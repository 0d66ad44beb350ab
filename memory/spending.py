"""Limits on spending for models and when their days and months begin, the cost of each call, and reservations for
running calls, as rows without text. `bot.agents.budgets` decides what they allow.
"""

from datetime import datetime, timedelta, tzinfo
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct

from memory.people.audience import Audience, Scope
from memory.queue.turns import Turn
from memory.store.database import Row, Rows, Tx, Value
from memory.store.ids import AgentId, PersonId, TurnId, snowflakes
from memory.store.records import asdict
from memory.store.row_mapper import RowMapper

Period: TypeAlias = Literal["day", "month"]

_STALE = timedelta(minutes=30)  # longer than any turn takes: the reservation was left behind


class Limit(Struct, frozen=True):
    """How much may be spent in each day or month (UTC) on one subject: money, tokens in and out, or both.

    Subjects: "constellation"; "jobs" for what nobody asked for; "agent:<name>"; "person" and "guild" for each of them;
    "person:<id>"; "guild:<id>".
    """

    subject: str
    period: Period
    usd: float | None = None
    tokens: int | None = None


class Spender(Struct, frozen=True):
    """For whom a call is made; without a turn, nobody waits for it, and it counts for no person."""

    turn: TurnId | None
    agent: AgentId
    person: PersonId | None
    guild: Audience | None


class Filter(Struct, frozen=True):
    """Whose calls are counted; None for everybody's."""

    agent: AgentId | None = None
    person: str | None = None
    guild: str | None = None
    jobs: bool | None = None
    """True: only calls of patrols, sleeptime groups, news and upkeep."""


class Sum(Struct, frozen=True):
    """What is spent and reserved. `usd` covers calls with a known price; `unpriced` counts the others."""

    usd: float
    tokens: int
    unpriced: int


def period_start(period: Period, now: datetime) -> datetime:
    """The start of the day or month (UTC)."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight if period == "day" else midnight.replace(day=1)


def period_end(period: Period, now: datetime) -> datetime:
    start = period_start(period, now)
    return start + timedelta(days=1) if period == "day" else (start + timedelta(days=32)).replace(day=1)


def limits(rows: Rows) -> list[Limit]:
    return _limit.all(rows, "SELECT * FROM budgets ORDER BY subject, period")


def put(tx: Tx, limit: Limit, by: PersonId, now: datetime) -> None:
    drop(tx, limit.subject, limit.period)
    tx.insert("budgets", {**_limit.values(limit), "decided_by": by, "decided_at": now})


def drop(tx: Tx, subject: str, period: Period) -> bool:
    """Remove a limit; False if there was none."""
    sql = "DELETE FROM budgets WHERE subject = ? COLLATE NOCASE AND period = ?"  # an agent's name, in any case
    return tx.run(sql, (subject, period)) > 0


def spent(rows: Rows, of: Filter, since: datetime, now: datetime) -> Sum:
    sql = """SELECT coalesce(sum(usd), 0) AS usd, coalesce(sum(tokens), 0) AS tokens, count(*) - count(usd) AS unpriced
        FROM (
          SELECT cost_usd AS usd, input_tokens + output_tokens AS tokens FROM model_usage
          WHERE at >= :since AND model <> 'offline' AND (:agent IS NULL OR agent_id = :agent)
            AND (:person IS NULL OR person_id = :person) AND (:guild IS NULL OR guild_id = :guild)
            AND (:jobs IS NULL OR turn_id IS NULL
              OR place_id IS NOT NULL AND (person_id IS NULL OR place_id GLOB 'patrol:*'))
          UNION ALL SELECT usd, tokens FROM budget_reservations
          WHERE at >= :stale AND (:agent IS NULL OR agent_id = :agent)
            AND (:person IS NULL OR person_id = :person) AND (:guild IS NULL OR guild_id = :guild)
            AND (:jobs IS NULL OR turn_id = 0
              OR turn_id IN (SELECT id FROM turns WHERE person_id IS NULL OR place_id GLOB 'patrol:*')))"""
    row: Row | None = rows.one(sql, {"since": since, "stale": now - _STALE, **asdict(of)})
    return Sum(0, 0, 0) if row is None else Sum(float(row["usd"]), int(row["tokens"]), int(row["unpriced"]))


def spenders(rows: Rows, column: Literal["person_id", "guild_id"], since: datetime) -> list[str]:
    sql = f"SELECT DISTINCT {column} FROM model_usage WHERE at >= ? AND {column} IS NOT NULL"
    return [str(row[0]) for row in rows.all(sql, (since,))]


def reserve(tx: Tx, spender: Spender, usd: float | None, tokens: int, now: datetime) -> int:
    """Reserve the probable cost of a call; returns the id with which to release it."""
    identifier = snowflakes.next()
    whose = {**_spender.values(spender), "turn_id": spender.turn or 0}
    tx.insert("budget_reservations", {**whose, "id": identifier, "usd": usd, "tokens": tokens, "at": now})
    return identifier


def release(tx: Tx, reservation: int) -> None:
    """Drop a reservation: the call is over and its cost is recorded, or it was not made."""
    tx.run("DELETE FROM budget_reservations WHERE id = ?", (reservation,))


def any_reserved(rows: Rows) -> bool:
    return rows.one("SELECT 1 FROM budget_reservations") is not None


_limit, _spender = RowMapper(Limit), RowMapper(Spender, guild="guild_id")


def release_all(tx: Tx) -> None:
    """Drop all reservations at startup: no call is running, so an ended process left them."""
    tx.run("DELETE FROM budget_reservations")


# ---------------------------------------------------------------------------------------- what was spent, call by call


class ModelCost(Struct, frozen=True):
    """One call. `cost_usd` is None if the model's price is unknown, which is not the same as free."""

    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: float | None


def guild_of(scope: Scope) -> Audience | None:
    """The guild in which something is heard; None elsewhere, as in direct messages."""
    if scope.audience.startswith("person:"):
        return None
    return next((each for each in (scope.audience, *sorted(scope.within)) if each.startswith("guild:")), None)


def record(tx: Tx, turn: Turn, spent: ModelCost, now: datetime) -> None:
    whose: dict[str, Value] = {"turn_id": turn.id, "agent_id": turn.agent, "person_id": turn.person}
    _add(tx, whose | {"place_id": turn.place, "guild_id": guild_of(turn.scope)}, spent, now)


def record_upkeep(tx: Tx, agent: AgentId, guild: Audience | None, spent: ModelCost, now: datetime) -> None:
    """Record a call that nobody waited for: it counts for the agent and its constellation, and for no person."""
    _add(tx, {"agent_id": agent, "guild_id": guild}, spent, now)


def _add(tx: Tx, whose: dict[str, Value], spent: ModelCost, now: datetime) -> None:
    tx.insert("model_usage", {"id": snowflakes.next(), **whose, **_spent.values(spent), "at": now})


_spent = RowMapper(ModelCost)


def of_turn(rows: Rows, turn: TurnId) -> tuple[int, int]:
    """How many tokens a turn and its members' parts sent to models, and how many the models wrote."""
    sql = """SELECT coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) FROM model_usage
             WHERE turn_id = ? OR turn_id IN (SELECT id FROM turns WHERE parent_id = ?)"""
    row = rows.one(sql, (turn, turn))
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


class Bill(Struct, frozen=True):
    """Calls of one agent, model, purpose or day. `cost_usd` covers those with a known price; `unpriced` counts the
    others."""

    of: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced: int
    cached_tokens: int
    """The sent tokens that the provider had cached."""


By: TypeAlias = Literal["agent", "model", "purpose", "day"]
_SPENT_SINCE = """
    SELECT coalesce((SELECT name FROM agents WHERE id = agent_id), agent_id, 'nobody'), model,
           CASE WHEN turn_id IS NULL THEN 'upkeep' WHEN person_id IS NULL THEN 'own work' ELSE 'answers' END,
           unixepoch(at) / 900 * 900, count(*), sum(input_tokens), sum(output_tokens), coalesce(sum(cost_usd), 0),
           sum(cost_usd IS NULL), sum(cache_read_tokens)
    FROM model_usage INDEXED BY model_usage_days WHERE substr(at, 1, 10) >= substr(:since, 1, 10) AND at >= :since
    GROUP BY unixepoch(at) / 900, agent_id, model, turn_id IS NULL, person_id IS NULL"""


def bills(rows: Rows, since: datetime, zone: tzinfo) -> dict[By, list[Bill]]:
    """The calls since then by agent, model, purpose and day in a zone; newest day or highest cost first."""
    kinds: tuple[By, ...] = get_args(By)
    sums: dict[By, dict[str, list[Any]]] = {by: {} for by in kinds}
    for agent, model, purpose, quarter, *numbers in rows.all(_SPENT_SINCE, {"since": since}):
        day = (
            datetime.fromtimestamp(quarter, zone).date().isoformat()
        )  # in every zone, days begin at a quarter of an hour
        for by, of in zip(kinds, (agent, model, purpose, day), strict=True):
            sums[by][of] = [one + more for one, more in zip(sums[by].get(of, [0] * len(numbers)), numbers, strict=True)]
    found = {by: [Bill(of, *numbers) for of, numbers in each.items()] for by, each in sums.items()}
    for each in found.values():
        each.sort(key=lambda bill: (-bill.cost_usd, -bill.input_tokens - bill.output_tokens, bill.of))
    found["day"].sort(key=lambda bill: bill.of, reverse=True)
    return found
