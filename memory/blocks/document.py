"""A block's text as a Loro document, over bytes: with `memory.blocks.containers` the only module that imports loro.

What is true stands in SQLite as blobs, a checkpoint and the updates after it, each with a checksum that is compared
before Loro sees the bytes; a document in memory is for one edit, or a few in a row (`memory.blocks.rows`). Loro's
own errors are plain BaseExceptions; none of them leaves this module, where they become `BlockCorrupt`."""

import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from loro import ID, ChangeMeta, ExportMode, Frontiers, LoroDoc, Side, VersionRange, VersionVector

from memory.blocks import containers
from memory.blocks.changes import EDIT, Change, Content, Deed, Note, Splice, Step, change_of, difference, steps_of
from memory.blocks.changes import SYSTEM as SYSTEM
from memory.blocks.changes import Stamp as Stamp
from memory.blocks.changes import Writer as Writer
from memory.blocks.changes import agent_writer as agent_writer
from memory.blocks.changes import person_writer as person_writer
from memory.blocks.schemas import TextSchema
from memory.store.errors import BlockCorrupt, Refused, StoreError
from texts import gettext_lazy

T = TypeVar("T")

_LATER_PEER = 2**63 + 1
"""Beyond every stored peer: of two insertions at one place that of the higher peer comes later."""
_NEVER_MERGE = -1  # 0 still merges commits of the same second
_DIGEST_BYTES = 8


class BlobKind(StrEnum):
    UPDATE = "update"
    CHECKPOINT = "checkpoint"
    ARCHIVE = "archive"


@dataclass(frozen=True)
class Base:
    """Where a document's history begins: its text at that version, and what was before it lies elsewhere."""

    version: int = 0
    text: str = ""


WHOLE = Base()


@dataclass(frozen=True)
class Blob:
    """Stored bytes of a document: an update numbered `seq`, or a checkpoint that covers updates up to `seq`.

    A checkpoint says where its history begins; Loro could tell only by travelling there, which takes long.
    """

    kind: BlobKind
    seq: int
    data: bytes
    digest: bytes
    base: Base = WHOLE


def seal(kind: BlobKind, seq: int, data: bytes, base: Base = WHOLE) -> Blob:
    return Blob(kind, seq, data, blob_digest(data, base), base)


def blob_digest(data: bytes, base: Base = WHOLE) -> bytes:
    """BLAKE2b, 64 bits, over the bytes and where the history begins; tells damage, not forgery."""
    hashed = hashlib.blake2b(data, digest_size=_DIGEST_BYTES)
    if base.version:
        hashed.update(f"{base.version} {base.text}".encode())
    return hashed.digest()


class UnsoundBlob(BlockCorrupt):
    """One blob cannot be used; `kind` and `seq` say which."""

    def __init__(self, kind: BlobKind, seq: int, reason: str) -> None:
        super().__init__(f"{kind} {seq} {reason}")
        self.kind = kind
        self.seq = seq


class _Guard:
    """Turns whatever Loro raises, panics too, into BlockCorrupt. The document is not to be used afterwards."""

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None or isinstance(error, KeyboardInterrupt | SystemExit | StoreError):
            return
        raise BlockCorrupt("the document failed while {doing}: {error}", doing=self._doing, error=error) from error


