"""Taking the last run back: what it retired stands again, what it made is gone, what it refined reads as before."""

from collections.abc import Set
from dataclasses import dataclass, replace
from datetime import datetime

from memory import activity
from memory.knowledge import archival, graph
from memory.knowledge.archival import Entry, to_entry
from memory.knowledge.consolidation import pending, run_records
from memory.knowledge.consolidation.plan import digest_of
from memory.knowledge.consolidation.run_records import Item, Run
from memory.people.audience import Audience
from memory.store.clock import to_text
from memory.store.database import Tx
from memory.store.errors import Refused
from memory.store.ids import AgentId, EntryId


@dataclass(frozen=True)
class Undone:
    """A run that was taken back, but for `gone` entries that were taken away since, and what was `allowed` since."""

    run: Run
    gone: int
    allowed: int


def undo(tx: Tx, now: datetime) -> Undone:
    """Undo the newest run that changed something. What a person said yes to since is theirs by now, and stays.

    Raises Refused when there is nothing to undo, or an entry was changed otherwise since: then nothing is undone.
    """
    run = run_records.newest_done(tx)
    if run is None:
        raise Refused("there is no run to undo: none changed anything in the last 90 days, or all were undone")
    items = run_records.items_of(tx, run.id)
    found = {item.n: _entry(tx, item.entry) for item in items}
    allowed = {item.n for item in items if item.action == "made" and pending.is_permitted(found[item.n][0])}
    changed = [item for item in items if item.n not in allowed and not _is_as_left(item, *found[item.n])]
    if changed:
        raise Refused(
            "{changed} of the {items} entries of the run at {at} have changed since ({names}), so nothing was "
            "undone; see the report, and change or forget entries one by one",
            changed=len(changed),
            items=len(items),
            at=run.at,
            names=", ".join(item.entry for item in changed[:5]),
        )
    archival.restore(tx, [item.entry for item in items if item.action in ("merged", "retired")])
    archival.remove(tx, [item.entry for item in items if item.action == "made" and item.n not in allowed])
    for item in items:
        if item.action == "refined":
            entry, _ = found[item.n]
            before = item.before
            archival.store(tx, replace(entry, category=before["category"], tags=tuple(before["tags"])), None)
    graph.forget_run(tx, run.id)
    tx.run("UPDATE dream_runs SET outcome = 'undone', undone_at = ? WHERE id = ?", (to_text(now), run.id))
    _tell(tx, run, {(item.agent, item.audience) for item in items if item.n in allowed}, now)
    return Undone(run, run.retired + run.made + run.refined - len(items), len(allowed))


def _tell(tx: Tx, run: Run, stays: Set[tuple[AgentId, Audience]], now: datetime) -> None:
    """Who read of the run in the activity reads there that it was undone."""

    def but(agent: AgentId, audience: Audience) -> str:
        return ", but for what somebody said yes to" if (agent, audience) in stays else ""

    activity.take_back(tx, (run_records.TOLD, run.id), run.at, now, but)


def _entry(tx: Tx, identifier: EntryId) -> tuple[Entry, bool]:
    """An entry, and whether it is out of use."""
    row = tx.one("SELECT * FROM archival_entries WHERE id = ?", (identifier,))
    if row is None:
        raise AssertionError("what is noted of an entry goes with it")
    return to_entry(row), row["archived_at"] is not None


def _is_as_left(item: Item, entry: Entry, retired: bool) -> bool:
    """Whether an entry is as the run left it; one that stands again already is as it was before."""
    if digest_of(entry) != item.after:
        return False
    return retired == item.waiting or item.action in ("merged", "retired")
