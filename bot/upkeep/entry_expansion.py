"""Expansion of entries: stored at once, and split into focused entries by a model in the background.

Each is a job, created in the transaction that stores the entry and completed in the one that stores the results: so it
is done once, even after a crash. The results have the entry's audience, trust and people, and no name or number that it
lacks. A failed try is repeated with growing pauses for two days.
"""

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from bot.agents.budgets import Budgets
from bot.config.file_settings import Dreams as Settings
from bot.config.values import OFFLINE
from bot.upkeep.background_calls import CAPPED, NO_MODEL, RunCalls, UpkeepDeps, people_first
from bot.upkeep.model_answers import ExpandedEntries, FocusedEntry, UnusableAnswer, each_fitting, read_answer
from bot.upkeep.prompts import MEMORY_RULES, note_text, system
from memory import agents, jobs
from memory.agents import Agent
from memory.jobs import Completion, EntryDue, NewJob, Status
from memory.knowledge import entries, entry_changes
from memory.knowledge.entries import Entry, NewEntry, is_category
from memory.knowledge.upkeep.specifics import same_words, unsaid
from memory.people.audience import Scope
from memory.queue import messages
from memory.store.database import Database, Rows, Tx
from memory.store.errors import Refused
from memory.store.faults import commit_point
from memory.store.ids import EntryId
from scheduler import triggers
from scheduler.job_kinds import DueJob, JobResult, Kinds, WorkJob
from scheduler.triggers import DateTrigger
from texts import gettext_lazy, join_lazy, ngettext_lazy, reason_of

_KEEP = commit_point("expansion.keep")

EXPAND = "expand"
_MOST = 12  # entries made from one
_CATEGORIES = 40  # that are shown
_MOST_IMPORTANT = 0.7  # of results, unless the source has more
_OF_UPKEEP = ("anti-patterns/", "user-preferences/inferred/")  # categories with a special meaning
_FIRST_WAIT, _LONGEST_WAIT, _GIVEN_UP = timedelta(minutes=1), timedelta(hours=12), timedelta(days=2)


class _Source(NamedTuple):
    """The source: its agent, its speaker, and the categories that its audience knows."""

    entry: Entry
    agent: Agent
    speaker: str
    categories: list[str]


def plan(settings: Settings, budgets: Budgets, tx: Tx, agent: Agent, entry: Entry, now: datetime) -> bool:
    """Schedule the expansion of an entry; False if there will be none, without a model or by configuration."""
    if not settings.tokens_per_run or budgets.for_upkeep(agent).model == OFFLINE:
        return False
    name, words = f"{EXPAND}:{entry.id}", hashlib.sha256(entry.content.encode()).hexdigest()
    known = jobs.get(tx, name)
    if known is not None and known.read(EntryDue).words == words:
        if known.status is Status.ACTIVE:
            return True
        if known.status is Status.PAUSED or entries.made_of(tx, [entry.id]):
            return False
    person = next(iter(entry.people), None)
    payload = EntryDue(entry.id, words)
    jobs.put(tx, NewJob(name, EXPAND, triggers.dump(DateTrigger(now)), now, payload, person, entry.audience), now)
    return True


class ExpansionJob(Struct, frozen=True):
    """Expands entries. While `busy`, people are being answered."""

    deps: UpkeepDeps
    busy: Callable[[], bool]

    def kinds(self) -> Kinds:
        return {EXPAND: WorkJob(self.fire)}

    async def fire(self, database: Database, firing: DueJob) -> str | JobResult:
        await people_first(self.busy)
        identifier = firing.job.read(EntryDue).entry
        saved = await database.read(lambda rows: _read(rows, identifier))
        if saved is None:
            return gettext_lazy("the entry was deleted or is no longer used")
        calls = RunCalls(database, self.deps, Scope(saved.entry.audience))
        told = note_text(saved.entry, saved.speaker, saved.categories)
        text = await calls.ask(saved.agent, system(self.deps.directives, MEMORY_RULES), told, ExpandedEntries)
        if text is None:
            if calls.refused in (NO_MODEL, CAPPED):
                return gettext_lazy("left as it is, because {why}", why=calls.refused)
            return _later(firing, calls.refused)
        try:
            wishes = each_fitting(read_answer(text, ExpandedEntries).entries, FocusedEntry)
        except UnusableAnswer as error:
            return _later(firing, reason_of(error))
        now = self.deps.background.clock()
        return await database.write(_KEEP, lambda tx: _keep(tx, firing, saved, wishes, now))


