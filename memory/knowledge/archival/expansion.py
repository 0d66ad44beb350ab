"""What is made of an entry that was saved to be expanded: more entries, of its people, audience and trust.

They go with what they were made of, and are kept to fewer people with it. One that somebody says again by itself stands
on its own from then on.
"""

from dataclasses import replace
from datetime import datetime

from memory.knowledge.archival.entries import Entry, NewEntry, Origin, checked
from memory.knowledge.archival.writes import MARKS, begun_by, made_new, put, reinforce
from memory.people.audience import Scope
from memory.store.database import Tx
from memory.store.ids import EntryId


def origin_of(source: Entry) -> Origin:
    """Where the words come from of whatever is made of an entry."""
    person, message = next(iter(source.people), None), next(iter(source.messages), None)
    return Origin(Scope(source.audience), source.trust, person, message, source.turn)


def derive(tx: Tx, source: Entry, new: NewEntry, now: datetime) -> Entry | None:
    """Keep something that was made of an entry; None when that very entry says it.

    Where another one says it already in the same words, that is strengthened instead. Raises `Refused` as `insert`.
    """
    new = checked(replace(new, origin=origin_of(source), label=None))
    same = begun_by(tx, source.agent, new)
    if same is None or same.content.rstrip(MARKS) != new.content.rstrip(MARKS):
        whole = replace(made_new(source.agent, new, now), people=source.people, messages=source.messages)
        made = put(tx, whole)  # whoever takes back what a night stored takes this along with it
        _link(tx, source.id, made.id)
        return made
    if same.id == source.id:
        return None
    if tx.one("SELECT 1 FROM entry_expansions WHERE entry_id = ?", (same.id,)) is not None:
        _link(tx, source.id, same.id)  # it was only ever made of others, and of this one now
    return reinforce(tx, same, new, now)


def _link(tx: Tx, source: EntryId, made: EntryId) -> None:
    tx.insert("entry_expansions", {"source_id": source, "entry_id": made}, ignore=True)