class BlockDocument:
    """One block's text with its history. `peer` is the writer's id in this block and must not be shared."""

    def __init__(self, peer: int | None = None) -> None:
        with _Guard("opening"):
            self._loro = LoroDoc()
            if peer is not None:
                self._loro.peer_id = peer
            self._loro.set_record_timestamp(True)
            self._loro.set_change_merge_interval(_NEVER_MERGE)
            # The version vector counts edits that are not committed yet, so it is taken before any is made.
            self._since = self._loro.oplog_vv
        self.base = WHOLE
        self.version = 0
        """The number of the last change."""
        self._note = EDIT
        self._before: str | None = None
        """What the block said before the edits since the last commit; None while there are none."""
        self._said: str | None = None
        """What it says, as long as nothing changed since it was read: it takes long, and is asked for often."""

    @classmethod
    def load(cls, checkpoint: Blob | None, updates: Sequence[Blob], peer: int | None = None) -> "BlockDocument":
        """The document after these updates, in order; raises UnsoundBlob for the first that cannot be used."""
        document = cls(peer)
        if checkpoint is not None:
            document._take(checkpoint)
            document.base = checkpoint.base
        # One by one: import_batch is slower here, and would not say which blob failed.
        for blob in updates:
            document._take(blob)
        with _Guard("loading"):
            document._since = document._loro.oplog_vv
        return document

    def _take(self, blob: Blob) -> None:
        if blob_digest(blob.data, blob.base) != blob.digest:
            raise UnsoundBlob(blob.kind, blob.seq, gettext_lazy("does not match its checksum"))
        try:
            status = self._loro.import_(unpack(blob.data))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            raise UnsoundBlob(blob.kind, blob.seq, gettext_lazy("cannot be read: {error}", error=error)) from error
        if status.pending is not None:  # Loro does not call this an error
            raise UnsoundBlob(blob.kind, blob.seq, gettext_lazy("builds on a change that is missing"))
        self.version = blob.seq
        self._said = None

    def act_as(self, peer: int) -> None:
        """Make further edits as this peer; only between commits."""
        with _Guard("changing the writer"):
            self._loro.peer_id = peer

    def text(self) -> str:
        """The text; of a structured block what is shown of its parts."""
        if self._said is None:
            self._said = self.look(containers.text_of)
        return self._said

    @property
    def structured(self) -> bool:
        """Whether it has fields, items or sections instead of one text."""
        return not isinstance(self.look(containers.schema_of), TextSchema)

    def change(self, edit: containers.Edit) -> None:
        """Change the parts by a function of `memory.blocks.containers`."""
        if self._before is None:
            self._before = self.text()
        self._said = None
        with _Guard("changing"):
            edit(self._loro)

    def look(self, read: Callable[[LoroDoc], T]) -> T:
        """What a function of `memory.blocks.containers` reads of the parts."""
        with _Guard("reading the parts"):
            return read(self._loro)

    def look_at(self, version: int, read: Callable[[LoroDoc], T]) -> T:
        """The same at a version. Raises Refused for one that is not here."""
        frontiers, _ = self._at(version)
        with _Guard("going back"):
            older = self._copy()
            older.checkout(frontiers)
            return read(older)

    def merge(self, seen: int, name: str, edit: containers.Edit) -> None:
        """Make an edit of one text or list as it was meant at an older version; what came since stays.

        It becomes one more change on the newest, so that the history stays a line, which can be cut. Raises Refused
        for a version that is not here.
        """
        cuts = self.merged(seen, name, edit)
        self.change(lambda loro: containers.make(loro, name, cuts))

    def merged(self, seen: int, name: str, edit: containers.Edit) -> list[Splice[Content]]:
        """What such an edit changes in the text or list as it is: it is made on a branch, and Loro merges the two.

        What both put at the same place alike stands once.
        """
        frontiers, _ = self._at(seen)
        with _Guard("merging"):
            branch = self._branch(frontiers)
            edit(branch)
            branch.commit()
            now = self._loro.oplog_frontiers
            others = containers.cuts_of(branch.diff(frontiers, now), name)
            mine = containers.cuts_of(branch.diff(frontiers, branch.state_frontiers), name)
            if (new := containers.once(mine, others)) != mine:
                branch = self._branch(frontiers)
                containers.make(branch, name, new[::-1])
                branch.commit()
            branch.checkout_to_latest()
            return containers.cuts_of(branch.diff(now, branch.oplog_frontiers), name)[::-1]

    def _branch(self, frontiers: Frontiers) -> LoroDoc:
        branch = self._copy()
        branch.set_detached_editing(True)
        branch.checkout(frontiers)
        branch.peer_id = _LATER_PEER
        return branch

    def place_of(self, version: int, name: str, number: int) -> tuple[int, Any, int | None]:
        """Of a list at a version: its length, the item of that number, counted from 1, and the number that it has now.

        The last two are None where there was none, the last also where it is gone.
        """
        frontiers, _ = self._at(version)
        with _Guard("looking for an item"):
            copy = self._copy()
            copy.checkout(frontiers)
            items: Any = copy.get_movable_list(name).get_deep_value()
            cursor = (
                copy.get_movable_list(name).get_cursor(number - 1, Side.Middle) if 1 <= number <= len(items) else None
            )
            if cursor is None:
                return len(items), None, None
            copy.checkout_to_latest()
            now = copy.get_cursor_pos(cursor)
            return len(items), items[number - 1], None if now.update is not None else now.current.pos + 1

    def touched(self, after: int) -> list[tuple[Change, frozenset[str]]]:
        """The changes after a version, each with the names of the containers that it changed."""
        made = [(step.change, [op for each in step.made.changes for op in each["ops"]]) for step in self.steps(after)]
        return [(change, frozenset(map(_name, operations))) for change, operations in made]

    def _copy(self) -> LoroDoc:
        """The same, to go back in; Loro has no `fork_at` for documents without their oldest history."""
        copy = LoroDoc()
        copy.import_(self._loro.export(ExportMode.Snapshot()))
        return copy

    def note(self, note: Note) -> None:
        """Say what the edits since the last commit are for."""
        self._note = note

    def _what_became(self) -> tuple[Splice[str], ...] | None:
        """What the edits since the last commit did to the text that is shown; None for a plain text."""
        before, self._before = self._before, None
        told = self.structured or self._note.deed is Deed.RETYPE
        return difference(before, self.text()) if before is not None and told else None

    def commit(self, stamp: Stamp) -> bytes:
        """Close the edits since the last commit as one change; gives just that change, empty if nothing changed."""
        message, self._note = stamp.message(self._note, self._what_became()), EDIT
        with _Guard("committing"):
            self._loro.commit_with(origin=stamp.writer, timestamp=int(stamp.at.timestamp()), commit_msg=message)
            since, self._since = self._since, self._loro.oplog_vv
            if self._since == since:
                return b""
            self.version = stamp.seq
            return self._loro.export(ExportMode.Updates(since))

    def snapshot(self) -> bytes:
        with _Guard("taking a snapshot"):
            return self._loro.export(ExportMode.Snapshot())

    def frontier(self) -> bytes:
        """The version the document is at; equal bytes are equal versions."""
        with _Guard("reading the version"):
            return self._loro.oplog_frontiers.encode()

    def changes(self) -> list[Change]:
        """Every commit that the document's history has, oldest first."""
        found = {change.seq: change for change in (change_of(meta.message, meta.timestamp) for meta in self._metas())}
        return [change for change in found.values() if change.seq > self.base.version]

    def steps(self, after: int | None = None) -> list[Step]:
        """The changes after that version with their operations, oldest first; without one, the whole history."""
        return steps_of(self.exported(self.base.version if after is None else after))

    def exported(self, after: int) -> str:
        """The changes after that version in Loro's interchange format. Raises Refused when they are not here."""
        since = VersionVector() if after == 0 else self._at(after)[1]
        with _Guard("exporting changes"):
            return self._loro.export_json_updates(since, self._loro.oplog_vv)

    def shallow(self, version: int) -> bytes:
        """The document without the history before that version."""
        frontiers, _ = self._at(version)
        with _Guard("taking a shallow snapshot"):
            return self._loro.export(ExportMode.ShallowSnapshot(frontiers))

    def _at(self, version: int) -> tuple[Frontiers, VersionVector]:
        if version == 0 == self.base.version:
            return Frontiers(), VersionVector()
        if version >= self.base.version:
            for meta in reversed(self._metas()):  # of a large commit, which is several changes, the last one
                if change_of(meta.message, meta.timestamp).seq == version:
                    with _Guard("looking for a version"):
                        frontiers = Frontiers.from_id(ID(meta.id.peer, meta.id.counter + meta.len - 1))
                        vector = self._loro.frontiers_to_vv(frontiers)
                    if vector is not None:
                        return frontiers, vector
        raise Refused(
            "there is no version {version} of this document: it has versions {first} to {last}",
            version=version,
            first=self.base.version,
            last=self.version,
        )

    def _metas(self) -> list[ChangeMeta]:
        found: dict[tuple[int, int], ChangeMeta] = {}

        def collect(change: ChangeMeta) -> bool:
            found[change.id.peer, change.id.counter] = change  # each head leads to the common past again
            return False  # True would stop

        with _Guard("listing changes"):
            self._loro.travel_change_ancestors(self._heads(), collect)
        return sorted(found.values(), key=lambda meta: (meta.lamport, meta.id.peer))

    def _heads(self) -> list[ID]:
        """The last operation of each writer that the history has one of."""
        # Where the history is cut off, some writers have all of theirs before the cut.
        cut = VersionRange.from_vv(self._loro.shallow_since_vv).inner()
        spans = VersionRange.from_vv(self._loro.oplog_vv).inner()
        return [ID(peer, end - 1) for peer, (start, end) in spans.items() if end > max(start, cut.get(peer, (0, 0))[1])]


