"""Merges an edit with what others have changed since its writer saw the block.

An edit applies to the version that its writer saw, and later changes of others stay: Loro merges the two
(`BlockDocument.merge`). If that version is no longer available, or if others have changed the same part since, nothing
is changed and the writer is told what the block says now.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from memory.blocks import containers
from memory.blocks.changes import ChangeKind, differing
from memory.blocks.document import BlockDocument
from memory.blocks.history import history_of
from memory.blocks.records import Author, Block
from memory.blocks.schema_paths import Target
from memory.blocks.schemas import Field, ListSchema, rendered
from memory.store.errors import BlockChanged, Refused
from texts import gettext_lazy


class KnownVersion(Struct, frozen=True):
    """What a writer knows of a block: the version shown to them, and their own changes since."""

    version: int
    own: frozenset[int] = frozenset()
    others: bool = True
    """Whether anybody else has changed it since."""


def known_version(author: Author, block: Block, document: BlockDocument) -> KnownVersion | None:
    """What the author knows of a block; None: its current content."""
    if (shown := author.shown.get(block.id)) is None or shown >= document.version:
        return None
    since = [change for change in document.changes() if change.seq > shown]
    if any(change.note.kind is ChangeKind.RETYPE for change in since):
        raise BlockChanged(
            "the block's type has changed since you read it, so nothing was done. It is now:\n{now}",
            now=document.text() or gettext_lazy("(empty)"),
        )
    own = frozenset(
        change.seq
        for change in since
        if author.turn is not None and (change.writer, change.turn) == (author.writer, author.turn)
    )
    return KnownVersion(shown, own, others=len(own) < len(since) or shown < document.base)


# ------------------------------------------------------------------------------------------------------ whole values


def set_seen(document: BlockDocument, target: Target, value: Any, known: KnownVersion | None) -> None:
    """Set a part to a value, as meant by a writer who knows only `known`.

    In a text or a list, later changes of others stay; elsewhere the last writer wins. Raises Refused for a value that
    does not fit, BlockChanged if the writer's intent can no longer be told.
    """
    containers.fitting(target, value)
    edit = partial(containers.set_value, target=target, value=value)
    if known is None or not known.others or target.kind not in ("text", "list"):
        document.change(edit)
        return
    seen = history_of(document).read_as(known.version)
    if seen < document.base:
        raise _changed(document, target)
    since = [change.seq for change, made in document.walk(seen) if target.name in made]
    if known.own.issuperset(since):
        document.change(edit)
        return
    if known.own.isdisjoint(since):
        document.merge(seen, target.name, edit)
    elif document.merged(seen, target.name, edit):  # the edit overlaps later changes, so the intent is unclear
        raise _changed(document, target)
    containers.fitting(target, document.read(partial(containers.value_of, target=target)))


def _changed(document: BlockDocument, target: Target) -> BlockChanged:
    now = document.read(partial(containers.value_of, target=target))
    if isinstance(now, list):
        fields, _ = containers.items_of(target)
        now = rendered(ListSchema(fields=fields), {"": now})
    return BlockChanged(
        "{name} has changed since you read it, so nothing was done. It is now:\n{now}",
        name=target.shape.name if isinstance(target.shape, Field) else gettext_lazy("the block"),
        now=now or gettext_lazy("(empty)"),
    )


# --------------------------------------------------------------------------------------- lines and items by number


def place_of_item(document: BlockDocument, target: Target, number: int, known: KnownVersion | None) -> int:
    """The current number of the item that had `number` when the writer saw the list.

    Raises BlockChanged if somebody has removed or replaced it since; Refused if there never was one.
    """
    containers.items_of(target)
    if known is None:
        return number
    seen = history_of(document).read_as(known.version)
    if seen < document.base:
        raise _changed(document, target)
    since = {change.seq for change, made in document.walk(seen) if target.name in made}
    count, item, place = document.place_of(seen, target.name, number)
    if not 1 <= number <= count:
        if not since & known.own:
            raise Refused(
                "there is no item {number}: the list had {count} when you saw it, counted from 1",
                number=number,
                count=count,
            )
        if since <= known.own:
            return number  # an item that the writer added
    if place is None or (
        not since <= known.own and item != document.read(partial(containers.value_of, target=target))[place - 1]
    ):
        raise _changed(document, target)
    return place


def shown_text(document: BlockDocument, known: KnownVersion | None) -> str:
    """The text as the writer saw it. Raises BlockChanged if the document no longer has that version."""
    if known is None:
        return document.text()
    try:
        return document.look_at(history_of(document).read_as(known.version), containers.text_of)
    except Refused as error:
        raise lines_changed(document.text()) from error


def lines_changed(text: str) -> BlockChanged:
    """The error for line numbers that are out of date, with the current lines."""
    now = "\n".join(f"{number}: {line}" for number, line in enumerate(text.splitlines(), 1))
    return BlockChanged(
        "those lines have changed since you read them, so nothing was done. They are now:\n{now}",
        now=now or gettext_lazy("(empty)"),
    )


def lines_now(shown: Sequence[str], now: Sequence[str], first: int, last: int) -> int | None:
    """The index of the first of some lines now; `first` and `last` are their numbers in `shown`, counted from 1.

    None if they no longer stand there unchanged and in one piece.
    """
    moved = 0
    for start, end, begin, stop in differing(shown, now):
        if start < last and end > first - 1:
            return None
        moved += (stop - begin) - (end - start) if end <= first - 1 else 0
    return first - 1 + moved
