"""Wrappers around a provider's model: one loads it at first use, one retries, one pauses a model that keeps failing,
one falls back to the next model; the last of those, the offline model, always answers.

Each wrapper passes on the events of the model that it calls. `bot.models.catalog` decides the order of the models.
"""

import asyncio
import dataclasses
import importlib
import random
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from itertools import groupby
from typing import Any, Protocol

from bot.models import normalization, prices
from bot.models.base import (
    Access,
    Answer,
    AnswerRestarted,
    AssistantMessage,
    ContextTooLong,
    Event,
    FailedModel,
    Message,
    Model,
    ModelBusy,
    ModelError,
    ModelGarbage,
    ModelRefused,
    ModelRejected,
    ModelWrapper,
    Relay,
    Request,
    Trouble,
    Usage,
    UserMessage,
)
from bot.models.health import ModelHealth
from memory.store.clock import Clock, utc_now
from memory.store.logs import Log
from memory.store.records import replace
from texts import gettext_lazy

_log = Log("bot.models")

ADAPTERS = {"anthropic": "bot.models.anthropic_messages"}
ANY_OTHER = "bot.models.chat_completions"


class ConnectedModel(Model, Protocol):
    """A model that can be called; `provider` closes its connections."""

    @property
    def provider(self) -> AbstractAsyncContextManager[Any]: ...


class LazyModel:
    def __init__(self, access: Access) -> None:
        self._access = access
        self._model: ConnectedModel | None = None
        self._open = asyncio.Lock()
        self._stack = AsyncExitStack()

    @property
    def name(self) -> str:
        return self._access.name

    @property
    def context_window(self) -> int:
        return (self._model or self._access).context_window

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        model = await self.open()
        async with aclosing(model.complete(request)) as events:
            async for event in events:
                yield event

    async def open(self) -> Model:
        """Load and connect, once."""
        async with self._open:
            if self._model is None:
                model = await asyncio.to_thread(_connect, self._access)
                await self._stack.enter_async_context(model.provider)
                self._model = model
            return self._model

    async def aclose(self) -> None:
        await self._stack.aclose()


def _connect(access: Access) -> ConnectedModel:
    model: ConnectedModel = importlib.import_module(ADAPTERS.get(access.provider, ANY_OTHER)).connect(access)
    prices.priced(access.name, Usage())  # its library is loaded at the first price lookup, which takes as long
    return model


LONGEST_WAIT = 30.0
"""A provider that asks for a longer wait is not retried: another model answers sooner."""


