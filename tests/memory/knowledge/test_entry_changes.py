from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.knowledge import entries, entry_changes, repeated_entries
from memory.knowledge.entries import Entry, NewEntry, Origin, passages_of
from memory.knowledge.repeated_entries import BEGUN_BY
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust, may_write_down
from memory.queue import messages
from memory.queue.messages import NewMessage
from memory.search.all_domains import search
from memory.search.query import Query
from memory.store.database import Rows, Tx, as_dict
from memory.store.errors import EntryNotFound, Refused
from memory.store.fulltext import match_query
from memory.store.ids import AgentId, EntryId, MessageId, TurnId
from memory.store.records import replace
from tests.memory.parts import (
    ANN,
    AUDIENCES,
    BOB,
    GUILD,
    HALL,
    NOON,
    SCOPES,
    STAR,
    a_turn,
    keep,
    kept_of,
    spoken,
    store,
)

LATER = NOON + timedelta(hours=1)
MOON = AgentId("agt_moon")
ANNS = Audience("person:discord:ann")
HERE = Origin(Scope(GUILD), Trust.APPROVED, person=ANN)
BOLT = NewEntry("Ann's hamster is called Bolt", HERE)


@pytest.fixture
def tx() -> Tx:
    return store(**{MOON: "Moon"})


def at(audience: Audience, origin: Origin = HERE) -> Origin:
    return replace(origin, scope=Scope(audience))


def put(tx: Tx, content: str, audience: Audience = GUILD, *, label: str | None = None, agent: AgentId = STAR) -> Entry:
    return keep(tx, content, NOON, agent, audience=audience, label=label)


def add_turn(tx: Tx, turn: TurnId) -> None:
    made = {"id": str(turn), "agent_id": STAR, "place_id": HALL.id, "audience": GUILD, "status": "done"}
    tx.insert("turns", {**made, "trust": "2", "started_at": ""})


def hear(tx: Tx, name: str) -> MessageId:
    heard = NewMessage(HALL.id, ANN, "Ann", "hello", "discord", name, GUILD, Trust.APPROVED, NOON)
    return messages.add(tx, heard)


def say(tx: Tx, turn: TurnId) -> MessageId:
    return messages.add(tx, spoken(a_turn(id=turn), "Bolt!"))


def found(rows: Rows, query: str) -> list[str]:
    match = match_query(query, mode="all")
    sql = "SELECT e.id FROM archival_fts JOIN archival_entries e ON e.n = archival_fts.rowid WHERE archival_fts MATCH ?"
    return [row[0] for row in rows.all(sql + " ORDER BY e.n", (match,))]


def check_index(tx: Tx) -> None:
    """Raises when the index and the table disagree."""
    tx.run("INSERT INTO archival_fts (archival_fts, rank) VALUES ('integrity-check', 1)")


def test_an_entry_is_found_by_content_tags_category_label_and_day(tx: Tx) -> None:
    new = replace(BOLT, label="pets", category="people/friends", tags=("rodent",))
    entry = entry_changes.insert(tx, STAR, new, NOON)
    for query in ("hamsters", "rodent", "friends", "pets", "22 November"):
        assert found(tx, query) == [entry.id]


def test_other_agents_audiences_and_people_keep_their_own_copy(tx: Tx) -> None:
    first = entry_changes.insert(tx, STAR, BOLT, NOON)
    others = [
        entry_changes.insert(tx, MOON, BOLT, NOON),
        entry_changes.insert(tx, STAR, replace(BOLT, origin=at(PUBLIC)), NOON),
        entry_changes.insert(tx, STAR, replace(BOLT, origin=replace(HERE, person=BOB)), NOON),
        entry_changes.insert(tx, STAR, replace(BOLT, origin=replace(HERE, person=None)), NOON),
        entry_changes.insert(tx, STAR, replace(BOLT, content=BOLT.content.upper()), NOON),
    ]
    assert len({first.id, *(other.id for other in others)}) == 6
    assert entry_changes.insert(tx, STAR, replace(BOLT, origin=replace(HERE, person=None)), NOON).id == others[3].id


