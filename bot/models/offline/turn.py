"""What one intent works with: its calls and their results, its language, and what the turn knows so far.

The data of results comes from elsewhere: what is missing is empty, what is odd is left out.
"""

import json
from collections.abc import Mapping, Sequence, Set
from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec import Struct, field

from bot.models.base import Call, ToolMessage
from bot.models.offline.language import Language
from bot.models.offline.text import date_words
from scheduler.descriptions import moment_words, rule_words
from scheduler.zones import zone_of
from sources.text import one_line

_LONGEST_TOOL_TEXT, _LONGEST_NAME, _LONGEST_LINE = 300, 60, 300
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_PLACES = {"terminal": "at_terminal", "direct": "in_direct", "dashboard": "on_dashboard", "api": "over_api"}
"""How places without a name of their own are told, by their kind (`sources.base.PlaceKind`)."""


class Lines(Struct, frozen=True):
    """What an intent has to say in the end."""

    text: str
    friendly: bool = False
    beyond: bool = False
    """Whether it is what a language model would have known or done."""
    fact: str = ""
    """A fact that was stored; several of them make one list."""


class PendingError(Exception):
    """An intent that needs calls first."""

    def __init__(self, calls: tuple[Call, ...]) -> None:
        super().__init__()
        self.calls = calls


class FailedError(Exception):
    """An intent that cannot go on; the person is told why."""


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

    @property
    def order(self) -> tuple[datetime, int, str]:
        """Orders records by time; of one moment by number."""
        return self.at or _LONG_AGO, len(self.id), self.id


def text_of(row: object, *names: str) -> str:
    """The first of these fields that is a text."""
    found = (row.get(name) for name in names) if isinstance(row, dict) else ()
    return next((value for value in found if isinstance(value, str)), "")


def number_of(row: object, name: str) -> int:
    value = row.get(name) if isinstance(row, dict) else None
    return value if isinstance(value, int) else 0


def moment_of(text: str) -> datetime | None:
    """An ISO time in UTC; None when it is none."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def read_record(row: object) -> Record | None:
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
        kind=text_of(row, "kind") or "entry",
        role=text_of(row, "role"),
        mine=mine if isinstance(mine, bool) else None,
    )


class Turn(Struct, frozen=True):
    now: datetime
    """On the clocks of who speaks."""
    zone: str
    source: str
    """Where the answer is read."""
    tools: Set[str]
    results: Mapping[str, ToolMessage]
    made: Set[str]
    """Ids of calls that were already made."""
    said: Set[str]
    """Texts of the turn itself, which are no memory."""
    agent: str
    """The name of who answers."""
    owner: bool
    """Whether nobody but the owner hears the answer."""
    answered: str = ""
    """What was answered last before."""
    overheard: Sequence[Record] = ()
    """What people said to each other, as far as it is in view."""
    gone: set[str] = field(default_factory=set)
    """Entries that this turn deletes."""


class Context(Struct, frozen=True):
    """One intent in its turn. `ident` begins the ids of its calls, the same at every step."""

    turn: Turn
    language: Language
    speaker: str
    ident: str
    files: bool = False
    """Whether files came with the message, which no rule looks at."""

    # ------------------------------------------------------------------------------------------------- its calls

    def call(self, step: str, tool: str, **arguments: Any) -> Call:
        return Call(f"{self.ident}_{step}", tool, json.dumps(arguments, sort_keys=True, ensure_ascii=False))

    def make(self, *calls: Call) -> None:
        """Raises PendingError where some were not made yet, FailedError where one needs a tool that is not there."""
        for missing in (call.name for call in calls if call.name not in self.turn.tools):
            raise FailedError(self.language.say("missing_tool", tool=missing))
        known = self.turn.made | self.turn.results.keys()
        if pending := tuple(call for call in calls if call.id not in known):
            raise PendingError(pending)

    def data(self, call: Call) -> Any:
        """The data of a call that was made. Raises FailedError where there is none."""
        result = self.turn.results.get(call.id)
        if result is not None and result.ok:
            return result.data
        if result is not None and isinstance(result.data, dict) and "waiting" in result.data:
            raise FailedError(self.language.say("waits"))
        text = one_line(result.text, _LONGEST_TOOL_TEXT) if result else self.language.say("no_result")
        raise FailedError(self.language.say("failed", text=text))

    def result(self, step: str, tool: str, **arguments: Any) -> Any:
        """The data of one call, which is made first."""
        call = self.call(step, tool, **arguments)
        self.make(call)
        return self.data(call)

    def rows(self, data: object, name: str) -> list[Any]:
        """The list under a name in the data of a call. Raises FailedError where there is none."""
        rows = data.get(name) if isinstance(data, dict) else None
        if not isinstance(rows, list):
            raise FailedError(self.language.say("failed", text=self.language.say("no_result")))
        return rows

    def records(self, data: object) -> tuple[Record, ...]:
        """What a search found, without its guesses."""
        rows = [row for row in self.rows(data, "hits") if not (isinstance(row, dict) and row.get("perhaps"))]
        return tuple(record for row in rows if (record := read_record(row)))

    # ------------------------------------------------------------------------------------------------- its words

    def say(self, phrase: str, **filled: object) -> Lines:
        return Lines(self.language.say(phrase, **filled))

    def source(self, record: Record) -> str:
        """When and where something was said, as far as that is known."""
        say, parts = self.language.say, []
        if record.at is not None:
            at = record.at.astimezone(self.turn.now.tzinfo)
            date, time = date_words(at.date(), self.language), f"{at:%H:%M}{' UTC' * (self.turn.zone == 'UTC')}"
            if self.turn.source == "discord":  # each reader sees its timestamps in their own zone
                date, time = (f"<t:{at.timestamp():.0f}:{form}>" for form in "Dt")
            parts.append(say("source_time", date=date, time=time))
        if record.place:
            where = _PLACES.get(record.place_kind, "source_place")
            parts.append(say(where, place=one_line(record.place, _LONGEST_NAME)))
        return say("source", text=say("join").join(parts)) if parts else ""

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

    def listed(self, rows: list[Any]) -> list[str]:
        """One line for each reminder, task or event."""
        return [f"- {' – '.join(filter(None, (self.what(row), self.when(row))))}" for row in rows]
