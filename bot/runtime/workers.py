"""The tasks of conversations, deliveries and the intake, under the supervisor; a halt or shutdown stops them."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from bot.runtime.conversation import ConversationWorker
from bot.runtime.supervision import Supervisor, Work
from bot.storage_retry import StorageRetry


class Workers:
    """One for the whole service. Nothing starts before `start`: a read-only command has no workers."""

    def __init__(self) -> None:
        self.unstored = StorageRetry()
        """What waits for a database that refuses writes."""
        self.settled = asyncio.Event()
        """Never stays set: who waits for it looks again when something ended (`settle`)."""
        self.stopping = False
        """The service is ending: no new turn begins."""
        self.conversations: set[ConversationWorker] = set()
        """The running ones, of every constellation."""
        self._supervisor: Supervisor | None = None
        self._halting: set[asyncio.Task[None]] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def started(self) -> bool:
        return self._supervisor is not None

    @property
    def busy(self) -> bool:
        """Whether anybody is being answered."""
        return any(not conversation.resting for conversation in self.conversations)

    def start(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    def spawn(self, name: str, work: Work, *, halts: bool = True) -> asyncio.Task[None] | None:
        """Run work in the background; it restarts while the database refuses, and whenever it fails.

        Names are per constellation: a pause in one does not keep work from starting in another. Returns None if nothing
        was started. `halts`: an emergency halt stops it.
        """
        if self._supervisor is None or self._supervisor.rests(name):
            return None
        task = self._supervisor.keep(name, work)
        for kept in (self._tasks, *([self._halting] if halts else [])):
            kept.add(task)
            task.add_done_callback(kept.discard)
        return task

    def once(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        """Run work without a retry."""
        if self._supervisor is None:
            work.close()
            return None
        task = self._supervisor.once(name, work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def settle(self) -> None:
        self.settled.set()
        self.settled.clear()

    def begin_no_turns(self) -> None:
        self.stopping = True

    def halt(self) -> None:
        """Stop every turn and delivery now. Their rows stay as they are."""
        for task in tuple(self._halting):
            task.cancel()

    def stop(self) -> None:
        """Stop everything; unfinished work is resumed at the next start."""
        for task in tuple(self._tasks):
            task.cancel()
