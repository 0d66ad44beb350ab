"""The part of erasure in blocks: what agents wrote because of a message that is deleted or edited, or of a person.

Every change of a block names the turn that made it, and a turn names the messages that it answered: if any of them
goes, everything the turn wrote goes. Texts are not compared, since a paraphrase does not show where it came from. The
removal is itself a change by the system: it appears in the block's history, and the owner may revert it.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Sequence, Set
from datetime import datetime
from functools import partial
from typing import Literal

from memory.activity import Kind
from memory.blocks import Block, containers
from memory.blocks.changes import SYSTEM, Change, ChangeKind, Note, Splice, person_writer
from memory.blocks.document import BlockDocument
from memory.blocks.history import ChangeLog
from memory.blocks.repair import open_block, repair_block
from memory.blocks.revert import Edit, take_back
from memory.blocks.schema_paths import PLAIN
from memory.blocks.store import EVERYBODY, OpenBlock, block_history, insert_checkpoint, save_change
from memory.blocks.visibility import block_by_id
from memory.people.audience import Audience
from memory.queue.messages import Message
from memory.queue.turns import answering, caused
from memory.store.database import Rows, Tx
from memory.store.errors import BlockCorrupt, BlockRefused, Refused, StoreError
from memory.store.fulltext import content_words, index_text
from memory.store.ids import AgentId, BlockId, PersonId, TurnId
from memory.store.logs import Log

_log = Log(__name__)

NO_DESCRIPTION = "Its description was deleted"
"""The description of a block whose own one went with the person or the message that it came from."""


def remove_derived(
    tx: Tx, old: Message, at: datetime, *, gone: Set[str] = frozenset(), but: Audience | None = None
) -> int:
    """Remove what agents wrote because of a message that is gone; returns how many blocks changed.

    After an edit, `gone` are the words that it removed: only changes with one of them are taken back. Blocks of the
    audience `but` stay. Text that others have changed since stays, too. A damaged block is repaired first.
    """
    turns = caused(tx, answering(tx, old.id))
    blocks = [block for block in _written(tx, turns) if but is None or _audience(tx, block) != but]
    changed = sum(_take_back(tx, block, at, frozenset(turns), gone) for block in blocks)
    for block in _worded(tx, "described", turns, None):
        if (but is None or _audience(tx, block) != but) and _names(tx, block, gone):
            _undescribe(tx, block)
    for block in _written(tx, turns, deleted=True):
        wipe(tx, block, at)
    return changed


def remove_of_person(tx: Tx, person: PersonId, at: datetime) -> None:
    """Remove what agents wrote in turns that answered a person, and what the person wrote by hand.

    The history of those blocks is erased, too. A block that got its name in the same way goes whole if nobody else
    described it or wrote in it. Other blocks lose the descriptions that they got so. Call it during an erasure, before
    the messages go. Unreadable blocks are logged.
    """
    turns = caused(tx, turns_of(tx, person))
    writer, written = person_writer(person), _written(tx, turns)
    named, described = _worded(tx, "named", turns, writer), _worded(tx, "described", turns, writer)
    for block in dict.fromkeys((*written, *_by_hand(tx, person), *named, *described)):
        alone = False
        try:
            past, whole = _past(tx, block, at)
            changes = _changes(past, turns, frozenset()) + past.by(writer, past.start)
            alone = whole and len(changes) == len(past.changes)
            if changes:
                _taken_back(_by_system(tx, block, at), past, changes)
            if changes or (block in written and not whole):
                forget_past(tx, block, at, {change.seq for change in changes})
            if block in written and not whole:
                _log.warning("block_words_older_than_history", block=block)
            tx.run("DELETE FROM memory_block_writers WHERE block_id = ? AND writer = ?", (block, writer))
        except StoreError as error:
            _log.warning("block_words_not_removed", block=block, reason=str(error))
        if alone and block in named and (block in described or _is_undescribed(tx, block)):
            _delete(tx, block)
        elif block in described:
            _undescribe(tx, block)
    for block in (*_written(tx, turns, deleted=True), *_by_hand(tx, person, deleted=True)):
        wipe(tx, block, at)
    for block in _worded(tx, "named", turns, writer, deleted=True):
        _delete(tx, block)
    for block in _worded(tx, "described", turns, writer, deleted=True):
        _undescribe(tx, block)
    tx.run("UPDATE memory_blocks SET named_by = '' WHERE named_by = ?", (writer,))


def turns_of(rows: Rows, person: PersonId) -> list[TurnId]:
    """The turns that answered a person, alone or with others."""
    sql = """SELECT i.turn_id AS turn FROM inbox i JOIN messages m ON m.id IN (i.message_id, i.about_id)
             WHERE i.turn_id IS NOT NULL AND m.person_id = :person AND m.role = 'user'
             UNION SELECT batch_id FROM messages WHERE batch_id IS NOT NULL AND person_id = :person AND role = 'user'"""
    return [TurnId(row["turn"]) for row in rows.all(sql, {"person": person})]


def _by_hand(rows: Rows, person: PersonId, *, deleted: bool = False) -> list[BlockId]:
    """The blocks that a person edited by hand, and long blocks, whose writers only their history names."""
    sql = """SELECT b.id FROM memory_blocks b WHERE (b.deleted_at IS NOT NULL) = ? AND EXISTS (
               SELECT 1 FROM memory_block_writers w WHERE w.block_id = b.id AND w.writer IN (?, ?)) ORDER BY b.n"""
    return [BlockId(row["id"]) for row in rows.all(sql, (deleted, person_writer(person), EVERYBODY))]


def _worded(
    rows: Rows, what: Literal["named", "described"], turns: Sequence[TurnId], by: str | None, *, deleted: bool = False
) -> list[BlockId]:
    """The blocks that got their name or their description in these turns, or from this writer."""
    sql = f"""SELECT id FROM memory_blocks WHERE (deleted_at IS NOT NULL) = :deleted AND ({what}_by = :by
              OR {what}_turn IN (SELECT value FROM json_each(:turns))) ORDER BY n"""
    found = rows.all(sql, {"deleted": deleted, "by": by, "turns": json.dumps(turns)})
    return [BlockId(row["id"]) for row in found]


def _names(rows: Rows, block: BlockId, words: Set[str]) -> bool:
    """Whether the name or description has one of these words; always, if there are none."""
    text = rows.value("SELECT label || ' ' || description FROM memory_blocks WHERE id = ?", (block,), str) or ""
    return not words or not words.isdisjoint(content_words(text))


def _undescribe(tx: Tx, block: BlockId) -> None:
    """Remove a block's description. Its name stays, since others address it by that."""
    row = tx.all("SELECT label, content FROM memory_blocks WHERE id = ?", (block,))[0]
    search = index_text(f"{row['label']} {NO_DESCRIPTION} {row['content']}")
    sql = """UPDATE memory_blocks SET description = ?, search_text = iif(deleted_at IS NULL, ?, ''), described_by = '',
             described_turn = NULL WHERE id = ?"""
    tx.run(sql, (NO_DESCRIPTION, search, block))


