"""Markdown as a terminal shows it, block by block."""

import itertools
from typing import ClassVar

from msgspec import Struct
from rich.console import Console
from rich.markdown import Markdown, MarkdownContext, MarkdownElement, Paragraph
from rich.segment import Segment
from rich.text import Text, TextType


class _LiteralHtml(Paragraph):
    """Literal HTML: a terminal does not render it, and no text may get lost."""

    def on_text(self, context: MarkdownContext, text: TextType) -> None:
        super().on_text(context, str(text).rstrip("\n"))


class Words(Markdown):
    """Markdown as in chats: a line break is kept, URLs are written out, HTML is text, "-# " begins small print."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "html_block": _LiteralHtml}
    _MEANT: ClassVar[dict[str, str]] = {"softbreak": "hardbreak", "html_inline": "text"}

    def __init__(self, text: str, style: str = "none") -> None:
        super().__init__(text, justify="default", style=style, hyperlinks=False)
        for token in self.parsed:
            begins = True
            for child in token.children or ():
                if begins and child.type == "text":
                    child.content = child.content.removeprefix("-# ")
                child.type = self._MEANT.get(child.type, child.type)
                begins = child.type == "hardbreak"


class Block(Struct, frozen=True):
    """One paragraph, list, code block, ... of a text, up to `end`."""

    source: str
    end: int
    kind: str = ""
    """Its kind in Markdown; empty for definitions of links, which would not be shown."""


def blocks(text: str) -> list[Block]:
    lines = text.split("\n")
    ends = [0, *itertools.accumulate(len(line) + 1 for line in lines)]
    found: list[Block] = []

    def add(start: int, end: int, kind: str = "") -> None:
        source = "\n".join(lines[start:end]).strip("\n")
        if source.strip():
            found.append(Block(source, min(ends[end], len(text)), kind))

    done = 0
    for token in Markdown(text).parsed:
        if token.level == 0 and token.map and token.nesting >= 0:
            start, end = token.map
            add(done, start)
            add(start, end, token.type)
            done = end
    add(done, len(lines))
    return found


def lines(console: Console, block: Block, style: str = "none") -> list[list[Segment]]:
    words = Words(block.source, style) if block.kind else Text(block.source, style)
    rendered = [_trimmed(line) for line in console.render_lines(words, pad=False)]
    while rendered and not rendered[0]:  # rich starts a list with an empty line; blocks are separated here
        rendered.pop(0)
    return rendered


def _trimmed(line: list[Segment]) -> list[Segment]:
    """The lines without trailing padding, which would be copied with the text."""
    kept = list(line)
    while kept and not kept[-1].text.strip() and not (kept[-1].style and kept[-1].style.bgcolor):
        kept.pop()
    if kept and not (kept[-1].style and kept[-1].style.bgcolor):
        kept[-1] = Segment(kept[-1].text.rstrip(), kept[-1].style)
    return kept
