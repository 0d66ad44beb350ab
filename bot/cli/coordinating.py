"""`carina activity` and `carina coord`."""

from typing import Annotated

import typer

from bot.cli.people import Administer, Json, told

Agent = Annotated[str, typer.Option("--agent", help="An agent's name; without it anyone's.")]
Audience = Annotated[str, typer.Option(help="Who may know: owner, public, guild:discord:1234 or channel:discord:1234.")]
Importance = Annotated[str, typer.Option(help="low, medium, high or critical.")]


def add_coordinating(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    coord = typer.Typer(help="What agents arrange with each other: tasks, handoffs, notes.")
    app.add_typer(coord, name="coord")
    _add_tasks(coord, administer)
    _add_notes(coord, administer)

    @app.command("activity")
    def activity(
        hours: Annotated[float, typer.Option(min=0.1, max=8784, help="How far back.")] = 24,
        agent: Agent = "",
        kind: Annotated[str, typer.Option(help="Only events of this kind, such as tool_executed.")] = "",
        text: Annotated[str, typer.Option(help="Only events with these words.")] = "",
        limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most, the newest.")] = 50,
        as_json: Json = False,
    ) -> None:
        """Show what agents did lately, as far as you may know."""
        wanted = {"hours": hours, "agent": agent, "kind": kind, "text": text, "limit": limit}
        administer(told("activity", "Nothing happened in that time.", **wanted), as_json)


def _add_tasks(coord: typer.Typer, administer: Administer) -> None:
    @coord.command("status")
    def coord_status(as_json: Json = False) -> None:
        """Show who is here, open tasks, handoffs and notes."""
        administer(told("coord.status", "There are no agents."), as_json)

    @coord.command("assign")
    def coord_assign(
        task: Annotated[str, typer.Argument(help="What is to be done.")],
        agent: Agent = "",
        importance: Importance = "medium",
        audience: Audience = "owner",
        as_json: Json = False,
    ) -> None:
        """Give an agent a task."""
        wish = {"act": "assign", "content": task, "agent": agent, "importance": importance}
        administer(told("coord.arrange", "", audience=audience, **wish), as_json)

    @coord.command("complete")
    def coord_complete(
        task: Annotated[str, typer.Argument(help="Its id, as `carina coord status` shows it.")],
        as_json: Json = False,
    ) -> None:
        """Say that a task is done."""
        administer(told("coord.arrange", "", act="complete", task=task), as_json)


def _add_notes(coord: typer.Typer, administer: Administer) -> None:
    @coord.command("handoff")
    def coord_handoff(
        note: Annotated[str, typer.Argument(help="What the agent must know.")],
        agent: Agent = "",
        audience: Audience = "owner",
        as_json: Json = False,
    ) -> None:
        """Leave an agent a note that it reads in its next turn."""
        wish = {"act": "handoff", "content": note, "agent": agent}
        administer(told("coord.arrange", "", audience=audience, **wish), as_json)

    @coord.command("note")
    def coord_note(
        note: Annotated[str, typer.Argument(help="What was decided or matters.")],
        importance: Importance = "medium",
        audience: Audience = "owner",
        as_json: Json = False,
    ) -> None:
        """Note something for all agents."""
        wish = {"act": "note", "content": note, "importance": importance}
        administer(told("coord.arrange", "", audience=audience, **wish), as_json)
