"""Results of operations. A result is data that renders itself as lines, in its reader's markup."""

import os
import re
from abc import ABC
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from types import GenericAlias
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, field_serializer

from bot.errors import UserError
from memory.erasure.personal_tables import ERASED
from memory.store.clock import to_text
from memory.store.ids import PersonId, code
from scheduler.times_in_words import clock_words
from sources.bluesky.identifiers import DID
from sources.text import without_unseen
from texts import _, gettext_noop, ngettext, ngettext_noop, number_text, timestamp

_MARKS = re.compile(r"(https?://\S+|<t:\d+:[DfRt]>|<[@#]\d+>|(?<!`)`[^`\n]+`(?!`))|([\\*_~|`<>\[\]#])")
_ON_BLUESKY = re.compile(rf"(?:person:)?bluesky:({DID})")
_FENCED = 3_500  # characters of code in a message; longer code becomes a file
_YEAR = timedelta(days=365.25)
_UNITS = (
    (
        _YEAR,
        ngettext_noop("in {count} year", "in {count} years"),
        ngettext_noop("{count} year ago", "{count} years ago"),
    ),
    (
        timedelta(days=1),
        ngettext_noop("in {count} day", "in {count} days"),
        ngettext_noop("{count} day ago", "{count} days ago"),
    ),
    (
        timedelta(hours=1),
        ngettext_noop("in {count} hour", "in {count} hours"),
        ngettext_noop("{count} hour ago", "{count} hours ago"),
    ),
    (
        timedelta(minutes=1),
        ngettext_noop("in {count} minute", "in {count} minutes"),
        ngettext_noop("{count} minute ago", "{count} minutes ago"),
    ),
)
_PEOPLE = ("who", "person", "other")
"""Values that are ids of people, roles or servers."""
COUNTED = {
    "bytes": ngettext_noop("{count} byte", "{count} bytes"),
    "calls": ngettext_noop("{count} call", "{count} calls"),
    "files": ngettext_noop("{count} file", "{count} files"),
    "messages": ngettext_noop("{count} message", "{count} messages"),
    "milliseconds": ngettext_noop("{count} ms", "{count} ms"),
    "records": ngettext_noop("{count} record", "{count} records"),
    "sessions": ngettext_noop("{count} session", "{count} sessions"),
    "steps": ngettext_noop("{count} step", "{count} steps"),
}
"""Fields that are counts, with their nouns."""
WORDS = (
    *(gettext_noop("archived"), gettext_noop("constellation"), gettext_noop("day"), gettext_noop("places")),
    *(gettext_noop("purpose"), gettext_noop("size"), gettext_noop("week")),
)
"""Values that are translated and not marked up."""


_SIGNS = re.compile(r"\*\*|__|`+|(?:^|(?<= ))#{1,6} ")
"""Markdown that means nothing on a line in a terminal."""


def _nobody_with_id(subject: str) -> str:
    """The owner at the terminal, and somebody who was erased, in words; empty for anybody else."""
    if subject == ERASED:
        return _(ERASED)
    return _("the owner") if subject.startswith("terminal:") else ""


class Plain(Struct, frozen=True):
    """Markup for a terminal: times in a zone, and numbers to type. Browsers need no numbers, hence `numbered`."""

    zone: str
    now: datetime
    numbered: bool = True

    def text(self, words: str) -> str:
        """People's text, escaped if the reader's program would take it for markup."""
        return without_unseen(words)

    def time(self, moment: datetime) -> str:
        """A time, with how far away it is."""
        return f"{clock_words(moment, self.zone)} ({relative(moment, self.now)})"

    def number(self, identifier: str) -> str:
        """A number that identifies something, if people have to type it; else empty."""
        return f" #{code(identifier) if identifier.isdecimal() else identifier}" if self.numbered else ""

    def code(self, text: str, _language: str) -> str:
        """Text with every character and line preserved."""
        return text

    def person(self, subject: str) -> str:
        """A person, a role or a server, by id."""
        return _nobody_with_id(subject) or subject

    def place(self, name: str) -> str:
        """A channel, by id."""
        return name

    def quote(self, words: str) -> str:
        """A line of people's text, set off from the rest."""
        return self.text(_SIGNS.sub("", words))

    def small(self, words: str) -> str:
        """A less important line; `words` are already rendered."""
        return f"  {words}"


