from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.knowledge import entry_changes
from memory.people.audience import OWNER, Audience, Scope
from memory.queue import messages
from memory.search import domains, ranking
from memory.search.all_domains import search
from memory.search.query import DOMAINS, MAX_HITS, Domain, Hit, Query
from memory.search.ranking import Word, by_words, share
from memory.store.fulltext import Term
from memory.store.ids import MessageId, PersonId, PlaceId
from tests.memory.parts import ANN, AUDIENCES, BOB, GUILD, NOON, SCOPES, delete_message
from tests.memory.search.search_world import ATTIC, HERE, MOON, STAR, World, ids, look


def test_the_rarer_and_the_more_complete_rows_go_first(world: World) -> None:
    for number in range(20):
        world.hear(f"the name of thing {number}")
    rare = world.hear("a hamster, they say")
    both = world.hear("the hamster has a name, and this it is")
    hits = look(world, "name hamster", limit=3).hits
    assert [hit.id for hit in hits[:2]] == [both, rare]
    assert hits[0].score > hits[1].score > hits[2].score > 0
    assert hits[0].matched == ("name", "hamster")
    assert hits[1].matched == ("hamster",)
    assert ids(look(world, "name hamster", limit=1)) == [both]


def test_each_domain_s_best_counts_as_one(world: World) -> None:
    world.one_of_each("a hamster and a wheel")
    scores = [hit.score for hit in look(world, "hamster tortoise").hits]
    assert scores == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"domains": frozenset({"messages"})}, {"ann", "bob", "star", "attic", "early", "late"}),
        ({"domains": frozenset({"archival"})}, {"entry", "bob's entry"}),
        ({"person": BOB}, {"bob", "bob's entry"}),
        ({"person": ANN, "domains": frozenset({"messages"})}, {"ann", "star", "attic", "early", "late"}),
        ({"author": "bob"}, {"bob"}),
        ({"author": BOB}, {"bob", "bob's entry"}),
        ({"author": STAR}, {"star", "entry", "bob's entry"}),
        ({"author": ANN, "domains": frozenset({"messages"})}, {"ann", "attic", "early", "late"}),
        ({"role": "assistant"}, {"star"}),
        ({"place": ATTIC}, {"attic"}),
        ({"since": NOON + timedelta(hours=1)}, {"late"}),
        ({"until": NOON, "domains": frozenset({"messages"})}, {"early"}),
        ({"since": NOON - timedelta(hours=1), "until": NOON}, {"early"}),
        ({"category": "people"}, {"entry", "bob's entry"}),
        ({"category": "People/Ann"}, {"entry"}),
        ({"category": "peo"}, set()),
        ({"tags": ("PET",)}, {"entry", "bob's entry"}),
        ({"tags": ("pet", "loud")}, {"bob's entry"}),
        ({"category": "people", "role": "user"}, set()),
    ],
)
@pytest.mark.parametrize("text", ["hamster", ""])
def test_a_condition_holds_whether_searching_or_listing(
    world: World, text: str, conditions: dict[str, Any], expected: set[str]
) -> None:
    names = {
        world.hear("hamster"): "ann",
        world.hear("hamster", person=BOB, speaker="Bob"): "bob",
        world.say("hamster"): "star",
        world.hear("hamster", place=ATTIC): "attic",
        world.hear("hamster", at=NOON - timedelta(hours=1)): "early",
        world.hear("hamster", at=NOON + timedelta(hours=1)): "late",
        world.keep("hamster", category="people/ann", tags=("pet",)): "entry",
        world.keep("hamster", person=BOB, category="people/bob", tags=("loud", "pet")): "bob's entry",
        world.block("hamster"): "block",
    }
    results = look(world, text, limit=50, **conditions)
    assert {names[hit.id] for hit in results.hits} == expected


def test_conditions_are_applied_before_the_limit(world: World) -> None:
    wanted = world.hear("the hamster slept all day in the big brown box", place=ATTIC)
    for _ in range(120):
        world.hear("hamster")
    assert ids(look(world, "hamster", place=ATTIC, limit=1)) == [wanted]
    assert ids(look(world, "", place=ATTIC, limit=1)) == [wanted]


