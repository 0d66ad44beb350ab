"""What is known of a block's past: the history of its document, and before that what lies in archives.

A document keeps its newest changes, some hundreds, so that it loads quickly. When it gets long, all that was not yet
archived is written down, as Loro's own interchange format under one line that says where it begins, and the document
goes on without what is older. Nothing here travels in time with Loro, which holds up every other thread while it
does (half a second for two hundred rewrites of 5,000 characters): changes are replayed on plain text.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from memory.documents.changes import EDIT, SYSTEM, Change, Step, Writer, played, steps_of
from memory.documents.containers import parts_of
from memory.documents.document import BlockDocument, blob_digest
from memory.documents.packing import pack, unpack
from memory.documents.parts import Held, Parts
from memory.documents.weave import Weave
from memory.errors import BlockCorrupt, Refused
from memory.uncollected import uncollected


@dataclass(frozen=True)
class Archive:
    """Stored bytes with the changes after one version up to another."""

    after: int
    up_to: int
    data: bytes
    digest: bytes


@dataclass(frozen=True)
class Past:
    """The text at version `start`, and every change since. `why` says why it goes back no further."""

    start: int
    text: str
    steps: tuple[Step, ...]
    why: str = ""
    held: Held | None = None
    """What the parts of a structured block hold now."""

    @property
    def version(self) -> int:
        return self.steps[-1].change.seq if self.steps else self.start

    @property
    def range(self) -> str:
        """The versions there are, for a person."""
        words = f"versions {self.start} to {self.version}"
        return f"{words} ({self.why})" if self.why else words

    @cached_property
    def weave(self) -> Weave:
        """Everything that ever stood there; raises BlockCorrupt when the changes do not fit together."""
        with uncollected():
            return Weave(self.start, self.text, self.steps)

    @cached_property
    def parts(self) -> Parts | None:
        """The same of every part of a structured block by itself; None of a text. Raises BlockCorrupt."""
        with uncollected():
            return None if self.held is None else Parts(self.start, self.steps, self.held)

    def rewoven(self) -> "Past":
        """The same with its weave, or its parts, made here and now, on the thread that may take the time."""
        if self.parts is None:
            _ = self.weave
        return self

    def text_at(self, version: int) -> str:
        """The text at a version. Raises Refused for one that is not known."""
        self.require(version)
        return played(self.text, self._until(version))

    def change(self, version: int) -> Change:
        """The change that made a version. Raises Refused for one that is not known."""
        self.require(version)
        if version == self.start:
            raise Refused(f"what made version {version} is not known any more; there are {self.range}")
        return self._until(version)[-1].change

    def since(self, moment: datetime) -> int:
        """The newest version from before a moment."""
        older = [step.change.seq for step in self.steps if step.change.at < moment]
        return older[-1] if older else self.start

    def by(self, writer: Writer, after: int) -> list[Change]:
        """A writer's changes after a version."""
        return [step.change for step in self.steps if step.change.writer == writer and step.change.seq > after]

    def require(self, version: int) -> None:
        """Raises Refused, with the versions that there are, for a version that is not known."""
        if not self.start <= version <= self.version:
            raise Refused(f"there is no version {version}: there are {self.range}")
        made = self._until(version)
        if version > self.start and (not made or made[-1].change.seq != version):
            raise Refused(f"version {version} was lost when the block was repaired; there are {self.range}")

    def read_as(self, version: int) -> int:
        """The version that reads as one did that somebody saw: itself, or, where it was lost, what a repair made of it.

        A repair brings back what the block showed last, as the change after those that are lost.
        """
        later = next((step.change for step in self.steps if step.change.seq >= version), None)
        lost = later is not None and later.seq == version + 1 and version > self.start
        return version + 1 if later and lost and (later.writer, later.note) == (SYSTEM, EDIT) else version

    def _until(self, version: int) -> Sequence[Step]:
        return self.steps[: bisect_right(self.steps, version, key=lambda step: step.change.seq)]


@uncollected()
def past_of(document: BlockDocument, archives: Sequence[Archive] = ()) -> Past:
    """The past of a document and of its archives, oldest first; the way back ends at the first that is no good."""
    past = replace(own_past(document), held=document.look(parts_of))
    if played(past.text, past.steps) != document.text():
        raise BlockCorrupt("the changes of the document do not give its text")
    for archive in reversed(archives):
        if archive.after >= past.start:
            continue  # the document was rebuilt from an older checkpoint
        try:
            past = _joined(archive, past)
        except BlockCorrupt as error:
            return replace(past, why=str(error))
    return replace(past, why=past.why or "what was before is not kept") if past.start else past


def past_back_to(
    document: BlockDocument, archives: Callable[[], Sequence[Archive]], version: int | None = None
) -> Past:
    """What a document knows of its past, and with it what lies in archives where that version of it takes them.

    What a part of a structured block held is known from its beginning on alone.
    """
    past = past_of(document)
    if past.start and (past.held is not None or (version is not None and version < past.start)):
        return past_of(document, archives())
    return past


def own_past(document: BlockDocument) -> Past:
    """As much of its past as a document carries itself.

    Of a structured block it begins after the last change that an older program made, which does not say what it did.
    """
    steps = tuple(document.steps())
    if steps and steps[0].before is None:
        return Past(document.base.version, document.base.text, steps)
    after = steps[0].change.seq if steps else document.version + 1
    untold = [change.seq for change in document.changes() if change.seq < after]
    if not untold:
        return Past(document.base.version, document.base.text, steps)
    before = steps[0].before if steps else None
    text = document.text() if before is None else before
    return Past(untold[-1], text, steps, f"the texts before version {untold[-1]} were not written down")


def _joined(archive: Archive, newer: Past) -> Past:
    """Both in one. What the archive knows beyond the beginning of the newer one was lost in a repair."""
    if archive.up_to < newer.start:
        raise BlockCorrupt(f"changes {archive.up_to + 1} to {newer.start} are not kept")
    older = open_archive(archive)
    steps = tuple(step for step in older.steps if step.change.seq <= newer.start)
    if played(older.text, steps) != newer.text:
        raise BlockCorrupt(f"the archive of changes {archive.after + 1} to {archive.up_to} does not fit what follows")
    return Past(older.start, older.text, steps + newer.steps, held=newer.held)


def archived(past: Past, exported: str) -> bytes:
    """A document's changes as they are archived: its past's beginning, then what it exported since."""
    head = json.dumps({"v": 1, "after": past.start, "text": past.text}, ensure_ascii=False)
    return pack(f"{head}\n{exported}".encode())


def open_archive(archive: Archive) -> Past:
    """The past that an archive holds. Raises BlockCorrupt."""
    named = f"the archive of changes {archive.after + 1} to {archive.up_to}"
    if blob_digest(archive.data) != archive.digest:
        raise BlockCorrupt(f"{named} does not match its checksum")
    try:
        head, _, exported = unpack(archive.data).decode().partition("\n")
        said = json.loads(head)
        start, text = int(said["after"]), str(said["text"])
    except (ValueError, KeyError, TypeError) as error:
        raise BlockCorrupt(f"{named} cannot be read: {error}") from error
    past = Past(start, text, tuple(steps_of(exported)))
    if (past.start, past.version) != (archive.after, archive.up_to):
        raise BlockCorrupt(f"{named} holds changes {past.start + 1} to {past.version}")
    return past
