"""A block's text as a Loro document, stored as bytes; only this module and `memory.blocks.containers` import loro.

SQLite holds the truth as blobs: a checkpoint and the updates after it, each with a checksum that is verified before
Loro sees the bytes. A document in memory lives for one edit, or a few in a row (`memory.blocks.store`). Loro's own
errors are plain BaseExceptions; this module turns them into `BlockCorrupt`.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import Struct

from memory.blocks import containers
from memory.blocks.changes import EDIT, Change, Content, Note, Splice, change_of
from memory.blocks.changes import SYSTEM as SYSTEM
from memory.blocks.changes import Writer as Writer
from memory.blocks.changes import agent_writer as agent_writer
from memory.blocks.changes import person_writer as person_writer
from memory.store.errors import BlockCorrupt, Refused, StoreError
from memory.store.lazy import LazyLibrary
from texts import gettext_lazy

if TYPE_CHECKING:
    import loro
else:
    loro = LazyLibrary("loro")

T = TypeVar("T")

_LATER_PEER = 2**63 + 1
"""Higher than every stored peer: of two insertions at one position, the one of the higher peer comes later."""
_NEVER_MERGE = -1  # 0 would still merge commits of the same second
_DIGEST_BYTES = 8
_NOT_DAMAGE = (KeyboardInterrupt, SystemExit, MemoryError, ImportError)
"""Errors that say nothing of the document, although they are raised while Loro works on it."""
_LISTED = b'{"v": 1'
"""How an archive of an earlier version begins, which lists its changes in Loro's interchange format."""


class BlobKind(StrEnum):
    UPDATE = "update"
    CHECKPOINT = "checkpoint"
    ARCHIVE = "archive"


class Blob(Struct, frozen=True):
    """Stored bytes of a document: an update numbered `seq`, or a checkpoint or an archive of updates up to `seq`.

    The history in a checkpoint or an archive begins after update `base`; Loro could find that out only by a slow
    checkout.
    """

    kind: BlobKind
    seq: int
    data: bytes
    digest: bytes
    base: int = 0
    base_text: str = ""
    """The text at `base`, which checkpoints of earlier versions have in their checksum."""

    @property
    def is_sound(self) -> bool:
        start = (self.base, self.base_text) if self.kind is BlobKind.CHECKPOINT else (0, "")
        return self.digest == blob_digest(self.data, *start)


def seal(kind: BlobKind, seq: int, data: bytes, base: int = 0) -> Blob:
    return Blob(kind, seq, data, blob_digest(data, base if kind is BlobKind.CHECKPOINT else 0), base)


def blob_digest(data: bytes, base: int = 0, base_text: str = "") -> bytes:
    """BLAKE2b, 64 bits, over the bytes and the start of the history; detects damage, not forgery."""
    hashed = hashlib.blake2b(data, digest_size=_DIGEST_BYTES)
    if base:
        hashed.update(f"{base} {base_text}".encode())
    return hashed.digest()


Made: TypeAlias = Mapping[str, Sequence[Splice[Content]] | tuple[Any, ...] | float]
"""What a change did to each part, by the name of its target: splices of a text, a list or a log, from end to beginning;
the one value, or none, of a number, time or boolean; what was added to a counter."""


class UnsoundBlob(BlockCorrupt):
    """One blob is unusable; `kind` and `seq` say which."""

    def __init__(self, kind: BlobKind, seq: int, reason: str) -> None:
        super().__init__(f"{kind} {seq} {reason}")
        self.kind = kind
        self.seq = seq


@contextmanager
def _guard(doing: str) -> Iterator[None]:
    """Turns any error of Loro, panics too, into BlockCorrupt. The document must not be used afterward."""
    try:
        yield
    except (*_NOT_DAMAGE, StoreError):
        raise
    except BaseException as error:
        raise BlockCorrupt("the block's document is damaged ({doing}: {error})", doing=doing, error=error) from error


