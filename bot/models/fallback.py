"""The chain of models: where one gives no answer the next is asked, and the last one always answers."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

import structlog

from bot.models.base import Answer, Event, Model, ModelError, Request
from bot.models.relay import Relay

_log = structlog.get_logger("bot.models")


class FallbackModel:
    """Asks each link in order; the answer of a later one says in `degraded` why it was asked."""

    def __init__(self, links: Sequence[Model]) -> None:
        if not links:
            raise ValueError("a chain of models needs a link")
        self._links = tuple(links)

    @property
    def name(self) -> str:
        return self._links[0].name

    @property
    def context_window(self) -> int:
        return self._links[0].context_window

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        relay = Relay()
        reasons: list[str] = []
        for link in self._from(request.begun_by):
            try:
                async with aclosing(relay.listen(link, request)) as events:
                    async for event in events:
                        yield _explained(event, reasons)
                return
            except ModelError as error:
                _log.warning("model_failed", model=link.name, kind=type(error).__name__, reason=error.reason)
                reasons.append(error.reason)
                if link is self._links[-1]:
                    raise

    def _from(self, name: str) -> tuple[Model, ...]:
        """The links from the one of that name on: what is down is not waited for at every step of a turn."""
        names = [link.name for link in self._links]
        return self._links[names.index(name) :] if name in names else self._links


def _explained(event: Event, reasons: list[str]) -> Event:
    if reasons and isinstance(event, Answer):
        return replace(event, degraded="; ".join(filter(None, (*reasons, event.degraded))))
    return event
