"""Creates the embedder for a configured model name."""

import importlib

from msgspec import Struct

from memory.search.embedding import packaged
from memory.search.embedding.base import Embedder
from memory.search.embedding.packaged import PackagedEmbedder
from texts import gettext_lazy

PACKAGED, NONE = "packaged", "none"
OPENAI_URL = "https://api.openai.com/v1"
OLLAMA_URL = "http://127.0.0.1:11434"
_OPENAI_API = "/v1"  # the path of Ollama's OpenAI-compatible API


class Choice(Struct, frozen=True):
    """The configured embedder. `model` is "packaged", "none", "openai:<model>" or "ollama:<model>".

    `url` and `key` are for a server; without `url`, the provider's default is used.
    """

    model: str = PACKAGED
    url: str = ""
    key: str = ""


def make_embedder(choice: Choice) -> Embedder | None:
    """The configured embedder, None for "none". Raises EmbedderMissing, and ValueError for an invalid choice."""
    if choice.model == NONE:
        return None
    if choice.model == PACKAGED:
        return PackagedEmbedder()
    provider, _, model = choice.model.partition(":")
    if provider not in _REMOTE or not model:
        raise ValueError(f"{choice.model!r} is not an embedding model: {EXPECTED}")
    return _remote(choice, provider)


def is_choice(model: str) -> bool:
    provider, _, name = model.partition(":")
    return model in (PACKAGED, NONE) or (provider in _REMOTE and bool(name.strip()))


def _remote(choice: Choice, provider: str) -> Embedder:
    """An embedder over HTTP; its library is imported only here."""
    remote = importlib.import_module("memory.search.embedding.remote")
    url = choice.url or OPENAI_URL
    if provider == "ollama":
        url = f"{(choice.url or OLLAMA_URL).rstrip('/').removesuffix(_OPENAI_API)}{_OPENAI_API}"
    made: Embedder = remote.RemoteEmbedder(choice.model, url, choice.key)
    return made


_REMOTE = frozenset({"openai", "ollama"})
EXPECTED = "packaged, none, openai:<model> or ollama:<model>"
missing = packaged.missing


def missing_words(model: str) -> str:
    """Why that embedder cannot be used here; empty if nothing rules it out before it is tried."""
    if model == "none":
        return gettext_lazy("turned off; search uses words only")
    absent = missing() if model == "packaged" else ""
    if not absent:
        return ""
    return gettext_lazy(
        "not installed: {absent} (`make embedding` or the extra `embedding` adds it); search uses words only",
        absent=absent,
    )
