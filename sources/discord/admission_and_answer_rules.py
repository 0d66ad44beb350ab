"""Who may talk to the bot on Discord, and which of their messages are answered.

Pure, so that every rule is a table in a test.
"""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

from memory.people.admission_and_pairing import Rule
from memory.people.audience import Trust
from memory.queue.payloads import Quotation
from sources.discord.places import ChannelInfo
from sources.discord.settings import Direct, DiscordSettings, Mode
from sources.names import flatten


class Author(Struct, frozen=True):
    """The author; `roles` are ids in the message's guild, without @everyone."""

    id: int
    name: str
    username: str = ""
    roles: Mapping[int, str] = field(default_factory=dict)
    joined: datetime | None = None

    @property
    def shown(self) -> str:
        return flatten(self.name) or flatten(self.username) or f"person {self.id}"


class DiscordMessage(Struct, frozen=True):
    """A person's message as plain values. `mentions` are the names of mentioned people, by id."""

    id: int
    author: Author
    at: datetime
    content: str
    edited_at: datetime | None = None
    mentions: Mapping[int, str] = field(default_factory=dict)
    mentioned_roles: Mapping[int, str] = field(default_factory=dict)
    mentioned_channels: Mapping[int, str] = field(default_factory=dict)
    extras: tuple[str, ...] = ()
    quoted: Quotation | None = None
    calls_us: bool = False
    """Whether it mentions the bot, or the bot's own role."""
    own_roles: frozenset[int] = frozenset()
    """Mentioned roles of the bot itself: every bot has one of its name in a guild."""
    to_others: bool = False
    """Whether it begins with a mention of somebody else, or replies to them."""

    @property
    def addressed(self) -> bool:
        return self.calls_us or (self.quoted is not None and self.quoted.by_us)


def is_admitted(author: Author, info: ChannelInfo, settings: DiscordSettings, *, shares_guild: bool) -> bool:
    """Whether this person may talk here at all. The owner always may."""
    if author.id == settings.owner_id:
        return True
    if is_shut_out(author, info, settings):
        return False
    allow = settings.allow
    if info.direct:
        let_in = author.id in allow.persons or settings.decided.says(Rule.ALLOW, author.id)
        match settings.dm:
            case Direct.OFF:
                return False
            case Direct.EVERYONE:
                return True
            case Direct.SHARED if not allow.persons and not allow.roles:
                return shares_guild or let_in
            case _:
                return let_in
    return not (allow.persons or allow.roles) or _approved(author, settings)


def is_shut_out(author: Author, info: ChannelInfo, settings: DiscordSettings) -> bool:
    """Whether nothing that this person writes there is heard."""
    return settings.shuts_out(author.id, author.roles, info.guild)


def may_ask_in(author: Author, info: ChannelInfo, settings: DiscordSettings) -> bool:
    """Whether a person who is not admitted here is told how to be let in."""
    return info.direct and settings.dm is Direct.PAIR and not is_shut_out(author, info, settings)


def _approved(author: Author, settings: DiscordSettings) -> bool:
    """Whether the person, or a role of theirs in this guild, was let in by the configuration or by command."""
    allow = settings.allow
    if author.id in allow.persons or not allow.roles.isdisjoint(author.roles):
        return True
    return settings.decided.says(Rule.ALLOW, author.id, author.roles)


def trust_of(author: Author, settings: DiscordSettings) -> Trust:
    if author.id == settings.owner_id:
        return Trust.OWNER
    return Trust.APPROVED if _approved(author, settings) else Trust.STRANGER


def is_answered(message: DiscordMessage, info: ChannelInfo, settings: DiscordSettings) -> bool | None:
    """Whether a message is answered; None if agents do not get it.

    Applies the mode of the place: channel before category before guild before default; threads inherit.
    """
    if info.direct:
        return True
    match settings.mode(info.chain or (info.id,)):
        case Mode.OFF:
            return None
        case Mode.OPEN:
            return True
        case Mode.MENTION:
            if not info.ours:
                return True if message.addressed else None
            return message.addressed or not message.to_others
        case Mode.LISTEN:
            return message.addressed
