"""The benchmark of chosen tools against a scripted server: what counts as found, and what is told of the rest."""

import pytest

from tests.benchmarks import tool_choice
from tests.benchmarks.options import Options
from tests.wire.model import Answer, Call, Calls, ModelServer, Request

CALLS = {
    "Tell the others that milk is out.": Call("coord", {"operation": "note", "content": "Milk is out"}),
    "明日、薬を飲むように知らせて。": Call("reminders", {"operation": "set", "text": "水", "when": "tomorrow"}),
    "Hello!": Call("search", {"query": "hello"}),
}
REQUESTS = (
    ("Tell the others that milk is out.", "coord", "milk"),
    ("明日、薬を飲むように知らせて。", "reminders", "薬"),
    ("Hello!", "", ""),
    ("Thanks!", "", ""),
)


def replied(request: Request) -> Answer:
    asked = next((call for said, call in CALLS.items() if request.last_user.endswith(said)), None)
    made = [call["function"]["name"] for message in request.messages for call in message.get("tool_calls") or ()]
    if asked is None or asked.name in made:
        return Answer("Fine.")
    return Calls(asked if asked.name in request.tools else Call("more_tools", {"names": [asked.name]}))


async def test_tools_and_arguments_are_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ModelServer.start() as server:
        server.default = replied
        monkeypatch.setenv("OPENAI_API_KEY", server.api_key)
        turns = await tool_choice.ask(tool_choice.connected(f"{server.base_url}#scripted"), REQUESTS)
    found = [tool_choice.judged(turns[text], tools, words) for text, tools, words in REQUESTS]
    assert found == [(True, True), (True, False), (False, False), (True, True)]
    assert [call.name for call in turns["Tell the others that milk is out."].calls][:2] == ["more_tools", "coord"]
    assert turns["Thanks!"].tokens > 2_000


def test_without_a_server_it_says_so() -> None:
    assert "--model" in tool_choice.run(Options()).notes[0]
