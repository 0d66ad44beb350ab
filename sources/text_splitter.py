"""Splits a long message at natural boundaries, into as many as its platform needs.

The limits are in `sources.discord.message_sender` and, with the numbers of a chain, in
`sources.bluesky.post_splitting_and_facets`.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from memory.store.lazy import Pattern, UnicodePattern
from sources.text import end_within, visible

MIN_LIMIT = 64


class _Fence(Struct, frozen=True):
    """An open code block: its start in the text being split, and its language."""

    at: int
    language: str

    @property
    def opening(self) -> str:
        return f"```{self.language}\n"


_MARKER = Pattern(r"`{3,}")
_LANGUAGE = Pattern(r"[\w+#.\-]{1,30}(?=\n)", re.ASCII)
_CLOSE = "\n```"


Measure: TypeAlias = Callable[[str], float]
"""The length of a text; that of two together is at most the sum."""


def split_text(text: str, limit: int, measure: Measure) -> list[str]:
    """Cut a text into pieces of at most `limit`, as measured.

    Cuts fall between paragraphs, lines, sentences, words, or at worst graphemes. A code block that is cut is
    closed and opened again with its language. Nothing that can be seen is lost; no piece is empty.
    """
    if limit < MIN_LIMIT:
        raise ValueError(f"limit must be at least {MIN_LIMIT}, not {limit}")
    if not visible(text):
        return []
    if measure(text) <= limit:
        return [text]
    pieces: list[str] = []
    rest: str = text
    fence: _Fence | None = None
    while rest:
        piece, rest, fence = _next_piece(rest, fence, limit, measure)
        if visible(_MARKER.sub("", piece)):
            pieces.append(piece)
    return pieces


def _next_piece(rest: str, fence: _Fence | None, limit: int, measure: Measure) -> tuple[str, str, _Fence | None]:
    """The next piece as it is sent, the rest, and the code block that is open then."""
    opening = fence.opening if fence else ""
    room = limit - len(opening) - len(_CLOSE)
    if measure(rest) <= room:
        return opening + rest + (_CLOSE if _fence_after(rest, fence) else ""), "", None
    window = end_within(rest, room, measure)
    cut = _best_cut(rest, window, inside=_fence_after(rest[:window], fence) is not None)
    cut, still = _outside_markers(rest, cut, fence)
    body, rest = rest[:cut], rest[cut:]
    if still is None:
        return opening + _TRAILING.sub("", body), _LEADING.sub("", rest), None
    if closing := re.match(r"\s*`{3,}", rest):  # the block ended here anyway
        return opening + body.rstrip("\n") + _CLOSE, _LEADING.sub("", rest[closing.end() :]), None
    return opening + body.removesuffix("\n") + _CLOSE, rest.removeprefix("\n"), _Fence(0, still.language)


def _fence_after(text: str, fence: _Fence | None) -> _Fence | None:
    """The code block that is open at the end of `text`, as Discord reads it: every marker opens or closes."""
    for marker in _MARKER.finditer(text):
        if fence is None:
            language = _LANGUAGE.match(text, marker.end())
            fence = _Fence(marker.start(), language[0] if language else "")
        else:
            fence = None
    return fence


def _outside_markers(rest: str, cut: int, fence: _Fence | None) -> tuple[int, _Fence | None]:
    """Move a cut so that it neither splits a marker nor leaves an opened block without a line."""
    for marker in _MARKER.finditer(rest, 0, cut + MIN_LIMIT):
        if marker.start() >= cut:
            break
        if cut < marker.end() and marker.start() > 0:
            cut = marker.start()
    still = _fence_after(rest[:cut], fence)
    if still is None or still is fence or still.at == 0:
        return cut, still
    inside = rest[still.at : cut].lstrip("`").removeprefix(still.language)
    return (cut, still) if visible(inside) else (still.at, None)


_WHOLE = r"(?![\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}])"
_LEADING = UnicodePattern(r"\A(?:\r\n|\s)+" + _WHOLE)
_TRAILING = UnicodePattern(r"(?<!\p{GCB=Prepend})\s+\Z")
_BOUNDARIES = (
    (0.5, UnicodePattern(r"\n[ \t]*\n\s*" + _WHOLE)),
    (0.5, UnicodePattern(r"\n" + _WHOLE)),
    (0.5, UnicodePattern(r"(?:[.!?…][\"')\]»”’]*\s+|[。！？｡]+[」』”’）]*)" + _WHOLE)),
    (0.25, UnicodePattern(r"(?:\r\n|\s)+" + _WHOLE)),
)
_CODE_BOUNDARIES = ((0.1, UnicodePattern(r"\n" + _WHOLE)), (0.25, UnicodePattern(r"(?:\r\n|\s)" + _WHOLE)))


def _best_cut(text: str, window: int, *, inside: bool) -> int:
    """The last sensible boundary in text[:window], else its end at a grapheme boundary."""
    beyond = window + 1 if text[window : window + 1].isspace() else window
    for share, pattern in _CODE_BOUNDARIES if inside else _BOUNDARIES:
        last = 0
        for found in pattern.finditer(text, 0, beyond):
            last = min(found.end(), window)
        if last > window * share:
            return last
    return window
