"""One text, or one list, with all that ever stood in it: replayed from recorded changes, and asked about the past.

It is kept as runs, each with the changes at which it came, went and came back. What somebody brings back by going back
is the run that it was, so it stays its first writer's.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from memory.blocks.changes import Change, Deed, Note, Splice, Step
from memory.store.errors import BlockCorrupt, Refused

Content: TypeAlias = str | tuple[Any, ...]
"""Some of a text, or items of a list."""
Element: TypeAlias = tuple[int, str]
"""Loro's name of an item: when it was inserted, by its own clock, and by which peer."""


@dataclass(frozen=True)
class Cut:
    """At `place`, `delete` characters or items go and `content` comes."""

    place: int
    delete: int
    content: Content


@dataclass(frozen=True)
class Insert:
    """New items at a place; `first` names the first of them."""

    place: int
    items: tuple[Any, ...]
    first: Element


@dataclass(frozen=True)
class Put:
    """Another value for an item."""

    name: Element
    value: Any


Operation: TypeAlias = Cut | Insert | Put


@dataclass(slots=True, eq=False)
class Run:
    """Characters that were written together, or one item of a list.

    `events` are the changes at which it came, went and came back, each with whether it stands since.
    """

    content: Content
    events: tuple[tuple[int, bool], ...]
    replaced: "Run | None" = None
    """Of an item that was given another value, the one that stands in its place."""

    @property
    def born(self) -> int:
        return self.events[0][0]

    @property
    def stands(self) -> bool:
        return self.events[-1][1]

    @property
    def moved(self) -> int:
        """The change at which it came, came back or went last."""
        return self.events[-1][0]

    def at(self, version: int) -> bool:
        """Whether it stood at a version."""
        return next((stands for number, stands in reversed(self.events) if number <= version), False)

    def without(self, numbers: Collection[int], version: int | None = None) -> bool:
        """Whether it would stand, or would have at a version, had these changes not been made."""
        if self.born in numbers:
            return False
        events = reversed(self.events)
        return next((up for at, up in events if at not in numbers and (version is None or at <= version)), False)

    def turn(self, number: int, stands: bool) -> None:
        """Let it come or go with a change."""
        if self.stands != stands:
            again = self.moved == number and len(self.events) > 1
            self.events = self.events[:-1] if again else (*self.events, (number, stands))

    def part(self, start: int, end: int) -> "Run":
        return Run(self.content[start:end], self.events)


@dataclass(frozen=True)
class _Side:
    """What became of the place of removed words on one of its sides.

    `stands`: its neighbor still does. `written`: others wrote there since. `over`: others removed there what the
    changes had put in.
    """

    stands: bool
    written: bool = False
    over: bool = False


