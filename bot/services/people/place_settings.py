"""Settings by command while the service runs: channel modes, routing and models of places, and people's languages.

A setting is stored as a row, so it lasts. It overrides the configuration for the same place, and a narrower place
overrides a wider one, whatever the origin. Sources and the router always read the current mappings.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, ClassVar, Literal, TypeAlias

from msgspec import Struct
from pydantic import Field

from bot.agents.permissions.roles_and_rights import Action, Approver, People, Selves
from bot.config import Config
from bot.config.values import OFFLINE
from bot.errors import UserError
from bot.runtime.group_routing import EVERYWHERE_ELSE, GroupRouting
from bot.services.caller import DISCORD_ONLY, TERMINAL_ONLY, Caller, Location, Via
from bot.services.names import NO_GROUP, find, named_place
from bot.services.people.approvals import Approvals
from bot.services.registry import (
    AT_TERMINAL,
    CHANGES,
    CHANGES_AT_TERMINAL,
    Options,
    Param,
    Suggestions,
    operation,
    suggestions,
)
from bot.services.results import Listing, Markup, Result, Row
from bot.services.transactions import commit, reads
from memory import agent_groups, agents
from memory.agent_groups import Group
from memory.people.audience import OWNER
from memory.people.identities import place_called
from memory.queue import inbox, place_settings
from memory.queue.place_settings import Kind, Setting
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.ids import GroupId, PersonId, PlaceId
from memory.store.logs import Log
from memory.store.records import replace
from sources.names import place_title
from sources.terminal import PERSON
from texts import _, gettext_noop, sentence, speak
from texts import language as spoken

CONFIGURED = "configured"
_DECIDES = Options(changes=True, via=DISCORD_ONLY)
_log = Log("bot.services.people.place_settings")

_OF_CONSTELLATION = ("group", "model")
"""Settings of a single constellation; all others are about accounts."""

StoredSettings: TypeAlias = dict[tuple[Kind, str], Setting]


@dataclass
class AccountSettings:
    """Settings of Carina's accounts: channel modes, paused sources, and people's languages.

    All constellations share them; they are stored in the database of the configured one.
    """

    database: Database
    selves: Selves
    """All accounts of a person."""
    started: str = field(default_factory=spoken)
    """The language that the program was started with."""
    held: StoredSettings = field(default_factory=dict, init=False)
    modes: dict[str, str] = field(default_factory=dict, init=False)
    """Modes by "discord:<channel, category or guild>"; the source uses the same object."""

    async def load(self) -> None:
        """Read the settings; call this before accepting any message, and after an erasure."""
        self.use(await self.database.read(_stored))

    def use(self, stored: StoredSettings) -> None:
        """Apply these from now on."""
        self.held = stored
        self.modes.clear()
        self.modes |= {subject: each.value for (kind, subject), each in self.held.items() if kind == "mode"}

    def is_paused(self, source: str) -> bool:
        """Whether a source is paused: nothing is stored or answered."""
        return ("pause", source) in self.held

    def state(self, source: str) -> str:
        """A remark about a paused source; empty if it is not paused."""
        return _("paused; `carina source resume` ends that") if self.is_paused(source) else ""

    def language(self, person: PersonId) -> str:
        """The language that a person chose with any of their accounts; empty without a choice."""
        chosen = (self.held.get(("language", each)) for each in self.selves(person))
        return next((each.value for each in chosen if each is not None), "")

    def spoken(self, person: PersonId) -> str:
        """The language of messages to a person: their choice, else the owner's."""
        return self.language(person) or self.language(PERSON) or self.started


def _stored(rows: Rows) -> StoredSettings:
    return {(each.kind, each.subject): each for each in place_settings.settings(rows)}


class _Origin(Struct, frozen=True):
    """The value for a place, the level of the place that it comes from, and the setting if there is one."""

    value: str
    at: str = ""
    setting: Setting | None = None


