"""Those who watch turns: whoever subscribed, and the typing indicators of places."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import structlog

from bot.agents.events import Complete, Failed, Started, TurnEvent, Watch
from bot.runtime.workers import Workers
from memory.store.ids import PlaceId, place_source
from sources.base import Activity, Endpoint

_log = structlog.get_logger("bot.runtime.turn_watchers")


class Broadcast:
    """Passes every event on to all who listen at the moment."""

    def __init__(self) -> None:
        self._watching: list[Watch] = []

    def __call__(self, event: TurnEvent) -> None:
        for watch in tuple(self._watching):
            try:
                watch(event)
            except Exception:  # who watches a turn does not break it
                _log.exception("watch_failed", turn=event.turn, event_kind=type(event).__name__)

    @contextmanager
    def listen(self, watch: Watch) -> Iterator[None]:
        """Be told of every event until the context ends."""
        self._watching.append(watch)
        try:
            yield
        finally:
            self._watching.remove(watch)

    @contextmanager
    def ends(self, place: PlaceId) -> Iterator[asyncio.Event]:
        """Something that is set whenever a turn in that place came to its end, well or not, until the context ends."""
        ended = asyncio.Event()

        def watch(event: TurnEvent) -> None:
            if event.place == place and isinstance(event, Complete | Failed):
                ended.set()

        with self.listen(watch):
            yield ended


class Typing:
    """Shows in a place that an answer is being made there."""

    def __init__(self, endpoints: Mapping[str, Endpoint], workers: Workers) -> None:
        self._endpoints = endpoints
        self._workers = workers

    def __call__(self, event: TurnEvent) -> None:
        match event:
            case Started():
                self._show(event.place, busy=True)
            case Complete() | Failed():
                self._show(event.place, busy=False)
            case _:
                pass

    def _show(self, place: PlaceId, *, busy: bool) -> None:
        endpoint = self._endpoints.get(place_source(place))
        if endpoint is not None:
            self._workers.once(f"typing in {place}", endpoint.show(Activity(place, busy)))
