"""What is known of models by name: what a call costs, and how much a model takes."""

import importlib
from dataclasses import replace
from functools import lru_cache
from typing import Any

from bot.models.base import Usage


def priced(model: str, usage: Usage) -> Usage:
    """The usage of a call with its cost, or with None for one that is not known."""
    provider, _, name = model.partition(":")
    if not name:
        return replace(usage, cost_usd=0.0 if model == "offline" else None)
    if not _is_known(model):
        return replace(usage, cost_usd=None)
    prices: Any = importlib.import_module("genai_prices")  # takes a tenth of a second, and few need it
    counted = prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
    )
    try:
        found = float(prices.calc_price(counted, model_ref=name, provider_id=provider).total_price)
    except (LookupError, ValueError):
        return replace(usage, cost_usd=None)
    return replace(usage, cost_usd=found)


@lru_cache(maxsize=100)
def _is_known(model: str) -> bool:
    """Whether there is a price at all: the library looks through every model for one that it does not know."""
    return _found(model) is not None


def _found(model: str) -> Any:
    provider, _, name = model.partition(":")
    snapshot: Any = importlib.import_module("genai_prices.data_snapshot")
    try:
        return snapshot.get_snapshot().find_provider_model(name, None, provider, None)[1]
    except LookupError:
        return None


def context_window(model: str) -> int | None:
    """Tokens that "provider:name" takes in all, where that is known."""
    window = getattr(_found(model), "context_window", None)
    return window if isinstance(window, int) else None
