"""`facts` and `projects`: learned facts, and lessons from projects."""

from typing import ClassVar, Literal

from pydantic import Field

from bot.agents.context.quotes import PromptText, joined, say
from bot.agents.context.recalled_knowledge import numbered_line, project_line
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.tools.base import Arguments, Needs, Outcome, Rarely, StoreTool, ToolContext
from bot.errors import ToolError
from memory.knowledge import facts, project_learnings, sessions
from memory.knowledge.fact_extraction import LONGEST, Category, Statement
from memory.knowledge.facts import Fact, Source, Step
from memory.knowledge.items import By, Item
from memory.people.audience import Trust
from memory.queue.turns import UseKind
from memory.store.database import Rows, Tx
from memory.store.ids import FactId
from texts import gettext_noop, many

_LISTED = 20
_DIGITS = 18  # one less than in the largest integer of SQLite


class FactArguments(Arguments):
    operation: Literal["add", "confirm", "list"]
    fact: str = Field(default="", description=f"add: one statement, at most {LONGEST} characters")
    category: Literal["user_preference", "codebase_pattern", "workflow_habit", "lesson_learned"] = "lesson_learned"
    which: str = Field(default="", description="confirm: its number")


class FactsTool(StoreTool[FactArguments]):
    name = "facts"
    shown = gettext_noop("the facts list")
    rarely = Rarely("what was learned about people: list, add, confirm")
    description = (
        "Short facts, shown in every turn. What people say plainly is learned by itself: add what follows from "
        "it. confirm: you found the same as another agent. list shows numbers."
    )
    caution = Caution(bound=("operation",))

    def work(self, tx: Tx, context: ToolContext, arguments: FactArguments) -> Outcome:
        match arguments.operation:
            case "add":
                return _add(tx, context, Statement(Category(arguments.category), arguments.fact.strip()))
            case "confirm":
                return _confirm(tx, context, arguments.which.strip())
            case "list":
                return _list(tx, context)


def _add(tx: Tx, context: ToolContext, said: Statement) -> Outcome:
    if len(said.text) > LONGEST:
        raise ToolError(f"A fact has at most {LONGEST} characters; this has {len(said.text)}. Shorten it.")
    turn = context.turn
    session = sessions.of_turn(tx, turn)
    source = Source("agent", turn.agent, session, context.message, turn.person, turn.scope.audience, turn.trust)
    (learned,) = facts.learn(tx, [said], source, context.now)
    found = None if learned.fact is None else facts.get(tx, learned.fact, turn.scope)
    if found is None:
        raise ToolError("That is too short: write one full statement.")
    if learned.step is Step.REFUSE:
        raise ToolError(
            f"The person said otherwise: {found.text}. Ask them; what they say now is learned automatically."
        )
    words = "kept" if learned.step is Step.ADD else f"known already, from {many(found.reinforcements, 'session')}"
    return Outcome(say("{words}: {line}", words=words, line=numbered_line(found)))


def _confirm(tx: Tx, context: ToolContext, which: str) -> Outcome:
    number = FactId(int(which)) if which.isdecimal() and len(which) <= _DIGITS else FactId(0)
    found = facts.get(tx, number, context.turn.scope)
    if found is None or not found.shared or found.agent == context.agent.id:
        raise ToolError("Only what all agents know and another one learned can be confirmed; list shows which.")
    if context.turn.scope.audience != found.audience:
        raise ToolError("People who are not here know this; confirm it where they are.")
    new = facts.confirm(tx, found, context.agent.id, context.now)
    return Outcome(say("confirmed" if new else "you had confirmed it before"))


def _list(rows: Rows, context: ToolContext) -> Outcome:
    turn = context.turn
    own, shared = facts.weightiest(rows, turn.agent, turn.scope, (_LISTED, _LISTED), turn.person)
    lines = [*_titled("Yours", own), *_titled("Known to all agents", shared)]
    uses: list[tuple[UseKind, str]] = [("fact", str(each.id)) for each in (*own, *shared)]
    return Outcome(joined(lines) or say("Nothing was learned that may be used here."), uses=tuple(uses))


def _titled(title: str, found: list[Fact]) -> list[PromptText]:
    return [say("{title}:", title=title), *map(numbered_line, found)] if found else []


_PROJECTS_LISTED = 30


class ProjectArguments(Arguments):
    operation: Literal["review", "prefer", "done", "rate", "list"]
    text: str = Field(
        default="",
        max_length=project_learnings.LONGEST_REVIEW,
        description="review: its issues, numbered, one per line; prefer: what they want; done: what the project was",
    )
    tech: str = Field(default="", max_length=project_learnings.LONGEST_TECH, description="done: what it was made with")
    ratings: dict[Literal["creativity", "visual", "interaction", "completeness", "engagement"], int] = Field(
        default_factory=dict, description="rate: 1 to 5 on one or more axes, for their newest project"
    )
    needs: ClassVar[Needs] = {**dict.fromkeys(("review", "prefer", "done"), ("text",)), "rate": ("ratings",)}


class ProjectsTool(StoreTool[ProjectArguments]):
    name = "projects"
    shown = gettext_noop("project lessons")
    rarely = Rarely("lessons from projects: findings, preferences, ratings")
    description = (
        "Learn from projects: review keeps the issues that a review found, prefer what the person wants for projects, "
        "done a finished project, rate how they rate it. What comes up again is shown to you in later turns."
    )
    caution = Caution(bound=("operation",))

    def work(self, tx: Tx, context: ToolContext, arguments: ProjectArguments) -> Outcome:
        turn = context.turn
        if arguments.operation == "list":
            found = project_learnings.listing(tx, turn.scope)[:_PROJECTS_LISTED]
            text = joined(map(project_line, found)) or say("Nothing was learned from projects that may be used here.")
            return Outcome(text, {"projects": [each.text for each in found]})
        if turn.person is None:
            raise ToolError("Nobody is talking to you at the moment.")
        if turn.trust < Trust.APPROVED:
            raise ToolError("Only approved people can teach this; nothing was kept.")
        by = By(turn.scope, turn.trust, context.now, person=turn.person, message=context.message)
        kept = _keep(tx, by, arguments)
        return Outcome(joined([say("kept:"), *map(project_line, kept), *_left(arguments)]))


def _left(arguments: ProjectArguments) -> list[PromptText]:
    left = project_learnings.read_review(arguments.text).left if arguments.operation == "review" else ()
    return (
        [say("not kept: {reason}", reason=project_learnings.NOT_KEPT), *(say("- {it}", it=each) for each in left)]
        if left
        else []
    )


def _keep(tx: Tx, by: By, arguments: ProjectArguments) -> list[Item]:
    match arguments.operation:
        case "review":
            return project_learnings.note_review(tx, by, arguments.text)
        case "prefer":
            return [project_learnings.prefer(tx, by, arguments.text)]
        case "done":
            return [project_learnings.finish(tx, by, arguments.text, arguments.tech)]
        case _:
            return [project_learnings.rate(tx, by, {str(axis): points for axis, points in arguments.ratings.items()})]
