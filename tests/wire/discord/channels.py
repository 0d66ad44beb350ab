"""Channels of every kind, as tests see them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.wire import PATIENCE
from tests.wire.discord import payloads, permissions
from tests.wire.discord.messages import Json, LogEntry, Message
from tests.wire.discord.people import Role, User

if TYPE_CHECKING:
    from tests.wire.discord.guild import Guild
    from tests.wire.discord.world import World

TEXT, DIRECT, PUBLIC_THREAD, PRIVATE_THREAD, FORUM = 0, 1, 11, 12, 15


@dataclass(frozen=True)
class Typing:
    user: User
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass
class Overwrite:
    """What a channel adds to and takes from one role's or member's permissions."""

    target: int
    is_role: bool
    allow: int = 0
    deny: int = 0


class Channel:
    """Anything that holds messages."""

    def __init__(self, world: World, number: int, kind: int, name: str) -> None:
        self.world = world
        self.id = number
        self.kind = kind
        self.name = name
        self.posts: dict[int, Message] = {}
        self.log: list[LogEntry] = []
        self.typings: list[Typing] = []

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} {self.id}>"

    @property
    def guild(self) -> Guild | None:
        return None

    @property
    def messages(self) -> list[Message]:
        """All living messages, oldest first."""
        return [post for post in self.posts.values() if not post.deleted]

    @property
    def from_bot(self) -> list[Message]:
        """The living messages of the bot and its webhooks, oldest first."""
        return [post for post in self.messages if post.from_bot]

    def permissions_of(self, user: User) -> int:
        raise NotImplementedError

    def payload(self) -> Json:
        raise NotImplementedError

    def may(self, user: User, *names: str) -> bool:
        wanted = permissions.bits(names)
        return self.permissions_of(user) & wanted == wanted

    async def wait_for_bot(
        self,
        fits: Callable[[Message], bool] = lambda _: True,
        *,
        after: Message | None = None,
        timeout: float = PATIENCE,
    ) -> Message:
        """The first living bot message that fits, already there or still to come (or to be edited so).

        `after` leaves out everything not newer than that message. Answers still loading never fit.
        """
        since = after.id if after else 0

        def find() -> Message | None:
            for post in self.from_bot:
                if post.id > since and not post.loading and fits(post):
                    return post
            return None

        try:
            return await self.world.changes.until(find, timeout, f"a fitting bot message in {self!r}")
        except TimeoutError as error:
            seen = [post.text for post in self.from_bot if post.id > since]
            raise TimeoutError(f"{error}; the bot said {seen!r}") from None


class DirectChannel(Channel):
    """The direct channel between one person and the bot, or another person."""

    def __init__(self, world: World, number: int, person: User, other: User | None = None) -> None:
        super().__init__(world, number, DIRECT, f"DM with {person.username}")
        self.person, self.other = person, other or world.bot

    def payload(self) -> Json:
        return payloads.direct(self)

    def permissions_of(self, user: User) -> int:
        return permissions.DIRECT if user in (self.person, self.other) else 0


class GuildChannel(Channel):
    """A channel of a guild: text or forum."""

    def __init__(self, guild: Guild, kind: int, name: str) -> None:
        super().__init__(guild.world, next(guild.world.ids), kind, name)
        self._guild = guild
        self.topic: str | None = None
        self.position = len(guild.channels)
        self.overwrites: dict[int, Overwrite] = {}

    @property
    def guild(self) -> Guild:
        return self._guild

    @property
    def threads(self) -> list[Thread]:
        return [t for t in self._guild.threads if t.parent is self]

    def payload(self) -> Json:
        return payloads.guild_channel(self)

    def permissions_of(self, user: User) -> int:
        return self._guild.permissions_in(user, self.overwrites.values())

    def allow(self, target: Role | User, *names: str) -> None:
        """Grant these permissions here to a role or a person (or the bot)."""
        overwrite = self._overwrite(target)
        overwrite.allow |= permissions.bits(names)
        overwrite.deny &= ~overwrite.allow
        self._changed()

    def deny(self, target: Role | User, *names: str) -> None:
        """Take these permissions here from a role or a person (or the bot)."""
        overwrite = self._overwrite(target)
        overwrite.deny |= permissions.bits(names)
        overwrite.allow &= ~overwrite.deny
        self._changed()

    def delete(self) -> None:
        for thread in self.threads:
            thread.delete()
        self._guild.channels.remove(self)
        self.world.emit("CHANNEL_DELETE", self.payload(), self._guild)

    def _overwrite(self, target: Role | User) -> Overwrite:
        return self.overwrites.setdefault(target.id, Overwrite(target.id, isinstance(target, Role)))

    def _changed(self) -> None:
        if self in self._guild.channels:
            self.world.emit("CHANNEL_UPDATE", self.payload(), self._guild)


class Thread(Channel):
    """A thread below a text channel or a post in a forum."""

    def __init__(self, parent: GuildChannel, number: int, kind: int, name: str, owner: User) -> None:
        super().__init__(parent.world, number, kind, name)
        self.parent = parent
        self.owner = owner
        self.members: dict[int, datetime] = {owner.id: datetime.now(UTC)}
        self.created = datetime.now(UTC)

    @property
    def guild(self) -> Guild:
        return self.parent.guild

    @property
    def private(self) -> bool:
        return self.kind == PRIVATE_THREAD

    def payload(self) -> Json:
        return payloads.thread(self)

    def permissions_of(self, user: User) -> int:
        held = self.parent.permissions_of(user)
        moderator = held & permissions.bits(["manage_threads"])
        return 0 if self.private and user.id not in self.members and not moderator else held

    def add(self, user: User) -> None:
        """Let a person (or the bot) take part."""
        if user.id in self.members:
            return
        self.members[user.id] = datetime.now(UTC)
        if user is self.world.bot and self.private:
            data = self.payload() | {"member": payloads.thread_member(self, user)}
            self.world.emit("THREAD_CREATE", data, self.guild, self)
        data = {
            "id": str(self.id),
            "guild_id": str(self.guild.id),
            "member_count": len(self.members),
            "added_members": [payloads.thread_member(self, user)],
            "removed_member_ids": [],
        }
        self.world.emit("THREAD_MEMBERS_UPDATE", data, self.guild, self)

    def delete(self) -> None:
        self.guild.threads.remove(self)
        data: Json = {
            "id": str(self.id),
            "guild_id": str(self.guild.id),
            "parent_id": str(self.parent.id),
            "type": self.kind,
        }
        self.world.emit("THREAD_DELETE", data, self.guild)
