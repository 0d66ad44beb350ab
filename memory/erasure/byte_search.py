"""Searches the bytes of files for words, to check that erased data is gone.

Some words and phrases of a person are sampled before an erasure, kept only in memory, and then searched for in every
file of the data folder: as they are, in any case, and as JSON escapes them. Compressed data (documents of blocks) and
stemmed indexes cannot be searched this way; the counts cover those.
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct

from memory.blocks.changes import person_writer
from memory.store.clock import to_text
from memory.store.data_folder import BACKUPS, DELETED
from memory.store.database import Rows
from memory.store.errors import StoreError
from memory.store.ids import PersonId

MOST_SAMPLES = 24
_MOST_NAMES = 8  # of them
_LOOKED_AT = 300  # of the person's messages
_SHORTEST_NAME, _SHORTEST_WORD, _SHORTEST_PHRASE, _LONGEST_PHRASE = 4, 5, 10, 48
_CHUNK = 1 << 20
_SEARCH_SECONDS = 1_800.0  # a slow disk reads some hundred gigabytes in that time
_ROOT = Path(__file__).parents[2]
_OURS = {"sqlite_schema": "sql", "jobs": "iif(last_outcome = 'failed', '', last_detail)", "agents": "name"}
"""Columns without words of people: plain English about tables, the jobs' own messages, and names of agents."""
FOLLOWED = "-litestream"
"""The suffix of folders in which Litestream keeps its input for minutes; its copies are kept for a day."""
_COPIES = (".bak", ".before-", ".backup", ".old")


class RemainingSamples(Struct, frozen=True):
    """A file in which samples were found; `copy` if it is a backup, which is not written any more."""

    file: str
    samples: int
    copy: bool
    changed_at: str


class ByteSearchResult(Struct, frozen=True):
    """How many files and bytes were read, where something was found, and which copies hold older data."""

    files: int
    size: int
    left: tuple[RemainingSamples, ...]
    copies: tuple[RemainingSamples, ...]


def samples(rows: Rows, person: PersonId) -> list[str]:
    """Words and phrases of a person that nobody else wrote in this file; at most `MOST_SAMPLES`.

    First come the names that they went by, the names and descriptions that they gave to blocks, and the names that
    they wrote.
    """
    sql = """SELECT iif(named_by = :by, label, '') AS label, iif(described_by = :by, description, '') AS description
             FROM memory_blocks WHERE :by IN (named_by, described_by) ORDER BY n DESC LIMIT +:most"""
    blocks = rows.all(sql, {"by": person_writer(person), "most": _MOST_NAMES})
    sql = """SELECT content FROM messages WHERE person_id = ? AND role = 'user' AND content <> ''
             ORDER BY id DESC LIMIT +?"""
    texts = [str(row["content"]) for row in rows.all(sql, (person, _LOOKED_AT))]
    phrases = [str(row["description"])[:_LONGEST_PHRASE].strip() for row in blocks]
    candidates = dict.fromkeys(name for name in _called(rows, person) if len(name) >= _SHORTEST_NAME)
    candidates |= dict.fromkeys(phrase for phrase in phrases if len(phrase) >= _SHORTEST_PHRASE)
    candidates |= dict.fromkeys(str(row["label"]) for row in blocks if len(row["label"]) >= _SHORTEST_WORD)
    candidates |= dict.fromkeys([name for text in texts for name in _names(text)][:_MOST_NAMES])
    for text in texts:
        line = max(text.splitlines(), key=len).strip()[:_LONGEST_PHRASE]
        if len(line) >= _SHORTEST_PHRASE:
            candidates[line] = None
        words = sorted((word for word in text.split() if word.isalnum()), key=len, reverse=True)
        candidates |= dict.fromkeys(word for word in words[:2] if len(word) >= _SHORTEST_WORD)
    own = [each for each in list(candidates)[: 4 * MOST_SAMPLES] if not _said_by_others(rows, person, each)]
    return own[:MOST_SAMPLES]


def _called(rows: Rows, person: PersonId) -> list[str]:
    """The newest names that a person's account went by here."""
    sql = """SELECT name FROM (SELECT speaker AS name, created_at AS at FROM messages
               WHERE person_id = :person AND role = 'user'
               UNION ALL SELECT name, first_at FROM pairing_codes WHERE person_id = :person
               UNION ALL SELECT name, at FROM permission_votes WHERE person_id = :person)
             GROUP BY name ORDER BY max(at) DESC LIMIT +:most"""
    return [str(row["name"]).strip() for row in rows.all(sql, {"person": person, "most": _MOST_NAMES})]


