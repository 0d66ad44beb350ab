"""Loading a module only when it is needed."""

import gc
import importlib
from typing import Any


def loaded(module: str) -> Any:
    """A module with all that it imports: none of that is garbage, so it is not searched for any, then or later."""
    gc.disable()
    try:
        found = importlib.import_module(module)
        gc.freeze()
    finally:
        gc.enable()
    return found
