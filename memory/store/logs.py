"""A logger that imports structlog on its first event: structlog imports rich, and few commands log anything."""

import importlib
from collections.abc import Callable


class Log:
    """Logs events under a module's name, like `structlog.get_logger`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, level: str) -> Callable[..., None]:
        logged: Callable[..., None] = getattr(importlib.import_module("structlog").get_logger(self._name), level)
        return logged