def test_a_label_is_unique_per_agent_and_audience_and_free_after_deletion(tx: Tx) -> None:
    first = put(tx, "one", label="pets")
    put(tx, "three")
    with pytest.raises(Refused, match="there is already an entry “pets”"):
        put(tx, "two", label="pets")
    with pytest.raises(Refused, match="there is already an entry “pets”"):
        put(tx, "three", label="pets")  # would be reinforced and named
    put(tx, "two", PUBLIC, label="pets")
    put(tx, "two", label="pets", agent=MOON)
    entry_changes.delete(tx, STAR, first.id, Scope(GUILD))
    assert put(tx, "two", label="pets").label == "pets"


def test_of_two_labels_the_scope_s_own_audience_goes_first(tx: Tx) -> None:
    own = put(tx, "guild's", GUILD, label="pets")
    public = put(tx, "public", PUBLIC, label="pets")
    assert entries.read(tx, STAR, "pets", Scope(GUILD)) == own
    assert entries.read(tx, STAR, "pets", Scope(ANNS)) == public


def test_the_same_words_are_reinforced_and_take_over_what_was_not_there(tx: Tx) -> None:
    first = entry_changes.insert(tx, STAR, replace(BOLT, tags=("pet",), metadata={"a": 1}), NOON)
    origin = replace(HERE, trust=Trust.STRANGER, message=MessageId(9))
    named = replace(BOLT, label="pets", category="people", tags=("rodent", "pet"), metadata={"a": 2, "b": 2})
    again = replace(named, content=f"  {BOLT.content}\n", origin=origin, importance=0.8)
    second = entry_changes.insert(tx, STAR, again, LATER)
    assert (second.id, second.reinforcement, second.last_seen) == (first.id, 1, LATER)
    assert (second.created_at, second.updated_at) == (NOON, NOON)
    assert (second.label, second.category, second.tags) == ("pets", "people", ("pet", "rodent"))
    assert (second.metadata, second.importance, second.trust) == ({"a": 1, "b": 2}, 0.8, Trust.STRANGER)
    assert second.messages == (9,)
    assert found(tx, "rodent") == [first.id]
    assert repeated_entries.not_taken(second, again) == ["the metadata a: it has other values"]
    many = replace(BOLT, tags=tuple(f"t{number}" for number in range(20)), importance=0.2)
    third = entry_changes.insert(tx, STAR, many, LATER)
    assert (third.importance, len(third.tags)) == (0.8, 20)
    assert repeated_entries.not_taken(third, many) == [
        "the importance: it is 0.8",
        "the tags t18, t19: it has 20 already",
    ]
    assert repeated_entries.not_taken(third, BOLT) == [], "nobody chose the usual importance"
    check_index(tx)


