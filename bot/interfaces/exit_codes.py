"""How a command ends when something goes wrong: in words for a person, or as the last events of a JSON log.

0 it did what was asked; 1 it could not, and said why; 2 the configuration or the call is wrong; 3 a database
has to be migrated first (`carina db migrate`).
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from rich.console import Console

from bot import logs
from bot.errors import CallError, ConfigError, UserError
from bot.interfaces.cli import streams
from bot.secrets import Redactor
from memory.store.errors import DatabaseOutdated, StoreError
from sources.base import SourceRefused
from texts import error_text

_CODES: tuple[tuple[type[Exception], int], ...] = (
    (ConfigError, 2),
    (CallError, 2),
    (SourceRefused, 2),
    (DatabaseOutdated, 3),
    (StoreError, 1),
    (UserError, 1),
)
_EXPECTED = tuple(kind for kind, _code in _CODES)
_UNEXPECTED = 1


@contextmanager
def explained() -> Iterator[None]:
    """Print what went wrong in its own words, and end; what nobody expected keeps its traceback."""
    try:
        yield
    except BaseExceptionGroup as group:
        _print_end(_innermost(group))
    except _EXPECTED as error:
        _print_end(error)


@contextmanager
def logged() -> Iterator[None]:
    """The same where every line has to be a JSON object: an event that says why, then `stopped` with the exit code."""
    logs.setup_logs(Redactor(), as_json=True)  # until the configuration is known, whose words hold no secret
    logging.captureWarnings(capture=True)
    try:
        yield
    except Exception as error:  # of every kind: what nobody expected may not end up as plain lines either
        raise SystemExit(_log_end(_innermost(error))) from error


def exit_code(error: Exception) -> int:
    """The code with which a command ends because of an error that is expected."""
    code = _code(error)
    return _UNEXPECTED if code is None else code


def _code(error: BaseException) -> int | None:
    return next((code for kind, code in _CODES if isinstance(error, kind)), None)


def _print_end(error: BaseException) -> NoReturn:
    if isinstance(error, BrokenPipeError):  # who read the output has read enough, as `head` does
        streams.drop_output()
        raise SystemExit(_UNEXPECTED) from None
    code = _code(error)
    if code is None:
        raise error
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"carina: {error_text(error)}", markup=False)
    raise SystemExit(code) from None


def _log_end(error: BaseException) -> int:
    code = _code(error)
    if code is None:
        logs.log.error("crashed", exit_code=_UNEXPECTED, exc_info=error)
    else:
        logs.log.error("startup_failed", reason=str(error), exit_code=code)
    code = _UNEXPECTED if code is None else code
    logs.stopped(exit_code=code)
    return code


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
