"""One request to a web server, at a checked address. Only `sources.web.fetch` imports it, for the first page."""

import asyncio
from typing import Any
from urllib.parse import SplitResult, quote

import httpcore

from sources.web.fetch import Page
from sources.web.public_addresses import CONNECT_SECONDS, SECONDS, Resolve, Vet, WebRefused, ascii_host

ERRORS = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException)
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_BYTES = 1_500_000
_AGENT = "Carina (self-hosted chat bot)"


class VettedNetwork(httpcore.AsyncNetworkBackend):
    """Connects only to checked addresses. The request keeps the name, so certificates are checked against it."""

    def __init__(self, vet: Vet, resolving: Resolve, named: str = "") -> None:
        self._vet, self._resolving, self._named = vet, resolving, named
        self._plain = httpcore.AnyIOBackend()

    async def connect_tcp(self, host: str, port: int, *given: Any, **named: Any) -> httpcore.AsyncNetworkStream:
        addresses = list(await self._resolving(host, port))
        if not addresses or (host != self._named and not all(map(self._vet, addresses))):
            raise WebRefused("{host} is not on the public web, so it is not read.", host=host)
        for address in addresses[:-1]:
            try:
                return await self._plain.connect_tcp(address, port, *given, **named)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._plain.connect_tcp(addresses[-1], port, *given, **named)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def pool(network: VettedNetwork) -> httpcore.AsyncConnectionPool:
    return httpcore.AsyncConnectionPool(network_backend=network, max_keepalive_connections=0)


async def get(pool: httpcore.AsyncConnectionPool, parts: SplitResult, accept: str) -> tuple[Page, str | None]:
    """The answer, or the address that it redirects to."""
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    host = ascii_host(parts.hostname or "")
    url = httpcore.URL(
        scheme=parts.scheme.encode(),
        host=host.encode(),
        port=parts.port,
        target=quote(target, safe="/?&=%:@!$'()*+,;~-._[]", errors="replace").encode(),
    )
    limits = {"connect": CONNECT_SECONDS, "read": SECONDS, "write": CONNECT_SECONDS, "pool": CONNECT_SECONDS}
    # No compression, so that the size limit counts what arrives.
    named = f"[{host}]" if ":" in host else host
    shown = named if parts.port is None else f"{named}:{parts.port}"
    headers = {"Host": shown, "Accept": accept, "Accept-Encoding": "identity", "User-Agent": _AGENT}
    async with pool.stream("GET", url, headers=list(headers.items()), extensions={"timeout": limits}) as answer:
        found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}
        if answer.status in _REDIRECTS and found.get("location"):
            return Page(parts.geturl(), answer.status, "", b""), found["location"]
        if found.get("content-encoding", "identity").lower() != "identity":
            raise WebRefused("{host} sent a compressed answer although it was asked not to.", host=host)
        body = bytearray()
        async for chunk in answer.aiter_stream():
            body += chunk
            if len(body) >= _MOST_BYTES:
                break
        whole = len(body) < _MOST_BYTES
        return Page(
            parts.geturl(), answer.status, found.get("content-type", ""), bytes(body[:_MOST_BYTES]), whole
        ), None