def test_without_text_the_newest_rows_are_listed(world: World) -> None:
    second = world.keep("two", at=NOON + timedelta(minutes=2))
    first = world.hear("one", at=NOON + timedelta(minutes=1))
    third = world.block("three", at=NOON + timedelta(minutes=3))
    results = look(world, "  ", limit=2, since=NOON)
    assert ids(results) == [third, second]
    assert [hit.score for hit in results.hits] == [0, 0]
    assert ids(look(world, "", limit=10)) == [third, second, first]
    world.hear("told late", at=NOON - timedelta(days=1))
    assert ids(look(world, "", limit=1, domains=frozenset({"messages"}))) == [first]


def test_deleted_archived_and_superseded_rows_are_not_found(world: World) -> None:
    message, ours = world.hear("hamster", external_id="x"), world.say("hamster")
    gone, superseded, old = world.keep("hamster one"), world.keep("hamster two"), world.keep("hamster three")
    block = world.block("hamster")
    delete_message(world.tx, "x", NOON)
    messages.redact(world.tx, [MessageId(int(ours))], NOON)
    entry_changes.delete(world.tx, STAR, gone, HERE)
    world.tx.run("UPDATE archival_entries SET superseded_by = 'x' WHERE id = ?", (superseded,))
    world.tx.run("UPDATE archival_entries SET archived_at = 'x' WHERE id = ?", (old,))
    world.tx.run("UPDATE memory_blocks SET deleted_at = 'x' WHERE id = ?", (block,))
    for text in ("hamster", ""):
        assert ids(look(world, text)) == []
    assert message
    assert look(world, "hamster").seen == {"archival": 0, "messages": 0, "blocks": 0}


def test_messages_that_were_compressed_away_are_still_found_and_tool_results_are_not(world: World) -> None:
    message = world.hear("hamster")
    world.say("hamster", role="tool")
    world.tx.run("UPDATE messages SET is_archived = 1")
    assert ids(look(world, "hamster")) == ids(look(world, "")) == [message]


def test_an_agent_searches_its_own_entries_and_the_blocks_it_can_see(world: World) -> None:
    world.keep("hamster", agent=MOON)
    own, common = world.block("hamster"), world.block("hamster", owner="_constellation_")
    empty = world.block("")
    world.tx.run("UPDATE memory_blocks SET profile = '' WHERE id = ?", (empty,))
    shared, hidden = world.block("hamster", owner=MOON), world.block("hamster", owner=MOON)
    grant = {"block_id": shared, "agent_id": STAR, "permission": "read_only", "attached_at": ""}
    world.tx.insert("shared_block_agents", grant)
    for text in ("hamster", ""):
        assert sorted(ids(look(world, text))) == sorted([own, common, shared])
    assert hidden not in ids(look(world, "hamster"))


def test_a_person_searches_what_every_agent_keeps_as_far_as_they_may_know_it(world: World) -> None:
    kept = [world.keep("hamster"), world.keep("hamster", agent=MOON)]
    held = [world.block("hamster"), world.block("hamster", owner=MOON)]
    world.keep("hamster", agent=MOON, audience=OWNER)
    world.block("hamster", owner=MOON, audience=OWNER)
    for text in ("hamster", ""):
        found = search(world.tx, Query(text, None), HERE).hits
        assert sorted(hit.id for hit in found) == sorted(kept + held)


def test_a_message_comes_with_what_was_said_before_and_after_it(world: World) -> None:
    world.hear("far before")
    before = world.hear("just before")
    world.hear("deleted", external_id="x")
    world.hear("in the attic", place=ATTIC)
    world.hear("to another guild", audience=Audience("guild:2"))
    world.say("a tool's result", role="tool")
    found = world.hear("hamster")
    world.hear("in the attic", place=ATTIC)
    after = world.say("just after")
    world.hear("far after")
    delete_message(world.tx, "x", NOON)
    (hit,) = look(world, "hamster").hits
    assert (hit.id, hit.before and str(hit.before.id), hit.after and str(hit.after.id)) == (found, before, after)


