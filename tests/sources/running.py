"""The Discord source in this very loop, against a Discord of our own."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import discord
from discord import app_commands
from pydantic import SecretStr

from memory.queue.missed_messages import Gap, Span
from memory.queue.notifications import Notification
from memory.store.clock import utc_now
from memory.store.ids import PersonId, PlaceId
from sources.discord.command_tree import Commands, Install, mark
from sources.discord.message_sender import DiscordEndpoint
from sources.discord.settings import DiscordSettings, StoredDecisions
from sources.discord.shared_state import StoredMessage, Wiring
from sources.discord.source import DiscordSource
from tests.wire.discord import DiscordServer, GuildChannel, Person, Role

NOTHING_DECIDED = StoredDecisions({}, {}, lambda _person: ())


@dataclass
class KeptGaps:
    """Gaps that are tried again at once, for as long as the object lives."""

    open: dict[Span, str] = field(default_factory=dict)
    closed: dict[Span, str] = field(default_factory=dict)
    tries: int = 0
    pause: float = 0.05
    may_read: bool = True
    """Whether those that are due are told."""

    async def note(self, spans: Sequence[Span], reason: str, *, at_once: bool = False) -> None:
        self.open.update(dict.fromkeys(spans, reason))

    async def due(self) -> Sequence[Gap]:
        now = datetime.now(UTC)
        open_now = self.open.items() if self.may_read else ()
        return [Gap(span, reason, self.tries, now, now) for span, reason in open_now]

    async def wait(self) -> float | None:
        return self.pause if self.open else None

    async def failed(self, span: Span, reason: str) -> None:
        self.tries += 1
        self.open[span] = reason

    async def fill(self, span: Span) -> None:
        self.open.pop(span, None)

    async def close(self, span: Span, reason: str) -> None:
        self.open.pop(span, None)
        self.closed[span] = reason


def commands(
    install: Install, synced: Callable[[], Awaitable[str | None]], note: Callable[[str], Awaitable[None]]
) -> Commands:
    """Everybody's are answered, in nobody's language, and nothing is taken out of what is written."""

    async def barred(_interaction: object) -> str:
        return ""

    return Commands(install, synced, note, barred, lambda _: False, lambda _: "", lambda data: data)


def no_commands() -> Commands:
    """None, and Discord has none."""

    async def synced() -> str:
        return mark(app_commands.CommandTree(discord.Client(intents=discord.Intents.none())))

    async def note(_mark: str) -> None:
        raise AssertionError

    return commands(lambda _tree: None, synced, note)


@dataclass
class Ear:
    """Takes what the source delivers, and what composition would tell the source."""

    cursors: dict[PlaceId, str] = field(default_factory=dict)
    stored: dict[PlaceId, list[StoredMessage]] = field(default_factory=dict)
    heard: list[Notification] = field(default_factory=list)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    commands: Commands = field(default_factory=no_commands)
    ignored: set[PersonId] = field(default_factory=set)
    """Those who chose that nothing they say is heard."""
    gaps: KeptGaps = field(default_factory=KeptGaps)
    let_in: list[PersonId] = field(default_factory=list)
    """People of whom no direct message was heard yet."""
    listens_from: int | None = None
    paused: bool = False
    """Whether nothing of what is heard is taken."""
    silence: str = ""
    """Why nobody is answered."""
    reached: int = 0
    """How often the connection was there, at first or again."""
    lost: list[int] = field(default_factory=list)
    """Channels in which something could not be handled."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def is_reached(self) -> None:
        self.reached += 1

    def deliver(self, notification: Notification) -> None:
        self.heard.append(notification)
        if notification.position:
            self.cursors[notification.place.id] = notification.position
        self._news.set()

    async def gave_up(self, channel: int) -> None:
        self.lost.append(channel)

    async def last_seen(self) -> Mapping[PlaceId, str]:
        return dict(self.cursors)

    async def never_wrote(self) -> Mapping[PersonId, datetime | None]:
        return dict.fromkeys(self.let_in)

    async def starts_from(self) -> int | None:
        return self.listens_from

    async def recently_stored(self, place: PlaceId) -> Sequence[StoredMessage]:
        return self.stored.get(place, [])

    async def wait(self, count: int, seconds: float = 10.0) -> list[Notification]:
        """The first `count` notifications; fails when they do not come."""
        try:
            async with asyncio.timeout(seconds):
                while len(self.heard) < count:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"only {[n.external_id for n in self.heard]} of {count}") from None
        return self.heard

    async def next(self, fits: Callable[[Notification], bool] = lambda _: True) -> Notification:
        """The first notification that fits, already there or still to come."""
        at = 0
        while True:
            await self.wait(at + 1)
            if fits(self.heard[at]):
                return self.heard[at]
            at += 1


@dataclass
class Running:
    source: DiscordSource
    ear: Ear
    task: asyncio.Task[None]

    @property
    def endpoint(self) -> DiscordEndpoint:
        return self.source.endpoint

    @property
    def heard(self) -> list[Notification]:
        return self.ear.heard


def home(server: DiscordServer) -> tuple[GuildChannel, Person]:
    """A channel of a server, and somebody who is in it."""
    general = server.guild("Home").text_channel("general")
    return general, joins(general, "ana")


def joins(general: GuildChannel, name: str, *roles: Role, shown: str | None = None, bot: bool = False) -> Person:
    """Somebody else who is in that server; `shown` is what they call themselves."""
    person = general.world.enrol(Person(general.world, name, shown, bot=bot))
    general.guild.add(person, roles=roles)
    return person


def settings_for(server: DiscordServer, **changes: Any) -> DiscordSettings:
    plain: dict[str, Any] = {"decided": NOTHING_DECIDED, "ready_seconds": 0.1, "earlier_lines": 0}
    return DiscordSettings(SecretStr(server.token), **(plain | changes))


@contextlib.asynccontextmanager
async def connected(server: DiscordServer, ear: Ear | None = None, **changes: Any) -> AsyncIterator[Running]:
    """A running source, until the block ends."""
    ear = ear or Ear()
    wiring = Wiring(
        ear.last_seen, ear.recently_stored, ear.never_wrote, ear.gaps, ear.starts_from, ear.commands,
        on_ready=lambda _: ear.ready.set(), reachable=ear.is_reached, gave_up=ear.gave_up,
        ignored=lambda person: person in ear.ignored, paused=lambda: ear.paused, silence=lambda: ear.silence,
        unknown_wrote=lambda _: None, types=lambda *_: None, spoke=lambda *_: None, clock=utc_now,
    )  # fmt: skip
    source = DiscordSource(settings_for(server, **changes), wiring)
    with server.patched():
        task = asyncio.create_task(source.run(ear.deliver))
        waiting = asyncio.create_task(ear.ready.wait())
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED, timeout=20)
        waiting.cancel()
        if task.done():
            await task
        try:
            yield Running(source, ear, task)
        finally:
            task.cancel()
            await asyncio.wait({task})
