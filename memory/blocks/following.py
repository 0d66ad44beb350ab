"""What agents wrote into blocks goes with the words that it came from.

What a turn wrote counts as written from the words that it answered: all of it when they are all that it had, else what
shares a content word with them, since nobody can tell from a text in other words whose it was. Taking back is a change
of its own, by the system: a block's history shows it, and the owner may revert it.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import structlog

from memory import messages, outbox
from memory.activity import Kind
from memory.answering import answering, caused
from memory.audience import Audience
from memory.blocks import Block
from memory.blocks.erasing import forget_past, wipe
from memory.blocks.finding import block_by_id
from memory.blocks.history import Edit, past_of_block, take_back
from memory.blocks.lines import drop_entries, drop_lines, words_of
from memory.blocks.repair import repair_block
from memory.blocks.rows import EVERYBODY, archives_of
from memory.blocks.storage import open_block, save_change
from memory.clock import to_text
from memory.database import Rows, Tx
from memory.documents.carrying import carried_over, repeats
from memory.documents.changes import EDIT, SYSTEM, Change, Deed, Note, Stamp, person_writer, played
from memory.documents.document import BlockDocument
from memory.documents.past import Past
from memory.documents.schemas import LogSchema
from memory.errors import BlockCorrupt, BlockRefused, Refused, StoreError
from memory.fulltext import content_words
from memory.ids import AgentId, BlockId, MessageId, PersonId, TurnId
from memory.messages import Message

_log = structlog.get_logger(__name__)
_SECOND = len("2026-11-22T12:00:00")  # characters of a moment without its milliseconds


@dataclass(frozen=True)
class _Found:
    """Turns, and the words that what they wrote goes by: None for all of it. `gone` are those of the message."""

    turns: frozenset[TurnId]
    words: Set[str] | None
    gone: Set[str]


def unwrite(tx: Tx, old: Message, at: datetime, *, gone: Set[str] | None = None, but: Audience | None = None) -> int:
    """Take back what agents wrote into blocks from a message that stands no more; how many blocks changed.

    `old` is the message as it was, `gone` the content words of it that go; None: all of it does, a "yes" too. Blocks of
    the audience `but` keep what they say. Where others changed since what was written, that much of it stays. A damaged
    block is repaired first.
    """
    answered = answering(tx, old.id)
    words = set(content_words(old.text))
    gone, all_goes = (words, True) if gone is None else (gone, bool(gone) and gone >= words)
    whole = all_goes and _was_all(tx, old, answered)
    if not answered or not (gone or whole):
        return 0
    turns = caused(tx, answered)
    blocks = [block for block in _written(tx, turns) if but is None or _audience(tx, block) != but]
    found = _Found(frozenset(turns), None if whole else gone, gone)
    changed = sum(_take_back(tx, block, at, found) for block in blocks)
    for block in _written(tx, turns, deleted=True):
        wipe(tx, block, at)
    return changed


def unwrite_person(tx: Tx, person: PersonId, at: datetime) -> None:
    """Take back what agents wrote into blocks from a person's messages, and what they wrote by hand, with its past.

    For an erasure, while the messages still stand. Turns that answered others too lose what shares a word with the
    person's. What nobody can read any more is logged, and repaired blocks begin anew in any case.
    """
    sources = _sources(tx, person)
    found: dict[TurnId, list[_Source]] = {}
    for source in sources:
        for turn in caused(tx, [source.turn]):
            found.setdefault(turn, []).append(source)
    written = _written(tx, list(found))
    for block in dict.fromkeys((*written, *_by_hand(tx, person))):
        try:
            past, whole = _past(tx, block, at)
            ours = {step.change.turn for step in past.steps if step.change.turn in found}
            hand = past.by(person_writer(person), past.start)
            if ours or hand:
                _taken_from(tx, block, at, past, {turn: found[turn] for turn in ours if turn is not None}, hand)
            lost = not whole and block in written
            if lost:
                _lines_gone(_by_system(tx, block, at), _past(tx, block, at)[0], [source.words for source in sources])
            if ours or hand or lost:
                forget_past(tx, block, at)
            tx.run("DELETE FROM memory_block_writers WHERE block_id = ? AND writer = ?", (block, person_writer(person)))
        except StoreError as error:
            _log.warning("words stay in a block", block=block, reason=str(error))
    for block in (*_written(tx, list(found), deleted=True), *_by_hand(tx, person, deleted=True)):
        wipe(tx, block, at)


class _Source(NamedTuple):
    """A turn that answered a person: the content words that they said there, and whether nobody else spoke."""

    turn: TurnId
    words: Set[str]
    alone: bool


def _sources(rows: Rows, person: PersonId) -> list[_Source]:
    heard = """WITH heard (turn, message) AS (
               SELECT turn_id, message_id FROM inbox WHERE turn_id IS NOT NULL AND message_id IS NOT NULL
               UNION SELECT turn_id, about_id FROM inbox WHERE turn_id IS NOT NULL AND about_id IS NOT NULL
               UNION SELECT batch_id, id FROM messages WHERE batch_id IS NOT NULL AND role = 'user')
             SELECT h.turn, m.content, m.person_id IS :person AS theirs FROM heard h JOIN messages m ON m.id = h.message
             WHERE m.role = 'user' AND h.turn IN (SELECT o.turn FROM heard o JOIN messages p ON p.id = o.message
               WHERE p.person_id = :person AND p.role = 'user')"""
    words: dict[int, set[str]] = {}
    others: set[int] = set()
    for row in rows.all(heard, {"person": person}):
        said = words.setdefault(row["turn"], set())
        if row["theirs"]:
            said.update(content_words(row["content"]))
        elif row["content"]:
            others.add(row["turn"])
    return [_Source(TurnId(turn), said, turn not in others) for turn, said in words.items()]


def _by_hand(rows: Rows, person: PersonId, *, deleted: bool = False) -> list[BlockId]:
    """The blocks that a person wrote in by hand, and long ones, of which that stands in their history alone."""
    sql = """SELECT b.id FROM memory_blocks b WHERE (b.deleted_at IS NOT NULL) = ? AND EXISTS (
               SELECT 1 FROM memory_block_writers w WHERE w.block_id = b.id AND w.writer IN (?, ?)) ORDER BY b.n"""
    return [BlockId(row["id"]) for row in rows.all(sql, (deleted, person_writer(person), EVERYBODY))]


def _taken_from(
    tx: Tx,
    block: BlockId,
    at: datetime,
    past: Past,
    turns: Mapping[TurnId, Sequence[_Source]],
    hand: Sequence[Change],
) -> None:
    alone = {turn for turn, sources in turns.items() if all(source.alone for source in sources)}
    changes = [*hand, *_changes(past, alone, None)]
    for turn in turns.keys() - alone:
        changes += _changes(past, {turn}, {word for source in turns[turn] for word in source.words})
    if changes:
        changes.sort(key=lambda change: change.seq)
        words = [source.words for sources in turns.values() for source in sources]
        _calls_gone(tx, past, changes, turns.keys(), words, at)
        edit = _by_system(tx, block, at, nameless=True)
        every = _Found(frozenset(turns), None, frozenset())
        _taken_back(edit, past, changes, every, lambda: _past(tx, block, at)[0])


def _seal(tx: Tx, block: BlockId) -> None:
    """What stood there once is not brought back by who undoes."""
    tx.run("UPDATE memory_blocks SET sealed_seq = next_seq - 1 WHERE id = ?", (block,))


def _was_all(rows: Rows, old: Message, turns: Sequence[TurnId]) -> bool:
    """Whether turns answered no other words of people that still stand."""
    sql = """SELECT 1 FROM messages WHERE id <> :id AND role = 'user' AND deleted_at IS NULL
             AND id IN (SELECT id FROM messages WHERE batch_id IN (SELECT value FROM json_each(:turns))
               UNION SELECT message_id FROM inbox WHERE turn_id IN (SELECT value FROM json_each(:turns))) LIMIT 1"""
    return rows.one(sql, {"id": old.id, "turns": json.dumps(turns)}) is None


def _written(rows: Rows, turns: Sequence[TurnId], *, deleted: bool = False) -> list[BlockId]:
    """The blocks that turns changed, as the activity has them; where it forgot, all that may be are looked at.

    Those that stand, or those that were `deleted` since.
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
    """The blocks that a turn with tools may have changed: by changes of its time, or where those are pruned."""
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
    row = rows.one("SELECT audience FROM memory_blocks WHERE id = ?", (block,))
    return None if row is None else str(row["audience"])


