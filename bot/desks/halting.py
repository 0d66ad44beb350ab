"""The emergency halt: everything stops at once and stays stopped, also over restarts, until it is released."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import structlog

from bot import policy
from bot.errors import UserError
from bot.policy import Action, Approver, People
from bot.retrying import until_stored
from bot.router import Router
from memory.audience import Trust
from memory.clock import Clock, to_text
from memory.constellation import Constellations
from memory.errors import StoreError
from sources.base import Kind, Notification
from sources.terminal import PERSON

_MARK = "halt"
_log = structlog.get_logger("bot.halt")


@dataclass
class Halt:
    """Halts and releases one service. `phrase` halts when the owner says it, in any place; empty: none does."""

    constellations: Constellations
    router: Router
    people: People
    clock: Clock
    phrase: str
    since: str = field(default="", init=False)
    """Since when everything is halted; empty when nothing is."""
    _unstored: bool = field(default=False, init=False)
    """Whether a halt holds that a restart would not know of."""
    _one: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def restore(self) -> None:
        """Be halted if the last run was; to be called before the router starts."""
        self.since = await self.constellations.position(_MARK) or ""
        self.router.halted = bool(self.since)
        if self.since:
            _log.warning("halted", since=self.since, hint="`carina release`, or /halt release, goes on")

    def hear(self, notification: Notification) -> None:
        """Halt when the owner says the phrase, whoever's turn it is and before anything else happens."""
        speaker = notification.speaker
        if not self.phrase or speaker is None or speaker.trust is not Trust.OWNER or notification.kind != Kind.MESSAGE:
            return
        if " ".join(notification.text.casefold().split()).strip("!.") == self.phrase.casefold():
            self._stop(f"{speaker.id} said so")

    async def keep(self) -> None:
        """Store a halt that was said; awaited before the words are stored that said it, so that neither is lost."""
        if self._unstored:
            async with self._one:
                await until_stored("halt", self._store)

    async def halt(self, who: Approver) -> str:
        """Stop everything; gives words for who asked. Raises UserError for those who may not."""
        self._check(who)
        before = "" if self._unstored else self.since
        if not before:
            self._stop(f"{who.person} by {who.door}")
        async with self._one:
            try:
                await self._store()
            except StoreError as error:
                raise UserError(
                    f"Everything is halted now, but this could not be written down ({error}): after a restart it "
                    "would go on. Halt again to try."
                ) from error
        if before:
            return f"Everything is halted already, since {before}."
        return "Halted: nothing is answered and nothing is sent until it is released. What arrives is kept."

    async def stop(self, why: str) -> None:
        """Stop everything for a reason that those in charge agreed to, and store it, however long that takes."""
        self._stop(why)
        await self.keep()

    async def release(self, who: Approver) -> str:
        """Go on; gives words for who asked. Raises UserError for those who may not."""
        self._check(who)
        async with self._one:
            if not self.since:
                return "Nothing is halted."
            before, self._unstored = self._unstored, False
            try:
                await self.constellations.note_position(_MARK, "", durable=True)
            except StoreError as error:
                self._unstored = self._unstored or before
                raise UserError(f"Everything is still halted: this could not be written down ({error}).") from error
            if self._unstored:
                return "Somebody halted again in this moment: everything stays halted."
            self.since = ""
        self.router.release()
        _log.warning("released", by=who.person, door=who.door)
        return "Released: what waited is answered now, in order."

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        owner = Approver(PERSON, door="command line")

        async def halt() -> list[dict[str, str]]:
            return [{"text": await self.halt(owner)}]

        async def release() -> list[dict[str, str]]:
            return [{"text": await self.release(owner)}]

        return {"halt": halt, "release": release}

    def _stop(self, why: str) -> None:
        self.router.halt()
        self.since = self.since or to_text(self.clock())
        self._unstored = True
        _log.warning("halted", why=why)

    async def _store(self) -> None:
        if self.since:
            await self.constellations.note_position(_MARK, self.since, durable=True)
        self._unstored = False

    def _check(self, who: Approver) -> None:
        if not policy.may(self.people, who, Action.HALT):
            raise UserError(f"Only {dict(policy.table())[Action.HALT].value} may {Action.HALT.value}.")
