"""Renders templates; people's text is always escaped, and times are in the viewer's time zone."""

import importlib
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

import texts
from bot.services.agents.groups import pattern_text, role_text
from bot.services.results import relative
from memory.knowledge.facts import LABELS
from memory.store.clock import from_text
from memory.store.ids import text_mark
from scheduler.times_in_words import clock_words
from sources.names import place_title, source_name
from texts import gettext_noop, number_text

HERE = Path(__file__).parent
STATIC = HERE / "static"
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069\u061c\u200e\u200f\u200b\u2060-\u2064\ufeff]")
"""Invisible or direction-changing characters, which make a text look different from what is stored."""
_ID = re.compile(r" \((?:api|discord|bluesky|terminal|patrol):[^()\s]*\)$")
_UNITS = {"de": ((1e9, "\u00a0Mrd."), (1e6, "\u00a0Mio.")), "ja": ((1e8, "億"), (1e4, "万"))}
_EXCERPT, _BEFORE = 1_000, 200  # length of an excerpt, and of the part before the match
_WRITERS = 8  # colors that distinguish writers
_HEADINGS = {
    "about": "related to", "after": "after which task", "as_owner": "your name in the file", "begin": "start",
    "by": "group by", "count": "limit", "dead": "only failed", "domain": "area", "embedder": "embedding model",
    "ends": "end", "every": "minutes between checks", "kept_as": "path", "mine": "only mine", "newer": "newer version",
    "of": "applies to",
    "older": "older version", "only": "single change", "only_at": "expected state",
    "origin": "import", "permit": "lasting permission", "reach": "where it applies", "row": "number",
    "seen": "edited version", "tech": "technology", "to": "audience", "under": "parent task",
    "unset": "settings to reset", "usd": "limit in dollars", "what": "tool or block", "which": "number",
    "who": "person, role or server", "zone": "time zone",
}  # fmt: skip
"""What fields are called whose names, which are typed, do not say it."""


def _plain(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return (Markup if isinstance(value, Markup) else str)(_TURNING.sub("", value))


def _escaped(values: dict[str, Any]) -> dict[str, Any]:
    return {name: escape(_plain(each)) if isinstance(each, str) else each for name, each in values.items()}


def said(message: str, /, **values: Any) -> Markup:
    """A catalog text in the viewer's language; everything in it is escaped, except values made for pages."""
    return Markup(texts._(message, **_escaped(values))) if values else escape(_plain(texts._(message)))


def counted(one: str, more: str, count: int, /, **values: Any) -> Markup:
    return Markup(texts.ngettext(one, more, count, **_escaped(values)))


def bdi(text: str) -> Markup:
    """A name inside a translated sentence, isolated for either writing direction."""
    return Markup("<bdi>{}</bdi>").format(_plain(text))


def when(moment: datetime | None, empty: str = "–") -> Markup:
    """A relative time, with the exact one on hover."""
    if moment is None:
        return Markup('<span class="faint">{}</span>').format(empty)
    stamp, told = moment.astimezone(UTC).isoformat(timespec="seconds"), relative(moment, datetime.now(UTC))
    return Markup('<time datetime="{}" title="{}">{}</time>').format(stamp, texts.moment_text(moment), told)


def number(value: float | None) -> str:
    """A short number in the format of the language: 1,234 or 1.2M; 1,2 Mio.; 120万."""
    if value is None:
        return "–"
    for size, unit in _UNITS.get(texts.language(), ((1e9, "B"), (1e6, "M"), (1e3, "K"))):
        if abs(value) >= max(0.99995 * size, 1e4):  # 999,960 rounds to 1M
            short = round(value / size, 1)
            return number_text(short, ",.0f" if short.is_integer() else ",.1f") + unit
    return number_text(value, ",.0f")


def money(value: float | None) -> str:
    return "–" if value is None else texts.money_text(value)


@cache
def _markdown() -> Any:
    made = importlib.import_module("markdown_it").MarkdownIt  # only pages that show an agent's answer need it
    return made("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"]).disable("image")


def markdown(text: str) -> Markup:
    """An agent's answer as HTML; links lead only to web pages, and its own HTML is dropped."""
    made = _markdown().render(_TURNING.sub("", text))  # the renderer escapes all text
    return Markup(made.replace("<table>", '<table class="scroll">'))


