"""The activity log of a constellation: the code that does something writes an event in the same transaction.

An event says what was done, in words of ours, and never copies what somebody said: an event about a message names the
message, whose text is read there, so that an edit or a deletion changes nothing here. Words that agents give to `coord`
(tasks, handoffs, notes) are the exception; triggers delete them with the messages that they came from.

There are ten kinds. `Details` hold the same for programs. A tool call is one event: of the kind of what it did, with
the name of the tool, if there is such a kind.

The log also records when agents were active, separately for each audience: one audience learns nothing about others.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from msgspec import Struct, ValidationError
from msgspec.json import decode

from memory.people.audience import Audience, Scope, Trust
from memory.people.hidden_people import shown
from memory.queue.turns import Turn
from memory.store.clock import from_text, to_text
from memory.store.database import Row, Rows, Tx, Value
from memory.store.fulltext import date_words, index_text, storable
from memory.store.ids import AgentId, BlockId, EntryId, MessageId, PersonId, PlaceId, TurnId, snowflakes
from memory.store.row_mapper import RowMapper
from texts import gettext_lazy, gettext_noop, packed, unpacked

Importance: TypeAlias = Literal["low", "medium", "high", "critical"]
IMPORTANCES: tuple[Importance, ...] = ("low", "medium", "high", "critical")

IDLE = timedelta(minutes=30)
"""An agent is inactive after this time without a turn."""
MOST = 200
"""The most events in one read."""
_SAID = 160  # characters of a message that are read with its event
_RESULT = 1_000  # characters of what a tool gave that are read with its use


class Kind(StrEnum):
    ACTIVATED = "agent_activated"
    DEACTIVATED = "agent_deactivated"
    RECEIVED = "message_received"
    SENT = "message_sent"
    TOOL = "tool_executed"
    BLOCK = "memory_block_updated"
    FILE = "file_accessed"
    TASK = "task_assigned"
    HANDOFF = "handoff_initiated"
    NOTABLE = "notable"


# ------------------------------------------------------------------------------------------------------ details


class Details(Struct, frozen=True, omit_defaults=True):
    """What an event says for programs, of one kind. Without a field: something notable, or what cannot be read.

    Fields with defaults are left out if they say nothing; some of them are of later versions.
    """

    kind: ClassVar[Kind] = Kind.NOTABLE


class Activated(Details, frozen=True):
    kind = Kind.ACTIVATED


class Deactivated(Details, frozen=True):
    kind = Kind.DEACTIVATED


class MessagesReceived(Details, frozen=True):
    kind = Kind.RECEIVED
    messages: int


class MessageSent(Details, frozen=True):
    """`target` is an agent, a group or a place other than that of the turn."""

    kind = Kind.SENT
    messages: int
    target: str = ""


class ToolUsed(Details, frozen=True):
    """`call` identifies the call in the conversation."""

    kind = Kind.TOOL
    tool: str
    operation: str | None
    worked: bool
    call: str = ""
    seconds: float | None = None


class FolderUsed(ToolUsed, frozen=True, kw_only=True, tag_field="type", tag="folder"):
    kind = Kind.FILE
    folder: str


class AttachmentsRead(Details, frozen=True, tag_field="type", tag="attachments"):
    kind = Kind.FILE
    folder: Literal["attachments"]
    files: int
    operation: Literal["read"]


_BLOCK_CHANGES = {
    "create": gettext_noop("created the block “{label}”"),
    "restore": gettext_noop("restored the block “{label}”"),
    "append": gettext_noop("added to the block “{label}”"),
    "overwrite": gettext_noop("changed the block “{label}”"),
    "delete": gettext_noop("deleted the block “{label}”"),
    "change": gettext_noop("changed the settings of the block “{label}”"),
    "pin": gettext_noop("pinned the block “{label}”"),
    "unpin": gettext_noop("unpinned the block “{label}”"),
    "archive": gettext_noop("archived the block “{label}”"),
    "load": gettext_noop("brought back the block “{label}”"),
    "swap": gettext_noop("swapped the block “{label}” for another"),
    "widen": gettext_noop("let more people see the block “{label}”"),
    "by hand": gettext_noop("changed the block “{label}” by hand"),
    "created": gettext_noop("created the block “{label}” by hand"),
    "changed": gettext_noop("changed the block “{label}” by hand"),
    "deleted": gettext_noop("deleted the block “{label}” by hand"),
    "restored": gettext_noop("restored the block “{label}” by hand"),
}
"""What people read of changes of blocks."""


class BlockUpdated(Details, frozen=True):
    kind = Kind.BLOCK
    label: str
    change: str
    block: BlockId | None = None

    @property
    def words(self) -> str:
        return gettext_lazy(_BLOCK_CHANGES.get(self.change, _BLOCK_CHANGES["overwrite"]), label=self.label)


class Arranged(Details, frozen=True, kw_only=True):
    """By a turn with `tool`, or by hand."""

    tool: str = ""


class TaskAssigned(Arranged, frozen=True):
    kind = Kind.TASK
    task: str
    assignee: str


class TaskChanged(Arranged, frozen=True, tag_field="type", tag="task"):
    task: str
    before: Mapping[str, Mapping[str, str | int | None]] = {}
    """The old values of changed columns, by task."""


class HandoffLeft(Arranged, frozen=True):
    kind = Kind.HANDOFF
    note: str
    to: str


class NoteAdded(Arranged, frozen=True, tag_field="type", tag="note"):
    note: str


class EntryWidened(Details, frozen=True, tag_field="type", tag="entry"):
    entry: EntryId
    change: Literal["widen"]


class MemoryTidied(Details, frozen=True, tag_field="type", tag="tidied"):
    """By the run with the id `dream`."""

    dream: str
    retired: int
    made: int
    refined: int


class NightUndone(Details, frozen=True, tag_field="type", tag="undone"):
    """`night_undone` is the name of the night."""

    night_undone: str


_DETAILS: Mapping[Kind, Any] = {
    each.kind: each
    for each in (
        *(Activated, Deactivated, MessagesReceived, MessageSent, ToolUsed, BlockUpdated, TaskAssigned, HandoffLeft),
    )
} | {
    Kind.FILE: FolderUsed | AttachmentsRead,
    Kind.NOTABLE: TaskChanged | NoteAdded | EntryWidened | MemoryTidied | NightUndone,
}
"""The types of each kind; those of one kind say which they are."""


def read_details(kind: Kind, text: str) -> Details:
    try:
        found: Details = decode(text, type=_DETAILS[kind])
    except ValidationError:
        return Details()
    return found


# ------------------------------------------------------------------------------------------------------- events


class NewEvent(Struct, frozen=True):
    """An event to be written; `words` follow the agent's name and come from the catalog: "assigned a task to Flux"."""

    details: Details
    words: str
    audience: Audience
    trust: Trust
    agent: AgentId | None = None
    person: PersonId | None = None
    place: PlaceId | None = None
    turn: TurnId | None = None
    message: MessageId | None = None
    importance: Importance | None = None


