"""`carina project`: what was learned from projects."""

from typing import Annotated

import typer

from bot.cli.people import Administer, Json, told
from memory.projects import AXES

_Points = Annotated[int, typer.Option(min=0, max=5, help="1 to 5; 0: not rated.")]


def add_projects(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    group = typer.Typer(help="What was learned from projects: reviews, wishes, ratings.")
    app.add_typer(group, name="project")

    _add_looking(group, administer)
    _add_telling(group, administer)
    _add_rating(group, administer)


def _add_looking(group: typer.Typer, administer: Administer) -> None:
    @group.command("list")
    def project_list(as_json: Json = False) -> None:
        """Show what was learned."""
        administer(told("project.list", "Nothing was learned from projects yet."), as_json)

    @group.command("forget")
    def project_forget(
        which: Annotated[str, typer.Argument(metavar="NUMBER", help="Its number, as `carina project list` shows it.")],
        as_json: Json = False,
    ) -> None:
        """Take something of it away."""
        administer(told("project.forget", "", which=which), as_json)


def _add_telling(group: typer.Typer, administer: Administer) -> None:
    @group.command("review")
    def project_review(
        text: Annotated[str, typer.Argument(help="What a review found: one issue, or several numbered lines.")],
        as_json: Json = False,
    ) -> None:
        """Keep what a review found; what comes up again is shown to agents."""
        administer(told("project.review", "", text=text), as_json)

    @group.command("prefer")
    def project_prefer(
        text: Annotated[str, typer.Argument(help="What you want for projects.")], as_json: Json = False
    ) -> None:
        """Keep what you want for projects."""
        administer(told("project.prefer", "", text=text), as_json)

    @group.command("done")
    def project_done(
        text: Annotated[str, typer.Argument(help="What the project was.")],
        tech: Annotated[str, typer.Option(help="What it was made with.")] = "",
        as_json: Json = False,
    ) -> None:
        """Note that a project is done, so that it can be rated."""
        administer(told("project.done", "", text=text, tech=tech), as_json)


def _add_rating(group: typer.Typer, administer: Administer) -> None:
    @group.command("rate")
    def project_rate(
        creativity: _Points = 0,
        visual: _Points = 0,
        interaction: _Points = 0,
        completeness: _Points = 0,
        engagement: _Points = 0,
        as_json: Json = False,
    ) -> None:
        """Rate your newest project, on one or more of five axes."""
        given = dict(zip(AXES, (creativity, visual, interaction, completeness, engagement), strict=True))
        ratings = {axis: points for axis, points in given.items() if points}
        administer(told("project.rate", "", ratings=ratings), as_json)