class Track:
    """One text, or one list, with all that ever stood in it, in order."""

    def __init__(self, start: int, content: Content) -> None:
        self.is_text = isinstance(content, str)
        parts = [content] if self.is_text else [(item,) for item in content]
        self.runs = [Run(part, ((start, True),)) for part in parts if part]
        self.unplaced: list[int] = []
        """Changes that set items which are older than the history: which ones is not known."""
        self._start = start
        self._size = len(content)
        self._changes: list[Change] = []
        self._named: dict[Element, Run] = {}

    # ---------------------------------------------------------------------------------------------- replaying

    def take(self, change: Change, operations: Sequence[Operation]) -> None:
        """Make a change. Raises BlockCorrupt."""
        number, restores = change.seq, change.note.deed.restores
        if self._changes and number <= self._changes[-1].seq:
            raise BlockCorrupt(f"change {number} comes after change {self._changes[-1].seq}")
        known = restored_since(change.note) if restores else None
        for each in operations if restores else _exchanges(operations):
            match each:
                case Cut():
                    self._splice(each, number, known)
                case Insert():
                    self._insert(each, number, known)
                case Put():
                    self._put(each, number)
        version = self._back_to(change) if restores else None
        if version is not None and self.content() == self.content(version):
            self._return(number, version)
        self._changes.append(change)

    def _splice(self, cut: Cut, number: int, known: int | None) -> None:
        at = self._index(cut.place, number)
        if known is not None:  # what comes back lies among what is gone there, so that what goes must go first
            self._remove(at, cut.delete, number)
        if cut.content:
            at = self._restore(at, cut.content, number, known) if known is not None else self._add(at, cut, number)
        if known is None:
            self._remove(at, cut.delete, number)

    def _insert(self, new: Insert, number: int, known: int | None) -> None:
        clock, peer = new.first
        for offset, item in enumerate(new.items):
            place = new.place + offset
            self._splice(Cut(place, 0, (item,)), number, known)
            self._named[clock + offset, peer] = self.runs[self._index(place + 1, number) - 1]

    def _put(self, put: Put, number: int) -> None:
        old = self._named.get(put.name)
        if old is None or not old.stands:
            self.unplaced.append(number)
            return
        new = Run((put.value,), ((number, True),))
        self.runs.insert(self.runs.index(old), new)
        old.turn(number, stands=False)
        old.replaced = new
        self._named[put.name] = new

    def _index(self, place: int, number: int) -> int:
        """The index right behind the standing character before a place; splits a run if need be."""
        if not 0 <= place <= self._size:
            raise BlockCorrupt(f"change {number} at character {place} lies past the end of the text")
        if place > self._size // 2:
            rest = self._size - place
            for index in range(len(self.runs) - 1, -1, -1):
                run = self.runs[index]
                if run.stands:
                    size = len(run.content)
                    if rest < size:
                        if rest:
                            self._split(index, size - rest)
                        return index + 1
                    rest -= size
        for index, run in enumerate(self.runs if place else ()):
            if run.stands:
                size = len(run.content)
                if place < size:
                    self._split(index, place)
                if place <= size:
                    return index + 1
                place -= size
        return 0

    def _split(self, index: int, at: int) -> None:
        run = self.runs[index]
        self.runs[index : index + 1] = [run.part(0, at), run.part(at, len(run.content))]

    def _add(self, at: int, cut: Cut, number: int) -> int:
        """Insert behind what is gone there: what never stood together is in the order of writing.

        But words that the next ones came in place of stay with those. Gives the index behind it.
        """
        end = self._next(at)
        came = {self._came(self.runs[end])} if end < len(self.runs) else set[int]()
        while end > at and self.runs[end - 1].moved in came:
            end -= 1
            came.add(self._came(self.runs[end]))
        self.runs.insert(end, Run(cut.content, ((number, True),)))
        self._size += len(cut.content)
        return end + 1

    def _next(self, at: int) -> int:
        """The next run that stands."""
        return next((index for index in range(at, len(self.runs)) if self.runs[index].stands), len(self.runs))

    @staticmethod
    def _came(run: Run) -> int:
        return next(number for number, stands in reversed(run.events) if stands)

    def _remove(self, at: int, size: int, number: int) -> None:
        """Let so many standing characters go, from that run on."""
        while size > 0:
            if at == len(self.runs):
                raise BlockCorrupt(f"change {number} removes more than there is")
            run = self.runs[at]
            if run.stands:
                if len(run.content) > size:
                    self._split(at, size)
                    run = self.runs[at]
                run.turn(number, stands=False)
                size -= len(run.content)
                self._size -= len(run.content)
            at += 1

    def _restore(self, at: int, content: Content, number: int, known: int) -> int:
        """Insert what brings back: runs that went there since `known` stand again, anything else is new."""
        place = new = 0
        index = at

        def flush() -> int:
            if place > new:
                self.runs.insert(index, Run(content[new:place], ((number, True),)))
                return index + 1
            return index

        while place < len(content):
            end = self._next(index)
            for each in range(index, end):
                run = self.runs[each]
                same = run.content == content[place : place + len(run.content)]
                if same and known < run.moved < number:
                    index = each
                    index = flush() + 1
                    run.turn(number, stands=True)
                    place += len(run.content)
                    new = place
                    break
            else:
                place += 1
        index = flush()
        self._size += len(content)
        return index

    def _back_to(self, change: Change) -> int | None:
        """The version that a change makes everything be as at; None where it keeps what others wrote since."""
        note = change.note
        if note.deed is Deed.REVERT:
            return None
        if note.deed is not Deed.ROLLBACK:
            later = (each for each in self._changes if each.seq > note.of)
            if any(each.writer != change.writer or each.note.deed not in (Deed.UNDO, Deed.REDO) for each in later):
                return None
        return restored_since(note) if restored_since(note) >= self._start else None

    def _return(self, number: int, version: int) -> None:
        """Let exactly what stood at a version stand again, in place of its like that the change put there."""
        put = [run for run in self.runs if run.stands]
        self.runs = [run for run in self.runs if run.born != number]
        for run in self.runs:
            run.turn(number, run.at(version))
        again = {id(one): other for one, other in zip(put, (run for run in self.runs if run.stands), strict=False)}
        if not self.is_text:
            self._named = {name: again.get(id(run), run) for name, run in self._named.items()}

    def settle(self, held: Sequence[Any]) -> None:
        """Give items of a list that were set, nobody knows which, the values that they have now."""
        standing = [run for run in self.runs if run.stands]
        for run, value in zip(standing, held, strict=False):
            if self.unplaced and run.born == self._start and run.content != (value,):
                run.content = (value,)

    # --------------------------------------------------------------------------------------------------- reading

    def content(self, version: int | None = None) -> Content:
        """The text, or the items, at a version; without one the newest."""
        return self._joined(run for run in self.runs if (run.stands if version is None else run.at(version)))

    def _joined(self, runs: Iterator[Run]) -> Content:
        if self.is_text:
            return "".join(str(run.content) for run in runs)
        return tuple(item for run in runs for item in run.content)

    def written(self) -> Iterator[tuple[Content, int]]:
        """What stands, each with the change that wrote it."""
        return ((run.content, run.born) for run in self.runs if run.stands)

    def place_of(self, number: int, shown: int, own: Collection[int]) -> int | None:
        """Where an item is now that had that number, counted from 1, in the version that a writer was shown.

        A number beyond those is one of what they added themselves since. None when somebody else took it away since,
        or made something else of it. Raises Refused when there was none.
        """
        seen = [run for run in self.runs if run.at(shown)]
        if number > len(seen):
            others = {each.seq for each in self._changes if each.seq > shown and each.seq not in own}
            seen = [run for run in self.runs if run.without(others)]
        if not 1 <= number <= len(seen):
            raise Refused(f"there is no item {number}: the list had {len(seen)} when you saw it, counted from 1")
        run = seen[number - 1]
        while not run.stands and run.replaced is not None and run.moved in own:
            run = run.replaced
        unknown = run.born == self._start and any(each > shown and each not in own for each in self.unplaced)
        return None if unknown or not run.stands else [each for each in self.runs if each.stands].index(run)

    # ---------------------------------------------------------------------------------------------- taking back

    def back(self, numbers: Collection[int], *, beside: bool, most: int | None = None) -> tuple[list[Cut], "Report"]:
        """The way to what it would be without some changes, from the end to the beginning; and the report.

        What survives of their insertions goes, whoever brought it back, and what they brought back against others.
        What they removed comes back where its neighbors on both sides still stand, with nothing of others written in
        between; with `beside` also where others wrote in between, but not over what these changes put there. A list
        gets no more than `most` items.
        """
        report, back = Report(), set[int]()
        room = len(self.runs) if most is None else most - sum(run.stands and run.without(numbers) for run in self.runs)
        left, right = self._sides(-1, numbers, beside=beside), self._sides(1, numbers, beside=beside)
        for at, run in enumerate(self.runs):
            if run.born in numbers and not run.stands and run.moved not in numbers:
                report.gone.append(words_of(run.content))
            if at not in left:
                continue
            sides = left[at], right[at]
            written, over = any(side.written for side in sides), any(side.over for side in sides)
            fits = all(side.stands for side in sides) and (not written or (beside and not over))
            if fits and len(back) < room:
                back.add(at)
            else:
                report.lost.append(words_of(run.content))

        def stays(at: int) -> bool:
            return self.runs[at].without(numbers) if self.runs[at].stands else at in back

        ends = {at: "\n" for at in back if beside and self.is_text and self._runs_on(at, back, stays)}
        ends |= dict.fromkeys(self._breaks(min(numbers, default=0), stays), "\n") if self.is_text else {}
        cuts, place = list[Cut](), 0
        for at, run in enumerate(self.runs):
            size = len(run.content)
            if run.stands and not stays(at):
                cuts.append(Cut(place, size, ends.get(at, "" if self.is_text else ())))
            elif not run.stands and at in back:
                content = f"{run.content}{ends.get(at, '')}" if isinstance(run.content, str) else run.content
                cuts.append(Cut(place, 0, content))
            place += size if run.stands else 0
        return cuts[::-1], report

    def _sides(self, way: int, numbers: Collection[int], *, beside: bool) -> dict[int, _Side]:
        """The runs that these changes took away from others, with what became of that side of them."""
        found: dict[int, _Side] = {}
        for at in range(len(self.runs))[::-way]:
            run = self.runs[at]
            if run.stands or run.moved not in numbers or not run.without(numbers):
                continue
            together = at + way in found and self.runs[at + way].moved == run.moved
            found[at] = found[at + way] if together else self._side(at, way, numbers, beside=beside)
        return found

    def _side(self, at: int, way: int, numbers: Collection[int], *, beside: bool) -> _Side:
        gone, index = self.runs[at].moved, at + way
        written = over = False
        while 0 <= index < len(self.runs):
            run = self.runs[index]
            index += way
            put = any(stands and number in numbers for number, stands in run.events)
            over = over or (put and not run.stands and run.moved not in numbers)
            if run.born in numbers or (not run.stands and run.moved in numbers):
                continue  # goes, is gone, or comes back: what lies behind it counts
            then, now = run.without(numbers, gone - 1), run.without(numbers)
            if then:
                return _Side(now, written, over)
            written = written or now
            if written and not beside:
                break  # nobody asks what is behind it
        return _Side(True, written, over)

    def _runs_on(self, at: int, back: Collection[int], stays: Callable[[int], bool]) -> bool:
        """Whether what comes back ended a whole line, and would run into what was written behind it since."""
        run, text = self.runs[at], str(self.runs[at].content)
        behind = next((self.runs[each] for each in range(at + 1, len(self.runs)) if stays(each)), None)
        if text.endswith("\n") or behind is None or behind.at(run.moved - 1) or str(behind.content).startswith("\n"):
            return False
        was = next((each.content for each in self.runs[at + 1 :] if each.at(run.moved - 1)), "\n")
        if not str(was).startswith("\n"):
            return False
        for index in range(at, -1, -1):
            each = self.runs[index]
            if index in back and each.moved == run.moved:
                if "\n" in each.content:
                    return True
            elif each.at(run.moved - 1):
                return str(each.content).endswith("\n")
        return True

    def _breaks(self, first: int, stays: Callable[[int], bool]) -> list[int]:
        """The runs that go, and of which a line break stays: else what others wrote would run into another line.

        `first` is the change from which on runs go. What stood on one line before it may again.
        """
        found, left, between = list[int](), None, list[int]()
        for at in range(len(self.runs) + 1):
            if at < len(self.runs) and not stays(at):
                between.append(at)
                continue
            right = self.runs[at] if at < len(self.runs) else None
            broken = [each for each in between if "\n" in self.runs[each].content]
            standing = next((each for each in broken if self.runs[each].stands), None)
            ended = left is None or str(left.content).endswith("\n") or (right and str(right.content).startswith("\n"))
            if standing is not None and left is not None and not ended:
                anew = left.born >= first or (right is not None and right.born >= first)
                if anew or any(self.runs[each].at(first - 1) for each in broken):
                    found.append(standing)
            left, between = right, []
        return found


