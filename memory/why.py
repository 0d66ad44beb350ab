"""Why an answer says what it says: what its turn used, as far as a scope may know it.

`turn_uses` has the ids; the rows are read now, so a memory that has changed since is shown as it is.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct

from memory import blocks
from memory.blocks import BlockType
from memory.knowledge import entries
from memory.people.audience import Audience, Scope
from memory.people.identities import label_called
from memory.queue import inbox, messages, outbox, turns
from memory.queue.messages import Message
from memory.queue.notifications import Place
from memory.queue.outbox import OutRow
from memory.store.clock import from_text
from memory.store.database import Rows
from memory.store.ids import AgentId, MessageId, PersonId, PlaceId, TurnId

Kind: TypeAlias = Literal["entry", "message", "block", "summary"]

NOTHING_FOUND = "Nothing was found"
"""How the result of a tool begins that searched and found nothing."""


class Memory(Struct, frozen=True):
    """One memory that may be shown. `people` are those whose words it holds, or whom it is about.

    `said` is false for what an agent stored or said itself; `place` and `external_id` say where it can be seen.
    `noted` is what the service or another agent told it, such as that somebody edited a message.
    """

    kind: Kind
    id: str
    text: str
    at: datetime
    audience: Audience
    people: tuple[PersonId, ...]
    speaker: str = ""
    place: Place | None = None
    external_id: str = ""
    label: str = ""
    said: bool = True
    noted: bool = False


class Account(Struct, frozen=True):
    """What one answer used. `hidden` counts what the asker may not know, `gone` what was deleted since.

    `recorded` is false if the person who got the answer has been erased, and the records with them.
    """

    turn: TurnId
    agent: AgentId
    answer: str
    """What it said; empty where that was deleted, or may not be known."""
    memories: tuple[Memory, ...]
    tools: tuple[str, ...]
    vain: int
    """How many of the tools' calls searched and found nothing."""
    hidden: int
    gone: int
    recorded: bool


def answer(rows: Rows, said: OutRow | None, place: PlaceId, scope: Scope) -> TurnId | None:
    """The turn whose answer the row contains, if it was heard in this place and may be known there."""
    if said is None or said.turn is None or not is_answer(said) or said.place != place:
        return None
    turn = turns.get(rows, said.turn)
    return turn.id if turn is not None and scope.may_use(turn.scope.audience) else None


def is_answer(said: OutRow) -> bool:
    """Whether it is, or will be, the answer of its turn, and not a notice, a question or a forwarded message."""
    return said.kind == "preview" or said.key.startswith(f"turn/{said.turn}/")


def under_way(rows: Rows, place: PlaceId) -> bool:
    """Whether something is being sent to a place right now: its message may be visible before its id is stored."""
    sql = "SELECT 1 FROM outbox WHERE place_id = ? AND status = 'sending' LIMIT 1"
    return rows.one(sql, (place,)) is not None


def newest_answer(rows: Rows, place: PlaceId, scope: Scope) -> TurnId | None:
    """The turn of the newest answer in a place that the scope may know."""
    sql = """SELECT t.id FROM messages m JOIN turns t ON t.id = m.batch_id WHERE m.place_id = ?
              AND m.role = 'assistant' AND m.tool_call_id IS NULL AND KNOWN(t.audience)
              AND EXISTS (SELECT 1 FROM outbox o WHERE o.key IN ('turn/' || t.id || '/0', 'turn/' || t.id || '/0/0')
                AND o.status IN ('sending', 'sent', 'unknown')) ORDER BY m.id DESC LIMIT 1"""
    return rows.value(*scope.bind(sql, place), TurnId)


def account(rows: Rows, identifier: TurnId, scope: Scope) -> Account:
    """What a turn's answer used. Raises KeyError if there is no such turn."""
    turn = turns.get(rows, identifier)
    if turn is None:
        raise KeyError(identifier)
    uses = {kind: ids for kind, ids in turns.used(rows, [turn.id]).items() if kind in (*turns.LIVING, "gone")}
    shown = [
        *_entries(rows, uses.get("entry", ()), scope),
        *_messages(rows, uses.get("message", ()), scope),
        *_summaries(rows, uses.get("summary", ()), scope),
        *_blocks(rows, turn.agent, uses.get("block", ()), scope),
    ]
    counts = (
        rows.number(f"SELECT count(*) FROM {turns.LIVING[kind]}", (uses[kind],)) for kind in {*turns.LIVING} & {*uses}
    )
    living = sum(counts)
    # Names of tools are no content: they are told of a turn that may be known, also where its rows were narrowed.
    vain = f"substr(content, 1, {len(NOTHING_FOUND)}) = ? AS vain"
    told = f"SELECT tool_name, {vain} FROM messages WHERE batch_id = ? AND role = 'tool' ORDER BY id"
    ran = rows.all(told, (NOTHING_FOUND, turn.id))
    ours = (row for row in messages.of_batch(rows, turn.id, scope) if row.role == "assistant" and not row.tool_call_id)
    said = [row.text for row in ours if row.deleted_at is None and row.text.strip()]
    return Account(
        turn=turn.id,
        agent=turn.agent,
        answer=said[-1] if said else "",
        memories=tuple(memory for memory in shown if memory.text.strip()),
        tools=tuple(str(row["tool_name"]) for row in ran),
        vain=sum(row["vain"] for row in ran),
        hidden=living - len(shown),
        gone=sum(map(len, uses.values())) - living,
        recorded=turn.person is not None or bool(uses),
    )


