"""Reading the web for agents: pages and searches, never from the service's own network."""

from sources.web.addresses import checked_url as checked_url
from sources.web.addresses import is_public as is_public
from sources.web.fetch import Reader as Reader
from sources.web.fetch import WebHit as WebHit
from sources.web.fetch import WebSearch as WebSearch
from sources.web.pages import Page as Page
from sources.web.pages import PageText as PageText
from sources.web.pages import WebRefused as WebRefused
from sources.web.pages import read_text as read_text
