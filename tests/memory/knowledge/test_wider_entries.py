"""Who may let more people know an archival entry: only whose words it holds, all of them, from turns of theirs."""

from datetime import timedelta
from typing import Any

import pytest

from memory.blocks.revert import Editor
from memory.knowledge import entries, entry_changes
from memory.knowledge.entries import Entry, NewEntry, Origin
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust
from memory.store.database import Tx
from memory.store.errors import EntryNotFound, Refused
from memory.store.ids import MessageId, PersonId, TurnId
from memory.store.records import replace
from memory.wider_audience import require_widening_entry, widen_entry
from tests.memory.blocks.block_parts import ADA, DM, GUILD, IN_DM, MIA, NOW, blocks_store
from tests.memory.blocks.test_wider_audience import ELSEWHERE, HERS, MORE, OTHER, OWNERS, place, shown, turn
from tests.memory.parts import kept_of

LONG = "She likes tea, and the garden, and to sleep long. " * 60
LATER = NOW + timedelta(hours=1)


def hers(number: int | None = None, **more: Any) -> Origin:
    return replace(Origin(IN_DM, Trust.APPROVED, MIA, turn=None if number is None else TurnId(number)), **more)


def kept(tx: Tx, content: str = "She likes tea.", origin: Origin | None = None, **more: Any) -> Entry:
    """An entry of hers, stored in her first turn unless it says otherwise."""
    if tx.one("SELECT 1 FROM turns WHERE id = 1") is None:
        turn(tx, 1, MIA)
    return entry_changes.insert(tx, ADA, NewEntry(content, origin or hers(1), **more), NOW)


def widened(tx: Tx, entry: Entry, to: Audience = PUBLIC, hand: Editor = HERS) -> Entry:
    return widen_entry(tx, hand, entries.read(tx, ADA, entry.id, Scope(entry.audience)), to)


def seen_by(tx: Tx, entry: Entry) -> list[Audience]:
    found = []
    for audience in (DM, GUILD, ELSEWHERE):
        try:
            found += [audience] if entries.read(tx, ADA, entry.id, Scope(audience)) else []
        except EntryNotFound:
            continue
    return found


@pytest.mark.parametrize("content", ["She likes tea.", LONG.strip()])
def test_a_person_lets_more_people_know_what_they_said_alone(tx: Tx, content: str) -> None:
    place(tx, GUILD)
    entry = kept(tx, content, hers(1, message=MessageId(5)), label="tea", tags=("drinks",))
    assert seen_by(tx, entry) == [DM]
    require_widening_entry(tx, HERS, entry, GUILD)
    assert seen_by(tx, entry) == [DM]
    found = widened(tx, entry, GUILD)
    assert seen_by(tx, entry) == [GUILD], "one scope of the tests' direct messages knows no server"
    assert (found.id, found.content, found.people, found.messages) == (entry.id, content, (MIA,), (MessageId(5),))
    passages = tx.all("SELECT audience FROM archival_entries WHERE parent_entry_id = ?", (entry.id,))
    assert {row["audience"] for row in passages} == ({GUILD} if content != "She likes tea." else set())
    (event,) = tx.all("SELECT audience, words ->> 0 FROM activity_events WHERE words LIKE '%more people%'")
    assert tuple(event) == (DM, "let more people see the entry tea")


def test_the_owner_widens_what_the_owner_stored_and_nobody_elses(tx: Tx) -> None:
    own = entry_changes.insert(tx, ADA, NewEntry("Shoes off.", Origin(Scope(OWNER), Trust.OWNER, OWNERS.person)), NOW)
    assert widened(tx, own, PUBLIC, OWNERS).audience == PUBLIC
    with pytest.raises(Refused, match="may contain several people's words"):
        widened(tx, kept(tx), PUBLIC, OWNERS)
    anothers = replace(HERS, person=OTHER, known=(OTHER,), scope=Scope(DM))
    with pytest.raises(Refused, match="may contain several people's words"):
        widened(tx, kept(tx), PUBLIC, anothers)


