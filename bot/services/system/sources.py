"""Sources: front ends where agents listen, and feeds, calendars, folders and webhooks that send them news."""

import re
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from bot.agents.agenda.tasks import list_known
from bot.agents.data_source_checks import FIELDS, DataSourceChecks, job_id, plan
from bot.agents.permissions.roles_and_rights import Action
from bot.config.values import pattern
from bot.errors import CallError, UserError
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.names import NO_FEED, find, find_agent, find_living
from bot.services.people.place_settings import Places
from bot.services.registry import ASKS, CHANGES, Arguments, Param, Suggestions, operation, suggestions
from bot.services.results import Entry, Listing, Markup, Row
from bot.services.system.jobs import Schedule
from bot.services.transactions import Service, reads, writes
from memory import agents, data_sources, jobs
from memory.data_sources import DataSource, SourceType, Subscription
from memory.people.audience import OWNER
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from sources.names import source_name
from sources.terminal import SOURCE
from sources.web import WebRefused, checked_url
from texts import _, error_text, gettext_noop, ngettext

_EVERY = 30

_Active = Annotated[str, Param("Source, as listed", example="discord", suggests="active sources")]
_Paused = Annotated[str, Param("Source, as listed", example="discord", suggests="paused sources")]
_Name = Annotated[str, Param("Source, as listed", example="news", suggests="data sources")]
_Agent = Annotated[str, Param("Agent to notify", example="Carina", suggests="agents")]
_Unsubscribed = Annotated[str, Param("Agent to stop notifying", example="Carina", suggests="agents")]


def _known_fields(template: str) -> str:
    unknown = [each for each in re.findall(r"\{\w*\}", template) if each not in FIELDS]
    if unknown:
        raise ValueError(_("It can contain {known}, but not {unknown}", known=", ".join(FIELDS), unknown=unknown[0]))
    return template


_Template = Annotated[
    str,
    Field(max_length=2_000),
    AfterValidator(_known_fields),
    Param(
        "Message to the agent; {source}, {count} and {items} are filled in (default: the usual text)", metavar="TEXT"
    ),
]


_NAME = pattern(r"[A-Za-z0-9_-]{1,40}", gettext_noop("1 to 40 letters, digits, - and _"))


class AddSource(Arguments):
    name: Annotated[str, _NAME, Param("Name for the source, such as news", example="news")]
    feed: Annotated[str, Field(max_length=2_000), Param("URL of an RSS or Atom feed", metavar="URL")] = ""
    calendar: Annotated[str, Field(max_length=2_000), Param("URL of a calendar in iCalendar format", metavar="URL")] = (
        ""
    )
    folder: Annotated[Path | None, Param("Folder on this machine to watch", via=TERMINAL_ONLY)] = None
    webhook: Annotated[bool, Param("Accept signed deliveries from another program", via=TERMINAL_ONLY)] = False
    agent: Annotated[str, Param("Agent to notify (default: the first)", metavar="NAME", suggests="agents")] = ""
    every: Annotated[
        int | None, Field(ge=5, le=10_080), Param("Minutes between checks (default: 30)", metavar="MINUTES")
    ] = None
    template: _Template = ""


class SourceInfo(Row):
    name: str
    type: str
    address: str
    every_minutes: int
    paused: bool
    read: datetime | None = Field(validation_alias="synced_at")
    failures: int
    error: str
    agents: tuple[str, ...]
    secret: str = ""
    """The secret of a new webhook, shown once."""

    def line(self, markup: Markup) -> str:
        checked = self.every_minutes > 0
        failed = ngettext("failed once", "failed {count} times in a row", self.failures)
        parts = [
            self.told(markup, "{name} ({type}, {address})"),
            _("paused") if self.paused else "",
            ngettext("every minute", "every {count} minutes", self.every_minutes)
            if checked and not self.paused
            else "",
            self.told(markup, gettext_noop("signing secret {secret} (shown only now)")) if self.secret else "",
            self.told(markup, gettext_noop("notifies {agents}")) if self.agents else _("notifies nobody"),
            self.told(markup, gettext_noop("last read {read}")) if self.read else _("not read yet") if checked else "",
            f"{failed}: {markup.text(self.error)}" if self.error else "",
        ]
        return ", ".join(filter(None, parts))


class SourceRow(Row):
    """A source, and since when it is paused."""

    suggested = "title"
    source: str
    paused: bool
    since: datetime | None = Field(default=None, validation_alias="at")
    by: str = ""
    state: str = ""
    """The state of a data source."""
    title: str = Field(default="", exclude=True)
    """Its title; of a data source its name."""

    def line(self, markup: Markup) -> str:
        title = self.title or self.source
        if self.state:
            return markup.text(f"{title}: {self.state}")
        if self.since is None:
            return _("{source}: active", source=title)
        text = gettext_noop("{source}: paused by {by}, {since}; I neither read nor answer anything there")
        return self.told(markup, text, source=title, by=markup.person(self.by))


