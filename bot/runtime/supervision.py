"""The supervisor of all long-lived tasks.

An unexpected exception ends only the attempt: it is logged with its traceback, the work restarts after a growing pause,
and the owner is told once. Only errors that nobody can fix while the service runs are raised and end the process: a
wrong configuration, and a platform that rejects it (`FATAL`).

Work on one item (a row of the inbox or outbox, a notification) counts its failures itself and gives the item up; this
module handles all other errors.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextvars import Context, copy_context
from typing import Any, TypeAlias

from msgspec import Struct

from bot.errors import ConfigError
from bot.runtime.conversation import ConversationWorker
from bot.storage_retry import StorageRetry, until_stored
from memory.store.backups import BackupFailed
from memory.store.logs import Log
from sources.base import SourceRefused, raise_if_cancelled
from texts import _, error_text

FATAL = (ConfigError, SourceRefused)
"""Errors that end the process: the owner must change something before it can continue."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
HEALTHY_SECONDS = 600.0
"""Work that ran this long before it failed starts over with short pauses, and the owner is told again."""

_TELL_SECONDS = 10.0

_log = Log("bot.supervision")

Work: TypeAlias = Callable[[], Awaitable[None]]
TellOwner: TypeAlias = Callable[[str, Exception], Awaitable[None]]
"""Tells the owner that the work of that name failed, and why; once per name and day."""


class _Start(Struct, frozen=True):
    """The task group and notifier after the start, and the context variables of the owner for all work."""

    tasks: asyncio.TaskGroup
    tell: TellOwner
    context: Context


class Supervisor:
    """Runs work in a task group that no failure can break; a halt or the end of the service stops it.

    One for the whole service. Nothing runs before `start`: a read-only command starts nothing.
    """

    def __init__(self) -> None:
        self.unstored = StorageRetry()
        """Writes that wait for a database that refuses them."""
        self.settled = asyncio.Event()
        """Set briefly whenever something ends, for waiters to look again (`settle`)."""
        self.stopping = False
        """The service is ending: no new turn begins."""
        self.conversations: set[ConversationWorker] = set()
        """The running turns, of every constellation."""
        self._started: _Start | None = None
        self._halting: set[asyncio.Task[None]] = set()
        self._halted: set[asyncio.Task[None]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._resting: set[str] = set()

    @property
    def started(self) -> bool:
        return self._started is not None

    @property
    def busy(self) -> bool:
        """Whether anybody is being answered."""
        return any(not conversation.resting for conversation in self.conversations)

    def start(self, tasks: asyncio.TaskGroup, tell: TellOwner) -> None:
        self._started = _Start(tasks, tell, copy_context())

    def keep(self, name: str, work: Work, *, halts: bool = False) -> asyncio.Task[None] | None:
        """Run work until it returns or is canceled; it restarts while the database refuses, and whenever it fails.

        Names are per constellation: a pause in one does not keep work from starting in another. Returns None if nothing
        was started, as for work of a name that failed and waits for its restart. `halts`: an emergency halt stops it.
        """
        if (started := self._started) is None or name in self._resting:
            return None
        among = (self._tasks, self._halting) if halts else (self._tasks,)
        return _created(started, name, self._keep(started, name, work), among)

    def once(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        """Run work without a retry; errors are logged."""
        if (started := self._started) is None:
            work.close()
            return None
        return _created(started, name, _once(name, work), (self._tasks,))

    def settle(self) -> None:
        self.settled.set()
        self.settled.clear()

    def begin_no_turns(self) -> None:
        self.stopping = True

    def halt(self) -> None:
        """Stop every turn and delivery now. Their rows stay as they are."""
        self._halted |= self._halting
        for task in self._halted:
            task.cancel()

    async def halted(self) -> None:
        """Wait until everything that a halt stopped has ended, so that nothing takes up new work."""
        if ending := tuple(self._halted):
            await asyncio.wait(ending)
            self._halted.difference_update(ending)

    def stop(self) -> None:
        """Stop everything; unfinished work is resumed at the next start."""
        for task in tuple(self._tasks):
            task.cancel()

    async def _keep(self, started: _Start, name: str, work: Work) -> None:
        failures = 0
        while True:
            begun = time.monotonic()
            try:
                await until_stored(name, work, self.unstored)
                return
            except FATAL:
                raise
            except Exception as error:
                failures = 1 if time.monotonic() - begun >= HEALTHY_SECONDS else failures + 1
                # A failed backup's text says what to do; a traceback would hide it.
                why = {"reason": str(error)} if isinstance(error, BackupFailed) else {"exc_info": error}
                _log.error("task_failed", task=name, failures=failures, again_in=pause_after(failures), **why)
                raise_if_cancelled()
                await self._rest(started.tell, name, error, failures)

    async def _rest(self, tell: TellOwner, name: str, error: Exception, failures: int) -> None:
        self._resting.add(name)
        try:
            if failures == 1:
                await _told(tell, name, error)
            await asyncio.sleep(pause_after(failures))
        finally:
            self._resting.discard(name)


def _created(
    started: _Start, name: str, work: Coroutine[Any, Any, None], among: Iterable[set[asyncio.Task[None]]]
) -> asyncio.Task[None]:
    task = started.tasks.create_task(work, name=name, context=started.context.copy())
    for kept in among:
        kept.add(task)
        task.add_done_callback(kept.discard)
    return task


async def _once(name: str, work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except FATAL:
        raise
    except Exception:
        _log.exception("task_failed", task=name)


async def _told(tell: TellOwner, name: str, error: Exception) -> None:
    """Notify as supervised work: a failed notice must not end the work that it reports."""
    try:
        async with asyncio.timeout(_TELL_SECONDS):
            await tell(name, error)
    except Exception:
        _log.exception("owner_not_told", task=name)


def pause_after(failures: int) -> float:
    """Seconds until work restarts after so many failures in a row."""
    return min(FIRST_PAUSE * 2.0 ** min(failures - 1, 10), LONGEST_PAUSE)


def failure_words(name: str, error: Exception) -> str:
    """The text for the owner; of an unknown error only its type, because its message may quote people."""
    if isinstance(error, BackupFailed):
        return _(
            "The {name} is failing: {why}. I'll keep trying at longer and longer intervals.",
            name=_(name),
            why=error_text(error),
        )
    return _(
        "A part of the service keeps failing: {name} ({error}). I'll keep trying at longer and longer "
        "intervals; everything else keeps running. The log has the details. If this continues, please report "
        "it.",
        name=name,
        error=type(error).__name__,
    )