class Event(NamedTuple):
    """A stored event. `said` is the beginning of the message that it is about, if the scope may know it."""

    id: int
    kind: Kind
    agent_name: str
    """Empty if a person did it by hand."""
    place: PlaceId | None
    place_name: str
    """As it is called now, if the scope may know it, or else its id."""
    turn: TurnId | None
    words: str
    said: str
    speaker: str
    importance: Importance | None
    audience: Audience
    trust: Trust
    at: datetime
    details: Details
    person: PersonId | None = None
    """The person who did it by hand, or for whom it was done."""


def note(tx: Tx, event: NewEvent, now: datetime) -> None:
    words, kind = storable(event.words), event.details.kind
    values = {**_new.values(event), "id": snowflakes.next(), "event_type": kind, "at": to_text(now)}
    values["words"] = storable(packed(event.words))
    if kind not in (Kind.RECEIVED, Kind.SENT):  # the messages themselves are found
        values["search_text"] = index_text(f"{date_words(now)} {kind.replace('_', ' ')} {words}")
    tx.insert("activity_events", values)


def note_of_turn(
    tx: Tx, turn: Turn, details: Details, words: str, now: datetime, message: MessageId | None = None
) -> None:
    """Record an action of a turn's agent, for those who hear the turn."""
    about = (turn.agent, turn.person, turn.place, turn.id, message)
    note(tx, NewEvent(details, words, turn.scope.audience, turn.trust, *about), now)


