"""A Discord gateway and REST server over real sockets, for testing an unmodified bot."""

from tests.wire.discord.channels import Channel, GuildChannel
from tests.wire.discord.errors import DiscordError
from tests.wire.discord.guild import Guild
from tests.wire.discord.interactions import Answered
from tests.wire.discord.messages import Message, Upload
from tests.wire.discord.people import Role
from tests.wire.discord.person import Person
from tests.wire.discord.server import DiscordServer
from tests.wire.discord.using import Impossible

__all__ = [
    "Answered",
    "Channel",
    "DiscordError",
    "DiscordServer",
    "Guild",
    "GuildChannel",
    "Impossible",
    "Message",
    "Person",
    "Role",
    "Upload",
]
