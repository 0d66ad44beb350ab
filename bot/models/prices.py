"""Prices and context sizes of models, by name."""

import dataclasses
import importlib
import sys
import threading
from functools import lru_cache
from types import ModuleType
from typing import Any

from bot.models.base import Usage
from memory.store.records import replace

_TABLES, _UPDATES = "genai_prices.data", "genai_prices.update_prices"
_LOADING = threading.Lock()
"""Two threads at once could take the tables from each other while they load."""


class _Absent(ModuleType):
    """Replaces the fetcher of newer tables: nobody calls it, and its HTTP client takes 2 MiB."""

    def __getattr__(self, _name: str) -> None:
        return None


def priced(model: str, usage: Usage) -> Usage:
    """The usage of a call with its cost; None if the cost is unknown."""
    name = model.partition(":")[2]
    if not name:
        return replace(usage, cost_usd=0.0 if model == "offline" else None)
    if (known := _found(model)) is None:
        return replace(usage, cost_usd=None)
    counted = importlib.import_module("genai_prices").Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
    )
    by, found = known
    try:
        return replace(usage, cost_usd=float(found.calc_price(counted, by).total_price))
    except (LookupError, ValueError):
        return replace(usage, cost_usd=None)


@lru_cache(maxsize=100)
def _found(model: str) -> tuple[Any, Any] | None:
    """The provider and the model. Of the library's tables, which take 4 MiB and a tenth of a second to load, only these
    are kept."""
    provider, _, name = model.partition(":")
    with _LOADING:
        sys.modules.setdefault(_UPDATES, _Absent(_UPDATES))
        tables: Any = importlib.import_module(_TABLES)
        snapshot = importlib.import_module("genai_prices.data_snapshot").DataSnapshot(tables.providers, False)
        sys.modules.pop(_TABLES, None)
        vars(sys.modules["genai_prices"]).pop("data", None)
    try:
        by, found = snapshot.find_provider_model(name, None, provider, None)
    except LookupError:
        return None
    return dataclasses.replace(by, models=[]), found


def context_window(model: str) -> int | None:
    """The context size of "provider:name" in tokens, if known."""
    window = getattr(known[1], "context_window", None) if (known := _found(model)) is not None else None
    return window if isinstance(window, int) else None
