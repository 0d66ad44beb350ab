"""`carina pair`, `carina people`, `carina link`: who may talk to the agents, and which accounts are one person's."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeAlias

import typer

from bot.cli import administration

Administer: TypeAlias = Callable[..., None]
"""Runs a coroutine function that administers, with the configuration: (work, as_json, *arguments)."""
Work: TypeAlias = Callable[..., Coroutine[Any, Any, None]]

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Who = Annotated[
    str, typer.Argument(help="discord:1234 or bluesky:did:… for a person, discord:role:1234, or discord:guild:1234.")
]


def told(operation: str, empty: str, **arguments: Any) -> Work:
    """Work for `Administer` that asks for one operation and prints what it gives."""

    async def work(config: Any, *, as_json: bool) -> None:
        await administration.tell(config, operation, empty, as_json=as_json, **arguments)

    return work


def add_pairing(app: typer.Typer, administer: Administer) -> None:
    """Put `carina pair` into the program."""
    pair = typer.Typer(help="Strangers who ask to be let in.")
    app.add_typer(pair, name="pair")

    @pair.command("list")
    def pair_list(as_json: Json = False) -> None:
        """Show who was told a code and waits."""
        administer(told("pair.list", "Nobody waits to be let in."), as_json)

    @pair.command("approve")
    def pair_approve(
        code: Annotated[str, typer.Argument(help="The code that the stranger gave you.")], as_json: Json = False
    ) -> None:
        """Let a stranger in by their code."""
        administer(told("pair.approve", "", code=code), as_json)

    @pair.command("revoke")
    def pair_revoke(person: Who, as_json: Json = False) -> None:
        """End somebody's code, or take back that they were let in."""
        administer(told("people.forget", "", subject=person), as_json)


def add_people(app: typer.Typer, administer: Administer) -> None:
    """Put `carina people` into the program."""
    people = typer.Typer(help="Who may talk to your agents, beside what the configuration says.")
    app.add_typer(people, name="people")

    @people.command("list")
    def people_list(as_json: Json = False) -> None:
        """Show who was let in and shut out, and where that was said."""
        administer(told("people.list", "Nobody was let in or shut out by name."), as_json)

    @people.command("allow")
    def people_allow(who: Who, as_json: Json = False) -> None:
        """Let a person, a role or a server in, until you take it back."""
        administer(told("people.rule", "", subject=who, rule="allow"), as_json)

    @people.command("deny")
    def people_deny(who: Who, as_json: Json = False) -> None:
        """Shut a person, a role or a server out, until you take it back."""
        administer(told("people.rule", "", subject=who, rule="deny"), as_json)

    @people.command("forget")
    def people_forget(who: Who, as_json: Json = False) -> None:
        """Take back what was decided about somebody by command."""
        administer(told("people.forget", "", subject=who), as_json)


def add_link(app: typer.Typer, administer: Administer) -> None:
    """Put `carina link` into the program: for the owner, who sits at the terminal."""
    link = typer.Typer(help="Other accounts of yours, so that they are one person.")
    app.add_typer(link, name="link")

    @link.command("start")
    def link_start(as_json: Json = False) -> None:
        """Get a code to say from your other account."""
        administer(told("link.start", ""), as_json)

    @link.command("say")
    def link_say(
        code: Annotated[str, typer.Argument(help="The code that your other account was told.")], as_json: Json = False
    ) -> None:
        """Say the code that your other account was told."""
        administer(told("link.say", "", code=code), as_json)

    @link.command("list")
    def link_list(as_json: Json = False) -> None:
        """Show the accounts that are yours."""
        administer(told("link.list", ""), as_json)

    @link.command("remove")
    def link_remove(as_json: Json = False) -> None:
        """Let the terminal stand by itself again."""
        administer(told("link.remove", ""), as_json)
