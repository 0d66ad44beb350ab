"""`carina constellation ...`, as the owner."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeAlias

import typer

from bot.config import Config
from bot.interfaces.cli.dispatch import ask
from bot.interfaces.cli.output import print_found, print_listed
from bot.services.tables import record_lines

Administer: TypeAlias = Callable[..., None]
"""Runs a coroutine function that administers, with the configuration: (work, as_json, *arguments)."""
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def add_constellations(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    group = typer.Typer(help="Constellations: each has its own agents, groups and memory.")
    app.add_typer(group, name="constellation")

    @group.command("list")
    def constellation_list(as_json: Json = False) -> None:
        """Show the constellations of the data folder."""
        administer(told("constellation.list", "There is none."), as_json)

    @group.command("create")
    def constellation_create(
        name: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")], as_json: Json = False
    ) -> None:
        """Make an empty one; it runs when the configuration names it, and then the file's agents come into it."""
        administer(told("constellation.create", "", name=name), as_json)

    @group.command("status")
    def constellation_status(
        name: Annotated[str, typer.Argument(metavar="[NAME]", help="Which; else the one of the configuration.")] = "",
        as_json: Json = False,
    ) -> None:
        """Show who lives in a constellation and how large it is."""
        administer(_status, as_json, name)


def told(operation: str, empty: str, **arguments: Any) -> Callable[..., Coroutine[Any, Any, None]]:
    """Work for `Administer` that asks for one operation and prints what it gives."""

    async def work(config: Config, *, as_json: bool) -> None:
        print_listed(await ask(config, operation, **arguments), as_json=as_json, empty=empty)

    return work


async def _status(config: Config, name: str, *, as_json: bool) -> None:
    found = await ask(config, "constellation.status", name=name)
    shown = {key: ", ".join(value) if isinstance(value, list) else value for key, value in found.items()}
    print_found(found, record_lines(shown), as_json=as_json)
