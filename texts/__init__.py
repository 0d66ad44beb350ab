"""The fixed texts that people read: English in the code, German and Japanese in catalogs.

`_` and `ngettext` translate when they are called, into the language of whoever is being answered, and write a moment
among the values as that reader reads times. The catalogs (`de.po`, `ja.po`) are collected and compiled by
`make generate`; docs/translations.md tells how.
"""

import functools
import gettext
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import Context, ContextVar, copy_context
from datetime import UTC, datetime, time
from pathlib import Path
from string import Formatter
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
A = TypeVar("A")

FOLDER = Path(__file__).parent
LANGUAGES = ("de", "ja")
"""Those with a catalog, beside English."""

DOMAIN = "carina"
Times: TypeAlias = Callable[[datetime], str]
DAY_END = time(23, 59, 59)
"""When something is due that has only a day: people read of that day alone."""


def in_utc(moment: datetime) -> str:
    """A moment for logs, and for readers whose clocks are not known."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


_language: ContextVar[str | Callable[[], str]] = ContextVar("language", default="en")
_times: ContextVar[Times] = ContextVar("times", default=in_utc)
_source: ContextVar[str] = ContextVar("source", default="terminal")
_to_owner: ContextVar[bool] = ContextVar("to_owner", default=False)
_SLASHED = "discord", "page"
"""Where commands are slash commands."""
_COMMAND = re.compile(r"`carina ([^`]+)`")
_END = r"[.;:!?](?=\s|$)|[。；：\n]"
_CLAUSE = re.compile(rf"(?:(?!{_END})\S(?:(?!{_END}).)*)?`carina [^`]+`(?:(?!{_END}).)*")
"""A part of a message that names a command."""


def language_of(locale: str) -> str:
    """The language that a locale such as "de-AT" or "ja_JP.UTF-8" is answered in; English where there is no other."""
    code = re.split(r"[-_.@]", locale, maxsplit=1)[0].lower()
    return code if code in LANGUAGES else "en"


def language() -> str:
    """The language of whoever is being answered."""
    spoken = _language.get()
    return spoken if isinstance(spoken, str) else language_of(spoken())


def speak(locale: str | Callable[[], str]) -> None:
    """Answer in the language of a locale, or of what it is at the time, from now on: in this task or, before any
    begins, everywhere."""
    _language.set(language_of(locale) if isinstance(locale, str) else locale)


def show_times(write: Times) -> None:
    """Write moments like that from now on, in this task or, before any begins, everywhere."""
    _times.set(write)


def source() -> str:
    """Where what is written is read: "terminal", "discord", or "page" for a person's own."""
    return _source.get()


def read_on(source: str, *, to_owner: bool = False) -> None:
    """Write what is read there from now on, in this task: on Discord, moments are its timestamps, which each reader
    sees in their own zone, and commands are slash commands, as they are on a person's own page. Commands of the
    terminal are named to the owner alone."""
    _source.set(source)
    _to_owner.set(to_owner)


@contextmanager
def reading(source: str, *, to_owner: bool = False) -> Iterator[None]:
    """Write what is read there inside the context."""
    with _within(_source, source), _within(_to_owner, to_owner):
        yield


@contextmanager
def _within(variable: ContextVar[T], value: T) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def moment_text(moment: datetime, source: str = "") -> str:
    """A moment as whoever is being answered, or reads it there, reads times."""
    return timestamp(moment) if (source or _source.get()) == "discord" else _times.get()(moment)


def timestamp(moment: datetime) -> str:
    """A moment on Discord; the day alone if it is `DAY_END` on the clock that it is given on."""
    stamp = int(moment.timestamp())
    return f"<t:{stamp}:{'D' if moment.time() == DAY_END else 'f'}>, <t:{stamp}:R>"


@functools.cache
def slash_names() -> Mapping[str, str]:
    """The words of each command on Discord, by those at a terminal: {"outbox list": "owner outbox list"}."""
    return dict(json.loads((FOLDER / "slash_commands.json").read_text("utf-8")))


def speak_click() -> None:
    """Have Click, which looks into the catalog that is bound for the whole process, use ours."""
    gettext.bindtextdomain(DOMAIN, FOLDER)
    gettext.textdomain(DOMAIN)


def speaking(locale: str) -> AbstractContextManager[None]:
    """Answer in the language of a locale inside the context."""
    return _within(_language, language_of(locale))


def carried(work: Callable[[A], T]) -> Callable[[A], T]:
    """The same work for another thread, where it answers in the language of the present task."""
    context = copy_context()
    return lambda given: context.run(work, given)