@pytest.mark.parametrize(
    "words", ["a\n- b", "a\tb", "<@1>", "[a](http://e)", "</quoted>", "`a`", "a\u202eb", "a\u2028b"]
)
def test_what_could_pass_for_another_line_or_for_markup_is_no_label_and_no_tag(tx: Tx, words: str) -> None:
    for change in ({"label": words}, {"tags": ("fine", words)}):
        with pytest.raises(Refused, match="one line of 1 to") as error:
            entry_changes.insert(tx, STAR, replace(BOLT, **change), NOON)
        assert repr(words) in str(error.value)
    assert entries.shown_name(words, "ent_1") == "ent_1"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"content": " \n"}, "needs content"),
        ({"content": "a\x00b"}, "the text contains a NUL character or half of a surrogate pair: leave it out"),
        ({"content": "a\ud800b"}, "the text contains a NUL character or half"),
        ({"label": "a\x00b"}, "the label contains a NUL character"),
        ({"tags": ("fine", "a\udfff")}, "a tag contains a NUL character"),
        ({"metadata": {"from": "a\x00"}}, "metadata contains a NUL character"),
        ({"metadata": {"fr\x00om": "a"}}, "metadata contains a NUL character"),
        ({"content": "x" * (entries.MAX_CONTENT + 1)}, "30000 characters; this has 30001"),
        ({"label": " "}, "label"),
        ({"label": "x" * 201}, "label"),
        ({"label": "ent_6yjqmpqm0000"}, "and not an ID; "),
        ({"label": " ENT_6yjqmpqm0000.2 "}, "and not an ID; "),
        ({"category": "a//b"}, "category"),
        ({"category": "/a"}, "category"),
        ({"category": "a b"}, "category"),
        ({"category": "a/b\n"}, "category"),
        ({"category": "a" * 201}, "category"),
        ({"tags": ("",)}, "tags"),
        ({"tags": ("x" * 51,)}, "tags"),
        ({"tags": tuple(str(n) for n in range(21))}, "tags"),
        ({"importance": 1.1}, "importance"),
        ({"importance": -0.1}, "importance"),
        ({"importance": float("nan")}, "importance"),
    ],
)
def test_a_malformed_entry_is_refused_with_the_reason(tx: Tx, change: dict[str, Any], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        entry_changes.insert(tx, STAR, replace(BOLT, **change), NOON)
    assert entries.latest(tx, STAR, Scope(GUILD)) == []


def test_an_appended_line_is_stored_found_and_trusted_no_more_than_its_source(tx: Tx) -> None:
    entry = entry_changes.insert(tx, STAR, replace(BOLT, label="pets"), NOON)
    strangers = Origin(Scope(GUILD), Trust.STRANGER, BOB, MessageId(9))
    longer = entry_changes.append(tx, STAR, "pets", "  Bob has a tortoise ", strangers, LATER)
    assert longer.content == f"{BOLT.content}\nBob has a tortoise"
    assert (longer.id, longer.trust, longer.people, longer.messages) == (entry.id, Trust.STRANGER, (ANN, BOB), (9,))
    assert (longer.created_at, longer.updated_at, longer.last_seen) == (NOON, LATER, LATER)
    assert found(tx, "tortoise hamster") == [entry.id]
    trusted = entry_changes.append(tx, STAR, "pets", "So says the owner", replace(strangers, trust=Trust.OWNER), LATER)
    assert trusted.trust == Trust.STRANGER
    assert trusted.people == (ANN, BOB)
    check_index(tx)


def test_an_append_is_refused_when_it_cannot_be_stored_is_empty_or_too_long(tx: Tx) -> None:
    entry = put(tx, "x" * (entries.MAX_CONTENT - 2))
    unfit, empty, long = "leave it out", "there is nothing to append", "split it"
    for text, why in (("a\x00b", unfit), ("a\ud800b", unfit), (" ", empty), ("xx", long)):
        with pytest.raises(Refused, match=why):
            entry_changes.append(tx, STAR, entry.id, text, HERE, NOON)
    assert len(entry_changes.append(tx, STAR, entry.id, "x", HERE, NOON).content) == entries.MAX_CONTENT
    with pytest.raises(EntryNotFound):
        entry_changes.append(tx, MOON, entry.id, "x", HERE, NOON)


@pytest.mark.parametrize("scope", SCOPES)
def test_nothing_is_appended_where_somebody_reads_it_who_may_not_know(tx: Tx, scope: Scope) -> None:
    for audience in AUDIENCES:
        entry = put(tx, f"for {audience}", audience)
        if scope.may_use(audience) and may_write_down(scope, audience):
            entry_changes.append(tx, STAR, entry.id, "more", replace(HERE, scope=scope), LATER)
        else:
            with pytest.raises((Refused, EntryNotFound)):
                entry_changes.append(tx, STAR, entry.id, "more", replace(HERE, scope=scope), LATER)


def uses(tx: Tx) -> tuple[list[str], int]:
    """The rows whose use is noted, and of how many that are gone it is only noted that there was one."""
    found = tx.all("SELECT kind, row_id FROM turn_uses ORDER BY row_id")
    return [row["row_id"] for row in found if row["kind"] != "gone"], sum(row["kind"] == "gone" for row in found)


def test_a_deleted_entry_is_gone_with_its_words_and_of_its_use_only_that_it_was(tx: Tx) -> None:
    add_turn(tx, TurnId(7))
    entry, other = put(tx, "hamster", label="pets"), put(tx, "tortoise")
    for row in (entry, other):
        tx.insert("turn_uses", {"turn_id": 7, "kind": "entry", "row_id": row.id, "audience": GUILD})
    assert entry_changes.delete(tx, STAR, "pets", Scope(GUILD)) == entry
    assert found(tx, "hamster") == []
    assert found(tx, "tortoise") == [other.id]
    assert uses(tx) == ([other.id], 1)
    assert entry.id not in str([tuple(row) for row in tx.all("SELECT * FROM turn_uses")])
    with pytest.raises(EntryNotFound, match="“pets”"):
        entry_changes.delete(tx, STAR, "pets", Scope(GUILD))
    check_index(tx)


def test_a_deletion_takes_chunks_and_superseded_forms_along(tx: Tx) -> None:
    entry, old, older, chunk, other = (put(tx, text) for text in ("new", "old", "older", "chunk", "other"))
    tx.run("UPDATE archival_entries SET superseded_by = ? WHERE id = ?", (entry.id, old.id))
    tx.run("UPDATE archival_entries SET superseded_by = ? WHERE id = ?", (old.id, older.id))
    tx.run("UPDATE archival_entries SET parent_entry_id = ? WHERE id = ?", (entry.id, chunk.id))
    entry_changes.delete(tx, STAR, entry.id, Scope(GUILD))
    assert [row[0] for row in tx.all("SELECT id FROM archival_entries")] == [other.id]


def test_a_deletion_names_every_message_that_holds_the_words(tx: Tx) -> None:
    turns = [TurnId(n) for n in range(1, 6)]
    for turn in turns:
        add_turn(tx, turn)
    stored, repeated, appended, used, unrelated = turns
    source, again, more = hear(tx, "1"), hear(tx, "2"), hear(tx, "3")
    ours = [say(tx, turn) for turn in turns]
    messages.join_batch(tx, [hear(tx, "4")], used)  # what a person said in a turn that used it is their own
    entry = entry_changes.insert(tx, STAR, replace(BOLT, origin=replace(HERE, message=source, turn=stored)), NOON)
    entry_changes.insert(tx, STAR, replace(BOLT, origin=replace(HERE, message=again, turn=repeated)), NOON)
    entry_changes.append(tx, STAR, entry.id, "x", replace(HERE, message=more, turn=appended), NOON)
    tx.insert("turn_uses", {"turn_id": used, "kind": "entry", "row_id": entry.id, "audience": GUILD})
    tx.insert("turn_uses", {"turn_id": unrelated, "kind": "message", "row_id": entry.id, "audience": GUILD})
    expected = sorted([source, again, more, *ours[:4]])
    assert entries.derived_messages(tx, entries.read(tx, STAR, entry.id, Scope(GUILD))) == expected


def _read_each(tx: Tx, stored: list[Entry], scope: Scope, reading: Callable[[str], Entry]) -> list[Audience]:
    seen = []
    for entry in stored:
        try:
            seen.append(reading(entry.id).audience)
        except EntryNotFound:
            continue
    return seen


Reading = Callable[[Tx, list[Entry], Scope], list[Audience]]
READINGS: dict[str, Reading] = {
    "read": lambda tx, stored, scope: _read_each(tx, stored, scope, lambda id_: entries.read(tx, STAR, id_, scope)),
    "delete": lambda tx, stored, scope: _read_each(
        tx, stored, scope, lambda id_: entry_changes.delete(tx, STAR, id_, scope)
    ),
    "latest": lambda tx, _, scope: [entry.audience for entry in entries.latest(tx, STAR, scope)][::-1],
    "categories": lambda tx, _, scope: [AUDIENCES[int(category)] for category in entries.categories(tx, STAR, scope)],
}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)
def test_a_reading_gives_exactly_the_rows_its_scope_may_use(tx: Tx, reading: Reading, scope: Scope) -> None:
    entries = [
        entry_changes.insert(tx, STAR, NewEntry("x", at(audience), category=str(number)), NOON)
        for number, audience in enumerate(AUDIENCES)
    ]
    assert reading(tx, entries, scope) == [audience for audience in AUDIENCES if scope.may_use(audience)]


