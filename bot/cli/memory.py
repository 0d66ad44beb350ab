"""`carina memory ...`: the blocks, their past, and changing them by hand; as the owner."""

import sys
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import typer

from bot.cli.asking import ask
from bot.cli.printing import print_aside, print_found, print_listed
from bot.config import Config
from bot.desks.remembering_text import blame_text, diff_text, done_text, history_text, shares_text, widened_text
from bot.errors import CallError, UserError

Administer: TypeAlias = Callable[..., None]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Name = Annotated[str, typer.Argument(metavar="BLOCK", help="The block, as `carina memory list` names it.")]
Version = Annotated[int, typer.Argument(help="A version, as `carina memory history` numbers them.")]

_COLUMNS = ("block", "agent", "type", "readers", "size", "limit", "changed_at")


def commands(administer: Administer) -> typer.Typer:
    """The group; `administer` runs one of the functions below with the configuration."""
    group = typer.Typer(help="Memory blocks: what stands in them, who wrote it when, and going back.")
    _add_looking(group, administer)
    _add_changing(group, administer)
    _add_reverting(group, administer)
    _add_sharing(group, administer)
    return group


def _add_looking(group: typer.Typer, administer: Administer) -> None:
    @group.command("list")
    def list_blocks(as_json: Json = False) -> None:
        """Show which blocks there are."""
        administer(_list, as_json)

    @group.command()
    def show(
        block: Name,
        version: Annotated[int | None, typer.Option("--version", help="As it was at that version.")] = None,
        as_json: Json = False,
    ) -> None:
        """Print a block: its text, and on standard error which version that is, for `edit --seen`."""
        administer(_show, as_json, block, version)

    @group.command()
    def history(
        block: Name,
        limit: Annotated[int, typer.Option(min=1, max=100_000)] = 20,
        before: Annotated[int | None, typer.Option("--before", help="Only changes before that one.")] = None,
        as_json: Json = False,
    ) -> None:
        """Show the changes of a block, newest first."""
        administer(_told, as_json, "history", history_text, {"name": block, "limit": limit, "before": before})

    @group.command()
    def diff(
        block: Name,
        older: Version,
        newer: Annotated[int | None, typer.Argument(help="The other version; without it the newest.")] = None,
        as_json: Json = False,
    ) -> None:
        """Show what lies between two versions."""
        administer(_told, as_json, "diff", diff_text, {"name": block, "older": older, "newer": newer})

    @group.command()
    def blame(block: Name, as_json: Json = False) -> None:
        """Show who wrote which part of a block, and when."""
        administer(_told, as_json, "blame", blame_text, {"name": block})


def _add_changing(group: typer.Typer, administer: Administer) -> None:
    @group.command()
    def edit(
        block: Name,
        text: Annotated[str | None, typer.Option("--text", help="The new text; else standard input.")] = None,
        field: Annotated[
            str, typer.Option("--field", help="Only this field of a block that has fields: NAME or SECTION.NAME.")
        ] = "",
        seen: Annotated[
            int | None, typer.Option("--seen", help="The version that you wrote it from, as `carina memory show` said.")
        ] = None,
        as_json: Json = False,
    ) -> None:
        """Write a block, or a field of it, anew.

        With --seen, what others wrote since that version stays. Without it your text takes the place of all that stands
        there when the command begins; only what comes while it waits for the text is kept.
        """
        administer(_edit, as_json, block, text, field, seen)

    @group.command()
    def rollback(block: Name, version: Version, as_json: Json = False) -> None:
        """Make a block read as at a version, as a new change."""
        administer(_done, as_json, "rollback", {"name": block, "version": version})

    @group.command()
    def undo(
        block: Name,
        redo: Annotated[bool, typer.Option("--redo", help="Do again what was undone last.")] = False,
        as_json: Json = False,
    ) -> None:
        """Take back your own newest change; what others wrote stays."""
        administer(_done, as_json, "undo", {"name": block, "again": redo})


def _add_reverting(group: typer.Typer, administer: Administer) -> None:
    @group.command()
    def revert(
        block: Name,
        writer: Annotated[str, typer.Argument(help="Whose changes: an agent, a person or a job.")],
        since: Annotated[
            str, typer.Option("--since", help="A change (12), a turn ('turn 7'), a time, or how long ago (8h, 2d).")
        ] = "",
        as_json: Json = False,
    ) -> None:
        """Take back what one writer changed, and keep what others wrote."""
        administer(_done, as_json, "revert", {"name": block, "whose": writer, "since": since})


