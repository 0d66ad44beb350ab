"""The supervisor: everything that lives as long as the service runs under it.

An unexpected exception ends nothing but the attempt: it is logged with its traceback, the work begins again after a
growing pause, and the owner is told once. Only what nobody can mend while the service runs passes on and ends the
process: a configuration that is wrong, and a platform that refuses what the configuration says (`FATAL`).

Work that is about one item (a row of the inbox or outbox, a notification) counts its failures itself and gives the item
up; what reaches this module is what no item explains.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import TypeAlias

import structlog

from bot.errors import ConfigError
from bot.storage_retry import Unstored, until_stored
from memory.store.backups import BackupFailed
from sources.base import SourceRefused, raise_if_cancelled
from texts import _, error_text

FATAL = (ConfigError, SourceRefused)
"""What ends the process: the owner has to change something before it can go on."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
HEALTHY_SECONDS = 600.0
"""Work that ran this long before it failed is trusted again: its pauses begin anew, and the owner is told again."""

_TELL_SECONDS = 10.0

_log = structlog.get_logger("bot.supervision")

Work: TypeAlias = Callable[[], Awaitable[None]]
TellOwner: TypeAlias = Callable[[str, Exception], Awaitable[None]]
"""Tells the owner that the work of that name failed, and with what; once for the same name and day."""


class Supervisor:
    """Runs work beside everything else, in a task group that it does not let anything break."""

    def __init__(self, tasks: asyncio.TaskGroup, tell: TellOwner, unstored: Unstored | None = None) -> None:
        self._tasks = tasks
        self._context = copy_context()  # what is said unasked is for the owner, whoever had the work begin
        self._tell = tell
        self._unstored = unstored or Unstored()
        self._resting: set[str] = set()

    def keep(self, name: str, work: Work) -> asyncio.Task[None]:
        """Run it until it returns or is cancelled; begin it again whenever it fails."""
        return self._tasks.create_task(self._keep(name, work), name=name, context=self._context.copy())

    def once(self, name: str, work: Awaitable[None]) -> asyncio.Task[None]:
        """Run something that is not worth a second try: what goes wrong with it is logged."""
        return self._tasks.create_task(self._once(name, work), name=name, context=self._context.copy())

    def rests(self, name: str) -> bool:
        """Whether work of that name failed and waits to begin again: whoever wants it need not begin it."""
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
                # A failed backup says in its own words what to do: a traceback would hide it.
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
        """Telling is work like any other: that it fails must not end what it is about."""
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
    """Seconds until work that failed so often in a row begins again."""
    return min(FIRST_PAUSE * 2.0 ** (failures - 1), LONGEST_PAUSE)


def failure_words(name: str, error: Exception) -> str:
    """What the owner is told; of an unknown error only its kind, since its words may quote what was said."""
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
