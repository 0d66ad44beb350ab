"""Whether a model finds the right tool for everyday requests in three languages, on any Chat Completions server."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.agents.context.quotes import estimate_tokens
from bot.agents.rules import MORE_TOOLS
from bot.models.base import Access, Answer, Call, Event, Limits, Model, ModelError, Request, Usage, parsed
from bot.models.http_model import as_json
from bot.models.retry_and_fallback import LazyModel, LenientModel
from memory.store.records import replace
from tests.benchmarks.options import Options
from tests.benchmarks.report import Detail, Report, percentile
from tests.benchmarks.world import Making, newest, open_world, said

_STEPS = 4  # model calls for one request
_KEEP, _FIND = "context recall", "search recall facts"
REQUESTS = (  # what is said, the tools that fit, words of their arguments of which one is needed
    ("Remind me tomorrow at 9 to call the dentist.", "reminders", "dentist"),
    ("Which reminders do I have?", "reminders", "list"),
    ("Cancel my reminder about the laundry.", "reminders", "laundry"),
    ("Please remember that I'm allergic to peanuts.", _KEEP, "peanut"),
    ("From now on, answer me in short sentences.", _KEEP, "short"),
    ("What did I tell you about my holidays last month?", _FIND, "holiday"),
    ("What is 17.5 percent of 2340?", "calculate", "2340"),
    ("Put milk on my shopping list.", "tasks", "milk"),
    ("My mother's birthday is on 3 May. Put it in the calendar.", "events", "birthday mother"),
    ("Forget what you know about my old job.", "recall facts context", "job"),
    ("What have the other agents been doing today?", "coord search", ""),
    ("Thanks, that was kind of you!", "", ""),
    ("Erinnere mich in 20 Minuten an den Kuchen im Ofen.", "reminders", "kuchen ofen"),
    ("Welche Erinnerungen habe ich?", "reminders", "list"),
    ("Merk dir bitte, dass ich in Graz wohne.", _KEEP, "graz"),
    ("Wie hieß noch mal der Film, den Bo empfohlen hat?", _FIND, "film bo"),
    ("Wie viel sind 12 Prozent von 850?", "calculate", "850"),
    ("Setz Brot auf die Einkaufsliste.", "tasks", "brot"),
    ("Trag für den 12. Dezember um 10 Uhr den Zahnarzt in den Kalender ein.", "events", "zahnarzt"),
    ("Was weißt du über meine Schwester?", _FIND, "schwester sister"),
    ("Guten Morgen!", "", ""),
    ("明日の朝8時に薬を飲むように知らせて。", "reminders", "薬"),
    ("リマインダーを全部見せて。", "reminders", "list"),
    ("猫の名前はモモだと覚えておいて。", _KEEP, "モモ"),
    ("先週、旅行について何を話したっけ？", _FIND, "旅行"),
    ("1280の15パーセントはいくつ？", "calculate", "1280"),
    ("買い物リストに卵を入れて。", "tasks", "卵"),
    ("来週の金曜の18時に歓迎会を予定に入れて。", "events", "歓迎会"),
    ("私の古い住所のことは忘れて。", "recall facts context", "住所"),
    ("ありがとう、助かったよ。", "", ""),
)


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
