"""A logger that imports structlog on its first event: structlog imports rich, and few commands log anything."""

import importlib
from typing import Any


class Log:
    """Logs events under a module's name, like `structlog.get_logger`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def info(self, event: str, **facts: Any) -> None:
        self._logger().info(event, **facts)

    def warning(self, event: str, **facts: Any) -> None:
        self._logger().warning(event, **facts)

    def error(self, event: str, **facts: Any) -> None:
        self._logger().error(event, **facts)

    def exception(self, event: str, **facts: Any) -> None:
        """Log an error with the traceback of the current exception."""
        self._logger().exception(event, **facts)

    def _logger(self) -> Any:
        return importlib.import_module("structlog").get_logger(self._name)
