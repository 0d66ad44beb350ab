"""Writing without wiping what came meanwhile: what somebody saw is led to how it is now, or the write is refused."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from difflib import SequenceMatcher
from functools import partial
from typing import Any, TypeAlias

from memory.documents import containers
from memory.documents.changes import SYSTEM, Stamp, Writer
from memory.documents.document import BlockDocument
from memory.documents.part_items import alike
from memory.documents.parts import HIDDEN, Amends, Parts
from memory.documents.past import Archive, past_back_to, past_of
from memory.documents.runs import Run, Sight
from memory.documents.schemas import Field, ListSchema, rendered
from memory.documents.targets import Target
from memory.documents.weave import Weave
from memory.errors import BlockChanged, Refused
from memory.ids import TurnId

Archives: TypeAlias = Callable[[], Sequence[Archive]]
"""What is kept of a block beside its document, read when it is needed."""

_SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)  # a scratch document is never stored
_MOST_PAIRS = 250_000  # lines against lines that are compared: some tenths of a second where all are alike


def sight_of(document: BlockDocument, shown: int | None, writer: Writer, turn: TurnId | None) -> Sight | None:
    """What a writer knows to whom that version was shown, and who writes in that turn; None: all there is."""
    if shown is None or shown >= document.version:
        return None
    since = [change for change in document.changes() if change.seq > shown]
    own = frozenset(
        change.seq for change in since if turn is not None and (change.writer, change.turn) == (writer, turn)
    )
    return Sight(shown, own, others=len(own) < len(since) or shown < document.base.version)


def sight_at(document: BlockDocument, seen: int | None) -> Sight | None:
    """What somebody knows who says which version they saw; None: all there is. Raises Refused for one to come."""
    if seen is None or seen == document.version:
        return None
    if seen > document.version:
        raise Refused(f"there is no version {seen}: the block is at version {document.version}")
    return Sight(seen)


# ------------------------------------------------------------------------------------------------------ whole values


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
    script = _script(past.text_at(seen), text)
    document.splice(past.weave.merged(Sight(seen), script).splices)


def write_known(document: BlockDocument, text: str, sight: Sight | None, archives: Archives) -> None:
    """Make `text` the whole value, as somebody means it who knows no more than `sight`; what others changed stays.

    Raises BlockChanged where it is not known any more what they saw.
    """
    if sight is None or not sight.others:
        document.write(text)
        return
    past = past_back_to(document, archives, sight.version)
    seen = replace(sight, version=past.read_as(sight.version))
    if seen.version < past.start:
        now = document.text() or "(nothing)"
        raise BlockChanged(f"it changed since you read it, and nothing was done; it says now:\n{now}")
    document.splice(past.weave.merged(seen, _script(past.weave.known(seen), text)).splices)


def _script(before: str, after: str) -> Sequence[Run]:
    """The way from one text to another, as the runs of a weave: kept, gone, or new."""
    scratch = BlockDocument()
    scratch.write(before)
    scratch.commit(Stamp(SYSTEM, None, 1, _SOME_TIME))
    scratch.write(after)
    scratch.commit(Stamp(SYSTEM, None, 2, _SOME_TIME))
    return Weave(0, before, [step for step in scratch.steps() if step.change.seq == 2]).runs


def set_seen(
    document: BlockDocument, path: str, target: Target, value: Any, sight: Sight | None, archives: Archives
) -> None:
    """Give a part of a structured block a value, as somebody means it who knows no more than `sight`.

    Of a text or a list what others changed since stays; of anything else the last who sets it wins. Raises Refused for
    a value that does not fit, BlockChanged where it is not known any more what the writer saw.
    """
    wanted = containers.fitting(target, value)
    amends = _merged(document, path, target, wanted, sight, archives) if sight is not None and sight.others else None
    if amends is None:
        document.change(partial(containers.set_value, target=target, value=value))
        return
    document.change(partial(containers.amend, amends=amends))
    containers.fitting(target, document.look(partial(containers.value_of, target=target)))


def _merged(
    document: BlockDocument, path: str, target: Target, wanted: Any, sight: Sight, archives: Archives
) -> Amends | None:
    """What to change of a text or a list; None where nobody else changed it since, or nothing can be merged."""
    if target.kind not in ("text", "list"):
        return None
    parts = _parts(document, target, sight, archives)
    if target.kind == "list":
        items = parts.items(path)
        if not items.changed_beyond(sight):
            return None
        plan = items.written(wanted, sight)
        if plan is None:
            raise _changed(document, target)
        return Amends(lists={path: plan})
    weave = parts.text(path)
    if weave is None or not weave.changed_beyond(sight):
        return None
    before = weave.known(sight)
    if HIDDEN in before:
        raise _changed(document, target)
    return Amends(texts={path: weave.merged(sight, _script(before, wanted)).splices})


def _parts(document: BlockDocument, target: Target, sight: Sight, archives: Archives) -> Parts:
    past = past_back_to(document, archives)
    if past.parts is None or sight.version < past.start:
        raise _changed(document, target)
    return past.parts


def _changed(document: BlockDocument, target: Target) -> BlockChanged:
    """The refusal, with what the part is now."""
    now = document.look(partial(containers.value_of, target=target))
    if isinstance(now, list):
        fields, _ = containers.items_of(target)
        now, what = rendered(ListSchema(fields=fields), now), "its items are now"
    else:
        what = "it says now"
    name = target.shape.name if isinstance(target.shape, Field) else "it"
    return BlockChanged(f"{name} changed since you read it, and nothing was done; {what}:\n{now or '(nothing)'}")


# --------------------------------------------------------------------------------------- lines and items by number


def place_of_item(
    document: BlockDocument, path: str, target: Target, number: int, sight: Sight | None, archives: Archives
) -> int:
    """The number that an item has now which had `number` when the writer saw it.

    Raises BlockChanged where somebody took it away since, or made something else of it; Refused when there was none.
    """
    containers.items_of(target)
    if sight is None:
        return number
    place = _parts(document, target, sight, archives).items(path).place_of(number, sight)
    if place is None:
        raise _changed(document, target)
    return place + 1


def shown_text(document: BlockDocument, sight: Sight | None, archives: Archives) -> str:
    """The text as the writer saw it. Raises BlockChanged where it is not kept any more."""
    if sight is None:
        return document.text()
    try:
        return past_back_to(document, archives, sight.version).text_at(sight.version)
    except Refused as error:
        raise lines_changed(document.text()) from error


def lines_changed(text: str) -> BlockChanged:
    """The refusal of numbers of lines that mean nothing any more, with the lines as they are."""
    now = "\n".join(f"{number}: {line}" for number, line in enumerate(text.splitlines(), 1))
    return BlockChanged(
        f"those lines changed since you read them, and nothing was done; they are now:\n{now or '(none)'}"
    )


def lines_now(shown: Sequence[str], now: Sequence[str], first: int, last: int) -> int | None:
    """Where some lines are now, as the index of the first, that had these numbers in what was shown, counted from 1.

    None when not all of them stand there as they did, with nothing in between.
    """
    start, most = alike(shown, now), min(len(shown), len(now))
    end = min(alike(shown[::-1], now[::-1]), most - start)
    old, new = shown[start : len(shown) - end], now[start : len(now) - end]
    places: list[int | None] = [None] * len(shown)
    places[:start] = range(start)
    places[len(shown) - end :] = range(len(now) - end, len(now))
    if len(old) * len(new) <= _MOST_PAIRS:
        for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
            places[start + block.a : start + block.a + block.size] = range(
                start + block.b, start + block.b + block.size
            )
    found = places[first - 1 : last]
    head = found[0]
    return head if head is not None and found == [*range(head, head + len(found))] else None
