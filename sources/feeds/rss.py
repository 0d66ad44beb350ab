"""RSS and Atom feeds, by feedparser."""

import hashlib
from calendar import timegm
from datetime import UTC, datetime
from typing import Any

import feedparser
from bs4 import BeautifulSoup

from sources.feeds import Item, SourceUnreadable
from sources.text import one_line

_MOST_ITEMS = 500
_LONGEST = 1_000


def read_feed(body: bytes) -> list[Item]:
    """The items of a feed, oldest first. Raises SourceUnreadable if it is not a feed."""
    found: Any = feedparser.parse(body, sanitize_html=False, resolve_relative_uris=False)
    if not found.get("version") and not found.get("entries"):
        raise SourceUnreadable("it is not an RSS or Atom feed")
    return [_item(each) for each in reversed(found["entries"][:_MOST_ITEMS])]


def _item(entry: Any) -> Item:
    title, link = _words(entry.get("title", ""), 200), str(entry.get("link", ""))[:500]
    text = _words(entry.get("summary", ""), _LONGEST)
    said = hashlib.sha256(f"{title}\n{link}".encode()).hexdigest()[:32]
    key = str(entry.get("id") or link or said)[:500]
    return Item(key, "", title or link or "(no title)", text, link, _moment(entry))


def _words(html: str, most: int) -> str:
    text = BeautifulSoup(html, "html.parser").get_text(" ") if "<" in html or "&" in html else html
    return one_line(text, most)


def _moment(entry: Any) -> datetime | None:
    """The publication time; None if it is missing or invalid."""
    name = next((each for each in ("published_parsed", "updated_parsed") if each in entry), "")
    parsed = entry[name] if name else None
    try:
        return None if parsed is None else datetime.fromtimestamp(timegm(parsed), UTC)
    except (ValueError, OverflowError, OSError, TypeError):
        return None
