"""The files of a message on Discord, downloaded from its servers alone."""

import asyncio
from dataclasses import replace
from urllib.parse import urlsplit

import aiohttp
import discord

from memory.store.faults import call_point, outside
from sources.attachments import MAX_TEXT, Offered, consider, may_be_text, with_text
from sources.base import Attachment


class FetchFailed(Exception):
    """The file could not be downloaded; the text says why, for the model."""


async def download(url: str, limit: int) -> bytes:
    """The body; follows no redirect and sends no cookie or credential. Raises FetchFailed.

    Also if the body is longer than `limit` bytes, whatever length was announced.
    """
    try:
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
            http.get(url, allow_redirects=False) as answer,
        ):
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

SECONDS = 8.0
_HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})


def from_discord(url: str) -> bool:
    """Whether a URL is on Discord's file servers (or the one that the library was pointed at)."""
    parts, base = urlsplit(url), urlsplit(discord.Asset.BASE)
    if (parts.scheme, parts.netloc) == (base.scheme, base.netloc):
        return True
    return parts.scheme == "https" and parts.hostname in _HOSTS and parts.port in (None, 443)


async def fetched(offered: list[Offered]) -> tuple[Attachment, ...]:
    """The attachments with their texts; one that cannot be downloaded says so."""
    return tuple(await asyncio.gather(*(_read(consider(one, number)) for number, one in enumerate(offered))))


async def _read(one: Attachment) -> Attachment:
    if not one.skipped and not from_discord(one.url):
        return replace(one, url="", skipped="its address is not one of Discord's")
    if not may_be_text(one):
        return one
    url, one = one.url, replace(one, url="")  # only pictures that models can see keep theirs
    try:
        body = await outside(ATTACHMENT, download(url, MAX_TEXT), SECONDS)
    except TimeoutError:
        return replace(one, skipped="the download took too long")
    except FetchFailed as why:
        return replace(one, skipped=str(why))
    return with_text(one, body)
