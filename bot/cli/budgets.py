"""`carina budget ...`: what may be spent on models, as the owner."""

from typing import Annotated, Literal, TypeAlias

import typer

from bot.cli.people import Administer, Json, told

Period: TypeAlias = Annotated[Literal["day", "month"], typer.Option(help="Each day or each month (UTC).")]
Subject: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="OF", help="constellation, agent:NAME, person or guild (each), person:discord:1234, guild:discord:1234."
    ),
]


def add_budgets(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    group = typer.Typer(help="What may be spent on language models.")
    app.add_typer(group, name="budget")

    @group.command("list")
    def budget_list(as_json: Json = False) -> None:
        """Show every budget and what is left of it."""
        administer(told("budget.list", "There is no budget: nothing limits what models cost."), as_json)

    @group.command("set")
    def budget_set(
        subject: Subject,
        period: Period = "day",
        usd: Annotated[float | None, typer.Option(min=0, help="Dollars.")] = None,
        tokens: Annotated[int | None, typer.Option(min=0, help="Tokens, in and out.")] = None,
        as_json: Json = False,
    ) -> None:
        """Set a budget; it holds at once and wins over the configuration. 0 asks no provider at all."""
        administer(told("budget.set", "", subject=subject, period=period, usd=usd, tokens=tokens), as_json)

    @group.command("clear")
    def budget_clear(subject: Subject, period: Period = "day", as_json: Json = False) -> None:
        """Take back a budget that was set by command."""
        administer(told("budget.clear", "", subject=subject, period=period), as_json)
