"""Embedders over HTTP: every server with OpenAI's /embeddings, such as Ollama."""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import aiohttp

from memory.search.embedding.base import (
    MAX_CHARACTERS,
    EmbedderBusy,
    EmbedderGarbage,
    EmbedderRefused,
    Embedding,
    TextRefused,
    dimension_of,
    to_vector,
)
from memory.store.faults import call_point, outside
from texts import gettext_lazy

_REQUEST = call_point("embedding.request")

_MOST_BYTES = 32 * 1024 * 1024  # of one answer
_SHOWN = 200  # characters of a server's error message
_SETTINGS = {  # which setting is probably wrong when a server refuses
    401: "EMBEDDING_API_KEY",
    403: "EMBEDDING_API_KEY",
    404: "EMBEDDING_MODEL and EMBEDDING_BASE_URL",
}
_OF_THE_TEXT = {400, 413, 422}


class RemoteEmbedder:
    """Asks a server once per call; `GuardedEmbedder` decides about retries. The first answer tells the vectors' length.

    `name` is the configured provider and model; the server gets it without the provider.
    """

    def __init__(self, name: str, url: str, key: str = "") -> None:
        self.name = name
        self.dimension = 0
        self._url = f"{url.rstrip('/')}/embeddings"
        self._key = key
        self._session: aiohttp.ClientSession | None = None

    async def embed(self, texts: Sequence[str], seconds: float) -> list[Embedding]:
        if not texts:
            return []
        cut = [text[:MAX_CHARACTERS].encode("utf-8", "replace").decode() for text in texts]
        try:
            async with asyncio.timeout(seconds):
                return self._checked(await self._ask(cut, seconds), len(cut))
        except TimeoutError:
            raise EmbedderBusy(
                gettext_lazy("{name} did not answer within {seconds:g} s", name=self.name, seconds=seconds)
            ) from None

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _ask(self, texts: list[str], seconds: float) -> Any:
        try:
            model = self.name.partition(":")[2]
            body = {"model": model, "input": list(texts), "encoding_format": "float"}
            return await outside(_REQUEST, self._post(body), seconds)
        except aiohttp.InvalidURL:
            raise EmbedderRefused("{name}: EMBEDDING_BASE_URL is not an address", name=self.name) from None
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            raise EmbedderBusy(
                gettext_lazy("{name} cannot be reached: {kind}", name=self.name, kind=type(error).__name__)
            ) from error

    async def _post(self, body: dict[str, Any]) -> Any:
        if self._session is None:
            # Requests go only to the configured server: no redirects.
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        async with self._session.post(self._url, json=body, headers=headers, allow_redirects=False) as response:
            raw = await _read(response)
            if response.status != 200:
                raise _refusal(self.name, response.status, response.headers, raw)
        try:
            return json.loads(raw)
        except ValueError:
            raise EmbedderGarbage("{name} returned something that is not JSON", name=self.name) from None

    def _checked(self, answer: Any, wanted: int) -> list[Embedding]:
        try:
            rows = {int(row["index"]): row["embedding"] for row in answer["data"]}
            numbers = [rows[number] for number in range(len(rows))]
        except (KeyError, TypeError, ValueError, OverflowError):
            numbers = []
        vectors = [to_vector(each if isinstance(each, list) else [each]) for each in numbers]
        lengths = {self.dimension, *map(dimension_of, vectors)} - {0}
        if len(vectors) != wanted or len(lengths) > 1:
            raise EmbedderGarbage("{name} did not return one vector of the same length for each text", name=self.name)
        self.dimension = max(lengths, default=0)
        return [Embedding(vector) for vector in vectors]


async def _read(response: aiohttp.ClientResponse) -> bytes:
    found = bytearray()
    async for chunk in response.content.iter_chunked(65_536):
        found += chunk
        if len(found) > _MOST_BYTES:
            raise EmbedderGarbage("the server's answer is too long")
    return bytes(found)


def _refusal(name: str, status: int, headers: Mapping[str, str], raw: bytes) -> Exception:
    said = " ".join(raw[: 4 * _SHOWN].decode("utf-8", "replace").split())[:_SHOWN]
    if status in _SETTINGS:
        return EmbedderRefused(f"{name} answered HTTP {status} (see {_SETTINGS[status]}): {said}")
    text = f"{name} answered HTTP {status}: {said}"
    if status in _OF_THE_TEXT:
        return TextRefused(text)
    if status in (408, 425, 429) or status >= 500:
        return EmbedderBusy(text, _after(headers.get("Retry-After", "")))
    return EmbedderGarbage(text)


def _after(header: str) -> float:
    """The seconds in a Retry-After header; 0 for a date or no header."""
    with suppress(ValueError):
        seconds = float(header)
        return max(seconds, 0.0) if math.isfinite(seconds) else 0.0
    return 0.0
