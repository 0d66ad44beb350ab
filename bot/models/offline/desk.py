"""What one intent works with: its calls and their results, its language, and what the turn knows so far."""

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from bot.models.base import Call, ToolMessage
from bot.models.offline.days import write_date
from bot.models.offline.language import Language
from bot.models.offline.records import Record
from bot.models.offline.text import one_line

_LONGEST_TOOL_TEXT = 300
_LONGEST_NAME = 60


@dataclass(frozen=True)
class Lines:
    """What an intent has to say in the end."""

    text: str
    friendly: bool = False
    hint: bool = False
    """Whether it must say that no language model is configured."""


@dataclass(frozen=True)
class Saved(Lines):
    """A fact that was stored; several of them make one list."""

    fact: str = ""


Step: TypeAlias = Lines | tuple[Call, ...]
"""Either the answer, or the calls that are needed first."""


@dataclass
class Turn:
    """One turn as the request shows it."""

    now: datetime
    tools: Set[str]
    results: Mapping[str, ToolMessage]
    made: Set[str]
    """Ids of calls that were already made."""
    said: Set[str]
    """Texts of the turn itself, which are no memory."""
    agent: str = ""
    """The name of who answers."""
    gone: set[str] = field(default_factory=set)
    """Entries that this turn deletes."""


@dataclass(eq=False)
class Failed(Exception):
    """A step that cannot go on; the person is told why."""

    lines: Lines


@dataclass(frozen=True)
class Desk:
    turn: Turn
    language: Language
    speaker: str
    ident: str
    """Begins the ids of this intent's calls; the same at every step of the turn."""

    def call(self, step: str, tool: str, **arguments: Any) -> Call:
        return Call(f"{self.ident}_{step}", tool, json.dumps(arguments, sort_keys=True))

    def need(self, tool: str) -> None:
        if tool not in self.turn.tools:
            raise Failed(Lines(self.language.phrases.missing_tool.format(tool=tool)))

    def pending(self, calls: tuple[Call, ...]) -> tuple[Call, ...]:
        """The calls that were not made yet."""
        return tuple(call for call in calls if call.id not in self.turn.made and call.id not in self.turn.results)

    def data(self, step: str) -> Any:
        """The data of a call that was made."""
        result = self.turn.results.get(f"{self.ident}_{step}")
        if result is None:
            raise Failed(self.failure(self.language.phrases.no_result))
        if not result.ok and isinstance(result.data, dict) and "waiting" in result.data:
            raise Failed(Lines(self.language.phrases.waits))
        if not result.ok:
            raise Failed(self.failure(one_line(result.text, _LONGEST_TOOL_TEXT)))
        return result.data

    def failure(self, text: str) -> Lines:
        return Lines(self.language.phrases.failed.format(text=text))

    def unreadable(self) -> Failed:
        return Failed(self.failure(self.language.phrases.no_result))

    def source(self, record: Record) -> str:
        """When and where something was said, as far as that is known."""
        phrases, parts = self.language.phrases, []
        if record.at is not None:
            date = write_date(record.at.date(), self.language.calendar)
            parts.append(phrases.source_time.format(date=date, time=record.at.strftime("%H:%M")))
        if record.place:
            known = {"terminal": phrases.at_terminal, "direct": phrases.in_direct}
            where = known.get(record.place_kind, phrases.source_place)
            parts.append(where.format(place=one_line(record.place, _LONGEST_NAME)))
        return phrases.source.format(phrases.join.join(parts)) if parts else ""

    def name(self, record: Record) -> str:
        return one_line(record.speaker, _LONGEST_NAME)

    def turned(self, fact: str, longest: int = 600) -> str:
        """The person's own words seen from our side; quoted where turning would get them wrong."""
        grammar = self.language.grammar
        text = grammar.mend(one_line(fact, longest).rstrip(" .!。！"))
        if grammar.unturnable.search(text):
            return self.language.phrases.quote.format(text)
        return grammar.turn(text)

    def flows(self, turned: str) -> bool:
        flowing = self.language.grammar.flowing
        return flowing is not None and flowing.match(turned) is not None
