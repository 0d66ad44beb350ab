"""What is known of models by name: what a call costs, and how much a model takes."""

import importlib
from dataclasses import replace
from typing import Any

from bot.models.base import Usage


def price(model: str, input_tokens: int, output_tokens: int) -> float | None:
    """Dollars for a call of "provider:name"; None when the price is not known, which is not the same as free."""
    return priced(model, Usage(input_tokens, output_tokens)).cost_usd


def priced(model: str, usage: Usage) -> Usage:
    """The usage of a call with its cost, or with None for one that is not known."""
    provider, _, name = model.partition(":")
    if not name:
        return replace(usage, cost_usd=0.0 if model == "offline" else None)
    prices = _library()
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


def context_window(model: str) -> int | None:
    """Tokens that "provider:name" takes in all, where that is known."""
    provider, _, name = model.partition(":")
    snapshot: Any = importlib.import_module("genai_prices.data_snapshot")
    try:
        _, found = snapshot.get_snapshot().find_provider_model(name, None, provider, None)
    except LookupError:
        return None
    window = found.context_window
    return window if isinstance(window, int) else None


def _library() -> Any:
    return importlib.import_module("genai_prices")  # takes a tenth of a second, and few need it
