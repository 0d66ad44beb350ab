"""What a model call costs, from the price data that comes with the model layer."""

import importlib
from typing import Any


def price(model: str, input_tokens: int, output_tokens: int) -> float | None:
    """Dollars for a call of "provider:name"; None when the price is not known, which is not the same as free."""
    provider, _, name = model.partition(":")
    if not name:
        return 0.0 if model == "offline" else None
    prices: Any = importlib.import_module("genai_prices")  # takes a tenth of a second, and few need it
    usage = prices.Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    try:
        return float(prices.calc_price(usage, model_ref=name, provider_id=provider).total_price)
    except (LookupError, ValueError):
        return None
