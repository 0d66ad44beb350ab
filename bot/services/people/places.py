"""Settings of places by command while the service runs: channel modes, routing, models and paused sources; and the
language for a person.

A setting is a row, so it lasts; it overrides the configuration for the same place, and a narrower place overrides a
wider one, whichever it comes from. Sources and router always read the current mappings.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar, Literal, TypeAlias

from msgspec import Struct, field
from pydantic import Field

from bot.agents.agenda.tasks import list_known
from bot.agents.permissions.policy import Action, Approver, People
from bot.config import Config
from bot.config.values import OFFLINE
from bot.errors import UserError
from bot.runtime.group_routing import EVERYWHERE_ELSE, RoutingTable
from bot.services.caller import DISCORD_ONLY, TERMINAL_ONLY, Caller, Location
from bot.services.names import NO_GROUP, find, named_place
from bot.services.people.account_settings import OF_CONSTELLATION, AccountSettings, StoredSettings, stored_settings
from bot.services.people.approvals import Approvals
from bot.services.registry import CHANGES, Options, Param, Suggestions, operation, suggestions
from bot.services.results import Listing, Markup, Result, Row
from bot.services.transactions import commit, reads, writes
from memory import agents, data_sources, jobs
from memory.agents import Group
from memory.data_sources import DataSource
from memory.people.audience import OWNER
from memory.queue import place_settings
from memory.queue.place_settings import Kind, Setting
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.ids import GroupId, PlaceId
from memory.store.logs import Log
from memory.store.records import replace
from sources.terminal import SOURCE
from texts import _, gettext_noop, sentence, speak
from texts import language as spoken

_CONFIGURED = "configured"
_DECIDES = Options(changes=True, via=DISCORD_ONLY)
_log = Log("bot.services.people.places")


class _Origin(Struct, frozen=True):
    """The value for a place, the level of the place that it comes from, and the setting if there is one."""

    value: str
    at: str = ""
    setting: Setting | None = None


Reach: TypeAlias = Literal["channel", "category", "server"]
MODES = {
    "open": gettext_noop("I answer everything"),
    "mention": gettext_noop("I read and answer only what is addressed to me"),
    "listen": gettext_noop("I read everything and answer only what is addressed to me"),
    "off": gettext_noop("I read nothing"),
}
_REACHES = {"category": "Its category", "channel": "This channel", "server": "The server"}
_Channel = Annotated[Location | None, Param("Channel (default: this one)")]
_Source = Annotated[str, Param("Source, such as discord", example="discord", suggests="sources")]
_Mode = Annotated[
    Literal["open", "mention", "listen", "off", "configured"] | None,
    Param("Mode to set (default: show the current one)", needs=Action.STEER),
]
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
_LANGUAGES = {"en": "English", "de": "Deutsch", "ja": "日本語", "auto": gettext_noop("As in your app")}
_Language = Annotated[
    Literal["en", "de", "ja", "auto"] | None,
    Param("Language (default: show the current one)", positional=True, labels=_LANGUAGES),
]


class SourceRow(Row):
    """Somewhere agents listen, and since when that is paused."""

    source: str
    paused: bool
    since: datetime | None = Field(default=None, validation_alias="at")
    by: str = ""
    state: str = ""
    """How a data source stands."""

    def line(self, markup: Markup) -> str:
        if self.state:
            return markup.text(f"{self.source}: {self.state}")
        if self.since is None:
            return _("{source}: active", source=self.source)
        text = gettext_noop("{source}: paused by {by} {since}; I neither read nor answer anything there")
        return self.told(markup, text, by=markup.person(self.by))


class PlaceSetting(Result):
    """What holds in a place, and who said so: at which of the place's levels, and whether by command."""

    done: str = Field(exclude=True)
    words: str
    """With the value in braces."""
    value: str
    at: str = ""
    guild: str = Field(default="", exclude=True)
    by: str = Field(default="", validation_alias="setting.by")
    since: datetime | None = Field(default=None, validation_alias="setting.at")

    def lines(self, markup: Markup) -> list[str]:
        level = _("this server") if self.at == self.guild else markup.place(self.at)
        origin = _("in the configuration, for {level}", level=level) if self.at else _("by default")
        if self.since is not None:
            text = gettext_noop("by command of {by}, {since}, for {level}")
            origin = self.told(markup, text, by=markup.person(self.by), level=level)
        return [self.done + sentence(f"{self.words.format(f'**{markup.text(self.value)}**')} ({origin})")]


