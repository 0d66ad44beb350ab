"""`carina folder ...`: files that agents may read, and write where that is allowed."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bot.cli import streams
from bot.cli.asking import ask
from bot.cli.people import Administer, Json, told
from bot.cli.printing import print_found, print_passing
from bot.config import Config
from bot.errors import CallError, UserError
from memory.amounts import many

Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="Its name, as `carina folder list` shows it.")]
AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="Which agent.")]
Readers = "Who may hear of its content: owner, public, guild:discord:1234 or channel:discord:1234."


def add_folders(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    folder = typer.Typer(help="Folders of files that your agents may read.")
    app.add_typer(folder, name="folder")
    _add_folders(folder, administer)
    _add_attachments(folder, administer)
    _add_files(folder, administer)


def _add_folders(folder: typer.Typer, administer: Administer) -> None:
    @folder.command("create")
    def create(
        name: Annotated[str, typer.Argument(metavar="NAME", help="Small letters, digits, - and _.")],
        path: Annotated[
            str, typer.Option(help="A directory of this machine; without it files are uploaded and kept.")
        ] = "",
        description: Annotated[str, typer.Option(help="What is in it; agents read that.")] = "",
        audience: Annotated[str, typer.Option(help=Readers)] = "owner",
        as_json: Json = False,
    ) -> None:
        """Make a folder; no agent has it before `carina folder attach`."""
        where = str(Path(path).expanduser().absolute()) if path and "://" not in path else path
        wanted = {"name": name, "path": where, "description": description, "audience": audience}
        administer(told("folder.create", "", **wanted), as_json)

    @folder.command("list")
    def list_folders(as_json: Json = False) -> None:
        """Show the folders, who may hear of them, and which agents have them."""
        administer(told("folder.list", "There is no folder."), as_json)


def _add_attachments(folder: typer.Typer, administer: Administer) -> None:
    @folder.command("attach")
    def attach(
        name: Folder,
        agent: AgentName,
        write: Annotated[bool, typer.Option("--write", help="It may also write in it.")] = False,
        as_json: Json = False,
    ) -> None:
        """Let an agent read a folder."""
        administer(told("folder.attach", "", name=name, agent=agent, write=write), as_json)

    @folder.command("detach")
    def detach(name: Folder, agent: AgentName, as_json: Json = False) -> None:
        """Take a folder away from an agent."""
        administer(told("folder.detach", "", name=name, agent=agent), as_json)

    @folder.command("audience")
    def audience(
        name: Folder, readers: Annotated[str, typer.Argument(metavar="AUDIENCE", help=Readers)], as_json: Json = False
    ) -> None:
        """Say anew who may hear of a folder's content."""
        administer(told("folder.audience", "", name=name, audience=readers), as_json)


def _add_files(folder: typer.Typer, administer: Administer) -> None:
    @folder.command("show")
    def show(name: Folder, as_json: Json = False) -> None:
        """Show the files of a folder as they were indexed last."""
        administer(told("folder.show", "The folder is empty, or was not indexed yet.", name=name), as_json)

    @folder.command("upload")
    def upload(
        name: Folder,
        file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of this machine.")],
        kept_as: Annotated[str, typer.Option("--as", help="Its path in the folder, instead of its own name.")] = "",
        as_json: Json = False,
    ) -> None:
        """Keep a copy of a file in a folder that has no directory of its own."""
        administer(told("folder.upload", "", name=name, path=str(file.absolute()), kept_as=kept_as), as_json)

    @folder.command("index")
    def index(name: Folder, as_json: Json = False) -> None:
        """Bring the index of a folder up to date with its directory."""
        administer(_index, as_json, name)

    @folder.command("remove")
    def remove(
        name: Folder,
        file: Annotated[str, typer.Argument(metavar="[FILE]", help="Only this file.")] = "",
        yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")] = False,
        as_json: Json = False,
    ) -> None:
        """Remove a folder with the files that were uploaded to it, or one of these; a directory stays as it is."""
        what = f"the file {file} of {name}" if file else f"the folder {name} and what was uploaded to it"
        if not yes and not streams.attended():
            raise CallError("folder remove: nobody can be asked here whether it is meant; expected --yes")
        if not yes and not typer.confirm(f"Remove {what}? It cannot be brought back."):
            raise UserError("nothing was removed")
        administer(told("folder.remove", "", name=name, file=file), as_json)


async def _index(config: Config, name: str, *, as_json: bool) -> None:
    """Index step by step until everything is up to date; each step is kept, so that it can be broken off."""
    changed, found = 0, await ask(config, "folder.index", name=name)
    while not found["finished"]:
        changed += found["changed"]
        if streams.attended() and not as_json:
            print_passing(f"{found['files'] - found['waiting']:,} of {found['files']:,} files of {name}")
        found = await ask(config, "folder.index", name=name)
    done: dict[str, Any] = {**found, "changed": changed + found["changed"]}
    words = (
        f"{name} is indexed: {many(done['files'], 'file')}, {done['changed']:,} of them new or changed; "
        f"{many(done['removed'], 'is', 'are')} gone."
    )
    print_found(done, [words], as_json=as_json)
