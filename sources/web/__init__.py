"""Reading the web for agents: pages and searches, never from the service's own network."""

from sources.web.fetch import Found, Page, PageText, Reader, WebRefused, WebSearch, checked_url, is_public, read_text

__all__ = ["Found", "Page", "PageText", "Reader", "WebRefused", "WebSearch", "checked_url", "is_public", "read_text"]