class Markdown(Struct, frozen=True):
    """Markup for Discord, whose clients show times in the reader's zone and suggest numbers."""

    def text(self, words: str) -> str:
        return _MARKS.sub(lambda found: found[1] or f"\\{found[2]}", words)

    def time(self, moment: datetime) -> str:
        return timestamp(moment)

    def number(self, _identifier: str) -> str:
        return ""

    def code(self, text: str, language: str) -> str:
        fenced = f"```{language}\n{text.replace('```', '` ` `')}\n```"
        return fenced if len(fenced) <= _FENCED else text

    def person(self, subject: str) -> str:
        kind, _colon, number = subject.replace("discord:", "").removeprefix("person:").rpartition(":")
        known = {"": f"<@{number}>", "role": f"<@&{number}>", "guild": _("the server `{number}`", number=number)}
        if words := _nobody_with_id(subject):
            return words
        if profile := _ON_BLUESKY.fullmatch(subject):
            return _("[somebody on Bluesky](<{profile}>)", profile=f"https://bsky.app/profile/{profile[1]}")
        return known.get(kind, subject) if "discord:" in subject else f"`{subject}`" if ":" in subject else subject

    def place(self, name: str) -> str:
        number = name.removeprefix("discord:")
        return f"<#{number}>" if number.isdecimal() else f"`{name}`"

    def quote(self, words: str) -> str:
        return f"> {self.text(words)}"

    def small(self, words: str) -> str:
        return f"-# {words}"


Markup: TypeAlias = Plain | Markdown
"""Renderers of values for one kind of reader."""


def relative(moment: datetime, now: datetime) -> str:
    """How far away a time is, in its largest unit, and in years from two on: "in 2 hours", "3 days ago"."""
    away, later = abs(moment - now), moment > now
    for unit, ahead, ago in _UNITS:
        # Tomorrow evening is not "in 2 days". The hour allows for times set as a number of days from now.
        days = (away + timedelta(hours=1)) // unit if unit == timedelta(days=1) else round(away / unit)
        if count := days if away >= (2 * unit if unit is _YEAR else unit) else 0:
            return ngettext(*(ahead if later else ago), count)
    # `now` may be the start of the call in which this was decided.
    return _("in less than a minute") if moment - now > timedelta(seconds=5) else _("just now")


def forgotten(count: int) -> str:
    """Confirms that something is forgotten, together with a number of messages."""
    if not count:
        return _("Forgotten.")
    return ngettext("Forgotten. {count} message went with it.", "Forgotten. {count} messages went with it.", count)


class _Values(dict[str, str]):
    """The values of a result as a reader sees them, by name."""

    def __init__(self, of: BaseModel, markup: Markup, more: Mapping[str, str]) -> None:
        super().__init__(more)
        self._of, self._markup = of, markup

    def __missing__(self, name: str) -> str:
        match getattr(self._of, name):
            case None:
                return ""
            case Row() as row:
                return row.line(self._markup)
            case datetime() as moment:
                return self._markup.time(moment)
            case bool() as yes:
                return str(yes)
            case int() as count:
                return ngettext(*COUNTED[name], count) if name in COUNTED else number_text(count)
            case str() as person if (
                name in (fields := type(self._of).model_fields) and fields[name].annotation is PersonId
            ):
                return self._markup.person(person)
            case tuple() as several:
                return ", ".join(self._markup.text(str(each)) for each in several)
            case value:
                return self._markup.number(str(value)) if name == "id" else self._markup.text(str(value))


def _value(record: Any, path: str) -> Any:
    for name in path.split("."):
        record = record[name] if hasattr(record, "keys") else getattr(record, name)
    return record


class _Data(BaseModel, ABC):
    """The values for programs, with times in stored form."""

    model_config = ConfigDict(
        frozen=True, coerce_numbers_to_str=True, defer_build=True, validate_by_name=True, validate_by_alias=False
    )

    def __class_getitem__(cls, row: object) -> Any:
        """The kind of row is for type checkers and descriptions only: a pydantic class for each would take 10 kB."""
        return GenericAlias(cls, row)

    phrase: ClassVar[str] = ""
    """The catalog text that describes it, with names of values in braces."""

    @classmethod
    def from_record(cls, record: object, **more: Any) -> Self:
        """A result with the values of a record or a database row, each by its field's name or `validation_alias`, and
        `more`.

        An alias can be a path, such as "limit.usd". None becomes the empty text in a text field.
        """
        for name, field in cls.model_fields.items():
            with suppress(AttributeError, LookupError):  # what a record lacks is given or has a default
                value = more[name] if name in more else _value(record, str(field.validation_alias or name))
                more[name] = "" if value is None and field.annotation is str else value
        return cls(**more)

    def told(self, markup: Markup, text: str = "", **more: str) -> str:
        """A catalog text, by default `phrase`, with values as this reader sees them; `more` is inserted unchanged."""
        return _(text or self.phrase).format_map(_Values(self, markup, more))

    @field_serializer("*", mode="wrap", when_used="json")
    def _as_stored(self, value: Any, usual: SerializerFunctionWrapHandler) -> Any:
        if isinstance(value, Struct):
            return msgspec.to_builtins(value)
        # a time on somebody's clock keeps its offset
        stored = isinstance(value, datetime) and not value.utcoffset()
        return to_text(value) if stored else usual(value)


