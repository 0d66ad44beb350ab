"""Which web addresses may be read: those of the public web, never of the service's own network."""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import SplitResult, urlsplit

from texts import TextError

SECONDS = 20.0
"""How long reading a page may take."""
CONNECT_SECONDS = 8.0


class WebRefused(TextError):
    """A page was refused or could not be read; the text says why, for the model."""


_MOST_URL = 2_000
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.IGNORECASE)
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")  # RFC 4291: the allocated part of IPv6
_CARRYING = tuple(ipaddress.ip_network(each) for each in ("::/96", "64:ff9b::/96", "64:ff9b:1::/48"))
"""IPv6 networks whose addresses contain an IPv4 one: RFC 4291 (2.5.5.1), RFC 6052, RFC 8215."""

Vet = Callable[[str], bool]
"""Whether an IP address may be connected to."""
Resolve = Callable[[str, int], Awaitable[Iterable[str]]]
"""Returns the IP addresses of a host for a port."""


def is_public(address: str) -> bool:
    """Whether an address is on the public internet, by the IANA registries in Python's ipaddress.

    IPv6 addresses that contain an IPv4 one (mapped, 6to4, Teredo, NAT64) are judged by that one, too.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    inner: list[ipaddress.IPv4Address | None] = []
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return is_public(str(found.ipv4_mapped))
        if found not in _GLOBAL_UNICAST and not any(found in network for network in _CARRYING):
            return False
        if any(found in network for network in _CARRYING):
            inner.append(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF))
        inner += [found.sixtofour, *(found.teredo or ())]
    return all(each.is_global and not each.is_multicast for each in (found, *filter(None, inner)))


async def resolve(host: str, port: int) -> Iterable[str]:
    """Ask the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return dict.fromkeys(str(address[4][0]) for address in found)


def checked_url(url: str) -> SplitResult:
    """The parts of a URL that may be read, judged by its form. Raises WebRefused."""
    try:
        parts = urlsplit(url.strip())
        fits = parts.scheme in ("http", "https") and parts.port != 0 and _is_host(parts.hostname or "")
    except ValueError:
        fits = False
    if not fits or len(url) > _MOST_URL:
        raise WebRefused(
            "“{url}” is not a web URL, such as https://example.org/page. Check it for spaces and typos.", url=url[:200]
        )
    if parts.username or parts.password:
        raise WebRefused("This URL contains a user name or a password. Leave that out.")
    return parts


def _is_host(host: str) -> bool:
    """Whether it is an IPv6 address, or has the form of a name or an IPv4 address (RFC 1123, and underscores)."""
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return all(map(_LABEL.fullmatch, ascii_host(host).removesuffix(".").split(".")))


def ascii_host(host: str) -> str:
    return host if host.isascii() else host.encode("idna").decode("ascii")