Reach: TypeAlias = Literal["channel", "category", "server"]
MODES = {
    "open": gettext_noop("I answer everything"),
    "mention": gettext_noop("I read and answer only what is addressed to me, or said in a thread that I joined"),
    "listen": gettext_noop("I read everything and answer only what is addressed to me"),
    "off": gettext_noop("I read nothing"),
}
_REACHES = {"category": "Its category", "channel": "This channel", "server": "The server"}
_UNSET = {"configured": gettext_noop("As configured")}
_Channel = Annotated[Location | None, Param("Channel (default: this one)", via=DISCORD_ONLY)]
_Mode = Annotated[
    Literal["open", "mention", "listen", "off", "configured"] | None,
    Param("Mode to set (default: show the current one)", labels=_UNSET, needs=Action.STEER),
]
_Heard = Annotated[
    str, Param("Channel or server, such as discord:1234", example="discord:1234", suggests="places with modes")
]
_NewMode = Annotated[Literal["open", "mention", "listen", "off", "configured"], Param("Mode to set", labels=_UNSET)]
_Reach = Annotated[Reach, Param("Where it applies", labels=_REACHES)]
_Group = Annotated[
    str | None, Param("Group to answer (default: show the current one)", suggests="routes", needs=Action.STEER)
]
_Level = Annotated[Literal["channel", "server"], Param("Where it applies", labels=_REACHES)]


_Model = Annotated[
    str | None,
    Param("Model to answer (default: show the current one)", positional=True, suggests="models", needs=Action.STEER),
]
_Place = Annotated[str, Param("Place, such as discord:1234", via=TERMINAL_ONLY)]
_LANGUAGES = {"en": "English", "de": "Deutsch", "ja": "日本語", "auto": gettext_noop("Automatic")}
_Language = Annotated[
    Literal["en", "de", "ja", "auto"] | None,
    Param("Language (default: show the current one)", positional=True, labels=_LANGUAGES),
]


class ModeRow(Row):
    """A Discord channel or server, and which of its messages are answered."""

    place: str
    name: str
    mode: str = Field(validation_alias="value")
    at: str
    """Where that was set: the place itself, its server, or nowhere (empty)."""
    decided: bool
    """Set by command, not by the configuration."""
    phrase = gettext_noop("{place} {name}: {mode}")
    suggested = "name"


class PlaceSetting(Result):
    """A setting that applies in a place, and its origin: the level of the place, and whether a command set it."""

    done: str = Field(exclude=True)
    words: str
    """A text with the value in braces."""
    value: str
    at: str = ""
    guild: str = Field(default="", exclude=True)
    by: str = Field(default="", validation_alias="setting.by")
    since: datetime | None = Field(default=None, validation_alias="setting.at")

    def lines(self, markup: Markup) -> list[str]:
        level = _("this server") if self.at == self.guild else markup.place(self.at)
        origin = _("in the configuration, for {level}", level=level) if self.at else _("by default")
        if self.since is not None:
            text = gettext_noop("by {by} with a command, {since}, for {level}")
            origin = self.told(markup, text, by=markup.person(self.by), level=level)
        return [self.done + sentence(f"{self.words.format(f'**{markup.text(self.value)}**')} ({origin})")]