def test_what_is_held_of_a_person_is_exported_counted_and_erased(tx: Tx) -> None:
    add_turn(tx, TurnId(7))
    anns = entry_changes.insert(tx, STAR, replace(BOLT, tags=("pet",), metadata={"mood": "fine"}), NOON)
    moons = put(tx, "Ann likes tea", agent=MOON)
    mixed = entry_changes.insert(tx, STAR, NewEntry("a list", replace(HERE, person=BOB)), NOON)
    entry_changes.append(tx, STAR, mixed.id, "Ann's line", HERE, NOON)
    nobodys = entry_changes.insert(tx, STAR, NewEntry("from a direct message", Origin(Scope(ANNS), Trust.AGENT)), NOON)
    bobs = entry_changes.insert(tx, STAR, NewEntry("Bob's own", replace(HERE, person=BOB)), NOON)
    for row in (anns, bobs):
        tx.insert("turn_uses", {"turn_id": 7, "kind": "entry", "row_id": row.id, "audience": GUILD})

    held = [anns.id, moons.id, mixed.id, nobodys.id]
    exported = kept_of("archival").export(tx, ANN)
    assert [row["id"] for row in exported] == held
    assert (exported[0]["content"], exported[0]["tags"], exported[0]["metadata"]) == (
        BOLT.content,
        ["pet"],
        {"mood": "fine"},
    )

    assert kept_of("archival").erase(tx, ANN) == 4
    assert [row[0] for row in tx.all("SELECT id FROM archival_entries")] == [bobs.id]
    assert uses(tx) == ([bobs.id], 1)
    assert found(tx, "hamster") == []
    check_index(tx)


