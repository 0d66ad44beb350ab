"""Strategies for compacting a long conversation: their configuration, and which messages leave the view.

Pure functions. Turns leave as a whole: no call is ever shown without its result, nor a result without its call. The
newest turn always stays.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Annotated, Literal, TypeAlias

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic import model_validator as validate_model

from memory.knowledge.summaries import position
from memory.queue.messages import Message
from memory.store.ids import MessageId

Size: TypeAlias = Callable[[Message], int]
"""The estimated tokens of a message."""

_FULL, _ROOM = 0.8, 0.5
"""Shares of the token budget: where compaction begins, and what it leaves."""
_AGED = 10  # minimum number of old messages before any leave, so that prompts seldom change


class _Limits(BaseModel):
    """The limits of every strategy: the number of messages from which it acts, and of the newest that it keeps."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    max_messages: int = Field(default=160, ge=4, le=220)
    keep_recent: int = Field(default=60, ge=1, le=200)

    @validate_model(mode="after")
    def _leaves_something(self) -> "_Limits":
        if self.keep_recent >= self.max_messages:
            raise ValueError(f"keep_recent below max_messages = {self.max_messages}, not {self.keep_recent}")
        return self


class Truncate(_Limits):
    """Older messages leave the view."""

    strategy: Literal["truncate"] = "truncate"


class RecursiveSummarization(_Limits):
    """Older messages are summarized, together with the previous summary."""

    strategy: Literal["recursive_summarization"] = "recursive_summarization"
    chunk_messages: int = Field(default=60, ge=2, le=200)
    model: str = ""
    prompt: str = ""


class Importance(_Limits):
    """Of the older messages, those that seem most important stay."""

    strategy: Literal["importance"] = "importance"
    keep_important: int = Field(default=20, ge=1, le=100)
    keywords: tuple[str, ...] = ("important", "remember", "critical", "always", "never")


class TimeDecay(_Limits):
    """Messages leave the view when they reach this age."""

    strategy: Literal["time_decay"] = "time_decay"
    after_hours: Annotated[float, Field(gt=0, le=24 * 366)] = 24


Strategy: TypeAlias = Annotated[
    Truncate | RecursiveSummarization | Importance | TimeDecay, Field(discriminator="strategy")
]
STORED: TypeAdapter[Strategy | None] = TypeAdapter(Strategy | None)


class Plan(Struct, frozen=True):
    """A compaction: the turns up to `end` leave the view, except the messages `kept`."""

    leaving: tuple[Message, ...]
    kept: frozenset[MessageId]
    end: int


class View(Struct, frozen=True):
    """A conversation: messages kept from before, then those after the compacted ones, in order."""

    messages: Sequence[Message]
    budget: int
    """The token budget."""
    size: Size
    now: datetime

    def tokens(self) -> int:
        return sum(map(self.size, self.messages))


def plan(strategy: Strategy, view: View) -> Plan | None:
    """The compaction that is due now; None if there is room, or if all is one turn."""
    full = len(view.messages) > strategy.max_messages or view.tokens() > _FULL * view.budget
    if isinstance(strategy, TimeDecay) and not full:
        older = view.now - timedelta(hours=strategy.after_hours)
        old, _rest = _split(view, lambda count, _tokens, at: count > strategy.keep_recent and at < older)
        return _planned(strategy, old) if len(old) >= _AGED else None
    if not full:
        return None
    return _planned(strategy, _split(view, _beyond(strategy.keep_recent, _ROOM * view.budget))[0])


def forced(strategy: Strategy, view: View) -> Plan | None:
    """The compaction when the model accepts no more: the older half leaves, whatever the strategy's limits."""
    half = view.tokens() / 2
    return _planned(strategy, _split(view, _beyond(strategy.keep_recent, half))[0])


def _beyond(most: int, tokens: float) -> Callable[[int, int, datetime], bool]:
    return lambda count, so_far, _at: count > most or so_far > tokens


def _split(view: View, leaves: Callable[[int, int, datetime], bool]) -> tuple[list[Message], list[Message]]:
    """The turns that leave and those that stay: going back from the newest, until `leaves` returns true.

    It gets the number of messages and tokens that stay if this turn stays, and the time of the turn's newest message.
    """
    turns = [list(group) for _, group in groupby(view.messages, key=position)]
    count = tokens = 0
    for number in range(len(turns) - 1, -1, -1):
        count += len(turns[number])
        tokens += sum(map(view.size, turns[number]))
        newest = number == len(turns) - 1
        if not newest and leaves(count, tokens, max(message.created_at for message in turns[number])):
            return _flat(turns[: number + 1]), _flat(turns[number + 1 :])
    return [], list(view.messages)


def _flat(turns: Iterable[list[Message]]) -> list[Message]:
    return [message for turn in turns for message in turn]


def _planned(strategy: Strategy, leaving: Sequence[Message]) -> Plan | None:
    if not leaving:
        return None
    kept = important(strategy, leaving) if isinstance(strategy, Importance) else frozenset[MessageId]()
    return Plan(tuple(leaving), kept, max(map(position, leaving)))


def important(strategy: Importance, messages: Sequence[Message]) -> frozenset[MessageId]:
    """The most important messages, among those of people and the agent that make sense alone."""
    said = [message for message in messages if message.text and message.role != "tool" and not message.tool_call_id]
    scored = {message.id: score(strategy, message, number / len(said)) for number, message in enumerate(said)}
    best = sorted(said, key=lambda message: (scored[message.id], message.id), reverse=True)
    return frozenset(message.id for message in best[: strategy.keep_important])


def score(strategy: Importance, message: Message, recency: float) -> float:
    """The estimated importance of a message: its speaker, age (recency 0 to 1), length, questions and names.

    The weights are those of the reference system: people 5, the service 10, the agent 3; recency 5; length up to 3; a
    question 2; each keyword 1.5.
    """
    by = {"user": 5.0, "system": 10.0, "assistant": 3.0}.get(message.role, 1.0)
    words = message.text.casefold()
    length = min(len(words) / 200, 3.0)
    question = 2.0 if "?" in words or "？" in words else 0.0
    named = 1.5 * sum(keyword.casefold() in words for keyword in strategy.keywords)
    return by + 5 * recency + length + question + named
