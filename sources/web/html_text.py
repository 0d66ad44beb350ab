"""HTML as text, by Beautiful Soup."""

import re
from collections.abc import Iterator
from typing import Any

from bs4 import BeautifulSoup
from bs4.builder._htmlparser import BeautifulSoupHTMLParser, HTMLParserTreeBuilder
from bs4.element import PreformattedString, Tag

_SILENT = ("title", "script", "style", "noscript", "template", "svg", "iframe", "form", "button", "nav", "footer")
_BLOCKS = ("p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "blockquote", "pre")
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")
_MOST_LINKS = 30
_UNFINISHED = 4_000  # characters after the last tag or comment that ends


class _Parser(BeautifulSoupHTMLParser):
    """At the end, html.parser looks for the end of each open tag again: a page of them would take hours."""

    def close(self) -> None:
        self.rawdata = self.rawdata[:_UNFINISHED]
        super().close()


class _Builder(HTMLParserTreeBuilder):
    def feed(self, markup: str | bytes, _parser_class: type[BeautifulSoupHTMLParser] = _Parser) -> None:
        super().feed(markup, _parser_class)


def parsed(markup: str | bytes, charset: str = "") -> BeautifulSoup:
    """In time that grows with the markup alone."""
    return BeautifulSoup(markup, builder=_Builder(), from_encoding=charset or None)


def read_html(body: bytes, charset: str) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """Title, text and links (text, address) of a page."""
    soup = parsed(body, charset)
    title = _SPACES.sub(" ", soup.title.get_text(" ")).strip() if soup.title else ""
    for silent in soup(_SILENT):
        silent.decompose()
    links = tuple(
        (_SPACES.sub(" ", link.get_text(" ")).strip()[:80], str(link["href"]))
        for link in soup("a", href=True, limit=_MOST_LINKS)
        if isinstance(link, Tag) and str(link["href"]).startswith(("http://", "https://"))
    )
    text = _LINES.sub("\n", _SPACES.sub(" ", "".join(_words(soup.body or soup)))).strip()
    return title, text, links


def _words(body: Tag) -> Iterator[str]:
    """The texts of a page in order, blocks on separate lines; in time linear in the page."""
    stack: list[Any] = [body]
    while stack:
        each = stack.pop()
        if isinstance(each, Tag):
            end = "\n" if each.name in _BLOCKS else ""
            stack += [end, *reversed(each.contents), end]
        elif not isinstance(each, PreformattedString):  # comments and declarations
            yield str(each)