def restored_since(note: Note) -> int:
    """The version from which on what went may be what such a change brings back."""
    return note.of - 1 if note.deed in (Deed.UNDO, Deed.REDO) else note.of


def _exchanges(operations: Sequence[Operation]) -> list[Operation]:
    """The same; what was removed, and what was put in its place next, as one."""
    found = list[Operation]()
    for each in operations:
        last = found[-1] if found else None
        if isinstance(each, Cut) and isinstance(last, Cut) and not last.content and each.place == last.place:
            found[-1] = Cut(last.place, last.delete + each.delete, each.content)
        else:
            found.append(each)
    return found


def text_track(start: int, text: str, steps: Sequence[Step]) -> Track:
    """A text after these changes of it."""
    track = Track(start, text)
    for step in steps:
        track.take(step.change, [text_cut(splice) for splice in step.splices])
    return track


def text_cut(splice: Splice) -> Cut:
    return Cut(splice.place, splice.delete, splice.insert)


@dataclass
class Report:
    """What became of changes that are taken back; see `Plan`."""

    gone: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def add(self, path: str, other: "Report") -> None:
        self.gone += [f"{prefix(path)}{words}" for words in other.gone]
        self.lost += [f"{prefix(path)}{words}" for words in other.lost]


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same, and of the same type: 1 is not True."""
    return one == other and type(one) is type(other)


def words_of(value: Any) -> str:
    """A value for a person; of an item the item itself."""
    if isinstance(value, tuple):
        return ", ".join(map(words_of, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def prefix(path: str) -> str:
    """What names a part before its words; nothing where there is only one."""
    return f"{path}: " if path not in ("", ".") else ""
