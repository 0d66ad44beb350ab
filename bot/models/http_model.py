"""A model asked over HTTP without its provider's library: that costs seconds at the start and most of every turn.

What differs between protocols is a `Dialect`: what is sent, and how an answer is put together from its events.
"""

import json
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Literal, Protocol

import structlog

from bot.models import http_failures, normalize, prices
from bot.models.access import Access
from bot.models.base import Answer, Call, Event, Request, TextDelta, Usage
from bot.models.event_stream import EventStream, Unsupported
from bot.models.text import Pieces, clean

_log = structlog.get_logger("bot.models")
Finish = Literal["stop", "length", "filter"]
OPTIONAL = frozenset({"temperature", "max_completion_tokens", "tool_choice", "stream_options", "response_format"})
"""Options that a request can do without: some models take them, and others refuse a request because of them."""


class Dialect(Protocol):
    """One protocol, for one model."""

    def document(self, request: Request) -> dict[str, Any]:
        """What is sent."""
        ...

    def read(self, event: Any, answer: "Assembly") -> str:
        """Put one event into the answer; gives the text that is new. Raises ModelError."""
        ...


class HttpModel:
    """One model; `provider` holds its connections and is entered by whoever opens this."""

    def __init__(self, access: Access, url: str, headers: Mapping[str, str], dialect: Dialect) -> None:
        self.name = access.name
        self.context_window = prices.context_window(access.name) or access.context_window
        self.provider = EventStream(access, url, headers, OPTIONAL)
        self._access = access
        self._dialect = dialect
        self._left_out: set[str] = set()

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        while True:
            try:
                async with aclosing(self._ask(request)) as found:
                    async for event in found:
                        yield event
                return
            except Unsupported as refused:  # comes before anything else
                if refused.option in self._left_out:
                    raise refused.error from None
                _log.warning("option_left_out", model=self.name, option=refused.option)
                self._left_out.add(refused.option)

    async def _ask(self, request: Request) -> AsyncGenerator[Event, None]:
        answer = Assembly(self._access)
        document = self._dialect.document(request)
        sent = {name: value for name, value in document.items() if name not in self._left_out}
        async with aclosing(self.provider.post(sent)) as stream:
            async for event in stream:
                if piece := self._dialect.read(event, answer):
                    yield TextDelta(piece)
        yield answer.finished()


class Assembly:
    """An answer that comes in pieces."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._pieces, self._text = Pieces(), ""
        self.calls: list[PartialCall] = []
        self.counts: dict[str, Any] = {}
        """What was counted, in the provider's own words."""
        self.finish: Finish | None = None

    def say(self, text: str) -> str:
        """Add text; gives what of it can be shown now."""
        self._text += text
        return self._pieces.add(text)

    def end(self) -> None:
        """The stream says that it is whole; some servers do not say why it ended."""
        if self.finish is None and (self._text or self.calls):
            self.finish = "stop"

    def finished(self) -> Answer:
        """The whole answer. Raises ModelGarbage for one that ended early."""
        if self.finish is None:
            raise self.garbage("it stopped in the middle")
        calls = tuple(call.made() for call in self.calls if call.name)
        usage = prices.priced(self._access.name, self._usage()) if self.counts else Usage(cost_usd=None)
        return Answer(clean(self._text), calls, usage, self._access.name, self.finish)

    def _usage(self) -> Usage:
        """OpenAI counts what was cached within the input and Anthropic beside it."""
        details = self.counts.get("prompt_tokens_details")
        of: dict[str, Any] = {**(details if isinstance(details, dict) else {}), **self.counts}
        read = _count(of, "cached_tokens", "cache_read_input_tokens", "prompt_cache_hit_tokens")
        written = _count(of, "cache_write_tokens", "cache_creation_input_tokens")
        beside = read + written if "input_tokens" in of else 0
        return Usage(
            input_tokens=_count(of, "prompt_tokens", "input_tokens") + beside,
            output_tokens=_count(of, "completion_tokens", "output_tokens"),
            cache_read_tokens=read,
            cache_write_tokens=written,
            cost_usd=None,
        )

    def failed(self, event: object) -> Exception:
        return http_failures.failed_in_stream(event, self._access.name, self._access.key)

    def garbage(self, why: str = "an event of another shape") -> Exception:
        return http_failures.no_answer(self._access.name, why)


class PartialCall:
    """A call whose arguments come in pieces."""

    def __init__(self, index: object, call_id: object = None, name: object = None) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self._arguments = ""
        self.add(call_id, name)

    def add(self, call_id: object, name: object, arguments: object = None) -> None:
        if isinstance(call_id, str):
            self.id = self.id or call_id
        if isinstance(name, str):
            self.name = self.name or name
        if isinstance(arguments, dict):  # some servers send the object itself
            self._arguments = json.dumps(arguments, ensure_ascii=False)
        elif isinstance(arguments, str):
            self._arguments += arguments

    def made(self) -> Call:
        found = normalize.call_id(self.id) if self.id else f"call_{uuid.uuid4().hex[:24]}"
        return Call(found, clean(self.name), clean(self._arguments) or "{}")


def _count(counts: Mapping[str, Any], *names: str) -> int:
    found = (counts.get(name) for name in names)
    return next((each for each in found if isinstance(each, int) and each >= 0), 0)
