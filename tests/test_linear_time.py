"""What anybody may write costs time in proportion to its length: nothing reads the rest of it from each character."""

import io
import string
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from rich.console import Console

from bot.agents.context.quotes import as_written, passage, stored_result
from bot.agents.groups.who_answers import addressed
from bot.interfaces.cli.chat.chat_view import ChatView
from bot.interfaces.web.memory_pages import side_by_side
from bot.interfaces.web.render import excerpt, markdown
from bot.models.offline.facts import Fact, Question
from bot.models.offline.intents import Parser
from bot.models.offline.language import language
from memory.knowledge import feedback, work_extraction
from memory.knowledge.fact_extraction import statements
from memory.store import fulltext
from memory.store.errors import StoreError
from scheduler.dates import find_when, past_days
from sources.bluesky.answer_rules import opting
from sources.bluesky.post_splitting_and_facets import posts
from sources.discord.admission_and_answer_rules import Author, DiscordMessage
from sources.discord.conversion import readable
from sources.discord.markup import tables_as_code, units
from sources.names import flatten, uncalled
from sources.outgoing_text import outgoing, without_markup
from sources.terminal import Message
from sources.text import one_line
from sources.text_splitter import split_text

NOW = datetime(2026, 11, 22, 14, 3, tzinfo=UTC)
SHORT, LONG, MOST = 2_500, 10_000, 8.5
"""A text four times as long may take about twice as much time for each character: quadratic work takes four times."""
NOTICED = 0.1
"""Seconds that a long text takes at least where the two are compared."""
PIECES = [
    *(*string.punctuation, *"a1 \nあの、。🏴\u0301"),
    *("()", "[]", "[(", "\\[", "[\\", "*_", "[a](", "![", "#;", "1:", "a(", "a[a", "a.b/", "-_", "<@1", "<a"),
    *("&amp;", "http://", "[a](http://b ", "@a.b ", "a ", "1. ", "at 1 ", "in 1 h ", "und ", "a\n", "\n> ", "\n- "),
    *("**a ", "*a ", "__a ", "~~a ", "||a ", "`a ", "``` ", "```\n", "\r\n", "\n=", "|a|b|\n|-|-|\n"),
]


def screen(whole: str) -> None:
    text = whole[: len(whole) // 2]  # to draw takes long
    ChatView(Console(file=io.StringIO(), force_terminal=True, width=80)).show(Message("1", text))


def times(whole: str) -> None:
    text = whole[: len(whole) * 2 // 5]  # more is not read
    for code in ("en", "de", "ja"):
        past_days(text, NOW, code)
        with suppress(StoreError):
            find_when(text, NOW, "UTC", code)


def offline(whole: str) -> None:
    text = whole[: len(whole) * 2 // 5]  # more is not read
    for code in ("en", "de", "ja"):
        spoken = language(code)
        Parser(spoken, NOW).parse(text)
        Fact(text, spoken)
        Question(text, spoken)


def arrival(text: str) -> None:
    readable(DiscordMessage(1, Author(2, "Ann", "ann"), NOW, text), 3)
    opting(text)
    addressed(text, ["Ann", "Ann Lee"])


WAYS: dict[str, Callable[[str], object]] = {
    "an arrival": arrival,
    "a prompt": lambda text: (passage(text), as_written(text), stored_result(text)),
    "a name": lambda text: (flatten(text), one_line(text), uncalled(text, "Carina")),
    "Discord": lambda text: split_text(tables_as_code(outgoing(text)), 2_000, units),
    "Bluesky": lambda text: posts(without_markup(outgoing(text)), numbered=True),
    "a page": lambda text: (markdown(text), excerpt(text, ["a"])),
    "a terminal": screen,
    "a summary": lambda text: [work_extraction.summary(text, [text]), work_extraction.unfinished(text)],
    "the files": work_extraction.files,
    "facts": lambda text: (statements(text, own=True), feedback.corrects(text)),
    "a comparison": lambda text: side_by_side(text, f"x{text.replace('(', '[')}"),
    "a search": lambda text: fulltext.terms(text, mode="any"),
    "a time": times,
    "the offline model": offline,
}


def spent(work: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    work(text)
    return time.thread_time() - began


def texts(length: int) -> list[str]:
    """Each piece again and again, and what opens with its closing in pairs around the middle."""
    found = [piece * (length // len(piece)) for piece in PIECES]
    halves = [each[: length // 2] for each in found if set(each) & set("([{<")]
    return [*found, *(half + half[::-1].translate(str.maketrans("([{<", ")]}>")) for half in halves)]


@pytest.mark.parametrize("way", WAYS)
def test_a_text_four_times_as_long_takes_about_four_times_as_long(way: str) -> None:
    work, slow = WAYS[way], list[str]()
    for short, long in zip(texts(SHORT), texts(LONG), strict=True):
        if (taken := spent(work, long)) < NOTICED:
            continue
        before = max(spent(work, short) for _ in range(2))
        taken = min(taken, spent(work, long))
        if taken > MOST * before and taken > NOTICED:
            slow.append(f"{short[:20]!r}: {before:.3f} s and {taken:.3f} s")
    assert slow == []
