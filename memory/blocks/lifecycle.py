"""Creating, loading, archiving, pinning, sharing and deleting blocks."""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct

from memory import activity
from memory.activity import BlockUpdated, NewEvent
from memory.blocks import containers, records
from memory.blocks.changes import Change, ChangeKind, Note
from memory.blocks.document import SYSTEM, BlockDocument, Writer
from memory.blocks.records import CONSTELLATION_OWNER, LOGS, Author, Block, BlockType, NewBlock, Operation
from memory.blocks.repair import open_block
from memory.blocks.rights import existing_block, require_yes
from memory.blocks.schema_paths import PLAIN
from memory.blocks.schemas import TEXT, Schema, TextSchema, Viewport, dump_schema, outline
from memory.blocks.store import head_of, index_blocks, save_change
from memory.blocks.visibility import block_by_id, own_block, own_blocks
from memory.people.audience import Audience, Scope
from memory.store.clock import from_text, to_text
from memory.store.database import Rows, Tx, Value
from memory.store.errors import BlockExists, BlockNotFound, BlockRefused, Refused
from memory.store.fulltext import require_storable
from memory.store.ids import AgentId, BlockId, TurnId, new_id
from memory.store.lazy import UnicodePattern
from memory.store.records import replace
from texts import gettext_lazy, gettext_noop, join_lazy, ngettext_lazy

# The label is part of a tag in the prompt: <block:label ...>.
_LABEL = UnicodePattern(rf"(?=\S)[^<>\"\p{{C}}\p{{Zl}}\p{{Zp}}]{{1,{records.MOST_LABEL}}}(?<=\S)")


def require_allowed_label(label: str) -> None:
    """Refuse labels with another meaning: those of Carina's logs, and addresses of others' blocks."""
    if label in LOGS:
        raise Refused("{label} is the name of a log that Carina maintains; choose another name", label=label)
    if "/" in label or label == CONSTELLATION_OWNER:
        raise Refused("“{label}” would be the address of another block; choose a name without a slash", label=label)


def create_block(tx: Tx, new: NewBlock, writer: Writer, now: datetime, turn: TurnId | None = None) -> Block:
    """Create a block, in a turn or by hand. Raises BlockExists if owner, label and audience are taken; Refused,
    BlockTooLong."""
    _require_sound(new)
    block, moment = BlockId(new_id("blk")), to_text(now)
    row: dict[str, Value] = {"id": block, "agent_id": new.owner, "label": new.label, "description": new.description}
    row |= {"block_type": new.type, "permission": new.permission, "audience": new.audience, "person_id": new.about}
    row |= {"char_limit": new.limit, "pinned": int(new.pinned), "trust": int(new.trust), "profile": new.profile}
    row |= {"named_by": writer, "named_turn": turn, "described_by": writer, "described_turn": turn}
    row |= {"created_at": moment, "updated_at": moment}
    if new.schema is not TEXT:
        row["schema"] = dump_schema(new.schema)
    if not tx.insert("memory_blocks", row, ignore=True):
        raise BlockExists("there is already a block “{label}” for {audience}", label=new.label, audience=new.audience)
    if new.content or not isinstance(new.schema, TextSchema):
        opened = open_block(tx, block, writer, now)
        if isinstance(new.schema, TextSchema):
            opened.document.change(partial(containers.add_text, target=PLAIN, text=new.content))
        else:
            opened.document.change(lambda loro: containers.begin(loro, new.schema, new.values))
        records.require_fits(new.label, new.limit, len(opened.document.text()))
        save_change(tx, opened, Change(writer, turn, opened.next_seq, now))
    elif new.profile:
        index_blocks(tx, block)
    return block_by_id(tx, new.owner, block)


def ensure_block(tx: Tx, spec: NewBlock, now: datetime) -> Block:
    """Create the block if owner, label and audience are free; an existing one only gets new profile and description."""
    found = own_block(tx, spec.owner, spec.label, spec.audience)
    if found is None:
        return create_block(tx, spec, SYSTEM, now)
    if (found.profile, found.description) == (spec.profile, spec.description):
        return found
    _require_sound(replace(spec, content=""))
    tx.run(
        "UPDATE memory_blocks SET profile = ?, description = ?, updated_at = ? WHERE id = ?",
        (spec.profile, spec.description, now, found.id),
    )
    index_blocks(tx, found.id)
    return block_by_id(tx, spec.owner, found.id)


