"""Composes one constellation: its runtime and every service."""

import dataclasses
import functools
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime

from msgspec import Struct

from bot.agents import patrols
from bot.agents.agenda.delivery_to_a_person import PersonalMessages
from bot.agents.agenda.event_scheduling import EventJob
from bot.agents.agenda.quiet_hours import owners_quiet
from bot.agents.agenda.reminder_scheduling import ReminderJob
from bot.agents.data_source_checks import DataSourceChecks
from bot.agents.groups import sleeptime_triggers
from bot.agents.owner_notices import owner_notices
from bot.agents.rate_limits import configured_rates
from bot.agents.tools import make_tools, web_tools
from bot.agents.tools.halt import EmergencyHaltTool
from bot.agents.tools.recall import RecallTool
from bot.agents.turn_deps import Limits, TurnDeps
from bot.redactor import Redactor
from bot.runtime.configured_constellation import load_routing, seed_routing
from bot.runtime.constellation import ConstellationRuntime
from bot.runtime.group_routing import GroupRouting
from bot.runtime.previews import Broadcast, Previews, Progress, TypingIndicator
from bot.runtime.supervision import Work
from bot.services.agents.addressees import Addressees
from bot.services.agents.agents import Agents
from bot.services.agents.coordination import Coordination
from bot.services.agents.costs_and_budgets import Spending, configured_budgets
from bot.services.agents.groups import Groups
from bot.services.agents.toml_tables import Tables
from bot.services.memory.archival import Archive
from bot.services.memory.block_settings import BlockSettings
from bot.services.memory.blocks import Blocks
from bot.services.memory.context_preview import ContextViews
from bot.services.memory.dreams import Dreams
from bot.services.memory.facts import Facts
from bot.services.memory.folders import Folders
from bot.services.memory.foreign_imports import Imports
from bot.services.memory.projects import Projects
from bot.services.memory.search import Search
from bot.services.memory.summaries import Summaries
from bot.services.memory.summaries_of_nights import NightSummaries
from bot.services.memory.why import Why
from bot.services.people.agenda import Agenda
from bot.services.people.approvals import Approvals
from bot.services.people.people_and_linked_accounts import KnownPeople
from bot.services.people.place_settings import Places, open_places
from bot.services.people.tasks import TaskLists
from bot.services.registry import Clocks, Guard, Registry
from bot.services.served_constellations import ServedConstellations, Services, Shared
from bot.services.status import Doctor, Status
from bot.services.system.backups import Backups
from bot.services.system.configuration import ConfigurationFile
from bot.services.system.databases import Databases
from bot.services.system.halt import Halt
from bot.services.system.inbox import Inbox
from bot.services.system.jobs import Schedule, built_in_jobs
from bot.services.system.outbox import Outbox
from bot.services.system.sources import SourceSettings
from bot.upkeep import entry_expansion
from bot.upkeep.background_calls import Background, UpkeepDeps
from bot.upkeep.compaction import Compactor
from bot.upkeep.dream_run import DreamRun
from bot.upkeep.embedding import Embedding
from bot.upkeep.entry_expansion import ExpansionJob
from bot.upkeep.evaluations import EvaluationJob
from bot.upkeep.housekeeping import Housekeeping, Monitor
from bot.upkeep.inference_consent import ConsentRequests
from bot.upkeep.prompts import FOLDER
from bot.upkeep.scheduled_summaries import SummaryJob
from memory.people import person_settings
from memory.store.constellations import Constellation
from memory.store.database import Database, Tx
from memory.store.ids import PersonId
from memory.store.records import replace
from scheduler.job_kinds import Kinds
from sources.base import Endpoint, Front
from sources.terminal import TerminalEndpoint, TerminalSource
from sources.web import Reader

_MEANING_SECONDS = 3.0  # for a query embedding in a command, which may first have to load the model


async def compose(
    served: ServedConstellations, constellation: Constellation, database: Database, stack: ExitStack
) -> Services:
    return await _Maker(served, constellation, database, stack).services()


