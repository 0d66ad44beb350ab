"""Which messages of a conversation a model sees, and how they are rendered; `bot.upkeep.compaction` summarizes the
others."""

import functools
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from bot.agents.context.quotes import (
    NOTHING,
    PromptText,
    display_name,
    estimate_tokens,
    joined,
    line,
    passage,
    quotation,
    say,
    stored_result,
)
from bot.agents.context.working_memory import past
from bot.models.base import AssistantMessage, Call, Message, ToolMessage, UserMessage, parsed
from memory.agents import Agent
from memory.knowledge.summaries import Compaction
from memory.people.audience import Trust
from memory.queue import agent_messages, messages, outbox
from memory.queue.payloads import Extras, Quotation
from memory.queue.steps import CallDone, ModelAnswer, Step
from memory.store.database import Rows
from memory.store.ids import AgentId
from memory.store.recent_values import MadeOf
from sources.text import one_line
from texts import gettext_lazy, many

DEFAULT_BUDGET = 24_000
"""Tokens for the conversation if the agent has no context_budget."""
_TO_AGENTS = "an agent, to other agents"
_FORGOTTEN = "(removed on request)"
_BEGINNING = 60  # characters of our message that a reply quotes
_LANDMARK = 16  # one in so many messages is a possible start of a cut conversation


def fitting(agent: Agent, history: Sequence[messages.Message]) -> list[messages.Message]:
    """The newest messages that fit the budget."""
    budget = agent.config.context_budget or DEFAULT_BUDGET
    kept: list[messages.Message] = []
    for message in reversed(history):
        budget -= _weight(message.text or message.tool_args or "") + 12
        if budget < 0:
            break
        kept.append(message)
    rows = list(reversed(kept))
    if len(rows) < len(history):
        rows = rows[cut_point(rows) :]
    while rows and rows[0].role in ("assistant", "tool") and rows[0].agent in (None, agent.id):
        rows.pop(0)
    return rows


_weight = functools.lru_cache(maxsize=1_000)(estimate_tokens)  # the same texts are in every prompt of a conversation


