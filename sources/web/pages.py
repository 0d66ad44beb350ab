"""Web pages: the answer of a server, its text, and why there is none."""

import importlib
import re
from email.message import Message
from urllib.parse import urlsplit

from msgspec import Struct

from texts import TextError

SECONDS = 20.0
"""How long reading a page may take."""
CONNECT_SECONDS = 8.0
_KIND = re.compile(r"[\w.+-]{1,40}/[\w.+-]{1,40}")


class WebRefused(TextError):
    """A page was refused or could not be read; the text says why, for the model."""


class Page(Struct, frozen=True):
    """An answer of a web server: its bytes, cut at the size limit if not `whole`."""

    url: str
    """The final URL, after redirects."""
    status: int
    type: str
    body: bytes
    whole: bool = True

    @property
    def host(self) -> str:
        """Whose answer it is: the only part of the URL that an error repeats, since the rest may be anybody's words."""
        return (urlsplit(self.url).hostname or "")[:100]


class PageText(Struct, frozen=True):
    """Title, text and links (text, address) of a page."""

    title: str
    text: str
    links: tuple[tuple[str, str], ...] = ()


def read_text(page: Page) -> PageText:
    """The text of a page. Raises WebRefused if it has none. Takes up to a second: not for the event loop."""
    kind, charset = _content_type(page.type)
    if page.status >= 400:
        raise WebRefused("{host} answered with the error {status}.", host=page.host, status=page.status)
    if kind in ("text/html", "application/xhtml+xml"):
        parser = importlib.import_module("sources.web.html_text")  # the library is imported for the first page
        return PageText(*parser.read_html(page.body, charset))
    is_text = kind.startswith("text/") or kind.endswith(("json", "xml")) or not kind
    if is_text and b"\0" not in page.body:
        return PageText("", page.body.decode(charset or "utf-8", "replace"))
    named = kind if _KIND.fullmatch(kind) else "something else"
    raise WebRefused("{host} sent {named}, which cannot be read as text.", host=page.host, named=named)


def _content_type(header: str) -> tuple[str, str]:
    """Type and character set, in the syntax of RFC 2045."""
    parsed = Message()
    parsed["content-type"] = header or "text/plain"
    charset = parsed.get_content_charset() or ""
    try:
        "".encode(charset or "utf-8")
    except (LookupError, UnicodeError):
        charset = ""
    return (parsed.get_content_type() if header else ""), charset