class BlockDocument:
    """One block's text with its history. `peer` is the writer's Loro id in this block and must not be shared."""

    def __init__(self, peer: int | None = None) -> None:
        with _guard("opening"):
            self._loro = loro.LoroDoc()
            if peer is not None:
                self._loro.peer_id = peer
            self._loro.set_record_timestamp(True)
            self._loro.set_change_merge_interval(_NEVER_MERGE)
            # The version vector counts uncommitted edits, so it is taken before the first edit.
            self._since = self._loro.oplog_vv
        self.base = 0
        """The number of the change after which the history begins; older changes are in archives."""
        self.version = 0
        """The number of the last change."""
        self._note = EDIT
        self._rendered: str | None = None
        """The text, cached until the next edit, since reading it is slow and frequent."""

    @classmethod
    def load(cls, checkpoint: Blob | None, updates: Sequence[Blob], peer: int | None = None) -> BlockDocument:
        """The document after these updates, in order; raises UnsoundBlob for the first unusable one."""
        document = cls(peer)
        if checkpoint is not None:
            document._take(checkpoint)
            document.base = checkpoint.base
        # One by one: import_batch is slower here, and would not say which blob failed.
        for blob in updates:
            document._take(blob)
        with _guard("loading"):
            document._since = document._loro.oplog_vv
        return document

    def _take(self, blob: Blob) -> None:
        if not blob.is_sound:
            raise UnsoundBlob(blob.kind, blob.seq, gettext_lazy("does not match its checksum"))
        try:
            data = unpack(blob.data)
            if data.startswith(_LISTED):  # after a line that says where it begins
                status = self._loro.import_json_updates(data.partition(b"\n")[2].decode())
            else:
                status = self._loro.import_(data)
        except _NOT_DAMAGE:
            raise
        except BaseException as error:
            raise UnsoundBlob(blob.kind, blob.seq, gettext_lazy("cannot be read: {error}", error=error)) from error
        if status.pending is not None:  # Loro does not report this as an error
            raise UnsoundBlob(blob.kind, blob.seq, gettext_lazy("builds on a change that is missing"))
        self.version = blob.seq
        self._rendered = None

    def act_as(self, peer: int) -> None:
        """Make further edits as this peer; only between commits."""
        with _guard("changing the writer"):
            self._loro.peer_id = peer

    def text(self) -> str:
        """The text; for a structured block, its rendered parts."""
        if self._rendered is None:
            self._rendered = self.read(containers.text_of)
        return self._rendered

    def change(self, edit: containers.Edit) -> None:
        """Apply a function of `memory.blocks.containers` that edits the parts."""
        self._rendered = None
        with _guard("changing"):
            edit(self._loro)

    def read(self, read: Callable[[loro.LoroDoc], T]) -> T:
        """Call a function of `memory.blocks.containers` that reads the parts."""
        with _guard("reading the parts"):
            return read(self._loro)

    def look_at(self, version: int, read: Callable[[loro.LoroDoc], T]) -> T:
        """The same at an older version. Raises Refused if the document does not reach back to it."""
        frontiers = self._at(version)
        with _guard("going back"):
            return read(self._copy(frontiers))

    def merge(self, seen: int, name: str, edit: containers.Edit) -> None:
        """Apply an edit that was meant for an older version of one text or list, keeping later changes of others.

        It becomes one more change on top of the newest, so that the history stays linear and can be cut. Raises Refused
        if the document does not reach back to that version.
        """
        cuts = self.merged(seen, name, edit)
        self.change(lambda loro: containers.make(loro, name, cuts))

    def merged(self, seen: int, name: str, edit: containers.Edit) -> list[Splice[Content]]:
        """What such an edit changes in the current text or list: it is made on a branch, which Loro then merges.

        What both inserted alike at the same position is kept once.
        """
        frontiers = self._at(seen)
        with _guard("merging"):
            branch = self._branch(frontiers)
            edit(branch)
            branch.commit()
            now = self._loro.oplog_frontiers
            others = _cuts_of(branch.diff(frontiers, now), name)
            mine = _cuts_of(branch.diff(frontiers, branch.state_frontiers), name)
            if (new := containers.once(mine, others)) != mine:
                branch = self._branch(frontiers)
                containers.make(branch, name, new[::-1])
                branch.commit()
            branch.checkout_to_latest()
            return _cuts_of(branch.diff(now, branch.oplog_frontiers), name)[::-1]

    def _branch(self, frontiers: loro.Frontiers) -> loro.LoroDoc:
        branch = self._copy(frontiers)
        branch.set_detached_editing(True)
        branch.peer_id = _LATER_PEER
        return branch

    def place_of(self, version: int, name: str, number: int) -> tuple[int, Any, int | None]:
        """For a list at an older version: its length, item `number` (counted from 1), and that item's number now.

        The last two are None if there was no such item; the last is None if the item was removed since.
        """
        frontiers = self._at(version)
        with _guard("looking for an item"):
            copy = self._copy(frontiers)
            items: Any = copy.get_movable_list(name).get_deep_value()
            cursor = (
                copy.get_movable_list(name).get_cursor(number - 1, loro.Side.Middle)
                if 1 <= number <= len(items)
                else None
            )
            if cursor is None:
                return len(items), None, None
            copy.checkout_to_latest()
            now = copy.get_cursor_pos(cursor)
            return len(items), items[number - 1], None if now.update is not None else now.current.pos + 1

    def walk(self, after: int, to: int | None = None) -> Iterator[tuple[Change, Made]]:
        """The changes after a version, up to and with another one, oldest first, each with what it did."""
        for change, _copy, events in self._stepped(after, to):
            with _guard("reading a change"):
                made = dict(item for event in events for each in event.events for item in _made(each))
            yield change, made

    def texts(self, after: int, to: int) -> Iterator[tuple[Change, str]]:
        """The same changes, each with the text that it left."""
        for change, copy, _events in self._stepped(after, to):
            with _guard("reading an older text"):
                text = containers.text_of(copy)
            yield change, text

    def _stepped(self, after: int, to: int | None) -> Iterator[tuple[Change, loro.LoroDoc, Sequence[loro.DiffEvent]]]:
        """These changes, each with a copy as it was then and what Loro reports about it.

        Each is imported into a copy that has only the older ones: to check out one version after the other takes ten
        times as long in a document that was cut.
        """
        frontiers, events = self._at(after), list[loro.DiffEvent]()
        with _guard("going back"):
            copy = loro.LoroDoc()
            if after:
                copy.import_(self._loro.export(loro.ExportMode.StateOnly(frontiers)))
            told = copy.subscribe_root(events.append)
        try:
            for number, (change, metas) in self._metas().items():
                if after < number <= (self.version if to is None else to):
                    events.clear()
                    with _guard("going through the history"):
                        copy.import_(self._loro.export(loro.ExportMode.UpdatesInRange([*map(_span_of, metas)])))
                    yield change, copy, events
        finally:
            told.unsubscribe()

    def _copy(self, frontiers: loro.Frontiers) -> loro.LoroDoc:
        """A copy at an older version; Loro has no `fork_at` for documents without their oldest history."""
        copy = loro.LoroDoc()
        copy.import_(self._loro.export(loro.ExportMode.Snapshot()))
        copy.checkout(frontiers)
        return copy

    def note(self, note: Note) -> None:
        """Set the reason of the uncommitted edits."""
        self._note = note

    def commit(self, change: Change) -> bytes:
        """Commit the edits as one change; returns the bytes of just that change, empty if nothing changed."""
        message, self._note = change.message(self._note), EDIT
        with _guard("committing"):
            self._loro.commit_with(origin=change.writer, timestamp=int(change.at.timestamp()), commit_msg=message)
            since, self._since = self._since, self._loro.oplog_vv
            if self._since == since:
                return b""
            self.version = change.seq
            return self._loro.export(loro.ExportMode.Updates(since))

    def snapshot(self) -> bytes:
        with _guard("taking a snapshot"):
            return self._loro.export(loro.ExportMode.Snapshot())

    def frontier(self) -> bytes:
        """The document's current version; equal bytes mean equal versions."""
        with _guard("reading the version"):
            return self._loro.oplog_frontiers.encode()

    def changes(self) -> list[Change]:
        """Every commit in the document's history, oldest first."""
        return [change for number, (change, _metas) in self._metas().items() if number > self.base]

    def shallow(self, version: int) -> bytes:
        """The document without the history before that version."""
        frontiers = self._at(version)
        with _guard("taking a shallow snapshot"):
            return self._loro.export(loro.ExportMode.ShallowSnapshot(frontiers))

    def _at(self, version: int) -> loro.Frontiers:
        with _guard("looking for a version"):
            if version == 0 == self.base:
                return loro.Frontiers()
            _change, metas = self._metas().get(version, (None, []))
            if metas and version >= self.base:
                return loro.Frontiers.from_id(loro.ID(metas[-1].id.peer, metas[-1].id.counter + metas[-1].len - 1))
        raise Refused(
            "there is no version {version} of this document: it has versions {first} to {last}",
            version=version,
            first=self.base,
            last=self.version,
        )

    def _metas(self) -> dict[int, tuple[Change, list[loro.ChangeMeta]]]:
        """The changes by number, oldest first. Loro keeps a large commit as several."""
        found: dict[tuple[int, int], loro.ChangeMeta] = {}

        def collect(change: loro.ChangeMeta) -> bool:
            found[change.id.peer, change.id.counter] = change  # each head leads back to the common past
            return False  # True would stop

        with _guard("listing changes"):
            self._loro.travel_change_ancestors(self._heads(), collect)
        made: dict[int, tuple[Change, list[loro.ChangeMeta]]] = {}
        for meta in sorted(found.values(), key=lambda meta: (meta.lamport, meta.id.peer)):
            change = change_of(meta.message, meta.timestamp)
            made.setdefault(change.seq, (change, []))[1].append(meta)
        return made

    def _heads(self) -> list[loro.ID]:
        """The last operation of each writer in the history."""
        # Where the history is cut off, some writers have no operations left in it.
        cut = loro.VersionRange.from_vv(self._loro.shallow_since_vv).inner()
        spans = loro.VersionRange.from_vv(self._loro.oplog_vv).inner()
        return [
            loro.ID(peer, end - 1) for peer, (start, end) in spans.items() if end > max(start, cut.get(peer, (0, 0))[1])
        ]