def excerpt(text: str, found: Iterable[str]) -> Markup:
    """A text, or the part of a long one around the match, with the matched words marked."""
    starts = [rf"\b{re.escape(word)}\w*" if word.isascii() else re.escape(word) for word in found]
    pattern = re.compile(f"({'|'.join(starts) or '(?!)'})", re.IGNORECASE)
    first = pattern.search(text)
    begin = max(0, first.start() - _BEFORE) if first and len(text) > _EXCERPT else 0
    end = begin + _EXCERPT
    said = Markup("…" if begin else "")
    for index, part in enumerate(pattern.split(text[begin:end])):
        said += Markup("<mark>{}</mark>" if index % 2 else "{}").format(_plain(part))
    return said + ("…" if end < len(text) else "")


def colors(writers: Iterable[str]) -> dict[str, int]:
    return {each: number_ % _WRITERS for number_, each in enumerate(dict.fromkeys(filter(None, writers)))}


def named(text: str) -> str:
    """A place or person without the id in parentheses."""
    return place_title(_ID.sub("", text) or text)


def category_name(category: str) -> str:
    """The label of an entry's category: the one on the facts page if facts have it, otherwise as typed."""
    return texts._(LABELS[category]) if category in LABELS else category


def heading(name: str) -> str:
    """The English heading of a field or a group of commands."""
    return _HEADINGS.get(name) or re.sub(r"[._-]", " ", name)


def field_label(name: str) -> str:
    words = texts._(heading(name))
    return words[:1].upper() + words[1:]


@cache
def icons() -> Mapping[str, Markup]:
    shapes = re.findall(r'<symbol id="([\w-]+)"[^>]*>(.*?)</symbol>', (STATIC / "icons.svg").read_text(), re.DOTALL)
    return {name: Markup(shape) for name, shape in shapes}


_STATES = {
    "good": (
        gettext_noop("done"), gettext_noop("sent"), gettext_noop("ready"), gettext_noop("healthy"),
        gettext_noop("active"), gettext_noop("ok"), gettext_noop("allowed"), gettext_noop("approved"),
        gettext_noop("used"), gettext_noop("good"), gettext_noop("succeeded"), "working", "run", "late",
    ),
    "accent": ("claimed", gettext_noop("running"), gettext_noop("waiting"), gettext_noop("pending"), "received"),
    "warn": (
        gettext_noop("suspended"), gettext_noop("hibernated"), gettext_noop("paused"), gettext_noop("unknown"),
        gettext_noop("warning"),
    ),
    "bad": (
        "dead", gettext_noop("failed"), gettext_noop("denied"), gettext_noop("blocked"), gettext_noop("error"),
        gettext_noop("problem"), gettext_noop("broken"), "refused", "unreachable", "failing", "cannot be used",
    ),
}  # fmt: skip
_COLORS = {state: color for color, states in _STATES.items() for state in states}
_SAID = {
    "claimed": gettext_noop("being answered"), "received": "waiting", "dead": gettext_noop("failed"),
    "run": "done", "late": gettext_noop("done late"),
}  # fmt: skip


def badge(state: str) -> Markup:
    """A state or kind, in the color of its severity."""
    words = texts._(_SAID.get(state, str(state)))
    return Markup('<span class="badge {}">{}</span>').format(_COLORS.get(state, ""), _plain(words))


def icon(name: str, label: str = "") -> Markup:
    """An icon; with a label if no text stands next to it."""
    told = Markup('role="img" aria-label="{}"').format(label) if label else Markup('aria-hidden="true"')
    return Markup('<svg class="icon" viewBox="0 0 24 24" {}>{}</svg>').format(told, icons()[name])


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_plain,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "when": when,
        "clock": clock_words,
        "num": number,
        "money": money,
        "size": texts.size_text,
        "told": texts._,
        "md": markdown,
        "excerpt": excerpt,
        "words": heading,
        "label": field_label,
        "pattern": pattern_text,
        "role": role_text,
        "named": named,
        "category": category_name,
        "source": source_name,
        "bdi": bdi,
        "called_in": lambda name, called: called.get(name, name),
        "mark": text_mark,
        "moment": from_text,
    }
    made.globals |= {
        "_": said,
        "ngettext": counted,
        "language": texts.language,
        "number_text": number_text,
        "icon": icon,
        "badge": badge,
        "now": lambda: datetime.now(UTC),
    }
    return made


def render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(**values)