def ensure_blocks(
    tx: Tx, agent: AgentId, audience: Audience, specs: Sequence[NewBlock], now: datetime
) -> list[tuple[Block, bool]]:
    """The same for several blocks of an agent and the constellation, for one audience; each with whether it is new."""
    known = own_blocks(tx, agent, [spec.label for spec in specs], audience) if specs else {}
    found = []
    for spec in specs:
        before = known.get((spec.owner, spec.label))
        ours = spec.owner == CONSTELLATION_OWNER  # an agent's own block keeps the description that somebody gave it
        if before is None or (ours and (before.profile, before.description) != (spec.profile, spec.description)):
            known[spec.owner, spec.label] = ensure_block(tx, spec, now)
        found.append((known[spec.owner, spec.label], before is None))
    return found


def _require_sound(new: NewBlock) -> None:
    if not _LABEL.fullmatch(new.label):
        raise Refused(
            'a block needs a name of 1 to {most_label} characters on one line, without < > " or '
            "spaces around it, not {label!r}",
            most_label=records.MOST_LABEL,
            label=new.label[: records.MOST_LABEL],
        )
    if not new.description.strip():
        raise Refused("block “{label}” needs a description: it tells the model what belongs in it", label=new.label)
    for text in (new.label, new.description, new.profile):
        require_storable(text)
    records.require_fits(new.label, new.limit, len(new.content))
    if isinstance(new.schema, TextSchema) and new.values:
        raise Refused(
            "block “{label}” is plain text, without fields: leave out {names}",
            label=new.label,
            names=", ".join(new.values),
        )
    if not isinstance(new.schema, TextSchema) and new.content:
        raise Refused(
            "block “{label}” has {outline}: give their values, not plain text",
            label=new.label,
            outline=outline(new.schema),
        )


def tell_changed(tx: Tx, author: Author, block: Block, change: str) -> None:
    """Record a change that an agent made, such as an `Operation`; the system's own upkeep is not recorded."""
    if author.writer == SYSTEM or block.type is BlockType.LOG:
        return
    did, by = BlockUpdated(block.label, change, block.id), (block.audience, author.trust, author.agent)
    activity.note(tx, NewEvent(did, did.words, *by, person=block.about, turn=author.turn), author.now)


_MOVES = {  # the type that a block needs, the one that it gets, and whether it is pinned then
    Operation.ARCHIVE: (BlockType.WORKING, BlockType.ARCHIVAL, False),
    Operation.LOAD: (BlockType.ARCHIVAL, BlockType.WORKING, True),
    Operation.PIN: (BlockType.WORKING, BlockType.WORKING, True),
    Operation.UNPIN: (BlockType.WORKING, BlockType.WORKING, False),
}
_UNMOVED = {
    BlockType.CORE: gettext_noop("block “{address}” is always in context and stays there; choose a working block"),
    BlockType.LOG: gettext_noop("block “{address}” is a log and stays as it is; choose a working block"),
    BlockType.WORKING: gettext_noop("block “{address}” is not archived, so it cannot be loaded; pin it to use it"),
    BlockType.ARCHIVAL: gettext_noop("block “{address}” is archived; load it first"),
}


def move_block(tx: Tx, author: Author, label: str, move: Operation) -> Block:
    """Archive, load, pin or unpin a block. Raises BlockNotFound, BlockRefused, ApprovalNeeded."""
    return _moved(tx, author, _movable(tx, author, label, move, move), move, move)


def swap_blocks(tx: Tx, author: Author, out: str, into: str) -> tuple[Block, Block]:
    """Archive one block and load another, both or neither. Raises as `move_block`."""
    going = _movable(tx, author, out, Operation.ARCHIVE, Operation.SWAP)
    coming = _movable(tx, author, into, Operation.LOAD, Operation.SWAP)
    archived = _moved(tx, author, going, Operation.ARCHIVE, Operation.SWAP)
    return archived, _moved(tx, author, coming, Operation.LOAD, Operation.SWAP)


