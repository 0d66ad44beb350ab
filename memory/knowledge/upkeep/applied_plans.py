"""Applies a plan in one transaction that trusts nobody: every promise is checked here against the rows.

Entries that changed since they were read are skipped. New rows are written before old ones are retired. Then the result
is audited; any violation raises `BrokenPlan`, which rolls everything back.
"""

import json
from collections.abc import Sequence, Set
from datetime import datetime

from msgspec import Struct, field

from memory import activity
from memory.knowledge import entry_changes, graph
from memory.knowledge.entries import MAX_TAGS, Entry, NewEntry, Origin, checked, digest_of, to_entry
from memory.knowledge.entry_changes import made_new
from memory.knowledge.upkeep import run_records
from memory.knowledge.upkeep.planned_changes import Item, Learn, Link, Merge, Plan, Refine, Retire, kin_of
from memory.knowledge.upkeep.run_records import Item as Noted
from memory.knowledge.upkeep.run_records import Run
from memory.knowledge.upkeep.selection import LONGEST
from memory.knowledge.upkeep.specifics import invented, lost
from memory.people.audience import OWNER, Audience, Scope, Trust
from memory.store.database import Tx
from memory.store.errors import Refused, StoreError
from memory.store.ids import AgentId, EntryId, new_id
from memory.store.records import replace
from texts import gettext_lazy, ngettext_lazy

STRONG_REINFORCEMENT, STRONG_IMPORTANCE = 5, 0.8


class BrokenPlan(StoreError):
    """A plan broke a promise, or would have; nothing of it was applied."""


class _Tally(Struct):
    living: int
    may: int
    retired: int = 0
    made: int = 0
    refined: int = 0


class _Progress(Struct):
    tx: Tx
    run: str
    now: datetime
    tallies: dict[AgentId, _Tally] = field(default_factory=dict)
    left: int = 0
    linked: int = 0

    def tally(self, agent: AgentId) -> _Tally:
        if agent not in self.tallies:
            may = run_records.allowance(self.tx, agent, self.now)
            self.tallies[agent] = _Tally(run_records.living(self.tx, agent), may)
        return self.tallies[agent]

    def note(self, item: Item, action: str, entry: Entry, into: EntryId | None = None, before: str = "{}") -> None:
        """Record what was done to an entry, and its result."""
        values = {"run_id": self.run, "agent_id": entry.agent, "pass": item.by, "action": action, "entry_id": entry.id}
        told = {"into_id": into, "before": before, "after": digest_of(entry), "audience": entry.audience}
        self.tx.insert("dream_items", {**values, **told, "trust": int(entry.trust)})


def apply(tx: Tx, plan: Plan, now: datetime) -> str:
    """Apply a plan; returns the run's id, empty if nothing worth reporting was done.

    Raises BrokenPlan if the plan would retire too much or the wrong entries, lose what an entry says, or merge entries
    that do not belong together.
    """
    run = run_records.begin_run(tx, now, "done", plan.notes)
    progress = _Progress(tx, run, now)
    for item in plan.items:
        progress.tally(_agent_of(item))
    for item in sorted(plan.items, key=lambda each: not isinstance(each, Link)):
        _do(progress, item)  # relations come first, so that a merge takes them over
    for mark in plan.marks:
        run_records.put_mark(tx, mark, now)
    for entry in plan.again:
        tx.run("DELETE FROM dream_changes WHERE n = (SELECT n FROM archival_entries WHERE id = ?)", (entry.id,))
        tx.run("INSERT INTO dream_changes (n) SELECT n FROM archival_entries WHERE id = ?", (entry.id,))
    for agent, tally in progress.tallies.items():
        counts = {"living": tally.living, "retired": tally.retired, "made": tally.made, "refined": tally.refined}
        tx.insert("dream_tallies", {"run_id": run, "agent_id": agent, **counts})
    _audit(progress)
    changed_since = ngettext_lazy(
        "{count} change, because its entries changed in the meantime",
        "{count} changes, because their entries changed in the meantime",
        progress.left,
    )
    notes = (*plan.notes, changed_since) if progress.left else plan.notes
    changed = progress.linked or any(each.retired or each.made or each.refined for each in progress.tallies.values())
    if not changed and not notes:
        tx.run("DELETE FROM dream_tallies WHERE run_id = ?", (run,))
        tx.run("DELETE FROM dream_runs WHERE id = ?", (run,))
        return ""
    tx.run("UPDATE dream_runs SET notes = ? WHERE id = ?", (run_records.notes_text(notes), run))
    return run


