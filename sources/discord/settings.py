"""The settings for Discord as plain values; composition fills them from file and environment."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, field
from pydantic import SecretStr

from memory.people.admission_and_pairing import Rule
from memory.people.audience import Audience
from memory.store.ids import PersonId


class Mode(StrEnum):
    """How much of a channel is heard and answered."""

    OPEN = "open"
    """Every message is answered."""
    MENTION = "mention"
    """Only messages that address the bot are heard, and answered."""
    LISTEN = "listen"
    """Everything is heard for memory; only mentions and replies are answered."""
    OFF = "off"


class Direct(StrEnum):
    """Whose direct messages are accepted. The owner's and those of allowed persons always are, except with OFF."""

    EVERYONE = "everyone"
    SHARED = "shared"
    """Everybody who is in a guild with the bot."""
    PAIR = "pair"
    """Those who were let in; all others get a code by which the owner can let them in."""
    ALLOWED = "allowed"
    OFF = "off"
    """Only the owner's."""


class People(Struct, frozen=True):
    """A list of persons, roles and guilds by their Discord ids.

    As an allow list: a non-empty `guilds` limits where people may talk, non-empty `persons` or `roles` limit
    who may; roles count only in the guild of the message, never in direct messages. As a deny list each entry
    refuses by itself.
    """

    persons: frozenset[int] = frozenset()
    roles: frozenset[int] = frozenset()
    guilds: frozenset[int] = frozenset()


def role_subject(role: int) -> str:
    """The subject of a role in decisions by command; ids of roles are unique across guilds."""
    return f"discord:role:{role}"


def guild_subject(guild: int) -> str:
    return f"discord:guild:{guild}"


class StoredDecisions(Struct, frozen=True):
    """Decisions by command, always current: the mappings change while the service runs.

    `rules` is by "discord:<user>", `role_subject` and `guild_subject`.
    """

    rules: Mapping[str, Rule]
    modes: Mapping[str, str]
    """By "discord:<channel, category or guild>"."""
    alone: Callable[[PersonId], Sequence[Audience]]
    """The audiences of a person's other accounts, whose messages that person knows, too."""

    def says(self, rule: Rule, person: int, roles: Iterable[int] = ()) -> bool:
        return any(self.rules.get(each) is rule for each in (f"discord:{person}", *map(role_subject, roles)))


class DiscordSettings(Struct, frozen=True):
    """All settings of the Discord source and its endpoint.

    `modes` maps the id of a thread, channel, category or guild to its mode; the narrowest wins. `owner_places` are
    channels that only the owner reads. `show_names`: agents speak under their own names, so messages leave room for a
    name before the text.
    """

    token: SecretStr
    decided: StoredDecisions
    owner_id: int | None = None
    default_mode: Mode = Mode.MENTION
    modes: Mapping[int, Mode] = field(default_factory=dict)
    allow: People = People()
    deny: People = People()
    dm: Direct = Direct.SHARED
    owner_places: frozenset[int] = frozenset()
    auto_thread: bool = False
    show_names: bool = False
    earlier_lines: int = 50
    """How many messages between people are read at most, since the bot was last addressed."""
    read_back_messages: int = 200
    read_back_days: float = 7
    ready_seconds: float = 1.5
    """How long no guild must arrive before the connection counts as ready."""
    handshake_seconds: float = 30
    """How long Discord may take from the login to READY."""
    resume_seconds: float = 60
    """How long the library may try to resume a broken session."""

    def mode(self, chain: tuple[int, ...]) -> Mode:
        """The mode of a place with these ids, narrowest first; for each, decisions by command come first."""
        for one in chain:
            if decided := self.decided.modes.get(f"discord:{one}"):
                return Mode(decided)
            if one in self.modes:
                return self.modes[one]
        return self.default_mode

    def shuts_out(self, person: int, roles: Collection[int], guild: int | None) -> bool:
        """Whether the person, one of their roles or the guild is denied, or the guild is not among the allowed ones."""
        if person in self.deny.persons or not self.deny.roles.isdisjoint(roles):
            return True
        return self.decided.says(Rule.DENY, person, roles) or (guild is not None and not self.takes_guild(guild))

    def takes_guild(self, guild: int) -> bool:
        if guild in self.deny.guilds or self.decided.rules.get(guild_subject(guild)) is Rule.DENY:
            return False
        allowed = self.allow.guilds
        return not allowed or guild in allowed or self.decided.rules.get(guild_subject(guild)) is Rule.ALLOW

    @property
    def roles_matter(self) -> bool:
        """Whether roles can let people in or shut them out."""
        return bool(self.allow.roles or self.deny.roles or self._role_rules())

    @property
    def denies_roles(self) -> bool:
        """Whether roles can shut people out."""
        return bool(self.deny.roles) or Rule.DENY in self._role_rules()

    def _role_rules(self) -> set[Rule]:
        prefix = role_subject(0)[:-1]
        return {rule for subject, rule in self.decided.rules.items() if subject.startswith(prefix)}
