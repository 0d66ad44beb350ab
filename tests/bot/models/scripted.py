"""A model that does what a test says, without any provider."""

from collections.abc import AsyncGenerator, Sequence
from typing import TypeAlias

from bot.models.base import Answer, Call, Event, Model, ModelError, Request, TextDelta, Usage, UserMessage

Step: TypeAlias = Event | ModelError
HELLO = Request("Be brief.", (UserMessage("Hello?", said="Hello?"),))


def answer(text: str = "", *calls: Call, model: str = "test:scripted") -> Answer:
    return Answer(text, calls, Usage(), model)


class ScriptedModel:
    """One script per request, in order; the last one is used again and again."""

    def __init__(self, *scripts: Sequence[Step], name: str = "test:scripted") -> None:
        self.name = name
        self.context_window = 8_000
        self.requests: list[Request] = []
        self._scripts = list(scripts)

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        self.requests.append(request)
        script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
        for step in script:
            if isinstance(step, ModelError):
                raise step
            yield step


def says(text: str, model: str = "test:scripted") -> list[Step]:
    return [TextDelta(text), answer(text, model=model)]


async def events(model: Model, request: Request = HELLO) -> list[Event]:
    return [event async for event in model.complete(request)]


async def last(model: Model, request: Request = HELLO) -> Answer:
    found = (await events(model, request))[-1]
    assert isinstance(found, Answer)
    return found
