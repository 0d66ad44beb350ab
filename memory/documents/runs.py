"""The characters of a weave: in runs, which were written together, and in pages of them."""

from collections.abc import Collection
from dataclasses import dataclass

_LONG = 1_000_000_000
"""Later than any change."""
PAGE = 128
"""Runs in a page; of 64 to 512 it makes no difference."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What a writer knows of a block: the version that they were shown, and what they changed themselves since."""

    version: int
    own: frozenset[int] = frozenset()
    others: bool = True
    """Whether somebody else changed it since."""

    def knows(self, change: int) -> bool:
        """Whether the writer knows of a change."""
        return change <= self.version or change in self.own


@dataclass(frozen=True, slots=True)
class Run:
    """Characters that were written together. `born` is the change that wrote them, `died` the one that removed them.

    `born` is the weave's first version for what stood there before; `died` is past every version for what stands.
    `away` are the times at which it was gone before that: the change that removed it, and the one that restored it.
    """

    text: str
    born: int
    died: int = _LONG
    away: tuple[tuple[int, int], ...] = ()

    def at(self, version: int) -> bool:
        """Whether it stood in the text at a version."""
        return self.born <= version < self.died and not any(gone <= version < back for gone, back in self.away)

    def known(self, sight: Sight) -> bool:
        """Whether it stands as far as a writer knows."""
        if not sight.knows(self.born) or (not self.stands and sight.knows(self.died)):
            return False
        for gone, back in reversed(self.away):
            if sight.knows(back):
                return True
            if sight.knows(gone):
                return False
        return True

    def without(self, numbers: Collection[int], version: int = _LONG) -> bool:
        """Whether it would stand, or would have at a version, had these changes not been made."""
        if self.born in numbers or self.born > version:
            return False
        if self.died <= version and self.died not in numbers and not self.stands:
            return False
        for gone, back in reversed(self.away):
            if back <= version and back not in numbers:
                return True
            if gone <= version and gone not in numbers:
                return False
        return True

    def part(self, start: int, end: int) -> "Run":
        """Some of its characters."""
        return Run(self.text[start:end], self.born, self.died, self.away)

    def gone(self, number: int) -> "Run":
        """The same, removed by a change; what was gone stays as it is."""
        return Run(self.text, self.born, number, self.away) if self.stands else self

    def back(self, number: int) -> "Run":
        """The same, restored by a change, which may have removed it itself; what stands stays as it is."""
        if self.stands:
            return self
        away = self.away if self.died == number else (*self.away, (self.died, number))
        return Run(self.text, self.born, _LONG, away)

    @property
    def stands(self) -> bool:
        return self.died == _LONG

    @property
    def came(self) -> int:
        """The change that wrote it, or the last that restored it."""
        return self.away[-1][1] if self.away else self.born


@dataclass(slots=True)
class Page:
    """Some runs in a row, with the number of their characters that stand; so that a place is found without all runs."""

    runs: list[Run]
    standing: int

    def cut(self, left: int) -> int:
        """The index right behind so many standing characters."""
        if left == 0:
            return 0
        for index, run in enumerate(self.runs):
            if run.died != _LONG:
                continue
            size = len(run.text)
            if left < size:
                self._split(index, left)
                return index + 1
            left -= size
            if left == 0:
                return index + 1
        raise ValueError("the page is shorter than it says")

    def remove(self, index: int, size: int, number: int) -> int:
        """Let so many standing characters die from that run on; gives how many are left for the next page."""
        while size > 0 and index < len(self.runs):
            run = self.runs[index]
            if run.died == _LONG:
                if len(run.text) > size:
                    self._split(index, size)
                    run = self.runs[index]
                self.runs[index] = run.gone(number)
                size -= len(run.text)
                self.standing -= len(run.text)
            index += 1
        return size

    def halves(self) -> list["Page"]:
        return paged(self.runs, len(self.runs) // 2)

    def _split(self, index: int, at: int) -> None:
        run = self.runs[index]
        self.runs[index : index + 1] = [run.part(0, at), run.part(at, len(run.text))]


def paged(runs: list[Run], size: int = PAGE // 2) -> list[Page]:
    """Runs in pages of so many; at least one page."""
    parts = [runs[start : start + size] for start in range(0, len(runs), size)] or [[]]
    return [Page(part, sum(len(run.text) for run in part if run.died == _LONG)) for part in parts]