# ------------------------------------------------------------------------------------------------------- reading


class EventFilter(Struct, frozen=True):
    """Conditions for events: since then, of a kind, by an agent; `before` a turn, without what patrols looked at."""

    since: datetime
    kind: Kind | None = None
    agent: AgentId | None = None
    others_than: AgentId | None = None
    before: TurnId | None = None
    unless_in: PlaceId | None = None
    """Messages of that place are left out, since they are in view there."""
    passed: int | None = None
    """Search only this many of the newest events of `agent`."""
    unlogged: Audience | None = None
    """What its logs and blocks for that audience show is left out."""
    most: int | None = None


def recent(rows: Rows, scope: Scope, limit: int, *wanted: EventFilter) -> list[Event]:
    """The newest events that the scope may know, newest first, at most `limit`, `MOST`, and `most` of each `wanted`."""
    chosen, parameters, limit = list[str](), list[Value](), max(0, min(limit, MOST))
    for each in wanted:
        sql, values = _newest(each, limit if each.most is None else each.most)
        chosen.append(f"SELECT * FROM ({sql})")
        parameters += values
    sql = f"""SELECT e.*, a.name AS agent_name, p.name AS place_name, substr(m.content, 1, {_SAID}) AS said,
              m.speaker AS speaker FROM activity_events e LEFT JOIN agents a ON a.id = e.agent_id
              LEFT JOIN places p ON p.id = e.place_id AND KNOWN(p.audience)
              LEFT JOIN messages m ON m.id = e.message_id AND e.event_type IN ('message_received', 'message_sent')
              AND m.deleted_at IS NULL AND KNOWN(m.audience) AND {shown("m")}
              WHERE e.id IN ({" UNION ALL ".join(chosen)}) ORDER BY e.at DESC, e.id DESC LIMIT +?"""
    return _event.all(rows, *scope.bind(sql, *parameters, limit))


def calls(rows: Rows, events: Sequence[Event], scope: Scope) -> dict[int, tuple[str, str]]:
    """The arguments and results of the tool calls of these events, by event, if the transcript still has them."""
    used = {event.id: (event.turn, event.details.call) for event in events if isinstance(event.details, ToolUsed)}
    sql = f"""SELECT m.batch_id, m.tool_call_id, m.role, coalesce(m.tool_args, substr(m.content, 1, {_RESULT})) AS words
              FROM messages m WHERE m.batch_id IN (SELECT value FROM json_each(?)) AND m.tool_call_id IS NOT NULL
              AND m.deleted_at IS NULL AND KNOWN(m.audience) AND {shown("m")}"""
    found = rows.all(*scope.bind(sql, sorted({turn for turn, _ in used.values() if turn})))
    words = {(row["batch_id"], row["tool_call_id"], row["role"]): str(row["words"]) for row in found}
    return {
        event: (words.get((*call, "assistant"), ""), words.get((*call, "tool"), "")) for event, call in used.items()
    }


