"""What was learned from projects, for people: told by hand, listed, forgotten. Scoped as a message there is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from bot import policy
from bot.desks.desk import Asker
from bot.errors import UserError
from bot.policy import Action, Approver, Change, Held, People
from bot.turns.knowing import project_line
from memory import projects
from memory.audience import OWNER, Scope, Trust
from memory.clock import Clock
from memory.constellation import Constellations
from memory.database import Rows, Tx
from memory.errors import Refused
from memory.faults import commit_point
from memory.ids import ConstellationId, PersonId
from memory.projects import By, Learning
from sources.terminal import PERSON

T = TypeVar("T")

_CHANGE = commit_point("projects.change")

_OWNER = Approver(PERSON, door="command line")
_OWNER_ASKER = Asker(PERSON, Scope(OWNER), is_owner=True)


@dataclass(frozen=True)
class Projects:
    """The projects of one constellation. Everything raises UserError with words for who asked.

    `withheld` says of whom nothing is kept.
    """

    constellations: Constellations
    house: ConstellationId
    people: People
    clock: Clock
    withheld: Callable[[PersonId | None], bool]

    async def listing(self, asker: Asker) -> list[Learning]:
        """What was learned that the asker may know."""
        async with self.constellations.use(self.house) as database:
            return await database.read(lambda rows: projects.listing(rows, asker.scope))

    async def review(self, asker: Asker, trust: Trust, text: str) -> list[Learning]:
        """Keep the issues that a review found."""
        return await self._keep(asker, trust, lambda tx, by: projects.note_review(tx, by, text))

    async def prefer(self, asker: Asker, trust: Trust, text: str) -> list[Learning]:
        """Keep what somebody wants for projects."""
        return await self._keep(asker, trust, lambda tx, by: [projects.prefer(tx, by, text)])

    async def done(self, asker: Asker, trust: Trust, text: str, tech: str = "") -> list[Learning]:
        """Note that a project is done."""
        return await self._keep(asker, trust, lambda tx, by: [projects.finish(tx, by, text, tech)])

    async def rate(self, asker: Asker, trust: Trust, ratings: Mapping[str, int]) -> list[Learning]:
        """Rate the asker's newest project."""
        return await self._keep(asker, trust, lambda tx, by: [projects.rate(tx, by, ratings)])

    async def forget(self, asker: Asker, who: Approver, which: str) -> str:
        """Take something away; words for who asked."""

        def work(tx: Tx) -> str:
            found = _found(tx, asker, which)
            held = Held((found.person,), found.audience, (Change.FORGET,))
            if refused := policy.change_refusal(self.people, who, Change.FORGET, held):
                raise Refused(refused)
            projects.forget(tx, found.id)
            return f"Forgotten: {found.text}"

        return await self._change(work)

    async def _keep(self, asker: Asker, trust: Trust, keep: Callable[[Tx, By], list[Learning]]) -> list[Learning]:
        policy.require(self.people, Approver(asker.person), Action.KEEP)
        if self.withheld(asker.person):
            raise UserError("You chose that nothing of yours is kept; `/privacy resume` ends that.")
        if trust < Trust.APPROVED:
            raise UserError("Only people who are approved teach agents about projects; nothing was kept.")
        by = By(asker.person, asker.scope.audience, trust, self.clock())
        return await self._change(lambda tx: keep(tx, by))

    async def _change(self, work: Callable[[Tx], T]) -> T:
        async with self.constellations.use(self.house) as database:
            try:
                return await database.write(_CHANGE, work)
            except Refused as error:
                raise UserError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error

    # ------------------------------------------------------------------ the owner's command line

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "project.list": self.owner_list,
            "project.review": self.owner_review,
            "project.prefer": self.owner_prefer,
            "project.done": self.owner_done,
            "project.rate": self.owner_rate,
            "project.forget": self.owner_forget,
        }

    async def owner_list(self) -> list[dict[str, Any]]:
        """What was learned."""
        return [learning_data(each) for each in await self.listing(_OWNER_ASKER)]

    async def owner_review(self, text: str) -> list[dict[str, Any]]:
        """Keep what a review found."""
        return [learning_data(each) for each in await self.review(_OWNER_ASKER, Trust.OWNER, text)]

    async def owner_prefer(self, text: str) -> list[dict[str, Any]]:
        """Keep a wish."""
        return [learning_data(each) for each in await self.prefer(_OWNER_ASKER, Trust.OWNER, text)]

    async def owner_done(self, text: str, tech: str = "") -> list[dict[str, Any]]:
        """Note a finished project."""
        return [learning_data(each) for each in await self.done(_OWNER_ASKER, Trust.OWNER, text, tech)]

    async def owner_rate(self, ratings: dict[str, int]) -> list[dict[str, Any]]:
        """Rate the newest one."""
        return [learning_data(each) for each in await self.rate(_OWNER_ASKER, Trust.OWNER, ratings)]

    async def owner_forget(self, which: str) -> list[dict[str, Any]]:
        """Take something away."""
        return [{"text": await self.forget(_OWNER_ASKER, _OWNER, which)}]


def numbered(each: Learning) -> str:
    """One thing with its number, for a list."""
    return f"{project_line(each)} `{each.id}`"


def learning_data(each: Learning) -> dict[str, Any]:
    """The same as plain data."""
    more = {"tech": each.tech, "times": each.times, "ratings": dict(each.ratings), "audience": each.audience}
    return {"id": str(each.id), "kind": each.kind.value, "what": each.text, **more, "text": numbered(each)[2:]}


def _found(rows: Rows, asker: Asker, which: str) -> Learning:
    wanted = which.strip().lstrip("#").strip("`")
    for each in projects.listing(rows, asker.scope):
        if str(each.id) == wanted:
            return each
    raise Refused(f"there is nothing of the number {which[:40]!r} that you may know here; the list shows what there is")