def _read(rows: Rows, identifier: EntryId) -> _Source | None:
    entry = entries.in_use(rows, identifier)
    agent = None if entry is None else {each.id: each for each in agents.every_agent(rows)}.get(entry.agent)
    if entry is None or agent is None:
        return None
    scope = Scope(entry.audience)
    said = messages.by_ids(rows, entry.messages[:1], scope)
    categories = list(entries.categories(rows, entry.agent, scope))[:_CATEGORIES]
    return _Source(entry, agent, said[0].speaker if said else "", categories)


def _later(firing: DueJob, why: str) -> JobResult:
    """Retry after four times the wait so far; give up after two days."""
    waited = firing.now - (firing.job.next_at or firing.due)  # even if it was run by hand
    wait = min(max(_FIRST_WAIT, 4 * waited), _LONGEST_WAIT)
    if waited + wait > _GIVEN_UP:
        return JobResult(gettext_lazy("left as it is after two days of trying, because {why}", why=why))
    return JobResult(gettext_lazy("not yet, because {why}", why=why), again=firing.now + wait)


def _keep(tx: Tx, firing: DueJob, saved: _Source, wishes: Sequence[FocusedEntry], now: datetime) -> str | JobResult:
    """Store the results, unless the source has changed meanwhile; this completes the job."""
    entry = entries.in_use(tx, saved.entry.id)
    if entry is None or _told(entry) != _told(saved.entry):
        return _later(firing, gettext_lazy("the entry has changed"))
    kept = [_made(tx, saved, each, now) for each in wishes[:_MOST]]
    made = sum(kept)
    created = ngettext_lazy("{count} entry created", "{count} entries created", made)
    words = created if made else gettext_lazy("there was nothing to keep")
    if left := len(wishes) - made:
        dropped = ngettext_lazy(
            "; {count} dropped because it repeats the original or has a name or number that is not in it",
            "; {count} dropped because they repeat the original or have a name or number that is not in it",
            left,
        )
        words = join_lazy("", [words, dropped])
    jobs.complete(tx, firing.job, Completion(firing.due, "run", words, None), now)
    return words


def _told(entry: Entry) -> tuple[object, ...]:
    return entry.content, entry.audience, entry.trust, entry.people, entry.messages


def _made(tx: Tx, saved: _Source, wish: FocusedEntry, now: datetime) -> bool:
    """Store one result; False if it repeats its source, or says something that the source does not."""
    entry = saved.entry
    told = [entry.content, saved.speaker, entry.category, *entry.tags]
    if same_words(wish.content) == same_words(entry.content) or unsaid(told, wish.content):
        return False
    new = NewEntry(
        wish.content,
        entry_changes.origin_of(entry),
        category=_category(wish.category, entry),
        tags=tuple(tag.strip() for tag in wish.tags if entries.is_tag(tag.strip())),
        metadata={"source": "expanded"},
        importance=min(wish.importance, max(entry.importance, _MOST_IMPORTANT)),
    )
    try:
        return entry_changes.derive(tx, entry, new, now) is not None
    except Refused:
        return False


def _category(wanted: str, entry: Entry) -> str:
    """The wanted category, if it is valid and an ordinary one; else the entry's own."""
    return wanted if is_category(wanted) and not f"{wanted}/".startswith(_OF_UPKEEP) else entry.category
