"""Commands for what agents learn from projects: findings of reviews, preferences, and ratings of finished ones."""

from collections.abc import Iterable
from typing import Annotated, ClassVar

from pydantic import Field

from bot.agents.permissions.roles_and_rights import Action, Change, MemoryRights
from bot.services.caller import Caller
from bot.services.registry import KEEPS, Arguments, Param, operation, suggestions
from bot.services.results import Listing, Row
from bot.services.transactions import MemoryService
from memory.knowledge import items, project_learnings
from memory.knowledge.items import By, Item, Kind
from memory.knowledge.project_learnings import AXES, LONGEST, LONGEST_REVIEW, LONGEST_TECH
from memory.people.audience import Trust
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.row_mapper import ending
from sources.text import one_line
from texts import _, ngettext, ngettext_noop

_Findings = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_REVIEW),
    Param("One finding, or numbered lines", example="The menu is too long."),
]
_Preference = Annotated[
    str, Field(min_length=1, max_length=LONGEST_TECH), Param("Your preference", example="Short pages")
]
_Project = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST),
    Param("Short description of the project", example="A page for the garden"),
]
_Tech = Annotated[str, Field(max_length=LONGEST_TECH), Param("Technology used")]
_Points = Annotated[int | None, Field(ge=1, le=5), Param("1 to 5 points")]
_Learning = Annotated[str, Param("Lesson, as listed", example="1", metavar="NUMBER", suggests="projects")]


def _learned(each: Item) -> str:
    """One lesson from projects."""
    text = one_line(each.text, LONGEST)
    if each.kind is Kind.REVIEW:
        one, more = ngettext_noop("found in {count} review: {text}", "found in {count} reviews: {text}")
        return ngettext(one, more, each.strength, text=text)
    if each.kind is Kind.PREFERENCE:
        return _("preferred for projects: {text}", text=text)
    ratings, made = project_learnings.ratings_of(each), project_learnings.tech_of(each)
    rated = ", ".join(f"{_(axis)} {ratings[axis]}/5" for axis in AXES if axis in ratings)
    told = _("project ({ratings}): {text}", ratings=rated, text=text) if rated else _("project: {text}", text=text)
    return f"{told} ({one_line(made, LONGEST_TECH)})" if made else told


class Ratings(Arguments):
    creativity: _Points = None
    visual: _Points = None
    interaction: _Points = None
    completeness: _Points = None
    engagement: _Points = None


class LearningRow(Row):
    suggested = "text"
    id: str
    kind: str
    what: str = Field(validation_alias="text")
    tech: str
    times: int = Field(validation_alias="strength")
    ratings: dict[str, int]
    audience: str
    text: str

    @classmethod
    def of(cls, each: Item) -> "LearningRow":
        made = {"tech": project_learnings.tech_of(each), "ratings": project_learnings.ratings_of(each)}
        return cls.from_record(each, **made, text=_learned(each))

    phrase = "{text}{id}"


class Projects(MemoryService, frozen=True):
    titles: ClassVar = {"project": "Manage what agents learn from projects"}

    @operation("project.list", "List what was learned from projects", Action.READ_MEMORY)
    @suggestions("projects")
    def list_learned(self, rows: Rows, caller: Caller) -> Listing[LearningRow]:
        found = project_learnings.listing(rows, caller.scope)
        return Listing.of(map(LearningRow.of, found), _("There are no lessons from projects to show here."))

    @operation("project.review", "Record review findings", Action.KEEP, KEEPS)
    def keep_review(self, tx: Tx, caller: Caller, text: _Findings) -> Listing[LearningRow]:
        kept, left = project_learnings.note_review(tx, self._by(caller), text), project_learnings.read_review(text).left
        lines = (
            _("Not saved ({NOT_KEPT}):", NOT_KEPT=project_learnings.NOT_KEPT),
            *(f"- {one_line(each)}" for each in left),
        )
        return _kept(kept, "\n".join(lines) if left else "")

    @operation("project.prefer", "Record a preference for projects", Action.KEEP, KEEPS)
    def keep_preference(self, tx: Tx, caller: Caller, text: _Preference) -> Listing[LearningRow]:
        return _kept([project_learnings.prefer(tx, self._by(caller), text)])

    @operation("project.done", "Mark a project as done so that you can rate it", Action.KEEP, KEEPS)
    def finish(self, tx: Tx, caller: Caller, text: _Project, tech: _Tech = "") -> Listing[LearningRow]:
        return _kept([project_learnings.finish(tx, self._by(caller), text, tech)])

    @operation("project.rate", "Rate your latest project", Action.KEEP, KEEPS)
    def rate(self, tx: Tx, caller: Caller, arguments: Ratings) -> Listing[LearningRow]:
        return _kept([project_learnings.rate(tx, self._by(caller), arguments.model_dump(exclude_none=True))])

    @operation("project.forget", "Forget something learned from projects", Action.CHANGE_OWN)
    def forget(self, tx: Tx, caller: Caller, which: _Learning) -> str:
        found = _found(tx, caller, which)
        held = MemoryRights((found.person,) if found.person else (), found.audience, (Change.FORGET,))
        self.require_change(caller, Change.FORGET, held)
        items.remove(tx, [found.id])
        return _("Forgotten: {text}", text=found.text)

    def _by(self, caller: Caller) -> By:
        """The person who teaches agents. Raises Refused."""
        if caller.trust < Trust.APPROVED:
            raise Refused("Only approved people can teach agents about projects, so nothing was saved.")
        return By(caller.scope, caller.trust, self.clock(), person=caller.person)


def _kept(items: Iterable[Item], more: str = "") -> Listing[LearningRow]:
    return Listing.of(map(LearningRow.of, items), _("Nothing was saved."), more, head=_("Saved:"))


def _found(rows: Rows, caller: Caller, which: str) -> Item:
    wanted = ending(rows, "items", which.strip().strip("`"))
    for each in project_learnings.listing(rows, caller.scope):
        if each.id == wanted:
            return each
    raise Refused("There is no lesson “{which}” here. `carina project list` shows them.", which=which[:40])