def _names(text: str) -> list[str]:
    """Words with a capital letter that do not begin a sentence."""
    inside = [word.strip(",.;:!?") for before, word in pairwise(text.split()) if before[-1] not in ".:!?"]
    return [word for word in inside if len(word) >= _SHORTEST_NAME and word.isalpha() and word.istitle()]


def distinctive(rows: Rows, words: Iterable[str]) -> list[str]:
    """Those of the words that do not occur in such a file anyway, in its schema or in columns without people's words.

    Finding one of the others ("called", "people") would not show that the person's data remains.
    """
    left = list(words)
    for table, column in _OURS.items():
        if not rows.all(f"PRAGMA table_info({table})"):  # that other kind of file has no such table
            continue
        sql = f"""SELECT value FROM json_each(?)
                  WHERE EXISTS (SELECT 1 FROM {table} WHERE instr(lower(coalesce({column}, '')), value))"""
        usual = {str(row["value"]) for row in rows.all(sql, (json.dumps([word.casefold() for word in left]),))}
        left = [word for word in left if word.casefold() not in usual]
    return left


def search(folder: Path, words: Sequence[str]) -> ByteSearchResult:
    """Search every file under a folder for the words. Reads every byte: not for the event loop."""
    needles = [_forms(word) for word in words]
    longest = max((len(form) for forms in needles for form in forms), default=1)
    left, copies, files, size = [], [], 0, 0
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_symlink() or not path.is_file() or any(each.endswith(FOLLOWED) for each in parts):
            continue
        try:
            hits, read = _hits(path, needles, longest), path.stat()
        except OSError:  # gone meanwhile, or not readable for us
            continue
        files, size = files + 1, size + read.st_size
        aside = parts[0] in (BACKUPS, DELETED)
        copy = aside or any(mark in path.name for mark in _COPIES)
        changed = to_text(datetime.fromtimestamp(read.st_mtime, tz=UTC))
        found = RemainingSamples(path.relative_to(folder).as_posix(), hits, copy, changed)
        left += [found] if hits else []
        copies += [found] if copy else []
    return ByteSearchResult(files, size, tuple(left), tuple(copies))


async def search_in_process(folder: Path, words: Sequence[str]) -> ByteSearchResult:
    """The same in a separate process, for a folder whose databases are open here. Raises StoreError.

    By POSIX, a process that closes a file once loses all its locks on it; without them, SQLite here would continue with
    a log that the next reader of the database may remove.
    """
    command = [sys.executable, "-m", "memory.erasure.byte_search"]
    process = await asyncio.create_subprocess_exec(*command, cwd=_ROOT, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    try:
        async with asyncio.timeout(_SEARCH_SECONDS):
            told, broken = await process.communicate(_asked(folder, words))
    except TimeoutError:
        raise StoreError(
            "searching the files took longer than {seconds:,.0f} seconds", seconds=_SEARCH_SECONDS
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise StoreError("the files could not be searched: {why}", why=broken.decode(errors="replace").strip()[-300:])
    return msgspec.json.decode(told, type=ByteSearchResult)


def _asked(folder: Path, words: Sequence[str]) -> bytes:
    return json.dumps({"folder": str(folder.resolve()), "words": list(words)}).encode()


def _serve() -> None:
    """Search as the parent process asks, and send it the result."""
    asked = json.load(sys.stdin)
    sys.stdout.buffer.write(msgspec.json.encode(search(Path(asked["folder"]), asked["words"])))


def _forms(word: str) -> tuple[bytes, ...]:
    """A word's bytes as they may occur in files; ASCII letters in lower case, as the files are read."""
    plain, escaped = word.encode("utf-8", "surrogatepass").lower(), json.dumps(word)[1:-1].encode().lower()
    return tuple({plain, escaped, word.casefold().encode("utf-8", "surrogatepass")})


def _hits(path: Path, needles: Sequence[tuple[bytes, ...]], longest: int) -> int:
    """How many of the words occur in the file."""
    found: set[int] = set()
    tail = b""
    with path.open("rb") as file:
        while len(found) < len(needles) and (chunk := file.read(_CHUNK)):
            window = tail + chunk.lower()
            found |= {n for n, forms in enumerate(needles) if n not in found and any(form in window for form in forms)}
            tail = window[-longest:]
    return len(found)


def _said_by_others(rows: Rows, person: PersonId, text: str) -> bool:
    """Whether others wrote these words or go by them; agents in the person's own turns do not count."""
    sql = """SELECT 1 FROM messages WHERE person_id IS NOT ? AND role = 'user'
             AND instr(lower(content || ' ' || speaker), lower(?)) LIMIT 1"""
    return rows.one(sql, (person, text)) is not None


if __name__ == "__main__":
    _serve()
