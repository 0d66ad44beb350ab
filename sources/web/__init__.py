"""Reading the web for agents: pages and searches, without ever reaching into the network the service stands in."""

from sources.web.fetch import Reader, checked_url, is_public
from sources.web.pages import Page, PageText, WebRefused, read_text
from sources.web.search import Found, Searching

__all__ = ["Found", "Page", "PageText", "Reader", "Searching", "WebRefused", "checked_url", "is_public", "read_text"]
