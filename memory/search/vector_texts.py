"""The texts that are embedded for a row: its words as a quote, cut into parts that fit a small model.

They are made from the content, not from `search_text`: an embedder needs sentences, not folded words.
"""

import hashlib
import itertools
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from memory.store.database import Row, Rows
from memory.store.lazy import UnicodePattern

Embedded: TypeAlias = Literal["entry", "message", "block", "passage", "task"]
"""Kinds whose rows have vectors."""

KINDS: tuple[Embedded, ...] = ("entry", "message", "block", "passage", "task")
MAX_CHARACTERS = 30_000
"""Characters of one row; the rest is found by words only."""

PART_BYTES = 800
"""Bytes of one part in UTF-8, besides its heading: about 200 tokens of English, 270 of Chinese. Parts of files are half
as long, so that one sentence among unrelated ones is still found."""

_END = UnicodePattern(r"(?<=[\n])|(?<=[.!?。！？…;])\s+|(?<=[。！？])")
_SPACE = UnicodePattern(r"\s+")


class Embeddable(Struct, frozen=True):
    """A row with the parts of its text, and whose vectors they become. `digest` shows whether the texts have changed.

    `model` is the model of the row's folder, if that has its own.
    """

    kind: Embedded
    row: int
    agent: str
    audience: str
    texts: tuple[str, ...]
    model: str = ""

    @property
    def digest(self) -> bytes:
        told = json.dumps([self.agent, self.audience, self.model, self.texts])
        return hashlib.blake2b(told.encode(), digest_size=16).digest()


def texts_of(rows: Rows, kind: Embedded, numbers: Sequence[int]) -> list[Embeddable]:
    """Those of these rows that have something to embed, in their current form; in no order."""
    match kind:
        case "message":
            return [_message(row) for row in rows.all(_MESSAGES, (numbers,))]
        case "entry":
            return [_entry(row) for row in rows.all(_ENTRIES, (numbers,))]
        case "block":
            return [found for row in rows.all(_BLOCKS, (numbers,)) if (found := _block(row)).texts]
        case "passage":
            return [_passage(row) for row in rows.all(_PASSAGES, (numbers,))]
        case "task":
            return [_task(row) for row in rows.all(_TASKS, (numbers,))]


_MESSAGES = """SELECT id, speaker, content, audience FROM messages
               WHERE search_text <> '' AND id IN (SELECT value FROM json_each(?))"""
_ENTRIES = """SELECT n, agent_id, label, content, category, tags, audience FROM archival_entries
              WHERE archived_at IS NULL AND superseded_by IS NULL AND search_text <> ''
              AND n IN (SELECT value FROM json_each(?))"""
_BLOCKS = """SELECT n, agent_id, label, description, profile, content, audience FROM memory_blocks
             WHERE search_text <> '' AND n IN (SELECT value FROM json_each(?))"""
_PASSAGES = """SELECT p.n, p.content, p.audience, f.name, d.embedding_model
               FROM file_passages p JOIN folder_files f ON f.id = p.file_id JOIN folders d ON d.id = p.folder_id
               WHERE p.search_text <> '' AND p.n IN (SELECT value FROM json_each(?))"""

_TASKS = """SELECT id, title, notes, audience FROM tasks
            WHERE search_text <> '' AND id IN (SELECT value FROM json_each(?))"""


def _message(row: Row) -> Embeddable:
    return Embeddable("message", row["id"], "", row["audience"], _parts("", f"{row['speaker']}: {row['content']}"))


def _entry(row: Row) -> Embeddable:
    about = [row["category"].replace("/", " "), *json.loads(row["tags"]), row["label"] or ""]
    head = f"{', '.join(word for word in about if word)}\n"
    return Embeddable("entry", row["n"], row["agent_id"], row["audience"], _parts(head, row["content"]))


def _block(row: Row) -> Embeddable:
    text = f"{row['profile']}\n{row['content']}".strip()
    head = f"{row['label'].replace('_', ' ')}: {row['description']}\n"
    return Embeddable("block", row["n"], row["agent_id"], row["audience"], _parts(head, text))


def _passage(row: Row) -> Embeddable:
    parts = _parts(f"{row['name']}\n", row["content"], size=PART_BYTES // 2)
    return Embeddable("passage", row["n"], "", row["audience"], parts, row["embedding_model"])


def _task(row: Row) -> Embeddable:
    parts = _parts("to do: ", f"{row['title']}\n{row['notes']}".strip())
    return Embeddable("task", row["id"], "", row["audience"], parts)


def _parts(head: str, text: str, size: int = PART_BYTES) -> tuple[str, ...]:
    return tuple(head + part for part in cut(text[:MAX_CHARACTERS], size))


def cut(text: str, limit: int = PART_BYTES) -> list[str]:
    """Split into parts of at most `limit` bytes: between sentences if possible, then words, then characters.

    Which sentence in a part's second half ends it depends on the sentences' words. So soon after an edit the old
    boundaries return, and most parts stay the same.
    """
    parts: list[str] = []
    held, sizes = list[str](), list[int]()
    for piece in _pieces(text, limit):
        size = _bytes(piece)
        while held and sum(sizes) + size > limit:
            end = _end(held, sizes, limit)
            parts.append("".join(held[:end]).strip())
            held, sizes = held[end:], sizes[end:]
        held.append(piece)
        sizes.append(size)
    return [part for part in (*parts, "".join(held).strip()) if part]


def _end(pieces: Sequence[str], sizes: Sequence[int], limit: int) -> int:
    """How many of the pieces go into the next part; all if they are less than half of it."""
    reached = itertools.accumulate(sizes)
    ends = [at for at, total in enumerate(reached) if 2 * total >= limit]
    chosen = min(ends, key=lambda at: zlib.crc32(pieces[at].encode("utf-8", "surrogatepass")), default=len(pieces) - 1)
    return chosen + 1


def _pieces(text: str, limit: int) -> Iterator[str]:
    """The text in pieces of at most `limit` bytes."""
    for sentence in _with_ends(text, _END):
        if _bytes(sentence) <= limit:
            yield sentence
            continue
        for word in _with_ends(sentence, _SPACE):
            yield from (word,) if _bytes(word) <= limit else _characters(word, limit)


def _with_ends(text: str, ends: UnicodePattern) -> Iterable[str]:
    begin = 0
    for match in ends.finditer(text):
        if match.end() > begin:
            yield text[begin : match.end()]
            begin = match.end()
    if begin < len(text):
        yield text[begin:]


def _characters(word: str, limit: int) -> Iterator[str]:
    size = max(limit // 4, 1)  # a character has at most four bytes
    for begin in range(0, len(word), size):
        yield word[begin : begin + size]


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
