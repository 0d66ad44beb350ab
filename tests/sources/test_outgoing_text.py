"""Text as it leaves: nothing unseen, no link that hides where it leads."""

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sources.bluesky.post_splitting_and_facets import posts
from sources.discord.markup import units
from sources.outgoing_text import outgoing, seen, without_markup
from sources.text_splitter import split_text

EVIL = "https://evil.example/x"

# The rule by which Discord's clients read a masked link, as simple-markdown has it.
INSIDE = r"(?:\[[^\]]*\]|[^\[\]]|\](?=[^\[]*\]))*"
DRAWN = re.compile(rf"\[({INSIDE})\]\(\s*<?((?:\([^)]*\)|[^\s\\]|\\.)*?)>?(?:\s+['\"]([\s\S]*?)['\"])?\s*\)")


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (f"[https://discord.com]({EVIL})", f"https://discord.com ({EVIL})"),
        (f"see [my page]({EVIL}).", f"see my page ({EVIL})."),
        (f"[my page](<{EVIL}>)", f"my page ({EVIL})"),
        (f'[my page]({EVIL} "https://good.example")', f"my page ({EVIL})"),
        (f"[**bold** and [more]]({EVIL})", f"**bold** and [more] ({EVIL})"),
        (f"[a [b](https://b.example/1) c]({EVIL})", f"a b (https://b.example/1) c ({EVIL})"),
        (f"![picture]({EVIL})", f"!picture ({EVIL})"),
        (f"\\[https://discord.com]({EVIL}) end", f"[https://discord.com] ({EVIL}) end"),
        (f"\\[x\\] now\nsee \\[my page\\]({EVIL})", f"\\[x\\] now\nsee [my page\\] ({EVIL})"),
        (f"[a \\[b\\] c]({EVIL})", f"[a [b\\] c] ({EVIL})"),
        (f"\\\\[my page]({EVIL})", f"\\\\my page ({EVIL})"),
        ("[evil.example](https://evil.example/x)", "[evil.example](https://evil.example/x)"),
        ("[Evil.Example](https://www.evil.example/x)", "[Evil.Example](https://www.evil.example/x)"),
        (f"[{EVIL}]({EVIL})", f"[{EVIL}]({EVIL})"),
        ("[evil.example](https://evil.example.org/)", "evil.example (https://evil.example.org/)"),
        ("[page](https://en.example/wiki/A_(b))", "page (https://en.example/wiki/A_(b))"),
        ("handlers[name](argument)", "handlers[name](argument)"),
        (
            "`[words](https://a.example)` is how a link is written",
            "`[words](https://a.example)` is how a link is written",
        ),
        ("```md\n[words](https://a.example)\n```", "```md\n[words](https://a.example)\n```"),
    ],
)
def test_a_link_shows_where_it_leads(said: str, left: str) -> None:
    assert outgoing(said) == left


@pytest.mark.parametrize(
    "said",
    [
        f"**`**[x]({EVIL})`",
        f"** `** [x]({EVIL})`",
        f"> ```\n[x]({EVIL})\n```",
        f"[ `](https://a.example)[x]({EVIL})`",
        f"[label `code`]({EVIL})",
        f"https://a.example/` [x]({EVIL})`",
        f"\\`[x]({EVIL})`",
        f"```\n```\nA\n```\n[x]({EVIL})\n```",
        f"||\n```||[x]({EVIL})```",
        f"**\n```**\n[x]({EVIL})\n```",
        f"[x\n]({EVIL})",
        f"[x](  <{EVIL}>  )",
        f"[x\u200b](\u2060{EVIL})",
        f"[a]b]({EVIL})",
    ],
)
def test_no_trick_with_code_hides_a_link(said: str) -> None:
    assert f"]({EVIL}" not in re.sub(r"[\s<]", "", outgoing(said))


UNSEEN = [*"\u202e\u2066\u200b\u2060\ufeff\x1b\x07\x00\x85\u00ad\u061c\u200f", "\x1b[31;1m", "\x1b]0;title\x07"]