def _span_of(meta: loro.ChangeMeta) -> loro.IdSpan:
    return loro.IdSpan(meta.id.peer, loro.CounterSpan(meta.id.counter, meta.id.counter + meta.len))


def _made(told: loro.ContainerDiff) -> Iterator[tuple[str, list[Splice[Content]] | tuple[Any, ...] | float]]:
    """What Loro reports about one container, by the names of its parts."""
    if not isinstance(told.target, loro.ContainerID.Root):
        return
    match told.diff:
        case loro.Diff.Map(diff=loro.MapDelta(updated=updated)):
            for key, value in updated.items():
                held = (value.value,) if isinstance(value, loro.ValueOrContainer.Value) else ()
                yield f"value:{told.target.name.partition(':')[2]}.{key}", held
        case loro.Diff.Counter(diff=float(amount)):
            yield told.target.name, amount
        case diff:
            yield told.target.name, _cuts(diff)[::-1]


def _cuts_of(found: loro.DiffBatch, name: str) -> list[Splice[Content]]:
    """The difference between two versions of one text or list, in order; places are those of the older version."""
    roots = ((each, diff) for each, diff in found.get_diff() if isinstance(each, loro.ContainerID.Root))
    return [cut for each, diff in roots if each.name == name for cut in _cuts(diff)]


