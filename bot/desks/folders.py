"""Folders for the owner: made, attached to agents, filled, indexed, removed. What agents do there is `bot.filing`."""

import asyncio
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from bot.errors import UserError
from memory import agents, folders
from memory.agents import Agent
from memory.audience import OWNER, Audience, Scope, parse_audience
from memory.clock import Clock, to_text
from memory.constellation import Constellations
from memory.database import Rows, Tx
from memory.errors import Refused
from memory.faults import commit_point
from memory.folders import Access, Folder, NewFolder, disk
from memory.folders.paths import flat_name, parts_of
from memory.ids import ConstellationId
from sources.terminal import PERSON

T = TypeVar("T")

_CREATE = commit_point("folders.create")
_CHANGE = commit_point("folders.change")
_STORE = commit_point("folders.store")
_REMOVE = commit_point("folders.remove")

_SCOPE = Scope(OWNER)
_SHOWN = 200  # files of one folder
_STEP_SECONDS = 2.0  # of an indexing, so that whoever waits for it hears how far it has come


@dataclass(frozen=True)
class Folders:
    """The folders of one constellation; `data` is Carina's own folder, which never becomes one of them."""

    constellations: Constellations
    house: ConstellationId
    data: Path
    clock: Clock

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "folder.create": self.create,
            "folder.list": self.every,
            "folder.show": self.show,
            "folder.attach": self.attach,
            "folder.detach": self.detach,
            "folder.audience": self.widen,
            "folder.upload": self.upload,
            "folder.index": self.index,
            "folder.remove": self.remove,
        }

    async def create(
        self, name: str, path: str = "", description: str = "", audience: str = "owner"
    ) -> list[dict[str, Any]]:
        """Make a folder: of a directory of this machine, or without a path one that files are uploaded to."""
        if "://" in path:
            raise UserError(
                f"{path}: remote folders do not exist yet; name a directory of this machine, or leave the path out"
            )
        root = await asyncio.to_thread(disk.checked_root, path, self.data) if path else ""
        kind, heard, now = "local" if path else "virtual", _audience(audience), self.clock()
        new = NewFolder(name, "local" if kind == "local" else "virtual", heard, description, str(root))
        async with self.constellations.use(self.house) as database:
            folder = await database.write(_CREATE, lambda tx: folders.create(tx, new, now))
            return [await database.read(lambda rows: _line(rows, folder))]

    async def every(self) -> list[dict[str, Any]]:
        """Every folder."""
        return await self._read(lambda rows: [_line(rows, folder) for folder in folders.folders(rows, _SCOPE)])

    async def show(self, name: str) -> list[dict[str, Any]]:
        """A folder's files, the first of them by name."""
        return await self._read(lambda rows: _files(rows, folders.named(rows, name, _SCOPE)))

    async def attach(self, name: str, agent: str, *, write: bool = False) -> list[dict[str, Any]]:
        """Let an agent read a folder, or also write in it."""
        access: Access = "read_write" if write else "read"
        now = self.clock()

        def work(tx: Tx, folder: Folder) -> dict[str, Any]:
            found = _agent(tx, agent)
            folders.attach(tx, folder.id, found.id, access, now)
            return {"folder": folder.name, "agent": found.name, "access": access, "readers": folder.audience}

        return [await self._change(name, work)]

    async def detach(self, name: str, agent: str) -> list[dict[str, Any]]:
        """Take a folder away from an agent."""

        def work(tx: Tx, folder: Folder) -> dict[str, Any]:
            found = _agent(tx, agent)
            if not folders.detach(tx, folder.id, found.id):
                raise UserError(f"{found.name} does not have the folder {folder.name}")
            return {"folder": folder.name, "agent": found.name, "access": "none"}

        return [await self._change(name, work)]

    async def widen(self, name: str, audience: str) -> list[dict[str, Any]]:
        """Say who may hear of a folder's content, wider or narrower than before."""
        heard = _audience(audience)

        def work(tx: Tx, folder: Folder) -> dict[str, Any]:
            folders.set_audience(tx, folder.id, heard)
            return {"folder": folder.name, "readers": heard, "before": folder.audience}

        return [await self._change(name, work)]

    async def upload(self, name: str, path: str, kept_as: str = "") -> list[dict[str, Any]]:
        """Keep a copy of a file of this machine in a virtual folder."""
        content = await asyncio.to_thread(_content, Path(path))
        target = kept_as or flat_name(Path(path).name)
        parts_of(target)
        new = await asyncio.to_thread(folders.from_content, target, content)
        now = self.clock()

        def work(tx: Tx) -> dict[str, Any]:
            folder = folders.named(tx, name, _SCOPE)
            if folder.kind == "local":
                raise UserError(
                    f"{name} is the directory {folder.path}: copy the file there, then `carina folder index`"
                )
            folders.put(tx, folder, replace(new, people=(PERSON,)), now)
            return {"folder": name, "file": target, "bytes": new.size, "note": new.note}

        async with self.constellations.use(self.house) as database:
            return [await database.write(_STORE, work)]

    async def index(self, name: str) -> dict[str, Any]:
        """Go on indexing a folder for about two seconds; `finished` says whether that was all."""
        async with self.constellations.use(self.house) as database:
            folder = await database.read(lambda rows: folders.named(rows, name, _SCOPE))
            if folder.kind == "local" and Path(folder.path) in database.path.parents:
                raise UserError(f"{name} holds Carina's own data by now and is not read")
            done = await folders.index(database, folder, self.clock, _STEP_SECONDS)
        return {
            "folder": name,
            "files": done.files,
            "waiting": done.waiting,
            "changed": done.changed,
            "removed": done.removed,
            "finished": done.finished,
        }

    async def remove(self, name: str, file: str = "") -> list[dict[str, Any]]:
        """Remove a folder with what is kept of it, or one file of a virtual folder. No directory is touched."""

        def work(tx: Tx) -> dict[str, Any]:
            folder = folders.named(tx, name, _SCOPE)
            if not file:
                return {"folder": name, "files": folders.remove(tx, folder.id)}
            if folder.kind == "local":
                raise UserError(f"{name} is the directory {folder.path}: remove the file there")
            if not folders.remove_files(tx, folder.id, [file]):
                raise UserError(f"there is no file {file!r} in {name}; `carina folder show {name}` shows them")
            return {"folder": name, "files": 1}

        async with self.constellations.use(self.house) as database:
            return [await database.write(_REMOVE, work)]

    async def _change(self, name: str, work: Callable[[Tx, Folder], dict[str, Any]]) -> dict[str, Any]:
        async with self.constellations.use(self.house) as database:
            return await database.write(_CHANGE, lambda tx: work(tx, folders.named(tx, name, _SCOPE)))

    async def _read(self, work: Callable[[Rows], T]) -> T:
        async with self.constellations.use(self.house) as database:
            return await database.read(work)