def _take_back(tx: Tx, block: BlockId, at: datetime, found: _Found) -> bool:
    changed, held = False, True
    try:
        past, whole = _past(tx, block, at)
        edit = _by_system(tx, block, at)
        if whole or any(step.change.turn in found.turns for step in past.steps):
            changes = _changes(past, found.turns, found.words)
            held = bool(changes)
            if changes:
                _calls_gone(tx, past, changes, found.turns, [found.gone], at)
                changed = _taken_back(edit, past, changes, found, lambda: _past(tx, block, at)[0])
        else:
            changed = _lines_gone(edit, past, [found.gone])
            held = changed or _ever_said(past, found.gone)
    except StoreError as error:  # the rest of what follows the message goes all the same
        _log.warning("words stay in a block", block=block, reason=str(error))
    if held:
        _seal(tx, block)
    return changed


def _past(tx: Tx, block: BlockId, at: datetime) -> tuple[Past, bool]:
    """The past of a block, which is repaired if it must be; and whether it tells of everything that stands there."""
    try:
        past, repaired = past_of_block(tx, block), False
    except BlockCorrupt:
        repair_block(tx, block, at)  # and told of to the owner
        past, repaired = past_of_block(tx, block), True
    return past, past.start == 0 and not repaired


def _calls_gone(
    tx: Tx, past: Past, changes: Sequence[Change], turns: Set[TurnId], gone: Sequence[Set[str]], at: datetime
) -> None:
    """Empty what later turns repeated of the words while they changed the block: their calls, and what they said."""
    numbers = {change.seq for change in changes}
    written = [
        {word for each in step.splices for word in content_words(each.insert)}
        for step in past.steps
        if step.change.seq in numbers
    ]
    if past.held is not None:  # of a list the numbers of its items stand in its text, which nobody says again
        written += [{word for word in words if not word.isdecimal()} for words in written]
    later = {step.change.turn for step in past.steps if step.change.seq > min(numbers)} - turns
    sql = """SELECT id, content, tool_args FROM messages WHERE agent_id IS NOT NULL AND deleted_at IS NULL
             AND batch_id IN (SELECT value FROM json_each(?))"""
    repeated = [
        MessageId(row["id"])
        for row in tx.all(sql, (json.dumps(sorted(turn for turn in later if turn is not None)),))
        if repeats(set(content_words(f"{row['content']} {row['tool_args'] or ''}")), [*gone, *written])
    ]
    messages.redact(tx, repeated, at)
    outbox.forget(tx, repeated)


