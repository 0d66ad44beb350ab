"""The source and its endpoint on a small server, without the rest of the program: what is heard lands in a list."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import SecretStr

from memory.permission_requests import Verdict
from memory.queue.notifications import Kind, Notification
from memory.store.ids import OutboxId, PersonId, PlaceId, snowflakes
from memory.store.records import replace
from sources.base import Delivery
from sources.bluesky.identifiers import person_id
from sources.bluesky.settings import Act, BlueskySettings, Filters, RememberedPost, Wiring
from sources.bluesky.source import BlueskySource
from tests.wire.bluesky import BlueskyServer, Post, User


@dataclass
class Memory:
    """What composition would keep in the store."""

    passed: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    marks: dict[str, str] = field(default_factory=dict)
    acts: list[Act] = field(default_factory=list)
    suspected: list[tuple[str, str]] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    """Posts whose answers were taken back."""
    denied: set[PersonId] = field(default_factory=set)
    allowed: set[PersonId] = field(default_factory=set)
    decided: list[tuple[PersonId, str, Verdict]] = field(default_factory=list)
    waiting: str = ""
    """What somebody is told who answers without a number."""
    opted: dict[PersonId, bool] = field(default_factory=dict)
    paused: bool = False
    answers: int = 0
    stores: bool = True
    settles: bool = True
    """Whether what is delivered arrives in the store."""

    async def withdraw(self, message: str) -> None:
        self.withdrawn.append(message)

    async def suspect(self, root: str, name: str) -> None:
        self.suspected.append((root, name))

    async def mark(self, name: str) -> str | None:
        return self.marks.get(name)

    async def set_mark(self, name: str, value: str) -> None:
        self.marks[name] = value


@dataclass
class Harness:
    server: BlueskyServer
    bot: User
    ana: User
    bob: User
    folder: Path
    memory: Memory = field(default_factory=Memory)
    heard: list[Notification] = field(default_factory=list)
    sources: list[BlueskySource] = field(default_factory=list)

    def source(self, filters: Mapping[str, Any] | None = None, **settings: Any) -> BlueskySource:
        made = BlueskySettings(
            handle=self.bot.handle,
            password=SecretStr(self.bot.password),
            session_file=self.folder / "bluesky.session",
            service=self.server.url,
            filters=Filters(**(filters or {})),
            batch_seconds=0,
        )
        source = BlueskySource(replace(made, **settings), self._wiring())
        self.sources.append(source)
        return source

    async def _held(self, limit: int) -> Sequence[RememberedPost]:
        said = [each for each in reversed(self.heard) if each.kind is Kind.MESSAGE]
        return [RememberedPost(each.external_id, each.place.id, each.at) for each in said[:limit]]

    def _wiring(self) -> Wiring:
        memory = self.memory

        async def seen(ids: Sequence[str]) -> set[str]:
            return {each for each in ids if each in memory.taken or each in memory.passed}

        async def pass_over(found: Mapping[str, str]) -> None:
            memory.passed |= found

        async def settled() -> bool:
            await asyncio.sleep(0)
            return memory.settles

        async def opt(person: PersonId, out: bool) -> None:
            memory.opted[person] = out

        async def answered(_person: PersonId) -> int:
            return memory.answers

        async def decide(person: PersonId, handle: str, code: str, verdict: Verdict) -> str:
            assert person_id(self.server.named(handle).did) == person
            if not code:
                return memory.waiting
            memory.decided.append((person, code, verdict))
            return "" if code == "7" else "No request is waiting for you."

        async def noted(acts: Sequence[Act]) -> None:
            memory.acts.extend(acts)

        async def heard(uri: str) -> tuple[str, PlaceId] | None:
            found = [each for each in self.heard if each.external_id.startswith(f"{uri}#")]
            return (found[0].external_id, found[0].place.id) if found else None

        async def conversation_posts(ids: Sequence[str]) -> set[str]:
            return {each for each in ids if each in memory.taken}

        return Wiring(
            seen=seen, conversation_posts=conversation_posts, held=self._held, withdraw=memory.withdraw,
            pass_over=pass_over,
            suspect=memory.suspect, mark=memory.mark, set_mark=memory.set_mark, settled=settled, opt=opt,
            answered=answered, decide=decide, noted=noted, heard=heard, denied=memory.denied.__contains__,
            allowed=memory.allowed.__contains__, ignored=lambda person: memory.opted.get(person, False),
            paused=lambda: memory.paused, on_ready=lambda _: None,
        )  # fmt: skip

    def deliver(self, notification: Notification) -> None:
        self.heard.append(notification)
        if self.memory.stores and notification.kind is Kind.MESSAGE:
            self.memory.taken.add(notification.external_id)

    @property
    def texts(self) -> list[str]:
        return [each.text for each in self.heard]

    @property
    def why(self) -> list[str]:
        return list(self.memory.passed.values())

    def mention(self, text: str, by: User | None = None, **more: Any) -> Post:
        return (by or self.ana).post(f"@{self.bot.handle} {text}", mentions=(self.bot,), **more)

    async def begun(self, filters: Mapping[str, Any] | None = None, **settings: Any) -> BlueskySource:
        """A source that has looked once: what comes is new."""
        source = self.source(filters, **settings)
        await self.poll(source)
        return source

    async def poll(self, source: BlueskySource, times: int = 1) -> None:
        for _ in range(times):
            await source.poll(self.deliver)


# ------------------------------------------------------------------ what somebody may do who wants nothing of us


def opts_out(here: Harness, user: User) -> None:
    here.memory.opted[person_id(user.did)] = True


def denies(here: Harness, user: User) -> None:
    here.memory.denied.add(person_id(user.did))


def blocks(here: Harness, user: User) -> None:
    user.blocks.add(here.bot.did)


def mutes(here: Harness, user: User) -> None:
    """The bot's account does."""
    here.bot.muted.add(user.did)


def hides(_here: Harness, user: User) -> None:
    """Only who has signed in is to read."""
    user.labels.append("!no-unauthenticated")


def excludes(_here: Harness, _user: User) -> None:
    """By the configuration of the source."""


def pauses(here: Harness, _user: User) -> None:
    """Everything, for everybody."""
    here.memory.paused = True


Away: TypeAlias = Callable[[Harness, User], None]
AWAY: list[Away] = [opts_out, denies, blocks, mutes, hides]


def delivery(place: PlaceId, text: str, reply_to: str = "", **more: Any) -> Delivery:
    at = datetime(2026, 11, 22, 12, tzinfo=UTC)
    return Delivery(OutboxId(snowflakes.next()), place, text, at, reply_to=reply_to, **more)


@contextlib.asynccontextmanager
async def ground(folder: Path) -> AsyncIterator[Harness]:
    async with BlueskyServer.start() as server:
        users = (server.user("carina.test", "Carina"), server.user("ana.test", "Ana"), server.user("bob.test"))
        made = Harness(server, *users, folder)
        try:
            yield made
        finally:
            for source in made.sources:
                await source.session.close()
        assert server.problems == []