class SourceSettings(Service, frozen=True):
    """The data sources of one constellation, and the `fronts` that can be paused, such as "discord".

    Each has the function that reads what was missed meanwhile, or None if there is none.
    """

    titles: ClassVar = {"source": "Manage feeds, calendars and folders, and pause sources"}

    schedule: Schedule
    checks: DataSourceChecks
    resume: Callable[[], None]
    """Handles queued messages of this constellation."""
    resume_all: Callable[[], None]
    """Handles queued messages of any constellation."""
    places: Places
    fronts: Mapping[str, Callable[[], None] | None]

    def announce(self) -> None:
        self.schedule.changed()

    @operation(
        "source.add",
        "Notify an agent about what is new in a feed, calendar or folder, or what a webhook receives",
        Action.SOURCES,
        CHANGES,
    )
    async def add(self, _caller: Caller, arguments: AddSource) -> Entry[SourceInfo]:
        """Add a data source; its first content is not news."""
        return await self._add(arguments, *await self._address(arguments))

    @writes
    def _add(self, tx: Tx, arguments: AddSource, kind: SourceType, address: str) -> Entry[SourceInfo]:
        every = 0 if kind == "webhook" else arguments.every or _EVERY
        now, source = self.clock(), DataSource(arguments.name, kind, address, every, OWNER)
        if arguments.name.casefold() in (*self.fronts, SOURCE):  # it could no longer be paused by this name
            raise Refused("there is already a source “{name}”", name=arguments.name)
        data_sources.add(tx, source, now)
        agent = find_living(tx, arguments.agent)
        data_sources.subscribe(tx, Subscription(agent.id, source.id, arguments.template), now)
        plan(tx, source, now)
        secret = source.address if kind == "webhook" else ""
        return Entry(done=_("Added"), row=_info(tx, source).model_copy(update={"secret": secret}))

    @operation("source.show", "Show a feed, a calendar, a watched folder or a webhook", Action.SOURCES)
    def show(self, rows: Rows, _caller: Caller, source: _Name) -> Entry[SourceInfo]:
        return Entry(done=_("Source"), row=_info(rows, _named(rows, source)))

    @operation("source.subscribe", "Notify another agent about a source, or change the wording", Action.SOURCES)
    def subscribe(
        self, tx: Tx, _caller: Caller, source: _Name, agent: _Agent, template: _Template = ""
    ) -> Entry[SourceInfo]:
        found, told = _named(tx, source), find_agent(tx, agent)
        data_sources.subscribe(tx, Subscription(told.id, found.id, template), self.clock())
        return Entry(done=_("Changed"), row=_info(tx, found))

    @operation("source.unsubscribe", "Stop notifying an agent about a source", Action.SOURCES)
    def unsubscribe(self, tx: Tx, _caller: Caller, source: _Name, agent: _Unsubscribed) -> Entry[SourceInfo]:
        found, told = _named(tx, source), find_agent(tx, agent)
        if not data_sources.unsubscribe(tx, told.id, found.id):
            raise UserError("{agent} is not notified about {source}.", agent=told.name, source=found.name)
        return Entry(done=_("Changed"), row=_info(tx, found))

    @operation("source.remove", "Remove a feed, a calendar, a watched folder or a webhook", Action.SOURCES, ASKS)
    def remove(self, tx: Tx, caller: Caller, source: _Name) -> str:
        found = _named(tx, source)
        caller.confirm(_("Remove the source “{source}”?", source=found.name))
        jobs.drop(tx, job_id(found))
        data_sources.remove(tx, found.id)
        return _("Removed “{name}”.", name=found.name)

    @operation("source.list", "List sources and their status", Action.HELP)
    def list_sources(self, rows: Rows, caller: Caller) -> Listing[SourceRow]:
        """List sources; feeds and other data sources only for those who may know them."""
        paused = {each: self.places.accounts.held.get(("pause", each)) for each in (*self.fronts, SOURCE)}
        fronts = (
            SourceRow.from_record(by, source=each, title=source_name(each), paused=by is not None)
            for each, by in paused.items()
        )
        fed = (each for each in data_sources.listing(rows) if caller.scope.may_use(each.audience))
        return Listing.of((*fronts, *map(_fed_row, fed)))

    @operation("source.pause", "Pause a source until you resume it", Action.SOURCES, CHANGES)
    async def pause(self, caller: Caller, source: _Active) -> str:
        if not (front := await self._changed(caller, source, paused=True)):
            return _("Paused. Anything new is reported when you resume it; anything sent to a webhook is refused.")
        later = (
            gettext_noop("When you resume it, I'll read the newest messages in each place.")
            if self.fronts[front] is not None
            else gettext_noop("I won't read what is said in the meantime.")
        )
        return _(
            "{name} is paused: I won't read, keep or answer anything there until `carina source resume "
            "{source}`, even after a restart. {later} Commands still work, and finished answers are still sent.",
            name=source_name(front),
            source=front,
            later=_(later),
        )

    @operation("source.resume", "Resume a paused source", Action.SOURCES, CHANGES)
    async def resume_source(self, caller: Caller, source: _Paused) -> str:
        if not (front := await self._changed(caller, source, paused=False)):
            return _("Resumed. It will be read within a minute; anything sent to a webhook is accepted at once.")
        self.resume_all()
        meanwhile = gettext_noop("I haven't read what was said in the meantime; please repeat what needs an answer.")
        if (read_back := self.fronts[front]) is not None:
            read_back()
            meanwhile = gettext_noop("I'm reading the newest messages in each place.")
        return _("I'm active on {source} again. {meanwhile}", source=source_name(front), meanwhile=_(meanwhile))

    @suggestions("active sources")
    def suggest_active(self, rows: Rows, _caller: Caller) -> Suggestions:
        return self._offered(rows, paused=False)

    @suggestions("paused sources")
    def suggest_paused(self, rows: Rows, _caller: Caller) -> Suggestions:
        return self._offered(rows, paused=True)

    def _offered(self, rows: Rows, *, paused: bool) -> Suggestions:
        fronts = ((each, source_name(each)) for each in self.fronts if self.places.accounts.is_paused(each) is paused)
        return (*fronts, *(each.name for each in data_sources.listing(rows) if each.enabled is not paused))

    async def _changed(self, caller: Caller, name: str, *, paused: bool) -> str:
        """Pause or resume a source: a front end by name, or empty for a data source. Raises UserError."""
        if await self._enabled(name, not paused):
            return ""
        name = name.casefold()
        if name == SOURCE:
            raise UserError("The terminal can't be paused, so that you can always reach me.")
        if name not in self.fronts:
            raise UserError(_("There is no source “{source}” here.", source=name) + _(list_known(tuple(self.fronts))))
        _require_other(name, self.places.accounts.is_paused(name), paused)
        await self.places.decide("pause", name, "" if paused else None, caller.approver)
        return name

    @writes
    def _enabled(self, tx: Tx, name: str, enabled: bool) -> bool:
        """Pause or resume a data source; returns whether one has that name. Raises UserError without a change."""
        now = self.clock()
        source = data_sources.named(tx, name)
        if source is None:
            return False
        _require_other(source.name, not source.enabled, not enabled)
        data_sources.enable(tx, source.id, enabled, now)
        jobs.ask(tx, f"source:{source.name}", now)
        return True

    @suggestions("data sources")
    def suggest(self, rows: Rows, _caller: Caller) -> Suggestions:
        return tuple(source.name for source in data_sources.listing(rows))

    @reads
    def webhook(self, rows: Rows, name: str) -> tuple[DataSource, bytes] | None:
        """A webhook and the secret of its signatures."""
        source = data_sources.named(rows, name)
        if source is None or source.type != "webhook":
            return None
        return (source, source.address.encode()) if source.address else None

    async def deliver(self, source: DataSource, delivery: str, words: str) -> None:
        """Tell agents about a webhook's delivery. Raises UserError if nobody is told."""
        if not source.enabled:
            raise UserError("{source} is paused.", source=source.name)
        if not await self.checks.deliver(self.database, source, delivery, words, self.clock()):
            raise UserError("{source} notifies nobody.", source=source.name)
        self.resume()

    async def _address(self, arguments: AddSource) -> tuple[SourceType, str]:
        """The kind and address of a source. Raises CallError, UserError."""
        chosen = bool(arguments.feed), bool(arguments.calendar), arguments.folder is not None, arguments.webhook
        if chosen.count(True) != 1:
            raise CallError("Say what to follow: one feed, calendar, folder or webhook.")
        if arguments.webhook:
            if arguments.every is not None:
                raise CallError("A webhook is not checked: other programs send to it.")
            return "webhook", secrets.token_urlsafe(32)
        if arguments.folder is not None:
            folder = arguments.folder.resolve()
            if not folder.is_dir():
                raise UserError("{path} is not a folder.", path=folder)
            return "folder", str(folder)
        url = arguments.feed or arguments.calendar
        try:
            await self.checks.reader.require_public(url)
            return ("feed" if arguments.feed else "calendar"), checked_url(url).geturl()
        except WebRefused as error:
            raise UserError(error_text(error)) from error


def _fed_row(source: DataSource) -> SourceRow:
    unread = _("not read yet") if source.synced_at is None and source.type != "webhook" else ""
    state = _("failing ({error})", error=_(source.error).removesuffix(".")) if source.error else unread
    return SourceRow(source=source.name, paused=not source.enabled, state=state if source.enabled else _("paused"))


def _require_other(source: str, is_paused: bool, paused: bool) -> None:
    if is_paused == paused:
        words = gettext_noop("{source} is already paused.") if paused else gettext_noop("{source} is not paused.")
        raise UserError(_(words, source=source))


def _named(rows: Rows, name: str) -> DataSource:
    return find(data_sources.listing(rows), name, NO_FEED)


def _info(rows: Rows, source: DataSource) -> SourceInfo:
    names = {each.id: each.name for each in agents.every_agent(rows)}
    told = tuple(names.get(each.agent, "") for each in data_sources.subscriptions(rows, source.id))
    where = f"/hooks/{source.name}" if source.type == "webhook" else source.address
    return SourceInfo.from_record(source, address=where, paused=not source.enabled, agents=told, error=_(source.error))
