"""Earlier talk in short: how far conversations were compacted, what agents did, what happened to all.

Each is made of messages of one audience and has it. Triggers take a summary away when one of its messages is edited,
deleted, narrowed or erased: what was made of words does not outlive them, and is made again without them. What one
says stands in `summary_texts` besides, where it is searched, and goes with it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from memory.audience import Audience, Scope, Trust, person_audience
from memory.clock import from_text, to_text
from memory.database import Row, Rows, Tx, Value, as_dict
from memory.fulltext import index_text
from memory.ids import AgentId, MessageId, PersonId, PlaceId, new_id
from memory.messages import COLUMNS, Message, to_message

Span: TypeAlias = Literal["day", "week"]
StrategyName: TypeAlias = Literal["truncate", "recursive_summarization", "importance", "time_decay"]


@dataclass(frozen=True)
class Compaction:
    """How far one agent's view of a conversation was compacted: messages up to `end` are not shown but those `kept`.

    Positions are of the conversation's order, see `position`. `summary` stands for what left; it may be empty.
    """

    id: str
    agent: AgentId
    place: PlaceId
    strategy: StrategyName
    summary: str
    kept: frozenset[MessageId]
    start: int
    end: int
    messages: int
    depth: int
    previous: str | None
    model: str
    audience: Audience
    trust: Trust
    created_at: datetime

    def hides(self, message: Message) -> bool:
        """Whether it stands for a message, so that the message need not be shown."""
        return message.audience == self.audience and position(message) <= self.end and message.id not in self.kept


@dataclass(frozen=True)
class AgentSummary:
    """What an agent did lately."""

    agent: AgentId
    agent_name: str
    summary: str
    messages: int
    audience: Audience
    trust: Trust
    generated_at: datetime
    model: str = ""
    """Which wrote it; "offline": it is an extract by rules."""
    end: int = 0
    """The newest message that it is made of, as stored."""


@dataclass(frozen=True)
class ConstellationSummary:
    """What happened to all in a time."""

    id: str
    start: datetime
    end: datetime
    summary: str
    decisions: tuple[str, ...]
    threads: tuple[str, ...]
    audience: Audience
    trust: Trust
    span: Span = "day"
    model: str = ""
    """Which wrote it; "offline": it is an extract by rules."""
    messages: int = 0
    covers: tuple[int, int] = (0, 0)
    """The first and last message that it is made of, as stored."""
    created_at: datetime | None = None
    """As stored."""


def position(message: Message) -> int:
    """Where a message stands in the order in which conversations are shown: with its turn, or by itself."""
    return message.batch or message.id


# ------------------------------------------------------------------------------------------------- conversations


def newest(rows: Rows, agent: AgentId, place: PlaceId, audience: Audience) -> Compaction | None:
    """How far an agent's view of a conversation is compacted, for what that audience heard."""
    row = rows.one(
        """SELECT * FROM archive_summaries WHERE agent_id = ? AND place_id = ? AND audience = ?
           ORDER BY end_position DESC, id DESC LIMIT 1""",
        (agent, place, audience),
    )
    return None if row is None else _compaction(row)


def of_place(rows: Rows, place: PlaceId, scope: Scope, limit: int) -> list[Compaction]:
    """Those of a place that the scope may know, newest first, only what says anything."""
    condition, parameters = scope.sql("audience")
    sql = f"""SELECT * FROM archive_summaries WHERE place_id = ? AND summary <> '' AND {condition}
              ORDER BY id DESC LIMIT ?"""
    return [_compaction(row) for row in rows.all(sql, (place, *parameters, limit))]


def uncompacted(rows: Rows, place: PlaceId, audience: Audience, after: int, limit: int) -> list[Message]:
    """The oldest messages of one audience after a position, in the conversation's order, deleted ones too."""
    sql = f"""SELECT {COLUMNS} FROM messages WHERE place_id = ? AND audience = ? AND is_archived = 0
              AND coalesce(batch_id, id) > ? AND id > ? - ? ORDER BY coalesce(batch_id, id), id LIMIT ?"""
    return [to_message(row) for row in rows.all(sql, (place, audience, after, after, _BEHIND, limit))]


_BEHIND = 7 * 86_400_000 << 22
"""A message is claimed by a turn at most so much later than it came (a week, as snowflakes count)."""


def newest_position(rows: Rows, place: PlaceId, audience: Audience, behind: int) -> int:
    """The position of the message that has `behind` newer ones of its audience; 0 when there is none."""
    sql = """SELECT coalesce(batch_id, id) FROM messages WHERE place_id = ? AND audience = ?
             ORDER BY id DESC LIMIT 1 OFFSET ?"""
    row = rows.one(sql, (place, audience, behind))
    return 0 if row is None else int(row[0])


