"""What was learned from projects: told by hand, listed, forgotten. Scoped as a message there is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, TypeVar

from pydantic import Field

from bot.agents.context.known_facts import project_line
from bot.agents.permissions import policy
from bot.agents.permissions.policy import Action, Change, MemoryRights, People
from bot.services.caller import Caller
from bot.services.parameters import Arguments, Param
from bot.services.registry import Options, Suggestions, operation, suggestions
from bot.services.results import Ink, Listing, Row, Sentence
from memory.knowledge import items, projects
from memory.knowledge.items import By, Item
from memory.knowledge.projects import AXES, LONGEST, LONGEST_REVIEW, LONGEST_TECH
from memory.people.audience import Trust
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.errors import Refused
from memory.store.faults import commit_point
from sources.text import one_line
from texts import _, error_sentence, gettext_noop

T = TypeVar("T")

_CHANGE = commit_point("projects.change")
_KEEPS = Options(changes=True, keeps=True)


class Review(Arguments):
    text: Annotated[
        str,
        Field(min_length=1, max_length=LONGEST_REVIEW),
        Param("One finding, or numbered lines"),
    ]


class Preference(Arguments):
    text: Annotated[str, Field(min_length=1, max_length=LONGEST_TECH), Param("Your preference")]


class Done(Arguments):
    text: Annotated[str, Field(min_length=1, max_length=LONGEST), Param("Short description of the project")]
    tech: Annotated[str, Field(max_length=LONGEST_TECH), Param("Technology used")] = ""


_Points = Annotated[int | None, Field(ge=1, le=5), Param("1 to 5 points")]


class Ratings(Arguments):
    creativity: _Points = None
    visual: _Points = None
    interaction: _Points = None
    completeness: _Points = None
    engagement: _Points = None


class OneLearning(Arguments):
    which: Annotated[
        str, Field(min_length=1, max_length=30), Param("Number in the list", metavar="NUMBER", suggests="projects")
    ]


class LearningRow(Row):
    """One thing that was learned."""

    id: str
    kind: str
    what: str
    tech: str
    times: int
    ratings: dict[str, int]
    audience: str
    text: str

    @classmethod
    def of(cls, each: Item) -> "LearningRow":
        return cls(
            id=str(each.id),
            kind=each.kind.value,
            what=each.text,
            tech=projects.tech_of(each),
            times=each.strength,
            ratings=dict(projects.ratings_of(each)),
            audience=each.audience,
            text=project_line(each).removeprefix("- "),
        )

    def line(self, ink: Ink) -> str:
        return f"{ink.text(self.text)}{ink.number(self.id)}"


class Kept(Listing[LearningRow]):
    """What was told is kept."""

    empty: str = Field(default=gettext_noop("Nothing was saved."), exclude=True)
    left: tuple[str, ...] = Field(default=(), exclude=True)
    """What of a review is not kept."""

    def lines(self, ink: Ink) -> list[str]:
        return ["Kept:", *super().lines(ink), *self._left(ink)]

    def aside(self, ink: Ink) -> str:
        return "\n".join(self._left(ink))

    def _left(self, ink: Ink) -> list[str]:
        left = [f"- {ink.text(one_line(each))}" for each in self.left]
        return [_("Not saved ({NOT_KEPT}):", NOT_KEPT=projects.NOT_KEPT), *left] if left else []


@dataclass(frozen=True)
class Projects:
    """The projects of one constellation."""

    titles: ClassVar = {"project": "Manage what agents learn from projects"}

    database: Database
    people: People
    clock: Clock

    @operation(
        "project.list", "List what was learned from projects", Action.READ_MEMORY, Options(file_name="projects.md")
    )
    async def list_learned(self, caller: Caller) -> Listing[LearningRow]:
        """As far as the caller may know it."""
        found = await self.database.read(lambda rows: projects.listing(rows, caller.scope))
        empty = _("There are no lessons from projects that you can see here.")
        return Listing(rows=tuple(map(LearningRow.of, found)), empty=empty)

    @operation("project.review", "Record review findings", Action.KEEP, _KEEPS)
    async def keep_review(self, caller: Caller, arguments: Review) -> Kept:
        """What comes up again is shown to agents."""
        kept = await self._keep(caller, lambda tx, by: projects.note_review(tx, by, arguments.text))
        return kept.model_copy(update={"left": projects.read_review(arguments.text).left})

    @operation("project.prefer", "Record a preference for projects", Action.KEEP, _KEEPS)
    async def keep_preference(self, caller: Caller, arguments: Preference) -> Kept:
        """A wish."""
        return await self._keep(caller, lambda tx, by: [projects.prefer(tx, by, arguments.text)])

    @operation("project.done", "Mark a project as done so that you can rate it", Action.KEEP, _KEEPS)
    async def finish(self, caller: Caller, arguments: Done) -> Kept:
        """It is the caller's newest project."""
        return await self._keep(caller, lambda tx, by: [projects.finish(tx, by, arguments.text, arguments.tech)])

    @operation("project.rate", "Rate your latest project", Action.KEEP, _KEEPS)
    async def rate(self, caller: Caller, arguments: Ratings) -> Kept:
        """An axis without points stays as it is."""
        given = {axis: points for axis in AXES if (points := getattr(arguments, axis)) is not None}
        return await self._keep(caller, lambda tx, by: [projects.rate(tx, by, given)])

    @operation("project.forget", "Forget something learned from projects", Action.CHANGE_OWN, Options(changes=True))
    async def forget(self, caller: Caller, arguments: OneLearning) -> Sentence:
        """It is shown to no agent any more."""

        def work(tx: Tx) -> str:
            found = _found(tx, caller, arguments.which)
            held = MemoryRights((found.person,) if found.person else (), found.audience, (Change.FORGET,))
            if refused := policy.change_refusal(self.people, caller.approver, Change.FORGET, held):
                raise Refused(refused.removesuffix("."))
            items.remove(tx, [found.id])
            return _("Forgotten: {text}", text=found.text)

        return Sentence(text=await self._change(work))

    @suggestions("projects")
    async def suggest(self, caller: Caller) -> Suggestions:
        """What the caller may know."""
        found = await self.database.read(lambda rows: projects.listing(rows, caller.scope))
        return [(str(each.id), project_line(each).removeprefix("- ")) for each in found]

    async def _keep(self, caller: Caller, keep: Callable[[Tx, By], list[Item]]) -> Kept:
        if caller.trust < Trust.APPROVED:
            raise Refused(_("Only approved people can teach agents about projects, so nothing was saved."))
        by = By(caller.scope, caller.trust, self.clock(), person=caller.person)
        found = await self._change(lambda tx: keep(tx, by))
        return Kept(rows=tuple(map(LearningRow.of, found)))

    async def _change(self, work: Callable[[Tx], T]) -> T:
        try:
            return await self.database.write(_CHANGE, work)
        except Refused as error:
            raise Refused(error_sentence(error)) from error


def _found(rows: Rows, caller: Caller, which: str) -> Item:
    wanted = which.strip().lstrip("#").strip("`")
    for each in projects.listing(rows, caller.scope):
        if str(each.id) == wanted:
            return each
    raise Refused(
        _(
            "There is nothing with the number {which} that you can see here. The list shows the numbers.",
            which=repr(which[:40]),
        )
    )
