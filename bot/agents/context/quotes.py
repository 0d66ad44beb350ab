"""Quotes text by others in a prompt; there is no other way to put it there.

A prompt has marks of its own: lines in brackets that name the speaker, `<quoted …>` and `<block:…>`. Text that people,
pages, files or other programs wrote becomes a `PromptText` here first, so that nothing in it can pass for such a mark:
a `line`, or a `passage` of several lines, usually inside a `quotation`. All code that renders a prompt takes
`PromptText`, not plain strings, and `say` combines the pieces.
"""

import functools
import re
import string
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memory.store.lazy import Pattern
from sources.names import MAX_NAME, flatten, place_title
from sources.text import ANGLES, SQUARES, without_unseen

_WIDE = Pattern("[\u3040-\ud7a3]")
_HEADS = Pattern(rf"^([^\S\n]*)(?=[{re.escape(SQUARES)}])", re.MULTILINE)
_HEADS_BUT_TIMES = Pattern(rf"{_HEADS.pattern}(?!\[\d{{4}}-\d\d-\d\d \d\d:\d\d\] )", re.MULTILINE)
_OUR_SLASHES = Pattern(
    rf"^([^\S\n]*)\\(?=[{re.escape(SQUARES)}])|\\(?=[{ANGLES}][\s/／⁄∕]*(?:quoted|block))", re.M | re.I
)
_OUR_TAG = Pattern(r'<quoted from="[^"<>\n]*"(?: reason="[^"<>\n]*")?>|(</quoted>)')
_TAGS = Pattern(rf"(?<!\\)[{ANGLES}](?=[\s/／⁄∕]*(\S.{{0,11}}))")
_MARKS = ("quoted", "block")
_PLACE_ID = Pattern(r"[a-z]+:[^\s()<>\[\]]+")
_LONGEST_LINE = 100_000
_SOURCE = 300  # characters of a quotation's source


class PromptText(str):
    """Text that may be part of a prompt. Created only in this module."""

    __slots__ = ()


NOTHING = PromptText("")


def passage(text: str) -> PromptText:
    """Several lines by somebody: without invisible characters, and with a backslash before anything that resembles our
    marks: `[` at the beginning of a line, and the tags of quotations and blocks."""
    if isinstance(text, PromptText):
        return text
    if text.isascii() and text.isprintable() and "[" not in text and "<" not in text:
        return PromptText(text)  # most names and short texts
    return PromptText(_HEADS.sub(r"\1\\", _without_tags(text)))


def within_block(text: str) -> PromptText:
    """A passage in a block; the times at the beginning of log lines stay unchanged."""
    return PromptText(_HEADS_BUT_TIMES.sub(r"\1\\", _without_tags(text)))


def as_written(text: str) -> str:
    """A passage that a model repeats, without our backslashes, so that it matches the original."""
    return _OUR_SLASHES.sub(lambda found: found[1] or "", text) if "\\" in text else text


def _without_tags(text: str) -> str:
    return _TAGS.sub(_escaped, without_unseen(text))


def _escaped(found: re.Match[str]) -> str:
    name = unicodedata.normalize("NFKC", found[1]).casefold()
    return f"\\{found[0]}" if name.startswith(_MARKS) else found[0]


def line(text: str, limit: int = _LONGEST_LINE) -> PromptText:
    flat = " ".join(text.split())
    cut = flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"
    return passage(cut)


def display_name(text: str, limit: int = MAX_NAME) -> PromptText:
    """The name of a person or thing; empty if it has no visible character."""
    return line(flatten(text, limit))


@functools.lru_cache(maxsize=100)
def place_name(text: str) -> PromptText:
    """The name of a place, with "#" for a channel; patrols and data sources have places as well."""
    if _PLACE_ID.fullmatch(text):
        return line(place_title(text))
    sign = "#" if text.startswith("#") else ""
    return PromptText(sign + display_name(text.removeprefix("#"), 160))


def attribute(text: str) -> PromptText:
    """A few words for an attribute of a tag."""
    return PromptText(line(text, _SOURCE).replace('"', "'").replace("<", "(").replace(">", ")"))


def quotation(source: str, text: str, reason: str = "") -> PromptText:
    why = f' reason="{attribute(reason)}"' if reason else ""
    return PromptText(f'<quoted from="{attribute(source)}"{why}>\n{passage(text)}\n</quoted>')


class _Sentence(string.Formatter):
    """Inserts values into a sentence of ours, as one line each unless they are quoted already."""

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return _shown(super().get_value(key, args, kwargs))


_SENTENCE = _Sentence()


def say(sentence: str, /, **values: object) -> PromptText:
    """A sentence of ours with values. `sentence` is a literal: text by others is a value."""
    if (parts := _plain_parts(sentence)) is None:
        return PromptText(_SENTENCE.vformat(sentence, (), values))
    said = ""
    for before, name in parts:
        value = values[name] if name else NOTHING
        said += f"{before}{value if isinstance(value, PromptText) else _shown(value)}"
    return PromptText(said)


@functools.lru_cache(maxsize=1_000)
def _plain_parts(sentence: str) -> tuple[tuple[str, str], ...] | None:
    """The parts of a sentence whose values are inserted unchanged; None for any other."""
    found = [*_SENTENCE.parse(sentence)]
    if any(spec or conversion or (name is not None and not name.isidentifier()) for _, name, spec, conversion in found):
        return None
    return tuple((before, name or "") for before, name, _, _ in found)


def _shown(value: object) -> object:
    return line(value) if isinstance(value, str) and not isinstance(value, PromptText) else value


def joined(parts: Iterable[PromptText], between: str = "\n") -> PromptText:
    """The nonempty parts, joined."""
    return PromptText(between.join(filter(None, parts)))


def indented(text: str) -> PromptText:
    """Lines of a file or an entry in a listing, indented so that none looks like a row."""
    return joined(map(passage, text.splitlines()), "\n    ")


def stored_result(text: str) -> PromptText:
    """A stored tool result. It is usually quoted, but older versions and imported files did not quote, and it may have
    been cut. Anything but a whole quotation of ours is escaped."""
    lines, opened = list[str](), 0
    for each in without_unseen(text).split("\n"):
        ours = _OUR_TAG.fullmatch(each)
        counts = ours is not None and (ours[1] is None or opened > 0)
        if ours is not None and counts:
            opened += 1 if ours[1] is None else -1
        lines.append(each if counts else passage(each))
    return PromptText("\n".join([*lines, *["</quoted>"] * opened]))


def estimate_tokens(text: str) -> int:
    """An estimate where no provider counts: 3.6 characters per token, 1.1 tokens per CJK character (measured
    averages)."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return int((len(text) - wide) / 3.6 + wide * 1.1) + 1