@pytest.mark.parametrize("text", ["hamster", ""])
@pytest.mark.parametrize("domain", sorted(DOMAINS))
@pytest.mark.parametrize("scope", SCOPES)
def test_a_row_is_found_exactly_when_the_scope_may_use_it(
    world: World, scope: Scope, domain: Domain, text: str
) -> None:
    for audience in AUDIENCES:
        world.one_of_each("hamster", audience=audience)
    results = look(world, text, scope, domains=frozenset({domain}), limit=50)
    usable = {audience for audience in AUDIENCES if scope.may_use(audience)}
    assert {hit.audience for hit in results.hits} == usable
    assert len(results.hits) == len(usable)
    neighbors = [message for hit in results.hits for message in (hit.before, hit.after) if message]
    assert {message.audience for message in neighbors} <= usable
    assert len(neighbors) == (2 * len(usable) - 2 if domain == "messages" else 0)
    assert look(world, "tortoise", scope, domains=frozenset({domain})).seen == {domain: len(usable)}


_parts = st.sampled_from(
    ['"', "*", "(", ")", "^", "-", ":", "'", " AND ", " NOT ", "NEAR(", "content:", "\x00", "\ud800", "hamster", "天"]
)
hostile = st.lists(_parts | st.text(max_size=5), max_size=8).map("".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=hostile, name=hostile.map(lambda text: text.encode(errors="ignore").decode()))
def test_no_text_breaks_a_search_or_finds_what_is_not_meant(world: World, text: str, name: str) -> None:
    world.tx.run("DELETE FROM messages")
    world.hear("hamster")
    world.hear("hamster in another guild", audience=Audience("guild:2"))
    found: list[Hit] = look(world, text).hits
    assert all(hit.audience == GUILD for hit in found)
    assert look(world, "hamster", author=name, category=name, tags=(name,)).hits == []
    assert look(world, "hamster", tags=tuple(f"{name}{number}" for number in range(1_000))).hits == []
    assert look(world, "hamster", person=PersonId(f"x{name}"), place=PlaceId(name)).hits == []


def test_what_was_searched_is_counted_as_a_person_would(world: World) -> None:
    world.keep("short")
    world.keep("\n\n".join(f"The {word} stood there. " * 200 for word in ("harbour", "lantern")), tags=("long",))
    assert len(look(world, "stood", limit=50, domains=frozenset({"archival"})).hits) > 1
    for text in ("zebra", "🐙"):
        assert look(world, text).seen["archival"] == 2
        assert look(world, text, tags=("long",)).seen == {"archival": 1}


@given(
    st.lists(
        st.tuples(st.floats(0, 9), st.dictionaries(st.integers(1, 30), st.integers(1, 400), min_size=1)), max_size=4
    ),
    st.integers(1, 5),
)
def test_rows_that_are_not_weighed_are_none_of_the_best(held: list[tuple[float, dict[int, int]]], most: int) -> None:
    words = [Word(Term(str(number), ""), rows, weight) for number, (weight, rows) in enumerate(held)]
    whole = {n: sum(w.weight * share(1, w.rows[n]) for w in words if n in w.rows) for w in words for n in w.rows}
    found = [whole[number] for number in by_words(words, most)]
    assert found == pytest.approx(sorted(whole.values(), reverse=True)[:most])


def test_a_word_that_everybody_says_is_named_of_older_rows_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (ranking, domains):
        monkeypatch.setattr(module, "COUNTED_ROWS", 2)
    old = world.keep("a zebra drinks tea")
    for number in range(3):
        world.keep(f"tea for {number}")
    (hit,) = (each for each in look(world, "zebra tea").hits if each.id == old)
    assert hit.matched == ("zebra", "tea")


def test_the_limit_is_kept_within_bounds(world: World) -> None:
    for _ in range(MAX_HITS + 5):
        world.hear("hamster")
    assert [len(ids(look(world, "hamster", limit=limit))) for limit in (-1, 0, 3, 1000)] == [1, 1, 3, MAX_HITS]
    assert [len(ids(look(world, "", limit=limit))) for limit in (-1, 0, 3, 1000)] == [1, 1, 3, MAX_HITS]
