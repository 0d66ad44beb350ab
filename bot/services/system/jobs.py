"""Scheduled jobs: Carina's own with their schedules; commands list, run, pause and resume all jobs."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, ClassVar

from msgspec import Struct
from pydantic import Field

from bot.agents.agenda.tasks import find_one
from bot.agents.permissions.roles_and_rights import Action
from bot.agents.turn_events import ToolCallCompleted, TurnEvent
from bot.errors import UserError
from bot.services.caller import Caller
from bot.services.registry import Param, Suggestions, operation, suggestions
from bot.services.results import Entry, Listing, Markup, Row, relative
from bot.services.system.backups import BACKUP
from bot.services.transactions import Service
from bot.upkeep.dream_run import DREAM
from bot.upkeep.evaluations import EVALUATE
from bot.upkeep.housekeeping import OPTIMIZE, SWEEP, TIDY
from bot.upkeep.scheduled_summaries import DAY_BEGINS, OF_AGENTS, OF_DAYS
from memory import jobs
from memory.agenda import calendar_events, reminders
from memory.jobs import Job, NewJob, Status
from memory.store.database import Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import EventId, ReminderId, code
from memory.store.logs import Log
from scheduler import triggers
from scheduler.triggers import CronTrigger, Trigger
from sources.text import one_line
from texts import _, gettext_noop, moment_text, ngettext, ngettext_noop

_BUILT_IN = commit_point("job.built_in")

_LISTED = 200
_OWN = 80  # characters of a reminder or event that are shown
_OUTCOMES = {
    "run": gettext_noop("done"),
    "late": gettext_noop("done late"),
    "skipped": gettext_noop("skipped"),
    "failed": gettext_noop("failed"),
}
_log = Log("bot.services.system.jobs")


class BuiltInJob(Struct, frozen=True):
    """A built-in job, which exists in every constellation; its id is its kind."""

    kind: str
    trigger: Trigger


_NO_JOB = gettext_noop("There is no job “{which}”.")
_SEVERAL_JOBS = gettext_noop("Several jobs match “{which}”. Choose one: {listed}.")
_Done = Annotated[bool, Param("Include finished jobs")]
_Job = Annotated[str, Param("Words from the job", example="backup", suggests="jobs")]
_Active = Annotated[str, Param("Words from the job", example="backup", suggests="active jobs")]
_Paused = Annotated[
    str,
    Param("Words from the job (default: all that an import paused)", positional=True, suggests="paused jobs"),
]


_TITLES = {
    "backup": gettext_noop("Back up everything"),
    "dream": gettext_noop("Clean up long-term memory"),
    "event": gettext_noop("Announce an event"),
    "feedback.sessions": gettext_noop("Learn from finished conversations"),
    "reminder": gettext_noop("Remind somebody"),
    "sleeptime": gettext_noop("Check on groups while nobody is talking"),
    "summary.agents": gettext_noop("Summarize conversations"),
    "summary.constellation": gettext_noop("Summarize the day"),
    "upkeep.jobs": gettext_noop("Delete old records"),
    "upkeep.search": gettext_noop("Optimize the search index"),
    "upkeep.working": gettext_noop("Delete expired working memory"),
}


def _short(job: str) -> str:
    """Its name with the last digits of its subject's number, as people type it."""
    return ":".join(code(part) if part.isdecimal() else part for part in job.split(":"))


def _title(job: str) -> str:
    name, _colon, subject = job.partition(":")
    if name == "source":
        return _("Check the source “{source}”", source=subject)
    if name == "patrol":
        return _("Patrol “{name}”", name=subject)
    if name == "reminder" and subject.endswith(":again"):
        return _("Repeat a reminder that is not done yet")
    return _(_TITLES[name]) if name in _TITLES else name if subject.isdecimal() else job


