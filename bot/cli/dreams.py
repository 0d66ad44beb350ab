"""`carina dream`: upkeep of memory while nobody talks."""

from typing import Annotated

import typer

from bot.cli.people import Administer, Json, told

EntryId = Annotated[str, typer.Argument(metavar="ENTRY", help="Its id, as `carina dream waiting` shows it.")]


def add_dreams(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    group = typer.Typer(help="Tidying the long-term memory while nobody talks: what it did, and taking that back.")
    app.add_typer(group, name="dream")

    @group.command("report")
    def dream_report(as_json: Json = False) -> None:
        """Show what the newest run did, and what it left and why."""
        administer(told("dream.report", "Memory has not been tidied yet."), as_json)

    @group.command("run")
    def dream_run(as_json: Json = False) -> None:
        """Tidy now, whatever the time."""
        administer(told("dream.run", "", within=None), as_json)

    @group.command("undo")
    def dream_undo(as_json: Json = False) -> None:
        """Take the newest run back that changed something."""
        administer(told("dream.undo", ""), as_json)

    @group.command("waiting")
    def dream_waiting(as_json: Json = False) -> None:
        """Show what was inferred about you and waits for your yes."""
        administer(told("dream.waiting", "Nothing waits for your yes."), as_json)

    @group.command("allow")
    def dream_allow(entry: EntryId, as_json: Json = False) -> None:
        """Let something that waits be used."""
        administer(told("dream.permit", "", identifier=entry, yes=True), as_json)

    @group.command("refuse")
    def dream_refuse(entry: EntryId, as_json: Json = False) -> None:
        """Have something that waits forgotten."""
        administer(told("dream.permit", "", identifier=entry, yes=False), as_json)
