"""Summaries of older messages: compacted conversations, recent actions of agents, and days and weeks.

Each is an item made from a span of messages of its own audience: when one of them is edited, deleted, restricted or
erased, it is deleted and made again without that text.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from memory.knowledge import items
from memory.knowledge.items import Item, Kind, NewItem
from memory.people.audience import Audience, Scope, Trust
from memory.people.hidden_people import shown
from memory.queue import messages
from memory.queue.messages import COLUMNS, Message, to_message
from memory.store.clock import from_text, to_text
from memory.store.database import Rows, Tx, Value
from memory.store.ids import AgentId, MessageId, PlaceId

Span: TypeAlias = Literal["day", "week"]
_LONGEST = timedelta(days=8)  # of a week
StrategyName: TypeAlias = Literal["truncate", "recursive_summarization", "importance", "time_decay"]


class Compaction(Struct, frozen=True):
    """How far one agent's view of a conversation is compacted: messages up to `end` are hidden, except `kept` ones.

    Positions are those of the conversation's order, see `position`. `summary` replaces the hidden messages; it may be
    empty.
    """

    agent: AgentId
    place: PlaceId
    strategy: StrategyName
    summary: str
    kept: frozenset[MessageId]
    start: int
    end: int
    messages: int
    model: str
    audience: Audience
    trust: Trust
    created_at: datetime
    id: str = ""
    """The item's id."""

    def hides(self, message: Message) -> bool:
        """Whether it replaces a message in the prompt."""
        return message.audience == self.audience and position(message) <= self.end and message.id not in self.kept


class AgentSummary(Struct, frozen=True):
    agent: AgentId
    agent_name: str
    summary: str
    messages: int
    audience: Audience
    trust: Trust
    generated_at: datetime
    model: str = ""
    """The model that wrote it; "offline" for an extract by rules."""
    end: int = 0
    """The newest message in it; set by the store."""


class ConstellationSummary(Struct, frozen=True):
    start: datetime
    end: datetime
    summary: str
    decisions: tuple[str, ...]
    threads: tuple[str, ...]
    audience: Audience
    trust: Trust
    span: Span = "day"
    model: str = ""
    """The model that wrote it; "offline" for an extract by rules."""
    messages: int = 0
    covers: tuple[int, int] = (0, 0)
    """The first and last message in it; set by the store."""
    created_at: datetime | None = None
    id: str = ""
    """Set by the store, both."""


def position(message: Message) -> int:
    """A message's position in the order of the conversation: by its turn or, without one, by its own id."""
    return message.batch or message.id


# ------------------------------------------------------------------------------------------------- conversations


def newest(rows: Rows, agent: AgentId, place: PlaceId, audience: Audience) -> Compaction | None:
    """The newest compaction of an agent's view of a conversation for that audience."""
    found = items.newest(rows, Kind.CONVERSATION, agent_id=agent, place_id=place, audience=audience)
    return None if found is None else compaction(found)


def of_place(rows: Rows, place: PlaceId, scope: Scope, limit: int) -> list[Compaction]:
    """Compactions of a place that the scope may know and that have a text, newest first."""
    return [compaction(each) for each in items.known_of(rows, scope, Kind.CONVERSATION, place, limit)]


def uncompacted(rows: Rows, place: PlaceId, audience: Audience, after: int, limit: int) -> list[Message]:
    """The oldest messages of one audience after a position, in the conversation's order, deleted ones too."""
    sql = f"""SELECT {COLUMNS} FROM messages WHERE place_id = ? AND audience = ? AND is_archived = 0
              AND coalesce(batch_id, id) > ? AND id > ? - ? ORDER BY coalesce(batch_id, id), id LIMIT +?"""
    return [to_message(row) for row in rows.all(sql, (place, audience, after, after, _BEHIND, limit))]


_BEHIND = 7 * 86_400_000 << 22
"""The longest time between a message's arrival and a turn that claims it (a week, in snowflake units)."""


def newest_position(rows: Rows, place: PlaceId, audience: Audience, behind: int) -> int:
    """The position of the message with `behind` newer ones of its audience; 0 if there is none."""
    sql = """SELECT coalesce(batch_id, id) FROM messages WHERE place_id = ? AND audience = ?
             ORDER BY id DESC LIMIT 1 OFFSET ?"""
    return rows.number(sql, (place, audience, behind))


class _Made(Struct, frozen=True):
    messages: int
    model: str


class _CompactionDetail(_Made, frozen=True):
    strategy: StrategyName
    kept: tuple[MessageId, ...]


class _TimeDetail(_Made, frozen=True):
    """`end` is in stored form, by which SQL sorts."""

    end: str
    decisions: tuple[str, ...]
    threads: tuple[str, ...]


