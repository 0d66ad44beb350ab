"""Folders, their files and their agents, as rows.

A folder's content is only for its audience, which every file and passage has, too: the owner's, unless the owner
widened it. Every read of content takes a scope.
"""

import hashlib
import json
import mimetypes
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct, field

from memory.folders.disk import checked_folder
from memory.folders.file_lines import MAX_INDEXED, Passage, binary, blocks_of, passages
from memory.people.audience import Audience, Scope, Trust
from memory.store.clock import to_text
from memory.store.database import Rows, Tx, Value
from memory.store.errors import Refused
from memory.store.fulltext import index_text, storable
from memory.store.ids import AgentId, FileId, FolderId, PersonId, new_id
from memory.store.records import replace
from memory.store.row_mapper import RowMapper
from texts import gettext_lazy, gettext_noop


def digest_of(blocks: Iterable[bytes]) -> str:
    found = hashlib.blake2b(digest_size=16)
    for block in blocks:
        found.update(block)
    return found.hexdigest()


def type_of(name: str, *, is_binary: bool) -> str:
    """The content type, from the file's name or, if that is unknown, from its content."""
    guessed, _ = mimetypes.guess_type(name, strict=False)
    return guessed or ("application/octet-stream" if is_binary else "text/plain")


FolderKind: TypeAlias = Literal["local", "virtual"]
Access: TypeAlias = Literal["read", "read_write"]

MAX_CONTENT = 8_000_000
"""The most bytes of one file in a virtual folder."""
MAX_FOLDER = 256_000_000
"""The most bytes of all files in a virtual folder."""
TOO_LARGE, _BINARY = gettext_noop("too large to be indexed"), gettext_noop("binary")
_MOST_LISTED = 200
_DESCRIPTION = 300


class Folder(Struct, frozen=True):
    """A folder; a new one gets its id when it is made. `path` is the directory of a local one; a virtual one keeps its
    files in the database. `embedding_model` is the folder's own: empty for that of the constellation, "none" where
    words alone find its passages."""

    name: str
    kind: FolderKind
    audience: Audience
    description: str = ""
    path: str = ""
    embedding_model: str = ""
    id: FolderId = field(default_factory=lambda: FolderId(new_id("fld")))
    indexed_at: datetime | None = None


class AttachedFolder(Struct, frozen=True):
    folder: Folder
    access: Access


class File(Struct, frozen=True):
    """A stored file; `note` says why it has no passages.

    `modified` is a local file's change time (ctime) in nanoseconds, which nobody can set back.
    """

    id: FileId
    folder: FolderId
    name: str
    content_type: str
    size: int
    modified: int
    digest: str
    note: str
    people: tuple[PersonId, ...]
    trust: Trust
    indexed_at: datetime


class NewFile(Struct, frozen=True):
    """A file to store, with `content` only in virtual folders; `note` says why there are no passages."""

    name: str
    content_type: str
    size: int
    digest: str
    passages: Sequence[Passage] = ()
    note: str = ""
    modified: int = 0
    content: bytes | None = None
    people: tuple[PersonId, ...] = ()
    trust: Trust = Trust.APPROVED
    """Nobody knows who wrote a file that was found or uploaded, but the owner gave it to agents."""


def new_file(name: str, content: bytes) -> NewFile:
    """A file with its passages, without its content."""
    note = _BINARY if binary(content) else TOO_LARGE if len(content) > MAX_INDEXED else ""
    kind = type_of(name, is_binary=note == _BINARY)
    found = () if note else passages(content)
    return NewFile(name, kind, len(content), digest_of(blocks_of(content)), found, note)


def from_content(name: str, content: bytes) -> NewFile:
    """A file for a virtual folder, with its passages."""
    return replace(new_file(name, content), content=content)


# ------------------------------------------------------------------------------------------------------- folders


def create(tx: Tx, new: Folder, now: datetime) -> Folder:
    """Store a new folder. Raises `Refused` for an invalid or taken name."""
    checked_folder(new.name)
    described = " ".join(storable(new.description).split())
    if len(described) > _DESCRIPTION:
        raise Refused(
            "a description can have at most {description} characters; this one has {described}",
            description=_DESCRIPTION,
            described=len(described),
        )
    made = replace(new, description=described)
    if not tx.insert("folders", {**_folder.values(made), "created_at": now}, ignore=True):
        raise Refused(
            "there is already a folder “{name}”: choose another name, or remove that one first", name=new.name
        )
    return made