def _(message: str, /, **values: object) -> str:
    """A message in the language of the reader, with values in place of its names in braces."""
    if isinstance(message, _Lazy):
        return message.told()
    spoken = language()
    text = _named(message if spoken == "en" or not message else _catalog(spoken).gettext(message))
    return text.format(**_shown(text, values)) if values else text


def _named(text: str) -> str:
    """A message with its commands as whoever is being answered gives them, or with who can give them."""
    if "`carina " not in text or _source.get() not in _SLASHED:
        return text
    return _CLAUSE.sub(_from_server, _COMMAND.sub(_slash, text))


def in_chat(text: str, known: Collection[str]) -> str:
    """A text with its commands as they are typed in a chat, where those that begin with a known word work."""
    return _COMMAND.sub(lambda found: f"`/{found[1]}`" if found[1].split()[0] in known else found[0], text)


def _slash(found: re.Match[str]) -> str:
    """A command as Discord has it, which asks for its arguments; one of the terminal as it is."""
    given = found[1].partition("{")[0].split()
    known = (slash_names().get(" ".join(given[:count])) for count in range(len(given), 0, -1))
    return next((f"`/{name}`" for name in known if name), found[0])


def _from_server(found: re.Match[str]) -> str:
    """A clause with commands of the terminal, which nobody but the owner has."""
    if _to_owner.get():
        return _COMMAND.sub(lambda each: _("`{command}` at a terminal").replace("`{command}`", each[0]), found[0])
    words = _("the person who runs me can take care of that")
    ends, before = found.string[found.end() :][:1], found.string[: found.start()].rstrip()[-1:]
    return f"{words[:1].upper()}{words[1:]}" if ends and before not in tuple(";:,") else words


def ngettext(one: str, more: str, count: float, /, **values: object) -> str:
    """The form of a message for a number, which is `{count}` in it."""
    spoken = language()
    text = _named(_catalog(spoken).ngettext(one, more, int(count) if count == int(count) else 2))
    return text.format(count=number_text(count, "," if isinstance(count, int) else "g"), **_shown(text, values))


def number_text(value: float, form: str = ",") -> str:
    """A number in a format, with the separators of whoever is being answered."""
    text = format(value, form)
    return text.translate(_GERMAN) if language() == "de" else text


def money_text(dollars: float) -> str:
    """An amount of money; a small one with what matters of it."""
    return _("${amount}", amount=number_text(dollars, ",.2f" if dollars == 0 or abs(dollars) >= 0.1 else ".4f"))


def size_text(count: int) -> str:
    """A number of bytes, in MB or kB."""
    if count >= 1_000_000:
        short = round(count / 1e6, 1)
        return f"{number_text(short, ',.0f' if short.is_integer() else ',.1f')} MB"
    return f"{number_text(math.ceil(count / 1e3))} kB"


_GERMAN = str.maketrans(",.", ".,")


class _Number:
    """One whose format in a message is that of the reader."""

    def __init__(self, value: float) -> None:
        self._value = value

    def __format__(self, form: str) -> str:
        return number_text(self._value, form)

    def __repr__(self) -> str:
        return number_text(self._value, "")


def _shown(text: str, values: dict[str, object]) -> dict[str, object]:
    """Values as this reader sees them in a message."""
    return {name: _value(each, text, name) for name, each in values.items()}


def _value(value: object, text: str = "", name: str = "") -> object:
    match value:
        case _Lazy():
            return value.told()
        case datetime():
            return moment_text(value)
        case BaseException():
            return error_text(value)
        case float() | int() if not isinstance(value, bool):
            return _Number(value)
        case str() if not value.isprintable() and any(f"{mark}{{{name}}}" in text for mark in _MARKS):
            return _flat(value)
        case _:
            return value


_MARKS = "“„「"
_LONGEST_FORM = 5  # of a value in a message, such as ",.0f"
_JOINERS = "\u200c\u200d"  # within words and emoji


def _flat(text: str) -> str:
    """What somebody wrote, to be quoted: on one line, without signs that are unseen or reorder what is around them."""
    seen = (each if each.isprintable() or each in _JOINERS else " " for each in text)
    return " ".join("".join(seen).split())


class _Lazy(str):
    """A message in English that keeps what it is made of, so that it can be shown to another reader."""

    __slots__ = ("forms", "values")
    forms: tuple[str, ...]
    values: dict[str, Any]

    def __new__(cls, forms: tuple[str, ...], values: dict[str, Any]) -> "_Lazy":
        made = super().__new__(cls, Context().run(_told, forms, values))  # where nothing is set: English, in UTC
        made.forms, made.values = forms, values
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.forms, self.values

    def told(self) -> str:
        """In the language of whoever is being answered."""
        return _told(self.forms, self.values)