class ConfiguredModes(Struct, frozen=True):
    """The configured modes of places without a setting by command."""

    modes: Mapping[str, str] = field(default_factory=dict)
    default: str = "mention"


@dataclass
class Places:
    """The settings of one constellation and of the accounts. `resume` handles waiting work everywhere; `sources` can be
    paused."""

    titles: ClassVar = {
        "mode": "Show or change which messages I respond to",
        "source": "Manage feeds, calendars and folders, and pause sources",
    }

    database: Database
    answering: RoutingTable
    people: People
    clock: Clock
    resume: Callable[[], None]
    sources: tuple[str, ...]
    accounts: AccountSettings
    configured: ConfiguredModes = dataclasses.field(default_factory=ConfiguredModes)
    models: tuple[str, ...] = (OFFLINE,)
    """The configured models, starting with the one of most agents."""
    _held: StoredSettings = dataclasses.field(default_factory=dict, init=False)

    async def load(self) -> None:
        """Read the settings; call this before accepting any message."""
        self._use(await self.database.read(stored_settings))

    def _use(self, stored: StoredSettings) -> None:
        self._held = stored
        routed = {subject: GroupId(each.value) for (kind, subject), each in self._held.items() if kind == "group"}
        self.answering.decided.clear()
        self.answering.decided.update(routed)

    def state(self, source: str) -> str:
        """A remark about a paused source; empty if it is not paused."""
        return _("paused; `carina source resume` ends that") if self.accounts.is_paused(source) else ""

    # ------------------------------------------------------------------ decisions

    @operation("mode.channel", "Show or set which messages I respond to in a channel", Action.HELP, _DECIDES)
    async def mode(
        self, caller: Caller, mode: _Mode = None, channel: _Channel = None, reach: _Reach = "channel"
    ) -> PlaceSetting:
        where, done = _where(caller, channel), ""
        if where.direct:
            raise UserError("I always answer direct messages. `/owner people` controls who may send me any.")
        if mode is not None:
            done = await self.set_mode(_level(where, reach), mode, caller.approver)
        found = self.mode_of(where.names)
        words = _("The mode here is {{}}: {SAYS}", SAYS=_(MODES[found.value]))
        return self._shown(done, words, found, where)

    def mode_of(self, chain: tuple[str, ...]) -> _Origin:
        """The mode of a place with these names, narrowest first."""
        return self._origin("mode", chain, self.configured.modes, self.configured.default)

    async def set_mode(self, subject: str, mode: str, who: Approver) -> str:
        return await self._decide("mode", subject, None if mode == _CONFIGURED else mode, who)

    @operation("route", "Show or set which group of agents answers in a channel", Action.HELP, _DECIDES)
    async def route(
        self, caller: Caller, group: _Group = None, channel: _Channel = None, reach: _Level = "channel"
    ) -> PlaceSetting:
        where, done = _where(caller, channel), ""
        if group is not None:
            level = where.bindings[-1] if reach == "server" else where.bindings[0]
            value = None if group == _CONFIGURED else group
            done = await self.bind(level, value, caller.approver)
        chain = (*where.bindings, EVERYWHERE_ELSE)
        found = self._origin("group", chain, self.answering.places, self.answering.default)
        name = next((each.name for each in await self.groups() if each.id == found.value), found.value)
        return self._shown(done, _("{} answers here"), replace(found, value=name), where)

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
            if model not in (*self.models, _CONFIGURED):
                known = ", ".join(self.models)
                raise UserError("The model {model} is not configured. Choose from {known}.", model=model, known=known)
            level = where.bindings[-1] if reach == "server" else where.bindings[0]
            value = None if model == _CONFIGURED else model
            done = await self._decide("model", level, value, caller.approver)
        found = self._origin("model", where.bindings, {}, "")
        usual = found.value or ", ".join(await self._models_of(where)) or _("nobody")
        return self._shown(done, _("{} answers here"), replace(found, value=usual), where)

    async def _models_of(self, where: Location) -> tuple[str, ...]:
        chain = (*where.bindings, EVERYWHERE_ELSE)
        group = self._origin("group", chain, self.answering.places, self.answering.default).value

        def read(rows: Rows) -> tuple[str, ...]:
            members = next((each.members for each in agents.groups(rows) if each.id == group), ())
            own = {agent.id: agent.model for agent in agents.agents(rows)}
            speaking = (each for each in members if each.role != "observer" and each.agent in own)
            return tuple(dict.fromkeys(each.model or own[each.agent] or self.models[0] for each in speaking))

        return await self.database.read(read)

    @suggestions("models")
    async def suggest_models(self, _caller: Caller) -> Suggestions:
        return (*self.models, (_CONFIGURED, _("Configured")))

    @operation("language", "Show or set the language in which I answer your commands", Action.AGENDA, CHANGES)
    async def language(self, caller: Caller, language: _Language = None) -> str:
        selves = self.people.selves(caller.person)
        if language is not None:
            for each in selves:
                if language != "auto":
                    await self._decide("language", each, language, caller.approver)
                elif ("language", each) in self.accounts.held:
                    await self._decide("language", each, None, caller.approver)
        chosen = self.accounts.language(caller.person)
        speak(chosen or caller.locale or spoken())
        words = gettext_noop("Language: {language}.") if chosen else gettext_noop("Language: {language} (automatic).")
        return _(words, language=_LANGUAGES[spoken()])

    async def bind(self, subject: str, group: str | None, who: Approver) -> str:
        """Set the group of a place; None returns to the configuration. Raises UserError."""
        if group is None:
            return await self._decide("group", subject, None, who)
        return await self._decide("group", subject, find(await self.groups(), group, NO_GROUP).id, who)

    @operation("source.list", "List sources and their status", Action.HELP)
    @reads
    def list_sources(self, rows: Rows, _caller: Caller) -> Listing[SourceRow]:
        fronts = (_source_row(each, self.accounts.held.get(("pause", each))) for each in (*self.sources, SOURCE))
        return Listing.of((*fronts, *map(_fed_row, data_sources.listing(rows))))

    @operation("source.pause", "Pause a source until you resume it", Action.SOURCES, CHANGES)
    async def pause(self, caller: Caller, source: _Source) -> str:
        if await self._enabled(source, False):
            return _("Paused. Anything new is reported when you resume it; what is sent to a webhook is refused.")
        source = self._known(source)
        if self.accounts.is_paused(source):
            raise UserError("{source} is already paused.", source=source)
        await self._decide("pause", source, "", caller.approver)
        later = (
            gettext_noop("I will then read the newest messages of each place.")
            if source in self.accounts.resumed
            else gettext_noop("I will not read what is said in the meantime.")
        )
        return _(
            "{name} is paused: I read, keep and answer nothing there until `carina source resume {source}`, even "
            "after a restart. {later} Commands still work, and finished answers are still sent.",
            name=source.capitalize(),
            source=source,
            later=_(later),
        )

    @operation("source.resume", "Resume a paused source", Action.SOURCES, CHANGES)
    async def resume_source(self, caller: Caller, source: _Source) -> str:
        if await self._enabled(source, True):
            return _("Resumed. It will be read within a minute; what is sent to a webhook is taken at once.")
        source = self._known(source)
        if not self.accounts.is_paused(source):
            raise UserError("{source} is not paused.", source=source)
        await self._decide("pause", source, None, caller.approver)
        self.resume()
        read_back = self.accounts.resumed.get(source)
        if read_back is not None:
            read_back()
        meanwhile = (
            gettext_noop("I am reading the newest messages of each place.")
            if read_back is not None
            else gettext_noop("I have not read what was said in the meantime; please repeat what needs an answer.")
        )
        return _("I read and answer {source} again. {meanwhile}", source=source.capitalize(), meanwhile=_(meanwhile))

    @suggestions("sources")
    @reads
    def suggest_sources(self, rows: Rows, _caller: Caller) -> Suggestions:
        fed = data_sources.listing(rows)
        return (*self.sources, *(source.name for source in fed))

    @writes
    def _enabled(self, tx: Tx, name: str, enabled: bool) -> bool:
        """Pause or resume a data source; whether one has that name. Raises UserError if nothing would change."""
        now = self.clock()
        source = data_sources.named(tx, name)
        if source is None:
            return False
        if source.enabled == enabled:
            words = _("{source} is not paused.", source=source.name) if enabled else ""
            raise UserError(words or _("{source} is already paused.", source=source.name))
        data_sources.enable(tx, source.id, enabled, now)
        jobs.ask(tx, f"source:{source.name}", now)
        return True

    @suggestions("routes")
    async def suggest_groups(self, _caller: Caller) -> Suggestions:
        return (*(group.name for group in await self.groups()), (_CONFIGURED, _("Configured")))

    @reads
    def groups(self, rows: Rows) -> list[Group]:
        return agents.groups(rows)

    def _known(self, source: str) -> str:
        if source == SOURCE:
            raise UserError("The terminal cannot be paused, so that you can always reach me.")
        if source not in self.sources:
            missing = _("There is no source {source} to pause.", source=repr(source))
            raise UserError(missing + list_known(list(self.sources)))
        return source

    def _origin(self, kind: Kind, chain: tuple[str, ...], configured: Mapping[str, str], default: str) -> _Origin:
        """The value for a place with these names, narrowest first, and its origin."""
        for subject in chain:
            setting = (self._held if kind in OF_CONSTELLATION else self.accounts.held).get((kind, subject))
            if setting is not None:
                return _Origin(setting.value, subject, setting)
            if subject in configured:
                return _Origin(configured[subject], subject)
        return _Origin(default)

    def _shown(self, done: str, words: str, found: _Origin, where: Location) -> PlaceSetting:
        at = found.at.replace("discord:guild:", "discord:")
        done = f"{done} " if done else ""
        return PlaceSetting.from_record(found, done=done, words=words, at=at, guild=where.guild)

    async def _decide(self, kind: Kind, subject: str, value: str | None, who: Approver) -> str:
        now = self.clock()
        setting = Setting(kind, subject, value or "", who.person, now)

        def work(tx: Tx) -> StoredSettings:
            if value is not None:
                place_settings.put(tx, setting)
            elif not place_settings.drop(tx, kind, subject):
                raise UserError("No command has changed this; the configuration applies there.")
            return stored_settings(tx)

        if kind in OF_CONSTELLATION:
            self._use(await commit(self.database, work))
        else:
            self.accounts.use(await commit(self.accounts.database, work))
        _log.info("setting_changed", kind=kind, subject=subject, value=value, by=who.person, door=who.door)
        return _("Done.") if value is not None else _("Undone. The configuration applies there again.")