def _newest(wanted: EventFilter, limit: int) -> tuple[str, tuple[Value, ...]]:
    """A query for ids: of all events, or of each other agent's newest, so that an agent's own many do not hide them."""
    condition, parameters = _where(wanted)
    newest = f"WHERE {condition} ORDER BY e.at DESC, e.id DESC LIMIT +?"
    if wanted.others_than is not None:
        each = f"SELECT e.id FROM activity_events e {newest.replace('WHERE', 'WHERE e.agent_id IS w.id AND', 1)}"
        others = "SELECT id FROM agents WHERE id <> ? UNION ALL SELECT NULL"
        sql = f"SELECT x.id FROM ({others}) w JOIN activity_events x ON x.id IN ({each})"
        return sql, (wanted.others_than, *parameters, limit)
    if wanted.passed is None:
        return f"SELECT e.id FROM activity_events e {newest}", (*parameters, limit)
    held = "id, event_type, agent_id, person_id, place_id, audience, at"  # what conditions are about: others cost time
    among = f"""SELECT {held} FROM activity_events
                WHERE agent_id IS ? AND at >= ? AND KNOWN(audience) ORDER BY at DESC LIMIT +?"""
    return f"SELECT e.id FROM ({among}) e {newest}", (wanted.agent, wanted.since, wanted.passed, *parameters, limit)


def counted(rows: Rows, wanted: EventFilter, scope: Scope) -> list[tuple[str, Kind, int]]:
    """How many events of each kind by each agent the scope may know: the agent's name, kind, number."""
    condition, parameters = _where(wanted)
    sql = f"""SELECT coalesce(a.name, '') AS name, e.event_type,
              sum(coalesce(json_extract(e.details, '$.messages'), 1)) AS n
              FROM activity_events e LEFT JOIN agents a ON a.id = e.agent_id
              WHERE {condition} GROUP BY e.agent_id, e.event_type ORDER BY name, e.event_type"""
    return [(row["name"], Kind(row["event_type"]), row["n"]) for row in rows.all(*scope.bind(sql, *parameters))]


_ON_PATROL = "NOT (e.place_id GLOB 'patrol:*' AND e.event_type IN ('tool_executed', 'file_accessed'))"
"""Recent events in a prompt leave out what agents look at every half hour on patrol."""
_UNLOGGED = f"""(e.event_type NOT IN ('{Kind.ACTIVATED}', '{Kind.DEACTIVATED}', '{Kind.BLOCK}')
    AND NOT (e.event_type = '{Kind.TOOL}' AND e.audience = ?))"""


def _where(wanted: EventFilter) -> tuple[str, tuple[Value, ...]]:
    conditions, values = list[str](), list[Value]()
    given: dict[str, Value] = {
        # First, since it rules out most events: they are looked at in this order.
        "NOT (e.place_id IS ? AND e.event_type IN ('message_received', 'message_sent'))": wanted.unless_in,
        "e.at >= ?": wanted.since,
        "e.event_type = ?": wanted.kind,
        "e.agent_id = ?": wanted.agent,
        "e.agent_id IS NOT ?": wanted.others_than,
        f"e.id < ? AND {_ON_PATROL}": wanted.before,
        _UNLOGGED: wanted.unlogged,
    }
    for sql, value in given.items():
        if value is not None:
            conditions.append(sql)
            values.append(value)
    return " AND ".join([*conditions, shown("e"), "KNOWN(e.audience)"]), tuple(values)


def _words(row: Row) -> str:
    """Of a block from its details: earlier versions stored other words, which no catalog has."""
    kind = Kind(row["event_type"])
    found = read_details(kind, row["details"])
    if isinstance(found, BlockUpdated):
        return found.words
    return gettext_lazy("changed a block") if kind is Kind.BLOCK else unpacked(row["words"])


_event = RowMapper(
    Event,
    kind="event_type",
    place_name=lambda row: row["place_name"] or row["place_id"] or "",
    details=lambda row: read_details(Kind(row["event_type"]), row["details"]),
    words=_words,
)


# ------------------------------------------------------------------------------------------------------ upkeep


