"""`carina facts`: what agents learned."""

from typing import Annotated

import typer

from bot.cli.people import Administer, Json, told

Which = Annotated[str, typer.Argument(metavar="FACT", help="Its number, as `carina facts list` shows it.")]
Agent = Annotated[str, typer.Option("--agent", help="An agent's name; without it any, or the first.")]


def add_facts(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    group = typer.Typer(help="What agents learned from what people say.")
    app.add_typer(group, name="facts")

    @group.command("list")
    def facts_list(agent: Agent = "", as_json: Json = False) -> None:
        """Show what was learned that you may know, the weightiest first."""
        administer(told("facts.list", "Nothing was learned yet.", agent=agent), as_json)

    @group.command("add")
    def facts_add(
        text: Annotated[str, typer.Argument(help="One statement about you, or the work.")],
        category: Annotated[
            str, typer.Option(help="user_preference, codebase_pattern, workflow_habit or lesson_learned.")
        ] = "user_preference",
        agent: Agent = "",
        as_json: Json = False,
    ) -> None:
        """Tell an agent a fact, known in your own places."""
        administer(told("facts.add", "", text=text, category=category, agent=agent), as_json)

    @group.command("confirm")
    def facts_confirm(fact: Which, as_json: Json = False) -> None:
        """Say that a fact holds; after three sessions all agents know it."""
        administer(told("facts.confirm", "", which=fact), as_json)

    @group.command("correct")
    def facts_correct(
        fact: Which, text: Annotated[str, typer.Argument(help="What holds instead.")], as_json: Json = False
    ) -> None:
        """Put other words in the place of a fact."""
        administer(told("facts.correct", "", which=fact, text=text), as_json)

    @group.command("forget")
    def facts_forget(fact: Which, as_json: Json = False) -> None:
        """Take a fact away; the message it was learned from stays."""
        administer(told("facts.forget", "", which=fact), as_json)
