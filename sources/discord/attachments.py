"""Which files of a message are read, which only named, and why."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias
from urllib.parse import urlsplit

import aiohttp
import discord

from memory.store.faults import call_point, outside
from sources.base import Attachment
from sources.text import flatten


class FetchFailed(Exception):
    """The file could not be had; the text says why, in words for the model."""


class Fetcher:
    """One HTTP session, closed at the end; follows no redirect and sends no cookie or credential."""

    def __init__(self) -> None:
        self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())

    async def close(self) -> None:
        await self._session.close()

    async def get(self, url: str, limit: int) -> bytes:
        """The body, which must not be longer than `limit` bytes, whatever was announced."""
        try:
            async with self._session.get(url, allow_redirects=False) as answer:
                if answer.status != 200:
                    raise FetchFailed(f"the file server answered {answer.status}")
                body = bytearray()
                async for chunk in answer.content.iter_chunked(8192):
                    body += chunk
                    if len(body) > limit:
                        raise FetchFailed(f"larger than {limit // 1024} KB")
                return bytes(body)
        except (aiohttp.ClientError, OSError) as why:
            raise FetchFailed("the download failed") from why


ATTACHMENT = call_point("discord.attachment")

MAX_CONSIDERED = 10
MAX_TEXT = 20 * 1024
SECONDS = 8.0

_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/yaml", "application/toml", "application/x-")
_BINARY_X = ("zip", "tar", "compressed", "executable", "bittorrent", "iso", "shockwave", "msdos", "gzip", "rar", "bzip")
_TEXT_SUFFIXES = re.compile(
    r"\.(txt|md|rst|[ct]sv|jsonl?|ya?ml|toml|ini|cfg|conf|log|xml|html?|css|[jt]sx?|py|rs|go|java|kt|[ch]|[ch]pp|cs"
    r"|rb|php|sh|bash|ps1|sql|diff|patch|tex|srt)$",
    re.IGNORECASE,
)
_HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})


@dataclass(frozen=True)
class Offered:
    """A file as Discord announces it."""

    name: str
    content_type: str
    size: int
    url: str


Plan: TypeAlias = list[tuple[Attachment, bool]]
"""Each attachment, and whether its text is to be fetched."""


def plan(offered: list[Offered], trusted: Callable[[str], bool]) -> Plan:
    """Decide about every file; nothing is downloaded yet."""
    return [_consider(one, number, trusted) for number, one in enumerate(offered)]


def _consider(one: Offered, number: int, trusted: Callable[[str], bool]) -> tuple[Attachment, bool]:
    named = Attachment(flatten(one.name, 100) or "unnamed file", flatten(one.content_type), one.size)
    if number >= MAX_CONSIDERED:
        return replace(named, skipped=f"only the first {MAX_CONSIDERED} files of a message are looked at"), False
    if not trusted(one.url):
        return replace(named, skipped="its address is not one of Discord's"), False
    named = replace(named, url=one.url)
    if one.content_type.startswith("image/"):
        return named, False
    if not looks_like_text(one):
        return replace(named, skipped="neither text nor an image"), False
    if one.size > MAX_TEXT:
        return replace(named, skipped=f"larger than 20 KB ({_size(one.size)})"), False
    return named, True


def looks_like_text(one: Offered) -> bool:
    kind = one.content_type.partition(";")[0].strip().lower()
    if kind in ("", "application/octet-stream"):
        return _TEXT_SUFFIXES.search(one.name) is not None
    if kind.startswith("application/x-") and any(word in kind for word in _BINARY_X):
        return False
    return kind.startswith(_TEXT_TYPES) or kind.endswith(("+json", "+xml"))


def _size(size: int) -> str:
    return f"{size / 1024 / 1024:.1f} MB" if size >= 1024 * 1024 else f"{size / 1024:.0f} KB"


def from_discord(url: str) -> bool:
    """Whether an address is on Discord's file servers (or on the one the library was pointed at)."""
    parts, base = urlsplit(url), urlsplit(discord.Asset.BASE)
    if (parts.scheme, parts.netloc) == (base.scheme, base.netloc):
        return True
    return parts.scheme == "https" and parts.hostname in _HOSTS and parts.port in (None, 443)


async def fetched(plan: Plan, fetcher: Fetcher) -> tuple[Attachment, ...]:
    """The attachments with their texts; whatever cannot be had says so."""
    return tuple(await asyncio.gather(*(_read(one, fetcher, wanted=wanted) for one, wanted in plan)))


async def _read(one: Attachment, fetcher: Fetcher, *, wanted: bool) -> Attachment:
    if not wanted:
        return one
    try:
        body = await outside(ATTACHMENT, fetcher.get(one.url, MAX_TEXT), SECONDS)
    except TimeoutError:
        return replace(one, skipped="the download took too long")
    except FetchFailed as why:
        return replace(one, skipped=str(why))
    text = decode(body)
    return replace(one, text=text) if text is not None else replace(one, skipped="not readable as text")


def decode(body: bytes) -> str | None:
    try:
        wide = body.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = body.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