def _add_sharing(group: typer.Typer, administer: Administer) -> None:
    @group.command()
    def share(
        block: Name,
        agent: Annotated[str, typer.Argument(help="Which agent; without it, whom it is shared with is shown.")] = "",
        at: Annotated[str, typer.Option("--at", help="read_only, append or read_write.")] = "read_only",
        as_json: Json = False,
    ) -> None:
        """Let another agent see a block, and change it as far as you say."""
        administer(_told, as_json, "share", shares_text, {"name": block, "agent": agent, "permission": at})

    @group.command()
    def unshare(block: Name, agent: Annotated[str, typer.Argument(help="Which agent.")], as_json: Json = False) -> None:
        """Take back that an agent sees a block, at once."""
        administer(_told, as_json, "unshare", shares_text, {"name": block, "agent": agent})

    @group.command()
    def widen(
        block: Name,
        audience: Annotated[str, typer.Argument(help="public, guild:<id> or channel:<id>.")],
        sure: Annotated[bool, typer.Option("--yes", help="Do it; without it you see what would be told.")] = False,
        as_json: Json = False,
    ) -> None:
        """Let more people know a block that holds your own words alone, as it stands."""
        administer(_told, as_json, "widen", widened_text, {"name": block, "to": audience, "sure": sure})

    @group.command()
    def verify(
        repair: Annotated[
            bool, typer.Option("--repair", help="Build anew what is damaged, from what is sound.")
        ] = False,
        as_json: Json = False,
    ) -> None:
        """Check that every block's stored document is sound."""
        administer(_verify, as_json, repair)


async def _list(config: Config, *, as_json: bool) -> None:
    rows = await ask(config, "memory.blocks")
    shown = rows if as_json else [{name: row[name] for name in _COLUMNS} for row in rows]
    print_listed(shown, as_json=as_json, empty="There are no blocks yet.")


async def _show(config: Config, block: str, version: int | None, *, as_json: bool) -> None:
    found = await ask(config, "memory.show", name=block, version=version)
    if not as_json:  # beside the text, so that it can go into a file and come back
        print_aside([part for part in (found["profile"], _version_of(found)) if part])
    if as_json or found["text"]:
        print_found(found, [found["text"].rstrip("\n")], as_json=as_json)


def _version_of(found: dict[str, Any]) -> str:
    empty = "" if found["text"].strip() else ", empty"
    return f"({found['block']}, version {found['version']}{empty})"


async def _told(
    config: Config, act: str, text: Callable[[Any], str], arguments: dict[str, Any], *, as_json: bool
) -> None:
    found = await ask(config, f"memory.{act}", **arguments)
    print_found(found, [text(found)], as_json=as_json)


async def _done(config: Config, act: str, arguments: dict[str, Any], *, as_json: bool) -> None:
    found = await ask(config, f"memory.{act}", **arguments)
    print_found(found, [done_text(found["block"], found)], as_json=as_json)


async def _edit(config: Config, block: str, text: str | None, field: str, seen: int | None, *, as_json: bool) -> None:
    before = await ask(config, "memory.show", name=block)
    new, version = text if text is not None else _piped(), before["newest"] if seen is None else seen
    found = await ask(config, "memory.edit", name=before["block"], text=new, seen=version, field=field)
    merged = " What was written meanwhile was kept." if found["merged"] else ""
    words = f"Block {found['block']} is at version {found['version']} now.{merged}"
    print_found(found, [words], as_json=as_json)


def _piped() -> str:
    """The new text, from standard input. Raises CallError where somebody sits there, or nothing comes."""
    if sys.stdin.isatty():
        raise CallError("memory edit: found no text; expected --text, or a file: carina memory edit BLOCK < FILE")
    if not (text := sys.stdin.read()):
        raise CallError('memory edit: standard input is empty; expected the new text there, or --text "" to empty it')
    return text


async def _verify(config: Config, repair: bool, *, as_json: bool) -> None:
    found = await ask(config, "memory.verify", within=None, repair=repair)
    rows = found if as_json else [{**row, "found": "; ".join(row["found"])} for row in found]
    print_listed(rows, as_json=as_json, empty="There are no blocks yet.")
    if damaged := sum(row["state"] == "damaged" for row in found):
        them = "one block is" if damaged == 1 else f"{damaged} blocks are"
        raise UserError(f"{them} damaged; `carina memory verify --repair` builds anew what can be")