class Result(_Data):
    """The result of an operation."""

    def lines(self, markup: Markup) -> list[str]:
        """The lines for a person."""
        return [self.told(markup)]

    def data(self) -> Any:
        """The data for a program; a row is merged with the other values."""
        row = getattr(self, "row", None)
        return {**(row.model_dump(mode="json") if row else {}), **self.model_dump(mode="json", exclude={"row"})}

    def terminal(self, markup: Markup) -> str:
        return "\n".join(self.lines(markup))

    def aside(self, _markup: Markup) -> str:
        """A remark on standard error at a terminal, so that the result itself can be redirected to a file."""
        return ""

    @property
    def document(self) -> str:
        """A text that Discord delivers as a file."""
        return ""

    def attachment(self, clean: Callable[[str], str]) -> bytes:
        """The content of that file; `clean` removes secrets from a text. It can take long."""
        return clean(self.document).encode("utf-8", "replace")

    @property
    def code(self) -> int:
        """The exit code of a command that prints this; above 0 if something needs attention."""
        return 0


class WrittenFile(Result):
    """A document that can be written to a file instead."""

    file: str = ""
    """The file it was written to; empty if none."""

    def written(self, path: Path | None) -> Self:
        """Write to a new file, if one is wanted; an incomplete file is removed. Raises UserError."""
        if path is None:
            return self
        content = self.attachment(str)
        try:
            file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
            try:
                with file:
                    file.write(content)
            except OSError:
                path.unlink(missing_ok=True)
                raise
        except FileExistsError:
            raise UserError(
                "{path} already exists, so nothing was written. Name another file with `--output`.", path=path
            ) from None
        except OSError as error:
            raise UserError("{path} could not be written: {error}.", path=path, error=error.strerror) from error
        return self.model_copy(update={"file": str(path)})


class Sentence(Result):
    """A result that is only a sentence."""

    text: str

    def lines(self, markup: Markup) -> list[str]:
        return [markup.text(line) for line in self.text.split("\n")]


class ActionReport(Result):
    """A report of an action: a catalog text and its values, which are all that programs get."""

    model_config = ConfigDict(extra="allow")

    sentence: str = Field(exclude=True)

    def lines(self, markup: Markup) -> list[str]:
        people = {name: markup.person(each) for name, each in self._values.items() if name in _PEOPLE}
        return self.told(markup, self.sentence, **people).rstrip().split("\n")

    def data(self) -> Any:
        times = {name: to_text(each) for name, each in self._values.items() if isinstance(each, datetime)}
        return {**super().data(), **times}

    @property
    def _values(self) -> dict[str, Any]:
        return self.model_extra or {}


def report(sentence: str, /, **values: Any) -> ActionReport:
    return ActionReport.model_validate({"sentence": sentence, **values})


class Row(_Data):
    """One item of a list; its first value names it."""

    suggested: ClassVar[str] = ""
    """The value suggested for it, if not its name."""

    @property
    def choice(self) -> tuple[str, str]:
        """The name and its display text, as a suggestion."""
        name = str(next(iter(self))[1])
        return name, str(getattr(self, self.suggested, "") or name)

    def line(self, markup: Markup) -> str:
        """The item on one line, for a list."""
        return self.told(markup)


R = TypeVar("R", bound=Row)


class Entry(Result, Generic[R]):
    """A single item with a remark on what was done, and possibly a line `more`."""

    done: str = Field(exclude=True)
    row: R
    more: str = Field(default="", exclude=True)

    def lines(self, markup: Markup) -> list[str]:
        return [f"{self.done}: {self.row.line(markup)}", *filter(None, [markup.text(self.more)])]


class Listing(Result, Generic[R]):
    """A list, possibly with a `head`; `empty` if it has no items; then possibly `more`."""

    mark: ClassVar[str] = "- "
    rows: tuple[R, ...]
    empty: str = Field(default="", exclude=True)
    more: str = Field(default="", exclude=True)
    head: str = Field(default="", exclude=True)

    @classmethod
    def of(cls, rows: Iterable[R], empty: str = "", more: str = "", head: str = "") -> Self:
        return cls(rows=tuple(rows), empty=empty, more=more, head=head)

    def lines(self, markup: Markup) -> list[str]:
        told = [f"{self.mark}{row.line(markup)}" for row in self.rows]
        shown = [*filter(None, [self.head]), *told] if told else [_(self.empty)]
        return [*shown, *filter(None, [markup.text(self.more)])]

    def data(self) -> Any:
        return [row.model_dump(mode="json") for row in self.rows]


class Lines(Listing[R], Generic[R]):
    """A list with one item per line."""

    mark: ClassVar[str] = ""
