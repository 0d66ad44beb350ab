"""The turn so far, as one intent sees it: its calls, their results, its language."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from itertools import takewhile
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Struct

from bot.models.base import AssistantMessage, Call, Request, ToolMessage, UserMessage, is_answer
from bot.models.offline.language import Language
from scheduler.times_in_words import moment_words, past_words, rule_words
from sources.text import one_line

_LONGEST_TOOL_TEXT, _LONGEST_NAME, _LONGEST_LINE, _LONGEST_LISTED = 300, 60, 300, 160
_Moment: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]


class Lines(Struct, frozen=True):
    """Lines of the answer; `friendly`: small talk; `beyond`: a language model would have known more."""

    text: str
    friendly: bool = False
    beyond: bool = False


class PendingError(Exception):
    """An intent needs these calls first, which are its arguments."""


class FailedError(Exception):
    """An intent cannot be completed; the person is told why."""


class Record(Struct, frozen=True):
    """A row of a result: an entry, a message, a block, a reminder, a task, an event, or what a call did.

    `at`: when it was said, or is due. `mine`: whether the asker said it, where the tool knows; else names are compared.
    `under`: of which task it is a step. `ahead`: minutes ahead of an event. `rang`: if not done, whether here and when.
    """

    id: str = ""
    text: str = ""
    at: _Moment | None = None
    speaker: str = ""
    mine: bool | None = None
    place: str = ""
    place_kind: str = ""
    kind: str = "entry"
    role: str = ""
    perhaps: bool = False
    already: bool = False
    ends: _Moment | None = None
    rule: str = ""
    ahead: int = 0
    when: str = ""
    under: str = ""
    note: str = ""
    value: str = ""
    messages: int = 0
    domain: str = ""
    rows: int = 0
    rang: tuple[bool, str] | None = None

    @classmethod
    def read(cls, row: object) -> "Record":
        """A row from outside: missing or odd values are empty."""
        if isinstance(row, dict):
            given = {"text": row.get("content"), "at": row.get("due"), **row}
            with suppress(msgspec.ValidationError):
                return msgspec.convert({name: each for name, each in given.items() if each not in (None, "")}, cls)
        return cls()

    def told_by(self, speaker: str) -> bool:
        return self.speaker.casefold().strip() in ("", speaker.casefold().strip()) if self.mine is None else self.mine

    @property
    def order(self) -> tuple[datetime, int, str]:
        return self.at or datetime.min.replace(tzinfo=UTC), len(self.id), self.id


class Turn:
    """What was heard and is not answered yet, what stands before it, and the calls that were made for it.

    `heard`: what who spoke last has said since the last answer. `own`: what the same person told us before, whatever
    others said since; `answered`: the lines of the answer to it. `said`: texts of this turn. `gone`: deleted ones.
    """

    def __init__(self, request: Request, now: datetime, zone: str) -> None:
        self.request, self.now, self.zone = request, now, zone
        self.heard: list[UserMessage] = []
        since = 0
        for place, message in reversed(list(enumerate(request.messages))):
            match message:
                case AssistantMessage(calls=()) | UserMessage(answer=True):
                    break
                case UserMessage(overheard=False) if self.heard and message.speaker != self.heard[0].speaker:
                    break
                case UserMessage(overheard=False) if message.said.strip() or message.images or message.files:
                    self.heard.insert(0, message)
                    since = place
        self.before, window = request.messages[:since], request.messages[since:]
        said = (each for each in self.before if isinstance(each, UserMessage) and not (each.answer or each.overheard))
        self.own = [each for each in said if self.heard and each.speaker == self.heard[0].speaker]
        self.tools = {tool.name for tool in (*request.tools, *request.named_tools)}
        self.results = {each.call_id: each for each in window if isinstance(each, ToolMessage)}
        self.made = {call.id for each in window if isinstance(each, AssistantMessage) for call in each.calls}
        self.said = {each.said.strip() for each in self.heard}
        self.gone: set[str] = set()
        since_own = takewhile(lambda each: each not in self.own, reversed(self.before))
        self.answered = next((each.text.splitlines() for each in [*since_own][::-1] if is_answer(each)), [])


class Context(Struct, frozen=True):
    """The context of one intent in its turn. `ident` begins the ids of its calls, the same at every step."""

    turn: Turn
    language: Language
    speaker: str
    ident: str
    files: bool = False

    def call(self, step: str, tool: str, **arguments: Any) -> Call:
        return Call(f"{self.ident}_{step}", tool, json.dumps(arguments, sort_keys=True, ensure_ascii=False))

    def make(self, *calls: Call) -> None:
        """Require calls. Raises PendingError if some were not made yet, FailedError if one needs a missing tool."""
        pending = tuple(call for call in calls if call.id not in self.turn.made | self.turn.results.keys())
        for missing in (call.name for call in pending if call.name not in self.turn.tools):
            raise FailedError(self.language.say("missing_tool", tool=missing))
        if pending:
            raise PendingError(*pending)

    def failure(self, call: Call) -> str:
        """Why a call failed, which is made first; empty if it succeeded."""
        self.make(call)
        result, say = self.turn.results.get(call.id), self.language.say
        if result is not None and result.ok:
            return ""
        text = one_line(result.told_in(self.language.code), _LONGEST_TOOL_TEXT) if result else say("no_result")
        return say("waits" if result and result.waits else "failed", text=text)

    def data(self, call: Call) -> Any:
        """The data of a call, which is made first. Raises FailedError without data."""
        if failure := self.failure(call):
            raise FailedError(failure)
        return self.turn.results[call.id].data_in(self.language.code)

    def result(self, step: str, tool: str, **arguments: Any) -> Record:
        """The result of one call, which is made first."""
        return Record.read(self.data(self.call(step, tool, **arguments)))

    def rows(self, call: Call, name: str) -> list[Record]:
        """The list under a name in the data of a completed call. Raises FailedError without one."""
        data = self.data(call)
        if not (isinstance(data, dict) and isinstance(rows := data.get(name), list)):
            raise FailedError(self.language.say("failed", text=self.language.say("no_result")))
        return [Record.read(row) for row in rows]

    def hits(self, *calls: Call) -> list[Record]:
        """The hits of searches, each once and without guesses."""
        self.make(*calls)
        found = (hit for call in calls for hit in self.rows(call, "hits") if hit.text.strip() and not hit.perhaps)
        return list({hit.id: hit for hit in found}.values())

    def source(self, record: Record) -> str:
        """When and where something was said, if known; UTC is named unless it is a terminal's own time."""
        say, code, parts = self.language.say, self.language.code, []
        if record.at is not None:
            at = record.at.astimezone(self.turn.now.tzinfo)
            stamped, terminal = (self.turn.request.source == each for each in ("discord", "terminal"))
            zoned = self.turn.zone == "UTC" and bool(not terminal or at.astimezone().utcoffset())
            parts.append(say("source_time", **past_words(at, code, stamped=stamped, zoned=zoned)))
        if record.place:
            where = self.language.data["places"].get(record.place_kind, "source_place")
            parts.append(say(where, place=one_line(record.place, _LONGEST_NAME)))
        return say("source", text=say("join").join(parts)) if parts else ""

    def name(self, record: Record) -> str:
        return one_line(record.speaker, _LONGEST_NAME)

    def when(self, row: Record) -> str:
        """When a reminder, task or event is due, and how it repeats, in the speaker's language."""
        turn, code, on_discord = self.turn, self.language.code, self.turn.request.source == "discord"
        if row.at is None:
            return row.when
        words = moment_words(row.at, turn.now, turn.zone, code, ends=row.ends, stamped=on_discord)
        return self.language.say("again", when=words, rule=rule_words(row.rule, code)) if row.rule else words

    def listed(self, row: Record) -> str:
        return f"- {' – '.join(filter(None, (one_line(row.text, _LONGEST_LISTED), self.when(row))))}"

    def told(self, phrase: str, fact: str, record: Record) -> str:
        """A phrase about a statement, with its speaker, time and place."""
        return self.language.say(phrase, fact=fact, speaker=self.name(record), source=self.source(record))

    def timed(self, phrase: str, row: Record, more: str = "", **filled: object) -> Lines:
        """A phrase about a reminder, task or event, with its text, due time and other values."""
        said = self.language.say(phrase, when=self.when(row), text=one_line(row.text, _LONGEST_LINE), **filled)
        return Lines(f"{said} {more}".strip())
