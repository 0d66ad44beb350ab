"""Access of agents to files in folders: list, read by windows, search by pattern and by words, write.

Everything is limited to the turn's scope: a folder that its audience may not know is not even mentioned. Disks are read
in a separate thread, for a limited time.
"""

import asyncio
import functools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from msgspec import Struct

from bot.errors import ToolError
from memory.folders import disk, file_lines
from memory.folders import rows as folders
from memory.folders.disk import parts_of
from memory.folders.file_lines import Match, Pattern, TooSlow, Window, binary, blocks_of, window
from memory.folders.index import index
from memory.folders.rows import AttachedFolder, File, type_of
from memory.people.audience import OWNER, Trust, may_write_down
from memory.queue import turns
from memory.queue.turns import Turn
from memory.search.all_domains import search
from memory.search.query import Hit, Query
from memory.search.vector_similarity import Meaning
from memory.store.clock import utc_now
from memory.store.database import Database, Rows, Tx
from memory.store.errors import Refused
from memory.store.faults import commit_point
from memory.store.ids import PersonId
from memory.store.records import replace
from texts import many

_WRITE = commit_point("filing.write")

MOST_MATCHES = 50
_GREP_SECONDS = 5.0
_READ_SECONDS = 20.0
_FOUND = 8  # passages per search, at most
_INDEX_SECONDS = 1.0  # for updating one folder's index before a search


class FolderPath(Struct, frozen=True):
    """A path as an agent gives it ("folder/path"): the folder, and the path inside it."""

    attached: AttachedFolder
    path: str

    @property
    def whole(self) -> str:
        name = self.attached.folder.name
        return f"{name}/{self.path}" if self.path else name

    def at(self, path: str) -> "FolderPath":
        return replace(self, path=path)


class FileView(Struct, frozen=True):
    """One file: a window of its text, and its data."""

    window: Window
    size: int
    content_type: str
    trust: Trust = Trust.APPROVED
    """The trust of the owner's computer, or of whoever wrote the file."""


class Matches(Struct, frozen=True):
    """The lines that match a pattern; `stopped` says why there may be more, `skipped` are files that are not text."""

    found: tuple[Match, ...]
    files: int
    skipped: int
    stopped: str = ""
    trust: Trust = Trust.APPROVED
    """The lowest trust of the searched files."""