def cut_point(rows: Sequence[messages.Message]) -> int:
    """Where a cut conversation begins: at the best landmark of its first quarter.

    Landmarks are chosen by message ids only, so the beginning, and with it the provider's prompt cache, stays the same
    until that message is too old; it is never between a call and its result.
    """
    said = [position for position, row in enumerate(rows) if row.role not in ("assistant", "tool")]
    early = [position for position in said if 4 * position < len(rows)] or said[:1]
    marks = {position: zlib.crc32(str(rows[position].id).encode()) for position in early}
    for each in (_LANDMARK, _LANDMARK // 2, _LANDMARK // 4, 1):
        if marked := [position for position, mark in marks.items() if mark % each == 0]:
            return marked[0]
    return len(rows)


def earlier(compacted: Compaction | None) -> Iterable[Message]:
    """The summary of messages before the conversation in view; the same in every prompt until more is compacted."""
    if compacted is not None and compacted.summary:
        head = f"[system] Before this, {many(compacted.messages, 'message')} of this conversation, told in short:"
        yield UserMessage(f"{head}\n{quotation('a summary of earlier talk here', compacted.summary)}")


def conversation(rows: Sequence[messages.Message], own: AgentId) -> list[Message]:
    """Rows as messages; a call whose result was cut off is left out.

    Messages of other agents are marked as theirs, so that no agent takes them for its own; their calls are not shown.
    """
    answered = {row.tool_call_id for row in rows if row.role == "tool"}
    said, pending = list[Message](), False  # whether the last one takes calls
    for row in rows:
        mine = row.agent in (None, own)
        if not mine and (row.tool_call_id is not None or not (row.text or row.deleted_at)):
            continue
        if row.role == "assistant" and mine:
            if row.tool_call_id is None:
                said.append(_answer(row))
                pending = True
            elif row.tool_call_id in answered:
                call = Call(row.tool_call_id, row.tool_name or "", row.tool_args or "{}")
                last = said.pop() if pending else None
                made = last if isinstance(last, AssistantMessage) else AssistantMessage("", (), row.created_at)
                said.append(made._replace(calls=(*made.calls, call)))
                pending = True
            continue
        pending = False
        if row.deleted_at is None or row.role in ("assistant", "tool"):
            said.append(_met(row))
    return said


def _read_met(row: messages.Message) -> UserMessage | ToolMessage:
    """A message that is not the agent's own: people's, other agents', and results of calls."""
    if row.role == "tool":
        return ToolMessage(row.tool_call_id or "", row.tool_name or "", stored_result(past(row.text) or _FORGOTTEN))
    overheard = row.role == "user" and row.batch is None
    said = row.text if row.role == "user" else ""
    answer = row.role == "assistant"
    return UserMessage(
        render_message(row, overheard=overheard), said, row.created_at, row.speaker, overheard=overheard, answer=answer
    )


def _read_answer(row: messages.Message) -> AssistantMessage:
    """An answer of ours, with a note if it did not arrive."""
    failed = f"\n[this answer did not reach them: {line(row.delivery)}]" if row.delivery else ""
    return AssistantMessage((row.text or _FORGOTTEN) + failed, (), row.created_at)


# The same messages are in every prompt of a conversation.
_met, _answer = MadeOf(_read_met, 1_000), MadeOf(_read_answer, 1_000)


def render_message(row: messages.Message, *, overheard: bool = False) -> PromptText:
    """A message under a line with its speaker; `overheard` if it was not addressed to an agent."""
    if row.role == "system" and row.source != agent_messages.SOURCE:
        if row.trust is Trust.WEB:
            return say("[system] News:\n{text}", text=quotation(row.speaker or "a source", row.text))
        return say("[system] {text}", text=passage(row.text))
    who = row.person if row.role == "user" else "another agent" if row.role == "assistant" else _TO_AGENTS
    marks = ("edited" if row.edited_at is not None else "", "overheard" if overheard else "")
    return _headed(row.speaker, who, row.created_at, row.text or (_FORGOTTEN if row.deleted_at else ""), marks)


@functools.lru_cache(maxsize=200)
def _headed(speaker: str, who: str | None, at: datetime, text: str, marks: tuple[str, ...]) -> PromptText:
    """Cached, because the messages that a turn answers are in the next turn's conversation."""
    shown = display_name(speaker) or "somebody"
    head = say("[{speaker} ({who}) · {when}", speaker=shown, who=who, when=_when(at))
    marked = joined([head, *(say(" · {mark}", mark=mark) for mark in marks if mark)], "")
    return say("{head}]\n{text}", head=marked, text=passage(text))


def _when(at: datetime) -> str:
    return at.isoformat(" ", "minutes")[:16] + " UTC"


def render_extras(came: Extras, answers: PromptText) -> Iterable[PromptText]:
    """What came with a message: its quote, earlier lines of the place, its files."""
    if came.background:
        yield quotation("earlier in this place", joined(map(line, came.background)))
    if answers:
        yield answers
    elif (quoted := came.quoted) is not None:
        who = "you" if quoted.by_us else quoted.speaker
        yield quotation(display_name(who), quoted.text, "the message below answers this")
    for file in came.attachments:
        size = f"{file.size} bytes"
        if file.text:
            yield quotation(f"file {file.name}, {size}", file.text)
        else:
            called, kind = display_name(file.name, 100), display_name(file.content_type)
            about = say("{name}, {kind}, {size}", name=called, kind=kind, size=size)
            yield say(
                "[attached file {about}: {why}]" if file.skipped else "[attached file {about}]",
                about=about,
                why=file.skipped,
            )


def find_quoted(
    rows: Rows, asked: messages.Message, quoted: Quotation, shown: Iterable[messages.Message]
) -> PromptText:
    """The message in view that is quoted, so that it is not shown twice; empty if unknown."""
    if quoted.by_us:
        sent = outbox.said_by_us(rows, asked.source, quoted.external_id)
        ours = [each for each in shown if each.role == "assistant" and each.text and sent and each.batch == sent.turn]
        said = line(ours[-1].text, _BEGINNING) if ours else ""
        return say('[the message below answers what you said: "{said}"]', said=said) if said else NOTHING
    known = messages.by_external(rows, asked.source, quoted.external_id)
    if known is None:
        return NOTHING
    theirs = [each for each in shown if each.text and each.person == known.person]
    near = [each.id for each in theirs if _when(each.created_at) == _when(known.created_at)]
    if known.id not in near:
        return NOTHING
    number = f", number {near.index(known.id) + 1} of {len(near)} then" if len(near) > 1 else ""
    who = display_name(known.speaker) or "somebody"
    when = _when(known.created_at) + number
    return say("[the message below answers that of {who}, {when}]", who=who, when=when)


_NAMED = ("path", "url")
_MOST, _CHARACTERS = 2, 80


def foreign_rows(history: Sequence[messages.Message], own: AgentId) -> Iterator[messages.Message]:
    """The messages in view that came from untrusted sources."""
    return (
        each for each in history if each.trust is Trust.WEB and (each.tool_call_id is None or each.agent in (None, own))
    )


def foreign_words(
    history: Sequence[messages.Message], steps: Sequence[Step], own: AgentId, *, exact: bool = True
) -> str:
    """The sources that lower a turn's trust, in words such as "text from notes.md"; empty if none do.

    Unless `exact`, only the tools are named, because the approver may not be allowed to know the arguments.
    """
    given = {row.tool_call_id: row.tool_args or "" for row in history if row.role == "assistant" and row.tool_call_id}
    read = [
        (row.tool_name or (row.speaker if row.role == "system" else ""), given.get(row.tool_call_id or "", ""))
        for row in foreign_rows(history, own)
    ]
    bodies = [step.body for step in steps]
    calls = {call.id: call.arguments for body in bodies if isinstance(body, ModelAnswer) for call in body.calls}
    read += [(b.name, calls.get(b.call, "")) for b in bodies if isinstance(b, CallDone) and b.trust < Trust.AGENT]
    named = list(dict.fromkeys(_source(tool, call if exact else "") for tool, call in reversed(read)))
    sources = ", ".join(named[:_MOST])
    if len(named) > _MOST:
        return gettext_lazy("text from {sources} and {count} more", sources=sources, count=len(named) - _MOST)
    return gettext_lazy("text from {sources}", sources=sources) if named else ""


def _source(tool: str, arguments: str) -> str:
    given = parsed(arguments)
    found = next((given[each] for each in _NAMED if given.get(each)), "")
    named = one_line(str(found), _CHARACTERS).replace("“", "'").replace("”", "'")  # the model chose these words
    return f"“{named}”" if named else tool or "an earlier message"
