"""What comes back when somebody goes back: it is tied to what it restores, and so stays its first writer's.

A document only knows that characters, or items, were inserted. What a change was for stands in its note, and what it
can have restored is what died at its place since then.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import Any, TypeAlias

from memory.documents.changes import Deed, Note
from memory.documents.runs import Run

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
    if _LETTER.search(before) and (place := after.find(before)) >= 0:
        return [Tie(0, place, len(before))]
    old, came = _words(dead), _words(new)
    if len(old) * len(came) > _MOST_PAIRS:
        return []
    words, again = [word for word, _ in old], [word for word, _ in came]
    matched = SequenceMatcher(lambda word: not _LETTER.search(word), words, again, autojunk=False)
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


def taken(run: Run, numbers: Collection[int]) -> bool:
    """Whether these changes removed it, and it was not theirs."""
    return run.died in numbers and run.without(numbers)


@dataclass(frozen=True, slots=True)
class Side:
    """What became of the place of removed words, on one of its sides or on both.

    `stands`: its neighbour still does. `written`: others wrote there since. `over`: others removed there what the
    changes had put in.
    """

    stands: bool
    written: bool = False
    over: bool = False

    def and_(self, other: "Side") -> "Side":
        return Side(self.stands and other.stands, self.written or other.written, self.over or other.over)

    def unchanged(self, *, beside: bool) -> bool:
        """Whether the words can come back there; `beside` what others wrote, if they wrote over nothing."""
        return self.stands and (not self.written or (beside and not self.over))


def sides(runs: Sequence[Run], numbers: frozenset[int], *, beside: bool) -> dict[int, Side]:
    """The removed runs, by index, with their side of the lower indexes."""
    found: dict[int, Side] = {}
    for at, run in enumerate(runs):
        if not taken(run, numbers):
            continue
        together = at - 1 in found and runs[at - 1].died == run.died
        found[at] = found[at - 1] if together else _side(runs, at, numbers, beside=beside)
    return found


def _side(runs: Sequence[Run], at: int, numbers: frozenset[int], *, beside: bool) -> Side:
    died = runs[at].died
    written = over = False
    for index in range(at - 1, -1, -1):
        run = runs[index]
        put = run.born in numbers or any(back in numbers for _, back in run.away)
        over = over or (put and not run.stands and run.died not in numbers)
        if run.born in numbers or run.died in numbers:
            continue  # goes, is gone, or comes back: what lies behind it counts
        then, now = run.without(numbers, died - 1), run.without(numbers)
        if then:
            return Side(now, written, over)
        written = written or now
        if written and not beside:
            break  # nobody asks what is behind it
    return Side(True, written, over)


def runs_on(runs: Sequence[Run], at: int, back: Collection[int], stays: Callable[[int], bool], end: str) -> bool:
    """Whether what comes back ended a whole line, and would run into what was written behind it since."""
    died, text = runs[at].died, runs[at].text
    behind = next((runs[each] for each in range(at + 1, len(runs)) if stays(each)), None)
    if text.endswith(end) or behind is None or behind.at(died - 1) or behind.text.startswith(end):
        return False
    was = next((run.text for run in islice(runs, at + 1, None) if run.at(died - 1)), end)
    if not was.startswith(end):
        return False
    for each in range(at, -1, -1):
        if each in back and runs[each].died == died:
            if end in runs[each].text:
                return True
        elif runs[each].at(died - 1):
            return runs[each].text.endswith(end)
    return True


def breaks(runs: Sequence[Run], first: int, stays: Callable[[int], bool]) -> list[int]:
    """The runs that go, and of which a line break must stay: else what others wrote would run into another line.

    `first` is the change from which on runs go. What stood on one line before it may again.
    """
    found, left, between = list[int](), None, list[int]()
    for at in range(len(runs) + 1):
        if at < len(runs) and not stays(at):
            between.append(at)
            continue
        right = runs[at] if at < len(runs) else None
        broken = next((each for each in between if runs[each].stands and "\n" in runs[each].text), None)
        apart = left is not None and not left.text.endswith("\n") and not (right and right.text.startswith("\n"))
        if broken is not None and left is not None and apart:
            anew = left.born >= first or (right is not None and right.born >= first)
            if anew or any("\n" in runs[each].text and runs[each].at(first - 1) for each in between):
                found.append(broken)
        left, between = right, []
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