def _movable(tx: Tx, author: Author, label: str, move: Operation, operation: Operation) -> Block:
    block, decision = existing_block(tx, author, label, operation)
    wanted, _, _ = _MOVES[move]
    if block.type is not wanted:
        raise BlockRefused(_UNMOVED[block.type], address=block.address)
    require_yes(tx, author, block, operation, decision)
    return block


def _moved(tx: Tx, author: Author, block: Block, move: Operation, operation: Operation) -> Block:
    tell_changed(tx, author, block, operation)
    _, kind, pinned = _MOVES[move]
    sql = "UPDATE memory_blocks SET block_type = ?, pinned = ?, updated_at = ? WHERE id = ?"
    tx.run(sql, (kind, int(pinned), author.now, block.id))
    return block._replace(type=kind, pinned=pinned, updated_at=from_text(to_text(author.now)))


def set_viewport(tx: Tx, author: Author, label: str, first: int, lines: int) -> Block:
    """Show only `lines` lines of a long text in context, from `first`, counted from 1; 0 shows all. Raises likewise."""
    block, decision = existing_block(tx, author, label, Operation.PIN)
    if not isinstance(block.schema, TextSchema):
        raise BlockRefused(
            "block “{address}” has {outline}: only plain text has a viewport",
            address=block.address,
            outline=outline(block.schema),
        )
    require_yes(tx, author, block, Operation.PIN, decision)
    most = len(block.content.splitlines())
    if lines and not (1 <= first <= max(most, 1) and lines > 0):
        raise Refused(
            "there is no line {first}: the block has {most}, counted from 1",
            first=first,
            most=ngettext_lazy("{count} line", "{count} lines", most),
        )
    schema = TextSchema(viewport=Viewport(first=first, lines=min(lines, most)) if lines and most else None)
    tx.run("UPDATE memory_blocks SET schema = ? WHERE id = ?", (dump_schema(schema), block.id))
    return block._replace(schema=schema)


def delete_block(tx: Tx, author: Author, label: str) -> Block:
    """Delete a block and free its label; the row stays until it is erased. Raises as `move_block`, and Refused if
    something still needs the block."""
    block, decision = existing_block(tx, author, label, Operation.DELETE)
    require_yes(tx, author, block, Operation.DELETE, decision)
    remove_block(tx, block, author.now)
    tell_changed(tx, author, block, Operation.DELETE)
    return block


def remove_block(tx: Tx, block: Block, now: datetime) -> None:
    """Delete a block without checking rights. Raises Refused, naming what still needs it."""
    if needed := _needed_by(tx, block):
        raise Refused("block “{label}” cannot be deleted: {names}", label=block.label, names=needed)
    tx.run("UPDATE memory_blocks SET deleted_at = ?, search_text = '' WHERE id = ?", (now, block.id))


def _needed_by(rows: Rows, block: Block) -> str:
    sql = "SELECT a.name FROM shared_block_agents s JOIN agents a ON a.id = s.agent_id WHERE s.block_id = ? ORDER BY 1"
    shared = [] if block.owner == CONSTELLATION_OWNER else rows.all(sql, (block.id,))
    names = ", ".join(str(row["name"]) for row in shared)
    reasons = [gettext_lazy("shared with {names}: unshare it first", names=names)] if shared else []
    return join_lazy("; ", [*reasons, *_called_by_label(rows, block)])


