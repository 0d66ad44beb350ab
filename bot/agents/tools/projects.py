"""`projects`: what reviews find, what somebody wants for projects, which are done and how they were rated."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from bot.agents.context.known_facts import project_line
from bot.agents.context.quotes import Quoted, joined, say
from bot.agents.permissions.policy import Caution
from bot.agents.tools.base import Arguments, Outcome, StoreTool, ToolContext
from bot.errors import ToolError
from memory.knowledge import projects
from memory.knowledge.items import By, Item
from memory.people.audience import Trust
from memory.store.database import Tx

_LISTED = 30


class ProjectArguments(Arguments):
    operation: Literal["review", "prefer", "done", "rate", "list"]
    text: str = Field(
        default="",
        max_length=projects.LONGEST_REVIEW,
        description="review: its issues, numbered, one in a line; prefer: what they want; done: what the project was",
    )
    tech: str = Field(default="", max_length=projects.LONGEST_TECH, description="done: what it was made with")
    ratings: dict[Literal["creativity", "visual", "interaction", "completeness", "engagement"], int] = Field(
        default_factory=dict, description="rate: 1 to 5 on one or more axes, for their newest project"
    )
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **dict.fromkeys(("review", "prefer", "done"), ("text",)),
        "rate": ("ratings",),
    }


class ProjectsTool(StoreTool[ProjectArguments]):
    name = "projects"
    description = (
        "Learn from projects: review keeps the issues that a review found, prefer what the person wants for projects, "
        "done a finished project, rate how they rate it. What comes up again is shown to you in later turns."
    )
    caution = Caution(bound=("operation",))

    def work(self, tx: Tx, context: ToolContext, arguments: ProjectArguments) -> Outcome:
        turn = context.turn
        if arguments.operation == "list":
            found = projects.listing(tx, turn.scope)[:_LISTED]
            text = joined(map(project_line, found)) or say("Nothing was learned from projects that may be used here.")
            return Outcome(text, {"projects": [each.text for each in found]})
        if turn.person is None:
            raise ToolError("Nobody is talking to you at the moment.")
        if turn.trust < Trust.APPROVED:
            raise ToolError("Only people who are approved teach this; nothing was kept.")
        by = By(turn.scope, turn.trust, context.now, person=turn.person, message=context.message)
        kept = _keep(tx, by, arguments)
        return Outcome(joined([say("kept:"), *map(project_line, kept), *_left(arguments)]))


def _left(arguments: ProjectArguments) -> list[Quoted]:
    left = projects.read_review(arguments.text).left if arguments.operation == "review" else ()
    return (
        [say("not kept: {reason}", reason=projects.NOT_KEPT), *(say("- {it}", it=each) for each in left)]
        if left
        else []
    )


def _keep(tx: Tx, by: By, arguments: ProjectArguments) -> list[Item]:
    match arguments.operation:
        case "review":
            return projects.note_review(tx, by, arguments.text)
        case "prefer":
            return [projects.prefer(tx, by, arguments.text)]
        case "done":
            return [projects.finish(tx, by, arguments.text, arguments.tech)]
        case _:
            return [projects.rate(tx, by, {str(axis): points for axis, points in arguments.ratings.items()})]