steps = st.lists(
    st.tuples(
        st.sampled_from(["insert", "append", "delete"]),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["hamster", "tortoise", "天気です", "fish fish", ""]),
        st.sampled_from([GUILD, PUBLIC]),
    ),
    max_size=20,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
def test_any_order_of_inserts_appends_and_deletions_equals_the_model(
    tx: Tx, steps: list[tuple[str, str, str, Audience]]
) -> None:
    tx.run("DELETE FROM archival_entries")
    model: dict[tuple[str, Audience], str] = {}
    for what, label, text, audience in steps:
        key, here = (label, audience), at(audience)
        known = model.get(key)
        same = text in [content for (_, where), content in model.items() if where == audience]
        try:
            if what == "insert":
                entry_changes.insert(tx, STAR, NewEntry(text, here, label=label), NOON)
                assert text
                assert same or known is None
                if not same:
                    model[key] = text
            elif what == "append":
                # From the guild a label that only the public has means the public's, which may not know the guild.
                entry_changes.append(tx, STAR, label, text, here, NOON)
                model[key] = f"{model[key]}\n{text}"
            else:
                deleted = entry_changes.delete(tx, STAR, label, here.scope)
                assert model.pop((label, deleted.audience)) == deleted.content
        except Refused:
            assert not text or known is not None or (what == "append" and (label, PUBLIC) in model)
        except EntryNotFound:
            assert known is None
            assert audience == PUBLIC or (label, PUBLIC) not in model
    stored = entries.latest(tx, STAR, Scope(GUILD), limit=100)
    assert {(entry.label, entry.audience): entry.content for entry in stored} == model
    for word in ("hamster", "tortoise", "天気", "fish"):
        assert set(found(tx, word)) == {entry.id for entry in stored if word in entry.content}
    check_index(tx)


# ---------------------------------------------------------------- long entries

LONG = "\n\n".join(
    f"Chapter {n}. " + f"The {word} is the matter of it. " * 30
    for n, word in enumerate(("harbour", "lantern", "dentist", "tortoise"), 1)
)


def passages(tx: Tx) -> list[str]:
    rows = tx.all("SELECT content FROM archival_entries WHERE parent_entry_id IS NOT NULL ORDER BY chunk_index")
    return [row["content"] for row in rows]


def test_a_long_entry_is_found_by_passage_and_read_as_a_whole(tx: Tx) -> None:
    entry = entry_changes.insert(tx, STAR, replace(BOLT, content=LONG, label="book"), NOON)
    assert entry.content == LONG.strip()
    assert " ".join(" ".join(passages(tx)).split()) == " ".join(LONG.split())
    assert all(0 < len(each) <= 2_000 for each in passages(tx))
    hits = search(tx, Query("lantern", STAR, frozenset({"archival"})), HERE.scope).hits
    assert hits
    assert all(hit.text in passages(tx) and "lantern" in hit.text for hit in hits)
    assert entries.read(tx, STAR, hits[0].id, HERE.scope) == entry
    assert entries.latest(tx, STAR, HERE.scope) == [entry]
    assert entries.by_ids(tx, STAR, [EntryId(hits[0].id)], HERE.scope)[0].content == hits[0].text