@dataclasses.dataclass
class _Maker:
    served: ServedConstellations
    constellation: Constellation
    database: Database
    stack: ExitStack
    events: Broadcast = dataclasses.field(default_factory=Broadcast, init=False)

    @property
    def shared(self) -> Shared:
        return self.served.shared

    async def services(self) -> Services:
        shared, clock = self.shared, self.shared.clock
        answers = await self._answers()
        runtime, deps, places = answers.runtime, answers.runtime.turn_deps, answers.places
        approvals, at_rest = answers.approvals, shared.at_rest
        await shared.choices.follow(self.database)
        await self.served.accounts.narrow_here(self.constellation.id, self.database)
        spending = Spending(self.database, approvals.people, clock, self._zone, deps.budgets)
        await spending.load(at_start=not at_rest)
        jobs = self._jobs(approvals, deps)
        resume = runtime.resume, self.served.release
        named, read_back = shared.config.sources, {each.source.name: each.read_back for each in answers.fronts}
        fronts = {name: read_back.get(name) for name in named}
        data_sources = SourceSettings(self.database, clock, jobs.schedule, jobs.source_checks, *resume, places, fronts)
        status = self._status(answers)
        if not at_rest:
            await jobs.schedule.prepare()
            self._keep_up(answers, jobs.schedule)
        receive = functools.partial(self.served.router.receive, constellation=self.constellation.id)
        return Services(
            runtime=runtime,
            events=self.events,
            terminal=answers.terminal,
            approvals=approvals,
            places=places,
            schedule=jobs.schedule,
            kinds=jobs.kinds,
            fronts=answers.fronts,
            embedding=answers.embedding,
            talking=Addressees(self.database, places, receive),
            data_sources=data_sources,
            registry=self._registry(answers, jobs, (spending, data_sources, status)),
            privacy=self.served.privacy,
            halt=shared.halt,
        )

    def _registry(self, answers: "_Answers", jobs: "_Jobs", more: tuple[object, ...]) -> Registry:
        """All services; `more` are those that were created before."""
        shared, config, clock, database = self.shared, self.shared.config, self.shared.clock, self.database
        runtime, places, schedule = answers.runtime, answers.places, jobs.schedule
        approvals, people, zone = answers.approvals, answers.approvals.people, self._zone
        base, checkpoints = (database, people, clock), config.memory.checkpoints()
        seconds = _MEANING_SECONDS if shared.at_rest else None
        understood = functools.partial(answers.embedding.searched, seconds=seconds)
        of_folders = functools.partial(answers.embedding.of_folders, seconds=seconds)
        tables = Tables(*base, config, places, runtime.resume)
        services = (
            *(self.served.access, self.served.accounts, self.served.privacy, places, schedule, jobs.backups, *more),
            *(shared.restart, shared.sign_in_links, shared.web_access, self.served.commands),
            Halt(shared.halt, self.served.release, database),
            Agents(*base, shared.broker, config, runtime.moved, runtime.resume, tables, approvals.tools),
            *(Groups(*base, config, tables), ConfigurationFile(config, tables), approvals),
            Doctor(config.file.parent),
            Databases(shared.constellations, shared.replication.paused),
            Inbox(*base, zone, runtime.resume, lambda: shared.halt.halted),
            Outbox(database, runtime.resume),
            *(Folders(database, clock, shared.folder.path, shared.embedders.require), Summaries(database)),
            *(Search(*base, zone, understood, of_folders), Imports(*base, shared.constellations)),
            *(Archive(*base), Facts(*base), Projects(*base), Why(*base, approvals.tools), TaskLists(*base, zone)),
            *(
                Agenda(*base, zone, runtime.turn_deps.notices, schedule.changed, runtime.resume),
                Dreams(*base, jobs.upkeep, runtime.resume),
            ),
            *(
                Blocks(*base, zone, checkpoints),
                BlockSettings(*base, checkpoints),
                NightSummaries(*base, zone, checkpoints),
            ),
            *(ContextViews(database, clock), Coordination(*base, zone), KnownPeople(*base)),
        )

        async def zone_of(person: PersonId) -> str:
            return await database.read(lambda rows: person_settings.zone_for(rows, people.selves(person), zone))

        guard = Guard(people, shared.choices.ignored, Redactor(config.secrets()).clean)
        return Registry(services, guard, Clocks(clock, zone_of, shared.accounts.language))

    async def _answers(self) -> "_Answers":
        shared, config = self.shared, self.shared.config
        routing, embedding = await self._routing(), shared.embedders.of(self.database)
        screen = TerminalEndpoint(shared.journal, shared.clock)
        terminal = TerminalSource(config.constellation.owner, shared.clock), screen
        fronts = Front(*terminal, pause=None, finish=None), *self.served.fronts
        endpoints = {front.source.name: front.endpoint for front in fronts}
        turn_deps = _turn_deps(shared, self.events, embedding, endpoints)
        compactor = Compactor(self.database, turn_deps)
        turn_deps = replace(turn_deps, shrink=compactor.shrink)
        made = routing, turn_deps, shared.parts, self._origin
        runtime = ConstellationRuntime(self.constellation, self.database, *made)
        approvals = Approvals(self.database, shared.clock, shared.broker, runtime.resume, turn_deps.tools)
        places = await open_places(config, approvals, routing, shared.accounts)
        return _Answers(runtime, embedding, compactor, terminal, fronts, approvals, places)

    async def _routing(self) -> GroupRouting:
        """The routing. In the configured constellation, or a new one, the agents and groups of the configuration are
        created."""
        shared, known = self.shared, await self.database.read(lambda rows: load_routing(rows, self.shared.config))
        if shared.at_rest or (known.groups and self.constellation.id != shared.configured):
            return known
        return await seed_routing(shared.config, self.database, shared.clock)

    def _jobs(self, approvals: Approvals, deps: TurnDeps) -> "_Jobs":
        """The schedule with all kinds of jobs. Only the configured constellation backs up the data folder."""
        shared, config, clock, zone = self.shared, self.shared.config, self.shared.clock, self._zone
        owners, private = approvals.people.owner, approvals.broker.terms.private
        owner = next((each for each in owners if private(each) == deps.notices.place), owners[0])
        background, language = Background.of(deps), shared.accounts.language
        upkeep_deps = UpkeepDeps(background, config.dreams, config.home / FOLDER)
        upkeep = DreamRun(self.database, upkeep_deps, self._busy)
        backups = Backups(config.home, clock, config.schedule.backups_kept)
        source_checks = DataSourceChecks(Reader(private_hosts=config.web.private_hosts), owner)
        opted_out, selves = shared.choices.opted_out, approvals.people.selves
        messages = PersonalMessages(owner_notices(config), zone, opted_out, selves, language)
        summaries = SummaryJob(background, zone, self._busy)

        def plan(tx: Tx, now: datetime) -> None:
            patrols.plan(tx, zone, now)
            sleeptime_triggers.plan(tx, zone, now)

        schedule = Schedule(
            self.database,
            clock,
            functools.partial(self.served.runner.changed, self.constellation.id),
            approvals.resume,
            built_in=built_in_jobs(zone, summaries=config.schedule.summaries, backups=not self._origin),
            plan=plan,
        )
        working = (
            *(
                Housekeeping(zone, config.activity.kept()),
                backups,
                source_checks,
                patrols.Patrols(config.home, owner, deps.quiet),
            ),
            *(ReminderJob(messages), EventJob(messages), ConsentRequests(messages)),
            *(replace(summaries, enabled=config.schedule.summaries), upkeep),
            *(EvaluationJob(upkeep_deps), ExpansionJob(upkeep_deps, self._busy)),
        )
        kinds = {name: kind for each in working for name, kind in each.kinds().items()}
        return _Jobs(schedule, kinds, upkeep, backups, source_checks)

    def _keep_up(self, answers: "_Answers", schedule: Schedule) -> None:
        """Start the constellation's background work, and watch its turns."""
        shared, runtime = self.shared, answers.runtime
        notices, resume = runtime.turn_deps.notices, runtime.resume
        monitor = Monitor(self.database, notices, shared.clock, resume, schedule.changed)
        self._go_on(runtime, "expiry of requests", answers.approvals.watch)
        self._go_on(runtime, "embedding", functools.partial(answers.embedding.run, self._busy))
        self._go_on(runtime, "compaction", answers.compactor.run)
        self._go_on(runtime, "idle agents and damage", monitor.run)
        supervisor = shared.parts.supervisor
        for watch in (
            TypingIndicator(runtime.turn_deps.endpoints),
            Previews(runtime, supervisor),
            Progress(runtime, supervisor),
            answers.compactor.watch,
            schedule.watch,
        ):
            self.stack.enter_context(self.events.listen(watch))

    def _go_on(self, runtime: ConstellationRuntime, name: str, work: Work) -> None:
        runtime.keep(f"{name} of {self.constellation.name}" if self._origin else name, work)

    def _status(self, answers: "_Answers") -> Status:
        shared, config = self.shared, self.shared.config
        return Status(
            self.database,
            shared.clock,
            answers.fronts,
            tuple(config.sources),
            shared.replication,
            self.constellation.name,
            config.model.default,
            shared.started,
            model_health=shared.models.health,
            halted=lambda: shared.halt.since,
            unstored=shared.parts.supervisor.unstored.words,
            embedding=answers.embedding.words,
            mcp=shared.mcp.states,
            unset=config.unset(),
        )

    def _busy(self) -> bool:
        return self.shared.parts.supervisor.busy

    @property
    def _origin(self) -> str:
        return "" if self.constellation.id == self.shared.configured else self.constellation.id

    @property
    def _zone(self) -> str:
        return self.shared.config.schedule.zone_name()


