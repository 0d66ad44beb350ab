"""Writing without wiping what came meanwhile: an edit is made as it was meant at the version that its writer saw.

What others wrote since stays: Loro merges the two. Where it cannot be told any more what the writer saw, or where they
changed the same part themselves since, nothing is done and they are told how the block is now.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from typing import Any

from memory.blocks import containers
from memory.blocks.changes import Writer
from memory.blocks.document import BlockDocument
from memory.blocks.history import past_of
from memory.blocks.schemas import Field, ListSchema, rendered
from memory.blocks.targets import Target
from memory.store.errors import BlockChanged, Refused
from memory.store.ids import TurnId

_MOST_PAIRS = 250_000  # lines against lines that are compared: some tenths of a second where all are alike


@dataclass(frozen=True)
class KnownVersion:
    """What a writer knows of a block: the version that they were shown, and what they changed themselves since."""

    version: int
    own: frozenset[int] = frozenset()
    others: bool = True
    """Whether somebody else changed it since."""


def known_to(document: BlockDocument, shown: int | None, writer: Writer, turn: TurnId | None) -> KnownVersion | None:
    """What a writer knows to whom that version was shown, and who writes in that turn; None: all there is."""
    if shown is None or shown >= document.version:
        return None
    since = [change for change in document.changes() if change.seq > shown]
    own = frozenset(
        change.seq for change in since if turn is not None and (change.writer, change.turn) == (writer, turn)
    )
    return KnownVersion(shown, own, others=len(own) < len(since) or shown < document.base.version)


def known_at(document: BlockDocument, seen: int | None) -> KnownVersion | None:
    """What somebody knows who says which version they saw; None: all there is. Raises Refused for one to come."""
    if seen is None or seen == document.version:
        return None
    if seen > document.version:
        raise Refused(
            "there is no version {seen}: the block is at version {version}", seen=seen, version=document.version
        )
    return KnownVersion(seen)


# ------------------------------------------------------------------------------------------------------ whole values


def set_seen(document: BlockDocument, target: Target, value: Any, known: KnownVersion | None) -> None:
    """Give a part a value, as somebody means it who knows no more than `known`.

    Of a text or a list what others changed since stays; of anything else the last who sets it wins. Raises Refused for
    a value that does not fit, BlockChanged where it cannot be told any more what the writer meant.
    """
    containers.fitting(target, value)
    edit = partial(containers.set_value, target=target, value=value)
    if known is None or not known.others or target.kind not in ("text", "list"):
        document.change(edit)
        return
    seen = past_of(document).read_as(known.version)
    if seen < document.base.version:
        raise _changed(document, target)
    since = [change.seq for change, names in document.touched(seen) if target.name in names]
    if known.own.issuperset(since):
        document.change(edit)
        return
    if known.own.isdisjoint(since):
        document.merge(seen, target.name, edit)
    elif document.merged(seen, target.name, edit):  # what was meant of it cannot be told from what was done already
        raise _changed(document, target)
    containers.fitting(target, document.look(partial(containers.value_of, target=target)))


def _changed(document: BlockDocument, target: Target) -> BlockChanged:
    """The refusal, with what the part is now."""
    now = document.look(partial(containers.value_of, target=target))
    if isinstance(now, list):
        fields, _ = containers.items_of(target)
        now, what = rendered(ListSchema(fields=fields), now), "its items are now"
    else:
        what = "it says now"
    name = target.shape.name if isinstance(target.shape, Field) else "it"
    return BlockChanged(
        "{name} changed since you read it, and nothing was done; {what}:\n{now}",
        name=name,
        what=what,
        now=now or "(nothing)",
    )


# --------------------------------------------------------------------------------------- lines and items by number


def place_of_item(document: BlockDocument, target: Target, number: int, known: KnownVersion | None) -> int:
    """The number that an item has now which had `number` when the writer saw it.

    Raises BlockChanged where somebody took it away since, or made something else of it; Refused when there was none.
    """
    containers.items_of(target)
    if known is None:
        return number
    seen = past_of(document).read_as(known.version)
    if seen < document.base.version:
        raise _changed(document, target)
    since = {change.seq for change, names in document.touched(seen) if target.name in names}
    count, item, place = document.place_of(seen, target.name, number)
    if not 1 <= number <= count:
        if not since & known.own:
            raise Refused(
                "there is no item {number}: the list had {count} when you saw it, counted from 1",
                number=number,
                count=count,
            )
        if since <= known.own:
            return number  # one of those that the writer added
    if place is None or (
        not since <= known.own and item != document.look(partial(containers.value_of, target=target))[place - 1]
    ):
        raise _changed(document, target)
    return place


def shown_text(document: BlockDocument, known: KnownVersion | None) -> str:
    """The text as the writer saw it. Raises BlockChanged where it is not in the document any more."""
    if known is None:
        return document.text()
    try:
        return document.look_at(past_of(document).read_as(known.version), containers.text_of)
    except Refused as error:
        raise lines_changed(document.text()) from error


def lines_changed(text: str) -> BlockChanged:
    """The refusal of numbers of lines that mean nothing any more, with the lines as they are."""
    now = "\n".join(f"{number}: {line}" for number, line in enumerate(text.splitlines(), 1))
    return BlockChanged(
        "those lines changed since you read them, and nothing was done; they are now:\n{now}", now=now or "(none)"
    )


def lines_now(shown: Sequence[str], now: Sequence[str], first: int, last: int) -> int | None:
    """Where some lines are now, as the index of the first, that had these numbers in what was shown, counted from 1.

    None when not all of them stand there as they did, with nothing in between.
    """
    most = min(len(shown), len(now))
    start = next((at for at in range(most) if shown[at] != now[at]), most)
    end = next((at for at in range(most - start) if shown[-1 - at] != now[-1 - at]), most - start)
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
