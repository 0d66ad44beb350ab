"""Taking words out of a block of which nobody can tell any more who wrote what: by lines, items, entries of logs.

A line goes when half of its content words are those of one of the messages that are to go; so do items of lists, and
agents' entries of logs. Numbers, times and yes-or-no stay.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from typing import Any

from memory.documents import log_entries
from memory.documents.carrying import mostly
from memory.documents.changes import Splice
from memory.documents.containers import amend
from memory.documents.document import BlockDocument
from memory.documents.part_items import ItemPlan, ItemSplice
from memory.documents.parts import LOST, Amends, Held
from memory.documents.past import Past
from memory.documents.targets import every_target
from memory.fulltext import content_words


def drop_lines(document: BlockDocument, past: Past, gone: Sequence[Set[str]]) -> None:
    """Take out what says mostly what one of the messages said, by their content words; `past` is as the block is now.

    Of a block that was damaged that is what was saved of it beside its fields, which begin anew then.
    """

    def goes(entry: Mapping[str, Any]) -> bool:
        return str(entry["by"]).startswith("agent:") and mostly(words_of(entry), gone)

    if past.held is None:
        document.splice(_cut(document.text(), gone))
        return
    drop_entries(document, past, goes)
    amends = _amends(past.held, gone)
    if not amends.empty:
        document.change(partial(amend, amends=amends))


def drop_entries(document: BlockDocument, past: Past, goes: Callable[[Mapping[str, Any]], bool]) -> None:
    """Take entries out of a block that is a log."""
    targets = {} if past.held is None else every_target(past.held.schema)
    for log in [target for target in targets.values() if target.is_log]:
        document.change(partial(log_entries.drop_entries, target=log, gone=goes))


def words_of(entry: Mapping[str, Any]) -> list[str]:
    """The content words of an entry of a log, or of an item."""
    return content_words(" ".join(str(value) for name, value in entry.items() if name not in ("at", "by")))


def _amends(held: Held, gone: Sequence[Set[str]]) -> Amends:
    targets, texts, lists = every_target(held.schema), dict[str, tuple[Splice, ...]](), dict[str, ItemPlan]()
    for path, value in held.values.items():
        if path != LOST and targets[path].read_only:
            continue  # no agent wrote it
        if path == LOST or targets[path].kind == "text":
            texts |= {path: cut} if (cut := _cut(value, gone)) else {}
        elif targets[path].kind == "list":
            items = [item if isinstance(item, Mapping) else {"": item} for item in value]
            places = [place for place, item in enumerate(items) if mostly(words_of(item), gone)]
            lists |= {path: ItemPlan(splices=tuple(ItemSplice(at, 1, ()) for at in reversed(places)))} if places else {}
    return Amends(texts, lists)


def _cut(text: str, gone: Sequence[Set[str]]) -> tuple[Splice, ...]:
    """The way to a text without the lines that go, the last first; whose the others are stays known."""
    lines = text.splitlines(keepends=True)
    places = itertools.accumulate(map(len, lines), initial=0)
    each = [(place, line) for place, line in zip(places, lines, strict=False) if mostly(content_words(line), gone)]
    return tuple(Splice(place, len(line), "") for place, line in reversed(each))
