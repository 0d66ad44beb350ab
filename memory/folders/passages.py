"""A file cut into passages, by which it is found, and what kind of file it is."""

import hashlib
import mimetypes
from collections.abc import Iterable
from dataclasses import dataclass

from memory.folders.windows import binary, blocks_of, lines

MAX_INDEXED = 2_000_000
"""Bytes of a file that is indexed; a larger one is read by windows and searched by pattern."""
_CHARACTERS = 1_200
_LINES = 40


@dataclass(frozen=True)
class Passage:
    """Lines `start` to `end` of a file."""

    start: int
    end: int
    content: str


@dataclass(frozen=True)
class Indexed:
    """What indexing made of a file; `note` says why there are no passages."""

    digest: str
    passages: tuple[Passage, ...]
    note: str = ""


def indexed(content: bytes) -> Indexed:
    """The passages of a file."""
    digest = digest_of(blocks_of(content))
    if binary(content):
        return Indexed(digest, (), "binary")
    if len(content) > MAX_INDEXED:
        return Indexed(digest, (), "too large to be indexed")
    return Indexed(digest, tuple(passages(content)), "")


def passages(content: bytes) -> list[Passage]:
    """Whole lines, up to 40 of them or 1,200 characters, a longer line by itself in parts; nothing that is blank."""
    made: list[Passage] = []
    held: list[str] = []
    start, size = 1, 0
    for line in lines(blocks_of(content), kept=MAX_INDEXED):
        if held and (len(held) == _LINES or size + len(line.text) > _CHARACTERS):
            made += _cut(start, held)
            held, start, size = [], line.number, 0
        held.append(line.text)
        size += len(line.text) + 1
    made += _cut(start, held)
    return [each for each in made if each.content.strip()]


def _cut(start: int, held: list[str]) -> list[Passage]:
    """One passage, or several of a single line that is longer."""
    text, end = "\n".join(held), start + max(len(held) - 1, 0)
    return [Passage(start, end, text[at : at + _CHARACTERS]) for at in range(0, len(text), _CHARACTERS)]


def digest_of(blocks: Iterable[bytes]) -> str:
    """What tells one content from another."""
    found = hashlib.blake2b(digest_size=16)
    for block in blocks:
        found.update(block)
    return found.hexdigest()


def type_of(name: str, *, is_binary: bool) -> str:
    """The content type, by the file's name where that tells, else by what it holds."""
    guessed, _ = mimetypes.guess_type(name, strict=False)
    return guessed or ("application/octet-stream" if is_binary else "text/plain")
