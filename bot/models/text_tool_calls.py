"""Small local models often write a tool call as the text of their answer; here it becomes the call it was."""

import json
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from bot.models.base import Answer, Call, Event, Request, Restarted, TextDelta
from bot.models.events import ModelWrapper, Relay

_KEYS = ({"name", "arguments"}, {"name", "parameters"})


class LenientModel(ModelWrapper):
    """Takes an answer that is nothing but `{"name": ..., "arguments": {...}}` of an offered tool for a call.

    Text that may still become such an object is held back, all other text is passed on as it comes.
    """

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        reader = _Reader({tool.name for tool in (*request.tools, *request.named_tools)})
        async with aclosing(Relay().listen(self._model, request)) as events:
            async for event in events:
                for read in reader.read(event):
                    yield read


class _Reader:
    def __init__(self, offered: set[str]) -> None:
        self._offered = offered
        self._holding = bool(offered)
        self._held = ""

    def read(self, event: Event) -> Iterator[Event]:
        match event:
            case TextDelta(text) if self._holding:
                self._held += text
                self._holding = self._held.strip()[:1] in ("", "{")
                if not self._holding:
                    yield TextDelta(self._held)
            case Answer() if self._holding:
                answer = _read_call(event, self._offered)
                if self._held and answer.text:
                    yield TextDelta(self._held)
                yield answer
            case Restarted():
                self._holding, self._held = bool(self._offered), ""
                yield event
            case _:
                yield event


def _read_call(answer: Answer, offered: set[str]) -> Answer:
    """The answer with its text read as a call, or as it was."""
    if answer.calls:
        return answer
    written = written_call(answer.text, offered)
    if written is None:
        return answer
    name, values = written
    call = Call(f"call_{uuid.uuid4().hex[:24]}", name, json.dumps(values, ensure_ascii=False))
    return replace(answer, text="", calls=(call,))


def written_call(text: str, offered: set[str]) -> tuple[str, dict[str, Any]] | None:
    """Name and arguments, when the whole text is one call of an offered tool."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    if not isinstance(found, dict) or found.keys() not in _KEYS:
        return None
    name = found["name"]
    values = found.get("arguments", found.get("parameters"))
    return (name, values) if isinstance(name, str) and name in offered and isinstance(values, dict) else None
