"""A block's past: the history in its document, and the older changes in archives.

A document keeps only its newest changes, some hundreds, so that it loads quickly. `store.py` decides when older ones
go; an archive is the document as it was before, with the changes that it still had.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from itertools import groupby
from typing import Any

from msgspec import Struct

from memory.blocks.changes import EDIT, SYSTEM, Change, ChangeKind, Splice, Writer, by_words
from memory.blocks.containers import parts_of, text_of, values_of
from memory.blocks.document import Blob, BlockDocument, Made
from memory.blocks.replay import BlockValues, Replay
from memory.blocks.schema_paths import SAVED, every_part
from memory.blocks.schemas import TextSchema, segments
from memory.store.errors import BlockCorrupt, Refused
from texts import gettext_lazy, reason_of


class Step(Struct, frozen=True):
    """A change, and the block's text before and after it."""

    change: Change
    before: str
    after: str

    @property
    def splices(self) -> Sequence[Splice[str]]:
        return by_words(self.before, self.after)


@dataclass(frozen=True)
class ChangeLog:
    """A block's versions from `start` on, and the changes between them. `why` says why older ones are missing."""

    documents: Sequence[BlockDocument]
    """The archives, oldest first, and the current document. Each begins where, or before, the one before it ends."""
    start: int
    changes: Sequence[Change]
    why: str = ""
    sealed: int = 0
    """The version by which words were withdrawn that earlier ones contain; 0 for none."""

    @property
    def version(self) -> int:
        return self.changes[-1].seq if self.changes else self.start

    @property
    def range(self) -> str:
        words = gettext_lazy("versions {start} to {version}", start=self.start, version=self.version)
        return gettext_lazy("{name} ({traits})", name=words, traits=self.why) if self.why else words

    @property
    def readable(self) -> "ChangeLog":
        """The past as others than the owner may read it: without the versions that contain withdrawn words."""
        if self.sealed <= self.start:
            return self
        later = [change for change in self.changes if change.seq > self.sealed]
        why = gettext_lazy("earlier ones contain withdrawn words")
        return dataclasses.replace(self, start=self.sealed, changes=later, why=why)

    @cached_property
    def held(self) -> BlockValues:
        """The current values of the parts."""
        return self.documents[-1].read(parts_of)

    @cached_property
    def replay(self) -> Replay:
        """Everything the parts ever held, since the last change of type. Raises BlockCorrupt if it does not fit."""
        start, schema = self.start, self.held.schema
        for before, change in zip([self.start, *(each.seq for each in self.changes)], self.changes, strict=False):
            start = before if change.note.kind is ChangeKind.RETYPE else start
        begin = self._document(start).look_at(start, partial(values_of, parts=every_part(schema)))
        return Replay(start, begin, self._made(start), self.held)

    def _made(self, after: int) -> Iterator[tuple[Change, Made]]:
        for document, end in self._spans:
            if end > after:
                yield from document.walk(max(document.base, after), end)

    @property
    def _spans(self) -> list[tuple[BlockDocument, int]]:
        """Each document with the last change that is read from it."""
        return [*zip(self.documents, [*(each.base for each in self.documents[1:]), self.version], strict=True)]

    def _document(self, version: int) -> BlockDocument:
        return next(each for each in reversed(self.documents) if each.base <= version)

    def text_at(self, version: int) -> str:
        """The text at a version. Raises Refused for one that is not known."""
        self.require(version)
        return self._document(version).look_at(version, text_of)

    def values_at(self, version: int) -> Mapping[str, Any]:
        """The value of each part at a version. Raises Refused for one that is not known, or had another type."""
        self.require(version)
        found = self._document(version).look_at(version, parts_of)
        if found.schema != self.held.schema:
            raise Refused("what the block held at version {version} is not stored", version=version)
        return found.values

    def steps(self, changes: Collection[Change]) -> list[Step]:
        """These changes with the texts before and after, oldest first."""
        wanted, found = {change.seq for change in changes}, list[Step]()
        for document, end in self._spans:
            numbers = [change.seq for change in document.changes() if change.seq <= end]
            first = next((at for at, number in enumerate(numbers) if number in wanted), None)
            if first is None:
                continue
            start = numbers[first - 1] if first else document.base
            text = document.look_at(start, text_of)
            for change, after in document.texts(start, min(end, max(wanted))):
                found += [Step(change, text, after)] if change.seq in wanted else []
                text = after
        return found

    def change(self, version: int) -> Change:
        """The change that made a version. Raises Refused for one that is not known."""
        self.require(version)
        if version == self.start:
            raise Refused(
                "the changes behind version {version} are no longer known; the history has {range}",
                version=version,
                range=self.range,
            )
        return next(change for change in self.changes if change.seq == version)

    def since(self, moment: datetime) -> int:
        """The newest version from before a moment."""
        return max((change.seq for change in self.changes if change.at < moment), default=self.start)

    def by(self, writer: Writer, after: int) -> list[Change]:
        return [change for change in self.changes if change.writer == writer and change.seq > after]

    def require(self, version: int) -> None:
        """Raises Refused, with the versions that there are, for a version that is not known."""
        if not self.start <= version <= self.version:
            raise Refused("there is no version {version}: the history has {range}", version=version, range=self.range)
        known = {self.start, *(change.seq for change in self.changes)}
        erased = any(change.note.kind is ChangeKind.KEPT and change.seq > version for change in self.changes)
        if version not in known or (erased and version != self.start):
            raise Refused(
                "version {version} is no longer stored; the history has {range}", version=version, range=self.range
            )

    def read_as(self, version: int) -> int:
        """The version with the text that somebody saw at `version`: itself or, if it was lost, the repair after it.

        A repair restores the last rendered text as a new change after the lost ones.
        """
        later = next((change for change in self.changes if change.seq >= version), None)
        lost = later is not None and later.seq == version + 1 and version > self.start
        return version + 1 if later and lost and (later.writer, later.note) == (SYSTEM, EDIT) else version