def _is_undescribed(rows: Rows, block: BlockId) -> bool:
    """Whether it lost its description to another erasure, or to the deletion of a message."""
    sql = "SELECT description = ? FROM memory_blocks WHERE id = ?"
    return rows.number(sql, (NO_DESCRIPTION, block)) == 1


def _delete(tx: Tx, block: BlockId) -> None:
    _drop(tx, block)
    tx.run("DELETE FROM memory_blocks WHERE id = ?", (block,))


def _written(rows: Rows, turns: Sequence[TurnId], *, deleted: bool = False) -> list[BlockId]:
    """The blocks that turns changed, by the activity log; if its entries have expired, every block they may have
    changed.

    With `deleted`, only blocks that were deleted since; else only existing ones.
    """
    sql = """SELECT DISTINCT turn_id, event_type = ? AS wrote, json_extract(details, '$.block') AS block
             FROM activity_events WHERE turn_id IN (SELECT value FROM json_each(?))"""
    events = rows.all(sql, (Kind.BLOCK, json.dumps(turns)))
    forgotten = (set(turns) - {row["turn_id"] for row in events}) | {
        row["turn_id"] for row in events if row["wrote"] and row["block"] is None
    }
    told = {row["block"] for row in events if row["block"] is not None}
    sql = """SELECT id FROM memory_blocks WHERE id IN (SELECT value FROM json_each(?))
             AND (deleted_at IS NOT NULL) = ? ORDER BY n"""
    found = told.union(*(_perhaps_written(rows, turn) for turn in sorted(forgotten)))
    return [BlockId(row["id"]) for row in rows.all(sql, (json.dumps(sorted(found)), deleted))]