def forget_before(tx: Tx, moment: datetime, limit: int = 5_000) -> int:
    """Delete events from before then, oldest first; returns how many."""
    sql = "DELETE FROM activity_events WHERE id IN (SELECT id FROM activity_events WHERE at < ? ORDER BY at LIMIT +?)"
    return tx.run(sql, (moment, limit))


_new = RowMapper(NewEvent)


# --------------------------------------------------------------------------------------------- when agents were active


class Neighbor(Struct, frozen=True):
    """Another agent of the constellation, with its last activity and the subject of its last session, as far as the
    scope may know."""

    id: AgentId
    name: str
    description: str
    last_active: datetime | None
    did: str = ""


Seen: TypeAlias = tuple[datetime, bool]
"""When an agent was last active, and whether it still is."""


def note_begin(tx: Tx, turn: Turn, row: Seen | None, now: datetime) -> None:
    """Record that an agent begins a turn: it is active for its hearers, and activated if it was not.

    `row` is the agent's entry in `seen`.
    """
    if row is None or not row[1] or now - row[0] >= IDLE:
        if row is not None and row[1]:
            _gone(tx, turn.agent, turn.scope.audience, row[0] + IDLE)
        note_of_turn(tx, turn, Activated(), gettext_lazy("became active"), now)
    sql = """INSERT INTO agent_presence (agent_id, audience, last_active, active) VALUES (?, ?, ?, 1)
             ON CONFLICT DO UPDATE SET last_active = excluded.last_active, active = 1"""
    tx.run(sql, (turn.agent, turn.scope.audience, now))


def deactivate_idle(tx: Tx, now: datetime) -> int:
    """Record which agents have become inactive; returns how many."""
    found = tx.all(
        "SELECT agent_id, audience, last_active FROM agent_presence WHERE active = 1 AND last_active <= ?",
        (now - IDLE,),
    )
    for row in found:
        _gone(tx, AgentId(row["agent_id"]), Audience(row["audience"]), from_text(row["last_active"]) + IDLE)
    return len(found)


def any_idle(rows: Rows, now: datetime) -> bool:
    """Whether `deactivate_idle` would record anything."""
    sql = "SELECT 1 FROM agent_presence WHERE active = 1 AND last_active <= ? LIMIT 1"
    return rows.one(sql, (now - IDLE,)) is not None


def _gone(tx: Tx, agent: AgentId, audience: Audience, at: datetime) -> None:
    tx.run("UPDATE agent_presence SET active = 0 WHERE agent_id = ? AND audience = ?", (agent, audience))
    note(tx, NewEvent(Deactivated(), gettext_lazy("became inactive"), audience, Trust.SYSTEM, agent), at)


def seen(rows: Rows, agent: AgentId, scope: Scope) -> dict[Audience, Seen]:
    """The last turn of an agent, for each audience that the scope may know."""
    sql = "SELECT audience, last_active, active FROM agent_presence WHERE agent_id = ? AND KNOWN(audience)"
    found = rows.all(*scope.bind(sql, agent))
    return {Audience(row["audience"]): (from_text(row["last_active"]), bool(row["active"])) for row in found}


def others(rows: Rows, agent: AgentId, scope: Scope) -> list[Neighbor]:
    """The other agents that are not archived, by name."""
    if not rows.may_have("agents", "(SELECT count(*) FROM agents) > 1"):
        return []
    sql = """SELECT a.id, a.name, a.description, max(p.last_active) AS at,
                (SELECT s.what FROM sessions s WHERE s.agent_id = a.id AND s.ended = 1 AND KNOWN(s.audience)
                 ORDER BY s.last_at DESC, s.id DESC LIMIT 1) AS did FROM agents a
              LEFT JOIN agent_presence p ON p.agent_id = a.id AND KNOWN(p.audience)
              WHERE a.id <> ? AND a.status <> 'archived' GROUP BY a.id ORDER BY a.name"""
    return _neighbor.all(rows, *scope.bind(sql, agent))


_neighbor = RowMapper(Neighbor, last_active="at")