class _Jobs(Struct, frozen=True):
    schedule: Schedule
    kinds: Kinds
    upkeep: DreamRun
    backups: Backups
    source_checks: DataSourceChecks


class _Answers(Struct, frozen=True):
    runtime: ConstellationRuntime
    embedding: Embedding
    compactor: Compactor
    terminal: tuple[TerminalSource, TerminalEndpoint]
    fronts: tuple[Front, ...]
    approvals: Approvals
    places: Places


def _turn_deps(shared: Shared, events: Broadcast, embedding: Embedding, endpoints: Mapping[str, Endpoint]) -> TurnDeps:
    config, limits, broker = shared.config, shared.config.limits, shared.broker
    budgets, zone, people = configured_budgets(config), config.schedule.zone_name(), broker.terms.people
    stop = EmergencyHaltTool(None if shared.at_rest else shared.halt.stop)
    return TurnDeps(
        model=shared.models.choose,
        tools=make_tools(
            endpoints,
            *(stop, *web_tools(config.web)),
            zone=zone,
            selves=people.selves,
            foreign=shared.mcp.tools,
            recall=RecallTool(functools.partial(entry_expansion.plan, config.dreams, budgets)),
            notices=owner_notices(config),
        ),
        ready=shared.mcp.ready,
        endpoints=endpoints,
        redact=Redactor(config.secrets()).text,
        clock=shared.clock,
        limits=Limits(config.model.max_steps, limits.turn_seconds, limits.tool_seconds),
        broker=broker,
        budgets=budgets,
        notices=owner_notices(config),
        quiet=owners_quiet(people, zone),
        apology=config.model.apology,
        rates=configured_rates(config),
        watch=events,
        typing=shared.typing,
        meaning=embedding.meaning,
        of_folders=embedding.of_folders,
        checkpoints=config.memory.checkpoints(),
    )
