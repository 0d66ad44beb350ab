"""The fixed texts that people read: English in the code, German and Japanese in catalogs.

`_` and `ngettext` translate when they are called, into the language of whoever is being answered. The catalogs
(`de.po`, `ja.po`) are collected and compiled by `make generate`; docs/translations.md tells how.
"""

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from gettext import GNUTranslations, NullTranslations
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
A = TypeVar("A")

FOLDER = Path(__file__).parent
LANGUAGES = ("de", "ja")
"""Those with a catalog, beside English."""

_language: ContextVar[str] = ContextVar("language", default="en")


def language_of(locale: str) -> str:
    """The language that a locale such as "de-AT" or "ja_JP.UTF-8" is answered in; English where there is no other."""
    code = re.split(r"[-_.@]", locale, maxsplit=1)[0].lower()
    return code if code in LANGUAGES else "en"


def language() -> str:
    """The language of whoever is being answered."""
    return _language.get()


def speak(locale: str) -> None:
    """Answer in the language of a locale from now on, in this task or, before any begins, everywhere."""
    _language.set(language_of(locale))


@contextmanager
def speaking(locale: str) -> Iterator[None]:
    """Answer in the language of a locale inside the context."""
    token = _language.set(language_of(locale))
    try:
        yield
    finally:
        _language.reset(token)


def carried(work: Callable[[A], T]) -> Callable[[A], T]:
    """The same work for another thread, where it answers in the language of the present task."""
    context = copy_context()
    return lambda given: context.run(work, given)


def _(message: str, /, **values: object) -> str:
    """A message in the language of the reader, with values in place of its names in braces."""
    if isinstance(message, _Lazy):
        return _(
            message.message,
            **{name: _(each) if isinstance(each, _Lazy) else each for name, each in message.values.items()},
        )
    spoken = _language.get()
    text = message if spoken == "en" or not message else _catalog(spoken).gettext(message)
    return text.format(**values) if values else text


def ngettext(one: str, more: str, count: float, /, **values: object) -> str:
    """The form of a message for a number, which is `{count}` in it."""
    spoken = _language.get()
    text = _catalog(spoken).ngettext(one, more, int(count) if count == int(count) else 2)
    number = f"{count:,}" if isinstance(count, int) else f"{count:g}"
    return text.format(
        count=number.replace(",", ".") if spoken == "de" and isinstance(count, int) else number, **values
    )


class _Lazy(str):
    """A message in English that keeps what it is made of, so that it can be shown in another language."""

    __slots__ = ("message", "values")
    message: str
    values: dict[str, object]

    def __new__(cls, message: str, values: dict[str, object]) -> "_Lazy":
        made = super().__new__(cls, message.format(**values) if values else message)
        made.message, made.values = message, values
        return made


def gettext_lazy(message: str, /, **values: object) -> str:
    """A message in English, as logs have it; `_` shows it in the language of a reader."""
    return _Lazy(message, values)


def gettext_noop(message: str, /) -> str:
    """Mark a message for the catalog where it is declared; it is translated where it is shown."""
    return message


def ngettext_noop(one: str, more: str, /) -> tuple[str, str]:
    """The same for the forms of a message for numbers."""
    return one, more


@functools.cache
def _catalog(code: str) -> NullTranslations:
    if code == "en":
        return NullTranslations()
    with (FOLDER / f"{code}.mo").open("rb") as file:
        return GNUTranslations(file)
