"""Reading the web for agents: pages and searches, never from the service's own network."""

from sources.web.fetch import Reader, WebHit, WebSearch
from sources.web.pages import Page, PageText, WebRefused, checked_url, is_public, read_text

__all__ = ["Page", "PageText", "Reader", "WebHit", "WebRefused", "WebSearch", "checked_url", "is_public", "read_text"]