@dataclass
class Places:
    """The settings of one constellation and of the accounts."""

    titles: ClassVar = {"mode": "Show or set which messages I respond to"}

    database: Database
    answering: GroupRouting
    people: People
    clock: Clock
    accounts: AccountSettings
    configured: Mapping[str, str] = field(default_factory=dict)
    """The modes of places in the configuration."""
    usual: str = "mention"
    """The mode of all other places."""
    models: tuple[str, ...] = (OFFLINE,)
    """The configured models, starting with the one of most agents."""
    _held: StoredSettings = field(default_factory=dict, init=False)

    async def load(self) -> None:
        """Read the settings; call this before accepting any message."""
        self._use(await self.database.read(_stored))

    def _use(self, stored: StoredSettings) -> None:
        self._held = stored
        routed = {subject: GroupId(each.value) for (kind, subject), each in self._held.items() if kind == "group"}
        self.answering.decided.clear()
        self.answering.decided.update(routed)

    # ------------------------------------------------------------------ settings

    @operation("mode.list", "Show which messages I respond to in each channel", Action.STEER, AT_TERMINAL)
    @suggestions("places with modes")
    def list_modes(self, rows: Rows, caller: Caller) -> Listing[ModeRow]:
        """List the modes of known channels and servers, and of every other place that has a setting.

        Only Discord knows the category of a channel, so the mode of a category is listed separately.
        """
        return Listing.of(self._modes(rows, caller).values(), _("No messages from Discord channels yet."))

    @operation("mode.set", "Set which messages I respond to in a channel or server", Action.STEER, CHANGES_AT_TERMINAL)
    async def set_mode(self, caller: Caller, place: _Heard, mode: _NewMode) -> str:
        if place not in await self.database.read(lambda rows: self._modes(rows, caller)):
            raise UserError(
                "I haven't heard anything in {place} yet. Write to me there first, or set its mode in "
                "`[discord.modes]` in carina.toml.",
                place=place,
            )
        return await self.decide("mode", place, mode, caller.approver)

    @operation("mode.channel", "Show or set which messages I respond to in a channel", Action.HELP, _DECIDES)
    async def mode(
        self, caller: Caller, mode: _Mode = None, channel: _Channel = None, reach: _Reach = "channel"
    ) -> PlaceSetting:
        where, done = _where(caller, channel), ""
        if where.direct:
            raise UserError("I always answer direct messages. `/owner people` controls who may send them.")
        if mode is not None:
            done = await self.decide("mode", _level(where, reach), mode, caller.approver)
        found = self.mode_of(where.names)
        words = _("The mode here is {{}}: {SAYS}", SAYS=_(MODES[found.value]))
        return self._shown(done, words, found, where)

    def mode_of(self, chain: tuple[str, ...]) -> _Origin:
        """The mode of a place with these names, narrowest first."""
        return self._origin("mode", chain, self.configured, self.usual)

    @operation("route", "Show or set which group of agents answers in a channel", Action.HELP, _DECIDES)
    async def route(
        self, caller: Caller, group: _Group = None, channel: _Channel = None, reach: _Level = "channel"
    ) -> PlaceSetting:
        where, done = _where(caller, channel), ""
        if group is not None:
            named = None if group == CONFIGURED else group
            done = await self.bind(_binding(where, reach), named, caller.approver)
        found = self._group_of(where)
        name = next((each.name for each in await self.groups() if each.id == found.value), found.value)
        return self._shown(done, _("The group {} answers here"), replace(found, value=name), where)

    @operation("model", "Show or set which model answers in a channel", Action.STEER, CHANGES)
    async def model(
        self,
        caller: Caller,
        model: _Model = None,
        channel: _Channel = None,
        place: _Place = "",
        reach: _Level = "channel",
    ) -> PlaceSetting:
        given = Location(PlaceId(named_place(place)), OWNER, (place,), (place,)) if place else channel
        where, done = _where(caller, given), ""
        if model is not None:
            if model not in (*self.models, CONFIGURED):
                known = ", ".join(self.models)
                raise UserError("The model “{model}” is not set up. Choose from: {known}.", model=model, known=known)
            done = await self.decide("model", _binding(where, reach), model, caller.approver)
        found = self._origin("model", where.bindings, {}, "")
        used = (found.value,) if found.value else await self._models_of(where)
        words = _("The model here is {}") if len(used) == 1 else _("The models here are {}")
        words = words if used else _("Nobody answers here")
        return self._shown(done, words, replace(found, value=", ".join(used)), where)

    async def _models_of(self, where: Location) -> tuple[str, ...]:
        group = self._group_of(where).value

        def read(rows: Rows) -> tuple[str, ...]:
            members = next((each.members for each in agent_groups.groups(rows) if each.id == group), ())
            own = {agent.id: agent.model for agent in agents.agents(rows)}
            speaking = (each for each in members if each.role != "observer" and each.agent in own)
            return tuple(dict.fromkeys(each.model or own[each.agent] or self.models[0] for each in speaking))

        return await self.database.read(read)

    @suggestions("models")
    async def suggest_models(self, _caller: Caller) -> Suggestions:
        return (*self.models, (CONFIGURED, _("As configured")))

    @operation("language", "Show or set the language in which I answer your commands", Action.AGENDA, CHANGES)
    async def language(self, caller: Caller, language: _Language = None) -> str:
        selves = self.people.selves(caller.person)
        if language is not None:
            for each in selves:
                if language != "auto":
                    await self.decide("language", each, language, caller.approver)
                elif ("language", each) in self.accounts.held:
                    await self.decide("language", each, None, caller.approver)
        chosen = self.accounts.language(caller.person)
        speak(chosen or caller.locale or spoken())
        words = gettext_noop("Language: {language}.") if chosen else gettext_noop("Language: {language} (automatic).")
        return _(words, language=_LANGUAGES[spoken()])

    async def bind(self, subject: str, group: str | None, who: Approver) -> str:
        """Set the group of a place by name; None returns to the configuration. Raises UserError."""
        value = None if group is None else find(await self.groups(), group, NO_GROUP).id
        return await self.decide("group", subject, value, who)

    def _modes(self, rows: Rows, caller: Caller) -> dict[str, ModeRow]:
        chains = dict[str, tuple[str, ...]]()
        for place in inbox.known_places(rows, caller.scope):
            if place.kind in ("guild", "thread") and place.id.startswith("discord:"):
                around = (each.partition(":")[2] for each in sorted((*place.within, place.audience)))
                chains[place.id] = (place.id, *(each for each in around if each.startswith("discord:")))
        servers = {each for chain in chains.values() for each in chain}
        named = {*servers, *self.configured, *self.accounts.modes}
        found = {}
        for name in (*chains, *sorted(named - chains.keys())):
            held = self.mode_of(chains.get(name, (name,)))
            called = place_title(place_called(rows, PlaceId(name), caller.scope))
            found[name] = ModeRow.from_record(held, place=name, name=called, decided=held.setting is not None)
        return found

    @suggestions("routes")
    async def suggest_groups(self, _caller: Caller) -> Suggestions:
        return (*(group.name for group in await self.groups()), (CONFIGURED, _("As configured")))

    @reads
    def groups(self, rows: Rows) -> list[Group]:
        return agent_groups.groups(rows)

    def _group_of(self, where: Location) -> _Origin:
        chain = (*where.bindings, EVERYWHERE_ELSE)
        return self._origin("group", chain, self.answering.places, self.answering.default)

    def _origin(self, kind: Kind, chain: tuple[str, ...], configured: Mapping[str, str], default: str) -> _Origin:
        """The value for a place with these names, narrowest first, and its origin."""
        for subject in chain:
            setting = (self._held if kind in _OF_CONSTELLATION else self.accounts.held).get((kind, subject))
            if setting is not None:
                return _Origin(setting.value, subject, setting)
            if subject in configured:
                return _Origin(configured[subject], subject)
        return _Origin(default)

    def _shown(self, done: str, words: str, found: _Origin, where: Location) -> PlaceSetting:
        at = found.at.replace("discord:guild:", "discord:")
        done = f"{done} " if done else ""
        return PlaceSetting.from_record(found, done=done, words=words, at=at, guild=where.guild)

    async def decide(self, kind: Kind, subject: str, value: str | None, who: Approver) -> str:
        """Store a setting; None, or "configured", returns to the configuration. Raises UserError."""
        now, value = self.clock(), None if value == CONFIGURED else value
        setting = Setting(kind, subject, value or "", who.person, now)

        def work(tx: Tx) -> StoredSettings:
            if value is not None:
                place_settings.put(tx, setting)
            elif not place_settings.drop(tx, kind, subject):
                raise UserError("No command has changed this; the configuration applies there.")
            return _stored(tx)

        if kind in _OF_CONSTELLATION:
            self._use(await commit(self.database, work))
        else:
            self.accounts.use(await commit(self.accounts.database, work))
        _log.info("setting_changed", kind=kind, subject=subject, value=value, by=who.person, interface=who.interface)
        return _("Done.") if value is not None else _("Undone. The configuration applies there again.")