def add(tx: Tx, made: Compaction) -> Item:
    new = NewItem(
        Kind.CONVERSATION,
        made.audience,
        made.trust,
        made.summary,
        detail=_CompactionDetail(made.messages, made.model, made.strategy, tuple(sorted(made.kept))),
        agent=made.agent,
        place=made.place,
        span=(made.start, made.end),
    )
    return items.put(tx, new, made.created_at)


def compaction(item: Item) -> Compaction:
    if item.agent is None or item.place is None:
        raise AssertionError("a summary of a conversation has an agent and a place")
    detail = item.read(_CompactionDetail)
    return Compaction(
        agent=item.agent,
        place=item.place,
        strategy=detail.strategy,
        summary=item.text,
        kept=frozenset(detail.kept),
        start=item.span[0],
        end=item.span[1],
        messages=detail.messages,
        model=detail.model,
        audience=item.audience,
        trust=item.trust,
        created_at=item.created_at,
        id=str(item.id),
    )


# --------------------------------------------------------------------------------------- agents and constellation


def put_agent_summary(tx: Tx, made: AgentSummary, sources: Sequence[Message]) -> None:
    """Store a summary of an agent's recent actions in place of the last one. Raises ValueError for foreign sources."""
    new = NewItem(
        Kind.AGENT,
        made.audience,
        made.trust,
        made.summary,
        detail=_Made(made.messages, made.model),
        agent=made.agent,
        span=_span(made.audience, sources),
    )
    before = items.find(tx, Kind.AGENT, agent_id=made.agent, audience=made.audience)
    items.put(tx, new, made.generated_at, before)


def agent_summaries(rows: Rows, scope: Scope, agent: AgentId | None = None) -> list[AgentSummary]:
    """The newest summary of each agent, or of one, that the scope may know."""
    told = items.known(rows, scope, (Kind.AGENT,), -1)
    found = _with_names(rows, [each for each in told if agent is None or each.agent == agent])
    found.sort(key=lambda each: each.agent_name)
    return sorted(found, key=lambda each: each.generated_at, reverse=True)


def agent_summary(rows: Rows, agent: AgentId, audience: Audience) -> AgentSummary | None:
    """The current summary of an agent for exactly that audience, for code that renews it."""
    found = _with_names(rows, items.find(rows, Kind.AGENT, agent_id=agent, audience=audience))
    return found[0] if found else None


def _with_names(rows: Rows, found: Sequence[Item]) -> list[AgentSummary]:
    names = {row["id"]: str(row["name"]) for row in rows.all("SELECT id, name FROM agents")} if found else {}
    return [
        AgentSummary(
            agent=item.agent,
            agent_name=names.get(item.agent, item.agent),
            summary=item.text,
            messages=detail.messages,
            audience=item.audience,
            trust=item.trust,
            generated_at=item.created_at,
            model=detail.model,
            end=item.span[1],
        )
        for item in found
        for detail in (item.read(_Made),)
        if item.agent is not None
    ]


def add_constellation_summary(tx: Tx, made: ConstellationSummary, sources: Sequence[Message], now: datetime) -> Item:
    """Store a summary of a time for everybody in place of the last one.

    Raises ValueError unless all sources have its audience.
    """
    return _put(tx, made, _span(made.audience, sources), now)


def add_week(tx: Tx, made: ConstellationSummary, days: Sequence[ConstellationSummary], now: datetime) -> None:
    """The same for a week, made from its days. Raises ValueError unless all have its audience."""
    if not days or any(day.audience != made.audience for day in days):
        raise ValueError(f"a week for {made.audience} is made of days of that audience, and of some")
    _put(tx, made, (min(day.covers[0] for day in days), max(day.covers[1] for day in days)), now)


def _put(tx: Tx, made: ConstellationSummary, covers: tuple[int, int], now: datetime) -> Item:
    new = NewItem(
        Kind(made.span),
        made.audience,
        made.trust,
        "\n".join([made.summary, *made.decisions, *made.threads]),
        key=to_text(made.start),
        detail=_TimeDetail(made.messages, made.model, to_text(made.end), made.decisions, made.threads),
        span=covers,
    )
    return items.put(tx, new, now, items.find(tx, new.kind, key=new.key, audience=made.audience))


def constellation_summaries(
    rows: Rows, scope: Scope, limit: int, until: datetime | None = None
) -> list[ConstellationSummary]:
    """The newest summaries that the scope may know, newest first; created before `until`."""
    order = "json_extract(detail, '$.end') DESC, kind"
    return [_happened(each) for each in items.known(rows, scope, (Kind.DAY, Kind.WEEK), limit, until, order)]


def overlapping(
    rows: Rows, audience: Audience, span: Span, start: datetime, end: datetime
) -> list[ConstellationSummary]:
    """Summaries for exactly that audience that overlap a time, oldest first, for code that makes them."""
    found = map(_happened, items.between(rows, Kind(span), to_text(start - _LONGEST), to_text(end)))
    return [each for each in found if each.audience == audience and each.end > start]


