"""Logs of everything, including the standard library's loggers.

Every line passes the redactor twice (field by field, and once more as it is written), so a secret does not reach the
log even inside another library's exception. People's text is put on one line with control characters escaped, so that
it can forge neither a line of the log nor a terminal's colors.
"""

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TextIO

from bot.redactor import Redactor
from memory.store.logs import Log

_NAME = "carina"
_QUIET = (
    *("httpx", "httpx2", "httpcore", "httpcore2", "discord", "openai", "anthropic", "aiosqlite", "asyncio"),
    "apscheduler",
)
"""Libraries whose information lines (requests with their URLs, gateway chatter) are left out; warnings stay."""

_SILENT = ("discord.client", "mcp")
"""Libraries that log a traceback for every reconnection and odd answer, and remarks on voice; our own lines report the
state instead."""

log = Log(_NAME)


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
    handler = logging.StreamHandler(out)
    handler.set_name(_NAME)
    colors = out.isatty() and not no_color
    handler.setFormatter(_Objects(redactor) if as_json else _Lines(redactor, colors=colors))
    _install(handler, level.upper())


def ready(front_end: str, **facts: object) -> None:
    """Log that a front end (discord, terminal, ...) is connected and listens."""
    log.info("ready", front_end=front_end, **facts)


def stopped(**facts: object) -> None:
    """Log that the service has shut down; the last line of a run."""
    log.info("stopped", **facts)


class _Lines(logging.Formatter):
    """Lines for people. Tracebacks are indented, so that text in one cannot pass for a line of the log."""

    def __init__(self, redactor: Redactor, *, colors: bool) -> None:
        super().__init__()
        self._redactor = redactor
        self._colors = colors

    def format(self, record: logging.LogRecord) -> str:
        event, fields = _flat(self._redactor.clean(record.getMessage())), _fields(self._redactor, record)
        level = record.levelname.lower()
        words = (
            self._colored(f"{datetime.fromtimestamp(record.created).astimezone():%H:%M:%S}", 2),
            f"[{self._colored(f'{level:<9}', _COLORS.get(level, 31))}]",
            self._colored(f"{event:<24}", 1),
            f"[{self._colored(str(_flat(record.name)), 34)}]",
            *(f"{self._colored(key, 36)}={self._colored(_shown(value), 35)}" for key, value in fields),
        )
        lines = [" ".join(words)]
        for text in _tracebacks(self, record):
            lines += [f"    {_flat(line)}" for line in self._redactor.clean(text).splitlines()]
        return self._redactor.text("\n".join(lines))

    def _colored(self, text: str, code: int) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colors else text


class _Objects(logging.Formatter):
    """One JSON object per line."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z")
        line: dict[str, object] = {
            **dict(_fields(self._redactor, record)),
            "event": _flat(self._redactor.clean(record.getMessage())),
            "logger": _flat(record.name),
            "level": record.levelname.lower(),
            "timestamp": at,
        }
        if texts := _tracebacks(self, record):
            line["exception"] = self._redactor.clean("\n".join(texts))
        return self._redactor.text(json.dumps(line, ensure_ascii=False, default=str))


_COLORS = {"debug": 32, "info": 32, "warning": 33}


def _fields(redactor: Redactor, record: logging.LogRecord) -> list[tuple[str, object]]:
    fields: dict[str, object] = getattr(record, "fields", {})
    return sorted((str(_flat(key)), _flat(value)) for key, value in redactor.clean(fields).items())


def _tracebacks(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    texts = [formatter.formatException(record.exc_info)] if record.exc_info and record.exc_info[0] else []
    return [*texts, record.stack_info] if record.stack_info else texts


def _shown(value: object) -> str:
    return value if isinstance(value, str) and not set(value) & set(" \t=\r\n\"'") else repr(value)


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
    if character.isprintable() or character in "\u200c\u200d":  # joiners, which emoji and some scripts need
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
