"""Language models and the embedder: each is asked something small."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from bot.config import OFFLINE, Config
from bot.models.base import Request, UserMessage
from bot.models.health import State as ModelState
from bot.models.selection import ModelSelection, open_models
from bot.upkeep.embedding import missing_words
from memory.search.embedding import EmbedderMissing, EmbeddingError, dimension_of, make_embedder
from memory.store.clock import Clock
from sources.diagnostics import Finding, State
from texts import error_text

_SECONDS = 40.0
_EMBEDDER_SECONDS = 10.0  # a search waits for it a few tenths, the background a minute
_ASKED = Request("Answer with one word.", (UserMessage("Are you there?"),), max_tokens=64)


async def examine_models(config: Config, clock: Clock, used: Mapping[str, str]) -> list[Finding]:
    """Each model that an agent or a fallback names, asked alone; `used` with who uses it where that is not plain."""
    names = [name for name in dict.fromkeys((*used, *config.model.fallback)) if name != OFFLINE]
    if not names:
        words = "without one the offline model answers: it remembers and finds, and does not talk freely"
        return [
            Finding("language model", State.UNSET, words, "set CARINA_MODEL, such as openai:gpt-5-mini, and its key")
        ]
    async with open_models(config, clock) as thinking:
        found = await asyncio.gather(*(_asked(thinking, name) for name in names))
    return [
        replace(each, words=f"{each.words} (used by {used[name]})") if used.get(name) else each
        for name, each in zip(names, found, strict=True)
    ]


async def _asked(thinking: ModelSelection, name: str) -> Finding:
    began = time.perf_counter()
    try:
        async with asyncio.timeout(_SECONDS):
            await thinking.catalog.try_out(name, _ASKED)
    except TimeoutError:
        words = f"no answer within {_SECONDS:.0f} seconds"
        return Finding(f"model {name}", State.PROBLEM, words, "see to the network and the provider's own status")
    (health, *_) = thinking.health([name])
    if health.state is ModelState.WORKING:
        return Finding(f"model {name}", State.GOOD, f"answers, after {time.perf_counter() - began:.1f} s")
    return Finding(f"model {name}", State.PROBLEM, f"{health.state}: {health.why}", health.advice)


async def examine_embedder(config: Config, redact: Callable[[str], str]) -> Finding:
    choice = config.embedder()
    if choice.model == "none":
        return Finding("embedder", State.UNSET, missing_words(choice.model))
    began = time.perf_counter()
    try:
        embedder = make_embedder(choice)
    except EmbedderMissing:
        return Finding("embedder", State.DOUBT, missing_words(choice.model), "`make embedding` installs it")
    if embedder is None:
        return Finding("embedder", State.UNSET, "switched off; search uses words only")
    try:
        (made,) = await embedder.embed(["The dentist is on Elm Street."], _EMBEDDER_SECONDS)
    except EmbeddingError as error:
        remedy = "see EMBEDDING_MODEL, EMBEDDING_BASE_URL and EMBEDDING_API_KEY; until then words alone are searched"
        return Finding("embedder", State.PROBLEM, redact(error_text(error)), remedy)
    finally:
        await embedder.aclose()
    taken = time.perf_counter() - began
    words = f"{choice.model}: {dimension_of(made.vector)} dimensions, {taken:.1f} s for the first text"
    return Finding("embedder", State.GOOD, words)
