"""Searching the web by a SearXNG server that the owner named."""

import json
from dataclasses import dataclass
from urllib.parse import quote_plus

from sources.web.fetch import Reader
from sources.web.pages import WebRefused

_MOST_WORDS = 400


@dataclass(frozen=True)
class Found:
    """One hit: where it is, what it is called, and an excerpt."""

    url: str
    title: str
    excerpt: str


class Searching:
    """Asks one server, which may stand in the service's own network: the owner's setting names it, nobody else."""

    def __init__(self, server: str) -> None:
        self._server = server.rstrip("/")
        self._reader = Reader(vet=lambda _address: True)

    async def search(self, words: str, limit: int) -> list[Found]:
        """The first hits. Raises WebRefused when the server cannot be asked or gives no JSON."""
        address = f"{self._server}/search?q={quote_plus(words[:_MOST_WORDS])}&format=json"
        page = await self._reader.fetch(address, accept="application/json")
        if page.status != 200:
            hint = ": its settings must allow the format json" if page.status == 403 else ""
            raise WebRefused("the search server answered with the error {status}{hint}.", status=page.status, hint=hint)
        try:
            results = json.loads(page.body)["results"]
            return [
                Found(str(each["url"]), str(each.get("title") or ""), str(each.get("content") or ""))
                for each in results[:limit]
            ]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise WebRefused("the search server did not answer as a SearXNG server does.") from error