class JobRow(Row):
    id: str
    when: str
    """Its rule as entered, for programs."""
    plan: str = Field(exclude=True)
    """The same for people."""
    state: str
    next: datetime | None
    last: datetime | None = Field(validation_alias="last_run_at")
    outcome: str = Field(validation_alias="last_outcome")
    text: str
    own: str = Field(exclude=True)
    """The text of the reader's own reminder or event."""
    overdue: bool = Field(exclude=True)

    @classmethod
    def of(cls, job: Job, own: str = "", now: datetime | None = None) -> "JobRow":
        """A row; with `now`, a job that is a minute late and not running is overdue."""
        trigger = triggers.load(job.trigger)
        following, state = _next(job), _state(job)
        overdue = bool(now and following and state == "active" and now - following > _LATE)
        plan = {"when": triggers.rule_text(trigger), "plan": triggers.words(trigger), "next": following}
        return cls.from_record(job, **plan, state=state, text=_(job.last_detail), own=own, overdue=overdue)

    @property
    def title(self) -> str:
        if not self.own:
            return _title(self.id)
        again = self.id.endswith(":again")
        text = gettext_noop("Reminder “{text}”, once more") if again else gettext_noop("Reminder “{text}”")
        return _(gettext_noop("Event “{text}”") if self.id.startswith("event:") else text, text=self.own)

    def line(self, markup: Markup) -> str:
        outcome = _(_OUTCOMES.get(self.outcome, self.outcome))
        last = self.told(markup, gettext_noop("; last run {last}, {outcome}"), outcome=outcome) if self.last else ""
        detail = markup.text(f": {self.text}") if self.last and self.text else ""
        planned = self.next and self.state != "paused"
        coming = gettext_noop("; overdue since {next}") if self.overdue else gettext_noop("; next run {next}")
        following = self.told(markup, coming) if planned else _("; no next run")
        if self.next and not self.overdue and moment_text(self.next) in self.plan:
            following = ""  # it runs once, and the plan says when
        state, plan = _(self.state), markup.text(self.plan)
        several = ":" in self.id  # others are alone of their kind
        name = f"{_short(self.id)}, " if several and markup.number(self.id) else ""
        return f"{markup.text(self.title)} ({markup.text(name)}{state}): {plan}{following}{last}{detail}"


class Schedule(Service, frozen=True):
    """The jobs of one constellation."""

    titles: ClassVar = {"jobs": "Show and control scheduled jobs"}

    changed: Callable[[], None]
    """Called when a job was added or moved, to check it now."""
    queued: Callable[[], None]
    """Called when a command queued messages, to deliver them."""
    built_in: Sequence[BuiltInJob]
    plan: Callable[[Tx, datetime], None]
    """Updates the jobs that agents and groups have by their settings."""

    def announce(self) -> None:
        self.changed()

    async def prepare(self) -> None:
        """Create the built-in jobs; one whose schedule changed is planned again, a paused one stays paused."""
        await self.database.write(_BUILT_IN, self._prepare)
        self.changed()

    def _prepare(self, tx: Tx) -> None:
        now = self.clock()
        for each in self.built_in:
            first = triggers.require(each.trigger, now)
            jobs.ensure(tx, NewJob(each.kind, each.kind, triggers.dump(each.trigger), first), now)
        self.plan(tx, now)

    def watch(self, event: TurnEvent) -> None:
        """Watch for jobs that an agent's tool adds or moves."""
        if isinstance(event, ToolCallCompleted) and event.ok:
            self.changed()

    @operation("jobs.list", "List scheduled jobs, soonest first", Action.JOBS)
    def list_jobs(self, rows: Rows, caller: Caller, done: _Done = False) -> Listing[JobRow]:
        found = self._rows(rows, caller, jobs.listing(rows, _LISTED, done=done))
        return Listing.of(found, _("Nothing is scheduled yet. Jobs are set up when the service first runs."))

    @operation("jobs.run", "Run a job now, in addition to its schedule", Action.JOBS)
    def run_now(self, tx: Tx, caller: Caller, job: _Job) -> str:
        found = self._change(tx, job, caller, "run", lambda found: jobs.ask(tx, found.id, self.clock()))
        named = _called(tx, caller, found)
        return _("“{job}” will run now, or when the service starts. Its schedule stays the same.", job=named)

    @operation("jobs.pause", "Pause a job until you resume it", Action.JOBS)
    def pause(self, tx: Tx, caller: Caller, job: _Active) -> str:
        found = self._change(tx, job, caller, "pause", lambda found: jobs.pause(tx, found.id))
        return _("“{job}” is paused until you resume it.", job=_called(tx, caller, found))

    @operation("jobs.resume", "Resume a paused job, or all that an import paused", Action.JOBS)
    def resume(self, tx: Tx, caller: Caller, job: _Paused = "") -> Entry[JobRow] | str:
        """Resume a job's schedule; missed runs are not made up for."""
        if not job:
            return self._resume_all(tx, caller)
        found = self._change(tx, job, caller, "resume", lambda found: self._resumed(tx, found))
        return Entry(done=_("Resumed"), row=JobRow.of(found, _own_words(tx, caller, found)))

    def _resumed(self, tx: Tx, found: Job) -> bool:
        """Resume a job, keeping its plan: a reminder that was moved once skips its former time."""
        now = self.clock()
        ahead = found.next_at is not None and found.next_at > now
        after = None if ahead else triggers.next_run(triggers.load(found.trigger), now)
        return jobs.resume(tx, found.id, found.next_at if after is None else after)

    def _resume_all(self, tx: Tx, caller: Caller) -> str:
        """Resume the jobs that an import paused. Those that a person paused stay so, and are named."""
        paused = jobs.paused(tx)
        kept = dict.fromkeys(_called(tx, caller, each) for each in paused if each.last_detail != jobs.IMPORTED)
        count = sum(self._resumed(tx, each) for each in paused if each.last_detail == jobs.IMPORTED)
        _log.info("jobs_resumed", count=count, by=caller.person, interface=caller.approver.interface)
        if not paused:
            return _("No job is paused.")
        one, more = ngettext_noop("{count} job or reminder resumed.", "{count} jobs and reminders resumed.")
        stays = _("Paused on purpose, and still paused: {names}.", names=", ".join(kept)) if kept else ""
        return " ".join(filter(None, (ngettext(one, more, count) if count else "", stays)))

    @suggestions("jobs")
    def suggest(self, rows: Rows, caller: Caller) -> Suggestions:
        return self._offered(rows, caller, jobs.listing(rows, _LISTED))

    @suggestions("active jobs")
    def suggest_active(self, rows: Rows, caller: Caller) -> Suggestions:
        return self._offered(rows, caller, (job for job in jobs.listing(rows, _LISTED) if job.status == Status.ACTIVE))

    @suggestions("paused jobs")
    def suggest_paused(self, rows: Rows, caller: Caller) -> Suggestions:
        return self._offered(rows, caller, jobs.paused(rows))

    def _offered(self, rows: Rows, caller: Caller, some: Iterable[Job]) -> Suggestions:
        found, now = self._rows(rows, caller, some), self.clock()
        ahead = {row.id: relative(row.next, now) for row in found if row.next and ":" in row.id}  # of several of a kind
        return [(row.id, ", ".join(filter(None, (row.title, ahead.get(row.id))))) for row in found]

    def _rows(self, rows: Rows, caller: Caller, found: Iterable[Job]) -> list[JobRow]:
        return [JobRow.of(each, _own_words(rows, caller, each), self.clock()) for each in found]

    def _change(self, tx: Tx, job: str, caller: Caller, act: str, work: Callable[[Job], bool]) -> Job:
        every = list(jobs.listing(tx, _LISTED))
        alike = [each for each in every if _short(each.id) == job]
        named = jobs.get(tx, job) or (alike[0] if len(alike) == 1 else None)
        found = named or find_one(every, job, lambda each: _called(tx, caller, each), _NO_JOB, _SEVERAL_JOBS)
        if found.status not in (Status.ACTIVE, Status.PAUSED) or not work(found):
            told = {"job": _called(tx, caller, found), "state": _(_state(found))}
            raise UserError("“{job}” is {state}, so nothing was changed.", **told)
        _log.info("job_changed", job=found.id, act=act, by=caller.person, interface=caller.approver.interface)
        return jobs.get(tx, found.id) or found