def _where(caller: Caller, channel: Location | None) -> Location:
    where = channel or caller.location
    if where is None:
        if caller.via is Via.DISCORD:
            raise UserError("Please choose a channel.")
        raise UserError("Name a place, for example: `carina model --place discord:1234`.")
    return where


def _binding(where: Location, reach: Literal["channel", "server"]) -> str:
    return where.bindings[-1] if reach == "server" else where.bindings[0]


def _level(where: Location, reach: Reach) -> str:
    """The name of the channel, its category, or its server. Raises UserError."""
    if reach == "server" and where.guild:
        return where.guild
    if reach == "channel":
        return where.names[0]
    around = [one for one in where.names[1:] if one not in (where.parent, where.guild)]
    if not around:
        raise UserError(
            _("This channel is not on a server.") if reach == "server" else _("This channel has no category.")
        )
    return around[-1]


def _models(config: Config) -> tuple[str, ...]:
    """Every model that the configuration uses for answers."""
    members = (member.model for group in config.groups for member in group.members)
    named = (*config.model.fallback, *(agent.model for agent in config.agents), *members, config.budgets.cheaper_model)
    return tuple(dict.fromkeys(filter(None, (config.model.default, *named, OFFLINE))))


async def open_places(
    config: Config, approvals: Approvals, answering: GroupRouting, accounts: AccountSettings
) -> Places:
    modes = {f"discord:{place}": mode for place, mode in config.discord.modes.items()}
    made = Places(
        approvals.database,
        answering,
        approvals.people,
        approvals.clock,
        accounts,
        modes,
        config.discord.default_mode,
        _models(config),
    )
    await made.load()
    return made
