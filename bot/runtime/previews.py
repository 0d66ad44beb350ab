"""Previews of an answer before it is complete: a typing indicator, and a message that grows with the answer or shows a
group's progress; for the terminal and the dashboard, the events of the turn.

At most one edit is made a second, never with the same text twice. A preview has an outbox row before it is first sent,
so that after a crash every message is removed or taken over by the resumed turn. An answer
replaces its preview. Progress messages are deleted after the answer, and so are previews of answers sent under a
member's own name. Of members' texts, only those for people are shown.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct, field

from bot.agents.groups.settings import Pipeline, stored
from bot.agents.groups.team import acting
from bot.agents.turn_end import progress_key
from bot.agents.turn_events import (
    AgentCompleted,
    AgentStarted,
    OfMember,
    TextChunk,
    TurnCompleted,
    TurnEvent,
    TurnFailed,
    TurnStarted,
    Watch,
)
from bot.runtime.constellation import ConstellationRuntime
from bot.runtime.supervision import Supervisor
from memory import agent_groups, agents, group_runs
from memory.group_runs import Part, Run
from memory.queue import outbox, turns
from memory.store.database import Rows
from memory.store.ids import AgentId, PlaceId, TurnId, place_source
from memory.store.logs import Log
from sources.base import Activity, DeliveryFailed, DeliveryUnclear, Endpoint
from texts import _, ngettext, ngettext_noop

_log = Log("bot.runtime.previews")


class Broadcast:
    """Passes every event on to all current listeners."""

    def __init__(self) -> None:
        self._watching: list[Watch] = []

    def __call__(self, event: TurnEvent) -> None:
        for watch in tuple(self._watching):
            try:
                watch(event)
            except Exception:  # a watcher must not break the turn
                _log.exception("turn_watcher_failed", turn=event.turn, event_kind=type(event).__name__)

    @contextmanager
    def listen(self, watch: Watch) -> Iterator[None]:
        """Receive every event until the context ends."""
        self._watching.append(watch)
        try:
            yield
        finally:
            self._watching.remove(watch)


class TypingIndicator:
    """Shows a typing indicator while an answer is being made."""

    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        self._endpoints = endpoints

    def __call__(self, event: TurnEvent) -> None:
        if isinstance(event, TurnStarted | TurnCompleted | TurnFailed):
            endpoint = self._endpoints.get(place_source(event.place))
            if endpoint is not None:
                endpoint.show(Activity(event.place, isinstance(event, TurnStarted)))


BEGIN_SECONDS, RUN_BEGIN_SECONDS = 2.5, 5.0
"""Seconds after which a growing answer, or a group's run, is shown."""
EDIT_SECONDS = 1.2
"""Minimum time between two edits of the message."""
_MOST_EDITS = 60  # after these, the rest waits for the answer itself
_MOST_WRITTEN = 400  # characters of each member's text in a progress message
_WRITING = " …"
_MARKS = {"running": "…", "done": "✓", "failed": "✗", "late": "✗"}
_COUNTED = {
    "ballot": ngettext_noop("{ended} of {count} ballot cast", "{ended} of {count} ballots cast"),
    "answer": ngettext_noop("{ended} of {count} answer done", "{ended} of {count} answers done"),
    "task": ngettext_noop("{ended} of {count} task done", "{ended} of {count} tasks done"),
}


