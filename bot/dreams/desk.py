"""Upkeep of memory for people: what it did, having it done now, taking it back, and saying yes to what waits."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from bot import policy
from bot.budgets import Budgets
from bot.config import Config
from bot.desks.approving import Approvals
from bot.desks.desk import Asker
from bot.desks.schedule import Schedule
from bot.dreams import permitting
from bot.dreams.asking import Means
from bot.dreams.evaluating import Evaluating
from bot.dreams.expanding import Expanding
from bot.dreams.prompts import FOLDER
from bot.dreams.running import Dreaming, counts_words
from bot.errors import UserError
from bot.passes.background import Background
from bot.policy import Action, Approver, People
from bot.secrets import Redactor
from bot.thinking import Thinking
from memory import agents, dreams, evaluations, feedback
from memory.amounts import many
from memory.archival import Entry
from memory.audience import OWNER, Scope
from memory.clock import Clock, to_text
from memory.constellation import Constellations
from memory.database import Rows, Tx
from memory.dreams import Item, Pass, Run, records, waiting
from memory.errors import Refused
from memory.faults import commit_point
from memory.ids import ConstellationId
from sources.terminal import PERSON
from sources.text import one_line

_UNDO = commit_point("dreams.undo")
_PERMIT = commit_point("dreams.permit")

_OWNER = Approver(PERSON, door="command line")
_OWNER_ASKER = Asker(PERSON, Scope(OWNER), is_owner=True)
_LISTED, _SHOWN = 100, 300


@dataclass(frozen=True)
class Dreams:
    """The upkeep of one constellation, for any front end. Everything raises UserError with words for who asked."""

    constellations: Constellations
    house: ConstellationId
    people: People
    clock: Clock
    dreaming: Dreaming
    queued: Callable[[], None] = lambda: None
    """Called when something may wait in an outbox."""

    async def report(self, asker: Asker) -> list[dict[str, Any]]:
        """What the newest run did, entry by entry, as far as the asker may know; rows of plain data with words."""

        def read(rows: Rows) -> list[dict[str, Any]]:
            run = dreams.latest_run(rows) if asker.is_owner else records.latest_seen(rows, asker.scope)
            if run is None:
                return []
            items, hidden = dreams.reported(rows, run.id, asker.scope, _LISTED)
            names = {each.id: each.name for each in agents.every_agent(rows)}
            if not asker.is_owner:
                return [
                    _head(_as_seen(run, items)),
                    *(_item(run, item, names.get(item.agent, item.agent)) for item in items),
                ]
            since = run.at - records.WEEK
            given, went = feedback.tallied(rows, list(names), since), evaluations.tallied(rows, list(names), since)
            told = [_head(run), *_lines(run, items, hidden, names), *_signals(given), *_talks(*went)]
            earlier = None if items or hidden else records.newest_done(rows)
            if earlier is not None and earlier.id != run.id:  # the one that can be undone is not lost from sight
                items, hidden = dreams.reported(rows, earlier.id, asker.scope, _LISTED)
                told += [_head(earlier), *_lines(earlier, items, hidden, names)]
            return told

        return await self._read(read)

    async def run(self, who: Approver) -> str:
        """Look and act now, whatever the time."""
        policy.require(self.people, who, Action.JOBS)
        outcome = await self.dreaming.run()
        return f"{outcome.words[:1].upper()}{outcome.words[1:]}." if outcome.words else "Nothing is new."

    async def undo(self, who: Approver) -> str:
        """Take the newest run back that changed something."""
        policy.require(self.people, who, Action.EDIT_ANY)
        now = self.clock()
        async with self.constellations.use(self.house) as database:
            try:
                undone = await database.write(_UNDO, lambda tx: dreams.undo(tx, now), durable=True)
            except Refused as error:
                raise UserError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
        run, gone, allowed = undone.run, undone.gone, undone.allowed
        missing = f" {gone} of its changes were of entries that somebody took away since." if gone else ""
        stays = f" {allowed} that it inferred stays, since its person said yes to it." if allowed else ""
        return f"The run of {run.at:%Y-%m-%d %H:%M} UTC is undone: {counts_words(run)}, all as before.{missing}{stays}"

    async def waiting(self, asker: Asker) -> list[dict[str, Any]]:
        """What was inferred about the asker and is not used before they say yes."""
        own = self.people.selves(asker.person)
        found = await self._read(lambda rows: waiting.of_people(rows, sorted(own)))
        return [{"id": entry.id, "text": entry.content, "since": to_text(entry.created_at)} for entry in found]

    async def permit(self, asker: Asker, identifier: str, *, yes: bool) -> str:
        """Say yes or no to something of one's own that waits."""
        own = sorted(self.people.selves(asker.person))

        def work(tx: Tx) -> Entry | None:
            answered = waiting.answer(tx, identifier, own, yes=yes)
            if answered is not None:
                words = f"✓ I use it from now on: {one_line(answered.content, _SHOWN)}" if yes else "✗ It is forgotten."
                permitting.show(tx, answered, words, self.clock())
            return answered

        async with self.constellations.use(self.house) as database:
            found = await database.write(_PERMIT, work)
        self.queued()
        if found is None:
            raise UserError(f"Nothing of yours waits for a yes under {identifier!r}.")
        return f"From now on it is used: {found.content}" if yes else "It is forgotten, and was never used."

    async def _read(self, read: Callable[[Rows], list[Any]]) -> list[Any]:
        async with self.constellations.use(self.house) as database:
            return await database.read(read)

    # ------------------------------------------------------------------ the owner's command line

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "dream.report": self.owner_report,
            "dream.run": self.owner_run,
            "dream.undo": self.owner_undo,
            "dream.waiting": self.owner_waiting,
            "dream.permit": self.owner_permit,
        }

    async def owner_report(self) -> list[dict[str, Any]]:
        """What the newest run did."""
        return await self.report(_OWNER_ASKER)

    async def owner_run(self) -> list[dict[str, Any]]:
        """Run now."""
        return [{"text": await self.run(_OWNER)}]

    async def owner_undo(self) -> list[dict[str, Any]]:
        """Undo the newest run."""
        return [{"text": await self.undo(_OWNER)}]

    async def owner_waiting(self) -> list[dict[str, Any]]:
        """What waits for the owner's own yes."""
        return await self.waiting(_OWNER_ASKER)

    async def owner_permit(self, identifier: str, yes: bool) -> list[dict[str, Any]]:
        """Say yes or no to it."""
        return [{"text": await self.permit(_OWNER_ASKER, identifier, yes=yes)}]


