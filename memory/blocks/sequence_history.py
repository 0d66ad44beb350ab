"""One text or list with everything it ever held, replayed from recorded changes and queryable at any version.

It is a sequence of spans, each with the changes that inserted, removed and restored it. A rollback that restores a span
does not create a new one, so the text still belongs to its first writer.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from msgspec import Struct

from memory.blocks.changes import Change, ChangeKind, Content, Note, Splice
from memory.store.errors import BlockCorrupt


class Span(Struct, eq=False):
    """Characters that were written together, or one item of a list.

    `events` are the changes that inserted, removed or restored it, each with whether it exists afterward.
    """

    content: Content
    events: tuple[tuple[int, bool], ...]

    @property
    def born(self) -> int:
        return self.events[0][0]

    @property
    def stands(self) -> bool:
        return self.events[-1][1]

    @property
    def moved(self) -> int:
        """The last change that inserted, removed or restored it."""
        return self.events[-1][0]

    def at(self, version: int) -> bool:
        return next((stands for number, stands in reversed(self.events) if number <= version), False)

    def without(self, numbers: Collection[int], version: int | None = None) -> bool:
        """Whether the span would exist, now or at a version, had these changes not been made."""
        if self.born in numbers:
            return False
        events = reversed(self.events)
        return next((up for at, up in events if at not in numbers and (version is None or at <= version)), False)

    def turn(self, number: int, stands: bool) -> None:
        """Insert or remove the span by a change."""
        if self.stands != stands:
            again = self.moved == number and len(self.events) > 1
            self.events = self.events[:-1] if again else (*self.events, (number, stands))

    def part(self, start: int, end: int) -> "Span":
        return Span(self.content[start:end], self.events)


class SequenceHistory:
    """One text or list, with everything it ever held, in order."""

    def __init__(self, start: int, content: Content) -> None:
        self.is_text = isinstance(content, str)
        self.spans = self._spans(content, start)
        self._start = start
        self._size = len(content)
        self._last = start

    def _spans(self, content: Content, number: int) -> list[Span]:
        parts = [content] if self.is_text else [(item,) for item in content]
        return [Span(part, ((number, True),)) for part in parts if part]

    # ---------------------------------------------------------------------------------------------- replaying

    def take(self, change: Change, splices: Sequence[Splice[Content]]) -> None:
        """Apply a change. Raises BlockCorrupt."""
        number, note = change.seq, change.note
        if number <= self._last:
            raise BlockCorrupt("change {number} comes after change {last}", number=number, last=self._last)
        known = restored_since(note) if note.kind.restores else None
        for each in splices:
            self._splice(each, number, known)
        if note.kind is ChangeKind.ROLLBACK and note.of >= self._start and self.content() == self.content(note.of):
            self._return(number, note.of)
        self._last = number

    def _splice(self, cut: Splice[Content], number: int, known: int | None) -> None:
        at = self._index(cut.place, number)
        if known is not None:  # restored spans are found among the removed ones here, so removals go first
            self._remove(at, cut.delete, number)
        if cut.insert:
            at = self._restore(at, cut.insert, number, known) if known is not None else self._add(at, cut, number)
        if known is None:
            self._remove(at, cut.delete, number)

    def _index(self, place: int, number: int) -> int:
        """The index after the existing character before a place; splits a span if necessary."""
        if not 0 <= place <= self._size:
            raise BlockCorrupt(
                "change {number} at character {place} lies past the end of the text", number=number, place=place
            )
        if place > self._size // 2:
            rest = self._size - place
            for index in range(len(self.spans) - 1, -1, -1):
                span = self.spans[index]
                if span.stands:
                    size = len(span.content)
                    if rest < size:
                        if rest:
                            self._split(index, size - rest)
                        return index + 1
                    rest -= size
        for index, span in enumerate(self.spans if place else ()):
            if span.stands:
                size = len(span.content)
                if place < size:
                    self._split(index, place)
                if place <= size:
                    return index + 1
                place -= size
        return 0

    def _split(self, index: int, at: int) -> None:
        span = self.spans[index]
        self.spans[index : index + 1] = [span.part(0, at), span.part(at, len(span.content))]

    def _add(self, at: int, cut: Splice[Content], number: int) -> int:
        """Insert after removed spans at this place: spans that never existed at once are in the order of writing."""
        end, new = self._next(at), self._spans(cut.insert, number)
        self.spans[end:end] = new
        self._size += len(cut.insert)
        return end + len(new)

    def _next(self, at: int) -> int:
        return next((index for index in range(at, len(self.spans)) if self.spans[index].stands), len(self.spans))

    def _remove(self, at: int, size: int, number: int) -> None:
        """Mark `size` existing characters as removed, from span `at` on."""
        while size > 0:
            if at == len(self.spans):
                raise BlockCorrupt("change {number} removes more than there is", number=number)
            span = self.spans[at]
            if span.stands:
                if len(span.content) > size:
                    self._split(at, size)
                    span = self.spans[at]
                span.turn(number, stands=False)
                size -= len(span.content)
                self._size -= len(span.content)
            at += 1

    def _restore(self, at: int, content: Content, number: int, known: int) -> int:
        """Insert restored content: spans removed here since version `known` exist again, anything else is new."""
        place = new = 0
        index = at

        def flush() -> int:
            made = self._spans(content[new:place], number)
            self.spans[index:index] = made
            return index + len(made)

        while place < len(content):
            end = self._next(index)
            for each in range(index, end):
                span = self.spans[each]
                same = span.content == content[place : place + len(span.content)]
                if same and known < span.moved < number:
                    index = each
                    index = flush() + 1
                    span.turn(number, stands=True)
                    place += len(span.content)
                    new = place
                    break
            else:
                place += 1
        index = self._next(index)  # the next edit is further left and looks here for removed spans
        index = flush()
        self._size += len(content)
        return index

    def _return(self, number: int, version: int) -> None:
        """Restore exactly the spans of a version, in place of the copies that the change inserted."""
        self.spans = [span for span in self.spans if span.born != number]
        for span in self.spans:
            span.turn(number, span.at(version))

    # --------------------------------------------------------------------------------------------------- reading

    def content(self, version: int | None = None) -> Content:
        """The text, or the items, at a version; by default the newest."""
        return self._joined(span for span in self.spans if (span.stands if version is None else span.at(version)))

    def _joined(self, spans: Iterator[Span]) -> Content:
        if self.is_text:
            return "".join(str(span.content) for span in spans)
        return tuple(item for span in spans for item in span.content)

    def written(self) -> Iterator[tuple[Content, int]]:
        """The existing content, each piece with the change that wrote it."""
        return ((span.content, span.born) for span in self.spans if span.stands)

    # ---------------------------------------------------------------------------------------------- taking back

    def back(
        self, numbers: Collection[int], *, beside: bool, most: int | None = None
    ) -> tuple[list[Splice[Content]], list[str]]:
        """The splices that undo some changes, from end to beginning; and the texts that cannot come back.

        Everything that the changes inserted or restored is removed. What they removed is restored if its neighbors on
        both sides still exist and nobody else wrote in between. With `beside`, others may have written in between,
        unless they removed text that these changes inserted there. A list gets no more than `most` items.
        """
        back, lost = set[int](), list[str]()
        others = sum(span.stands and span.without(numbers) for span in self.spans)
        room = len(self.spans) if most is None else most - others
        left, right = (self._sides(way, numbers, beside=beside) for way in (-1, 1))
        for at, span in enumerate(self.spans):
            if at in left and left[at] and right[at] and len(back) < room:
                back.add(at)
            elif at in left:
                lost.append(words_of(span.content))

        def stays(at: int) -> bool:
            return self.spans[at].without(numbers) if self.spans[at].stands else at in back

        breaks = self._breaks(min(numbers, default=0), back, stays) if self.is_text else set[int]()
        cuts, place = list[Splice[Content]](), 0
        for at, span in enumerate(self.spans):
            end: Any = "\n" if at in breaks else span.content[:0]
            if span.stands and not stays(at):
                cuts.append(Splice(place, len(span.content), end))
            elif at in back:
                cuts.append(Splice(place, 0, span.content + end))
            place += len(span.content) if span.stands else 0
        return cuts[::-1], lost

    def _sides(self, way: int, numbers: Collection[int], *, beside: bool) -> dict[int, bool]:
        """The spans that these changes removed from others, each with whether it fits in on that side."""
        found: dict[int, bool] = {}
        for at in range(len(self.spans))[::-way]:
            span = self.spans[at]
            if span.stands or span.moved not in numbers or not span.without(numbers):
                continue
            together = at + way in found and self.spans[at + way].moved == span.moved
            found[at] = found[at + way] if together else self._side(at, way, numbers, beside=beside)
        return found

    def _side(self, at: int, way: int, numbers: Collection[int], *, beside: bool) -> bool:
        """Whether the neighbor still exists and others wrote nothing in between (with `beside`: removed nothing)."""
        gone, index = self.spans[at].moved, at + way
        while 0 <= index < len(self.spans):
            span = self.spans[index]
            index += way
            stood = span.stands or span.moved in numbers
            if beside and not stood and any(stands and number in numbers for number, stands in span.events):
                return False
            if span.born in numbers or (not span.stands and stood):
                continue  # removed or restored itself: look at the neighbor after it
            if span.without(numbers, gone - 1):
                return span.without(numbers)
            if not beside and span.without(numbers):
                return False
        return True

    def _breaks(self, first: int, back: Collection[int], stays: Callable[[int], bool]) -> set[int]:
        """Spans that need a line break in their place, so that text of others on two lines is not joined into one.

        `first` is the oldest change taken back. Text that was on one line before it may be joined again.
        """
        found, left, between = set[int](), -1, list[int]()
        for at in range(len(self.spans) + 1):
            if at < len(self.spans) and not stays(at):
                between.append(at)
                continue
            before, behind = (self.spans[each] if 0 <= each < len(self.spans) else None for each in (left, at))
            broken = [self.spans[each] for each in between if "\n" in self.spans[each].content]
            place = next(
                (each for each in between if self.spans[each].stands), left if behind and left in back else None
            )
            ended = before is None or str(before.content).endswith("\n") or (behind and str(behind.content)[0] == "\n")
            if place is not None and broken and not ended:
                anew = max(span.born for span in (before, behind) if span) >= first
                if anew or any(span.at(first - 1) for span in broken):
                    found.add(place)
            left, between = at, []
        return found


def restored_since(note: Note) -> int:
    """The version since which removed spans may be what this change restores."""
    return note.of - 1 if note.kind in (ChangeKind.UNDO, ChangeKind.REDO) else note.of


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same type: 1 is not True."""
    return one == other and type(one) is type(other)


def words_of(value: Any) -> str:
    """A value for a person to read; for a list, its item."""
    if isinstance(value, tuple):
        return ", ".join(map(words_of, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def prefix(path: str) -> str:
    """The part's name to go before its text; empty if the block has only one part."""
    return f"{path}: " if path not in ("", ".") else ""
