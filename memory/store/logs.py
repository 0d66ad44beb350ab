"""A logger whose library is loaded with its first event: structlog brings rich, and few commands log anything."""

import importlib
from typing import Any


class Log:
    """Writes events under the name of a module, as `structlog.get_logger` does."""

    def __init__(self, name: str) -> None:
        self._name = name

    def debug(self, event: str, **facts: Any) -> None:
        self._logger().debug(event, **facts)

    def info(self, event: str, **facts: Any) -> None:
        self._logger().info(event, **facts)

    def warning(self, event: str, **facts: Any) -> None:
        self._logger().warning(event, **facts)

    def error(self, event: str, **facts: Any) -> None:
        self._logger().error(event, **facts)

    def exception(self, event: str, **facts: Any) -> None:
        """An error with the traceback of the exception that is being handled."""
        self._logger().exception(event, **facts)

    def _logger(self) -> Any:
        return importlib.import_module("structlog").get_logger(self._name)