def audiences_of_days(rows: Rows, start: datetime, end: datetime) -> list[Audience]:
    return sorted({each.audience for each in items.between(rows, Kind.DAY, to_text(start), to_text(end))})


def _happened(item: Item) -> ConstellationSummary:
    detail = item.read(_TimeDetail)
    return ConstellationSummary(
        start=from_text(item.key),
        end=from_text(detail.end),
        summary=item.text.removesuffix("".join(f"\n{line}" for line in (*detail.decisions, *detail.threads))),
        decisions=detail.decisions,
        threads=detail.threads,
        audience=item.audience,
        trust=item.trust,
        span="day" if item.kind is Kind.DAY else "week",
        model=detail.model,
        messages=detail.messages,
        covers=item.span,
        created_at=item.created_at,
        id=str(item.id),
    )


def _span(audience: Audience, sources: Iterable[Message]) -> tuple[int, int]:
    found = list(sources)
    if not found or any(message.audience != audience for message in found):
        raise ValueError(f"a summary for {audience} is made of messages of that audience, and of some")
    return min(message.id for message in found), max(message.id for message in found)


# ----------------------------------------------------------------------------------------------- what they are made of


_SAID = f"""role IN ('user', 'assistant') AND content <> '' AND deleted_at IS NULL AND is_archived = 0
    AND {shown("messages")}"""


class ActiveAgent(NamedTuple):
    """An agent that was active for an audience; `active` as far as that audience was told."""

    agent: AgentId
    audience: Audience
    active: bool


class Talk(NamedTuple):
    """What an audience heard in a time: the number of messages, and the newest of them."""

    audience: Audience
    messages: int
    newest: int


def doing(rows: Rows, since: datetime) -> list[ActiveAgent]:
    """The agents that said or did something since then, for each audience that heard it."""
    sql = """SELECT DISTINCT m.agent_id, m.audience, coalesce(p.active, 0) AS active FROM messages m
             LEFT JOIN agent_presence p ON p.agent_id = m.agent_id AND p.audience = m.audience
             WHERE m.agent_id IS NOT NULL AND m.created_at > ? AND m.deleted_at IS NULL ORDER BY 1, 2"""
    return [ActiveAgent(AgentId(row[0]), Audience(row[1]), bool(row[2])) for row in rows.all(sql, (since,))]


def of_agent(rows: Rows, agent: AgentId, audience: Audience, since: datetime, limit: int) -> list[Message]:
    """What an agent was told, said and did since then, heard by exactly this audience; the newest, oldest first."""
    sql = f"""SELECT {COLUMNS} FROM messages WHERE audience = :audience AND created_at > :since
              AND role IN ('user', 'assistant') AND deleted_at IS NULL AND is_archived = 0 AND {shown("messages")}
              AND (agent_id = :agent OR agent_id IS NULL AND batch_id IN (
                SELECT batch_id FROM messages WHERE agent_id = :agent AND audience = :audience AND created_at > :since))
              ORDER BY id DESC LIMIT +:limit"""
    values: dict[str, Value] = {"agent": agent, "audience": audience, "since": since, "limit": limit}
    return [to_message(row) for row in reversed(rows.all(sql, values))]


def talk_between(rows: Rows, start: datetime, end: datetime) -> list[Talk]:
    """Who heard how many messages in a time; only audiences in which a person spoke."""
    sql = f"""SELECT audience, count(*), max(id) FROM messages WHERE created_at >= ? AND created_at < ? AND {_SAID}
              GROUP BY audience HAVING sum(role = 'user') > 0 ORDER BY audience"""
    return [Talk(Audience(row[0]), row[1], row[2]) for row in rows.all(sql, (start, end))]


def said_between(rows: Rows, audience: Audience, start: datetime, end: datetime, limit: int) -> list[Message]:
    """Messages of people and agents in a time, heard by exactly this audience; the newest, oldest first."""
    sql = f"""SELECT {COLUMNS} FROM messages WHERE audience = ? AND created_at >= ? AND created_at < ? AND {_SAID}
              ORDER BY id DESC LIMIT +?"""
    found = rows.all(sql, (audience, start, end, limit))
    return [to_message(row) for row in reversed(found)]


def unchanged(rows: Rows, sources: Sequence[Message]) -> bool:
    """Whether messages still have the text and audience with which they were read."""
    known = {message.id: message for message in sources}
    now = messages.by_ids(rows, list(known), Scope(sources[0].audience)) if sources else []
    return len(now) == len(known) and all(
        (message.revision, message.audience, message.deleted_at)
        == (known[message.id].revision, known[message.id].audience, known[message.id].deleted_at)
        for message in now
    )


def places_of(rows: Rows, sources: Sequence[Message]) -> dict[str, str]:
    """The names of the messages' places, by id."""
    wanted = sorted({message.place for message in sources})
    found = rows.all("SELECT id, name FROM places WHERE id IN (SELECT value FROM json_each(?))", (wanted,))
    return {row["id"]: row["name"] for row in found if row["name"]}
