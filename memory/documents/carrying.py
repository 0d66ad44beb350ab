"""Words that a later change carried over: it removed what others had written, and said it again in its own words.

Nothing in a document tells that. What a change wrote counts as carried over where it says again what the change itself
took away there: half of its content words, or most of its own are among those.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

import regex

from memory.documents.changes import Splice
from memory.documents.containers import amend
from memory.documents.document import BlockDocument
from memory.documents.part_items import ItemPlan
from memory.documents.parts import LOST, Amends
from memory.documents.past import Past
from memory.documents.targets import every_target
from memory.documents.weave import Weave
from memory.fulltext import content_words

_SENTENCE = regex.compile(r"[^\n.!?;]*+[.!?;]*+[^\S\n]*+")
"""A sentence with the space behind it, or a line; a number with a point in it is cut, which does no harm."""


def carried_over(past: Past, numbers: Collection[int]) -> Callable[[BlockDocument], None] | None:
    """Takes out what later changes carried over of these changes; None where nothing was. `past` is as the block is."""
    if past.parts is None or past.held is None:
        cut = _cut(past.weave, numbers)
        return (lambda document: document.splice(cut)) if cut else None
    texts, lists = dict[str, Sequence[Splice]](), dict[str, ItemPlan]()
    for path, target in {**every_target(past.held.schema), LOST: None}.items():
        if target is not None and target.read_only:
            continue
        if (weave := past.parts.text(path)) is not None and (cut := _cut(weave, numbers)):
            texts[path] = cut
        if target is not None and target.kind == "list":
            plan = past.parts.items(path).carried_over(numbers, _says_again)
            lists |= {path: plan} if plan.any else {}
    amends = Amends(texts, lists)
    return None if amends.empty else lambda document: document.change(partial(amend, amends=amends))


def repeats(said: Set[str], gone: Sequence[Set[str]]) -> bool:
    """Whether one of these was said again: half of its words, and two of them where it has two."""
    return any(words and len(words & said) >= max(min(2, len(words)), len(words) / 2) for words in gone)


def mostly(words: Collection[str], gone: Sequence[Set[str]]) -> bool:
    """Whether half of the words are those of one of these."""
    return any(0 < len(words) <= 2 * sum(word in said for word in words) for said in gone)


def _says_again(value: Any, gone: Sequence[Any]) -> bool:
    said, lost = set(content_words(_told(value))), [set(content_words(_told(each))) for each in gone]
    return repeats(said, lost) or mostly(said, lost)


def _told(value: Any) -> str:
    return " ".join(map(str, value.values())) if isinstance(value, Mapping) else str(value)


def _cut(weave: Weave, numbers: Collection[int]) -> tuple[Splice, ...]:
    """The way to a text without the sentences that later changes carried over, the last first."""
    runs, first = weave.runs, min(numbers)
    theirs, carried = set[int](), dict[int, Sequence[str]]()
    born, away = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for at, run in enumerate(runs):
        theirs |= {at} if run.born in numbers else set()
        born[run.born].append(at)
        for number in (run.died, *(gone for gone, _ in run.away)):
            away[number].append(at)
    for number in (each.seq for each in weave.changes if each.seq > first and each.seq not in numbers):
        gone = "".join(runs[at].text for at in away[number] if at in theirs)
        lost = [text for _, text in _sentences(gone)]
        for at in born[number] if lost else ():
            if any(_says_again(text, lost) for _, text in _sentences(runs[at].text)):
                carried[at] = lost
                theirs.add(at)
    return _spliced(weave, carried) if carried else ()


def _spliced(weave: Weave, carried: Mapping[int, Sequence[str]]) -> tuple[Splice, ...]:
    wrote: list[Sequence[str]] = [
        carried.get(at, ()) for at, run in enumerate(weave.runs) if run.stands for _ in run.text
    ]
    text, cuts = weave.text(), list[list[int]]()
    for place, sentence in _sentences(text):
        end = place + len(sentence)
        if any(_says_again(sentence, lost) for lost in _once(wrote[place:end])):
            if cuts and cuts[-1][1] == place:
                cuts[-1][1] = end
            else:
                cuts.append([place, end])
    return tuple(Splice(start, _line_end(text, start, end) - start, "") for start, end in reversed(cuts))


def _line_end(text: str, start: int, end: int) -> int:
    """The end of what goes: of a whole line its line break goes as well."""
    return end + (text[end : end + 1] == "\n" and text[start - 1 : start] in ("", "\n"))


def _once(lost: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Each of these lists once; those of nothing not at all."""
    yield from {id(each): each for each in lost if each}.values()


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """Each with its place."""
    return ((found.start(), found[0]) for found in _SENTENCE.finditer(text) if found[0])
