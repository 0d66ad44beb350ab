"""What is logged, as events with their fields."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

Event: TypeAlias = dict[str, Any]


class _Capturing(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []

    def emit(self, record: logging.LogRecord) -> None:
        if (fields := getattr(record, "fields", None)) is not None:
            raised = {"exc_info": record.exc_info[1]} if record.exc_info else {}
            self.events.append({**fields, **raised, "event": record.msg, "log_level": record.levelname.lower()})


@contextmanager
def capture_logs() -> Iterator[list[Event]]:
    """What Carina logs in the context, whatever its level; nothing is written meanwhile."""
    root, capturing = logging.getLogger(), _Capturing()
    handlers, level = list(root.handlers), root.level
    root.handlers[:] = [capturing]
    root.setLevel(logging.DEBUG)
    try:
        yield capturing.events
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