def _where(caller: Caller, channel: Location | None) -> Location:
    where = channel or caller.location
    if where is None:
        raise UserError("Please choose a channel.")
    return where


def _level(where: Location, reach: Reach) -> str:
    """The name of the channel, of what contains it, or of its server. Raises UserError."""
    if reach == "server" and where.guild:
        return where.guild
    if reach == "channel":
        return where.names[0]
    around = [one for one in where.names[1:] if one not in (where.parent, where.guild)]
    if not around:
        raise UserError(_("This channel is on no server.") if reach == "server" else _("This channel has no category."))
    return around[-1]


def _fed_row(source: DataSource) -> SourceRow:
    unread = "" if source.synced_at is not None else _("not read yet")
    state = _("could not be read: {error}", error=source.error) if source.error else unread
    state = "" if source.type == "webhook" else state
    return SourceRow(source=source.name, paused=not source.enabled, state=state if source.enabled else _("paused"))


def _source_row(source: str, paused: Setting | None) -> SourceRow:
    return SourceRow.from_record(paused, source=source, paused=paused is not None)


def _models(config: Config) -> tuple[str, ...]:
    """Every model that the configuration uses for answers."""
    members = (member.model for group in config.groups for member in group.members)
    named = (*config.model.fallback, *(agent.model for agent in config.agents), *members, config.budgets.cheaper_model)
    return tuple(dict.fromkeys(filter(None, (config.model.default, *named, OFFLINE))))


async def open_places(
    config: Config, approvals: Approvals, answering: RoutingTable, accounts: AccountSettings, resume: Callable[[], None]
) -> Places:
    modes = {f"discord:{place}": mode for place, mode in config.discord.modes.items()}
    made = Places(
        approvals.database,
        answering,
        approvals.people,
        approvals.clock,
        resume,
        tuple(config.sources),
        accounts,
        ConfiguredModes(modes, config.discord.default_mode),
        _models(config),
    )
    await made.load()
    return made
