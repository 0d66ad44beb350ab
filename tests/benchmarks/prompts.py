"""What every turn pays beside the conversation, and how much of a prompt a provider's cache knows already."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bot.agents.context.quotes import estimate_tokens
from bot.models.base import Answer, AssistantMessage, Call, Request, Usage
from memory.store.records import asdict
from tests.benchmarks.options import Options, in_folder
from tests.benchmarks.report import Detail, Measure, Report
from tests.benchmarks.words import Words
from tests.benchmarks.world import EchoModel, Making, newest, open_world, said

TURNS, _EVERY = 20, 4
_CASES = {
    "": "talk only",
    "append": f"every {_EVERY}th turn appends to a block",
    "write": f"every {_EVERY}th turn rewrites a block",
}
_CACHED_FROM, _CACHED_BY = 1_024, 128  # tokens from which, and in steps of which, OpenAI's cache works


class _Writer(EchoModel):
    """Edits a memory block in every fourth turn, in one way."""

    def __init__(self, operation: str) -> None:
        super().__init__()
        self.keep = True
        self._operation = operation
        self._turns = 0
        self._asked = ""

    def answer(self, request: Request) -> Answer:
        words = newest(request).said
        if words != self._asked:
            self._asked, self._turns = words, self._turns + 1
            if self._operation and self._turns % _EVERY == 0:
                arguments = {"operation": self._operation, "label": "human", "content": f"Noted: {words}"}
                call = Call(f"call_{self._turns}", "context", json.dumps(arguments))
                return Answer("", (call,), Usage(), self.name)
        return Answer(f"I see. {words}", (), Usage(), self.name)


@dataclass(frozen=True)
class _Prompt:
    """A request as it goes over the wire: tools, system, messages."""

    tools: str
    system: str
    messages: str
    count: int

    @property
    def text(self) -> str:
        return f"{self.tools}\n{self.system}\n{self.messages}"


def _prompt(request: Request) -> _Prompt:
    tools = json.dumps([asdict(tool) for tool in request.tools], ensure_ascii=False)
    lines = []
    for message in request.messages:
        shown = {name: value for name, value in message._asdict().items() if name in ("text", "name", "call_id")}
        if isinstance(message, AssistantMessage):
            shown["calls"] = [call._asdict() for call in message.calls]
        lines.append(json.dumps({"role": type(message).__name__, **shown}, ensure_ascii=False))
    return _Prompt(tools, request.system, "\n".join(lines), len(lines))


async def _talk(folder: Path, operation: str) -> list[_Prompt]:
    model, words = _Writer(operation), Words(2)
    async with open_world(Making(folder, model)) as world:
        for serial in range(TURNS):
            heard = said(0, 0, words.sentence(20), serial)
            world.router.receive(heard)
            await world.endpoint.until(serial + 1)
            await world.runtime.delivered(heard.place.id)
    return [_prompt(request) for request in model.requests]


def _shared(prompts: Sequence[_Prompt]) -> list[tuple[int, int]]:
    """For each prompt but the first: tokens, and those at its beginning that are as in the one before."""
    found = []
    for before, now in itertools.pairwise(prompts):
        same = now.text[: _same(before.text, now.text)]
        found.append((estimate_tokens(now.text), min(estimate_tokens(same), estimate_tokens(now.text))))
    return found


def _same(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((position for position, (a, b) in pairs if a != b), min(len(one), len(other)))


def _cached(tokens: int) -> int:
    return tokens // _CACHED_BY * _CACHED_BY if tokens >= _CACHED_FROM else 0


def run(options: Options) -> Report:
    report = Report(f"Fixed overhead of a prompt and prompt cache, {TURNS} turns, default agent (tokens estimated)")
    for operation, title in _CASES.items():
        prompts = in_folder(partial(_talk, operation=operation))
        if not operation:
            report.details.append(_parts(prompts[0]))
        shares = _shared(prompts)
        total = sum(tokens for tokens, _ in shares)
        exact = 100 * sum(same for _, same in shares) / total
        steps = 100 * sum(_cached(same) for _, same in shares) / total
        report.measures += [
            Measure(f"{title}: identical to the prompt before", "%", (exact,)),
            Measure(f"{title}: what OpenAI's cache would hit", "%", (steps,)),
            Measure(f"{title}: tokens sent in all", "", (float(total),)),
        ]
    report.notes.append("Identical: shared beginning of tools, system and messages with the model call before.")
    report.notes.append(f"OpenAI caches from {_CACHED_FROM:,} tokens on, in steps of {_CACHED_BY}.")
    return report


def _parts(prompt: _Prompt) -> Detail:
    tools = json.loads(prompt.tools)
    head, _, memory = prompt.system.partition("## Memory")
    rows: list[tuple[str, int, int]] = [(f"tool {tool['name']}", *_size(json.dumps(tool))) for tool in tools]
    rows += [("system prompt and house rules", *_size(head)), ("memory blocks", *_size(memory))]
    rows.append(("all fixed overhead", *_size(prompt.tools + prompt.system)))
    rows.append(("the first message with its tail", *_size(prompt.messages)))
    shown = tuple((name, str(tokens), str(characters)) for name, tokens, characters in rows)
    return Detail("One prompt's parts", ("part", "tokens", "characters"), shown)


def _size(text: str) -> tuple[int, int]:
    return estimate_tokens(text), len(text)