def _agent_of(item: Item) -> AgentId:
    match item:
        case Merge(sources=sources):
            return sources[0].agent
        case Learn(part=part):
            return part.agent
        case _:
            return item.entry.agent


def _do(progress: _Progress, item: Item) -> None:
    match item:
        case Merge():
            _merge(progress, item)
        case Retire():
            _retire(progress, item)
        case Refine():
            _refine(progress, item)
        case Learn():
            _learn(progress, item)
        case Link():
            _link(progress, item)


def _unchanged(progress: _Progress, entries: Sequence[Entry]) -> bool:
    """Whether entries are unchanged since they were read; if not, they are skipped."""
    named = [entry.id for entry in entries]
    found = progress.tx.all("SELECT * FROM archival_entries WHERE id IN (SELECT value FROM json_each(?))", (named,))
    now = {row["id"]: to_entry(row) for row in found if row["archived_at"] is None and row["superseded_by"] is None}
    if all(entry.id in now and digest_of(now[entry.id]) == digest_of(entry) for entry in entries):
        return True
    progress.left += 1
    return False


def _merge(progress: _Progress, item: Merge) -> None:
    sources = sorted(item.sources, key=lambda entry: (entry.created_at, entry.id))
    _require(len({entry.id for entry in sources}) == len(sources) > 1, "a merge is of several entries")
    _require(len({kin_of(entry) for entry in sources}) == 1, "entries of other people, audiences or trust were joined")
    words = [entry.content for entry in sources]
    _require(not lost(words, item.content), "a merge would lose a name, a number or an acronym")
    _require(not invented(words, item.content), "a merge would say what no entry says")
    _require(len(item.content) <= LONGEST, "a merge is too long")
    if not _unchanged(progress, sources):
        return
    made = entry_changes.put(progress.tx, _joined(sources, item, progress.now))
    progress.tx.run("DELETE FROM dream_changes WHERE n = (SELECT n FROM archival_entries WHERE id = ?)", (made.id,))
    graph.carry(progress.tx, progress.run, made, sources, progress.now)
    _out_of_use(progress, sources, made.id)
    progress.tally(made.agent).made += 1
    progress.note(item, "made", made)
    for entry in sources:
        progress.note(item, "merged", entry, made.id)


def _joined(sources: Sequence[Entry], item: Merge, now: datetime) -> Entry:
    """The merge of several entries: the oldest date, the lowest trust, and the sum of reinforcements."""
    first = sources[0]
    seen = [entry.last_seen for entry in sources if entry.last_seen is not None]
    metadata = {key: value for entry in sources for key, value in entry.metadata.items()}
    made = _checked(item.content, item.category, item.tags)
    return replace(
        first,
        id=EntryId(new_id("ent")),
        content=made.content,
        category=made.category,
        tags=made.tags,
        metadata=metadata,
        importance=max(entry.importance for entry in sources),
        reinforcement=sum(entry.reinforcement for entry in sources) + len(sources) - 1,
        people=first.people,
        messages=tuple(dict.fromkeys(message for entry in sources for message in entry.messages)),
        trust=min(entry.trust for entry in sources),
        updated_at=now,
        last_seen=max(seen, default=None),
    )


def _checked(content: str, category: str, tags: Sequence[str]) -> NewEntry:
    nobody = Origin(Scope(OWNER), Trust.WEB)  # only the words are checked
    try:
        return checked(NewEntry(content, nobody, category=category, tags=tuple(tags)[:MAX_TAGS]))
    except Refused as error:
        raise BrokenPlan("this is not a valid entry: {error}", error=error) from error


def _retire(progress: _Progress, item: Retire) -> None:
    if _unchanged(progress, [item.entry]):
        _out_of_use(progress, [item.entry], None)
        progress.note(item, "retired", item.entry)