def _called_by_label(rows: Rows, block: Block) -> list[str]:
    """What refers to a block by its label and would find nothing, or create an empty block, without it."""
    label, subject = block.label, f"{block.owner}/{block.label}"
    sql = "SELECT audience, within FROM permission_requests WHERE status = 'waiting' AND subject = ?"
    asking = [Scope(row["audience"], frozenset(json.loads(row["within"]))) for row in rows.all(sql, (subject,))]
    asked = [each for each in asking if each.may_use(block.audience)]  # others mean a block of theirs
    sql = """SELECT name FROM agent_groups g WHERE EXISTS (SELECT 1 FROM json_tree(g.pattern_config)
             WHERE key = 'block' AND atom = :label) OR EXISTS (SELECT 1 FROM json_tree(g.states)
             WHERE key = 'block' AND atom = :label) ORDER BY name"""
    groups = [str(row["name"]) for row in rows.all(sql, {"label": label})]
    sql = "SELECT 1 FROM permission_grants WHERE scope = 'memory_edit' AND subject = ? AND revoked_at IS NULL"
    granted = rows.one(sql, (subject,))
    common = rows.one("SELECT 1 FROM constellation_blocks WHERE label = ?", (label,))
    sql = """SELECT a.name FROM agents a, json_each(a.config, '$.blocks') b WHERE a.id = ? AND a.status <> 'archived'
             AND b.value ->> 'label' = ? AND b.value ->> 'audience' = 'each'"""
    seed = rows.one(sql, (block.owner, label))
    reasons = list[str]()
    if asked:
        requests = ngettext_lazy("{count} waiting request", "{count} waiting requests", len(asked))
        reasons.append(gettext_lazy("{requests} to change it, which you must approve or deny first", requests=requests))
    if granted:
        reasons.append(gettext_lazy("a lasting permission to change it: revoke it first"))
    if groups:
        reasons.append(gettext_lazy("the configuration of {names} names it", names=", ".join(groups)))
    if seed:
        words = gettext_lazy("the configuration of {name} creates it again wherever it is missing", name=seed["name"])
        reasons.append(words)
    if common and block.owner == CONSTELLATION_OWNER:
        reasons.append(gettext_lazy("carina.toml sets it up for all agents"))
    return reasons


def undelete_block(tx: Tx, owner: AgentId, label: str, audience: Audience, now: datetime) -> Block:
    """Bring back the block of that label that was deleted last. Raises BlockNotFound, BlockExists."""
    sql = """SELECT id FROM memory_blocks WHERE agent_id = ? AND label = ? AND audience = ?
             AND deleted_at IS NOT NULL ORDER BY deleted_at DESC LIMIT 1"""
    if (row := tx.one(sql, (owner, label, audience))) is None:
        raise BlockNotFound("there is no deleted block “{label}” here", label=label[: records.MOST_LABEL])
    if own_block(tx, owner, label, audience) is not None:
        raise BlockExists("there is a new block “{label}”; rename it, then restore the deleted one", label=label)
    tx.run("UPDATE memory_blocks SET deleted_at = NULL, updated_at = ? WHERE id = ?", (now, row["id"]))
    index_blocks(tx, row["id"])
    return block_by_id(tx, owner, BlockId(row["id"]))


def deleted_blocks(rows: Rows, scope: Scope, label: str) -> list[tuple[AgentId, Audience]]:
    """Owner and audience of deleted blocks of that label that the scope may see, the newest first."""
    sql = "SELECT agent_id, audience FROM memory_blocks WHERE label = ? AND deleted_at IS NOT NULL AND KNOWN(audience)"
    found = rows.all(*scope.bind(f"{sql} ORDER BY deleted_at DESC", label))
    return [(AgentId(row["agent_id"]), Audience(row["audience"])) for row in found]


def deleted_labels(rows: Rows, scope: Scope) -> list[str]:
    """The labels of deleted blocks that the scope may see."""
    sql = "SELECT DISTINCT label FROM memory_blocks WHERE deleted_at IS NOT NULL AND KNOWN(audience) ORDER BY label"
    return [str(row["label"]) for row in rows.all(*scope.bind(sql))]


class NewSettings(Struct, frozen=True):
    """New settings of a block; empty ones keep the old. Only an empty block gets a new `schema`."""

    label: str = ""
    description: str = ""
    limit: int = 0
    type: BlockType | None = None
    schema: Schema | None = None


