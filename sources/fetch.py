"""Fetching small files over HTTP: never more than asked for, never elsewhere than asked."""

import aiohttp


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
