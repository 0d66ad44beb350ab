"""RSS and Atom feeds, by feedparser; iCalendar calendars, by icalendar: events that begin soon."""

import hashlib
import re
import time as clocks
from calendar import timegm
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import feedparser
from dateutil.rrule import rrulestr
from icalendar import Calendar

from sources.data_sources import Item, SourceUnreadable
from sources.text import one_line
from sources.web.html_text import parsed

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
    return Item(key, "", title or link or "(no title)", text, link, _published(entry))


def _words(html: str, most: int) -> str:
    text = parsed(html).get_text(" ") if "<" in html or "&" in html else html
    return one_line(text, most)


def _published(entry: Any) -> datetime | None:
    """The publication time; None if it is missing or invalid."""
    name = next((each for each in ("published_parsed", "updated_parsed") if each in entry), "")
    parsed = entry[name] if name else None
    try:
        return None if parsed is None else datetime.fromtimestamp(timegm(parsed), UTC)
    except (ValueError, OverflowError, OSError, TypeError):
        return None


_MOST_EVENTS = 20_000
_SECONDS = 30.0
"""For a whole calendar. A rule can name a day that never comes, or every second of each day."""
_ENDLESS = re.compile(r"INTERVAL=(?!0*[1-9])")
_RARE = ("FREQ=DAILY", "FREQ=WEEKLY", "FREQ=MONTHLY", "FREQ=YEARLY")
"""The allowed frequencies: to enumerate every second since 1970 takes too long."""


def read_calendar(body: bytes, now: datetime, ahead: timedelta) -> list[Item]:
    """The events that begin between now and `ahead` later. Raises SourceUnreadable if that cannot be determined."""
    try:
        calendar = Calendar.from_ical(body)
        events = list(calendar.walk("VEVENT"))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise SourceUnreadable("it is not a calendar: {reason}", reason=one_line(str(error))[:200]) from error
    if len(events) > _MOST_EVENTS:
        raise SourceUnreadable("the calendar has more than {most} events", most=f"{_MOST_EVENTS:,}")
    deadline = clocks.monotonic() + _SECONDS
    found = (each for event in events for each in _upcoming(event, now, now + ahead, deadline))
    return sorted(found, key=lambda item: (item.at or now, item.key))


def _upcoming(event: Any, now: datetime, until: datetime, deadline: float) -> Iterator[Item]:
    """The next occurrence of an event, if it is soon; invalid events are skipped."""
    try:
        begins = _moment(event["DTSTART"].dt)
        if begins is not None and (rule := event.get("RRULE")) is not None:
            begins = _again(begins, rule.to_ical().decode(), now, deadline)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return
    if begins is None or not now <= begins <= until or str(event.get("STATUS", "")).upper() == "CANCELLED":
        return
    title, place = (one_line(str(event.get(name, "")), 200) for name in ("SUMMARY", "LOCATION"))
    key = f"{str(event.get('UID', title))[:300]}@{begins.isoformat()}"
    yield Item(key, "", title or "(no title)", place, "", begins)


def _again(begins: datetime, rule: str, now: datetime, deadline: float) -> datetime | None:
    """The next occurrence. Raises SourceUnreadable if it is not found in time."""
    if not any(each in rule.upper() for each in _RARE) or _ENDLESS.search(rule.upper()):
        return None
    naive, after = begins.replace(tzinfo=None), now.replace(tzinfo=None)
    if "UNTIL=" in rule.upper():
        rule = ";".join(each.rstrip("Zz") if each.upper().startswith("UNTIL=") else each for each in rule.split(";"))
    for found in rrulestr(rule, dtstart=naive):
        if clocks.monotonic() > deadline:
            break
        if found >= after:
            moment: datetime = found.replace(tzinfo=UTC)
            return moment
    if clocks.monotonic() > deadline:
        raise SourceUnreadable("its events take too long to compute")
    return None


def _moment(given: datetime | date) -> datetime | None:
    """In UTC; None for an invalid time."""
    try:
        if isinstance(given, datetime):
            return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
        return datetime.combine(given, time(), UTC)
    except (ValueError, OverflowError):
        return None
