"""Commands for folders: create, attach to agents, fill, index, remove. `bot.agents.folder_access` is for agents."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from bot.agents.permissions.roles_and_rights import Action
from bot.errors import UserError
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.names import find_living, named_audience
from bot.services.registry import AT_TERMINAL, CHANGES_AT_TERMINAL, Options, Param, operation, suggestions
from bot.services.results import ActionReport, Entry, Listing, Markup, Row, report
from bot.services.transactions import Service, writes
from memory import agents
from memory.folders import disk
from memory.folders import rows as folders
from memory.folders.disk import flat_name, parts_of
from memory.folders.index import index
from memory.folders.rows import Access, Folder, NewFile
from memory.people.audience import OWNER, Audience, Scope
from memory.search.embedding.choice import NONE
from memory.store.database import Rows, Tx
from memory.store.records import replace
from sources.terminal import PERSON
from texts import _, gettext_noop, number_text

_SCOPE = Scope(OWNER)
_DEFAULT = "default"  # the constellation's model
_ALL = -1
_STEP_SECONDS = 2.0  # of indexing; each step is stored
_REMOVES = Options(via=TERMINAL_ONLY, changes=True, asks=True)
_INDEXES = Options(changes=True, via=TERMINAL_ONLY, seconds=3_600.0)

_Name = Annotated[str, Param("Name of the folder", example="notes", metavar="FOLDER", suggests="folders")]
_Agent = Annotated[str, Param("Name of the agent", example="Carina", suggests="agents")]
_NewName = Annotated[
    str, Field(min_length=1, max_length=64), Param("Name in lowercase letters, digits, - and _", example="notes")
]
_Path = Annotated[
    Path | None,
    Param("Directory on this machine (default: upload files instead)", metavar="DIRECTORY", via=TERMINAL_ONLY),
]
_Description = Annotated[str, Field(max_length=1_000), Param("Description for agents to read", metavar="TEXT")]
_Write = Annotated[bool, Param("Also let it write")]
_File = Annotated[Path, Param("File on this machine", example="notes.txt", via=TERMINAL_ONLY)]
_KeptAs = Annotated[str, Param("Path in the folder (default: the file's own name)", flag="--as", metavar="PATH")]
_OneOfThem = Annotated[str, Field(min_length=1), Param("Remove only this file", positional=True)]
_Embedder = Annotated[
    str,
    Param(
        "Embedding model: default, packaged, none, or one on a server, such as ollama:nomic-embed-text",
        example="packaged",
        metavar="MODEL",
    ),
]
_READERS = "Who can see its content: owner, public, guild:discord:1234 or channel:discord:1234"


_Audience = Annotated[str, Param(_READERS, example="owner", suggests="audiences")]


class FolderRow(Row):
    folder: str = Field(validation_alias="name")
    kind: str
    path: str
    readers: str = Field(validation_alias="audience")
    agents: str
    files: int
    bytes: int
    passages: int
    embedder: str
    indexed: datetime | None = Field(validation_alias="indexed_at")
    text: str = Field(validation_alias="description")

    @classmethod
    def of(cls, rows: Rows, folder: Folder) -> "FolderRow":
        files, size, passages = folders.sizes(rows, folder.id, _SCOPE)
        names = {agent.id: agent.name for agent in agents.agents(rows)}
        having = [f"{names.get(agent, agent)} ({access})" for agent, access in folders.agents_of(rows, folder.id)]
        more = {"agents": ", ".join(having), "embedder": folder.embedding_model or _DEFAULT}
        return cls.from_record(folder, **more, files=files, bytes=size, passages=passages)

    def line(self, markup: Markup) -> str:
        agents = self.told(markup, gettext_noop("for {agents}")) if self.agents else _("no agent can use it")
        about = [self.told(markup, gettext_noop("{files}, {bytes}")), agents, markup.text(self.text)]
        if self.embedder != _DEFAULT:
            about.append(self.told(markup, gettext_noop("embedding model: {embedder}")))
        return f"{markup.text(self.folder)}: {'; '.join(filter(None, about))}"


class FileRow(Row):
    file: str = Field(validation_alias="name")
    type: str = Field(validation_alias="content_type")
    bytes: int = Field(validation_alias="size")
    indexed: datetime = Field(validation_alias="indexed_at")
    note: str

    def line(self, markup: Markup) -> str:
        note = f" ({markup.text(_(self.note))})" if self.note else ""
        return self.told(markup, gettext_noop("{file}: {bytes}{note}"), note=note)


class Folders(Service, frozen=True):
    """The folders of one constellation; `data` is Carina's own folder, which can never become one of them."""

    titles: ClassVar = {"folder": "Manage folders of files that agents can read"}

    data: Path
    usable: Callable[[str], Awaitable[None]]
    """Checks an embedding model. Raises UserError if it does not exist or does not work."""

    @operation("folder.create", "Create a folder of files for agents", Action.FOLDERS, CHANGES_AT_TERMINAL)
    async def create(
        self,
        _caller: Caller,
        name: _NewName,
        path: _Path = None,
        description: _Description = "",
        audience: _Audience = "owner",
        embedder: _Embedder = _DEFAULT,
    ) -> Entry[FolderRow]:
        if path is not None and any(part.endswith(":") for part in path.parts[1:]) and not path.exists():
            raise UserError(
                "Remote folders are not supported. Name a directory on this machine, or leave the path out."
            )
        root = await asyncio.to_thread(disk.checked_root, str(path), self.data) if path else ""
        heard = _audience(audience)
        model = await self._model(embedder)
        new = Folder(name, "local" if path else "virtual", heard, description, str(root), model)
        return await self._create(new)

    @writes
    def _create(self, tx: Tx, new: Folder) -> Entry[FolderRow]:
        return Entry(done=_("Created"), row=FolderRow.of(tx, folders.create(tx, new, self.clock())))

    @operation("folder.list", "List folders and the agents that can use them", Action.FOLDERS, AT_TERMINAL)
    @suggestions("folders")
    def list_folders(self, rows: Rows, _caller: Caller) -> Listing[FolderRow]:
        found = (FolderRow.of(rows, folder) for folder in folders.folders(rows, _SCOPE))
        return Listing.of(found, _("There are no folders."))

    @operation("folder.show", "List a folder's files as last indexed", Action.FOLDERS, AT_TERMINAL)
    def list_files(self, rows: Rows, _caller: Caller, name: _Name) -> Listing[FileRow]:
        folder = folders.named(rows, name, _SCOPE)
        found = map(FileRow.from_record, folders.files(rows, folder.id, _SCOPE, limit=_ALL))
        return Listing.of(found, _("The folder is empty or has not been indexed yet."))

    @operation("folder.attach", "Let an agent read or write a folder", Action.FOLDERS, AT_TERMINAL)
    def attach(self, tx: Tx, _caller: Caller, name: _Name, agent: _Agent, write: _Write = False) -> ActionReport:
        access: Access = "read_write" if write else "read"
        folder, found = folders.named(tx, name, _SCOPE), find_living(tx, agent)
        folders.attach(tx, folder.id, found.id, access, self.clock())
        text = _("{agent} can now read and write {folder}.") if write else _("{agent} can now read {folder}.")
        return report(text, folder=folder.name, agent=found.name, access=access)

    @operation("folder.detach", "Remove an agent's access to a folder", Action.FOLDERS, AT_TERMINAL)
    def detach(self, tx: Tx, _caller: Caller, name: _Name, agent: _Agent) -> ActionReport:
        folder, found = folders.named(tx, name, _SCOPE), find_living(tx, agent)
        if not folders.detach(tx, folder.id, found.id):
            raise UserError("{agent} has no access to the folder “{folder}”.", agent=found.name, folder=folder.name)
        return report(_("{agent} can no longer use {folder}."), folder=folder.name, agent=found.name, access="none")

    @operation("folder.audience", "Set who can see a folder's content", Action.FOLDERS, AT_TERMINAL)
    def set_audience(self, tx: Tx, _caller: Caller, name: _Name, audience: _Audience) -> ActionReport:
        folder, heard = folders.named(tx, name, _SCOPE), _audience(audience)
        folders.set_audience(tx, folder.id, heard)
        text = _("Who can see {folder}: {readers} (before: {before}).")
        return report(text, folder=folder.name, readers=heard, before=folder.audience)

    @operation("folder.embedder", "Set a folder's embedding model", Action.FOLDERS, CHANGES_AT_TERMINAL)
    async def set_embedder(self, _caller: Caller, name: _Name, embedder: _Embedder) -> ActionReport:
        return await self._set_model(name, await self._model(embedder))

    @writes
    def _set_model(self, tx: Tx, name: str, model: str) -> ActionReport:
        folder = folders.named(tx, name, _SCOPE)
        folders.set_embedding_model(tx, folder.id, model)
        words = _("{folder} is now searched by words only.")
        if model != NONE:
            words = _("{folder} now uses {embedder}. Until its files are embedded, search uses words only.")
        return report(words, folder=name, embedder=model or _DEFAULT, before=folder.embedding_model or _DEFAULT)

    async def _model(self, embedder: str) -> str:
        model = "" if embedder == _DEFAULT else embedder
        if model:
            await self.usable(model)
        return model

    @operation("folder.upload", "Upload a file to a folder that has no directory", Action.FOLDERS, CHANGES_AT_TERMINAL)
    async def upload(self, _caller: Caller, name: _Name, file: _File, kept_as: _KeptAs = "") -> ActionReport:
        content = await asyncio.to_thread(_content, file)
        target = kept_as or flat_name(file.name)
        parts_of(target)
        return await self._put(name, await asyncio.to_thread(folders.from_content, target, content))

    @writes
    def _put(self, tx: Tx, name: str, new: NewFile) -> ActionReport:
        folder = folders.named(tx, name, _SCOPE)
        if folder.kind == "local":
            words = _("{folder} is the directory {path}. Copy the file there, then run `carina folder index`.")
            raise UserError(words.format(folder=name, path=folder.path))
        folders.put(tx, folder, replace(new, people=(PERSON,)), self.clock())
        text = _("Uploaded to {folder} as {file}, {bytes}. {note}")
        return report(text, folder=name, file=new.name, bytes=new.size, note=_(new.note))

    @operation("folder.index", "Update a folder's index from its directory", Action.FOLDERS, _INDEXES)
    async def index(self, _caller: Caller, name: _Name) -> ActionReport:
        """Index a folder in steps; each is stored, so that indexing can be interrupted."""
        folder = await self.database.read(lambda rows: folders.named(rows, name, _SCOPE))
        if folder.kind == "local" and Path(folder.path) in self.database.path.parents:
            raise UserError("{folder} now holds Carina's own data, so it is not read.", folder=name)
        changed, finished = 0, False
        while not finished:
            done = await index(self.database, folder, self.clock, _STEP_SECONDS)
            changed, finished = changed + done.changed, done.finished
        text = _("{folder} is indexed: {files}, {changed} new or changed, {removed} removed.")
        return report(text, folder=name, files=done.files, changed=changed, removed=done.removed)

    @operation("folder.remove", "Remove a folder and its uploads, or one of its files", Action.FOLDERS, _REMOVES)
    def remove(self, tx: Tx, caller: Caller, name: _Name, file: _OneOfThem = "") -> ActionReport:
        folder = folders.named(tx, name, _SCOPE)
        if not file:
            caller.confirm(_("Remove the folder “{name}” and its uploads? This cannot be undone.", name=name))
            files = folders.remove(tx, folder.id)
            return report(_("Removed {folder} with {files}."), folder=name, files=files, whole=True)
        if folder.kind == "local":
            words = _("{folder} is the directory {path}. Remove the file there.", folder=name, path=folder.path)
            raise UserError(words)
        if not folders.remove_files(tx, folder.id, [file]):
            raise UserError(
                "There is no file “{file}” in {folder}. `carina folder show` lists them.", file=file, folder=name
            )
        caller.confirm(
            _("Remove the file {file} from {name}? This cannot be undone.", file=file, name=name)
        )  # otherwise it is undone
        return report(_("Removed a file from {folder}."), folder=name, files=1, whole=False)


def _audience(text: str) -> Audience:
    audience = named_audience(text)
    if text.startswith("person:"):
        raise UserError("A folder is for the owner, a server, a channel or everyone, not for one person.")
    return audience


def _content(path: Path) -> bytes:
    """The content of a file that the owner names. Raises UserError."""
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise UserError(
                "{path} is not a file. For a directory, use `carina folder create NAME --path DIRECTORY`.", path=path
            )
        if size > folders.MAX_CONTENT:
            raise UserError(
                "{path} has {size} bytes, but an upload can have at most {most}. Leave the file in a directory, and "
                "create a folder for that directory.",
                path=path,
                size=number_text(size),
                most=number_text(folders.MAX_CONTENT),
            )
        return path.read_bytes()
    except OSError as error:
        raise UserError("{path} cannot be read: {error}.", path=path, error=error.strerror) from None