def history_of(document: BlockDocument, archives: Sequence[Blob] = ()) -> ChangeLog:
    """The past of a document and its archives, oldest first; it ends at the first unreadable archive."""
    documents, changes, why = [document], document.changes(), ""
    for count in range(len(archives), 0, -1):
        begins = documents[0].base
        if archives[count - 1].base >= begins:
            continue  # the document was rebuilt from an older checkpoint
        try:
            older = archived(archives[:count])
            if older.version < begins:
                raise BlockCorrupt("changes {first} to {last} are missing", first=older.version + 1, last=begins)
        except BlockCorrupt as error:
            why = reason_of(error)
            break
        documents.insert(0, older)
        changes[:0] = [change for change in older.changes() if change.seq <= begins]
    start = documents[0].base
    return ChangeLog(documents, start, changes, why or (gettext_lazy("earlier ones are not kept") if start else ""))


def archived(archives: Sequence[Blob]) -> BlockDocument:
    """The document in the last of these archives of a block, oldest first. Raises BlockCorrupt."""
    try:
        document = BlockDocument.load(archives[-1], [])
    except BlockCorrupt:
        if len(archives) == 1:
            raise
        document = BlockDocument.load(None, archives)  # those of earlier versions build on each other
    if (changes := document.changes()) and changes[-1].seq == archives[-1].seq:
        return document
    raise BlockCorrupt("archive {seq} holds other changes", seq=archives[-1].seq)


# ----------------------------------------------------------------------------------------------------------- blame


class Piece(Struct, frozen=True):
    """A part of the current text with the change that wrote it; None if that is older than the history."""

    text: str
    change: Change | None


def blame(past: ChangeLog) -> list[Piece]:
    """The current text in parts by the change that wrote each; a structured block by its fields and items.

    Headings belong to the change that set up the fields. Raises BlockCorrupt.
    """
    replay, changes = past.replay, {change.seq: change for change in past.changes}
    written = {path: [*history.written()] for path, history in replay.histories.items()}
    if isinstance(past.held.schema, TextSchema):
        return _pieces((str(content), changes.get(born)) for content, born in written[""])
    heading = min((number for number in changes if number > replay.start), default=0) if not past.start else 0
    parts = list[tuple[str, int]]()
    letters = {
        path: (born for content, born in written[path] for char in content if not char.isspace())
        for path, history in replay.histories.items()
        if history.is_text
    }  # a text may be rendered with other spaces than it was written with
    for text, path, item in segments(past.held.schema, past.held.values):
        if path is None:
            parts.append((text, heading))
        elif item is not None:
            parts.append((text, written[path][item][1]))
        elif path in letters:
            last = heading
            for char in text:
                last = last if char.isspace() else next(letters[path])
                parts.append((char, last))
        else:
            parts.append((text, replay.author(path) or heading))
    saved = past.documents[-1].text()[sum(len(text) for text, _ in parts) :]
    parts.append((saved, written[SAVED][-1][1] if saved else 0))
    return _pieces((text, changes.get(number)) for text, number in parts)


def _pieces(parts: Iterable[tuple[str, Change | None]]) -> list[Piece]:
    found = groupby(((text, change) for text, change in parts if text), lambda each: each[1])
    return [Piece("".join(text for text, _ in group), change) for change, group in found]