def _out_of_use(progress: _Progress, entries: Sequence[Entry], into: EntryId | None) -> None:
    for entry in entries:
        strong = entry.reinforcement >= STRONG_REINFORCEMENT or entry.importance >= STRONG_IMPORTANCE
        _require(not strong, "an entry that was said often, or is important, would be retired")
        _require(entry.label is None and len(entry.content) <= LONGEST, "a named or long entry would be retired")
    tally = progress.tally(entries[0].agent)
    tally.retired += entry_changes.retire(progress.tx, [entry.id for entry in entries], into, progress.now)
    _require(tally.retired <= tally.may, "more would be retired than the loss bound allows")


def _refine(progress: _Progress, item: Refine) -> None:
    if not _unchanged(progress, [item.entry]):
        return
    made = _checked(item.entry.content, item.category, item.tags)
    before = json.dumps({"category": item.entry.category, "tags": item.entry.tags}, ensure_ascii=False)
    refined = replace(item.entry, category=made.category, tags=made.tags)
    entry_changes.store(progress.tx, refined, None)
    progress.tally(refined.agent).refined += 1
    progress.note(item, "refined", refined, before=before)


def _link(progress: _Progress, item: Link) -> None:
    _require(
        all(graph.names_both(item.entry, each) for each in item.triples), "a name would be noted that no entry says"
    )
    entry = item.entry
    sql = """SELECT 1 FROM archival_entries WHERE id = ? AND content = ? AND audience = ? AND trust = ?
             AND archived_at IS NULL AND superseded_by IS NULL"""  # this very run may have changed its category
    if progress.tx.one(sql, (entry.id, entry.content, entry.audience, int(entry.trust))) is None:
        progress.left += 1
    else:
        progress.linked += graph.put(progress.tx, progress.run, entry, item.triples, progress.now)


def _learn(progress: _Progress, item: Learn) -> None:
    origin = item.new.origin
    _require((origin.scope.audience, origin.trust) == (item.part.audience, item.part.trust), "learned across audiences")
    sql = """SELECT count(*) FROM messages WHERE deleted_at IS NULL AND audience = ? AND person_id IS ?
             AND id IN (SELECT value FROM json_each(?))"""
    standing = progress.tx.number(sql, (item.part.audience, origin.person, item.messages))
    if standing != len(item.messages) or not item.messages:
        progress.left += 1
        return
    known = progress.tx.one(
        "SELECT 1 FROM archival_entries WHERE agent_id = ? AND audience = ? AND person_id IS ? AND content = ?",
        (item.part.agent, item.part.audience, origin.person, item.new.content),
    )
    if known is not None:
        return  # learned before, or refused by its person
    try:
        entry = replace(
            made_new(item.part.agent, checked(item.new), progress.now), label=None, messages=item.messages, turn=None
        )
    except Refused as error:
        raise BrokenPlan("this is not a valid entry: {error}", error=error) from error
    made = entry_changes.put(progress.tx, entry)
    progress.tx.run("DELETE FROM dream_changes WHERE n = (SELECT n FROM archival_entries WHERE id = ?)", (made.id,))
    if item.waiting:
        entry_changes.retire(progress.tx, [made.id], None, progress.now)
    progress.tally(made.agent).made += 1
    progress.note(item, "made", made)


# --------------------------------------------------------------------------------------------------------------- audit


def _audit(progress: _Progress) -> None:
    """Check what must hold after every run, from the rows themselves."""
    tx, run = progress.tx, progress.run
    orphans = """SELECT 1 FROM archival_entries e WHERE e.superseded_by IS NOT NULL
                 AND NOT EXISTS (SELECT 1 FROM archival_entries m WHERE m.id = e.superseded_by)"""
    _require(tx.one(orphans) is None, "an entry is superseded by one that is not there")
    for agent, tally in progress.tallies.items():
        waiting = _count(tx, run, agent, "i.action = 'made' AND e.archived_at IS NOT NULL")
        standing = tally.living - tally.retired + tally.made - waiting
        _require(run_records.living(tx, agent) == standing, "the numbers of entries do not add up")
        gone = _count(tx, run, agent, "i.action IN ('merged', 'retired') AND e.archived_at IS NOT NULL")
        _require(gone == tally.retired <= tally.may, "the notes of what was retired do not add up")
    unlike = """SELECT 1 FROM dream_items i JOIN archival_entries e ON e.id = i.entry_id
                JOIN archival_entries m ON m.id = i.into_id WHERE i.run_id = ? AND (m.audience <> e.audience
                OR m.trust > e.trust OR m.created_at > e.created_at OR m.person_id IS NOT e.person_id
                OR m.agent_id <> e.agent_id OR e.superseded_by IS NOT m.id OR m.archived_at IS NOT NULL)"""
    _require(tx.one(unlike, (run,)) is None, "an entry is not of the audience, trust, age or people of its sources")


