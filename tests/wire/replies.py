"""What the scripted model may answer: answers, refusals, and every way in which an answer can go wrong."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Finish: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter"]


@dataclass(frozen=True)
class Tokens:
    """`cached` (read from the cache) and `written` (to it) are part of `input`."""

    input: int
    output: int
    cached: int = 0
    written: int = 0


@dataclass(frozen=True)
class Call:
    """A tool call. Arguments given as text are sent as they stand, valid JSON or not."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str | None = None

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Answer:
    """Text, tool calls, or both; streamed in `chunks` pieces with `pace` seconds between events."""

    text: str = ""
    calls: Sequence[Call] = ()
    chunks: int = 1
    pace: float = 0
    finish: Finish | None = None
    tokens: Tokens | None = None
    measured: bool = True  # some servers never report usage
    reasoning: str = ""

    @property
    def finish_reason(self) -> Finish:
        return self.finish or ("tool_calls" if self.calls else "stop")


class Calls(Answer):
    def __init__(
        self,
        *calls: Call,
        text: str = "",
        chunks: int = 1,
        pace: float = 0,
        tokens: Tokens | None = None,
    ) -> None:
        super().__init__(text, calls, chunks, pace, tokens=tokens)


@dataclass(frozen=True)
class Fail:
    """An HTTP error. A `retry_after` below a second goes out in milliseconds, as OpenAI sends it."""

    status: int
    retry_after: float | None = None
    code: str | None = None
    message: str = "scripted failure"


UNAUTHORIZED = Fail(401, code="invalid_api_key", message="Incorrect API key provided.")
CONTEXT_OVERFLOW = Fail(
    400,
    code="context_length_exceeded",
    message="This model's maximum context length is 8192 tokens. Please reduce the length of the messages.",
)
OVERLOADED = Fail(503, code="server_is_overloaded", message="The server is overloaded.")
UNFINISHED = Answer("one two three four", chunks=4)


@dataclass(frozen=True)
class Cut:
    """An answer that stops after so many events of content; what comes then is the subclass."""

    after_chunks: int = 0
    answer: Answer = UNFINISHED


class Hang(Cut):
    """Silence until the client goes away. `Hang()` does not even send a status line."""


class Broken(Cut):
    """The connection dies in the middle of the body."""


class Ended(Cut):
    """The body ends early but properly: no finish reason or, not streamed, half a JSON document."""


class Garbage(Cut):
    """Bytes that are not JSON. `Garbage()` is the web page of a proxy, with a status of 200."""


@dataclass(frozen=True)
class ErrorEvent(Cut):
    """An error reported under a status of 200, after the answer has begun."""

    error: Fail = OVERLOADED


class Disconnect(Cut):
    """The connection closes without an answer."""


@dataclass(frozen=True)
class Slow:
    seconds: float
    reply: "Reply"


@dataclass(frozen=True)
class Held:
    """A reply that waits until something is so, looking often: what the test brings about comes before it."""

    until: Callable[[], object]
    reply: "Reply"


Reply: TypeAlias = Answer | Fail | Cut | Slow | Held