class RetryingModel(ModelWrapper):
    """At most `tries` attempts in `seconds`, and as many with a smaller request where that is what is needed.

    A refusal is not retried.
    """

    def __init__(
        self,
        model: Model,
        *,
        tries: int = 3,
        seconds: float = 150,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(model)
        self._tries = tries
        self._seconds = seconds
        self._sleep = sleep
        self._chance = chance

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        loop, relay, asked, attempt = asyncio.get_running_loop(), Relay(), request, 1
        end = loop.time() + self._seconds
        while True:
            try:
                if relay.spoken:
                    yield relay.passed(AnswerRestarted())
                async with aclosing(self._model.complete(asked)) as events:
                    while (event := await self._next(events, end)) is not None:
                        yield relay.passed(event)
                return
            except (ContextTooLong, ModelRejected) as error:
                smaller = smaller_request(request, error) if asked is request else None
                if smaller is None:
                    raise
                asked, attempt, end = smaller, 1, loop.time() + self._seconds
            except (ModelBusy, ModelGarbage) as error:
                wait = wait_before_retry(error, attempt, self._chance())
                if attempt == self._tries or wait is None or loop.time() + wait >= end:
                    raise
                attempt += 1
                await self._sleep(wait)

    async def _next(self, events: AsyncGenerator[Event, None], until: float) -> Event | None:
        try:
            async with asyncio.timeout_at(until):
                return await anext(events, None)
        except TimeoutError:
            reason = gettext_lazy("{name} did not answer in time", name=self.name)
            raise ModelBusy(reason, trouble=Trouble.UNREACHABLE) from None


def wait_before_retry(error: ModelBusy | ModelGarbage, attempt: int, chance: float) -> float | None:
    """Seconds to wait, spread by `chance` (0 to 1) so that callers do not return together; None for no retry."""
    asked = error.retry_after if isinstance(error, ModelBusy) else None
    if asked is None:
        return float(min(2 ** (attempt - 1), LONGEST_WAIT)) * (0.5 + chance / 2)
    return asked + chance * min(asked, 1) / 4 if asked <= LONGEST_WAIT else None


def smaller_request(request: Request, error: ModelError) -> Request | None:
    """A smaller request, or None if nothing can be omitted."""
    if isinstance(error, ModelRejected):
        return without_images(request)
    return None if request.compactable else without_older_half(request)


def without_older_half(request: Request) -> Request | None:
    """The request cut before a person's message, so that no call loses its result; the newest message of a person
    stays."""
    asked = [(i, message) for i, message in enumerate(request.messages) if isinstance(message, UserMessage)]
    starts = [i for i, _ in asked]
    spoken = [i for i, message in asked if message.said or message.images]
    newest = (spoken or starts or [0])[-1]
    half = sum(map(_size, request.messages)) / 2
    fitting = (i for i in starts if 0 < i < newest and sum(map(_size, request.messages[i:])) <= half)
    cut = next(fitting, newest)
    return replace(request, messages=request.messages[cut:]) if cut else None


def _size(message: Message) -> int:
    calls: Sequence[str] = [c.arguments for c in message.calls] if isinstance(message, AssistantMessage) else ()
    return len(message.text) + sum(map(len, calls))


def without_images(request: Request) -> Request | None:
    if not any(isinstance(message, UserMessage) and message.images for message in request.messages):
        return None
    messages = (
        normalization.in_words(message) if isinstance(message, UserMessage) else message for message in request.messages
    )
    return replace(request, messages=tuple(messages))


FAILURES = 3
PAUSE = 60.0


class BreakerModel(ModelWrapper):
    """After a refusal or three failures in a row no call passes for a minute, then one as a trial.

    There is one object per model, whatever number of chains it is in. A request that is too long or rejected says
    nothing about the model's health. Every outcome is recorded in `health`.
    """

    def __init__(self, model: Model, *, clock: Callable[[], float] = time.monotonic, calendar: Clock = utc_now) -> None:
        super().__init__(model)
        self._clock = clock
        self._calendar = calendar
        self._failures = 0
        self._closed_until = 0.0
        self._error: ModelError = ModelBusy("")
        self._health = ModelHealth(model.name)

    @property
    def health(self) -> ModelHealth:
        return replace(self._health, rests=max(self._closed_until - self._clock(), 0.0))

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        trial = self._pass()
        try:
            async with aclosing(self._model.complete(request)) as events:
                async for event in events:
                    if isinstance(event, Answer):
                        self._failures, self._closed_until = 0, 0.0
                        self._note()
                    yield event
        except (asyncio.CancelledError, GeneratorExit):
            self._learned_nothing(trial=trial)
            raise
        except ModelError as error:
            self._failed(error, trial=trial)
            raise

    def _failed(self, error: ModelError, *, trial: bool) -> None:
        self._note(error)
        match error:
            case ModelRefused():
                self._shut(error)
            case ModelBusy() | ModelGarbage():
                self._failures += 1
                if self._failures >= FAILURES:
                    self._shut(error)
            case _:
                self._learned_nothing(trial=trial)

    def _learned_nothing(self, *, trial: bool) -> None:
        """If this call was the trial, the next one is."""
        if trial:
            self._closed_until = min(self._closed_until, self._clock())

    def _note(self, error: ModelError | None = None) -> None:
        trouble, reason = (error.trouble, error.reason) if error else (None, "")
        found = ModelHealth(self.name, self._calendar(), trouble, reason)
        self._health = replace(found, since=self._health.since) if found.state is self._health.state else found

    def _pass(self) -> bool:
        """Whether this call is a trial. Raises ModelError while there is a pause."""
        if not self._closed_until:
            return False
        now = self._clock()
        if now < self._closed_until:
            reason = gettext_lazy(
                "{reason} (next attempt in {seconds:.0f} s)",
                reason=self._error.reason,
                seconds=self._closed_until - now,
            )
            # Of the same kind: who hears it must know why.
            raise dataclasses.replace(self._error, reason=reason, said="")
        self._closed_until = now + PAUSE  # the others wait while this call is the trial
        return True

    def _shut(self, error: ModelError) -> None:
        self._closed_until = self._clock() + PAUSE
        self._failures = FAILURES - 1
        self._error = error


class FallbackModel(ModelWrapper):
    """Calls each link in order; the answer of a later one says in `degraded` why it was called.

    `Request.failed` tells a link which ones before it gave no answer, also at the later steps of a turn, which begin
    with it: so the offline model can state the reason.
    """

    def __init__(self, links: Sequence[Model]) -> None:
        if not links:
            raise ValueError("a chain of models needs a link")
        super().__init__(links[0])
        self._links = tuple(links)
        self._troubles: dict[str, Trouble] = {}
        """Why each link gave no answer at its last call."""

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        relay = Relay()
        failed: list[ModelError] = []
        for link in self._from(request.begun_by):
            try:
                if relay.spoken:
                    yield relay.passed(AnswerRestarted())
                async with aclosing(link.complete(self._request(link, request))) as events:
                    async for event in events:
                        if isinstance(event, Answer):
                            self._troubles.pop(link.name, None)
                        yield _explained(relay.passed(event), failed)
                return
            except ModelError as error:
                self._troubles[link.name] = error.trouble
                said = without_echo(error.said, request)
                _log.warning("model_failed", model=link.name, kind=str(error.trouble), reason=error.reason, said=said)
                failed.append(error)
                if link is self._links[-1] or (request.compactable and isinstance(error, ContextTooLong)):
                    raise

    def _request(self, link: Model, request: Request) -> Request:
        before = self._links[: self._links.index(link)]
        # After a restart of the process, nothing is known about links that the turn gave up earlier.
        troubles = ((each.name, self._troubles.get(each.name, Trouble.FAILING)) for each in before)
        return replace(request, failed=tuple(FailedModel(*each) for each in troubles)) if before else request

    def _from(self, name: str) -> tuple[Model, ...]:
        """The links from the one of that name on: a failed link is not tried at every step of a turn."""
        names = [link.name for link in self._links]
        return self._links[names.index(name) :] if name in names else self._links


_ECHO = 3  # words in a row that also occur in the request count as a quotation of it


def without_echo(said: str, request: Request) -> str:
    """A provider's message without what it repeats of the request."""
    calls = (call.arguments for each in request.messages if isinstance(each, AssistantMessage) for call in each.calls)
    asked = _bare(" ".join([request.system, *(each.text for each in request.messages), *calls]))
    words, echoed = said.split(), set[int]()
    for start in range(max(len(words) - _ECHO, 0) + 1):
        run = words[start : start + _ECHO]
        if _bare(" ".join(run)) in asked:
            echoed.update(range(start, start + len(run)))
    kept = ("…" if number in echoed else word for number, word in enumerate(words))
    return " ".join(each for each, _same in groupby(kept))


def _bare(text: str) -> str:
    """Only the words, separated by spaces."""
    return " ".join(["", *re.findall(r"\w+", text.casefold()), ""])


def _explained(event: Event, failed: list[ModelError]) -> Event:
    if failed and isinstance(event, Answer):
        reasons = (*(error.reason for error in failed), event.degraded)
        return replace(event, degraded="; ".join(filter(None, reasons)), trouble=failed[-1].trouble)
    return event
