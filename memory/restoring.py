"""What comes back when somebody goes back: it is tied to what it restores, and so stays its first writer's.

A document only knows that characters, or items, were inserted. What a change was for stands in its note, and what it
can have restored is what died at its place since then.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, TypeAlias

from memory.changes import Deed, Note

Sets: TypeAlias = Sequence[tuple[int, Any]]
"""The values that something was given, each with the number of the change that did."""

_WORD = re.compile(r"\w+|\s+|[^\w\s]+")
_LETTER = re.compile(r"\w")
_MOST_PAIRS = 250_000  # words times words that are compared one by one; a moment's work


@dataclass(frozen=True, slots=True)
class Tie:
    """`size` characters of what died, from `dead` on, are those of what came, from `new` on."""

    dead: int
    new: int
    size: int


def since(note: Note) -> int:
    """The version from which on things died that such a change may bring back."""
    return note.of - 1 if note.deed in (Deed.UNDO, Deed.REDO) else note.of


def same_words(dead: Sequence[str], new: Sequence[str]) -> list[Tie]:
    """Which words of what came are words of what died, both in their order."""
    before, after = "".join(dead), "".join(new)
    if (place := before.find(after)) >= 0:
        return [Tie(place, 0, len(after))]
    old, came = _words(dead), _words(new)
    if len(old) * len(came) > _MOST_PAIRS:
        return []
    matched = SequenceMatcher(None, [word for word, _ in old], [word for word, _ in came], autojunk=False)
    return [
        Tie(old[block.a + at][1], came[block.b + at][1], len(came[block.b + at][0]))
        for block in matched.get_matching_blocks()
        if any(_LETTER.search(word) for word, _ in came[block.b : block.b + block.size])  # spaces are nobody's
        for at in range(block.size)
    ]


def _words(texts: Sequence[str]) -> list[tuple[str, int]]:
    """The words with their places in the whole; none goes over the end of a text."""
    found, start = list[tuple[str, int]](), 0
    for text in texts:
        found += [(each[0], start + each.start()) for each in _WORD.finditer(text)]
        start += len(text)
    return found


def settled(sets: Sets, notes: Mapping[int, Note], at: int = -1) -> int:
    """Which of these values one of them is: itself, or the earlier one that it brought back; -1 for none at all."""
    at %= len(sets)
    number, value = sets[at]
    note = notes.get(number)
    if note is None or note.deed is Deed.EDIT:
        return at
    alike = [index for index in range(at) if _same(sets[index][1], value)]
    if not alike:
        return -1 if value is None else at
    then = [index for index in range(at) if sets[index][0] <= since(note)]
    return settled(sets, notes, then[-1] if then and then[-1] in alike else alike[-1])


def rests_on(sets: Sets, notes: Mapping[int, Note]) -> list[int]:
    """The changes that the last of these values rests on, oldest first: without those that were gone back behind."""
    chains: list[list[int]] = []
    for at, (number, _) in enumerate(sets):
        first = settled(sets, notes, at)
        chains.append([*(chains[-1] if chains else []), number] if first == at else chains[first] if first >= 0 else [])
    return chains[-1]


def without(sets: Sets, numbers: frozenset[int], notes: Mapping[int, Note], beginning: Any) -> Any:
    """What the value would be without some changes; `beginning` is what it was before all."""
    at = len(sets) - 1
    while at >= 0:
        if sets[at][0] in numbers:
            at -= 1
        elif (first := settled(sets, notes, at)) == at:
            return sets[at][1]
        else:
            at = first
    return beginning


def _same(one: Any, other: Any) -> bool:
    return one == other and type(one) is type(other)
