"""Summaries of older messages: compacted conversations, recent actions of agents, and days and weeks.

Each is an item made from a span of messages of its own audience: when one of them is edited, deleted, restricted or
erased, it is deleted and made again without that text.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from memory.knowledge import items
from memory.knowledge.items import Item, Kind, encoded
from memory.people.audience import Audience, Scope, Trust
from memory.people.hidden_people import shown
from memory.queue import messages
from memory.queue.messages import COLUMNS, Message, to_message
from memory.store.clock import to_text
from memory.store.database import Rows, Tx, Value
from memory.store.ids import AgentId, MessageId, PlaceId
from memory.store.records import asdict, replace

Span: TypeAlias = Literal["day", "week"]
_LONGEST = timedelta(days=8)  # of a week
StrategyName: TypeAlias = Literal["truncate", "recursive_summarization", "importance", "time_decay"]


class Summary(Struct, frozen=True):
    """What all summaries have. `messages` is how many it stands for, `model` who wrote it: "offline" means rules."""

    summary: str
    audience: Audience
    trust: Trust
    messages: int
    model: str
    created_at: datetime
    covers: tuple[int, int] = (0, 0)
    """The first and last message in it, set by the store; of a conversation, their positions, see `position`."""
    id: int = 0
    """The item's id, once it is stored."""


class Compaction(Summary, frozen=True, kw_only=True):
    """How far one agent's view of a conversation is compacted: messages up to the last covered position are hidden,
    except `kept` ones. The summary replaces the hidden messages; it may be empty."""

    agent: AgentId
    place: PlaceId
    strategy: StrategyName
    kept: frozenset[MessageId] = frozenset()

    def hides(self, message: Message) -> bool:
        """Whether it replaces a message in the prompt."""
        return message.audience == self.audience and position(message) <= self.covers[1] and message.id not in self.kept


class AgentSummary(Summary, frozen=True, kw_only=True):
    agent: AgentId
    agent_name: str


class ConstellationSummary(Summary, frozen=True, kw_only=True):
    """What happened for everybody from `start` until `end`."""

    start: datetime
    end: datetime
    decisions: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    span: Span = "day"


S = TypeVar("S", bound=Summary)


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


def _new(kind: Kind, made: Summary, detail: Struct) -> Item:
    heard, at = (made.audience, made.trust), (made.created_at, made.created_at)
    return Item(kind, *heard, *at, made.summary, detail=encoded(detail), span=made.covers)


def _read(item: Item, of: type[S], **more: object) -> S:
    """The summary of an item: the fields are the item's, those of its detail, and `more`."""
    found = asdict(item) | msgspec.json.decode(item.detail) | {"summary": item.text, "covers": item.span} | more
    return msgspec.convert({name: found[name] for name in of.__struct_fields__}, of)


def add(tx: Tx, made: Compaction) -> Item:
    detail = _CompactionDetail(made.messages, made.model, made.strategy, tuple(sorted(made.kept)))
    return items.put(tx, replace(_new(Kind.CONVERSATION, made, detail), agent=made.agent, place=made.place))


def compaction(item: Item) -> Compaction:
    return _read(item, Compaction)


# --------------------------------------------------------------------------------------- agents and constellation


def put_agent_summary(tx: Tx, made: AgentSummary, sources: Sequence[Message]) -> None:
    """Store a summary of an agent's recent actions in place of the last one. Raises ValueError for foreign sources."""
    made = replace(made, covers=_covered(made.audience, sources))
    new = replace(_new(Kind.AGENT, made, _Made(made.messages, made.model)), agent=made.agent)
    items.put(tx, new, (), items.find(tx, Kind.AGENT, agent_id=made.agent, audience=made.audience))


def agent_summaries(rows: Rows, scope: Scope, agent: AgentId | None = None) -> list[AgentSummary]:
    """The newest summary of each agent, or of one, that the scope may know."""
    told = items.known(rows, scope, (Kind.AGENT,), -1)
    found = _with_names(rows, [each for each in told if agent is None or each.agent == agent])
    found.sort(key=lambda each: each.agent_name)
    return sorted(found, key=lambda each: each.created_at, reverse=True)


def agent_summary(rows: Rows, agent: AgentId, audience: Audience) -> AgentSummary | None:
    """The current summary of an agent for exactly that audience, for code that renews it."""
    found = _with_names(rows, items.find(rows, Kind.AGENT, agent_id=agent, audience=audience))
    return found[0] if found else None


def _with_names(rows: Rows, found: Sequence[Item]) -> list[AgentSummary]:
    names = {row["id"]: str(row["name"]) for row in rows.all("SELECT id, name FROM agents")} if found else {}
    return [_read(item, AgentSummary, agent_name=names.get(item.agent, item.agent)) for item in found]


def add_constellation_summary(tx: Tx, made: ConstellationSummary, sources: Sequence[Message]) -> Item:
    """Store a summary of a time for everybody in place of the last one.

    Raises ValueError unless all sources have its audience.
    """
    return _put(tx, replace(made, covers=_covered(made.audience, sources)))


def add_week(tx: Tx, made: ConstellationSummary, days: Sequence[ConstellationSummary]) -> None:
    """The same for a week, made from its days. Raises ValueError unless all have its audience."""
    if not days or any(day.audience != made.audience for day in days):
        raise ValueError(f"a week for {made.audience} is made of days of that audience, and of some")
    _put(tx, replace(made, covers=(min(day.covers[0] for day in days), max(day.covers[1] for day in days))))


def _put(tx: Tx, made: ConstellationSummary) -> Item:
    detail = _TimeDetail(made.messages, made.model, to_text(made.end), made.decisions, made.threads)
    text, key = "\n".join([made.summary, *made.decisions, *made.threads]), to_text(made.start)
    new = replace(_new(Kind(made.span), made, detail), text=text, key=key)
    return items.put(tx, new, (), items.find(tx, new.kind, key=key, audience=made.audience))


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
    lines = item.read(_TimeDetail)
    summary = item.text.removesuffix("".join(f"\n{line}" for line in (*lines.decisions, *lines.threads)))
    return _read(item, ConstellationSummary, summary=summary, start=item.key, span=item.kind)


def _covered(audience: Audience, sources: Sequence[Message]) -> tuple[int, int]:
    if not sources or any(message.audience != audience for message in sources):
        raise ValueError(f"a summary for {audience} is made of messages of that audience, and of some")
    return min(message.id for message in sources), max(message.id for message in sources)


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
    """The names of the messages' places, by id, as far as their hearers know them."""
    wanted = sorted({message.place for message in sources})
    sql = "SELECT id, name FROM places WHERE id IN (SELECT value FROM json_each(?)) AND KNOWN(audience)"
    found = rows.all(*Scope(sources[0].audience).bind(sql, wanted)) if sources else []
    return {row["id"]: row["name"] for row in found if row["name"]}
