"""Showing an answer while it is written, by a message that is edited until the answer replaces it.

Only where it helps: not for answers that are quick, not through webhooks, at most one edit a second, never the
same text twice. The preview is an outbox row before its first send, so that a crash leaves nothing behind that
nobody takes away.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.agents.events import Complete, Failed, TextChunk, TurnEvent
from bot.runtime.constellation import ConstellationRuntime
from bot.runtime.workers import Workers
from memory.store.ids import PlaceId, TurnId, place_source
from sources.base import DeliveryFailed, DeliveryUnclear, Endpoint

BEGIN_SECONDS = 2.5
"""An answer that is still being written after so long is shown."""
EDIT_SECONDS = 1.2
_MOST_EDITS = 60  # then the rest waits for the answer itself
_WRITING = " …"


@dataclass
class _Shown:
    """One answer that is being written."""

    place: PlaceId
    begun: float
    text: str = ""
    grown: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    over: bool = False


class Previews:
    """Watches the turns of one constellation and shows what takes long."""

    def __init__(self, runtime: ConstellationRuntime, endpoints: Mapping[str, Endpoint], workers: Workers) -> None:
        self._runtime = runtime
        self._endpoints = endpoints
        self._workers = workers
        self._shown: dict[TurnId, _Shown] = {}

    def __call__(self, event: TurnEvent) -> None:
        match event:
            case TextChunk():
                self._grow(event)
            case Complete() | Failed():
                shown = self._shown.pop(event.turn, None)
                if shown is not None:
                    shown.over = True
                    if shown.task is not None:
                        shown.task.cancel()
            case _:
                pass

    def _grow(self, event: TextChunk) -> None:
        endpoint = self._endpoints.get(place_source(event.place))
        if endpoint is None or not endpoint.has_previews:
            return
        shown = self._shown.setdefault(event.turn, _Shown(event.place, time.monotonic()))
        shown.text = event.text
        shown.grown.set()
        late = time.monotonic() - shown.begun >= BEGIN_SECONDS
        if shown.task is None and late and shown.text.strip():
            work = self._show(event.turn, shown, endpoint)
            shown.task = self._workers.once(f"preview of turn {event.turn}", work)

    async def _show(self, turn: TurnId, shown: _Shown, endpoint: Endpoint) -> None:
        if not await self._runtime.showing(turn, shown.place):
            return
        while not shown.text.strip():  # it was begun anew meanwhile
            shown.grown.clear()
            await shown.grown.wait()
        said = self._cut(shown.text, endpoint)
        external = await self._runtime.preview(turn, shown.place, said)
        for _ in range(_MOST_EDITS):
            if not external or shown.over:
                return
            shown.grown.clear()
            await asyncio.sleep(EDIT_SECONDS)
            await shown.grown.wait()
            text = self._cut(shown.text, endpoint)
            if text == said:
                continue
            try:
                await endpoint.edit(shown.place, external, text)
            except (DeliveryFailed, DeliveryUnclear):
                return  # the answer itself will come in its own way
            said = text

    @staticmethod
    def _cut(text: str, endpoint: Endpoint) -> str:
        """As much as one message takes."""
        room = endpoint.max_length - len(_WRITING)
        return (text if len(text) <= room else endpoint.split(text)[0][:room]) + _WRITING
