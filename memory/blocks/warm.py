"""Documents of blocks that stay loaded from one edit to the next.

Loading is most of what an edit costs: each update since the last checkpoint is imported by itself. A document that
was just saved is as the database is, so the next edit may go on with it, if the block's row still says the same. It
does so until a checkpoint is due; after that the document is loaded again, from what is stored.

Measured with Loro 1.17: a loaded document takes about 45 kB of memory, 3.5 kB more for each thousand characters and
1.2 times its stored bytes; the usual block of 2,000 characters 50 to 90 kB.
"""

from dataclasses import dataclass
from datetime import datetime

from memory.documents.document import BlockDocument, Writer
from memory.ids import BlockId

MOST_DOCUMENTS = 8
MOST_WEIGHT = 250_000
"""Characters and stored bytes of all warm documents together: about a megabyte of memory for each open file."""


@dataclass
class OpenBlock:
    """A document loaded for one edit inside a unit of work."""

    id: BlockId
    heading: tuple[str, str]
    """Label and description, which are searched with the text."""
    audience: str
    next_seq: int
    document: BlockDocument
    pending: int
    """Updates since the newest checkpoint, and below their bytes."""
    pending_bytes: int
    checkpointed_at: datetime
    checkpoint_bytes: int
    writer: Writer | None = None
    """Whose edits the document takes; None as long as nobody's."""

    def saved(self, size: int) -> None:
        """The last edit was stored, as an update of so many bytes."""
        self.next_seq += 1
        self.pending += 1
        self.pending_bytes += size


class WarmBlocks:
    """The documents that were edited last; `Tx.kept` gives those of a file, and lets them go at any rollback.

    A document is taken out while it is edited and put back when it is saved, so that an edit which fails, also one
    whose error the unit of work goes on after, leaves none behind that is ahead of what is stored.
    """

    def __init__(self) -> None:
        self._kept: dict[BlockId, tuple[OpenBlock, int]] = {}
        """With their weights; the one that was put first comes first."""

    def take(self, block: BlockId) -> OpenBlock | None:
        """The block's document, which is in here no longer; None when there is none."""
        opened, _ = self._kept.pop(block, (None, 0))
        return opened

    def put(self, opened: OpenBlock, characters: int) -> None:
        """Keep a document, of a text of that length, that is just as it is stored; the oldest make room."""
        self.take(opened.id)
        weight = characters + opened.checkpoint_bytes + opened.pending_bytes
        if weight > MOST_WEIGHT:
            return
        self._kept[opened.id] = opened, weight
        while len(self._kept) > MOST_DOCUMENTS or sum(each for _, each in self._kept.values()) > MOST_WEIGHT:
            self.take(next(iter(self._kept)))

    def clear(self) -> None:
        """Let them all go."""
        self._kept.clear()
