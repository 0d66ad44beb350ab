"""`carina summary`: earlier talk, agents, days and nights in short."""

from typing import Annotated, Literal

import typer

from bot.cli.people import Administer, Json, told

Night = Annotated[
    str, typer.Argument(metavar="[DATE]", help="The date on which it began, as 2026-11-22; without it last night.")
]
_NOTHING = "Nothing was summarised yet."


def add_summaries(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    group = typer.Typer(help="Earlier talk, agents, days and nights in short.", invoke_without_command=True)
    app.add_typer(group, name="summary")

    @group.callback()
    def summary(context: typer.Context, as_json: Json = False) -> None:
        """Show earlier talk, agents, days and nights in short; without a command all but nights."""
        if context.invoked_subcommand is None:
            administer(told("summary", _NOTHING), as_json)

    @group.command("conversation")
    def conversation(as_json: Json = False) -> None:
        """Show earlier talk at the terminal in short."""
        administer(told("summary.conversation", _NOTHING), as_json)

    @group.command("agent")
    def agent(
        name: Annotated[str, typer.Argument(metavar="[AGENT]", help="Only this one.")] = "", as_json: Json = False
    ) -> None:
        """Show what agents did lately."""
        administer(told("summary.agent", _NOTHING, name=name), as_json)

    @group.command("constellation")
    def constellation(
        of: Annotated[Literal["", "day", "week"], typer.Option(help="Only days, or only weeks.")] = "",
        count: Annotated[int, typer.Option(min=1, max=60, help="How many.")] = 7,
        as_json: Json = False,
    ) -> None:
        """Show what happened on days and in weeks."""
        administer(told("summary.constellation", _NOTHING, of=of, count=count), as_json)

    @group.command("dream")
    def dream(as_json: Json = False) -> None:
        """Show what tidying the long-term memory did lately; the same as `carina dream report`."""
        administer(told("dream.report", "Memory has not been tidied yet."), as_json)

    _add_nights(group, administer)


def _add_nights(group: typer.Typer, administer: Administer) -> None:
    @group.command("night")
    def night(date: Night = "", as_json: Json = False) -> None:
        """Show what agents did in a night by themselves: why, and what they wrote where."""
        administer(told("summary.night", "No agent acted by itself that night.", night=date), as_json)

    @group.command("undo-night")
    def undo_night(date: Night = "", as_json: Json = False) -> None:
        """Take back what agents wrote in a night by themselves; what somebody changed since stays, and is named."""
        nothing = "Nothing was written that night that could be taken back."
        administer(told("summary.undo_night", nothing, night=date), as_json)
