"""What one intent works with: its calls and their results, its language, and what the turn knows so far.

The data of results comes from elsewhere: what is missing is empty, what is odd is left out.
"""

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

from bot.models.base import Call, ToolMessage
from bot.models.offline.language import Language
from bot.models.offline.text import date_words
from scheduler.descriptions import moment_words, rule_words
from scheduler.zones import zone_of
from sources.text import one_line

_LONGEST_TOOL_TEXT, _LONGEST_NAME, _LONGEST_LINE = 300, 60, 300


@dataclass(frozen=True)
class Lines:
    """What an intent has to say in the end."""

    text: str
    friendly: bool = False
    beyond: bool = False
    """Whether it is what a language model would have known or done."""


@dataclass(frozen=True)
class Saved(Lines):
    """A fact that was stored; several of them make one list."""

    fact: str = ""


Step: TypeAlias = Lines | tuple[Call, ...]
"""Either the answer, or the calls that are needed first."""


class Record(NamedTuple):
    """Something found in memory: an entry, a message or a block."""

    id: str
    text: str
    at: datetime | None
    speaker: str
    place: str
    place_kind: str
    """What sort of place it is (`sources.base.PlaceKind`), where the tool knows."""
    kind: str
    role: str
    mine: bool | None
    """Whether the asker said it, where the tool knows; otherwise names are compared."""

    def told_by(self, speaker: str) -> bool:
        if self.mine is not None:
            return self.mine
        return not self.speaker or self.speaker.casefold().strip() == speaker.casefold().strip()


def text_of(row: object, *names: str) -> str:
    """The first of these fields that is a text."""
    found = (row.get(name) for name in names) if isinstance(row, dict) else ()
    return next((value for value in found if isinstance(value, str)), "")


def moment_of(text: str) -> datetime | None:
    """An ISO time in UTC; None when it is none."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def read_record(row: object, kind: str = "entry") -> Record | None:
    """A row of a result; None where it holds no words."""
    text = text_of(row, "text", "content")
    if not isinstance(row, dict) or not text.strip():
        return None
    number, mine = row.get("id"), row.get("mine")
    return Record(
        id=str(number) if isinstance(number, int | str) else "",
        text=text,
        at=moment_of(text_of(row, "at")),
        speaker=text_of(row, "speaker"),
        place=text_of(row, "place"),
        place_kind=text_of(row, "place_kind"),
        kind=text_of(row, "kind") or kind,
        role=text_of(row, "role"),
        mine=mine if isinstance(mine, bool) else None,
    )


@dataclass
class Turn:
    """One turn as the request shows it."""

    now: datetime
    """On the clocks of who speaks."""
    zone: str
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
    """One intent in its turn. `ident` begins the ids of its calls, the same at every step."""

    turn: Turn
    language: Language
    speaker: str
    ident: str

    # ------------------------------------------------------------------------------------------------- its calls

    def call(self, step: str, tool: str, **arguments: Any) -> Call:
        return Call(f"{self.ident}_{step}", tool, json.dumps(arguments, sort_keys=True))

    def pending(self, *calls: Call) -> tuple[Call, ...]:
        """The calls that were not made yet. Raises Failed where one needs a tool that is not there."""
        for missing in (call.name for call in calls if call.name not in self.turn.tools):
            raise Failed(Lines(self.language.say("missing_tool", tool=missing)))
        return tuple(call for call in calls if call.id not in self.turn.made and call.id not in self.turn.results)

    def data(self, step: str) -> Any:
        """The data of a call that was made. Raises Failed where there is none."""
        result = self.turn.results.get(f"{self.ident}_{step}")
        if result is None:
            raise self.unreadable()
        if not result.ok and isinstance(result.data, dict) and "waiting" in result.data:
            raise Failed(Lines(self.language.say("waits")))
        if not result.ok:
            raise self._failed(one_line(result.text, _LONGEST_TOOL_TEXT))
        return result.data

    def rows(self, step: str, name: str) -> list[Any]:
        """The list under a name in the data of a call. Raises Failed where there is none."""
        data = self.data(step)
        rows = data.get(name) if isinstance(data, dict) else None
        if not isinstance(rows, list):
            raise self.unreadable()
        return rows

    def records(self, step: str, kind: str) -> tuple[Record, ...]:
        """What a search found."""
        found = (read_record(row, kind) for row in self.rows(step, "hits"))
        return tuple(record for record in found if record is not None)

    def number(self, step: str, name: str) -> int:
        data = self.data(step)
        value = data.get(name) if isinstance(data, dict) else None
        return value if isinstance(value, int) else 0

    def searched(self, step: str, domain: str) -> int:
        """How many rows of a domain a search looked at."""
        data = self.data(step)
        listed = data.get("searched") if isinstance(data, dict) else None
        rows = [row for row in listed or () if isinstance(row, dict)] if isinstance(listed, list) else []
        return next(
            (row["rows"] for row in rows if row.get("domain") == domain and isinstance(row.get("rows"), int)), 0
        )

    def _failed(self, text: str) -> Failed:
        return Failed(Lines(self.language.say("failed", text=text)))

    def unreadable(self) -> Failed:
        return self._failed(self.language.say("no_result"))

    # ------------------------------------------------------------------------------------------------- its words

    def say(self, phrase: str, **filled: object) -> Lines:
        return Lines(self.language.say(phrase, **filled))

    def source(self, record: Record) -> str:
        """When and where something was said, as far as that is known."""
        language, parts = self.language, []
        if record.at is not None:
            at = record.at.astimezone(self.turn.now.tzinfo)
            time = f"{at:%H:%M} UTC" if self.turn.zone == "UTC" else f"{at:%H:%M}"
            parts.append(language.say("source_time", date=date_words(at.date(), language), time=time))
        if record.place:
            known = {"terminal": "at_terminal", "direct": "in_direct"}
            where = known.get(record.place_kind, "source_place")
            parts.append(language.say(where, place=one_line(record.place, _LONGEST_NAME)))
        return language.say("source", text=language.say("join").join(parts)) if parts else ""

    def name(self, record: Record) -> str:
        return one_line(record.speaker, _LONGEST_NAME)

    def when(self, row: object) -> str:
        """When a reminder, a task or an event is due, and how it repeats, in the language of who speaks."""
        at, zone, code = moment_of(text_of(row, "at", "due")), self.turn.zone, self.language.code
        if at is None:
            return text_of(row, "when")
        words = moment_words(at, self.turn.now, zone, code)
        if ends := moment_of(text_of(row, "ends")):
            words += f"–{ends.astimezone(zone_of(zone)):%H:%M}"
        rule = text_of(row, "rule")
        return self.language.say("join").join(filter(None, (words, rule_words(rule, code) if rule else "")))

    def what(self, row: object) -> str:
        """The words of a reminder, a task or an event."""
        return one_line(text_of(row, "text"), _LONGEST_LINE)
