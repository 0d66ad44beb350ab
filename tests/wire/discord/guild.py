"""A guild, and the things a test builds in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tests.wire.discord import payloads, permissions
from tests.wire.discord.channels import FORUM, TEXT, GuildChannel, Overwrite, Thread
from tests.wire.discord.errors import refuse
from tests.wire.discord.people import Member, Role, User

if TYPE_CHECKING:
    from tests.wire.discord.world import World


class Guild:
    """A guild with its @everyone role, its owner and the bot's own member."""

    def __init__(self, world: World, name: str, *, with_bot: bool = True) -> None:
        self.world = world
        self.id = next(world.ids)
        self.name = name
        self.everyone = Role(self.id, "@everyone", permissions.bits(permissions.PLAIN.split()))
        self.roles: list[Role] = [self.everyone]
        self.members: dict[int, Member] = {}
        self.channels: list[GuildChannel] = []
        self.threads: list[Thread] = []
        self.owner = world.user(f"{name.lower()}-owner")
        self.bot_role = Role(next(world.ids), world.bot.username, permissions.bits(permissions.BOT), 1, managed=True)
        self.bot_role.bot_id = world.bot.id
        self.roles.append(self.bot_role)
        self.members[self.owner.id] = Member(self.owner)
        if with_bot:
            self.members[world.bot.id] = Member(world.bot, roles=[self.bot_role])

    def __repr__(self) -> str:
        return f"<Guild {self.name!r} {self.id}>"

    @property
    def has_bot(self) -> bool:
        return self.world.bot.id in self.members

    def role(self, name: str, *names: str, mentionable: bool = False) -> Role:
        """A new role with these permissions."""
        role = Role(next(self.world.ids), name, permissions.bits(names), len(self.roles), mentionable)
        self.roles.append(role)
        data = {"guild_id": str(self.id), "role": payloads.role(role)}
        self.world.emit("GUILD_ROLE_CREATE", data, self)
        return role

    def set_permissions(self, role: Role, *names: str) -> None:
        """Give a role exactly these permissions."""
        role.permissions = permissions.bits(names)
        data = {"guild_id": str(self.id), "role": payloads.role(role)}
        self.world.emit("GUILD_ROLE_UPDATE", data, self)

    def add(self, user: User, *, nick: str | None = None, roles: Iterable[Role] = ()) -> Member:
        """Let a person (or another bot) join."""
        member = Member(user, nick, list(roles))
        self.members[user.id] = member
        data = payloads.member(member) | {"guild_id": str(self.id)}
        self.world.emit("GUILD_MEMBER_ADD", data, self)
        return member

    def change(self, user: User, *, nick: str | None = None, roles: Iterable[Role] | None = None) -> None:
        """Give a member another nick (an empty one removes it) or other roles."""
        member = self.member(user)
        member.nick = member.nick if nick is None else nick or None
        member.roles = member.roles if roles is None else list(roles)
        data = payloads.member(member) | {"guild_id": str(self.id)}
        self.world.emit("GUILD_MEMBER_UPDATE", data, self)

    def remove(self, user: User) -> None:
        """Take a member out."""
        del self.members[user.id]
        data = {"guild_id": str(self.id), "user": payloads.user(user)}
        self.world.emit("GUILD_MEMBER_REMOVE", data, self)

    def member(self, user: User) -> Member:
        if user.id not in self.members:
            raise refuse(10007)
        return self.members[user.id]

    def text_channel(
        self,
        name: str,
        *,
        private: bool = False,
        members: Iterable[User | Role] = (),
        topic: str | None = None,
        webhooks: bool = True,
    ) -> GuildChannel:
        """A text channel. Private: only the bot and `members` see it. `webhooks`: whether the bot may make them."""
        channel = GuildChannel(self, TEXT, name)
        channel.topic = topic
        if private:
            channel.deny(self.everyone, "view_channel")
            for insider in (self.world.bot, *members):
                channel.allow(insider, "view_channel")
        if not webhooks:
            channel.deny(self.world.bot, "manage_webhooks")
        return self._open(channel)

    def forum(self, name: str) -> GuildChannel:
        return self._open(GuildChannel(self, FORUM, name))

    def permissions_in(self, user: User, overwrites: Iterable[Overwrite]) -> int:
        """What a member may do where these overwrites hold."""
        member = self.members.get(user.id)
        if member is None:
            return 0
        held = self.everyone.permissions
        for role in member.roles:
            held |= role.permissions
        if user is self.owner or held & permissions.ADMINISTRATOR:
            return permissions.ALL
        by_target = {overwrite.target: overwrite for overwrite in overwrites}
        if everyone := by_target.get(self.id):
            held = held & ~everyone.deny | everyone.allow
        of_roles = [by_target[role.id] for role in member.roles if role.id in by_target]
        for overwrite in of_roles:
            held &= ~overwrite.deny
        for overwrite in of_roles:
            held |= overwrite.allow
        if own := by_target.get(user.id):
            held = held & ~own.deny | own.allow
        return held if held & permissions.VIEW else 0

    def permissions_of(self, user: User) -> int:
        return self.permissions_in(user, ())

    def _open(self, channel: GuildChannel) -> GuildChannel:
        self.channels.append(channel)
        self.world.emit("CHANNEL_CREATE", channel.payload(), self)
        return channel