class FolderAccess(Struct, frozen=True):
    """The folders of a turn's agent that its hearers may know of."""

    database: Database
    turn: Turn

    async def attached(self) -> list[AttachedFolder]:
        turn = self.turn
        return await self.database.read(lambda rows: folders.attached(rows, turn.agent, turn.scope))

    async def locate(self, given: str) -> FolderPath:
        """The folder and the path in it. Raises ToolError."""
        return await self.database.read(lambda rows: self.located(rows, given))

    def located(self, rows: Rows, given: str) -> FolderPath:
        name, _, path = given.strip().strip("/").partition("/")
        known = folders.attached(rows, self.turn.agent, self.turn.scope)
        for each in known:
            if each.folder.name == name:
                if path:
                    parts_of(path)
                return FolderPath(each, path)
        names = ", ".join(each.folder.name for each in known) or "none that may be used here"
        raise ToolError(f"There is no folder {name!r} here. A path begins with the name of a folder: {names}.")

    async def listing(self, located: FolderPath) -> list[tuple[str, int]]:
        """The files of a folder, or below a directory in it, by name, with their sizes in bytes."""
        folder, below = located.attached.folder, f"{located.path}/" if located.path else ""
        if folder.kind == "local":
            root = self.root(located)
            found = await asyncio.to_thread(lambda: sorted((each.name, each.size) for each in disk.walk(root)))
        else:
            stored = functools.partial(folders.files, folder=folder.id, scope=self.turn.scope, limit=disk.MOST_FILES)
            found = [(each.name, each.size) for each in await self.database.read(stored)]
        return [(name, size) for name, size in found if name.startswith(below) or name == located.path]

    async def show(self, located: FolderPath, first: int, count: int) -> FileView:
        """Lines of a file. Raises ToolError or Refused."""
        require_file(located)
        root, content, kind, trust = await self._source(located)
        deadline = time.monotonic() + _READ_SECONDS

        def read() -> FileView:
            with _opened(located, root, content) as (blocks, size):
                return FileView(window(file_lines.before_deadline(blocks(), deadline), first, count), size, kind, trust)

        return await asyncio.to_thread(read)

    async def grep(self, pattern: str, places: Sequence[FolderPath]) -> Matches:
        """The lines that match a regular expression. Raises Refused if it is invalid."""
        expression, deadline = file_lines.compiled(pattern), time.monotonic() + _GREP_SECONDS
        found: list[Match] = []
        files, skipped, trust, stopped = 0, 0, Trust.APPROVED, ""
        for one in [place.at(name) for place in places for name, _size in await self.listing(place)]:
            root, content, _kind, held = await self._source(one)
            files, trust = files + 1, min(trust, held)
            most = MOST_MATCHES - len(found)
            try:
                found += await asyncio.to_thread(_grep, one, root, content, (expression, deadline, most))
            except TooSlow as error:
                stopped = f"{error}; name a file or a simpler pattern"
                break
            except Refused:
                skipped += 1
            if len(found) >= MOST_MATCHES:
                stopped = f"these are the first {MOST_MATCHES}, up to {one.whole}"
                break
        return Matches(tuple(found), files, skipped, stopped, trust)

    async def search(
        self, text: str, places: Sequence[FolderPath], path: str, near: tuple[Meaning | None, Mapping[str, Meaning]]
    ) -> tuple[list[Hit], list[str]]:
        """The passages that match a text, in local folders as of now, and what could not be searched that way.

        `near` is as in `Query`.
        """
        missing = [words for place in places if (words := await self._refresh(place))]
        meaning, apart = near
        query = Query(
            text,
            self.turn.agent,
            frozenset({"files"}),
            path=path,
            limit=_FOUND,
            meaning=meaning,
            of_folders=apart,
            guesses=True,
        )
        results = await self.database.read(lambda rows: search(rows, query, self.turn.scope))
        return list(results.hits), missing

    async def set_text(self, located: FolderPath, text: str, *, append: bool) -> int:
        """Write or append to a file; returns its size in bytes. Raises ToolError or Refused."""
        self._require_writable(located)
        if located.attached.folder.kind == "local":
            root = self.root(located)
            return await asyncio.to_thread(_write_local, root, located.path, text, append=append)
        return await self.database.write(_WRITE, lambda tx: self._store(tx, located, text, append=append))

    # ----------------------------------------------------------------------------------------------------- helpers

    def root(self, located: FolderPath) -> Path:
        root = Path(located.attached.folder.path)
        if root in self.database.path.parents:
            raise Refused(
                "the folder “{name}” now contains Carina's own data and cannot be opened",
                name=located.attached.folder.name,
            )
        return root

    async def _source(self, located: FolderPath) -> tuple[Path | None, bytes, str, Trust]:
        """A local file's root, or a stored one's content; and the type and trust of the file. Raises Refused."""
        if located.attached.folder.kind == "local":
            return self.root(located), b"", type_of(located.path, is_binary=False), Trust.APPROVED
        found = await self.database.read(lambda rows: self.held(rows, located))
        if found is None:
            raise Refused("there is no file {whole}; `list` shows the files", whole=located.whole)
        file, content = found
        return None, content, file.content_type, file.trust

    def held(self, rows: Rows, located: FolderPath) -> tuple[File, bytes] | None:
        scope = self.turn.scope
        file = folders.file(rows, located.attached.folder.id, located.path, scope)
        held = None if file is None else folders.content(rows, file.id, scope)
        return None if file is None or held is None else (file, held)

    async def _refresh(self, place: FolderPath) -> str:
        """Update the index of a local folder; returns in words what is missing."""
        folder = place.attached.folder
        if folder.kind == "virtual":
            return ""
        try:
            self.root(place)
            done = await index(self.database, folder, utc_now, _INDEX_SECONDS)
        except Refused as error:
            return f"{folder.name} was searched as it was indexed last: {error}"
        waiting = f"{many(done.waiting, 'file')} of {folder.name} not indexed yet (grep sees all)"
        return "" if done.finished else waiting

    def _require_writable(self, located: FolderPath) -> None:
        folder, turn = located.attached.folder, self.turn
        if located.attached.access != "read_write":
            raise ToolError(f"You may read the folder {folder.name}, not write in it.")
        require_file(located)
        if not may_write_down(turn.scope, folder.audience):
            raise ToolError(
                f"What is said here may not be written into {folder.name}: people who may not know it can read it."
            )
        # In the owner's own places, reading a file lowers the turn's trust, so this needs the owner's approval.
        if folder.kind == "local" and turn.trust < Trust.OWNER and turn.scope.audience != OWNER:
            raise ToolError(
                f"{folder.name} is a directory on the owner's machine, where others' words could not be erased: "
                "only the owner may have something written there. Use a virtual folder."
            )

    def _store(self, tx: Tx, located: FolderPath, text: str, *, append: bool) -> int:
        turn = self.turn
        turns.require_current(tx, turn)
        old = self.held(tx, located)
        before = old[1] if append and old is not None else b""
        _require_text(located.path, before)
        content = _joined(before, text, append=append)
        # Whoever rewrites a file was shown it: the old text may be in the new one.
        people: set[PersonId] = set() if old is None else set(old[0].people)
        people |= {turn.person} if turn.person else set()
        trust = min(turn.trust, old[0].trust) if append and old is not None else turn.trust
        new = folders.from_content(located.path, content)
        folders.put(tx, located.attached.folder, replace(new, people=tuple(sorted(people)), trust=trust), utc_now())
        return len(content)


