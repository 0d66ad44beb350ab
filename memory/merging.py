"""Writing a whole value without wiping what came meanwhile: it is merged with what the writer did not see."""

from datetime import UTC, datetime

from memory.changes import SYSTEM, Stamp
from memory.document import BlockDocument
from memory.past import past_of
from memory.weave import Weave

_SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)  # a scratch document is never stored


def write_seen(document: BlockDocument, text: str, seen: int | None) -> None:
    """Make `text` the whole value, as far as somebody could mean it who saw the document at version `seen`.

    The difference between that version and `text` is applied to the text as it is now. None means the newest version.
    Raises Refused for a version that the document does not have; one that a repair lost reads as what it brought back.
    """
    if seen is None or seen == document.version:
        document.write(text)
        return
    past = past_of(document)
    seen = past.read_as(seen)
    before = past.text_at(seen)
    scratch = BlockDocument()
    scratch.write(before)
    scratch.commit(Stamp(SYSTEM, None, 1, _SOME_TIME))
    scratch.write(text)
    scratch.commit(Stamp(SYSTEM, None, 2, _SOME_TIME))
    steps = [step for step in scratch.steps() if step.change.seq == 2]
    document.splice(past.weave.merged(seen, Weave(0, before, steps).runs).splices)
