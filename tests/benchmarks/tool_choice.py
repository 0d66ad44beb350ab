"""Whether a model finds the right tool for everyday requests in three languages, on any Chat Completions server."""

import asyncio
import os
import time
import tomllib
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.agents.context.quotes import estimate_tokens
from bot.agents.tool_rules import MORE_TOOLS
from bot.models.base import Access, Answer, Call, Event, Limits, Model, ModelError, Request, Usage, parsed
from bot.models.calls_written_as_text import LenientModel
from bot.models.http_model import as_json
from bot.models.retry_and_fallback import LazyModel
from memory.store.records import replace
from tests.benchmarks.options import Options
from tests.benchmarks.report import Detail, Report, percentile
from tests.benchmarks.world import Making, newest, open_world, said

_STEPS = 4  # model calls for one request
_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
REQUESTS: Sequence[tuple[str, str, str]] = [(said, tools, words) for said, (tools, words) in _TABLE.items()]


@dataclass
class Turn:
    calls: tuple[Call, ...] = ()
    tokens: int = 0
    steps: int = 0
    failed: str = ""
    seconds: float = 0


class _Recorder:
    """Passes requests on; a turn ends with its first call of a tool, and with a failure instead of an error."""

    def __init__(self, model: Model) -> None:
        self.name, self.context_window, self._model = model.name, model.context_window, model
        self.turns: dict[str, Turn] = {}

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        turn = self.turns.setdefault(newest(request).said, Turn())
        turn.tokens = turn.tokens or _tokens(request)
        turn.steps, begin, answer = turn.steps + 1, time.perf_counter(), Answer("", (), Usage(), self.name)
        if turn.steps <= _STEPS and all(call.name == MORE_TOOLS for call in turn.calls):
            try:
                async with aclosing(self._model.complete(request)) as events:
                    answer = [event async for event in events if isinstance(event, Answer)][-1]
            except ModelError as error:
                turn.failed = str(error)
        turn.calls, turn.seconds = (*turn.calls, *answer.calls), turn.seconds + time.perf_counter() - begin
        yield answer if answer.calls or answer.text.strip() else replace(answer, text="-")


def _tokens(request: Request) -> int:
    texts = [request.system, *(message.text for message in request.messages)]
    return sum(map(estimate_tokens, texts)) + sum(tool.size for tool in request.tools) * 10 // 36


def judged(turn: Turn, tools: str, words: str) -> tuple[bool, bool]:
    """Whether one of the tools was called (none, if none fits), and whether also with one of the words."""
    fitting = [call for call in turn.calls if call.name in tools.split()]
    given = [as_json(parsed(call.arguments)).decode().casefold() for call in fitting]
    if not tools:
        return (not turn.calls and not turn.failed,) * 2
    return bool(fitting), bool(fitting) and (not words or any(word in each for word in words.split() for each in given))


async def ask(model: LazyModel, requests: Sequence[tuple[str, str, str]]) -> dict[str, Turn]:
    """What a model called for each request, by its text; each is the first of a new agent: the prompts begin alike."""
    recorder = _Recorder(LenientModel(model))
    async with aclosing(model):
        for text, _, _ in requests:
            with TemporaryDirectory() as folder:
                async with open_world(Making(Path(folder), recorder)) as world:
                    heard = said(0, 0, text, 0)
                    world.router.receive(heard)
                    await world.endpoint.until(1)
                    await world.runtime.delivered(heard.place.id)
    return recorder.turns


def connected(url: str) -> LazyModel:
    """A model by its server's URL, with its name after a # if the server needs one."""
    base, _, name = url.partition("#")
    slow, key = Limits(attempt=900, silence=900), os.environ.get("OPENAI_API_KEY", "")
    return LazyModel(Access(f"openai:{name or 'default'}", slow, key, base))


def run(options: Options) -> Report:
    report = Report(f"Tools that a model chooses for {len(REQUESTS)} everyday requests")
    if not options.model:
        report.notes.append(
            "Not measured: give the URL of a Chat Completions server with --model (http://host/v1#NAME)."
        )
        return report
    requests = REQUESTS[:: 10 if options.quick else 1]
    turns = asyncio.run(ask(connected(options.model), requests))
    found = [(request, turns[request[0]], judged(turns[request[0]], *request[1:])) for request in requests]
    tools, arguments = (sum(hits[part] for _, _, hits in found) for part in (0, 1))
    tokens = max(turn.tokens for turn in turns.values())
    seconds = percentile([turn.seconds for turn in turns.values()], 0.5)
    columns = ("tokens of a prompt", "requests", "right tool", "right arguments too", "s, p50")
    rows = ((tokens, len(requests), tools, arguments, round(seconds, 1)),)
    missed = tuple(
        (text, fitting or "none", ", ".join(call.name for call in turn.calls) or turn.failed or "none")
        for (text, fitting, _), turn, (_, good) in found
        if not good
    )
    report.details.append(Detail("Hits", columns, rows))
    report.details.append(Detail("Missed", ("request", "fitting", "called"), missed))
    return report
