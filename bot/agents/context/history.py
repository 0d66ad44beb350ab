"""What of a conversation is in view of a model, and how its messages look there."""

import functools
import re
import zlib
from collections.abc import Iterable, Sequence
from datetime import datetime

from bot.agents.context.quotes import (
    Quoted,
    display_name,
    estimate_tokens,
    line,
    passage,
    quotation,
    say,
    stored_result,
)
from bot.agents.context.tool_results import past
from bot.models.base import AssistantMessage, Call, Message, ToolMessage, UserMessage
from memory.agents import Agent
from memory.knowledge.summaries import Compaction
from memory.queue import agent_messages, messages
from memory.store.ids import AgentId
from memory.store.plurals import many

DEFAULT_BUDGET = 24_000
"""Tokens for the conversation, where the agent's configuration names no context_budget."""
_TO_AGENTS = "an agent, to other agents"
_FORGOTTEN = "(removed on request)"
_LANDMARK = 16  # of so many messages about one is where a conversation that is cut may begin


def in_view(agent: Agent, history: Sequence[messages.Message]) -> list[messages.Message]:
    """The newest messages that the budget has room for."""
    budget = int(agent.config.get("context_budget", DEFAULT_BUDGET))
    kept: list[messages.Message] = []
    for message in reversed(history):
        budget -= estimate_tokens(message.text or message.tool_args or "") + 12
        if budget < 0:
            break
        kept.append(message)
    rows = list(reversed(kept))
    if len(rows) < len(history):
        rows = rows[beginning(rows) :]
    while rows and rows[0].role in ("assistant", "tool") and rows[0].agent in (None, agent.id):
        rows.pop(0)
    return rows


def beginning(rows: Sequence[messages.Message]) -> int:
    """Where a conversation that is cut begins: at the best landmark of its first quarter.

    Messages are landmarks by their ids alone, so the beginning stays the same, and with it what a provider has in
    its cache of prompts, until that one message is too old; and it is never between a call and its result.
    """
    said = [position for position, row in enumerate(rows) if row.role not in ("assistant", "tool")]
    early = [position for position in said if 4 * position < len(rows)] or said[:1]
    marks = {position: zlib.crc32(str(rows[position].id).encode()) for position in early}
    for each in (_LANDMARK, _LANDMARK // 2, _LANDMARK // 4, 1):
        if marked := [position for position, mark in marks.items() if mark % each == 0]:
            return marked[0]
    return len(rows)


def earlier(compacted: Compaction | None) -> Iterable[Message]:
    """What was said before the conversation in view, in short; the same in every prompt until more is compacted."""
    if compacted is not None and compacted.summary:
        head = f"[system] Before this, {many(compacted.messages, 'message')} of this conversation, told in short:"
        yield UserMessage(f"{head}\n{quotation('a summary of earlier talk here', compacted.summary)}")


def conversation(rows: Sequence[messages.Message], own: AgentId) -> Iterable[Message]:
    """Rows as messages; a call whose result was cut off is left out.

    What other agents said is told as theirs, so that nobody takes it for its own; their calls are not shown.
    """
    answered = {row.tool_call_id for row in rows if row.role == "tool"}
    pending: AssistantMessage | None = None
    for row in rows:
        mine = row.agent in (None, own)
        if not mine and (row.tool_call_id is not None or not row.text):
            continue
        if row.role == "assistant" and mine:
            if row.tool_call_id is None:
                if pending:
                    yield pending
                pending = AssistantMessage(_said(row), (), row.created_at)
            elif row.tool_call_id in answered:
                call = Call(row.tool_call_id, row.tool_name or "", row.tool_args or "{}")
                pending = pending or AssistantMessage("", (), row.created_at)
                pending = pending._replace(calls=(*pending.calls, call))
            continue
        if pending:
            yield pending
            pending = None
        if row.deleted_at is None or row.role == "tool":
            yield _met(row)
    if pending:
        yield pending


def _met(row: messages.Message) -> UserMessage | ToolMessage:
    """What is not the agent's own: what people and other agents said, and results of calls."""
    if row.role == "tool":
        return ToolMessage(row.tool_call_id or "", row.tool_name or "", stored_result(past(row.text) or _FORGOTTEN))
    overheard = row.role == "user" and row.batch is None
    said = row.text if row.role == "user" else ""
    answer = row.role == "assistant"
    return UserMessage(heard(row), said, row.created_at, row.speaker, overheard=overheard, answer=answer)


def _said(row: messages.Message) -> str:
    """An answer of ours, with a word on it when it did not come through."""
    failed = row.delivery
    return (row.text or _FORGOTTEN) + (f"\n[this answer did not reach them: {line(failed)}]" if failed else "")


_PLATFORM = re.compile(
    r"\s*\[(?:now in [^\n]*; your answer is heard by: [^\n]*"
    r"|[^\n]* \([^\n]*\) · \d{4}-\d\d-\d\d \d\d:\d\d UTC[^\n\]]*)\][ \t]*(?:\n|$)"
)


def without_platform_lines(answer: str) -> str:
    """An answer as it was meant: small models begin theirs with the line above what they were told."""
    while echo := _PLATFORM.match(answer):
        answer = answer[echo.end() :]
    return answer


def heard(row: messages.Message) -> Quoted:
    """What was said, under the line that says by whom."""
    if row.role == "system" and row.source != agent_messages.SOURCE:
        return say("[system] {text}", text=passage(row.text))
    who = row.person if row.role == "user" else "another agent" if row.role == "assistant" else _TO_AGENTS
    return _headed(row.speaker, who, row.created_at, row.text, edited=row.edited_at is not None)


@functools.lru_cache(maxsize=1_000)
def _headed(speaker: str, who: str | None, at: datetime, text: str, *, edited: bool) -> Quoted:
    """The same words stand in every prompt of a conversation."""
    shown, when = display_name(speaker) or "somebody", at.isoformat(" ", "minutes")[:16] + " UTC"
    head = say("[{speaker} ({who}) · ", speaker=shown, who=who)
    mark = say(" · edited" if edited else "")
    return say("{head}{when}{edited}]\n{text}", head=head, when=when, edited=mark, text=passage(text))
