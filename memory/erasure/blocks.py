"""The part of erasure in blocks: what agents wrote because of a message that is deleted or edited, or of a person.

Every change of a block names the turn that made it, and a turn names the messages that it answered: if any of them
goes, everything the turn wrote goes. Texts are not compared, since a paraphrase does not show where it came from. The
removal is itself a change by the system: it appears in the block's history, and the owner may revert it.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence, Set
from datetime import datetime
from functools import partial

from memory.blocks import Block, containers
from memory.blocks.changes import SYSTEM, Change, ChangeKind, Note, Splice, Writer, person_writer
from memory.blocks.document import BlockDocument
from memory.blocks.history import ChangeLog
from memory.blocks.repair import open_block, repair_block
from memory.blocks.revert import Edit, take_back
from memory.blocks.schema_paths import PLAIN
from memory.blocks.store import EVERYBODY, OpenBlock, block_history, index_blocks, insert_checkpoint, save_change
from memory.blocks.visibility import block_by_id
from memory.people.audience import Audience
from memory.queue.messages import Message
from memory.queue.turns import answering, caused
from memory.store.database import Row, Rows, Tx
from memory.store.errors import BlockCorrupt, BlockRefused, Refused, StoreError
from memory.store.fulltext import content_words
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
    turns, changed = caused(tx, answering(tx, old.id)), 0
    for block in _touched(tx, turns):
        if block["deleted"]:
            if block["written"]:
                wipe(tx, block["id"], at)
        elif but is None or block["audience"] != but:
            if block["written"]:
                changed += _take_back(tx, block["id"], at, frozenset(turns), gone)
            if block["described"] and (not gone or not gone.isdisjoint(content_words(block["names"]))):
                _undescribe(tx, block["id"])
    return changed


def remove_of_person(tx: Tx, person: PersonId, at: datetime) -> list[str]:
    """Remove what agents wrote in turns that answered a person, and what the person wrote by hand.

    The history of those blocks is erased, too. A block that got its name in the same way goes whole if nobody else
    described it or wrote in it. Other blocks lose the descriptions that they got so. Call it during an erasure, before
    the messages go. Unreadable blocks are logged. Returns the ids of the blocks that had words of theirs.
    """
    turns, writer = caused(tx, turns_of(tx, person)), person_writer(person)
    found = _touched(tx, turns, writer)
    for row in found:
        block, alone = BlockId(row["id"]), bool(row["deleted"])
        if not row["deleted"]:
            alone = _forget_writer(tx, block, at, turns, writer, written=bool(row["written"]))
        elif row["written"] or row["edited"]:
            wipe(tx, block, at)
        if alone and row["named"] and (row["deleted"] or row["described"] or row["undescribed"]):
            _drop(tx, block)
            tx.run("DELETE FROM memory_blocks WHERE id = ?", (block,))
        elif row["described"]:
            _undescribe(tx, block)
    tx.run("UPDATE memory_blocks SET named_by = '' WHERE named_by = ?", (writer,))
    return [str(row["id"]) for row in found]


def _forget_writer(
    tx: Tx, block: BlockId, at: datetime, turns: Sequence[TurnId], writer: Writer, *, written: bool
) -> bool:
    """Remove from a block what was written in these turns or by the writer; whether nobody else wrote in it."""
    alone = False
    try:
        past, whole = _past(tx, block, at)
        changes = _changes(past, turns, frozenset()) + past.by(writer, past.start)
        alone = whole and len(changes) == len(past.changes)
        if changes:
            _taken_back(_by_system(tx, block, at), past, changes)
        if changes or (written and not whole):
            forget_past(tx, block, at, {change.seq for change in changes})
        if written and not whole:
            _log.warning("block_words_older_than_history", block=block)
        tx.run("DELETE FROM memory_block_writers WHERE block_id = ? AND writer = ?", (block, writer))
    except StoreError as error:
        _log.warning("block_words_not_removed", block=block, reason=str(error))
    return alone


def turns_of(rows: Rows, person: PersonId) -> list[TurnId]:
    """The turns that answered a person, alone or with others."""
    sql = """SELECT i.turn_id AS turn FROM inbox i JOIN messages m ON m.id IN (i.message_id, i.about_id)
             WHERE i.turn_id IS NOT NULL AND m.person_id = :person AND m.role = 'user'
             UNION SELECT batch_id FROM messages WHERE batch_id IS NOT NULL AND person_id = :person AND role = 'user'"""
    return [TurnId(row["turn"]) for row in rows.all(sql, {"person": person})]


def _touched(rows: Rows, turns: Sequence[TurnId], by: Writer | None = None) -> list[Row]:
    """The blocks that agents changed in these turns, that got their name or description there, or from this writer, and
    those that the writer edited by hand; also long blocks, whose writers only their history names."""
    sql = """WITH turn (id) AS (SELECT value FROM json_each(:turns))
             SELECT id, audience, deleted_at IS NOT NULL AS deleted, label || ' ' || description AS names,
               description = :none AS undescribed,
               id IN (SELECT block_id FROM memory_block_turns WHERE turn_id IN turn) AS written,
               named_by = :by OR named_turn IN turn AS named, described_by = :by OR described_turn IN turn AS described,
               :by IS NOT NULL AND id IN (
                 SELECT block_id FROM memory_block_writers WHERE writer IN (:by, :everybody)) AS edited
             FROM memory_blocks WHERE written OR named OR described OR edited ORDER BY n"""
    return rows.all(sql, {"turns": list(turns), "by": by, "everybody": EVERYBODY, "none": NO_DESCRIPTION})


def _undescribe(tx: Tx, block: BlockId) -> None:
    """Remove a block's description. Its name stays, since others address it by that."""
    sql = "UPDATE memory_blocks SET description = ?, described_by = '', described_turn = NULL WHERE id = ?"
    tx.run(sql, (NO_DESCRIPTION, block))
    index_blocks(tx, block)


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