def test_a_long_entry_grows_shrinks_and_goes_with_all_its_passages(tx: Tx) -> None:
    entry = entry_changes.insert(tx, STAR, replace(BOLT, content=LONG), NOON)
    longer = entry_changes.append(tx, STAR, entry.id, "And a zebra.", HERE, NOON)
    assert passages(tx)[-1].endswith("And a zebra.")
    entry_changes.store(tx, replace(longer, content="short"), None)
    assert passages(tx) == []
    assert [hit.id for hit in search(tx, Query("short", STAR, frozenset({"archival"})), HERE.scope).hits] == [entry.id]
    entry_changes.store(tx, longer, None)
    hit = search(tx, Query("zebra", STAR, frozenset({"archival"})), HERE.scope).hits[0]
    entry_changes.delete(tx, STAR, hit.id, HERE.scope)
    assert tx.all("SELECT 1 FROM archival_entries") == []


def test_a_long_entry_keeps_its_audience_and_person_in_every_passage(tx: Tx) -> None:
    entry = entry_changes.insert(tx, STAR, replace(BOLT, content=LONG), NOON)
    rows = tx.all("SELECT DISTINCT audience, person_id, trust, message_id FROM archival_entries")
    assert [tuple(row) for row in rows] == [(entry.audience, entry.people[0], int(entry.trust), None)]
    held = 1 + len(passages(tx))
    assert held > 2
    assert kept_of("archival").count(tx, entry.people[0]) == held == kept_of("archival").erase(tx, entry.people[0])
    assert tx.all("SELECT 1 FROM archival_entries") == []


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30), st.integers(1, 400))
def test_passages_hold_every_word_of_a_text_in_order(piece: str, times: int) -> None:
    text = (piece * times)[:9_000].strip()
    cut = passages_of(text)
    assert "".join("".join(cut).split()) == "".join(text.split())
    assert all(len(each) <= 2_000 for each in cut)


@pytest.mark.parametrize("scope", [Scope(GUILD), Scope(OWNER), Scope(ANNS, frozenset({GUILD}))])
def test_an_entry_is_found_by_its_name_without_looking_at_the_others(tx: Tx, scope: Scope) -> None:
    for sql, values, index in (
        (entries.BY_ID, ("ent_x", STAR), "sqlite_autoindex_archival_entries_1"),
        (entries.BY_LABEL, (STAR, "dog", scope.audience), "archival_label"),
    ):
        plan = [str(row["detail"]) for row in tx.all(*scope.bind(f"EXPLAIN QUERY PLAN {sql}", *values))]
        assert plan[0].startswith(f"SEARCH archival_entries USING INDEX {index} ("), plan
        assert not any(each.startswith("SCAN") for each in plan), plan
    wanted = "archival_label (agent_id=? AND label=?"
    assert wanted in " ".join(plan), plan


# ------------------------------------------------ what says again what stands: by an index, however many there are

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
def test_what_says_it_again_is_found_exactly_when_one_begins_with_the_other(old: str, rest: str) -> None:
    for new in (rest, old + rest, f"{old.rstrip(MARKS)}, {rest}", old.rstrip(MARKS) + MARKS):
        if new.strip():
            tx = store()
            first = entry_changes.insert(tx, STAR, NewEntry(old, HERE), NOON)
            second = entry_changes.insert(tx, STAR, NewEntry(new, HERE), NOON)
            assert (first.id == second.id) is begins(first.content, new.strip()), new


def test_to_find_what_says_it_again_other_entries_are_not_looked_at() -> None:
    values = {"agent": "", "audience": "", "person": None, "begins": "[]", "new": "", "marks": "", "least": 8}
    (first, *_) = [str(row["detail"]) for row in store().all(f"EXPLAIN QUERY PLAN {BEGUN_BY}", values)]
    assert first == "SEARCH archival_entries USING INDEX archival_begins (agent_id=? AND audience=? AND <expr>=?)"


def test_of_an_earlier_row_only_columns_are_put_back(tx: Tx) -> None:
    """It comes from a file that may be somebody else's: a name in it must not become SQL."""
    kept = put(tx, "Bolt is a hamster")
    (row,) = tx.all("SELECT * FROM archival_entries WHERE id = ?", (kept.id,))
    entry_changes.put_back(tx, {**as_dict(row), "audience = 'public', trust": 4, "of a later version": 1})
    assert entries.read(tx, STAR, kept.id, Scope(GUILD)) == kept
