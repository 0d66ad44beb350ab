"""The chain of models: where one gives no answer the next is asked, and the last one always answers."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

import structlog

from bot.models.base import Answer, ContextTooLong, Event, Model, ModelError, Request, Trouble, Unanswered
from bot.models.events import Relay

_log = structlog.get_logger("bot.models")


class FallbackModel:
    """Asks each link in order; the answer of a later one says in `degraded` why it was asked.

    A link is told in `Request.failed` which ones before it gave no answer, also at the later steps of a turn, which
    begin with it: so the offline model can say the reason.
    """

    def __init__(self, links: Sequence[Model]) -> None:
        if not links:
            raise ValueError("a chain of models needs a link")
        self._links = tuple(links)
        self._troubles: dict[str, Trouble] = {}
        """Why each link gave no answer the last time it was asked."""

    @property
    def name(self) -> str:
        return self._links[0].name

    @property
    def context_window(self) -> int:
        return self._links[0].context_window

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        relay = Relay()
        failed: list[ModelError] = []
        for link in self._from(request.begun_by):
            try:
                async with aclosing(relay.listen(link, self._request(link, request))) as events:
                    async for event in events:
                        if isinstance(event, Answer):
                            self._troubles.pop(link.name, None)
                        yield _explained(event, failed)
                return
            except ModelError as error:
                self._troubles[link.name] = error.trouble
                _log.warning("model_failed", model=link.name, kind=type(error).__name__, reason=error.reason)
                failed.append(error)
                if link is self._links[-1] or (request.compactable and isinstance(error, ContextTooLong)):
                    raise

    def _request(self, link: Model, request: Request) -> Request:
        before = self._links[: self._links.index(link)]
        # After a restart of the process nothing is remembered of a link that a turn has left behind.
        troubles = ((each.name, self._troubles.get(each.name, Trouble.FAILING)) for each in before)
        return replace(request, failed=tuple(Unanswered(*each) for each in troubles)) if before else request

    def _from(self, name: str) -> tuple[Model, ...]:
        """The links from the one of that name on: what is down is not waited for at every step of a turn."""
        names = [link.name for link in self._links]
        return self._links[names.index(name) :] if name in names else self._links


def _explained(event: Event, failed: list[ModelError]) -> Event:
    if failed and isinstance(event, Answer):
        reasons = (*(error.reason for error in failed), event.degraded)
        return replace(event, degraded="; ".join(filter(None, reasons)), trouble=failed[-1].trouble)
    return event