def _cuts(diff: loro.Diff) -> list[Splice[Content]]:
    """The splices of a text or a list, in order. What is deleted and inserted at the same place is one splice."""
    cuts, place = list[Splice[Any]](), 0
    for part in diff.diff if isinstance(diff, loro.Diff.Text | loro.Diff.List) else ():
        size: int = 0
        come: Any = "" if isinstance(diff, loro.Diff.Text) else ()
        match part:
            case loro.TextDelta.Retain(retain=kept) | loro.ListDiffItem.Retain(retain=kept):
                place += kept
                continue
            case loro.TextDelta.Insert(insert=str(text)):
                come = text
            case loro.ListDiffItem.Insert(insert=items):
                come = tuple(each.value for each in items if isinstance(each, loro.ValueOrContainer.Value))
            case loro.TextDelta.Delete(delete=gone) | loro.ListDiffItem.Delete(delete=gone):
                size = gone
        last = cuts.pop() if cuts and cuts[-1].place + cuts[-1].delete == place else Splice(place, 0, come[:0])
        cuts.append(Splice(last.place, last.delete + size, last.insert + come))
        place += size
    return cuts


class Salvage(Struct, frozen=True):
    """What could be read of a damaged document, up to update `reached`; `bad` lists the blobs left out and why."""

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


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_FROM_BYTES = 10_000  # below that, a snapshot shrinks little, and is read more often than written
_MOST_UNPACKED = 256 << 20  # bytes; a file that is imported can claim any number of them
_MAGIC = b"\x28\xb5\x2f\xfd"


def pack(data: bytes) -> bytes:
    """The bytes, compressed if that saves space (level 3: a third to a half less, 1 ms for 100 kB)."""
    return zstd.compress(data, 3) if len(data) > _FROM_BYTES else data


def unpack(data: bytes) -> bytes:
    """The bytes before `pack`. Raises ValueError for bytes that look compressed but are not."""
    if not data.startswith(_MAGIC):
        return data
    reader = zstd.ZstdDecompressor()
    try:
        found = reader.decompress(data, _MOST_UNPACKED)
    except zstd.ZstdError as error:
        raise ValueError(f"it cannot be decompressed: {error}") from error
    if not reader.eof:
        raise ValueError("it cannot be decompressed: it is cut off, or becomes too large")
    return found
