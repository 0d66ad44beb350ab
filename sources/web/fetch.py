"""Fetches web pages as text, never from the service's own network, and searches the web."""

import asyncio
import importlib
import json
import re
import socket
from collections.abc import Collection
from email.message import Message
from urllib.parse import quote_plus, urljoin, urlsplit

from msgspec import Struct

from sources.web.public_addresses import (
    CONNECT_SECONDS,
    SECONDS,
    Resolve,
    Vet,
    WebRefused,
    ascii_host,
    checked_url,
    is_public,
    resolve,
)
from texts import gettext_lazy

_MOST_REDIRECTS = 5
_KIND = re.compile(r"[\w.+-]{1,40}/[\w.+-]{1,40}")


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


class Reader:
    """Fetches pages. `vet` and `resolving` exist for tests of refusals; no setting reaches them.

    `private_hosts` from the owner's setting are read wherever they are; redirects from them to others are not.
    """

    def __init__(self, vet: Vet = is_public, resolving: Resolve = resolve, private_hosts: Collection[str] = ()) -> None:
        self._vet, self._resolving, self._private = vet, resolving, frozenset(map(str.casefold, private_hosts))

    async def require_public(self, url: str) -> None:
        """Raise WebRefused for a URL that may not be read. A name that does not resolve may be valid later."""
        parts = checked_url(url)
        host = parts.hostname or ""
        if host in self._private:
            return
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                addresses = await self._resolving(ascii_host(host), parts.port or 443)
        except (OSError, TimeoutError):
            return
        if not all(map(self._vet, addresses)):
            raise WebRefused(
                "{host} is on this machine or in a private network. To allow it, add it to `private_hosts` in "
                "[web] of carina.toml.",
                host=host,
            )

    async def fetch(self, url: str, accept: str = "text/html, text/*;q=0.9, application/json;q=0.8") -> Page:
        """The page at a URL, through at most five redirects. Raises WebRefused with a text for the model."""
        own = _host(url)
        # Its library, a MiB, is imported for the first page.
        connection = await asyncio.to_thread(importlib.import_module, "sources.web.connection")
        network = connection.VettedNetwork(self._vet, self._resolving, ascii_host(own) if own in self._private else "")
        try:
            async with asyncio.timeout(SECONDS), connection.pool(network) as pool:
                for _ in range(_MOST_REDIRECTS + 1):
                    page, onward = await connection.get(pool, checked_url(url), accept)
                    if onward is None:
                        found: Page = page
                        return found
                    url = urljoin(url, onward)
        except TimeoutError as error:
            raise WebRefused(
                "{host} took longer than {seconds:g} seconds.", host=_host(url), seconds=SECONDS
            ) from error
        except (*connection.ERRORS, OSError, ValueError) as error:
            raise WebRefused("{host} could not be read: {why}.", host=_host(url), why=_brief(error)) from error
        raise WebRefused("{host} redirected more than {count} times.", host=_host(url), count=_MOST_REDIRECTS)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or "the page"
    except ValueError:
        return "the page"


def _brief(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return gettext_lazy("its address could not be found; check the name and the network")
    words = str((isinstance(error, OSError) and error.strerror) or error).splitlines()
    return words[0][:200] if words and words[0] else type(error).__name__


_MOST_WORDS = 400


class WebHit(Struct, frozen=True):
    """One hit: its URL, title and excerpt."""

    url: str
    title: str
    excerpt: str


class WebSearch:
    """Asks one server, which may be in the service's own network, since only the owner's setting names it."""

    def __init__(self, server: str) -> None:
        self._server = server.rstrip("/")
        self._reader = Reader(vet=lambda _address: True)

    async def search(self, words: str, limit: int) -> list[WebHit]:
        """The first hits. Raises WebRefused if the server cannot be reached or returns no JSON."""
        address = f"{self._server}/search?q={quote_plus(words[:_MOST_WORDS])}&format=json"
        page = await self._reader.fetch(address, accept="application/json")
        if page.status != 200:
            hint = ": its settings must allow the format json" if page.status == 403 else ""
            raise WebRefused("The search server answered with the error {status}{hint}.", status=page.status, hint=hint)
        try:
            results = json.loads(page.body)["results"]
            return [
                WebHit(str(each["url"]), str(each.get("title") or ""), str(each.get("content") or ""))
                for each in results[:limit]
            ]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise WebRefused("The search server did not answer like a SearXNG server.") from error
