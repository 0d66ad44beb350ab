"""Reading the web for agents: pages and searches, never from the service's own network."""

from sources.web.fetch import Page, PageText, Reader, WebHit, WebSearch, read_text
from sources.web.public_addresses import WebRefused, checked_url, is_public

__all__ = ["Page", "PageText", "Reader", "WebHit", "WebRefused", "WebSearch", "checked_url", "is_public", "read_text"]
