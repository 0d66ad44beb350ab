"""Making a block, and keeping what a source says of it up to date."""

from dataclasses import replace
from datetime import datetime

import regex

from memory.blocks.finding import block_by_id, own_block
from memory.blocks.guard import require_fits
from memory.blocks.records import Block, NewBlock
from memory.blocks.storage import open_block, save_change
from memory.clock import to_text
from memory.database import Tx, Value
from memory.documents import containers
from memory.documents.document import Stamp, Writer, require_text
from memory.documents.schemas import TEXT, TextSchema, dump_schema, outline
from memory.errors import BlockExists, Refused
from memory.ids import BlockId, new_id
from memory.late_indexes import block_words

_MOST_LABEL = 100
# It stands in a tag of the prompt: <block:label ...>.
_LABEL = regex.compile(rf"(?=\S)[^<>\"\p{{C}}\p{{Zl}}\p{{Zp}}]{{1,{_MOST_LABEL}}}(?<=\S)")


def create_block(tx: Tx, new: NewBlock, writer: Writer, now: datetime) -> Block:
    """Make a block. Raises BlockExists for a living one of that owner, label and audience; Refused, BlockTooLong."""
    _require_sound(new)
    block, moment = BlockId(new_id("blk")), to_text(now)
    row: dict[str, Value] = {"id": block, "agent_id": new.owner, "label": new.label, "description": new.description}
    row |= {"block_type": new.type, "permission": new.permission, "audience": new.audience, "person_id": new.about}
    row |= {"char_limit": new.limit, "pinned": int(new.pinned), "trust": int(new.trust), "profile": new.profile}
    row |= {"created_at": moment, "updated_at": moment, "search_text": block_words(new.label, new.description, "")}
    if new.schema is not TEXT:
        row["schema"] = dump_schema(new.schema)
    if not tx.insert("memory_blocks", row, ignore=True):
        raise BlockExists(f"there is a block {new.label!r} already, for {new.audience}")
    if new.content or not isinstance(new.schema, TextSchema):
        opened = open_block(tx, block, writer, now)
        if isinstance(new.schema, TextSchema):
            opened.document.append(new.content)
        else:
            opened.document.change(lambda loro: containers.begin(loro, new.schema, new.values))
        require_fits(new.label, new.limit, 0, len(opened.document.text()))
        save_change(tx, opened, Stamp(writer, None, opened.next_seq, now))
    return block_by_id(tx, new.owner, block)


def ensure_block(tx: Tx, spec: NewBlock, writer: Writer, now: datetime) -> Block:
    """The block of that owner, label and audience, made if need be; else only profile and description are renewed."""
    found = own_block(tx, spec.owner, spec.label, spec.audience)
    if found is None:
        return create_block(tx, spec, writer, now)
    if (found.profile, found.description) == (spec.profile, spec.description):
        return found
    _require_sound(replace(spec, content=""))
    search = block_words(spec.label, spec.description, found.content)
    tx.run(
        "UPDATE memory_blocks SET profile = ?, description = ?, search_text = ?, updated_at = ? WHERE id = ?",
        (spec.profile, spec.description, search, to_text(now), found.id),
    )
    return block_by_id(tx, spec.owner, found.id)


def _require_sound(new: NewBlock) -> None:
    if not _LABEL.fullmatch(new.label):
        raise Refused(
            f'a block needs a label of 1 to {_MOST_LABEL} characters on one line, without < > " and spaces around it, '
            f"not {new.label[:_MOST_LABEL]!r}"
        )
    if not new.description.strip():
        raise Refused(f"block {new.label} needs a description: it tells the model what belongs in it")
    for text in (new.label, new.description, new.profile):
        require_text(text)
    require_fits(new.label, new.limit, 0, len(new.content))
    if isinstance(new.schema, TextSchema) and new.values:
        raise Refused(f"block {new.label} is a text: it has no fields {', '.join(new.values)}")
    if not isinstance(new.schema, TextSchema) and new.content:
        raise Refused(f"block {new.label} has {outline(new.schema)}: give their values, not a text")
