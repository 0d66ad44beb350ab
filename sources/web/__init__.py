"""Reading the web for agents: pages and searches, without ever reaching into the network the service stands in."""

from sources.web.pages import Page, PageText, WebRefused, read_text
from sources.web.reading import Reader, checked_url, is_public
from sources.web.searching import Found, Searching

__all__ = ["Found", "Page", "PageText", "Reader", "Searching", "WebRefused", "checked_url", "is_public", "read_text"]
