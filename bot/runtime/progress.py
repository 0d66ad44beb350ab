"""Showing how far a group has come with what takes long: one message, edited as members finish, gone after the answer.

What it says is made of stored rows, and its outbox row is a preview's: a run that is taken up after a crash goes on
with the same message, and a message whose run is over is taken away whatever happened. Only who and how far is shown,
nothing of what members say to each other.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.agents.events import AgentCompleted, AgentStarted, Complete, Failed, OfMember, Started, TurnEvent
from bot.agents.groups.settings import Pipeline, stored
from bot.agents.transcript import progress_key, queue_progress
from bot.runtime.constellation import ConstellationRuntime
from bot.runtime.workers import Workers
from memory import agents, groups
from memory.groups import Part, Run
from memory.queue import outbox
from memory.store.database import Rows
from memory.store.ids import AgentId, PlaceId, TurnId, place_source
from sources.base import DeliveryFailed, DeliveryUnclear, Endpoint
from texts import _

BEGIN_SECONDS = 5.0
"""A run that is not over after so long is shown."""
EDIT_SECONDS = 1.5
"""Between two changes of the message at least."""
_MOST_EDITS = 60
_MARKS = {"running": "…", "done": "✓", "failed": "✗", "late": "✗"}
_COUNTED = {"ballot": "ballots", "answer": "answers", "task": "tasks"}


@dataclass
class _Shown:
    """One run that goes on."""

    place: PlaceId
    begun: float
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Progress:
    """Watches the runs of one constellation and shows those that take long."""

    def __init__(self, runtime: ConstellationRuntime, endpoints: Mapping[str, Endpoint], workers: Workers) -> None:
        self._runtime = runtime
        self._endpoints = endpoints
        self._workers = workers
        self._shown: dict[TurnId, _Shown] = {}

    def __call__(self, event: TurnEvent) -> None:
        match event:
            case Started():
                self._shown[event.turn] = _Shown(event.place, time.monotonic())
            case AgentStarted() | AgentCompleted():
                self._moved(event.turn)
            case OfMember():
                self(event.event)  # a member gives tasks too
            case Complete() | Failed():
                _stop(self._shown.pop(event.turn, None))
            case _:
                pass

    def _moved(self, turn: TurnId) -> None:
        shown = self._shown.get(turn)
        endpoint = None if shown is None else self._endpoints.get(place_source(shown.place))
        if shown is None or endpoint is None or not endpoint.has_previews:
            return
        shown.changed.set()
        if shown.task is None:
            work = self._show(turn, shown, endpoint)
            shown.task = self._workers.once(f"progress of run {turn}", work)

    async def _show(self, turn: TurnId, shown: _Shown, endpoint: Endpoint) -> None:
        await asyncio.sleep(max(0.0, BEGIN_SECONDS - (time.monotonic() - shown.begun)))
        said, known = await self._look(turn)
        external = await self._runtime.preview(turn, shown.place, said, queue_progress) if said else ""
        if known:
            said = ""  # it stands there from before, and says what was so then
        for _edit in range(_MOST_EDITS):
            if not external:
                return
            shown.changed.clear()
            words, _known = await self._look(turn)
            if words not in (said, ""):
                try:
                    await endpoint.edit(shown.place, external, words)
                except (DeliveryFailed, DeliveryUnclear):
                    return  # the answer comes in its own way
                said = words
            await asyncio.sleep(EDIT_SECONDS)
            await shown.changed.wait()

    async def _look(self, turn: TurnId) -> tuple[str, bool]:
        """What there is to say of a run, nothing when there is nothing; and whether it has a message already."""

        def work(rows: Rows) -> tuple[str, bool]:
            run, parts = groups.run(rows, turn), groups.parts(rows, turn)
            if run is None:
                return "", False
            members = {part.agent: agents.agent(rows, part.agent).name for part in parts}
            known = outbox.of_key(rows, progress_key(turn)) is not None
            return progress_words(run, agents.group(rows, run.group).name, parts, members), known

        return await self._runtime.database.read(work)


def _stop(shown: _Shown | None) -> None:
    if shown is not None and shown.task is not None:
        shown.task.cancel()


def progress_words(run: Run, group: str, parts: Sequence[Part], names: Mapping[AgentId, str]) -> str:
    """How far a run has come, a line for each member that was asked; empty when nobody was."""
    asked = [part for part in parts if part.kind != "observe"]
    if not asked:
        return ""
    lines = [f"{_MARKS[part.status]} {names[part.agent]}{_doing(run, part)}" for part in asked]
    return "\n".join([_("{group} is working on this: {how_far}.", group=group, how_far=_how_far(run, asked)), *lines])


def _how_far(run: Run, asked: Sequence[Part]) -> str:
    kind = asked[-1].kind
    if kind == "stage":
        total, now = len(_stages(run)), max(part.stage for part in asked) + 1
        if _side_by_side(run):
            working = {part.stage for part in asked if part.status == "running"}
            return _("{total} of {total2} stages done", total=total - len(working), total2=total)
        return _("stage {now} of {total}", now=now, total=total)
    if kind == "choice":
        return _("choosing who answers")
    ended = sum(part.status != "running" for part in asked if part.kind == kind)
    return _(
        "{ended} of {sum} {COUNTED} done",
        ended=ended,
        sum=sum(part.kind == kind for part in asked),
        COUNTED=_COUNTED[kind],
    )


def _doing(run: Run, part: Part) -> str:
    stages = _stages(run)
    stage = f": {stages[part.stage]}" if part.kind == "stage" and part.stage < len(stages) else ""
    return _("{stage} (try {attempt})", stage=stage, attempt=part.attempt) if part.attempt > 1 else stage


def _side_by_side(run: Run) -> bool:
    settings = stored(run.pattern, run.settings)
    return isinstance(settings, Pipeline) and settings.parallel_stages


def _stages(run: Run) -> list[str]:
    settings = stored(run.pattern, run.settings)
    return [stage.name for stage in settings.stages] if isinstance(settings, Pipeline) else []
