"""A Discord gateway and REST server over real sockets, for testing an unmodified bot."""

from tests.wire.discord.channels import Channel, DirectChannel, GuildChannel, Thread
from tests.wire.discord.errors import DiscordError
from tests.wire.discord.faults import Faults, Rule
from tests.wire.discord.guild import Guild
from tests.wire.discord.interactions import Answered, Choice, Modal
from tests.wire.discord.messages import Attachment, LogEntry, Message, Upload
from tests.wire.discord.people import Member, Role, User
from tests.wire.discord.person import Person
from tests.wire.discord.server import DiscordServer
from tests.wire.discord.using import Impossible

__all__ = [
    "Answered",
    "Attachment",
    "Channel",
    "Choice",
    "DirectChannel",
    "DiscordError",
    "DiscordServer",
    "Faults",
    "Guild",
    "GuildChannel",
    "Impossible",
    "LogEntry",
    "Member",
    "Message",
    "Modal",
    "Person",
    "Role",
    "Rule",
    "Thread",
    "Upload",
    "User",
]