def open_dreams(
    config: Config,
    approvals: Approvals,
    schedule: Schedule,
    thought_with: tuple[Budgets, Thinking],
    busy: Callable[[], bool] = lambda: False,
) -> Dreams:
    """The upkeep of one constellation; its job is made known to the schedule."""
    budgets, thinking = thought_with
    redact = Redactor(config.secrets()).text
    folder = config.home / FOLDER
    background = Background(thinking.choose, budgets, approvals.clock, redact, config.limits.turn_seconds)
    means = Means(background, config.dreams, folder)
    dreaming = Dreaming(approvals.constellations, approvals.house, means, busy)
    dreaming.add(schedule)
    Evaluating(approvals.constellations, means).add(schedule.runner.kinds)
    Expanding(approvals.constellations, means, busy).add(schedule.runner.kinds)
    store = approvals.constellations, approvals.house
    return Dreams(*store, approvals.people, approvals.clock, dreaming, approvals.resume)


def report_lines(rows: list[dict[str, Any]]) -> list[str]:
    """A report for a person."""
    return [row["text"] for row in rows] or ["Memory has not been tidied yet."]


def _head(run: Run) -> dict[str, Any]:
    state = {"undone": ", undone since", "refused": ", refused by its own checks"}.get(run.outcome, "")
    return {"what": "run", "text": f"Run of {run.at:%Y-%m-%d %H:%M} UTC{state}: {counts_words(run)}."}


def _as_seen(run: Run, items: list[Item]) -> Run:
    """A run as far as these items go: what else it did is not even counted for who may not know it."""
    done = Counter(item.action for item in items)
    return replace(run, retired=done["merged"] + done["retired"], made=done["made"], refined=done["refined"], related=0)


def _lines(run: Run, items: list[Item], hidden: int, names: dict[Any, str]) -> list[dict[str, Any]]:
    lines = [_item(run, item, names.get(item.agent, item.agent)) for item in items]
    if hidden:
        more = many(hidden, "more change is", "more changes are")
        lines.append({"what": "hidden", "text": f"{more} of what is not for you to know."})
    return [*lines, *({"what": "left", "text": f"Left: {note}."} for note in run.notes)]


def _item(run: Run, item: Item, agent: str) -> dict[str, Any]:
    words = one_line(item.content, _SHOWN)
    match item.action:
        case "made" if item.waiting:
            said = f'inferred, and waits for its person\'s yes: "{words}"'
        case "made":
            said = f'made {item.entry} ({item.category or "no category"}): "{words}"'
        case "merged":
            said = f'merged into {item.into}: "{words}"'
        case "retired" if item.of is Pass.CONTRADICTIONS:
            said = f'put away, since it does not hold any more: "{words}"'
        case "retired":
            said = f'retired as noise: "{words}"'
        case _ if run.outcome == "undone":
            said = f'had mended category and tags: "{words}"'
        case _:
            tags = f", tags {', '.join(item.tags)}" if item.tags else ""
            said = f'{item.before["category"] or "no category"} became {item.category}{tags}: "{words}"'
    row = {"what": item.action, "agent": agent, "entry": item.entry, "into": item.into or "", "of": str(item.of)}
    return {**row, "audience": item.audience, "text": f"{agent}: {said}"}


def _signals(given: dict[feedback.Signal, int]) -> list[dict[str, Any]]:
    if not given:
        return []
    said = ", ".join(_counted(kind, count) for kind, count in sorted(given.items()))
    return [{"what": "feedback", "text": f"In the week before it: {said}."}]


def _counted(kind: feedback.Signal, count: int) -> str:
    words = kind.replace("_", " ")
    one = count == 1 or kind in (feedback.Signal.UP, feedback.Signal.DOWN)
    return f"{count} {words if one else f'{words}s'}"


def _talks(went: Counter[evaluations.Quality], failed: Counter[str]) -> list[dict[str, Any]]:
    if not went:
        return []
    said = ", ".join(f"{went[each]} {each}" for each in evaluations.Quality if went[each])
    tools = f"; tools that failed or did not help: {', '.join(sorted(failed))}" if failed else ""
    return [{"what": "talks", "text": f"Talks in that week: {said}{tools}."}]