@dataclass(frozen=True)
class Salvage:
    """What could be read of a damaged document: it stands at update `reached`; `bad` are the blobs left out, why."""

    document: BlockDocument
    reached: int
    bad: tuple[tuple[Blob, str], ...]


def salvage(checkpoints: Sequence[Blob], updates: Sequence[Blob]) -> Salvage | None:
    """The document from the newest sound checkpoint and the updates up to the first that cannot be used.

    Checkpoints come newest first, updates oldest first. None when nothing at all can be read.
    """
    bases, bad = list(checkpoints), list[tuple[Blob, str]]()
    while bases or updates:
        base = bases[0] if bases else None
        start = base.seq if base else 0
        chain = [blob for blob in updates if blob.seq > start]
        try:
            document = BlockDocument.load(base, chain)
        except UnsoundBlob as error:
            if error.kind is BlobKind.CHECKPOINT:
                bad.append((bases.pop(0), str(error)))
                continue
            lost = [blob for blob in updates if blob.seq >= error.seq]
            bad.append((lost[0], str(error)))
            bad += [(blob, f"update {blob.seq} builds on update {error.seq}, which is lost") for blob in lost[1:]]
            updates = [blob for blob in updates if blob.seq < error.seq]
        else:
            return Salvage(document, chain[-1].seq if chain else start, tuple(bad))
    return None


def _name(operation: Mapping[str, Any]) -> str:
    return str(operation["container"]).removeprefix("cid:root-").rpartition(":")[0]


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_FROM_BYTES = 10_000  # below that a snapshot shrinks by little, and is read more often than it is kept
_MAGIC = b"\x28\xb5\x2f\xfd"


def pack(data: bytes) -> bytes:
    """The same bytes, compressed when that is worth while (level 3: a third to a half less, 1 ms for 100 kB)."""
    return zstd.compress(data, 3) if len(data) > _FROM_BYTES else data


def unpack(data: bytes) -> bytes:
    """What was packed, or the bytes themselves. Raises ValueError for what only looks packed."""
    if not data.startswith(_MAGIC):
        return data
    try:
        return zstd.decompress(data)
    except zstd.ZstdError as error:
        raise ValueError(f"it cannot be decompressed: {error}") from error
