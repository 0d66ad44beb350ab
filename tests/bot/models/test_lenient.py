"""A call that a small model wrote as text becomes a call; everything else stays what it was."""

import json
import time

import pytest

from bot.models.base import AnswerRestarted, TextDelta, ToolSpec
from bot.models.calls_written_as_text import LenientModel
from memory.store.records import replace
from tests.bot.models.scripted import HELLO, ScriptedModel, Step, answer, events, last

TOOLS = (ToolSpec("recall", "Search.", {"type": "object"}),)
OFFERED = replace(HELLO, tools=TOOLS)
WRITTEN = '{"name": "recall", "arguments": {"query": "Grüße"}}'


def streamed(text: str) -> list[Step]:
    return [*(TextDelta(text[i : i + 4]) for i in range(0, len(text), 4)), answer(text)]


@pytest.mark.parametrize(
    "text",
    [
        WRITTEN,
        f"\n {WRITTEN}\n",
        WRITTEN.replace("arguments", "parameters"),
        f"<tool_call>\n{WRITTEN}\n</tool_call>",
        f"<tool_call>{WRITTEN}",
        f"```json\n{WRITTEN}\n```",
        f"```\n{WRITTEN}\n```",
        *(f"{{{WRITTEN}{ends}" for ends in ("", "}", "}}")),
        f"<tool_call>\n{{{WRITTEN}}}\n</tool_call>",
    ],
)
async def test_a_written_call_is_a_call(text: str) -> None:
    [found] = await events(LenientModel(ScriptedModel(streamed(text))), OFFERED)
    assert found == await last(LenientModel(ScriptedModel([found])), OFFERED)
    [call] = (await last(LenientModel(ScriptedModel(streamed(text))), OFFERED)).calls
    assert (call.name, json.loads(call.arguments)) == ("recall", {"query": "Grüße"})
    assert call.id


@pytest.mark.parametrize(
    "text",
    [
        "Hello there",
        f"Like this: {WRITTEN}",
        f"{WRITTEN} Done.",
        f"So:\n```json\n{WRITTEN}\n```",
        f"```json\n{WRITTEN}\n```\nThat is how.",
        "```json\n[1]\n```",
        WRITTEN.replace("recall", "unknown"),
        '{"name": "recall"}',
        *(f"{text}}}" for text in (WRITTEN, f"{{{WRITTEN}]")),
        f"{{{{{WRITTEN}}}}}",
        '{"name": ["recall"], "arguments": {}}',
        '{"name": "recall", "arguments": "q"}',
        '{"name": "recall", "arguments": {}, "more": 1}',
        '["recall"]',
        "{",
        "",
    ],
)
async def test_anything_else_stays_text(text: str) -> None:
    found = await events(LenientModel(ScriptedModel(streamed(text))), OFFERED)
    assert found[-1] == answer(text)
    assert "".join(event.text for event in found if isinstance(event, TextDelta)) == text


@pytest.mark.parametrize("text", ["\n" * 60_000, "<tool_call>" + "\n" * 60_000])
async def test_a_model_that_writes_nothing_but_blank_lines_is_read_at_once(text: str) -> None:
    begun = time.thread_time()
    assert await last(LenientModel(ScriptedModel([answer(text)])), OFFERED) == answer(text)
    assert time.thread_time() - begun < 1


@pytest.mark.parametrize("text", ["Hello there", "`ls` is there", "<b>Hello there", "```python\nprint(1)"])
async def test_prose_is_not_held_back(text: str) -> None:
    found = await events(LenientModel(ScriptedModel(streamed(text))), OFFERED)
    assert len([event for event in found if isinstance(event, TextDelta)]) >= 3


async def test_a_restart_forgets_what_was_held() -> None:
    script: list[Step] = [TextDelta("{"), AnswerRestarted(), *streamed("Hello")]
    assert await events(LenientModel(ScriptedModel(script)), OFFERED) == script[1:]
