"""`carina source`: where the service listens at all."""

from typing import Annotated

import typer

from bot.cli.people import Administer, Json, told

Source = Annotated[str, typer.Argument(help="Which, such as discord.")]


def add_sources(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    source = typer.Typer(help="Where your agents listen at all.")
    app.add_typer(source, name="source")

    @source.command("list")
    def source_list(as_json: Json = False) -> None:
        """Show the sources, and which are paused."""
        administer(told("source.list", "No source is configured beside the terminal."), as_json)

    @source.command("pause")
    def source_pause(source: Source, as_json: Json = False) -> None:
        """Hear and answer nothing of a source until it is resumed."""
        administer(told("source.pause", "", source=source), as_json)

    @source.command("resume")
    def source_resume(source: Source, as_json: Json = False) -> None:
        """Hear and answer a source again."""
        administer(told("source.resume", "", source=source), as_json)
