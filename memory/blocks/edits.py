"""Editing a block, as a text or by its fields, items and sections: find, check, change, save.

Changes are stored by `memory.blocks.store`.

Adding (an item, to a counter, to the end of a text) requires the right to append; setting, replacing and removing
require the right to overwrite. Only the system changes what the schema calls read-only. A path is a field, a section,
"section.field", or empty for the one list that a block is.

An edit applies to the version that its writer saw: `memory.blocks.merge` decides what becomes of later changes.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias

from memory.blocks import containers, records
from memory.blocks.changes import Change
from memory.blocks.containers import add_entry
from memory.blocks.document import SYSTEM, BlockDocument, Writer
from memory.blocks.lifecycle import create_block, ensure_block, tell_changed
from memory.blocks.merge import known_version, lines_changed, lines_now, place_of_item, set_seen, shown_text
from memory.blocks.records import LOGS, Author, Block, BlockType, Decision, NewBlock, Operation, Permission
from memory.blocks.repair import open_block
from memory.blocks.rights import existing_block, require_yes
from memory.blocks.schema_paths import PLAIN, Target, every_target, target_of
from memory.blocks.schemas import CompositeSchema, Field, FieldType, LogSchema, MapSchema, outline
from memory.blocks.store import DEFAULT_POLICY, CheckpointPolicy, OpenBlock, save_change
from memory.blocks.visibility import own_block
from memory.people.audience import OWNER, Audience, Scope, Trust
from memory.store.clock import from_text, to_text
from memory.store.database import Tx
from memory.store.errors import BlockRefused, Refused
from memory.store.ids import AgentId, TurnId
from memory.store.logs import Log
from memory.store.records import replace
from texts import ngettext_lazy


def append_block(tx: Tx, author: Author, label: str, text: str, path: str = "") -> Block:
    """Append to a text (the block, a field or a section), below its last line, or an entry to a log.

    Raises BlockNotFound, BlockRefused, BlockTooLong, Refused, BlockCorrupt.
    """

    def work(block: Block, opened: OpenBlock) -> None:
        opened.document.change(addition(block, path or end_of(block), text, author.writer, author.now))

    return edit_block(tx, author, label, Operation.APPEND, work)


def end_of(block: Block) -> str:
    """The text of a block to append to if no path is given: its last text field."""
    fields = block.schema.fields if isinstance(block.schema, MapSchema) else ()
    return next((each.name for each in reversed(fields) if each.type is FieldType.TEXT and not each.read_only), "")


def addition(block: Block, path: str, text: str, by: Writer, at: datetime) -> Callable[..., None]:
    """Adds to the end of a text, or an entry to a log. Raises as `append_block`."""
    target = changeable(block, path, by_system=by == SYSTEM)
    if isinstance(target.shape, LogSchema):
        fields, entry = target.shape.fields, text.strip()
        value = {fields[0].name: entry} if fields else entry
        return partial(containers.add_entry, target=target, value=value, at=at, by=by)
    return partial(containers.add_text, target=target, text=text)


def replace_in_block(tx: Tx, author: Author, label: str, old: str, new: str, path: str = "") -> Block:
    """Replace every exact `old` in a text with `new`; it must occur. Without a path, the one field that contains it is
    meant. Raises as `append_block`."""

    def work(block: Block, opened: OpenBlock) -> None:
        where = path or _field_with(block, opened.document, old)
        target = changeable(block, where, by_system=author.writer == SYSTEM)
        opened.document.change(partial(containers.replace_text, target=target, old=old, new=new))

    return edit_block(tx, author, label, Operation.OVERWRITE, work)


def _field_with(block: Block, document: BlockDocument, words: str) -> str:
    """The path of the only text that contains the words; empty if none does. Raises Refused if several do."""
    values = document.read(containers.parts_of).values
    texts = (path for path, target in every_target(block.schema).items() if path and target.kind == "text")
    found = [path for path in texts if words in values[path]]
    if len(found) > 1:
        raise Refused("the text to be replaced occurs in {names}: name the field or section", names=", ".join(found))
    return found[0] if found else ""


def write_block(tx: Tx, author: Author, label: str, text: str) -> Block:
    """Replace the whole content; what others wrote since the author was shown the block stays.

    Raises as `append_block`; Refused if the author sees only some of its lines, BlockChanged if the version that they
    were shown is no longer kept.
    """

    def change(block: Block, opened: OpenBlock) -> None:
        document = opened.document
        _require_text(block)
        if block.id in author.shown and block.shown != block.content:
            raise Refused(
                "you see only some lines of block “{address}”: {not_whole}", address=block.address, not_whole=_NOT_WHOLE
            )
        set_seen(document, PLAIN, text, known_version(author, block, document))

    return edit_block(tx, author, label, Operation.OVERWRITE, change)


def edit_lines(tx: Tx, author: Author, label: str, first: int, last: int, text: str) -> Block:
    """Replace the lines `first` to `last`, counted from 1; empty text removes them.

    Line numbers refer to the version that the author was shown; after its last line, to lines that the author added, as
    long as nobody else has written. Raises as `append_block`, and BlockChanged if those lines have changed.
    """

    def change(block: Block, opened: OpenBlock) -> None:
        document = opened.document
        _require_text(block)
        known = known_version(author, block, document)
        shown = shown_text(document, known)
        if known is not None and not known.others and last > len(shown.splitlines()):
            shown = document.text()
        set_seen(document, PLAIN, _spliced(shown, document.text(), first, last, text), None)

    return edit_block(tx, author, label, Operation.OVERWRITE, change)


def _spliced(shown: str, now: str, first: int, last: int, text: str) -> str:
    seen, lines = shown.splitlines(), now.splitlines(keepends=True)
    if not 1 <= first <= last <= len(seen):
        raise Refused(
            "there are no lines {first} to {last}: the block has {seen}, counted from 1",
            first=first,
            last=last,
            seen=ngettext_lazy("{count} line", "{count} lines", len(seen)),
        )
    start = lines_now(seen, now.splitlines(), first, last)
    if start is None:
        raise lines_changed(now)
    end = start + last - first + 1
    ends = "\n" if text and not text.endswith("\n") and lines[end - 1].endswith("\n") else ""
    return "".join([*lines[:start], text + ends, *lines[end:]])


def _require_text(block: Block) -> None:
    if not block.is_text:
        raise Refused(
            "block “{address}” has {outline}; {instead}",
            address=block.address,
            outline=outline(block.schema),
            instead=_INSTEAD,
        )


_NOT_WHOLE = "edit_range writes those anew; viewport with first_line 1 shows all of it"
_INSTEAD = "name the field or section, or use set_field and add_item"


def edit_block(
    tx: Tx, author: Author, label: str, operation: Operation, change: Callable[[Block, OpenBlock], None]
) -> Block:
    """Make one change in a block's document with the rights of `operation`. Raises as `append_block`."""
    block, decision = writable(tx, author, label, operation)
    opened = open_block(tx, block.id, author.writer, author.now)
    change(block, opened)
    records.require_fits(block.address, block.char_limit, len(opened.document.text()), len(block.content))
    require_yes(tx, author, block, operation, decision)  # nobody is asked about an edit that would be refused anyway
    stamp = Change(author.writer, author.turn, opened.next_seq, author.now)
    saved = save_edit(tx, block, opened, stamp, author.policy, author.trust)
    if saved is not block:
        tell_changed(tx, author, block, operation)
    return saved


