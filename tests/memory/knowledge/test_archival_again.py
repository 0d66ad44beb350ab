"""An entry that says again what stands is found by an index: it costs the same, however many entries there are."""

from hypothesis import given
from hypothesis import strategies as st

from memory.knowledge import archival
from memory.knowledge.archival import NewEntry, Origin
from memory.knowledge.archival.writes import BEGUN_BY
from memory.people.audience import Scope, Trust
from tests.memory.parts import ANN, GUILD, NOON, STAR, store

HERE = Origin(Scope(GUILD), Trust.APPROVED, ANN)
MARKS = " .!?…"
TEXTS = st.one_of(
    st.text(alphabet="ab .!?…", min_size=1, max_size=20),
    st.builds(
        lambda words, end: " ".join(words) + end,
        st.lists(
            st.sampled_from(["the", "hamster", "is", "called", "Bolt", "x" * 30, "你好"]), min_size=1, max_size=14
        ),
        st.text(alphabet=MARKS, max_size=3),
    ),
).filter(lambda text: text.strip() != "")


def begins(old: str, new: str) -> bool:
    """Whether the new words are the old ones, or go on from them behind a word's end."""
    kept = old.rstrip(MARKS)
    if old == new:
        return True
    longer = new.startswith(kept) and len(kept) >= 8
    return longer and (not new[len(kept) :].rstrip(MARKS) or not new[len(kept)].isalnum())


@given(TEXTS, TEXTS)
def test_it_is_found_exactly_when_one_begins_with_the_other(old: str, rest: str) -> None:
    for new in (rest, old + rest, f"{old.rstrip(MARKS)}, {rest}", old.rstrip(MARKS) + MARKS):
        if new.strip():
            tx = store()
            first = archival.insert(tx, STAR, NewEntry(old, HERE), NOON)
            second = archival.insert(tx, STAR, NewEntry(new, HERE), NOON)
            assert (first.id == second.id) is begins(first.content, new.strip()), new


def test_other_entries_are_not_looked_at() -> None:
    values = {"agent": "", "audience": "", "person": None, "begins": "[]", "new": "", "marks": "", "least": 8}
    (first, *_) = [str(row["detail"]) for row in store().all(f"EXPLAIN QUERY PLAN {BEGUN_BY}", values)]
    assert first == "SEARCH archival_entries USING INDEX archival_begins (agent_id=? AND audience=? AND <expr>=?)"
