"""The exit codes of commands.

0: success; 1: failure, with the reason; 2: an error in the configuration or the command line; 3: a database has to
be migrated first (`carina db migrate`).
"""

from bot.errors import CallError, ConfigError, UserError
from memory.store.errors import DatabaseOutdated, StoreError
from sources.base import SourceRefused

_CODES: tuple[tuple[type[Exception], int], ...] = (
    (ConfigError, 2),
    (CallError, 2),
    (SourceRefused, 2),
    (DatabaseOutdated, 3),
    (StoreError, 1),
    (UserError, 1),
)
EXPECTED = tuple(kind for kind, _code in _CODES)


def exit_code(error: BaseException) -> int:
    """The code for an expected error; any other error means that the command failed."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), 1)
