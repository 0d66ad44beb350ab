"""Reading the web for agents: pages and searches, without ever reaching into the network the service stands in."""

from sources.web.fetch import Found, Page, PageText, Reader, Searching, WebRefused, checked_url, is_public, read_text

__all__ = ["Found", "Page", "PageText", "Reader", "Searching", "WebRefused", "checked_url", "is_public", "read_text"]
