"""Accounts, roles and memberships as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta


@dataclass(eq=False)
class User:
    """An account: a person or a bot."""

    id: int
    username: str
    global_name: str | None = None
    bot: bool = False
    accepts_dms: bool = True
    installed: bool = False
    """Whether this person added the bot to the own account (user install)."""

    @property
    def mention(self) -> str:
        return f"<@{self.id}>"


@dataclass(eq=False)
class Role:
    """A guild's role; the one with the guild's id is @everyone."""

    id: int
    name: str
    permissions: int = 0
    position: int = 0
    mentionable: bool = False
    managed: bool = False
    bot_id: int | None = None

    @property
    def mention(self) -> str:
        return f"<@&{self.id}>"


@dataclass(eq=False)
class Member:
    """One account's membership of one guild."""

    user: User
    nick: str | None = None
    roles: list[Role] = field(default_factory=list)
    joined: datetime = field(default_factory=lambda: datetime.now(UTC))


class Snowflakes:
    """Ids that carry the time as Discord's do and strictly grow."""

    _EPOCH = 1_420_070_400_000

    def __init__(self) -> None:
        self._last = 0
        self._away = timedelta()

    def move(self, away: timedelta) -> None:
        """Let what is made from here on be so far from now, as its id tells."""
        self._away, self._last = away, 0

    def __next__(self) -> int:
        milliseconds = int((datetime.now(UTC) + self._away).timestamp() * 1000) - self._EPOCH
        self._last = max(self._last + 1, milliseconds << 22)
        return self._last