@pytest.mark.parametrize(
    ("to", "words"),
    [
        (OWNER, "is not wider"),
        (DM, "is not wider"),
        (ELSEWHERE, "you cannot see guild:discord:2 from here"),
        (GUILD, "there is no place with the audience"),
    ],
)
def test_only_where_they_are_themselves_and_people_are(to: Audience, words: str) -> None:
    with blocks_store() as tx, pytest.raises(Refused, match=words):
        widened(tx, kept(tx), to)


def test_an_entry_that_somebody_else_had_a_hand_in_stays(tx: Tx) -> None:
    both = kept(tx, "They all like tea.")
    entry_changes.append(tx, ADA, both.id, "Even coffee.", hers(1, person=OTHER), NOW)
    with pytest.raises(Refused, match=MORE):
        widened(tx, both)
    with pytest.raises(Refused, match=MORE):
        widened(tx, kept(tx, "Somebody is sad.", hers(1, person=None)))
    turn(tx, 2, OTHER)
    with pytest.raises(Refused, match=MORE):
        widened(tx, kept(tx, "She swims.", hers(2)))
    turn(tx, 3, MIA, GUILD)  # others spoke there
    with pytest.raises(Refused, match=MORE):
        widened(tx, kept(tx, "She sings.", hers(3)))
    with pytest.raises(Refused, match=MORE):
        widened(tx, kept(tx, "She sews.", hers(99)))  # nobody knows any more whose turn it was


def test_what_upkeep_wrote_and_what_was_put_away_stays(tx: Tx) -> None:
    entry = kept(tx)
    entry_changes.retire(tx, [entry.id], None, NOW)
    with pytest.raises(Refused, match="was retired"):
        widened(tx, entry)
    entry_changes.restore(tx, [entry.id])
    tx.insert("dream_runs", {"id": "run_1", "at": "2026-11-22T12:00:00.000Z", "outcome": "done"})
    item = {"run_id": "run_1", "agent_id": ADA, "pass": "merge", "action": "made", "entry_id": entry.id}
    tx.insert("dream_items", {**item, "after": "", "audience": DM, "trust": 2})
    with pytest.raises(Refused, match=MORE):
        widened(tx, entry)


def test_what_the_agent_had_before_it_is_not_carried_further(tx: Tx) -> None:
    place(tx, GUILD)
    entry = kept(tx)
    turn(tx, 2, MIA)
    entry_changes.append(tx, ADA, entry.id, "And coffee.", hers(2), LATER)
    shown(tx, 2)
    with pytest.raises(Refused, match=MORE):
        widened(tx, entry, PUBLIC)
    assert widened(tx, entry, GUILD).audience == GUILD


def test_turns_that_only_read_an_entry_later_do_not_keep_it_back(tx: Tx) -> None:
    entry = kept(tx)
    turn(tx, 2, MIA)
    tx.run("UPDATE turns SET started_at = '2026-11-22T13:00:00.000Z' WHERE id = 2")
    tx.insert("turn_uses", {"turn_id": 2, "kind": "entry", "row_id": entry.id, "audience": DM})
    shown(tx, 2)
    assert widened(tx, entry).audience == PUBLIC


def test_a_label_that_is_taken_there_is_refused_and_nothing_changes(tx: Tx) -> None:
    entry = kept(tx, label="tea")
    entry_changes.insert(tx, ADA, NewEntry("Tea is a plant.", Origin(Scope(PUBLIC), Trust.OWNER), label="tea"), NOW)
    for act in (require_widening_entry, widen_entry):
        with pytest.raises(Refused, match="there is already an entry “tea”"):
            act(tx, HERS, entry, PUBLIC)
    assert entries.read(tx, ADA, entry.id, Scope(DM)).audience == DM


def test_it_goes_with_the_person_whose_words_it_holds(tx: Tx) -> None:
    entry = widened(tx, kept(tx))
    assert kept_of("archival").count(tx, PersonId(MIA)) == 1
    kept_of("archival").erase(tx, MIA)
    assert seen_by(tx, entry) == []