class _Preview(Struct):
    """One growing answer, or one run in progress."""

    place: PlaceId
    begun: float
    text: str = ""
    parts: dict[TurnId, str] = field(default_factory=dict)
    """The texts of members so far, by their turns."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class _Watcher:
    def __init__(self, runtime: ConstellationRuntime, supervisor: Supervisor) -> None:
        self._runtime = runtime
        self._supervisor = supervisor
        self._shown: dict[TurnId, _Preview] = {}

    def _endpoint(self, place: PlaceId) -> Endpoint | None:
        endpoint = self._runtime.turn_deps.endpoints.get(place_source(place))
        return endpoint if endpoint is not None and endpoint.has_previews else None

    def _over(self, turn: TurnId) -> None:
        shown = self._shown.pop(turn, None)
        if shown is not None and shown.task is not None:
            shown.task.cancel()

    @staticmethod
    async def _edit(
        endpoint: Endpoint, shown: _Preview, external: str, said: str, words: Callable[[], Awaitable[str]]
    ) -> None:
        """Keep a message at the current result of `words`."""
        for _edit in range(_MOST_EDITS if external else 0):
            await asyncio.sleep(EDIT_SECONDS)
            await shown.changed.wait()
            shown.changed.clear()
            text = await words()
            if text in (said, ""):
                continue
            try:
                await endpoint.edit(shown.place, external, text)
            except (DeliveryFailed, DeliveryUnclear):
                return  # the answer will be sent as usual
            said = text


class Previews(_Watcher):
    """Shows answers that take long."""

    def __call__(self, event: TurnEvent) -> None:
        if isinstance(event, TextChunk):
            self._grow(event)
        elif isinstance(event, TurnCompleted | TurnFailed):
            self._over(event.turn)

    def _grow(self, event: TextChunk) -> None:
        if (endpoint := self._endpoint(event.place)) is None:
            return
        shown = self._shown.setdefault(event.turn, _Preview(event.place, time.monotonic()))
        shown.text = event.text
        shown.changed.set()
        late = time.monotonic() - shown.begun >= BEGIN_SECONDS
        if shown.task is None and late and shown.text.strip():
            work = self._show(event.turn, shown, endpoint)
            shown.task = self._supervisor.once(f"preview of turn {event.turn}", work)

    async def _show(self, turn: TurnId, shown: _Preview, endpoint: Endpoint) -> None:
        if not await self._runtime.showing(turn, shown.place):
            return
        while not shown.text.strip():  # it was restarted meanwhile
            shown.changed.clear()
            await shown.changed.wait()

        name = await self._runtime.database.read(lambda rows: _name_of_speaker(rows, turn))
        before = f"{name}: " if name else ""

        async def words() -> str:
            room = endpoint.max_length - len(before) - len(_WRITING)
            text = shown.text if len(shown.text) <= room else endpoint.split(shown.text)[0][:room]
            return before + text + _WRITING

        said = await words()
        external = await self._runtime.preview(turn, shown.place, said, progress=bool(name))
        await self._edit(endpoint, shown, external, said, words)


def _name_of_speaker(rows: Rows, turn_id: TurnId) -> str:
    """The name under which a turn's answer is sent, if not the account's."""
    turn = turns.get(rows, turn_id)
    return "" if turn is None else acting(rows, turn).config.show_name


class Progress(_Watcher):
    """Shows progress of runs that take long."""

    def __call__(self, event: TurnEvent) -> None:
        match event:
            case TurnStarted():
                self._shown[event.turn] = _Preview(event.place, time.monotonic())
            case AgentStarted() | AgentCompleted():
                self._moved(event.turn)
            case OfMember(event=TextChunk(text=text)):
                for shown in self._shown.values():
                    if shown.place == event.place:
                        shown.parts[event.turn] = text
                        shown.changed.set()
            case OfMember():
                self(event.event)  # members delegate tasks, too
            case TurnCompleted() | TurnFailed():
                self._over(event.turn)
            case _:
                pass

    def _moved(self, turn: TurnId) -> None:
        shown = self._shown.get(turn)
        if shown is None or (endpoint := self._endpoint(shown.place)) is None:
            return
        shown.changed.set()
        if shown.task is None:
            work = self._show(turn, shown, endpoint)
            shown.task = self._supervisor.once(f"progress of run {turn}", work)

    async def _show(self, turn: TurnId, shown: _Preview, endpoint: Endpoint) -> None:
        await asyncio.sleep(max(0.0, RUN_BEGIN_SECONDS - (time.monotonic() - shown.begun)))
        said, known = await self._look(turn, endpoint)
        external = await self._runtime.preview(turn, shown.place, said, progress=True) if said else ""

        async def words() -> str:
            return (await self._look(turn, endpoint))[0]

        # An older text may be out of date.
        await self._edit(endpoint, shown, external, "" if known else said, words)

    async def _look(self, turn: TurnId, endpoint: Endpoint) -> tuple[str, bool]:
        """The progress text of a run, empty if there is none; and whether it has a message already."""
        shown = self._shown.get(turn)

        def work(rows: Rows) -> tuple[str, bool]:
            run, parts, asked = group_runs.run(rows, turn), group_runs.parts(rows, turn), turns.get(rows, turn)
            if run is None or asked is None:
                return "", False
            members = {part.agent: agents.agent(rows, part.agent).name for part in parts}
            known = outbox.of_key(rows, progress_key(turn)) is not None
            group = agent_groups.group(rows, run.group).name
            with self._runtime.turn_deps.speaking_to(asked.person):
                text = progress_words(run, group, parts, members, shown.parts if shown else {})
            return text if len(text) <= endpoint.max_length else endpoint.split(text)[0], known

        return await self._runtime.database.read(work)


def progress_words(
    run: Run, group: str, parts: Sequence[Part], names: Mapping[AgentId, str], texts: Mapping[TurnId, str]
) -> str:
    """The progress of a run, a line per member with its text so far; empty if nobody was asked."""
    asked = [part for part in parts if part.kind != "observe"]
    if not asked:
        return ""
    lines = []
    for part in asked:
        lines.append(f"{_MARKS[part.status]} {names[part.agent]}{_doing(run, part)}")
        text = texts.get(part.turn, "") if part.status == "running" and _is_for_people(run, part) else ""
        lines += [f"> {line}" for line in text[-_MOST_WRITTEN:].splitlines()]
    return "\n".join([_("{group} is working on this: {how_far}.", group=group, how_far=_how_far(run, asked)), *lines])


def _how_far(run: Run, asked: Sequence[Part]) -> str:
    kind = asked[-1].kind
    if kind == "stage":
        total, now = len(_stages(run)), max(part.stage for part in asked) + 1
        if _side_by_side(run):
            ended = total - len({part.stage for part in asked if part.status == "running"})
            return ngettext("{ended} of {count} stage done", "{ended} of {count} stages done", total, ended=ended)
        return _("stage {now} of {total}", now=now, total=total)
    if kind == "choice":
        return _("choosing who answers")
    done = [part.status != "running" for part in asked if part.kind == kind]
    return ngettext(*_COUNTED[kind], len(done), ended=sum(done))


def _is_for_people(run: Run, part: Part) -> bool:
    """Whether the member's text is sent to people unchanged."""
    last = part.stage == len(_stages(run)) - 1
    return part.kind == "answer" or (part.kind == "stage" and (last or _side_by_side(run)))


def _doing(run: Run, part: Part) -> str:
    stages = _stages(run)
    stage = f": {stages[part.stage]}" if part.kind == "stage" and part.stage < len(stages) else ""
    return _("{stage} (attempt {attempt})", stage=stage, attempt=part.attempt) if part.attempt > 1 else stage


def _side_by_side(run: Run) -> bool:
    settings = stored(run.pattern, run.settings)
    return isinstance(settings, Pipeline) and settings.parallel_stages


def _stages(run: Run) -> list[str]:
    settings = stored(run.pattern, run.settings)
    return [stage.name for stage in settings.stages] if isinstance(settings, Pipeline) else []
