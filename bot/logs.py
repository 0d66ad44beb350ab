"""Logs: structlog for everything, the standard library's loggers included.

Every line passes the redactor twice (field by field, and once more as it is written), so a secret does not reach
the log even inside another library's exception. What people wrote is on one line with its control characters
spelled out, so that it can forge neither a line of the log nor a terminal's colors.
"""

import logging
import sys
from collections.abc import Mapping
from typing import Any, TextIO

import structlog
from structlog.types import EventDict, Processor, WrappedLogger

from bot.secrets import Redactor

_NAME = "carina"
_QUIET = (
    *("httpx", "httpx2", "httpcore", "httpcore2", "discord", "openai", "anthropic", "aiosqlite", "asyncio"),
    "apscheduler",
)
"""Libraries whose information lines (requests with their URLs, gateway chatter) are left out; warnings stay."""

_SILENT = ("discord.client", "mcp")
"""Libraries that log a traceback for every reconnection and odd answer, and remarks on voice; our own lines report the
state instead."""

log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(_NAME)


def setup_logs(
    redactor: Redactor,
    *,
    as_json: bool = False,
    level: str = "info",
    stream: TextIO | None = None,
    no_color: bool = False,
) -> None:
    """Send all logs to `stream` (standard error): lines for people, or with `as_json` one JSON object per line.

    Colors only on a terminal and without `no_color`. Another call replaces the setup.
    """
    out = stream or sys.stderr
    renderer = _machine() if as_json else _human(colors=out.isatty() and not no_color)
    shared = _shared()
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    clean = _Cleaner(redactor)
    handler = logging.StreamHandler(out)
    handler.set_name(_NAME)
    remove_meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[remove_meta, structlog.processors.format_exc_info, clean, *renderer, clean.line],
            foreign_pre_chain=shared,
        )
    )
    _install(handler, level.upper())


def ready(front_end: str, **facts: object) -> None:
    """Log that a front end (discord, terminal, ...) is connected and listens."""
    log.info("ready", front_end=front_end, **facts)


def stopped(**facts: object) -> None:
    """Log that the service has shut down; the last line of a run."""
    log.info("stopped", **facts)


def _shared() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.StackInfoRenderer(),
    ]


def _machine() -> list[Processor]:
    return [
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
    ]


def _human(*, colors: bool) -> list[Processor]:
    stamp = structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False)
    plain = structlog.dev.plain_traceback
    return [stamp, _indent, structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain, pad_event_to=24)]


def _indent(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Indent tracebacks, so that text in one cannot pass for a line of the log."""
    for key in ("exception", "stack"):
        if key in event:
            event[key] = "\n".join(f"    {_flat(line)}" for line in str(event[key]).splitlines())
    return event


class _Cleaner:
    """The processor that removes secrets and line breaks from a line's fields."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        cleaned = self._redactor.clean(dict(event))
        return {key: value if key in ("exception", "stack") else _flat(value) for key, value in cleaned.items()}

    def line(self, _logger: WrappedLogger, _method: str, line: Any) -> str:
        """Remove secrets from the written line, which is text by now, whatever the fields were."""
        return self._redactor.text(line)


def _flat(value: object) -> object:
    """Text on one line: white space becomes a space, invisible characters are escaped."""
    match value:
        case str():
            return value if value.isprintable() else "".join(map(_printable, value))
        case Mapping():
            return {_flat(key): _flat(held) for key, held in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_flat(held) for held in value]
        case BaseException():
            return _flat(str(value))
        case _:
            return value


def _printable(character: str) -> str:
    if character.isprintable() or character in "\u200c\u200d":  # joiners, which emoji and scripts are written with
        return character
    return " " if character.isspace() else character.encode("unicode_escape").decode("ascii")


def _install(handler: logging.Handler, level: str) -> None:
    root = logging.getLogger()
    for held in [held for held in root.handlers if held.get_name() == _NAME]:
        root.removeHandler(held)
    root.addHandler(handler)
    root.setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in _SILENT:
        logging.getLogger(name).setLevel(logging.CRITICAL)
