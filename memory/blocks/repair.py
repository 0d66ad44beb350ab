"""Opening a block to edit it and, if it is damaged, repairing it first.

The damage is quarantined, and the document rebuilt from its sound parts.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct

from memory.blocks import containers, store
from memory.blocks.changes import Change
from memory.blocks.document import SYSTEM, Blob, BlobKind, BlockDocument, Writer, salvage
from memory.blocks.history import archived
from memory.blocks.schemas import parse_schema
from memory.blocks.store import OpenBlock, blobs, insert_checkpoint, insert_update, load_block, peer_of
from memory.people.audience import OWNER, Audience, Scope
from memory.store.database import Row, Rows, Tx, Value
from memory.store.errors import BlockCorrupt, BlockNotFound, Refused
from memory.store.ids import BlockId, snowflakes
from memory.store.logs import Log
from memory.store.row_mapper import RowMapper
from texts import _, gettext_noop

_log = Log(__name__)


def open_block(tx: Tx, block: BlockId, writer: Writer, now: datetime) -> OpenBlock:
    """Load a block for editing as `writer`, repairing damage. Raises BlockCorrupt when nothing is sound."""
    try:
        return load_block(tx, block, peer_of(tx, block, writer))
    except BlockCorrupt:
        repair_block(tx, block, now)
    # Load again: a repair may have changed peers and numbers, and this shows that it worked.
    return load_block(tx, block, peer_of(tx, block, writer))


def repair_block(tx: Tx, block: BlockId, now: datetime) -> tuple[str, ...]:
    """Quarantine what cannot be read and rebuild the document; returns the damage, one line each.

    The damage is recorded for the owner. Raises BlockCorrupt, and changes nothing, when no checkpoint and no first
    update is sound.
    """
    findings = [*_repair_document(tx, block, now), *_repair_archives(tx, block, now)]
    if findings:
        note_damage(tx, block, findings, "repaired", now)
        _log.warning("block_repaired", block=block, repairs=findings)
    return tuple(findings)


def _repair_document(tx: Tx, block: BlockId, now: datetime) -> list[str]:
    try:
        load_block(tx, block, None)
    except BlockCorrupt:
        head, checkpoints = store.head_of(tx, block), blobs(tx, BlobKind.CHECKPOINT, block)
        found = salvage(checkpoints[::-1], blobs(tx, BlobKind.UPDATE, block))
    else:
        return []
    if found is None:
        return _begin_anew(tx, head, now)
    for blob, reason in found.bad:
        _quarantine(tx, head, blob, reason, now)
    repairs = [reason for _, reason in found.bad]
    expected = head["next_seq"] - 1
    if found.reached < expected:
        repairs.append(f"changes {found.reached + 1} to {expected} are lost")
        # Their operation numbers are assigned again, so the old peers must not be reused.
        tx.run("DELETE FROM memory_block_writers WHERE block_id = ?", (block,))
    _restore(tx, head, found.document, now)
    return repairs


def _begin_anew(tx: Tx, head: Row, now: datetime) -> list[str]:
    """Nothing stored can be read: start a new document from the rendered text. The text stays, its history is lost."""
    block = head["id"]
    schema = parse_schema(tx.all("SELECT schema FROM memory_blocks WHERE id = ?", (block,))[0]["schema"])
    for blob in (*blobs(tx, BlobKind.CHECKPOINT, block), *blobs(tx, BlobKind.UPDATE, block)):
        _quarantine(tx, head, blob, "nothing stored of the block can be read", now)
    tx.run("DELETE FROM memory_block_writers WHERE block_id = ?", (block,))
    document = BlockDocument()
    try:
        document.change(partial(containers.begin, schema=schema, given={}))
        _restore(tx, head, document, now)
    except Refused as error:
        raise BlockCorrupt(
            "no stored change of block “{block}” can be read; its last text is kept as it was shown ({error})",
            block=block,
            error=error,
        ) from error
    return ["no stored change could be read: it was begun anew from its last text, and its history is lost"]


def _repair_archives(tx: Tx, block: BlockId, now: datetime) -> list[str]:
    head, repairs = store.head_of(tx, block), list[str]()
    for archive, reason in _bad_archives(tx, block):
        _quarantine(tx, head, archive, reason, now)
        repairs.append(f"{reason}: the history before change {archive.seq + 1} is lost, the text is whole")
    return repairs


def _bad_archives(rows: Rows, block: BlockId) -> list[tuple[Blob, str]]:
    archives, found = blobs(rows, BlobKind.ARCHIVE, block), list[tuple[Blob, str]]()
    for count, archive in enumerate(archives, 1):
        try:
            archived(archives[:count])
        except BlockCorrupt as error:
            found.append((archive, str(error)))
    return found


def note_damage(tx: Tx, block: BlockId, findings: Sequence[str], outcome: str, now: datetime) -> None:
    """Record damage for the owner: 'repaired', or 'unreadable' if the repair failed."""
    head = store.head_of(tx, block)
    values: dict[str, Value] = {
        "id": snowflakes.next(),
        "block_id": block,
        "findings": json.dumps(list(findings)),
        "outcome": outcome,
        "audience": head["audience"],
        "at": now,
    }
    tx.insert("memory_block_repairs", values)


def verify_block(rows: Rows, block: BlockId) -> list[str]:
    """Damage of a block's stored document, one line each; empty if there is none. Changes nothing."""
    problems: list[str] = []
    try:
        head = store.head_of(rows, block)
        bad = [blob.seq for blob in blobs(rows, BlobKind.UPDATE, block) if not blob.is_sound]
        problems += [f"update {seq} does not match its checksum" for seq in bad]
        sql = "SELECT frontier FROM memory_block_checkpoints WHERE block_id = ? ORDER BY up_to_seq"
        frontiers = [row["frontier"] for row in rows.all(sql, (block,))]
        for blob, frontier in zip(blobs(rows, BlobKind.CHECKPOINT, block), frontiers, strict=True):
            problems += _checkpoint_problems(blob, frontier)
        problems += [reason for _, reason in _bad_archives(rows, block)]
        text = load_block(rows, block, None).document.text()
    except (BlockCorrupt, BlockNotFound) as error:
        return list(dict.fromkeys([*problems, str(error)]))  # an unsound blob is found twice
    if text != head["content"]:
        problems.append(f"the text in the row ({len(head['content'])} characters) is not the document's ({len(text)})")
    return problems