def folders(rows: Rows, scope: Scope) -> list[Folder]:
    """The folders that the scope may know, by name."""
    return _folder.all(rows, *scope.bind("SELECT * FROM folders WHERE KNOWN(audience) ORDER BY name"))


def named(rows: Rows, name: str, scope: Scope) -> Folder:
    """The folder of that name. Raises `Refused` if the scope may know none."""
    found = folders(rows, scope)
    for folder in found:
        if folder.name == name:
            return folder
    raise Refused(
        "there is no folder “{name}”; available: {known}",
        name=name,
        known=", ".join(each.name for each in found) or gettext_lazy("none"),
    )


def current(rows: Rows, folder: Folder) -> Folder:
    """The current row of a folder that was read before. Raises `Refused` if it was removed meanwhile."""
    found = _folder.first(rows, "SELECT * FROM folders WHERE id = ?", (folder.id,))
    if found is None:
        raise Refused("the folder “{name}” has been removed", name=folder.name)
    return found


def set_audience(tx: Tx, folder: FolderId, audience: Audience) -> None:
    for table, column in (("folders", "id"), ("folder_files", "folder_id"), ("file_passages", "folder_id")):
        tx.run(f"UPDATE {table} SET audience = ? WHERE {column} = ?", (audience, folder))


def set_embedding_model(tx: Tx, folder: FolderId, model: str) -> None:
    """Choose the model that embeds a folder's passages; until that is done, they are found by words."""
    tx.run("UPDATE folders SET embedding_model = ? WHERE id = ?", (model, folder))


def embedding_models(rows: Rows, agent: AgentId | None = None, scope: Scope | None = None, path: str = "") -> list[str]:
    """The models of folders with one of their own; with a scope, of those that a search there covers."""
    condition, given = "", tuple[Value, ...]()
    if scope is not None:
        covered = """AND KNOWN(f.audience)
            AND (? = '' OR ? = f.name OR substr(?, 1, length(f.name) + 1) = f.name || '/')
            AND EXISTS (SELECT 1 FROM folder_attachments WHERE folder_id = f.id AND (? IS NULL OR agent_id = ?))"""
        condition, given = scope.bind(covered, path, path, path, agent, agent)
    sql = f"SELECT DISTINCT embedding_model FROM folders f WHERE embedding_model NOT IN ('', 'none') {condition}"
    return [row[0] for row in rows.all(f"{sql} ORDER BY embedding_model", given)]


def set_indexed(tx: Tx, folder: FolderId, now: datetime) -> None:
    tx.run("UPDATE folders SET indexed_at = ? WHERE id = ?", (now, folder))


def remove(tx: Tx, folder: FolderId) -> int:
    """Remove a folder with its files and passages; returns how many files. A local directory is not touched."""
    count = tx.run("DELETE FROM folder_files WHERE folder_id = ?", (folder,))
    tx.run("DELETE FROM folders WHERE id = ?", (folder,))
    return count


# --------------------------------------------------------------------------------------------------- attachments


def attach(tx: Tx, folder: FolderId, agent: AgentId, access: Access, now: datetime) -> None:
    """Let an agent use a folder, or change its access."""
    sql = """INSERT INTO folder_attachments (folder_id, agent_id, access, attached_at) VALUES (?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET access = excluded.access"""
    tx.run(sql, (folder, agent, access, now))


def detach(tx: Tx, folder: FolderId, agent: AgentId) -> bool:
    """Detach a folder from an agent; False if it was not attached."""
    sql = "DELETE FROM folder_attachments WHERE folder_id = ? AND agent_id = ?"
    return tx.run(sql, (folder, agent)) == 1


def attached(rows: Rows, agent: AgentId, scope: Scope) -> list[AttachedFolder]:
    """An agent's folders that the scope may know, by name."""
    sql = """SELECT f.*, a.access FROM folders f JOIN folder_attachments a ON a.folder_id = f.id
              WHERE a.agent_id = ? AND KNOWN(f.audience) ORDER BY f.name"""
    return [AttachedFolder(_folder(row), _access(row["access"])) for row in rows.all(*scope.bind(sql, agent))]


def agents_of(rows: Rows, folder: FolderId) -> list[tuple[AgentId, Access]]:
    sql = "SELECT agent_id, access FROM folder_attachments WHERE folder_id = ? ORDER BY attached_at, agent_id"
    return [(AgentId(row["agent_id"]), _access(row["access"])) for row in rows.all(sql, (folder,))]


# --------------------------------------------------------------------------------------------------------- files

