"""What every wrapper of a model needs: its model's name, and passing on the events of one attempt after another."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from bot.models.base import Event, Model, ModelBusy, Request, Restarted, TextDelta, Trouble


class ModelWrapper:
    """A model that asks another one, under whose name it stands."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def context_window(self) -> int:
        return self._model.context_window


class Relay:
    """Remembers whether listeners hold text; the next attempt then begins by saying that it is void."""

    def __init__(self) -> None:
        self._spoken = False

    async def listen(self, model: Model, request: Request, until: float | None = None) -> AsyncGenerator[Event, None]:
        """The events of one attempt, at most until this time of the event loop."""
        if self._spoken:
            self._spoken = False
            yield Restarted()
        stream = model.complete(request)
        try:
            while (event := await _next(stream, model, until)) is not None:
                if isinstance(event, TextDelta | Restarted):
                    self._spoken = isinstance(event, TextDelta)
                yield event
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()


async def _next(stream: AsyncIterator[Event], model: Model, until: float | None) -> Event | None:
    try:
        async with asyncio.timeout_at(until):
            return await anext(stream, None)
    except TimeoutError:
        reason = f"{model.name} did not answer in the time it was given"
        raise ModelBusy(reason, trouble=Trouble.UNREACHABLE) from None
