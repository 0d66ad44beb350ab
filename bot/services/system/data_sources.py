"""Data sources for people: feeds, calendars, folders and webhooks whose news agents get."""

import re
import secrets
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import Struct
from pydantic import AfterValidator, Field

from bot.agents.data_sources import FIELDS, DataSources, job_id, plan
from bot.agents.permissions.policy import Action
from bot.config.values import pattern
from bot.errors import CallError, UserError
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.names import NO_FEED, find, find_agent, find_living
from bot.services.registry import CHANGES, Arguments, Options, Param, Suggestions, operation, suggestions
from bot.services.results import Entry, Markup, Row
from bot.services.system.jobs import Schedule
from bot.services.transactions import reads, writes
from memory import agents, data_sources, jobs
from memory.data_sources import DataSource, SourceType, Subscription
from memory.people.audience import OWNER
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from sources.web.fetch import WebRefused, checked_url
from texts import _, error_text, gettext_noop, ngettext

_EVERY = 30

_Name = Annotated[str, Param("Source, such as news", example="news", suggests="data sources")]
_Agent = Annotated[str, Param("Agent to tell", example="Carina", suggests="agents")]
_Unsubscribed = Annotated[str, Param("Agent to stop notifying", example="Carina", suggests="agents")]


def _known_fields(template: str) -> str:
    unknown = [each for each in re.findall(r"\{\w*\}", template) if each not in FIELDS]
    if unknown:
        raise ValueError(f"It can have {', '.join(FIELDS)}, but not {unknown[0]}")
    return template


_Template = Annotated[
    str,
    Field(max_length=2_000),
    AfterValidator(_known_fields),
    Param("Message to the agent, with {source}, {count} and {items} (default: standard wording)", metavar="TEXT"),
]


_NAME = pattern(r"[A-Za-z0-9_-]{1,40}", gettext_noop("1 to 40 letters, digits, - and _"))


class AddSource(Arguments):
    name: Annotated[str, _NAME, Param("Name for the source, such as news", example="news")]
    feed: Annotated[str, Field(max_length=2_000), Param("URL of an RSS or Atom feed", metavar="URL")] = ""
    calendar: Annotated[str, Field(max_length=2_000), Param("URL of a calendar in iCalendar format", metavar="URL")] = (
        ""
    )
    folder: Annotated[Path | None, Param("Folder on this computer to watch", via=TERMINAL_ONLY)] = None
    webhook: Annotated[bool, Param("Accept signed deliveries from another program", via=TERMINAL_ONLY)] = False
    agent: Annotated[str, Param("Agent to tell (default: the first)", metavar="NAME", suggests="agents")] = ""
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
    """Of a new webhook; shown once."""

    def line(self, markup: Markup) -> str:
        checked = self.every_minutes > 0
        failed = ngettext("failed {count} time in a row", "failed {count} times in a row", self.failures)
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


class SourceSettings(Struct, frozen=True):
    """Feeds, calendars, folders and webhooks; for front ends such as Discord see `bot.services.people.places`."""

    titles: ClassVar = {"source": "Manage sources: where agents listen, and what they are told of"}

    database: Database
    clock: Clock
    schedule: Schedule
    looking: DataSources
    resume: Callable[[], None]

    def announce(self) -> None:
        self.schedule.changed()

    @operation(
        "source.add",
        "Tell an agent what is new in a feed, calendar or folder, or what a webhook receives",
        Action.SOURCES,
        CHANGES,
    )
    async def add(self, _caller: Caller, arguments: AddSource) -> Entry[SourceInfo]:
        """What is there at first is not news."""
        return await self._add(arguments, *await self._address(arguments))

    @writes
    def _add(self, tx: Tx, arguments: AddSource, kind: SourceType, address: str) -> Entry[SourceInfo]:
        every = 0 if kind == "webhook" else arguments.every or _EVERY
        now, source = self.clock(), data_sources.new(arguments.name, kind, address, every, OWNER)
        data_sources.add(tx, source, now)
        agent = find_living(tx, arguments.agent)
        data_sources.subscribe(tx, Subscription(agent.id, source.id, arguments.template), now)
        plan(tx, source, now)
        secret = source.address if kind == "webhook" else ""
        return Entry(done=_("Added"), row=_info(tx, source).model_copy(update={"secret": secret}))

    @operation("source.show", "Show a feed, a calendar, a watched folder or a webhook", Action.SOURCES)
    @reads
    def show(self, rows: Rows, _caller: Caller, source: _Name) -> Entry[SourceInfo]:
        return Entry(done=_("Source"), row=_info(rows, _named(rows, source)))

    @operation("source.subscribe", "Tell another agent about a source, or change the wording", Action.SOURCES, CHANGES)
    @writes
    def subscribe(
        self, tx: Tx, _caller: Caller, source: _Name, agent: _Agent, template: _Template = ""
    ) -> Entry[SourceInfo]:
        found, told = _named(tx, source), find_agent(tx, agent)
        data_sources.subscribe(tx, Subscription(told.id, found.id, template), self.clock())
        return Entry(done=_("Changed"), row=_info(tx, found))

    @operation("source.unsubscribe", "Stop telling an agent about a source", Action.SOURCES, CHANGES)
    @writes
    def unsubscribe(self, tx: Tx, _caller: Caller, source: _Name, agent: _Unsubscribed) -> Entry[SourceInfo]:
        found, told = _named(tx, source), find_agent(tx, agent)
        if not data_sources.unsubscribe(tx, told.id, found.id):
            raise UserError("{agent} is not notified about {source}.", agent=told.name, source=found.name)
        return Entry(done=_("Changed"), row=_info(tx, found))

    @operation(
        "source.remove", "Remove a feed, a calendar, a watched folder or a webhook", Action.SOURCES,
        Options(changes=True, asks=True),
    )  # fmt: skip
    @writes
    def remove(self, tx: Tx, caller: Caller, source: _Name) -> str:
        found = _named(tx, source)
        caller.confirm(_("Remove the source {source}?", source=found.name))
        jobs.drop(tx, job_id(found))
        data_sources.remove(tx, found.id)
        return _("Removed {name}.", name=found.name)

    @suggestions("data sources")
    @reads
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
        """Tell agents what a webhook got. Raises UserError if nobody is told."""
        if not source.enabled:
            raise UserError("{source} is paused.", source=source.name)
        if not await self.looking.deliver(self.database, source, delivery, words, self.clock()):
            raise UserError("{source} notifies nobody.", source=source.name)
        self.resume()

    async def _address(self, arguments: AddSource) -> tuple[SourceType, str]:
        """The kind and address of a source. Raises CallError, UserError."""
        chosen = bool(arguments.feed), bool(arguments.calendar), arguments.folder is not None, arguments.webhook
        if chosen.count(True) != 1:
            raise CallError("Choose one thing to follow: a feed, a calendar, a folder or a webhook.")
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
            await self.looking.reader.require_public(url)
            return ("feed" if arguments.feed else "calendar"), checked_url(url).geturl()
        except WebRefused as error:
            raise UserError(error_text(error)) from error


def _named(rows: Rows, name: str) -> DataSource:
    return find(data_sources.listing(rows), name, NO_FEED)


def _info(rows: Rows, source: DataSource) -> SourceInfo:
    names = {each.id: each.name for each in agents.every_agent(rows)}
    told = tuple(names.get(each.agent, "") for each in data_sources.subscriptions(rows, source.id))
    where = f"/hooks/{source.name}" if source.type == "webhook" else source.address
    return SourceInfo.from_record(source, address=where, paused=not source.enabled, agents=told)