def add(tx: Tx, made: Compaction) -> None:
    """Keep a compaction."""
    values: dict[str, Value] = {
        "id": made.id,
        "agent_id": made.agent,
        "place_id": made.place,
        "strategy": made.strategy,
        "summary": made.summary,
        "kept": json.dumps(sorted(made.kept)),
        "start_position": made.start,
        "end_position": made.end,
        "message_count": made.messages,
        "depth": made.depth,
        "previous_id": made.previous,
        "model": made.model,
        "audience": made.audience,
        "trust": int(made.trust),
        "created_at": to_text(made.created_at),
    }
    tx.insert("archive_summaries", values)
    found: dict[str, Value] = {"id": made.id, "of": "conversation", "agent_id": made.agent, "place_id": made.place}
    _make_findable(tx, found, made.summary, (made.audience, made.trust, made.created_at), (made.start, made.end))


def _compaction(row: Row) -> Compaction:
    return Compaction(
        id=row["id"],
        agent=AgentId(row["agent_id"]),
        place=PlaceId(row["place_id"]),
        strategy=row["strategy"],
        summary=row["summary"],
        kept=frozenset(map(MessageId, json.loads(row["kept"]))),
        start=row["start_position"],
        end=row["end_position"],
        messages=row["message_count"],
        depth=row["depth"],
        previous=row["previous_id"],
        model=row["model"],
        audience=Audience(row["audience"]),
        trust=Trust(row["trust"]),
        created_at=from_text(row["created_at"]),
    )


# --------------------------------------------------------------------------------------- agents and constellation


def put_agent_summary(tx: Tx, made: AgentSummary, sources: Sequence[Message]) -> None:
    """Keep what an agent did lately, instead of what was kept before. Raises ValueError for sources of others."""
    start, end = _span(made.audience, sources)
    found: dict[str, Value] = {"id": new_id("did"), "of": "agent", "agent_id": made.agent}
    before = "SELECT id FROM summary_texts WHERE of = 'agent' AND agent_id = ? AND audience = ?"
    _hand_uses(tx, before, (made.agent, made.audience), found["id"])
    tx.run("DELETE FROM agent_summaries WHERE agent_id = ? AND audience = ?", (made.agent, made.audience))
    values: dict[str, Value] = {
        "agent_id": made.agent,
        "summary": made.summary,
        "messages_covered": made.messages,
        "start_position": start,
        "end_position": end,
        "audience": made.audience,
        "trust": int(made.trust),
        "generated_at": to_text(made.generated_at),
        "model": made.model,
    }
    tx.insert("agent_summaries", values)
    _make_findable(tx, found, made.summary, (made.audience, made.trust, made.generated_at), (start, end))


def agent_summaries(rows: Rows, scope: Scope, agent: AgentId | None = None) -> list[AgentSummary]:
    """What agents did lately, as far as the scope may know, the newest of each agent first; or one of them."""
    condition, parameters = scope.sql("s.audience")
    sql = f"""SELECT s.*, coalesce(a.name, s.agent_id) AS name FROM agent_summaries s
              LEFT JOIN agents a ON a.id = s.agent_id WHERE {condition} AND (? IS NULL OR s.agent_id = ?)
              ORDER BY s.generated_at DESC, name"""
    return [_agent_summary(row) for row in rows.all(sql, (*parameters, agent, agent))]


def agent_summary(rows: Rows, agent: AgentId, audience: Audience) -> AgentSummary | None:
    """What stands of an agent for exactly that audience, for whoever makes it anew."""
    sql = """SELECT s.*, coalesce(a.name, s.agent_id) AS name FROM agent_summaries s
             LEFT JOIN agents a ON a.id = s.agent_id WHERE s.agent_id = ? AND s.audience = ?"""
    row = rows.one(sql, (agent, audience))
    return None if row is None else _agent_summary(row)


def _agent_summary(row: Row) -> AgentSummary:
    return AgentSummary(
        agent=AgentId(row["agent_id"]),
        agent_name=row["name"],
        summary=row["summary"],
        messages=row["messages_covered"],
        audience=Audience(row["audience"]),
        trust=Trust(row["trust"]),
        generated_at=from_text(row["generated_at"]),
        model=row["model"],
        end=row["end_position"],
    )


def add_constellation_summary(tx: Tx, made: ConstellationSummary, sources: Sequence[Message], now: datetime) -> None:
    """Keep what happened to all in a time, instead of what was kept of it before.

    Raises ValueError unless all sources have its audience.
    """
    _put(tx, made, _span(made.audience, sources), now)


def add_week(tx: Tx, made: ConstellationSummary, days: Sequence[ConstellationSummary], now: datetime) -> None:
    """The same of a week, made of its days. Raises ValueError unless all have its audience."""
    if not days or any(day.audience != made.audience for day in days):
        raise ValueError(f"a week for {made.audience} is made of days of that audience, and of some")
    _put(tx, made, (min(day.covers[0] for day in days), max(day.covers[1] for day in days)), now)