def _told(forms: tuple[str, ...], values: dict[str, Any]) -> str:
    if len(forms) == 1:
        return _(forms[0], **values)
    others = {name: each for name, each in values.items() if name != "count"}
    return ngettext(forms[0], forms[1], values["count"], **others)


def gettext_lazy(message: str, /, **values: object) -> str:
    """A message in English, as logs have it; `_` shows it in the language of a reader."""
    return _Lazy((message,), values)


def ngettext_lazy(one: str, more: str, count: int, /, **values: object) -> str:
    """The same for the form of a message for a number."""
    return _Lazy((one, more), {"count": count, **values})


def join_lazy(between: str, parts: Iterable[str]) -> str:
    """Messages and other texts as one, each to be shown to another reader."""
    values = {f"part{number}": each for number, each in enumerate(parts)}
    return _Lazy((between.join(f"{{{name}}}" for name in values),), values)


def packed(text: str) -> str:
    """A message for a column, as JSON whose first element is its English; any other text that is no JSON as it is."""
    if not isinstance(text, _Lazy) and text.lstrip().startswith("["):  # somebody's, and no message of ours
        text = _Lazy(("{text}",), {"text": text})
    return json.dumps(_parts(text), ensure_ascii=False) if isinstance(text, _Lazy) else text


def unpacked(stored: str) -> str:
    """What was packed; `_` shows it in the language of a reader. Anything else, as of a damaged row, as it is."""
    try:
        found = _from_parts(json.loads(stored))
    except (ValueError, LookupError, TypeError, AttributeError):  # no JSON, or values that do not fit the message
        return stored
    return found if isinstance(found, _Lazy) else stored


def _parts(value: object) -> object:
    match value:
        case _Lazy():
            return [str(value), value.forms, {name: _parts(each) for name, each in value.values.items()}]
        case str() | int() | float():
            return value
        case datetime():
            return {"at": value.isoformat()}
        case BaseException():
            return _parts(reason_of(value))
        case _:
            return str(_value(value))


def _from_parts(value: Any) -> Any:
    match value:
        case [str(), [str(), *_] as forms, dict() as values] if all(map(_only_inserts, forms)):
            return _Lazy(tuple(forms), {name: _from_parts(each) for name, each in values.items()})
        case {"at": str(moment)}:
            return datetime.fromisoformat(moment)
        case _:
            return value


def _only_inserts(message: str) -> bool:
    """Whether a message names values alone: one that was imported could also look into them and what is behind, or
    fill the memory with spaces."""
    fields = ((name, form or "") for _said, name, form, _how in Formatter().parse(message) if name is not None)
    return all(name.isidentifier() and len(form) <= _LONGEST_FORM and "{" not in form for name, form in fields)


class TextError(Exception):
    """An error for people: its message is one of the catalog, with values in place of its names in braces."""

    def __init__(self, message: str = "", /, **values: object) -> None:
        super().__init__(message if isinstance(message, _Lazy) else gettext_lazy(message, **values))


def reason_of(error: BaseException) -> str:
    """What an error says, still to be shown to a reader with `_`."""
    first, *more = error.args or ("",)
    return first if isinstance(first, _Lazy) or (isinstance(first, str) and not more) else str(error)


def error_text(error: BaseException) -> str:
    """What an error says, in the language of whoever is being answered."""
    return _(reason_of(error))


def error_sentence(error: BaseException) -> str:
    """The same as a sentence of its own."""
    return sentence(error_text(error))


def sentence(words: str) -> str:
    """Words in the language of whoever is being answered, as a sentence of their own."""
    end = "。" if language() == "ja" else "."
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith(('.', '!', '?', '…', '。')) else end}"


def gettext_noop(message: str, /) -> str:
    """Mark a message for the catalog where it is declared; it is translated where it is shown."""
    return message


def ngettext_noop(one: str, more: str, /) -> tuple[str, str]:
    """The same for the forms of a message for numbers."""
    return one, more


@functools.cache
def _catalog(code: str) -> gettext.NullTranslations:
    return gettext.NullTranslations() if code == "en" else gettext.translation(DOMAIN, FOLDER, [code])


def many(count: float, one: str, more: str = "") -> str:
    """The number with the word for one or for more, such as "2 entries"; by default the plural adds an s."""
    number = f"{count:,}" if isinstance(count, int) else f"{count:g}"
    return f"{number} {one if count == 1 else more or f'{one}s'}"