def change_block(tx: Tx, author: Author, label: str, new: NewSettings) -> Block:
    """Rename, describe, resize or retype a block. Raises as `move_block` and `set_block_settings`."""
    block, decision = existing_block(tx, author, label, Operation.CHANGE)
    for kind in (block.type, new.type or block.type):  # guarded when it becomes or stops being core
        require_yes(tx, author, block._replace(type=kind), Operation.CHANGE, decision)
    tell_changed(tx, author, block, Operation.CHANGE)
    return set_block_settings(tx, block, new, author.writer, author.now, author.turn)


def set_block_settings(
    tx: Tx, block: Block, new: NewSettings, writer: Writer, now: datetime, turn: TurnId | None = None
) -> Block:
    """Change a block's settings without checking rights. Raises Refused, BlockExists, BlockTooLong."""
    if new.schema is not None:
        block = _retyped(tx, block, new.schema, writer, now)
    label, kind = new.label or block.label, new.type or block.type
    description, limit = new.description or block.description, new.limit or block.char_limit
    _require_sound(NewBlock(block.owner, label, description, block.audience, block.trust, kind, profile=block.profile))
    records.require_fits(block.label, limit, len(block.content))
    if kind is not block.type and BlockType.LOG in (kind, block.type):
        raise Refused(
            "block “{label}” has the type {type}: only core, working and archival blocks can change their type",
            label=block.label,
            type=block.type,
        )
    if label != block.label:
        require_allowed_label(label)
        if block.owner == CONSTELLATION_OWNER or block.profile:
            raise Refused("block “{label}” cannot be renamed: all agents use it under this name", label=block.label)
        if needed := join_lazy("; ", _called_by_label(tx, block)):
            raise Refused("block “{label}” cannot be renamed: {names}", label=block.label, names=needed)
        if own_block(tx, block.owner, label, block.audience) is not None:
            raise BlockExists("there is already a block “{label}” for {audience}", label=label, audience=block.audience)
    pinned = kind is not BlockType.ARCHIVAL and (block.pinned or kind is not block.type)
    tx.run(
        "UPDATE memory_blocks SET label = ?, description = ?, char_limit = ?, block_type = ?, pinned = ?,"
        " updated_at = ? WHERE id = ?",
        (label, description, limit, kind, int(pinned), now, block.id),
    )
    index_blocks(tx, block.id)
    for what, before, now_said in (("named", block.label, label), ("described", block.description, description)):
        if now_said != before:
            tx.run(f"UPDATE memory_blocks SET {what}_by = ?, {what}_turn = ? WHERE id = ?", (writer, turn, block.id))
    return block_by_id(tx, block.owner, block.id)


def _retyped(tx: Tx, block: Block, schema: Schema, writer: Writer, now: datetime) -> Block:
    """Give an empty block another schema. Raises Refused for any other."""
    if block.type is BlockType.LOG:
        raise Refused("block “{label}” is a log that Carina maintains: its type cannot be changed", label=block.label)
    if schema.type == block.schema.type:
        raise Refused("block “{label}” already has this type of content", label=block.label)
    opened = open_block(tx, block.id, writer, now)
    empty = BlockDocument()
    empty.change(partial(containers.declare, schema=block.schema))
    before, after = opened.document.read(containers.parts_of).values, empty.read(containers.parts_of).values
    if filled := [name for name, value in before.items() if value != after.get(name)]:  # names of fields are no content
        if lost := ", ".join(name for name in filled if name.strip(".")):
            raise Refused(
                "block “{label}” is not empty: {names} would be lost; create another block and copy the content",
                label=block.label,
                names=lost,
            )
        raise Refused(
            "block “{label}” is not empty: only an empty block can get another type of content; create another "
            "block and copy the content",
            label=block.label,
        )
    opened.document.change(lambda loro: containers.begin(loro, schema, {}))
    opened.document.note(Note(ChangeKind.RETYPE))
    tx.run("UPDATE memory_blocks SET schema = ? WHERE id = ?", (dump_schema(schema), block.id))
    opened.head = head_of(tx, block.id)
    save_change(tx, opened, Change(writer, None, opened.next_seq, now))
    return block_by_id(tx, block.owner, block.id)