def save_edit(tx: Tx, block: Block, opened: OpenBlock, stamp: Change, policy: CheckpointPolicy, trust: Trust) -> Block:
    """Store a change made at that trust level; returns the updated block, or the same one if nothing changed."""
    if not save_change(tx, opened, stamp, policy):
        return block
    trust = min(block.trust, trust)
    if trust < block.trust:
        tx.run("UPDATE memory_blocks SET trust = ? WHERE id = ?", (int(trust), block.id))
    text, version, moment = opened.document.text(), opened.document.version, from_text(to_text(stamp.at))
    return block._replace(content=text, trust=trust, updated_at=moment, version=version)


def writable(tx: Tx, author: Author, label: str, operation: Operation) -> tuple[Block, Decision]:
    """The block that this author may change, at once or with approval; created from its template if others have one."""
    template, ours = author.template, author.scope.audience
    fits = template is not None and (template.owner, template.label) == (author.agent, label)
    if template and fits and not own_block(tx, author.agent, label, ours):
        create_block(tx, replace(template, audience=ours), author.writer, author.now)
    return existing_block(tx, author, label, operation)


def set_field(tx: Tx, author: Author, label: str, path: str, value: Any) -> Block:
    """Set a field, or a section that is a text or a list; None clears it.

    In a text or a list, what others have changed since the author was shown the block stays. Raises as `append_block`,
    and BlockChanged.
    """
    if path == containers.RECOVERED and value in (None, ""):
        empty = partial(containers.set_value, target=PLAIN, value="")
        return edit_block(tx, author, label, Operation.OVERWRITE, lambda _block, opened: opened.document.change(empty))

    def change(block: Block, document: BlockDocument, target: Target) -> None:
        if isinstance(target.shape, LogSchema):
            raise Refused("this is a log, whose entries cannot be changed; add_item adds one")
        set_seen(document, target, value, known_version(author, block, document))

    return _change(tx, author, label, path, Operation.OVERWRITE, change)


def add_item(tx: Tx, author: Author, label: str, path: str, value: Any) -> Block:
    """Add an item to a list, an entry to a log, or a number to a counter. Raises as `append_block`."""
    add = _now(containers.add, value=value, at=author.now, by=author.writer)
    return _change(tx, author, label, path, Operation.APPEND, add)


