"""Checks of language models and the embedder: each gets a short request."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from bot.config import OFFLINE, Config
from bot.models.base import Request, UserMessage
from bot.models.health import State as ModelState
from bot.models.selection import ModelSelection, open_models
from memory.search.embedding import EmbedderMissing, EmbeddingError, dimension_of, make_embedder, missing_words
from memory.store.clock import Clock
from sources.diagnostics import Finding, State
from texts import _, error_text, gettext_lazy

_SECONDS = 40.0
_EMBEDDER_SECONDS = 10.0  # a search waits for it a few tenths, the background a minute
_ASKED = Request("Answer with one word.", (UserMessage("Are you there?"),), max_tokens=64)


async def examine_models(config: Config, clock: Clock, used: Mapping[str, str]) -> list[Finding]:
    """Check each model of an agent or fallback separately; `used` has words for who uses it, if that is not obvious."""
    names = [name for name in dict.fromkeys((*used, *config.model.fallback)) if name != OFFLINE]
    if not names:
        words = _(
            "without one, the offline model answers: it can remember and find things but not hold a free conversation"
        )
        return [
            Finding("language model", State.UNSET, words, _("set CARINA_MODEL, such as openai:gpt-5-mini, and its key"))
        ]
    async with open_models(config, clock) as thinking:
        found = await asyncio.gather(*(_asked(thinking, name) for name in names))
    return [
        replace(each, words=_("{words} (used by {used})", words=each.words, used=used[name]))
        if used.get(name)
        else each
        for name, each in zip(names, found, strict=True)
    ]


async def _asked(thinking: ModelSelection, name: str) -> Finding:
    began = time.perf_counter()
    try:
        async with asyncio.timeout(_SECONDS):
            await thinking.catalog.try_out(name, _ASKED)
    except TimeoutError:
        words = _("no answer within {seconds:.0f} seconds", seconds=_SECONDS)
        return Finding(
            gettext_lazy("model {name}", name=name),
            State.PROBLEM,
            words,
            _("check the network and the provider's status page"),
        )
    (health, *_rest) = thinking.health([name])
    if health.state is ModelState.WORKING:
        return Finding(
            gettext_lazy("model {name}", name=name),
            State.GOOD,
            _("answers, after {seconds:.1f} s", seconds=time.perf_counter() - began),
        )
    return Finding(
        gettext_lazy("model {name}", name=name), State.PROBLEM, f"{_(health.state)}: {health.why}", health.advice
    )


async def examine_embedder(config: Config, redact: Callable[[str], str]) -> Finding:
    choice = config.embedder()
    if choice.model == "none":
        return Finding("embedder", State.UNSET, _(missing_words(choice.model)))
    began = time.perf_counter()
    try:
        embedder = make_embedder(choice)
    except EmbedderMissing:
        return Finding("embedder", State.DOUBT, _(missing_words(choice.model)), _("`make embedding` installs it"))
    if embedder is None:
        return Finding("embedder", State.UNSET, _("switched off; search uses words only"))
    try:
        (made,) = await embedder.embed(["The dentist is on Elm Street."], _EMBEDDER_SECONDS)
    except EmbeddingError as error:
        remedy = _(
            "check EMBEDDING_MODEL, EMBEDDING_BASE_URL and EMBEDDING_API_KEY; until then, search uses words only"
        )
        return Finding("embedder", State.PROBLEM, redact(error_text(error)), remedy)
    finally:
        await embedder.aclose()
    taken = time.perf_counter() - began
    words = _(
        "{model}: {dimension} dimensions, {taken:.1f} s for the first text",
        model=choice.model,
        dimension=dimension_of(made.vector),
        taken=taken,
    )
    return Finding("embedder", State.GOOD, words)