_META = "id, folder_id, name, content_type, size_bytes, modified, digest, note, people, trust, indexed_at"


def files(rows: Rows, folder: FolderId, scope: Scope, limit: int = _MOST_LISTED) -> list[File]:
    sql = f"SELECT {_META} FROM folder_files WHERE folder_id = ? AND KNOWN(audience) ORDER BY name LIMIT +?"
    return _file.all(rows, *scope.bind(sql, folder, limit))


def file(rows: Rows, folder: FolderId, name: str, scope: Scope) -> File | None:
    sql = f"SELECT {_META} FROM folder_files WHERE folder_id = ? AND name = ? AND KNOWN(audience)"
    return _file.first(rows, *scope.bind(sql, folder, name))


def content(rows: Rows, identifier: FileId, scope: Scope) -> bytes | None:
    """The bytes of a file stored in the database; None if the scope may know no such file."""
    sql = "SELECT content FROM folder_files WHERE id = ? AND KNOWN(audience)"
    return rows.value(*scope.bind(sql, identifier), bytes)


def sizes(rows: Rows, folder: FolderId, scope: Scope) -> tuple[int, int, int]:
    """The number of files, of their bytes, and of passages in a folder."""
    sql = """SELECT count(*), coalesce(sum(size_bytes), 0), (SELECT count(*) FROM file_passages
             WHERE folder_id = ? AND KNOWN(audience)) FROM folder_files WHERE folder_id = ? AND KNOWN(audience)"""
    ((count, size, passages),) = rows.all(*scope.bind(sql, folder, folder))
    return count, size, passages


def put(tx: Tx, folder: Folder, new: NewFile, now: datetime) -> None:
    """Store a file with its passages, replacing one of the same name.

    Raises `Refused` for a file too large for a virtual folder, and for a folder that would become too large or was
    removed meanwhile.
    """
    folder = current(tx, folder)
    if new.content is not None:
        _require_room(tx, folder, new)
    tx.run("DELETE FROM folder_files WHERE folder_id = ? AND name = ?", (folder.id, new.name))
    identifier = new_id("fil")
    moment = to_text(now)
    shared: dict[str, Value] = {"folder_id": folder.id, "audience": folder.audience, "trust": int(new.trust)}
    kept = {**_new.values(new), **shared, "id": identifier, "uploaded_at": moment, "indexed_at": moment}
    tx.insert("folder_files", kept)
    for number, passage in enumerate(new.passages):
        words = storable(passage.content)
        own: dict[str, Value] = {
            "id": f"{identifier}.{number}",
            "content": words,
            "start_line": passage.start,
            "end_line": passage.end,
            # The name counts once: on every passage it would count as much as what the passage says.
            "search_text": index_text(words if number else f"{new.name}\n{words}"),
        }
        tx.insert("file_passages", own | shared | {"file_id": identifier, "created_at": moment})


def touch(tx: Tx, identifier: FileId, modified: int) -> None:
    """Record that a file was written again with the same content."""
    tx.run("UPDATE folder_files SET modified = ? WHERE id = ?", (modified, identifier))


def remove_files(tx: Tx, folder: FolderId, names: Sequence[str]) -> int:
    """Remove files with their passages; returns how many."""
    sql = "DELETE FROM folder_files WHERE folder_id = ? AND name IN (SELECT value FROM json_each(?))"
    return tx.run(sql, (folder, json.dumps(list(names))))


def _require_room(rows: Rows, folder: Folder, new: NewFile) -> None:
    if new.size > MAX_CONTENT:
        raise Refused(
            "{name} has {size:,} bytes, and a folder without a directory takes files of up to "
            "{max_content:,}: leave it in a directory, and create a folder for that directory",
            name=new.name,
            size=new.size,
            max_content=MAX_CONTENT,
        )
    sql = "SELECT coalesce(sum(size_bytes), 0) FROM folder_files WHERE folder_id = ? AND name <> ?"
    if rows.number(sql, (folder.id, new.name)) + new.size > MAX_FOLDER:
        raise Refused(
            "the folder “{name}” would have more than {max_folder:,} bytes: remove files first",
            name=folder.name,
            max_folder=MAX_FOLDER,
        )


_folder = RowMapper(Folder, kind="path_type", path="path_value")


def _access(text: str) -> Access:
    return "read_write" if text == "read_write" else "read"


_file = RowMapper(File, size="size_bytes")
_new = RowMapper(NewFile, size="size_bytes", passages=lambda _row: ())