def _count(tx: Tx, run: str, agent: AgentId, condition: str) -> int:
    sql = f"""SELECT count(*) FROM dream_items i JOIN archival_entries e ON e.id = i.entry_id
              WHERE i.run_id = ? AND i.agent_id = ? AND {condition}"""
    return tx.number(sql, (run, agent))


def _require(holds: object, why: str) -> None:
    if not holds:
        raise BrokenPlan(why)


# --------------------------------------------------------------------------------------------------- taking a run back


class UndoneRun(Struct, frozen=True):
    """A run that was undone; `gone` entries were deleted since and `allowed` ones approved since."""

    run: Run
    gone: int
    allowed: int


def undo(tx: Tx, now: datetime) -> UndoneRun:
    """Undo the newest run that changed something. What a person has approved since is theirs and stays.

    Raises Refused if there is nothing to undo, or if an entry was changed since: then nothing is undone.
    """
    run = run_records.newest_done(tx)
    if run is None:
        raise Refused("there is no cleanup to undo: none changed anything in the last 90 days, or all were undone")
    items = run_records.items_of(tx, run.id)
    found = {item.n: _entry(tx, item.entry) for item in items}
    allowed = {item.n for item in items if item.action == "made" and run_records.is_permitted(found[item.n][0])}
    changed = [item for item in items if item.n not in allowed and not _is_as_left(item, *found[item.n])]
    if changed:
        raise Refused(
            "some entries have changed since the cleanup from {at} ({changed} of {items}: "
            "{names}), so nothing was undone; see the report, and change or delete entries one "
            "by one",
            changed=len(changed),
            items=len(items),
            at=run.at,
            names=", ".join(item.entry for item in changed[:5]),
        )
    _tell(tx, run.id, {(item.agent, item.audience) for item in items if item.n in allowed}, now)
    entry_changes.restore(tx, [item.entry for item in items if item.action in ("merged", "retired")])
    entry_changes.remove(tx, [item.entry for item in items if item.action == "made" and item.n not in allowed])
    for item in items:
        if item.action == "refined":
            entry, _ = found[item.n]
            before = item.before
            entry_changes.store(tx, replace(entry, category=before["category"], tags=tuple(before["tags"])), None)
    graph.forget_run(tx, run.id)
    tx.run("UPDATE dream_runs SET outcome = 'undone', undone_at = ? WHERE id = ?", (now, run.id))
    return UndoneRun(run, run.retired + run.made + run.refined - len(items), len(allowed))


def _tell(tx: Tx, run: str, stays: Set[tuple[AgentId, Audience]], now: datetime) -> None:
    """Write into the activity log that a run was undone, for each audience that it concerned."""
    sql = "SELECT agent_id, audience, min(trust) AS trust FROM dream_items WHERE run_id = ? GROUP BY agent_id, audience"
    for row in tx.all(sql, (run,)):
        agent, audience = AgentId(row["agent_id"]), Audience(row["audience"])
        but = gettext_lazy(", except what somebody approved") if (agent, audience) in stays else ""
        words = gettext_lazy("had a cleanup of its memory undone{except_for}", except_for=but)
        activity.note(tx, activity.NewEvent(activity.Details(), words, audience, Trust(row["trust"]), agent), now)


def _entry(tx: Tx, identifier: EntryId) -> tuple[Entry, bool]:
    """An entry, and whether it is retired."""
    row = tx.one("SELECT * FROM archival_entries WHERE id = ?", (identifier,))
    if row is None:
        raise AssertionError("what is noted of an entry goes with it")
    return to_entry(row), row["archived_at"] is not None


def _is_as_left(item: Noted, entry: Entry, retired: bool) -> bool:
    """Whether an entry is as the run left it; a restored one, whether it is as before the run."""
    if digest_of(entry) != item.after:
        return False
    return retired == item.waiting or item.action in ("merged", "retired")
