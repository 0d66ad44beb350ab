"""From the name of a model, as it is configured, to its embedder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memory.embedding import packaged
from memory.embedding.base import Embedder
from memory.embedding.packaged import PackagedEmbedder
from memory.embedding.remote import Ollama, OpenAI, RemoteEmbedder, Server

PACKAGED, NONE = "packaged", "none"
OPENAI_URL = "https://api.openai.com/v1"
OLLAMA_URL = "http://127.0.0.1:11434"


@dataclass(frozen=True)
class Choice:
    """Which embedder is wanted. `model` is "packaged", "none", "openai:<model>" or "ollama:<model>".

    `url` and `key` are for a server; without `url` it is the one that the provider has by itself.
    """

    model: str = PACKAGED
    url: str = ""
    key: str = ""


def make_embedder(choice: Choice) -> Embedder | None:
    """The embedder that was chosen, None for none. Raises EmbedderMissing, and ValueError for what is no choice."""
    if choice.model == NONE:
        return None
    if choice.model == PACKAGED:
        return PackagedEmbedder()
    provider, _, model = choice.model.partition(":")
    if provider not in _REMOTE or not model:
        raise ValueError(f"{choice.model!r} is not an embedding model: {EXPECTED}")
    return _REMOTE[provider](choice, model)


def is_choice(model: str) -> bool:
    """Whether an embedding model can be called that."""
    provider, _, name = model.partition(":")
    return model in (PACKAGED, NONE) or (provider in _REMOTE and bool(name.strip()))


def _openai(choice: Choice, model: str) -> Embedder:
    return RemoteEmbedder(choice.model, Server(OpenAI(), choice.url or OPENAI_URL, model, choice.key))


def _ollama(choice: Choice, model: str) -> Embedder:
    return RemoteEmbedder(choice.model, Server(Ollama(), choice.url or OLLAMA_URL, model, choice.key))


_REMOTE: Mapping[str, Callable[[Choice, str], Embedder]] = {"openai": _openai, "ollama": _ollama}
EXPECTED = "packaged, none, openai:<model> or ollama:<model>"
missing = packaged.missing