def _perhaps_written(rows: Rows, turn: TurnId) -> set[str]:
    """The blocks that a turn with tools may have changed: those with changes from its time, or without any that old."""
    sql = """WITH t AS (SELECT started_at AS start, coalesce(ended_at, '9') AS end FROM turns WHERE id = :turn
                 AND EXISTS (SELECT 1 FROM messages m WHERE m.batch_id = :turn AND m.role = 'tool'))
             SELECT b.id FROM t JOIN memory_blocks b ON b.updated_at >= t.start AND b.created_at <= t.end
             WHERE b.block_type <> 'log' AND (
               EXISTS (SELECT 1 FROM memory_block_updates u WHERE u.block_id = b.id AND u.created_at >= t.start
                 AND u.created_at <= t.end)
               OR (SELECT u.seq > 1 AND u.created_at > t.start FROM memory_block_updates u WHERE u.block_id = b.id
                 ORDER BY u.seq LIMIT 1)
               OR NOT EXISTS (SELECT 1 FROM memory_block_updates u WHERE u.block_id = b.id))"""
    return {row["id"] for row in rows.all(sql, {"turn": turn})}


def _audience(rows: Rows, block: BlockId) -> str | None:
    return rows.value("SELECT audience FROM memory_blocks WHERE id = ?", (block,), str)


def _take_back(tx: Tx, block: BlockId, at: datetime, turns: Set[TurnId], words: Set[str]) -> bool:
    changed, held = False, True
    try:
        past, whole = _past(tx, block, at)
        changes = _changes(past, turns, words)
        held = bool(changes)
        if changes:
            changed = _taken_back(_by_system(tx, block, at), past, changes)
        elif not whole:
            _log.warning("block_words_older_than_history", block=block)
    except StoreError as error:  # the message's other traces are removed all the same
        _log.warning("block_words_not_removed", block=block, reason=str(error))
    if held:  # undo must not bring back the erased text
        tx.run("UPDATE memory_blocks SET sealed_seq = next_seq - 1 WHERE id = ?", (block,))
    return changed


def _past(tx: Tx, block: BlockId, at: datetime) -> tuple[ChangeLog, bool]:
    """A block's past, repaired if necessary; and whether it covers all of the current content."""
    try:
        past, repaired = block_history(tx, block), False
    except BlockCorrupt:
        repair_block(tx, block, at)  # and the owner is told
        past, repaired = block_history(tx, block), True
    return past, past.start == 0 and not repaired


def _taken_back(edit: Edit, past: ChangeLog, changes: Sequence[Change]) -> bool:
    """Take changes back; returns whether the block's text has changed."""
    try:
        result = take_back(edit, past, changes, entries=True)
    except BlockRefused:
        raise
    except Refused:  # nothing is left of it
        return False
    if result.plan.kept:
        _log.warning("block_words_not_removed", block=result.block.id, reason="; ".join(map(str, result.plan.kept)))
    return True