def _audience(text: str) -> Audience:
    try:
        audience = parse_audience(text)
    except ValueError as error:
        raise UserError(str(error)) from None
    if text.startswith("person:"):
        raise UserError("a folder is for the owner, a server, a channel or everybody, not for one person's messages")
    return audience


def _line(rows: Rows, folder: Folder) -> dict[str, Any]:
    files, size, passages = folders.sizes(rows, folder.id, _SCOPE)
    names = {agent.id: agent.name for agent in agents.agents(rows)}
    having = [f"{names.get(agent, agent)} ({access})" for agent, access in folders.agents_of(rows, folder.id)]
    return {
        "folder": folder.name,
        "kind": folder.kind,
        "path": folder.path,
        "readers": folder.audience,
        "agents": ", ".join(having),
        "files": files,
        "bytes": size,
        "passages": passages,
        "indexed": to_text(folder.indexed_at) if folder.indexed_at else "",
        "text": folder.description,
    }


def _files(rows: Rows, folder: Folder) -> list[dict[str, Any]]:
    return [
        {
            "file": each.name,
            "type": each.content_type,
            "bytes": each.size,
            "indexed": to_text(each.indexed_at),
            "note": each.note,
        }
        for each in folders.files(rows, folder.id, _SCOPE, limit=_SHOWN)
    ]


def _agent(rows: Rows, name: str) -> Agent:
    found = agents.agents(rows)
    for agent in found:
        if agent.name.casefold() == name.casefold():
            return agent
    raise UserError(f"there is no agent {name!r}; there are: {', '.join(agent.name for agent in found)}")


def _content(path: Path) -> bytes:
    """A file that the owner names. Raises UserError or Refused."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise UserError(f"{path} is no file: upload files, or make a local folder of a directory")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(folders.MAX_CONTENT + 1) if status.st_size <= folders.MAX_CONTENT else b""
        if status.st_size > folders.MAX_CONTENT or len(content) > folders.MAX_CONTENT:
            raise Refused(
                f"{path} has {status.st_size:,} bytes; a virtual folder takes files of up to {folders.MAX_CONTENT:,}: "
                "leave it in a directory and make a local folder of that"
            )
        return content
