"""A block's past: the history in its document, and the older changes in archives.

A document keeps only its newest changes, some hundreds, so that it loads quickly. `old_changes.py` decides when older
ones move to an archive (Loro's interchange format after one line that says where it begins). The text at an old version
is replayed from the recorded changes, since an archive has no document that Loro could check out. `store.py` reads and
stores documents and archives.
"""

import dataclasses
import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import groupby
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from memory.blocks.changes import EDIT, SYSTEM, Change, ChangeKind, Step, Writer, played, steps_of
from memory.blocks.containers import parts_of
from memory.blocks.document import Blob, BlockDocument, blob_digest, pack, unpack
from memory.blocks.replay import BlockValues, Replay
from memory.blocks.schemas import TEXT, TextSchema, segments
from memory.blocks.sequence import SequenceHistory, text_history
from memory.store.errors import BlockCorrupt, Refused
from texts import gettext_lazy, reason_of

_NO_PARTS = BlockValues(TEXT, MappingProxyType({}))


@dataclass(frozen=True)
class ChangeLog:
    """The text at version `start`, and every change since. `why` says why older changes are missing."""

    start: int
    text: str
    steps: tuple[Step, ...]
    why: str = ""
    held: BlockValues = _NO_PARTS
    """The current values of the parts."""
    start_values: tuple[int, Mapping[str, Any]] = field(default=(0, _NO_PARTS.values), compare=False, repr=False)
    """For a structured block: the version at which its document begins, and the values of its parts there."""
    sealed: int = 0
    """The version by which words were withdrawn that earlier ones contain; 0 for none."""

    @property
    def version(self) -> int:
        return self.steps[-1].change.seq if self.steps else self.start

    @property
    def range(self) -> str:
        words = gettext_lazy("versions {start} to {version}", start=self.start, version=self.version)
        return gettext_lazy("{name} ({traits})", name=words, traits=self.why) if self.why else words

    @property
    def readable(self) -> "ChangeLog":
        """The past as others than the owner may read it: without the versions that contain withdrawn words."""
        if self.sealed <= self.start:
            return self
        text, why = played(self.text, self._until(self.sealed)), gettext_lazy("earlier ones contain withdrawn words")
        later = tuple(step for step in self.steps if step.change.seq > self.sealed)
        return dataclasses.replace(self, start=self.sealed, text=text, steps=later, why=why)

    @cached_property
    def replay(self) -> Replay:
        """Everything the parts ever held. Raises BlockCorrupt if the changes do not fit together."""
        return Replay(*self._beginning(), self.steps, self.held)

    def _beginning(self) -> tuple[int, Mapping[str, Any]]:
        """The version at which a replay begins, and the values of the parts then; none before a change of type."""
        retyped = [step.change.seq for step in self.steps if step.change.note.deed is ChangeKind.RETYPE]
        if retyped:
            return retyped[-1] - 1, {}
        if isinstance(self.held.schema, TextSchema):
            return self.start, {"": self.text}
        return self.start_values if self.start else (0, {})

    def text_at(self, version: int) -> str:
        """The text at a version. Raises Refused for one that is not known."""
        self.require(version)
        return played(self.text, self._until(version))

    def change(self, version: int) -> Change:
        """The change that made a version. Raises Refused for one that is not known."""
        self.require(version)
        if version == self.start:
            raise Refused(
                "the changes behind version {version} are no longer known; the history has {range}",
                version=version,
                range=self.range,
            )
        return self._until(version)[-1].change

    def since(self, moment: datetime) -> int:
        """The newest version from before a moment."""
        older = [step.change.seq for step in self.steps if step.change.at < moment]
        return older[-1] if older else self.start

    def by(self, writer: Writer, after: int) -> list[Change]:
        return [step.change for step in self.steps if step.change.writer == writer and step.change.seq > after]

    def require(self, version: int) -> None:
        """Raises Refused, with the versions that there are, for a version that is not known."""
        if not self.start <= version <= self.version:
            raise Refused("there is no version {version}: the history has {range}", version=version, range=self.range)
        if version in (self.start, self.version):
            return
        made = self._until(version)
        erased = any(step.change.note.deed is ChangeKind.KEPT and step.change.seq > version for step in self.steps)
        if erased or not made or made[-1].change.seq != version:
            raise Refused(
                "version {version} is no longer stored; the history has {range}", version=version, range=self.range
            )

    def read_as(self, version: int) -> int:
        """The version with the text that somebody saw at `version`: itself or, if it was lost, the repair after it.

        A repair restores the last rendered text as a new change after the lost ones.
        """
        later = next((step.change for step in self.steps if step.change.seq >= version), None)
        lost = later is not None and later.seq == version + 1 and version > self.start
        return version + 1 if later and lost and (later.writer, later.note) == (SYSTEM, EDIT) else version

    def _until(self, version: int) -> Sequence[Step]:
        return self.steps[: bisect_right(self.steps, version, key=lambda step: step.change.seq)]