def _changes(past: ChangeLog, turns: Collection[TurnId], words: Set[str]) -> list[Change]:
    """The changes that agents made in these turns: all or, with `words`, those that wrote one of them, or a part."""
    found = [change for change in past.changes if change.turn in turns and change.writer.startswith("agent:")]
    if not words:
        return found
    return [
        step.change
        for step in past.steps(found)
        if not words.isdisjoint(Counter(content_words(step.after)) - Counter(content_words(step.before)))
    ]


def _by_system(tx: Tx, block: BlockId, at: datetime) -> Edit:
    """Edits by the system, without a length limit: restored text may exceed the limit."""

    def edit(change: Callable[[OpenBlock], None]) -> Block:
        opened = open_block(tx, block, SYSTEM, at)
        opened.sealed = 0
        change(opened)
        save_change(tx, opened, Change(SYSTEM, None, opened.next_seq, at))
        owner = tx.value("SELECT agent_id FROM memory_blocks WHERE id = ?", (block,), AgentId)
        return block_by_id(tx, owner or AgentId(""), block)

    return edit


_PAST = ("memory_block_archives", "memory_block_quarantine", "memory_block_checkpoints", "memory_block_updates")


def forget_past(tx: Tx, block: BlockId, at: datetime, gone: Collection[int] = ()) -> None:
    """Make a block begin with its current content: no earlier version, no removed text.

    Version numbers continue, and the writer and turn of the current content stay known, so that it can still be taken
    back; what cannot be attributed belongs to nobody. What is left of the changes `gone` belongs to the system. Raises
    BlockCorrupt if the block cannot be read.
    """
    opened = open_block(tx, block, SYSTEM, at)
    past = opened.history()
    if not past.version:  # nothing was left to repair
        return
    fresh, text = _rebuilt(past, frozenset(gone), at), opened.document.text()
    data, base = fresh.snapshot(), 0
    if fresh.text() == text:
        opened.document = fresh
    else:
        _log.warning("block_authors_unknown", block=block)
        data, base = opened.document.shallow(past.version), past.version
    _drop(tx, block)
    insert_checkpoint(tx, opened, Change(SYSTEM, None, past.version, at), data, base)


def _rebuilt(past: ChangeLog, gone: Set[int], at: datetime) -> BlockDocument:
    """A document with the current content: each change is what is left of it; the last records the removal."""
    fresh, changes = BlockDocument(), {change.seq: change for change in past.changes}
    kept: dict[int, list[containers.Edit]] = {1: [partial(containers.declare, schema=past.held.schema)]}
    for number, plan in past.replay.by_change().items():
        kept.setdefault(max(number, 1), []).append(partial(containers.amend, plan=plan))
    for number, edits in sorted(kept.items()):
        for edit in edits:
            fresh.change(edit)
        change = None if number in gone else changes.get(number)
        fresh.note(Note(ChangeKind.KEPT))
        if change is None:
            fresh.commit(Change(SYSTEM, None, number, min((each.at for each in changes.values()), default=at)))
        else:
            fresh.commit(Change(change.writer, change.turn, number, change.at))
    if fresh.version < past.version:  # the current version has a change of its own, as always
        fresh.change(partial(containers.make, name=PLAIN.name, cuts=[Splice(0, 0, "."), Splice(0, 1, "")]))
        fresh.note(Note(ChangeKind.KEPT))
        fresh.commit(Change(SYSTEM, None, past.version, at))
    return fresh


def wipe(tx: Tx, block: BlockId, at: datetime) -> None:
    """Empty a deleted block: nobody can see it, but its text is still stored."""
    _drop(tx, block)
    tx.run(
        "UPDATE memory_blocks SET content = '', profile = '', search_text = '', updated_at = ? WHERE id = ?",
        (at, block),
    )


def _drop(tx: Tx, block: BlockId) -> None:
    for table in _PAST:
        tx.run(f"DELETE FROM {table} WHERE block_id = ?", (block,))
