"""The tasks of conversations, deliveries and the intake: under the supervisor, stopped by a halt or at the end."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from bot.runtime.conversation import ConversationWorker
from bot.runtime.delivery import Pulse
from bot.runtime.supervision import Supervisor, Work
from bot.storage_retry import Unstored


class Workers:
    """One for the whole service. Nothing begins before `start`: a command that only reads has no workers."""

    def __init__(self) -> None:
        self.unstored = Unstored()
        """What waits for a database that takes no writes."""
        self.settled = Pulse()
        """Something ended: whoever waits for that looks again."""
        self.stopping = False
        """No further turn is begun: the service ends."""
        self.conversations: set[ConversationWorker] = set()
        """Those that run, of every constellation."""
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
        """Run it beside everything else; it is begun again while the database refuses, and whenever it fails.

        A name is of one constellation: what rests there keeps nothing from being begun in another. None when nothing is
        begun. `halts`: an emergency halt stops it.
        """
        if self._supervisor is None or self._supervisor.rests(name):
            return None
        task = self._supervisor.keep(name, work)
        for kept in (self._tasks, *([self._halting] if halts else [])):
            kept.add(task)
            task.add_done_callback(kept.discard)
        return task

    def once(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        """Run something that is not worth a second try."""
        if self._supervisor is None:
            work.close()
            return None
        task = self._supervisor.once(name, work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def begin_no_turns(self) -> None:
        self.stopping = True

    def halt(self) -> None:
        """Stop every turn and every delivery now. Their rows stay as they are."""
        for task in tuple(self._halting):
            task.cancel()

    def stop(self) -> None:
        """End everything; what it worked on is taken up at the next start."""
        for task in tuple(self._tasks):
            task.cancel()
