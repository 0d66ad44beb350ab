"""Messages, their files, and the channel's record of what happened to them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from tests.wire.discord.people import User

if TYPE_CHECKING:
    from tests.wire.discord.channels import Channel, Thread

Json = dict[str, Any]

HAS_THREAD = 1 << 5
EPHEMERAL = 1 << 6
LOADING = 1 << 7
COMPONENTS_V2 = 1 << 15

DEFAULT, THREAD_CREATED, REPLY, COMMAND_ANSWER, THREAD_STARTER, MENU_ANSWER = 0, 18, 19, 20, 21, 23


@dataclass(frozen=True)
class Upload:
    """A file a person attaches, and how the file server treats those who fetch it."""

    filename: str
    data: bytes
    content_type: str | None = None
    delay: float = 0.0
    status: int = 200
    size: int | None = None
    """The size Discord claims, when it should differ from the real one."""


@dataclass(eq=False)
class Attachment:
    """A file on a message; `data` is what was uploaded."""

    id: int
    filename: str
    data: bytes
    url: str
    content_type: str | None = None
    delay: float = 0.0
    status: int = 200
    size: int = 0


@dataclass(eq=False)
class Webhook:
    """A channel's webhook; those made by the bot under test are its own."""

    id: int
    token: str
    name: str
    channel: Channel
    creator: User


@dataclass
class Draft:
    """What a sender hands in to become a message."""

    content: str = ""
    components: list[Json] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    flags: int = 0
    reply_to: Message | None = None
    nonce: str | None = None
    enforce_nonce: bool = False
    allowed_mentions: Json | None = None
    kind: int | None = None


@dataclass(eq=False)
class Message:
    id: int
    channel: Channel
    author: User
    content: str
    from_bot: bool
    kind: int = DEFAULT
    embeds: list[Json] = field(default_factory=list)
    """Link previews."""
    components: list[Json] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    flags: int = 0
    reply_to: Message | None = None
    nonce: str | None = None
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    edited: datetime | None = None
    deleted: bool = False
    allowed_mentions: Json | None = None
    mentions: list[User] = field(default_factory=list)
    mention_roles: list[int] = field(default_factory=list)
    mention_everyone: bool = False
    reactions: dict[str, list[User]] = field(default_factory=dict)
    webhook: Webhook | None = None
    interaction: Json | None = None
    only_for: User | None = None
    thread: Thread | None = None
    points_to: Channel | None = None

    @property
    def ephemeral(self) -> bool:
        return self.only_for is not None

    @property
    def loading(self) -> bool:
        return bool(self.flags & LOADING)

    @property
    def author_name(self) -> str:
        return self.author.username

    @property
    def buttons(self) -> list[Json]:
        """Every button on the message, however deep."""
        return [part for part in parts(self.components) if part["type"] == 2]

    @property
    def words(self) -> str:
        """What its writer wrote: content or, of a container, the text components."""
        return self.text if self.flags & COMPONENTS_V2 else self.content

    @property
    def text(self) -> str:
        """All words of the writer that a reader sees: content and text components."""
        words = [self.content, *(part["content"] for part in parts(self.components) if part["type"] == 10)]
        return "\n".join(word for word in words if word)


def parts(components: list[Json]) -> list[Json]:
    """A component tree flattened, parents first."""
    found: list[Json] = []
    for component in components:
        inner = [component["component"]] if "component" in component else component.get("components", [])
        found += [component, *parts(inner)]
    return found


@dataclass(frozen=True)
class LogEntry:
    """One thing that happened to a message of a channel."""

    what: Literal["create", "edit", "delete"]
    message_id: int
    author: str
    content: str
    nonce: str | None
    from_bot: bool
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    clock: float = field(default_factory=time.monotonic)
