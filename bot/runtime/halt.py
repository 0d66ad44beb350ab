"""Whether everything is halted: asked by all parts, and stored in global.db so that it survives a restart."""

import asyncio
from collections.abc import Callable

from bot.storage_retry import until_stored
from memory.people.audience import Trust
from memory.queue.notifications import Kind, Notification
from memory.store.clock import Clock, to_text
from memory.store.constellations import HALT, Constellations
from memory.store.logs import Log

_log = Log("bot.halt")


class HaltState:
    """The halt of the whole service. When the owner says `phrase` in any place, everything halts; empty for no phrase.

    `stop` is called whenever a halt begins.
    """

    def __init__(self, constellations: Constellations, clock: Clock, phrase: str, stop: Callable[[], None]) -> None:
        self._constellations = constellations
        self._clock = clock
        self._phrase = phrase
        self._stop = stop
        self.since = ""
        """When the halt began; empty without one."""
        self.unstored = False
        """Whether a restart would forget the current halt."""
        self._one = asyncio.Lock()

    @property
    def halted(self) -> bool:
        return bool(self.since)

    async def restore(self) -> None:
        """Restore the halt of the last run; call this before the router starts."""
        self.since = await self._constellations.position(HALT) or ""
        if self.since:
            _log.warning("agents_halted", since=self.since, hint="`carina halt release` or `/admin halt release`")

    def hear(self, notification: Notification) -> None:
        """Halt if the owner says the phrase, before anything else happens with the message."""
        speaker = notification.speaker
        if not self._phrase or speaker is None or speaker.trust is not Trust.OWNER:
            return
        if notification.kind != Kind.MESSAGE:
            return
        if " ".join(notification.text.casefold().split()).strip("!.") == self._phrase.casefold():
            self.begin(f"{speaker.id} said so")

    def begin(self, why: str) -> None:
        """Stop everything now; `keep` or `store` writes it to the database."""
        self.since = self.since or to_text(self._clock())
        self.unstored = True
        self._stop()
        _log.warning("agents_halted", why=why)

    async def keep(self) -> None:
        """Store a new halt, however long it takes; awaited before its message is stored, so that neither is lost."""
        if self.unstored:
            await until_stored("halt", self.store)

    async def stop(self, why: str) -> None:
        """Stop everything for an approved reason and store it."""
        self.begin(why)
        await self.keep()

    async def store(self) -> None:
        """Store the halt once. Raises StoreError."""
        async with self._one:
            if self.since:
                await self._constellations.note_position(HALT, self.since, durable=True)
            self.unstored = False

    async def end(self) -> bool:
        """End the halt; False if another one began meanwhile. Raises StoreError; then the halt stays."""
        async with self._one:
            before, self.unstored = self.unstored, False
            try:
                await self._constellations.note_position(HALT, "", durable=True)
            except BaseException:
                self.unstored = self.unstored or before
                raise
            if self.unstored:
                return False
            self.since = ""
        return True
