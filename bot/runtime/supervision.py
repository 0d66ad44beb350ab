"""The supervisor of everything that lives as long as the service.

An unexpected exception ends only the attempt: it is logged with its traceback, the work restarts after a growing pause,
and the owner is told once. Only what nobody can fix while the service runs is raised and ends the process: a wrong
configuration, and a platform that rejects it (`FATAL`).

Work on one item (a row of the inbox or outbox, a notification) counts its failures itself and gives the item up; this
module gets what no item explains.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import TypeAlias

from bot.errors import ConfigError
from bot.storage_retry import StorageRetry, until_stored
from memory.store.backups import BackupFailed
from memory.store.logs import Log
from sources.base import SourceRefused, raise_if_cancelled
from texts import _, error_text

FATAL = (ConfigError, SourceRefused)
"""What ends the process: the owner must change something before it can continue."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
HEALTHY_SECONDS = 600.0
"""Work that ran this long before it failed starts with short pauses again, and the owner is told again."""

_TELL_SECONDS = 10.0

_log = Log("bot.supervision")

Work: TypeAlias = Callable[[], Awaitable[None]]
TellOwner: TypeAlias = Callable[[str, Exception], Awaitable[None]]
"""Tells the owner that the work of that name failed, and why; once per name and day."""


class Supervisor:
    """Runs work in a task group that no failure can break."""

    def __init__(self, tasks: asyncio.TaskGroup, tell: TellOwner, unstored: StorageRetry | None = None) -> None:
        self._tasks = tasks
        self._context = copy_context()  # unrequested messages go to the owner, whoever started the work
        self._tell = tell
        self._unstored = unstored or StorageRetry()
        self._resting: set[str] = set()

    def keep(self, name: str, work: Work) -> asyncio.Task[None]:
        """Run work until it returns or is canceled; restart it whenever it fails."""
        return self._tasks.create_task(self._keep(name, work), name=name, context=self._context.copy())

    def once(self, name: str, work: Awaitable[None]) -> asyncio.Task[None]:
        """Run work without a retry; errors are logged."""
        return self._tasks.create_task(self._once(name, work), name=name, context=self._context.copy())

    def rests(self, name: str) -> bool:
        """Whether work of that name failed and waits for its restart: then nobody needs to start it."""
        return name in self._resting

    async def _keep(self, name: str, work: Work) -> None:
        failures = 0
        while True:
            begun = time.monotonic()
            try:
                await until_stored(name, work, self._unstored)
                return
            except FATAL:
                raise
            except Exception as error:
                failures = 1 if time.monotonic() - begun >= HEALTHY_SECONDS else failures + 1
                # The text of a failed backup says what to do: a traceback would hide it.
                why = {"reason": str(error)} if isinstance(error, BackupFailed) else {"exc_info": error}
                _log.error("task_failed", task=name, failures=failures, again_in=pause_after(failures), **why)
                raise_if_cancelled()
                await self._rest(name, error, failures)

    async def _rest(self, name: str, error: Exception, failures: int) -> None:
        self._resting.add(name)
        try:
            if failures == 1:
                await self._told(name, error)
            await asyncio.sleep(pause_after(failures))
        finally:
            self._resting.discard(name)

    async def _told(self, name: str, error: Exception) -> None:
        """Notify as supervised work: a failed notice must not end the work that it is about."""
        try:
            async with asyncio.timeout(_TELL_SECONDS):
                await self._tell(name, error)
        except Exception:
            _log.exception("owner_not_told", task=name)

    async def _once(self, name: str, work: Awaitable[None]) -> None:
        try:
            await work
        except FATAL:
            raise
        except Exception:
            _log.exception("task_failed", task=name)


def pause_after(failures: int) -> float:
    """Seconds until work restarts after so many failures in a row."""
    return min(FIRST_PAUSE * 2.0 ** (failures - 1), LONGEST_PAUSE)


def failure_words(name: str, error: Exception) -> str:
    """The text for the owner; of an unknown error only its type, since its message may quote people."""
    if isinstance(error, BackupFailed):
        return _(
            "The {name} is failing: {why}. I will keep trying at growing intervals.",
            name=_(name),
            why=error_text(error),
        )
    return _(
        "Part of me keeps failing: {name} ({error}). I will keep trying at growing intervals; "
        "everything else goes on. The log has the details. If this continues, please report it.",
        name=name,
        error=type(error).__name__,
    )