def _put(tx: Tx, made: ConstellationSummary, covers: tuple[int, int], now: datetime) -> None:
    before = "FROM constellation_summaries WHERE audience = ? AND span = ? AND period_start = ?"
    of = (made.audience, made.span, to_text(made.start))
    _hand_uses(tx, f"SELECT id {before}", of, made.id)
    tx.run(f"DELETE {before}", of)
    values: dict[str, Value] = {
        "id": made.id,
        "period_start": to_text(made.start),
        "period_end": to_text(made.end),
        "summary": made.summary,
        "key_decisions": json.dumps(made.decisions, ensure_ascii=False),
        "open_threads": json.dumps(made.threads, ensure_ascii=False),
        "start_position": covers[0],
        "end_position": covers[1],
        "audience": made.audience,
        "trust": int(made.trust),
        "created_at": to_text(now),
        "span": made.span,
        "model": made.model,
        "message_count": made.messages,
    }
    tx.insert("constellation_summaries", values)
    text = "\n".join([made.summary, *made.decisions, *made.threads])
    _make_findable(tx, {"id": made.id, "of": made.span}, text, (made.audience, made.trust, made.start), covers)


def constellation_summaries(
    rows: Rows, scope: Scope, limit: int, until: datetime | None = None
) -> list[ConstellationSummary]:
    """The newest that the scope may know, newest first; of those that were made until then."""
    condition, parameters = scope.sql("audience")
    sql = f"""SELECT * FROM constellation_summaries WHERE {condition} AND created_at <= ?
              ORDER BY period_end DESC, span, id DESC LIMIT ?"""
    found = rows.all(sql, (*parameters, "~" if until is None else to_text(until), limit))
    return [_constellation_summary(row) for row in found]


def standing_between(
    rows: Rows, audience: Audience, span: Span, start: datetime, end: datetime
) -> list[ConstellationSummary]:
    """Those of exactly that audience that are about a part of a time, oldest first, for whoever makes them."""
    sql = """SELECT * FROM constellation_summaries WHERE audience = ? AND span = ? AND period_start < ?
             AND period_end > ? ORDER BY period_start"""
    return [_constellation_summary(row) for row in rows.all(sql, (audience, span, to_text(end), to_text(start)))]


def audiences_of_days(rows: Rows, start: datetime, end: datetime) -> list[Audience]:
    """The audiences for which days in a time were summarised."""
    sql = """SELECT DISTINCT audience FROM constellation_summaries WHERE span = 'day' AND period_start >= ?
             AND period_start < ? ORDER BY audience"""
    return [Audience(row[0]) for row in rows.all(sql, (to_text(start), to_text(end)))]


def _constellation_summary(row: Row) -> ConstellationSummary:
    return ConstellationSummary(
        id=row["id"],
        start=from_text(row["period_start"]),
        end=from_text(row["period_end"]),
        summary=row["summary"],
        decisions=tuple(json.loads(row["key_decisions"])),
        threads=tuple(json.loads(row["open_threads"])),
        audience=Audience(row["audience"]),
        trust=Trust(row["trust"]),
        span=row["span"],
        model=row["model"],
        messages=row["message_count"],
        covers=(row["start_position"], row["end_position"]),
        created_at=from_text(row["created_at"]),
    )


def _span(audience: Audience, sources: Iterable[Message]) -> tuple[int, int]:
    found = list(sources)
    if not found or any(message.audience != audience for message in found):
        raise ValueError(f"a summary for {audience} is made of messages of that audience, and of some")
    return min(message.id for message in found), max(message.id for message in found)


def _hand_uses(tx: Tx, before: str, of: Sequence[Value], new: Value) -> None:
    """Answers made from a summary go on belonging to the one that takes its place: whose words are in them stays known.

    `before` is SQL that gives the id of the old one.
    """
    sql = f"UPDATE OR IGNORE turn_uses SET row_id = ? WHERE kind = 'summary' AND row_id IN ({before})"
    tx.run(sql, (new, *of))


def _make_findable(
    tx: Tx,
    found: dict[str, Value],
    text: str,
    stamp: tuple[Audience, Trust, datetime],
    covers: tuple[int, int],
) -> None:
    """Let search find a summary, unless it says nothing; triggers take that back with the summary."""
    if not text.strip():
        return
    audience, trust, at = stamp
    values: dict[str, Value] = {"text": text, "search_text": index_text(text), "audience": audience}
    values |= {"trust": int(trust), "at": to_text(at), "start_position": covers[0], "end_position": covers[1]}
    tx.insert("summary_texts", found | values)


# ------------------------------------------------------------------------------------------------------- people

_TABLES = "archive_summaries", "agent_summaries", "constellation_summaries"


def export_person(rows: Rows, person: PersonId) -> list[dict[str, Value]]:
    """The summaries of a person's direct messages; those of other talk hold words of others too."""
    alone = person_audience(person)
    return [
        {"table": table, **as_dict(row)}
        for table in _TABLES
        for row in rows.all(f"SELECT * FROM {table} WHERE audience = ?", (alone,))
    ]


def erase_person(tx: Tx, person: PersonId) -> int:
    """Remove those; what was made of the person's words elsewhere goes with the messages, by triggers."""
    alone = person_audience(person)
    return sum(tx.run(f"DELETE FROM {table} WHERE audience = ?", (alone,)) for table in _TABLES)


def count_person(rows: Rows, person: PersonId) -> int:
    return len(export_person(rows, person))