def _taken_back(edit: Edit, past: Past, changes: Sequence[Change], found: _Found, current: Callable[[], Past]) -> bool:
    """Take changes back, and what later ones carried over of them; whether the block says something else now."""
    if past.held is not None and isinstance(past.held.schema, LogSchema):
        return _entries_gone(edit, past, changes, found)
    carried = carried_over(past, {each.seq for each in changes})
    if carried is not None:
        edit(carried)
        past = current()
    try:
        take_back(edit, past, changes)
    except BlockRefused:
        raise
    except Refused:  # nothing of it is left
        return carried is not None
    return True


def _entries_gone(edit: Edit, past: Past, changes: Sequence[Change], found: _Found) -> bool:
    """Entries of a log bear the moment and the writer of the change that made them, which knows its second alone."""
    made = {(to_text(each.at)[:_SECOND], each.writer) for each in changes}

    def goes(entry: Mapping[str, Any]) -> bool:
        of_these = (entry["at"][:_SECOND], entry["by"]) in made
        return of_these and (found.words is None or not found.words.isdisjoint(words_of(entry)))

    def change(document: BlockDocument) -> None:
        drop_entries(document, past, goes)
        document.note(Note(Deed.REVERT, changes[0].seq - 1, changes[0].writer))

    return _changed(edit, change)


def _lines_gone(edit: Edit, past: Past, gone: Sequence[Set[str]]) -> bool:
    return _changed(edit, lambda document: drop_lines(document, past, gone))


def _changed(edit: Edit, change: Callable[[BlockDocument], None]) -> bool:
    """Make the change; whether the block says something else now."""
    texts: list[str] = []

    def watched(document: BlockDocument) -> None:
        texts.append(document.text())
        change(document)

    return edit(watched).content not in texts


def _ever_said(past: Past, gone: Set[str]) -> bool:
    """Whether any of these words stands in what is kept of a past, or stood there."""
    texts = [past.text, *(each.insert for step in past.steps for each in step.splices)]
    return any(not gone.isdisjoint(content_words(text)) for text in texts)


def _changes(past: Past, turns: Collection[TurnId], words: Set[str] | None) -> list[Change]:
    """What agents changed in these turns: all of it, or where they wrote one of the words."""
    found, text = [], past.text
    for step in past.steps:
        before, text = text, played(text, [step])
        if step.change.turn in turns and step.change.writer.startswith("agent:"):
            written = {word for each in step.splices for word in content_words(each.insert)}
            written |= set(content_words(text)) - set(content_words(before))  # words of which only a part was written
            if words is None or not written.isdisjoint(words):
                found.append(step.change)
    return found


def _by_system(tx: Tx, block: BlockId, at: datetime, *, nameless: bool = False) -> Edit:
    """The system's door, under no limit: what stood there before may be put back even where it is longer.

    What is done through it `nameless` does not say whose changes it took back.
    """

    def make(change: Callable[[BlockDocument], None]) -> Block:
        opened = open_block(tx, block, SYSTEM, at)
        change(opened.document)
        if nameless:
            opened.document.note(EDIT)
        save_change(tx, opened, Stamp(SYSTEM, None, opened.next_seq, at))
        row = tx.one("SELECT agent_id FROM memory_blocks WHERE id = ?", (block,))
        return block_by_id(tx, AgentId("" if row is None else row["agent_id"]), block)

    return Edit(make, lambda: archives_of(tx, block))