def find(rows: Rows, kind: Kind, identifier: str, scope: Scope) -> Memory | None:
    """One memory that the scope may know; only entries and messages, since nothing can be done with others."""
    match kind:
        case "entry":
            shown = _entries(rows, [identifier], scope)
        case "message":
            shown = _messages(rows, [identifier], scope) if identifier.isdecimal() else []
        case _:
            shown = []
    return shown[0] if shown else None


def entry_of(rows: Rows, memory: Memory) -> entries.Entry:
    """The entry of a memory that was just found."""
    return entries.to_entry.one(rows, "SELECT * FROM archival_entries WHERE id = ?", (memory.id,))


def message_of(rows: Rows, memory: Memory) -> Message:
    (found,) = messages.by_ids(rows, [MessageId(int(memory.id))], Scope(memory.audience))
    return found


def _entries(rows: Rows, ids: Sequence[str], scope: Scope) -> list[Memory]:
    sql = f"SELECT * FROM {turns.LIVING['entry']} AND KNOWN(audience) ORDER BY n"
    return [_entry(rows, entry, scope) for entry in entries.to_entry.all(rows, *scope.bind(sql, ids))]


def _entry(rows: Rows, entry: entries.Entry, scope: Scope) -> Memory:
    source = next((row for row in messages.by_ids(rows, entry.messages[:1], scope) if row.deleted_at is None), None)
    return Memory(
        kind="entry",
        id=entry.id,
        text=entry.content,
        at=entry.created_at,
        audience=entry.audience,
        people=entry.people,
        speaker=source.speaker if source else "",
        place=inbox.place_within(rows, source.place, scope) if source else None,
        external_id=(source.external_id or "") if source else "",
        label=entries.shown_name(entry.label, ""),
    )


def _messages(rows: Rows, ids: Sequence[str], scope: Scope) -> list[Memory]:
    found = messages.by_ids(rows, [MessageId(int(identifier)) for identifier in ids], scope)
    return [_message(rows, row, scope) for row in found if row.deleted_at is None]


def _message(rows: Rows, row: Message, scope: Scope) -> Memory:
    ours = row.role != "user"
    return Memory(
        kind="message",
        id=str(row.id),
        text=row.text,
        at=row.created_at,
        audience=row.audience,
        people=() if row.person is None else (row.person,),
        speaker=row.speaker,
        place=inbox.place_within(rows, row.place, scope),
        external_id=_sent_as(rows, row) if ours else (row.external_id or ""),
        said=not ours,
        noted=row.role == "system",
    )


def _sent_as(rows: Rows, row: Message) -> str:
    """The platform's id of the first message that contains an answer of ours."""
    if row.batch is None:
        return ""
    sent = (each.external_id for each in outbox.of_turn(rows, row.batch) if each.message == row.id and each.external_id)
    return next(sent, "")


def _summaries(rows: Rows, ids: Sequence[str], scope: Scope) -> list[Memory]:
    name = "(SELECT name FROM agents WHERE agents.id = agent_id) AS name"
    sql = f"SELECT *, {name} FROM {turns.LIVING['summary']} AND KNOWN(audience) ORDER BY id"
    return [
        Memory(
            kind="summary",
            id=str(row["id"]),
            text=row["text"],
            at=from_text(row["key"] if row["kind"] in ("day", "week") else row["created_at"]),
            audience=Audience(row["audience"]),
            people=(),
            speaker=row["name"] or "",
            place=inbox.place_within(rows, PlaceId(row["place_id"]), scope) if row["place_id"] else None,
            label=row["kind"],
            said=False,
        )
        for row in rows.all(*scope.bind(sql, ids))
    ]


def _blocks(rows: Rows, agent: AgentId, ids: Sequence[str], scope: Scope) -> list[Memory]:
    seen = blocks.visible_blocks(rows, agent, scope, tuple(BlockType)) if ids else []
    return [
        Memory(
            kind="block",
            id=block.id,
            text="\n".join(part for part in (block.profile, block.content) if part),
            at=block.updated_at,
            audience=block.audience,
            people=() if block.about is None else (block.about,),
            speaker=block.shared_from or "",
            label=label_called(rows, block.label, scope),
            said=False,
        )
        for block in seen
        if block.id in ids
    ]