def history_of(document: BlockDocument, archives: Sequence[Blob] = ()) -> ChangeLog:
    """The past of a document and its archives, oldest first; it ends at the first unreadable archive."""
    past = own_history(document)
    if played(past.text, past.steps) != document.text():
        raise BlockCorrupt("the changes of the document do not add up to its text")
    for archive in reversed(archives):
        if archive.base.version >= past.start:
            continue  # the document was rebuilt from an older checkpoint
        try:
            past = _joined(archive, past)
        except BlockCorrupt as error:
            return dataclasses.replace(past, why=reason_of(error))
    return dataclasses.replace(past, why=gettext_lazy("earlier ones are not kept")) if past.start else past


def own_history(document: BlockDocument) -> ChangeLog:
    """The part of the past that is in the document itself."""
    base, steps = document.base, tuple(document.steps())
    start_values = document.look_at(base.version, parts_of) if base.version and document.structured else _NO_PARTS
    return ChangeLog(
        base.version, base.text, steps, held=document.read(parts_of), start_values=(base.version, start_values.values)
    )


def _joined(archive: Blob, newer: ChangeLog) -> ChangeLog:
    """Both pasts joined. Changes in the archive after the start of the newer one were lost in a repair; drop them."""
    if archive.seq < newer.start:
        raise BlockCorrupt("changes {first} to {last} are missing", first=archive.seq + 1, last=newer.start)
    older = open_archive(archive)
    steps = tuple(step for step in older.steps if step.change.seq <= newer.start)
    if played(older.text, steps) != newer.text:
        raise BlockCorrupt("{named} does not match what follows", named=_archive_name(archive))
    return dataclasses.replace(newer, start=older.start, text=older.text, steps=steps + newer.steps)


def archived(past: ChangeLog, exported: str) -> bytes:
    """The bytes of a new archive: where the past begins, then the exported changes."""
    head = json.dumps({"v": 1, "after": past.start, "text": past.text}, ensure_ascii=False)
    return pack(f"{head}\n{exported}".encode())


def _archive_name(archive: Blob) -> str:
    return gettext_lazy("the archive of changes {first} to {last}", first=archive.base.version + 1, last=archive.seq)


def open_archive(archive: Blob) -> ChangeLog:
    """The past that an archive holds. Raises BlockCorrupt."""
    named = _archive_name(archive)
    if blob_digest(archive.data) != archive.digest:
        raise BlockCorrupt("{named} does not match its checksum", named=named)
    try:
        head, _, exported = unpack(archive.data).decode().partition("\n")
        said = json.loads(head)
        start, text = int(said["after"]), str(said["text"])
    except (ValueError, KeyError, TypeError) as error:
        raise BlockCorrupt("{path} cannot be read: {reason}", path=named, reason=error) from error
    past = ChangeLog(start, text, tuple(steps_of(exported)))
    if (past.start, past.version) != (archive.base.version, archive.seq):
        raise BlockCorrupt(
            "{named} holds changes {first} to {last}", named=named, first=past.start + 1, last=past.version
        )
    return past


# ----------------------------------------------------------------------------------------------------------- blame


class Piece(Struct, frozen=True):
    """A part of the current text with the change that wrote it; None if that is older than the history."""

    text: str
    change: Change | None


def blame(past: ChangeLog) -> list[Piece]:
    """The current text in parts by the change that wrote each; a structured block by its fields and items.

    Headings and log entries are attributed by the rendered text alone: inserting an item renumbers those after it, and
    nobody wrote the new numbers. Raises BlockCorrupt.
    """
    replay, changes = past.replay, {step.change.seq: step.change for step in past.steps}
    if isinstance(past.held.schema, TextSchema):
        return _pieces((str(content), changes.get(born)) for content, born in replay.histories[""].written())
    shown = text_history(past.start, past.text, past.steps)
    wrote = [born for content, born in shown.written() for _ in content]
    letters = {path: _letters(sequence) for path, sequence in replay.histories.items() if sequence.is_text}
    place = 0
    for text, path, item in segments(past.held.schema, past.held.values):
        end = place + len(text)
        if path is not None and item is not None:
            wrote[place:end] = [[born for _, born in replay.histories[path].written()][item]] * len(text)
        elif path in letters:
            last = wrote[place] if text else 0
            for at, char in enumerate(text, place):
                last = wrote[at] = last if char.isspace() else next(letters[path])
        elif path is not None and (author := replay.author(path)) is not None:
            wrote[place:end] = [author] * len(text)
        place = end
    text = str(shown.content())
    return _pieces((char, changes.get(number)) for char, number in zip(text, wrote, strict=True))


def _letters(sequence: SequenceHistory) -> Iterator[int]:
    """The change of each non-space character; a text may be rendered with other spaces than it was written with."""
    return (born for content, born in sequence.written() for char in content if not char.isspace())


def _pieces(parts: Iterable[tuple[str, Change | None]]) -> list[Piece]:
    return [Piece("".join(text for text, _ in group), change) for change, group in groupby(parts, lambda each: each[1])]
