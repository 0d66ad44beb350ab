"""The newest log lines, kept in memory for the dashboard; `bot.logs` writes them, without secrets."""

import logging
import re
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime

from msgspec import Struct

_KEPT = 2_000
_COLORS = re.compile(r"\x1b\[\d+m")
"""Color codes of the terminal handler. In people's text such characters are already escaped."""


class LogLine(Struct, frozen=True):
    """One log line."""

    at: datetime
    level: str
    logger: str
    turn: str
    text: str


class RecentLines(logging.Handler):
    """Keeps the newest lines in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: deque[LogLine] = deque(maxlen=_KEPT)

    def emit(self, record: logging.LogRecord) -> None:
        at = datetime.fromtimestamp(record.created, UTC)
        turn = str(getattr(record, "fields", {}).get("turn", ""))
        with suppress(TypeError, ValueError):  # the service's own handler reports a line that cannot be written
            text = _COLORS.sub("", self.format(record))
            self.lines.append(LogLine(at, record.levelname.lower(), record.name, turn, text))


recent = RecentLines()


def attach() -> None:
    """Record log lines from now on, in the format of the service's own handler."""
    root = logging.getLogger()
    if recent not in root.handlers:
        written = next((each.formatter for each in root.handlers if each.get_name() == "carina"), None)
        recent.setFormatter(written)
        root.addHandler(recent)


def components() -> list[str]:
    """The components that wrote the recorded lines."""
    return sorted({each.logger for each in recent.lines})


def tail(most: int, level: str = "", words: str = "", turn: str = "", component: str = "") -> list[LogLine]:
    """The newest lines first, filtered by minimum level, words, turn and component."""
    least = getattr(logging, level.upper(), 0) if level in ("warning", "error") else 0
    found = (each for each in reversed(recent.lines) if getattr(logging, each.level.upper(), 0) >= least)
    found = (each for each in found if turn in ("", each.turn) and component in ("", each.logger))
    return [each for each in found if words.casefold() in each.text.casefold()][:most]