def _own_words(rows: Rows, caller: Caller, job: Job) -> str:
    """The text of the caller's own reminder or event, if it may be shown."""
    name, _colon, subject = job.id.removesuffix(":again").removesuffix(":later").partition(":")
    number = int(subject) if subject.isdecimal() else 0
    if name == "reminder" and (reminder := reminders.by_id(rows, ReminderId(number))):
        of, audience, words = reminder.person, reminder.audience, reminder.text
    elif name == "event" and (event := calendar_events.by_id(rows, EventId(number))):
        of, audience, words = event.person, event.audience, event.title
    else:
        return ""
    return one_line(words, _OWN) if of == caller.person and caller.scope.may_use(audience) else ""


def _called(rows: Rows, caller: Caller, job: Job) -> str:
    """A job's name in a sentence: the text of the caller's own reminder or event, else its purpose."""
    return _own_words(rows, caller, job) or _title(job.id)


_LATE = timedelta(minutes=1)


def _state(job: Job) -> str:
    return "running" if job.holder else str(job.status)


def _next(job: Job) -> datetime | None:
    """When it runs next: as planned or, after a failure, at the next try. A lease's end is not counted."""
    return job.next_at if job.holder or job.held_until is None else job.held_until


def built_in_jobs(zone: str, *, summaries: bool = True, backups: bool = True) -> tuple[BuiltInJob, ...]:
    """The built-in jobs; nightly ones use the zone; `summaries` and `backups` add their jobs.

    Frequent ones run close together: idle constellations are opened for them, and close in between.
    """
    hour = DAY_BEGINS.hour  # a day is summarized when it is over, and then everything is backed up
    crontab = {
        OPTIMIZE: "20 3 * * *",
        TIDY: "40 3 * * *",
        **({OF_DAYS: f"0 {hour} * * *", OF_AGENTS: "5 * * * *"} if summaries else {}),
        **({BACKUP: f"20 {hour} * * *"} if backups else {}),
        SWEEP: "35 * * * *",  # expired entries are not read before that either
        EVALUATE: "5,35 * * * *",  # finished conversations
        DREAM: "10,40 * * * *",  # it checks whether it is time
    }
    return tuple(BuiltInJob(kind, CronTrigger(line, zone)) for kind, line in crontab.items())