@pytest.mark.parametrize("mark", UNSEEN)
def test_what_nobody_sees_does_not_leave(mark: str) -> None:
    assert outgoing(f"a{mark}b") == "ab"


@pytest.mark.parametrize(
    "text",
    ["tab\tand\nline", "👩‍👩‍👧 ❤️‍🔥 🏴󠁧󠁢󠁥󠁮󠁧󠁿 👍🏽 ☎︎", "می‌خواهم", "क्‍ष", "葛\U000e0100城", "naïve Ünïcödé", "\u0600\u0661"],
)
def test_what_scripts_and_emoji_are_written_with_stays(text: str) -> None:
    assert outgoing(text) == text


def test_line_breaks_of_every_kind_are_one() -> None:
    assert seen("a\r\nb\u2028c\u2029d") == "a\nb\nc\nd"


PIECES = st.sampled_from(
    [
        *("[", "]", "(", ")", "](", "<", ">", "`", "```", "\n", " ", "*", "**", "_", "||", "~~", "\\", "!", '"', "> "),
        *(
            "words",
            "https://good.example",
            EVIL,
            f"]({EVIL})",
            f"[x]({EVIL})",
            "evil.example",
            *UNSEEN,
            "\u200d",
            "\ufe0f",
        ),
    ]
)
TEXTS = st.one_of(st.lists(PIECES, max_size=25).map("".join), st.text(max_size=60))
CODE = re.compile(r"```(?:[a-z0-9_+\-.#]+?\n)?\n*([^\n][\s\S]*?)\n*```|(`+)([\s\S]*?[^`])\2(?!`)", re.IGNORECASE)


@given(TEXTS)
def test_no_text_hides_an_address_or_a_mark(text: str) -> None:
    left = outgoing(text)
    assert outgoing(left) == left
    assert units(left) <= units(text)
    assert not [c for c in left if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    assert not set(left) & set(UNSEEN)
    code = [found.span() for found in CODE.finditer(left)]
    for link in DRAWN.finditer(left):
        if any(start <= link.start() and link.end() <= end for start, end in code):
            continue
        words, url = link[1].strip().casefold(), link[2]
        if re.match(r"[a-z][a-z0-9+.\-]*://", url):
            host = url.partition("://")[2].partition("/")[0]
            assert words in (url, host.removeprefix("www."), url.partition("://")[2], host), left


@given(st.text(max_size=200))
def test_what_can_be_seen_stays(text: str) -> None:
    plain = "".join(c for c in text if c.isalnum() and c.isascii())
    assert "".join(c for c in outgoing(text) if c.isalnum() and c.isascii()) == plain


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("**名前**さん asks: *yes* or ~~no~~ \\*hi\\*", "名前さん asks: yes or no *hi*"),
        ('What: `x_y`\n```json\n{"a": "**b** \\\\"}\n```\n-# Request 5', 'What: x_y\n{"a": "**b** \\\\"}\nRequest 5'),
        ("Not closed:\n```\n**b**", "Not closed:\n**b**"),
        ("# Title\n- item **b *i* b**", "Title\n- item b i b"),
        ("[example.com](https://example.com/x)", "https://example.com/x"),
        ("2 * 3 * 4, 2*3*4, snake_case, __init", "2 * 3 * 4, 2*3*4, snake_case, __init"),
    ],
)
def test_where_nothing_draws_markdown_its_words_are_left(marked: str, plain: str) -> None:
    assert without_markup(marked) == plain


@pytest.mark.parametrize(
    "text", ["__" * 5_000, "```a\n" * 9_999, f"a{'`' * 20_000}", "\u0301" * 20_000, "👩\u200d" * 9_999, "🇩" * 20_000]
)
def test_no_answer_is_too_odd_to_be_sent_soon(text: str) -> None:
    began = time.process_time()
    assert posts(without_markup(outgoing(text)))
    assert split_text(text, 2_000, len)
    assert time.process_time() - began < 3, "each piece took as long as all of them"