def require_file(located: FolderPath) -> None:
    if not located.path:
        raise ToolError(f"{located.whole} is a folder: name a file in it, such as {located.whole}/notes.txt.")


@contextmanager
def _opened(at: FolderPath, root: Path | None, content: bytes) -> Iterator[tuple[Callable[[], Iterable[bytes]], int]]:
    """The blocks of a text file, read anew by each call, and its size; without a root, of stored content."""
    if root is None:
        _require_text(at.path, content)
        yield lambda: blocks_of(content), len(content)
        return
    with disk.open_file(root, at.path) as file:
        file.text()
        yield file.blocks, file.seen.size


def _require_text(name: str, content: bytes) -> None:
    if binary(content):
        raise Refused("{name} is a binary file and cannot be read", name=name)


def _grep(at: FolderPath, root: Path | None, content: bytes, how: tuple[Pattern, float, int]) -> list[Match]:
    pattern, deadline, most = how
    with _opened(at, root, content) as (blocks, _size):
        return list(islice(file_lines.matching(pattern, at.whole, blocks, deadline), most))


def _write_local(root: Path, path: str, text: str, *, append: bool) -> int:
    before = _whole(root, path) if append else b""
    content = _joined(before, text, append=append)
    if len(content) > disk.MAX_WRITTEN:
        raise Refused(
            "{path} would grow to {content:,} bytes, but a file can have at most {max_written:,}",
            path=path,
            content=len(content),
            max_written=disk.MAX_WRITTEN,
        )
    disk.replace(root, path, content)
    return len(content)


def _whole(root: Path, path: str) -> bytes:
    """The content of a file; empty if it does not exist."""
    if not disk.exists(root, path):
        return b""
    with disk.open_file(root, path) as file:
        file.text()
        if file.seen.size > disk.MAX_WRITTEN:
            raise Refused("{path} is too large to append to: it has {size:,} bytes", path=path, size=file.seen.size)
        return b"".join(file.blocks())


def _joined(before: bytes, text: str, *, append: bool) -> bytes:
    """The content with `text`; appended text begins on a line of its own."""
    added = text.encode("utf-8", "replace")
    apart = b"\n" if append and before and not before.endswith(b"\n") else b""
    return before + apart + added