def _checkpoint_problems(checkpoint: Blob, frontier: bytes) -> list[str]:
    try:
        document = BlockDocument.load(checkpoint, [])
    except BlockCorrupt as error:
        return [str(error)]
    return [] if document.frontier() == frontier else [f"checkpoint {checkpoint.seq} is of another version"]


def _quarantine(tx: Tx, head: Row, blob: Blob, reason: str, now: datetime) -> None:
    values: dict[str, Value] = {
        "block_id": head["id"],
        "seq": blob.seq,
        "kind": blob.kind,
        "blob": blob.data,
        "reason": reason,
        "audience": head["audience"],
        "at": now,
    }
    tx.insert("memory_block_quarantine", values, ignore=True)
    table, key, *_ = store.BLOBS[blob.kind]
    tx.run(f"DELETE FROM {table} WHERE block_id = ? AND {key} = ?", (head["id"], blob.seq))


def _restore(tx: Tx, head: Row, document: BlockDocument, now: datetime) -> None:
    """Restore what the rendered text still has, and start again from a new checkpoint."""
    block, stamp = head["id"], Change(SYSTEM, None, head["next_seq"], now)
    document.act_as(peer_of(tx, block, SYSTEM))
    document.change(partial(containers.recover, text=head["content"]))
    data = document.commit(stamp)
    if data:
        insert_update(tx, block, head["audience"], stamp, data)
        text = document.text()  # a structured block stores lost text beside its fields
        tx.run("UPDATE memory_blocks SET next_seq = next_seq + 1, content = ? WHERE id = ?", (text, block))
    else:
        stamp = Change(SYSTEM, None, head["next_seq"] - 1, now)
    opened = OpenBlock(tx, block, head, stamp.seq + 1, document, 0, 0, now)
    insert_checkpoint(tx, opened, stamp, document.snapshot(), document.base)


class Damage(Struct, frozen=True):
    """Damage of a block, and whether it could be rebuilt: 'repaired' or 'unreadable'.

    `label` is empty if the block belongs to direct messages.
    """

    id: int
    label: str
    audience: Audience
    findings: tuple[str, ...]
    outcome: str
    at: datetime

    @property
    def words(self) -> str:
        """A sentence for the owner: which block, when, what was found."""
        which = _("block “{name}”", name=self.label) if self.label else _("a block from somebody's direct messages")
        said = (
            gettext_noop("{block} was damaged and rebuilt on {at}: {findings}")
            if self.outcome == "repaired"
            else gettext_noop("{block} is damaged and could not be rebuilt on {at}: {findings}")
        )
        return _(said, block=which, at=self.at, findings="; ".join(self.findings))


def damage_since(rows: Rows, since: datetime) -> list[Damage]:
    """Damage found since then, newest first."""
    return _damage.all(
        rows,
        "SELECT r.id, r.findings, r.outcome, r.at, r.audience, b.label FROM memory_block_repairs r"
        " JOIN memory_blocks b ON b.id = r.block_id WHERE r.at >= ? ORDER BY r.id DESC",
        (since,),
    )


_damage = RowMapper(Damage, label=lambda row: row["label"] if Scope(OWNER).may_use(row["audience"]) else "")
