"""Text for Bluesky: split into posts, with mentions, links and tags marked by byte offsets."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

from memory.store.lazy import UnicodePattern
from sources.text import CLUSTER, visible
from sources.text_splitter import split_text

MOST_GRAPHEMES = 300
MOST_DIRECT = 1_000
"""Graphemes of one direct message."""
MOST_BYTES = 3000
_MOST_TAG = 64
"""Graphemes of a tag, without its sign."""
_NUMBER_ROOM = len(" (10/10)")

_LINK = re.compile(
    r"(?:(?<![\w@/])https?://|(?<![\w@/.-]))"
    r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z](?:[/?#]\S*)?",
    re.I,
)
_MENTION = re.compile(r"(?<![\w@/.])@((?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z])(?![\w-])", re.I)
_TAG = UnicodePattern(r"(?<![\w#/])#(?!\ufe0f|\u20e3)((?=\S*[^\d\s\p{P}])[^\s#]+)")
_END = ".,;:!?'\"”’»"
_TOP = frozenset(
    {"com", "org", "net", "io", "dev", "app", "social", "blue", "edu", "gov", "info", "me", "co", "uk", "de"}
)
"""Names without a scheme are links only under these: `main.py` is not one."""


def graphemes(text: str) -> int:
    return len(text) if text.isascii() and "\r" not in text else sum(1 for _ in CLUSTER.finditer(text))


def fits(text: str) -> bool:
    return _size(text) <= MOST_GRAPHEMES


def shortened(text: str, room: int) -> str:
    """The beginning of a text, at most so many graphemes."""
    return "".join(each[0] for each, _ in zip(CLUSTER.finditer(text), range(room), strict=False))


def posts(text: str, most: int = MOST_GRAPHEMES, *, numbered: bool = False) -> list[str]:
    """The posts for a text, in order; empty for an invisible one. With `numbered`, each contains its number."""
    text = text.strip()
    if not visible(text):
        return []
    if _size(text) <= most:
        return [text]
    found = [each.strip() for each in split_text(text, most - (_NUMBER_ROOM if numbered else 0), _size)]
    return [f"{each} ({n}/{len(found)})" for n, each in enumerate(found, 1)] if numbered else found


def _size(text: str) -> float:
    """The number of graphemes, where one with many bytes counts as more."""
    by_bytes = len(text.encode("utf-8")) * MOST_GRAPHEMES / MOST_BYTES
    return by_bytes if by_bytes > MOST_DIRECT else max(graphemes(text), by_bytes)  # to count graphemes takes long


class Mark(Struct, frozen=True):
    """A part of a text, in characters, and its kind."""

    start: int
    end: int
    kind: Literal["link", "mention", "tag"]
    value: str


def marks(text: str) -> list[Mark]:
    """Links, mentions and tags of a text, in order and without overlap: links take precedence, then the earlier one."""
    found: list[Mark] = []
    for link in _LINK.finditer(text):
        words = _trimmed(link[0])
        host = re.sub(r"^https?://", "", words, flags=re.I).split("/")[0].split("?")[0].split("#")[0]
        if words.lower().startswith("http") or host.rpartition(".")[2].lower() in _TOP:
            url = words if words.lower().startswith("http") else f"https://{words}"
            found.append(Mark(link.start(), link.start() + len(words), "link", url))
    more = [Mark(each.start(), each.end(), "mention", each[1].lower()) for each in _MENTION.finditer(text)]
    for tag in _TAG.finditer(text):
        words = tag[1].rstrip(_END + ")")
        if words and graphemes(words) <= _MOST_TAG:
            more.append(Mark(tag.start(), tag.start() + 1 + len(words), "tag", words))
    for each in sorted(more, key=lambda mark: mark.start):
        if not any(each.start < other.end and other.start < each.end for other in found):
            found.append(each)
    return sorted(found, key=lambda mark: mark.start)


def handles(text: str) -> list[str]:
    return list(dict.fromkeys(mark.value for mark in marks(text) if mark.kind == "mention"))


def facets(text: str, resolved: Mapping[str, str]) -> list[dict[str, Any]]:
    """The marks in a record's form. Mentions of handles without a DID in `resolved` stay plain text."""
    features: dict[str, Callable[[str], dict[str, str]]] = {
        "link": lambda url: {"$type": "app.bsky.richtext.facet#link", "uri": url},
        "tag": lambda tag: {"$type": "app.bsky.richtext.facet#tag", "tag": tag},
        "mention": lambda handle: {"$type": "app.bsky.richtext.facet#mention", "did": resolved[handle]},
    }
    found = []
    for mark in marks(text):
        if mark.kind == "mention" and mark.value not in resolved:
            continue
        start = len(text[: mark.start].encode("utf-8"))
        end = start + len(text[mark.start : mark.end].encode("utf-8"))
        found.append({"index": {"byteStart": start, "byteEnd": end}, "features": [features[mark.kind](mark.value)]})
    return found


def _trimmed(link: str) -> str:
    """A link without the punctuation of the sentence around it."""
    link = link.rstrip(_END)
    while link.endswith(")") and link.count(")") > link.count("("):
        link = link[:-1].rstrip(_END)
    return link