def set_item(tx: Tx, author: Author, label: str, path: str, number: int, value: Any) -> Block:
    """Replace the item of that number, counted from 1. Raises as `remove_item`."""
    return _change_item(tx, author, label, path, number, partial(containers.set_item, value=value))


def remove_item(tx: Tx, author: Author, label: str, path: str, number: int) -> Block:
    """Remove the item of that number, counted from 1 in the version that the author was shown.

    Raises as `append_block`, and BlockChanged if somebody has removed or replaced it since.
    """
    return _change_item(tx, author, label, path, number, containers.remove_item)


_Change: TypeAlias = Callable[[Block, BlockDocument, Target], None]


def _change_item(tx: Tx, author: Author, label: str, path: str, number: int, function: Callable[..., None]) -> Block:
    def change(block: Block, document: BlockDocument, target: Target) -> None:
        known = known_version(author, block, document)
        place = place_of_item(document, target, number, known)
        document.change(partial(function, target=target, number=place))

    return _change(tx, author, label, path, Operation.OVERWRITE, change)


def _now(function: Callable[..., None], **arguments: Any) -> _Change:
    """Apply a function of `memory/blocks/containers.py` to the part as it is now, whatever version was shown."""
    return lambda _block, document, target: document.change(partial(function, target=target, **arguments))


def _change(tx: Tx, author: Author, label: str, path: str, operation: Operation, change: _Change) -> Block:
    def work(block: Block, opened: OpenBlock) -> None:
        change(block, opened.document, changeable(block, path, by_system=author.writer == SYSTEM))

    return edit_block(tx, author, label, operation, work)


def changeable(block: Block, path: str, *, by_system: bool = False) -> Target:
    """The part at a path, if it may be changed. Raises Refused, BlockRefused."""
    if block.is_text and path:
        raise Refused(
            "block “{address}” is plain text, without fields: append to it, replace part of it or rewrite it",
            address=block.address,
        )
    if not path and isinstance(block.schema, MapSchema | CompositeSchema):
        _require_text(block)
    target = target_of(block.schema, path)
    if target.read_only and not by_system:
        raise BlockRefused(
            "{path} of block “{address}” is read-only: Carina maintains it", path=path, address=block.address
        )
    return target


# -------------------------------------------------------------------------------- system logs
#
# Blocks of type log that agents read and only the system writes, one per kind and audience. They record what was done
# and with what result, never anybody's words, so nothing in them has to be erased with somebody's words.

_logger = Log("memory.blocks")
TOOLS, EVENTS, SUMMARIES = LOGS
_KEPT, _SHOWN = 200, 10


def _log(description: str, *fields: Field) -> NewBlock:
    """A log of no agent yet."""
    schema = LogSchema(fields=fields, display_limit=_SHOWN, max_entries=_KEPT)
    rights = (BlockType.LOG, Permission.READ_ONLY)
    return NewBlock(AgentId(""), "", description, OWNER, Trust.SYSTEM, *rights, schema=schema)


_LOGS: Mapping[str, NewBlock] = {
    TOOLS: _log(
        "Which tools its agent used here, and whether each worked",
        Field(name="tool", required=True),
        Field(name="operation"),
        Field(name="worked", type=FieldType.BOOLEAN, required=True),
    ),
    EVENTS: _log("What happened here beside messages", Field(name="event", required=True)),
    SUMMARIES: _log(
        "When earlier talk left your view, and how; what it was is told at the beginning of the conversation",
        Field(name="summary", required=True, description="how it left"),
        Field(name="messages", type=FieldType.NUMBER, description="how many it stands for"),
    ),
}
LOG_DESCRIPTIONS = tuple(each.description for each in _LOGS.values())


def log_author(
    agent: AgentId,
    audience: Audience,
    now: datetime,
    turn: TurnId | None = None,
    policy: CheckpointPolicy = DEFAULT_POLICY,
) -> Author:
    """Whom a log entry is for: the agent, the hearers of its turn, and the turn in which it happened."""
    return Author(agent, Scope(audience), SYSTEM, Trust.SYSTEM, now, turn, policy=policy)


def append_log(tx: Tx, name: str, author: Author, entries: Iterable[Mapping[str, object]]) -> Block | None:
    """Add entries to a log as one change, creating it if needed; None when there are no entries.

    If a block of that name is not a log, nothing is stored: a missing log must not fail a turn. Raises Refused for an
    entry that does not fit the log's fields.
    """
    added = list(entries)
    if not added:
        return None
    block = replace(_LOGS[name], owner=author.agent, label=name, audience=author.scope.audience)
    if ensure_block(tx, block, author.now).type is not BlockType.LOG:
        _logger.warning("log_not_kept", agent=author.agent, label=name, reason="a block with that name is not a log")
        return None

    def add(found: Block, opened: OpenBlock) -> None:
        target = target_of(found.schema, "")
        for entry in added:
            opened.document.change(partial(add_entry, target=target, value=dict(entry), at=author.now, by=SYSTEM))

    return edit_block(tx, author, name, Operation.APPEND, add)
