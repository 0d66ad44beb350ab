"""Reads files by lines, in memory that does not grow with the file, and splits them into passages for search.

Files come as blocks of bytes from anywhere. A line is kept up to a number of bytes and shown up to `LINE_CHARACTERS`,
followed by how much of it is not shown.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from memory.store.errors import Refused
from memory.store.lazy import LazyLibrary

if TYPE_CHECKING:
    import regex
else:
    regex = LazyLibrary("regex")

BLOCK = 1 << 16
WINDOW_LINES = 100
"""Lines of a window by default."""
MOST_LINES = 400
WINDOW_CHARACTERS = 12_000
LINE_CHARACTERS = 2_000
LINE_BYTES = 4 * LINE_CHARACTERS
SEARCHED_BYTES = 1 << 16
"""Bytes of a line that a pattern is searched in."""
_PATTERN_CHARACTERS = 300
_SNIFFED = 8_192  # bytes at the beginning that tell text from anything else


Pattern: TypeAlias = "regex.Pattern[str]"


class TooSlow(Refused):
    """The time limit is over."""


class Line(Struct, frozen=True):
    """One line as text; `dropped` counts the bytes that were not kept."""

    number: int
    text: str
    dropped: int = 0

    @property
    def shown(self) -> str:
        if not self.dropped and len(self.text) <= LINE_CHARACTERS:
            return self.text
        rest = len(self.text[LINE_CHARACTERS:].encode("utf-8", "replace")) + self.dropped
        return f"{self.text[:LINE_CHARACTERS]} [{rest:,} bytes of this line are not shown]"


class Window(Struct, frozen=True):
    """Lines `start` to `end` of a file, counted from 1; `total` if the end of the file was reached."""

    start: int
    end: int
    content: str
    has_more_after: bool
    total: int | None = None

    @property
    def next(self) -> int | None:
        """The line at which the next window begins; None at the end."""
        return self.end + 1 if self.has_more_after else None


class Match(Struct, frozen=True):
    path: str
    line: Line


def binary(start: bytes) -> bool:
    """Whether a file with this beginning is binary: text has no NUL, except UTF-16, which is not supported."""
    return b"\0" in start[:_SNIFFED]


def decoded(line: bytes) -> str:
    """A line as text: UTF-8, whose last character may be cut off, else the older Windows encoding."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(line) - 3 and error.reason == "unexpected end of data":
            return line[: error.start].decode("utf-8")
        return line.decode("cp1252", "replace")


def blocks_of(content: bytes) -> Iterator[bytes]:
    for at in range(0, len(content), BLOCK):
        yield content[at : at + BLOCK]


def before_deadline(blocks: Iterable[bytes], deadline: float) -> Iterator[bytes]:
    """The blocks, until `time.monotonic` reaches the deadline. Raises `TooSlow` after it."""
    for block in blocks:
        if time.monotonic() > deadline:
            raise TooSlow("the file is too large to be read that far in the available time")
        yield block


def lines(blocks: Iterable[bytes], first: int = 1, kept: int = LINE_BYTES, stop: int | None = None) -> Iterator[Line]:
    """The lines from `first` on, each up to `kept` bytes; earlier lines are only counted.

    Line `stop` comes last and without its text: it only shows that there is one.
    """
    number, held, dropped = 1, b"", 0
    for block in blocks:
        at = 0
        if number < first:
            ends = block.count(b"\n")
            if number + ends < first:
                number += ends
                continue
            while number < first:
                at, number = block.index(b"\n", at) + 1, number + 1
        while at < len(block):
            if number == stop:
                yield Line(number, "")
                return
            end = block.find(b"\n", at)
            to = len(block) if end < 0 else end
            room = kept - len(held)
            held, dropped = held + block[at : min(to, at + room)], dropped + max(to - at - room, 0)
            at = to + 1
            if end >= 0:
                yield _line(number, held, dropped)
                number, held, dropped = number + 1, b"", 0
    if held:
        yield _line(number, held, dropped)


def window(blocks: Iterable[bytes], first: int = 1, count: int = WINDOW_LINES) -> Window:
    """At most `count` lines (1 to 400) from `first` on, and at most 12,000 characters.

    Raises `Refused` if the file ends before that.
    """
    first, count = max(first, 1), min(max(count, 1), MOST_LINES)
    taken: list[str] = []
    size, more = 0, False
    for line in lines(blocks, first, stop=first + count):
        size += len(line.shown) + 1
        if len(taken) == count or (taken and size > WINDOW_CHARACTERS):
            more = True
            break
        taken.append(line.shown)
    if not taken and first > 1:
        raise Refused("the file ends before line {first}", first=first)
    end = first + len(taken) - 1
    return Window(first, end, "\n".join(taken), more, None if more else end)


def compiled(pattern: str) -> Pattern:
    """Compile a user's pattern. Raises `Refused` if it is invalid."""
    if not 0 < len(pattern) <= _PATTERN_CHARACTERS:
        raise Refused(
            "a pattern must have 1 to {pattern_characters} characters", pattern_characters=_PATTERN_CHARACTERS
        )
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise Refused("{pattern!r} is not a regular expression: {error}", pattern=pattern, error=error) from error


def matching(pattern: Pattern, path: str, blocks: Callable[[], Iterable[bytes]], deadline: float) -> Iterator[Match]:
    """The lines of a file that match a pattern. Raises `TooSlow` at the deadline."""
    for line in lines(before_deadline(blocks(), deadline), kept=SEARCHED_BYTES):
        left = deadline - time.monotonic()
        try:
            # `concurrent` lets others work meanwhile: an expression can be made to search for minutes.
            found = left > 0 and pattern.search(line.text, timeout=left, concurrent=True)
        except TimeoutError:
            left = 0
        if left <= 0:
            raise TooSlow("searching took too long at line {number} of {path}", number=line.number, path=path)
        if found:
            yield Match(path, line)


def _line(number: int, held: bytes, dropped: int) -> Line:
    text = decoded(held.removesuffix(b"\r"))
    return Line(number, text.removeprefix("\ufeff") if number == 1 else text, dropped)


# ----------------------------------------------------------------------------------------------------------- passages

MAX_INDEXED = 2_000_000
"""The most bytes of an indexed file; larger ones are read by windows and searched by pattern."""
_PASSAGE_CHARACTERS = 1_200
_PASSAGE_LINES = 40


class Passage(Struct, frozen=True):
    """Lines `start` to `end` of a file."""

    start: int
    end: int
    content: str


def passages(content: bytes) -> list[Passage]:
    """Split into whole lines, up to 40 or 1,200 characters; a longer line is split in parts. Without blank passages."""
    made: list[Passage] = []
    held: list[str] = []
    start, size = 1, 0
    for line in lines(blocks_of(content), kept=MAX_INDEXED):
        if held and (len(held) == _PASSAGE_LINES or size + len(line.text) > _PASSAGE_CHARACTERS):
            made += _cut(start, held)
            held, start, size = [], line.number, 0
        held.append(line.text)
        size += len(line.text) + 1
    made += _cut(start, held)
    return [each for each in made if each.content.strip()]


def _cut(start: int, held: list[str]) -> list[Passage]:
    """One passage, or several for a single longer line."""
    text, end = "\n".join(held), start + max(len(held) - 1, 0)
    return [Passage(start, end, text[at : at + _PASSAGE_CHARACTERS]) for at in range(0, len(text), _PASSAGE_CHARACTERS)]
