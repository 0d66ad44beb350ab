"""A constellation's schema in memory, and notifications to put into it."""

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from memory.erasure import edited_or_deleted_messages, personal_tables
from memory.knowledge import entry_changes, items, project_learnings
from memory.knowledge.entries import Entry, NewEntry, Origin
from memory.knowledge.project_learnings import ProjectLearnings
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust
from memory.queue import erasure_follow_ups, inbox, messages, notifications, turns
from memory.queue.inbox import InRow
from memory.queue.messages import Message, NewMessage
from memory.queue.notifications import Notification, Place, Speaker
from memory.queue.payloads import Extras, Quotation
from memory.queue.turns import Turn
from memory.store.database import Tx
from memory.store.fulltext import index_text
from memory.store.ids import AgentId, GroupId, InboxId, MessageId, PersonId, PlaceId
from memory.store.migrations import Kind, migrations, prepare, steps
from memory.store.records import replace
from memory.store.sqlite import Connection, connect, driver

SCHEMA = "\n".join(step.sql for step in steps(Kind.CONSTELLATION, 0))
NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
ANN, BOB = PersonId("discord:ann"), PersonId("discord:bob")
GUILD = Audience("guild:discord:1")
HALL = Place(PlaceId("discord:10"), "guild", GUILD, "hall")
MAIN = GroupId("grp_main")
STAR = AgentId("agt_star")
AUDIENCES = [
    PUBLIC,
    OWNER,
    GUILD,
    Audience("guild:2"),
    Audience("channel:discord:1"),
    Audience("channel:discord:2"),
    Audience("person:discord:ann"),
    Audience("person:discord:bob"),
]
SCOPES = [
    *(Scope(audience) for audience in AUDIENCES),
    Scope(Audience("channel:discord:1"), frozenset({GUILD})),
    Scope(Audience("person:discord:ann"), frozenset({GUILD, Audience("guild:2")})),
]

_AGENT = "INSERT INTO agents (id, name, model, system_prompt, enabled_tools, created_at, updated_at)"


@cache
def _schema() -> Connection:
    raw = driver.connect(":memory:", isolation_level=None)
    raw.create_function("carina_index_text", 1, index_text)  # as migrations have it
    raw.executescript(SCHEMA)
    return raw


def lay_tables(raw: Connection) -> None:
    """Give an empty database a constellation's tables: copying them takes a moment, making them a hundred writes."""
    _schema().backup(raw)


def store(**others: str) -> Tx:
    """A fresh constellation with one agent, or with others too by their ids; every statement stands at once."""
    raw = driver.connect(":memory:", isolation_level=None)
    raw.row_factory = driver.Row
    lay_tables(raw)
    raw.execute("PRAGMA foreign_keys=ON")
    for agent in {STAR: "Star", **others}.items():
        raw.execute(f"{_AGENT} VALUES (?, ?, '', '', '[]', '', '')", agent)
    return Tx(raw)


def name_types(tx: Tx) -> None:
    """Upgrade rows from before their types were named."""
    step = next(each for each in migrations(Kind.CONSTELLATION) if each.name == "named_types")
    for statement in step.sql.split(";\n"):
        tx.run(statement)


def opened(folder: Path, *agents: AgentId) -> Tx:
    """The same in a file of that folder, with these agents or one; its connection is for the caller to close."""
    prepare(folder / "carina.db", Kind.CONSTELLATION)
    tx = Tx(connect(folder / "carina.db"))
    for agent in agents or (STAR,):
        tx.run(f"{_AGENT} VALUES (?, ?, '', '', '[]', '', '')", (agent, agent))
    return tx


def keep(tx: Tx, text: str, at: datetime = NOON, agent: AgentId = STAR, **change: Any) -> Entry:
    """An entry that Ann let an agent keep, heard by the guild; `change` is of its origin, or of the entry."""
    own = {name: change.pop(name) for name in ("label", "category", "tags", "importance") if name in change}
    scope = Scope(change.pop("audience", GUILD))
    origin = replace(Origin(scope, Trust.APPROVED, ANN), **change)
    return entry_changes.insert(tx, agent, NewEntry(text, origin, **own), at)


