"""What others wrote inside a prompt: the one way for it to come there, and how long it is.

A prompt has marks of its own: lines in brackets that say who speaks, `<quoted …>` and `<block:…>`. Text that people,
pages, files or other programs wrote becomes a `Quoted` here before it stands in one, so that nothing in it passes for
such a mark: it is one `line`, or a `passage` of several lines, which mostly stands in a `quotation`. Whatever renders
a prompt takes `Quoted`, which a plain string is not, and `say` puts the pieces together.
"""

import functools
import re
import string
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memory.store.patterns import Pattern
from sources.text import ANGLES, MAX_NAME, SQUARES, flatten, without_unseen

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
_BREAKS = Pattern(r"\s+")
_LONGEST_LINE = 100_000
_SOURCE = 300  # characters of where a quotation comes from


class Quoted(str):
    """Text that may stand in a prompt. Made in this module only."""

    __slots__ = ()


NOTHING = Quoted("")


def passage(text: str) -> Quoted:
    """Several lines that somebody wrote: nothing unseen in them, and a backslash before whatever looks like a mark of
    ours, which is `[` at a line's beginning and the tags of quotations and blocks."""
    return text if isinstance(text, Quoted) else Quoted(_HEADS.sub(r"\1\\", _without_tags(text)))


def within_block(text: str) -> Quoted:
    """The same for what stands in a block; the times with which lines of a log begin stay as they are."""
    return Quoted(_HEADS_BUT_TIMES.sub(r"\1\\", _without_tags(text)))


def as_written(text: str) -> str:
    """What a model repeats of a passage as it was before: without our backslashes, so that it is found again."""
    return _OUR_SLASHES.sub(lambda found: found[1] or "", text) if "\\" in text else text


def _without_tags(text: str) -> str:
    return _TAGS.sub(_escaped, without_unseen(text))


def _escaped(found: re.Match[str]) -> str:
    name = unicodedata.normalize("NFKC", found[1]).casefold()
    return f"\\{found[0]}" if name.startswith(_MARKS) else found[0]


def line(text: str, limit: int = _LONGEST_LINE) -> Quoted:
    flat = _BREAKS.sub(" ", text).strip()
    cut = flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"
    return passage(cut)


def display_name(text: str, limit: int = MAX_NAME) -> Quoted:
    """What somebody or something is called; empty when nothing of it can be seen."""
    return line(flatten(text, limit))


def place_name(text: str) -> Quoted:
    """What a place is called, with the sign of a channel before it."""
    if _PLACE_ID.fullmatch(text):
        return line(text)
    sign = "#" if text.startswith("#") else ""
    return Quoted(sign + display_name(text.removeprefix("#"), 160))


def attribute(text: str) -> Quoted:
    """A few words inside the quotes of a tag."""
    return Quoted(line(text, _SOURCE).replace('"', "'").replace("<", "(").replace(">", ")"))


def quotation(source: str, text: str, reason: str = "") -> Quoted:
    why = f' reason="{attribute(reason)}"' if reason else ""
    return Quoted(f'<quoted from="{attribute(source)}"{why}>\n{passage(text)}\n</quoted>')


class _Sentence(string.Formatter):
    """Puts values into a sentence of ours: words as one line, unless they are quoted already."""

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return _shown(super().get_value(key, args, kwargs))


_SENTENCE = _Sentence()


def say(sentence: str, /, **values: object) -> Quoted:
    """Words of ours with values in them. `sentence` is a literal: what others wrote is a value."""
    if (parts := _plain_parts(sentence)) is None:
        return Quoted(_SENTENCE.vformat(sentence, (), values))
    return Quoted("".join(f"{before}{_shown(values[name]) if name else ''}" for before, name in parts))


@functools.lru_cache(maxsize=1_000)
def _plain_parts(sentence: str) -> tuple[tuple[str, str], ...] | None:
    """A sentence taken apart, where its values stand in it as they are; None for any other."""
    found = [*_SENTENCE.parse(sentence)]
    if any(spec or conversion or (name is not None and not name.isidentifier()) for _, name, spec, conversion in found):
        return None
    return tuple((before, name or "") for before, name, _, _ in found)


def _shown(value: object) -> object:
    return line(value) if isinstance(value, str) and not isinstance(value, Quoted) else value


def joined(parts: Iterable[Quoted], between: str = "\n") -> Quoted:
    """Those of the parts that say anything, one after the other."""
    return Quoted(between.join(filter(None, parts)))


def indented(text: str) -> Quoted:
    """Lines of a file or an entry in a listing, none of which begins where a row does."""
    return joined(map(passage, text.splitlines()), "\n    ")


def stored_result(text: str) -> Quoted:
    """A tool's result as it was stored: quoted then, but for versions that did not and files of others that were
    imported, and it may have been cut. What is not a whole quotation of ours is escaped."""
    lines, opened = list[str](), 0
    for each in without_unseen(text).split("\n"):
        ours = _OUR_TAG.fullmatch(each)
        counts = ours is not None and (ours[1] is None or opened > 0)
        if ours is not None and counts:
            opened += 1 if ours[1] is None else -1
        lines.append(each if counts else passage(each))
    return Quoted("\n".join([*lines, *["</quoted>"] * opened]))


def estimate_tokens(text: str) -> int:
    """A guess where no provider counts: 3.6 characters a token, 1.1 tokens a CJK character (measured averages)."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return int((len(text) - wide) / 3.6 + wide * 1.1) + 1
