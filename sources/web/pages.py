"""What a fetched page says, as text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import urlsplit

from bs4 import BeautifulSoup
from bs4.element import PreformattedString, Tag

_SILENT = ("title", "script", "style", "noscript", "template", "svg", "iframe", "form", "button", "nav", "footer")
_BLOCKS = ("p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "blockquote", "pre")
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")
_MOST_LINKS = 30
_KIND = re.compile(r"[\w.+-]{1,40}/[\w.+-]{1,40}")


class WebRefused(Exception):
    """A page that is not read, or could not be; the text says why, for the model."""


@dataclass(frozen=True)
class Page:
    """An answer of a web server: bytes as they came, cut at the size limit when not `whole`."""

    url: str
    """Where it was found in the end, after redirects."""
    status: int
    type: str
    body: bytes
    whole: bool = True

    @property
    def host(self) -> str:
        """Whose answer it is: all of the address that an error repeats, since the rest may be anybody's words."""
        return (urlsplit(self.url).hostname or "")[:100]


@dataclass(frozen=True)
class PageText:
    """Title, words and links (text, address) of a page."""

    title: str
    text: str
    links: tuple[tuple[str, str], ...] = ()


def read_text(page: Page) -> PageText:
    """The words of a page. Raises WebRefused for what has none. Takes up to a second: not for the event loop."""
    kind, charset = _content_type(page.type)
    if page.status >= 400:
        raise WebRefused(f"{page.host} answered with the error {page.status}.")
    if kind in ("text/html", "application/xhtml+xml"):
        return _of_html(BeautifulSoup(page.body, "html.parser", from_encoding=charset or None))
    if kind.startswith("text/") or kind.endswith(("json", "xml")) or not kind:
        if b"\0" in page.body:
            raise WebRefused(f"{page.host} gave no text ({len(page.body)} bytes).")
        return PageText("", page.body.decode(charset or "utf-8", "replace"))
    named = kind if _KIND.fullmatch(kind) else "something else"
    raise WebRefused(f"{page.host} gave no text but {named} ({len(page.body)} bytes), which cannot be read.")


def _of_html(soup: BeautifulSoup) -> PageText:
    title = _SPACES.sub(" ", soup.title.get_text(" ")).strip() if soup.title else ""
    for silent in soup(_SILENT):
        silent.decompose()
    links = tuple(
        (_SPACES.sub(" ", link.get_text(" ")).strip()[:80], str(link["href"]))
        for link in soup("a", href=True, limit=_MOST_LINKS)
        if isinstance(link, Tag) and str(link["href"]).startswith(("http://", "https://"))
    )
    text = _LINES.sub("\n", _SPACES.sub(" ", "".join(_words(soup.body or soup)))).strip()
    return PageText(title, text, links)


def _words(body: Tag) -> Iterator[str]:
    """The texts of a page in order, blocks on lines of their own; in time that grows with the page alone."""
    stack: list[Any] = [body]
    while stack:
        each = stack.pop()
        if isinstance(each, Tag):
            end = "\n" if each.name in _BLOCKS else ""
            stack += [end, *reversed(each.contents), end]
        elif not isinstance(each, PreformattedString):  # comments and declarations
            yield str(each)


def _content_type(header: str) -> tuple[str, str]:
    """Kind and character set, as RFC 2045 writes them."""
    parsed = Message()
    parsed["content-type"] = header or "text/plain"
    charset = parsed.get_content_charset() or ""
    try:
        "".encode(charset or "utf-8")
    except (LookupError, UnicodeError):
        charset = ""
    return (parsed.get_content_type() if header else ""), charset