def edit_message(tx: Tx, external_id: str, text: str, at: datetime) -> None:
    if (old := messages.by_external(tx, "discord", external_id)) is not None:
        messages.edit(tx, old, text, at)


def delete_message(tx: Tx, external_id: str, at: datetime) -> None:
    if (old := messages.by_external(tx, "discord", external_id)) is not None:
        messages.redact(tx, [old.id], at)


def notification(
    number: int, text: str = "hello", person: PersonId = ANN, speaker: str = "Ann", trust: Trust = Trust.APPROVED,
    **change: Any,
) -> Notification:  # fmt: skip
    plain = Notification(
        source="discord",
        external_id=str(number),
        kind=notifications.Kind.MESSAGE,
        place=HALL,
        speaker=Speaker(person, speaker, trust=trust),
        at=NOON,
        text=text,
        subject=str(number),
        position=str(number),
        extras=Extras(quoted=Quotation("Bob", "before")),
    )
    return replace(plain, **change)


def taken(tx: Tx, number: int, text: str = "hello", group: GroupId | None = MAIN, **change: Any) -> InRow:
    """Accept a notification, and give its row."""
    accepted = inbox.accept(tx, notification(number, text, **change), group, NOON)
    assert accepted is not None
    return row_of(tx, accepted.id)


def followed(tx: Tx) -> None:
    """Do what follows edits and deletions."""
    for each in erasure_follow_ups.waiting(tx):
        edited_or_deleted_messages.follow(tx, each)


def kept_of(name: str) -> personal_tables.PersonStore:
    """What the store of that name knows about people."""
    return next(each for each in personal_tables.STORES if each.name == name)


def row_of(tx: Tx, identifier: InboxId) -> InRow:
    row = inbox.get(tx, identifier)
    assert row is not None
    return row


def a_message(number: int = 1, **change: Any) -> Message:
    """One of Ann's in the hall."""
    plain = Message(
        id=MessageId(number), place=HALL.id, agent=None, person=ANN, speaker="Ann", batch=None, sequence=None,
        role="user", text="words", tool_call_id=None, tool_name=None, tool_args=None, source="discord",
        external_id=str(number), delivery="", audience=GUILD, trust=Trust.APPROVED, revision=0, edited_at=None,
        deleted_at=None, archived=False, created_at=NOON,
    )  # fmt: skip
    return plain._replace(**change)


def a_turn(**change: Any) -> Turn:
    plain = Turn(turns.new_turn_id(), STAR, MAIN, HALL.id, ANN, Scope(GUILD), Trust.SYSTEM, (), 0, NOON)
    return replace(plain, **change)


def spoken(turn: Turn, text: str = "hello", **change: Any) -> NewMessage:
    """What a turn's agent said."""
    plain = NewMessage(
        turn.place, turn.person, "Star", text, "discord", None, turn.scope.audience, Trust.AGENT, NOON, "assistant",
        STAR, turn.id, 1,
    )  # fmt: skip
    return replace(plain, **change)


def lessons(tx: Tx, scope: Scope, until: datetime) -> ProjectLearnings:
    """What projects taught a turn that begins then."""
    return project_learnings.learned(
        items.of_turn(tx, a_turn(scope=scope), (), project_learnings.KINDS, project_learnings.READ), until
    )


def begun(tx: Tx, *rows: InRow, **change: Any) -> Turn:
    """A turn that has claimed these rows, at its first try."""
    turn = a_turn(**change)
    turns.begin(tx, turn)
    inbox.claim(tx, list(rows), turn.id)
    turns.count_attempt(tx, turn.id)
    turns.add_joined(tx, turn, [row.message for row in rows if row.message is not None], NOON)
    return turn
