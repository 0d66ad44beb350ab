"""Which rows of a conversation take trust from an agent's turn, and how their sources are called."""

from datetime import UTC, datetime
from itertools import count
from typing import Any

from bot.agents.context.history import foreign_rows, foreign_words
from memory.people.audience import OWNER, Trust
from memory.queue.messages import Message
from memory.queue.steps import CallDone, ModelAnswer, Step, ToolCall
from memory.store.ids import AgentId
from tests.memory.parts import a_message

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
ADA, BEA = AgentId("agt_1"), AgentId("agt_2")
NUMBERS = count(1)


def row(agent: AgentId, trust: Trust, **more: Any) -> Message:
    own = {"person": None, "speaker": "", "external_id": None, "audience": OWNER, "role": "assistant"}
    return a_message(next(NUMBERS), agent=agent, trust=trust, **(own | more))


def read(agent: AgentId, call: str, tool: str, arguments: str) -> list[Message]:
    return [
        row(agent, Trust.AGENT, tool_call_id=call, tool_name=tool, tool_args=arguments),
        row(agent, Trust.WEB, tool_call_id=call, tool_name=tool, role="tool"),
    ]


def test_what_another_agent_read_takes_nothing_but_what_it_said_of_unknown_origin_does() -> None:
    theirs = read(BEA, "1", "web_fetch", '{"url": "https://a.example"}')
    assert list(foreign_rows(theirs, ADA)) == []
    assert list(foreign_rows(theirs, BEA)) == theirs[1:]
    imported = row(BEA, Trust.WEB)
    assert list(foreign_rows([imported], ADA)) == [imported]


def test_sources_are_named_once_the_newest_first() -> None:
    history = [
        *read(ADA, "1", "web_fetch", '{"url": "https://a.example"}'),
        *read(ADA, "2", "web_search", '{"query": "newts"}'),
        *read(ADA, "3", "web_fetch", '{"url": "https://a.example"}'),
    ]
    called = ModelAnswer("", (ToolCall("4", "file", '{"operation": "open", "path": "papers/notes.md"}'),))
    done = CallDone("4", "file", "words", ok=True, data=None, trust=Trust.APPROVED)
    own = CallDone("5", "recall", "words", ok=True, data=None, trust=Trust.SYSTEM)
    steps = [Step(0, called, NOW), Step(1, done, NOW), Step(2, own, NOW)]
    assert foreign_words(history, steps, ADA) == "text from “papers/notes.md”, “https://a.example” and 1 more"
    assert foreign_words([], steps, ADA) == "text from “papers/notes.md”"
    assert foreign_words(history, steps, ADA, exact=False) == "text from file, web_fetch and 1 more"
    assert foreign_words(history, [], BEA) == ""
    news = row(ADA, Trust.WEB, role="system")._replace(speaker="alarm")
    assert foreign_words([*history, news], [], ADA).startswith("text from alarm, “https://a.example”")
    broken = [Step(0, ModelAnswer("", (ToolCall("4", "file", "{"),)), NOW), steps[1]]
    assert foreign_words([], broken, ADA) == "text from file"
