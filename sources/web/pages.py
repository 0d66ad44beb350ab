"""What a fetched page says, as text."""

import importlib
import re
from dataclasses import dataclass
from email.message import Message
from urllib.parse import urlsplit

from texts import TextError

_KIND = re.compile(r"[\w.+-]{1,40}/[\w.+-]{1,40}")


class WebRefused(TextError):
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
        raise WebRefused("{host} answered with the error {status}.", host=page.host, status=page.status)
    if kind in ("text/html", "application/xhtml+xml"):
        parser = importlib.import_module("sources.web.html_text")  # its library is loaded for the first page
        read: PageText = parser.read_html(page.body, charset)
        return read
    if kind.startswith("text/") or kind.endswith(("json", "xml")) or not kind:
        if b"\0" in page.body:
            raise WebRefused("{host} gave no text ({count} bytes).", host=page.host, count=len(page.body))
        return PageText("", page.body.decode(charset or "utf-8", "replace"))
    named = kind if _KIND.fullmatch(kind) else "something else"
    raise WebRefused(
        "{host} gave no text but {named} ({count} bytes), which cannot be read.",
        host=page.host,
        named=named,
        count=len(page.body),
    )


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
