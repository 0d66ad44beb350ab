"""Tool calls that a model wrote as text, as small models do, become calls."""

import json
import re
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from bot.models.base import Answer, AnswerRestarted, Call, Event, ModelWrapper, Request, TextDelta
from memory.store.lazy import Pattern
from memory.store.records import replace

_OPENERS = ("<tool_call>", "```json", "```")
_WRITTEN = Pattern(r"(?:<tool_call>|```(?:json)?)?\s*(\{.*\})\s*(?:</tool_call>|```)?", re.DOTALL)


class LenientModel(ModelWrapper):
    """Converts an answer that consists only of `{"name": ..., "arguments": {...}}` for an offered tool into a call.

    It may be in `<tool_call>` tags or in a code block, as small models write it; an example for somebody has words
    around it. Text that may still become a call is held back, all other text is passed on as it arrives.
    """

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        reader = _Reader({tool.name for tool in (*request.tools, *request.named_tools)})
        async with aclosing(self._model.complete(request)) as events:
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
                self._holding = _may_be_call(self._held.lstrip())
                if not self._holding:
                    yield TextDelta(self._held)
            case Answer() if self._holding:
                answer = _read_call(event, self._offered)
                if self._held and answer.text:
                    yield TextDelta(self._held)
                yield answer
            case AnswerRestarted():
                self._holding, self._held = bool(self._offered), ""
                yield event
            case _:
                yield event


def _may_be_call(text: str) -> bool:
    """Whether the text may be the beginning of a written call, judging by its marks."""
    return any(each.startswith(text) or text.removeprefix(each).lstrip()[:1] in ("", "{") for each in _OPENERS)


def _read_call(answer: Answer, offered: set[str]) -> Answer:
    """The answer with its text parsed as a call of an offered tool, if the whole text is one; else unchanged."""
    found = None if answer.calls else _WRITTEN.fullmatch(answer.text.strip())
    text = found[1] if found else ""
    doubled = text.startswith("{{")  # as the example in some models' chat templates has it; they miscount the ends
    try:
        written, end = json.JSONDecoder().raw_decode(text, int(doubled)) if text else (None, 0)
    except ValueError:
        return answer
    match None if text[end:].strip("}" if doubled else "") else written:
        case {"name": str() as name, "arguments": dict() as values, **others} | {
            "name": str() as name,
            "parameters": dict() as values,
            **others,
        } if name in offered and not others:
            call = Call(f"call_{uuid.uuid4().hex[:24]}", name, json.dumps(values, ensure_ascii=False))
            return replace(answer, text="", calls=(call,))
    return answer
