"""The graph: what leads where, for whom, and what goes with the entries it was read out of."""

from datetime import datetime, timedelta

import pytest

from memory.knowledge import entries, entry_changes, graph
from memory.knowledge.entries import Entry
from memory.knowledge.graph import Entity, Kind, Triple
from memory.people.audience import OWNER, Audience, Scope, Trust, person_audience
from memory.store.database import Tx
from memory.store.ids import AgentId
from tests.memory.parts import ANN, GUILD, NOON, STAR, keep

LATER = NOON + timedelta(hours=1)
HERE = Scope(GUILD)
WORK, DOG = "Ann works at the Blue Bakery", "Ann has a dog, Rex"


def kept(tx: Tx, text: str, *said: tuple[str, str, str], audience: Audience = GUILD) -> Entry:
    entry = keep(tx, text, audience=audience)
    triples = [Triple(Entity(one, Kind.PERSON), how, Entity(other, Kind.THING)) for one, how, other in said]
    graph.put(tx, "drm_1", entry, triples, NOON)
    return entry


def found(tx: Tx, words: str, scope: Scope = HERE, until: datetime = LATER) -> list[str]:
    return [entries.read(tx, STAR, entry, scope).content for entry in graph.linked(tx, STAR, words, scope, until)]


def bakery(tx: Tx) -> None:
    kept(tx, WORK, ("Ann", "works at", "Blue Bakery"))
    kept(tx, DOG, ("Ann", "has a dog", "Rex"))
    kept(tx, "Rex hates thunder", ("Rex", "hates", "thunder"))


@pytest.mark.parametrize(("scope", "seen"), [(Scope(GUILD), False), (Scope(person_audience(ANN)), True)])
def test_nothing_leads_through_what_the_hearers_may_not_know(tx: Tx, scope: Scope, seen: bool) -> None:
    own = person_audience(ANN)
    kept(tx, "Ann works at the Blue Bakery", ("Ann", "works at", "Blue Bakery"), audience=own)
    kept(tx, "Ann has a dog, Rex", ("Ann", "has a dog", "Rex"), audience=own)
    assert bool(found(tx, "blue bakery", scope)) is seen


def test_other_agents_know_nothing_of_it_and_neither_does_the_past(tx: Tx) -> None:
    bakery(tx)
    assert graph.linked(tx, AgentId("agt_moon"), "Rex", Scope(GUILD), LATER) == []
    assert found(tx, "Rex", until=NOON - timedelta(seconds=1)) == []


def test_two_steps_are_gone_from_what_is_named_and_not_three(tx: Tx) -> None:
    bakery(tx)
    assert found(tx, "who is at the blue bakery today?") == [WORK, DOG]
    assert found(tx, "REX") == ["Rex hates thunder", DOG, WORK]
    assert found(tx, "the weather") == []
    assert found(tx, "") == []


def test_who_belongs_to_everything_leads_nowhere(tx: Tx) -> None:
    kept(tx, "Ann and the tea", ("Ann", "likes", "tea"))
    for number in range(20):
        kept(tx, f"Ann and thing{number}", ("Ann", "owns", f"thing{number}"))
    assert found(tx, "tea") == ["Ann and the tea"]


def test_what_is_said_elsewhere_neither_bars_a_way_nor_shows_one(tx: Tx) -> None:
    own = person_audience(ANN)
    kept(tx, "Ann likes tea", ("Ann", "likes", "tea"))
    kept(tx, "Doctor Gray cures teeth", ("Doctor Gray", "cures", "teeth"))

    def seen() -> list[object]:
        return [found(tx, "tea"), *(graph.shown(tx, each, HERE, 50) for each in ("Ann", "Doctor Gray"))]

    before = seen()
    kept(tx, "Ann sees Doctor Gray", ("Ann", "sees", "Doctor Gray"), audience=own)
    for number in range(20):
        kept(tx, f"Ann and thing{number}", ("Ann", "owns", f"thing{number}"), audience=own)
    assert seen() == before
    kept(tx, DOG, ("Ann", "has a dog", "Rex"))
    assert DOG in found(tx, "tea"), "in private she has many things, here she is no crossroads"
    assert len(graph.shown(tx, "Ann", Scope(own), 50)[0]) > 20


def test_what_an_entry_says_goes_when_its_words_or_ears_change_and_with_it(tx: Tx) -> None:
    entries = [kept(tx, f"Ann has pet{number}", ("Ann", "has", f"pet{number}")) for number in range(4)]
    tx.run("UPDATE archival_entries SET content = 'Ann has none' WHERE id = ?", (entries[0].id,))
    tx.run("UPDATE archival_entries SET audience = ? WHERE id = ?", (OWNER, entries[1].id))
    tx.run("DELETE FROM archival_entries WHERE id = ?", (entries[2].id,))
    assert [row["object"] for row in tx.all("SELECT object FROM graph_triples")] == ["pet3"]
    entry_changes.retire(tx, [entries[3].id], None, LATER)
    assert found(tx, "Ann") == []
    entry_changes.restore(tx, [entries[3].id])
    assert found(tx, "Ann") == ["Ann has pet3"]


@pytest.mark.parametrize(
    ("text", "names", "says"),
    [
        ("Ann works at the Blue Bakery", ("Ann", "Blue Bakery"), True),
        ("Ann works at the Blue Bakery", ("ann", "the blue bakery"), True),
        ("Ann works at the Blue Bakery", ("Anna", "Blue Bakery"), False),
        ("Ann works at the Blue Bakery", ("Ann", "Red Bakery"), False),
        ("Ann works at the Blue Bakery", ("Ann", "the"), False),
        ("アンは青いパン屋で働く", ("アン", "青いパン屋"), True),
        ("アンは青いパン屋で働く", ("アン", "赤いパン屋"), False),
    ],
)
def test_a_name_has_to_stand_in_the_entry(tx: Tx, text: str, names: tuple[str, str], says: bool) -> None:
    triple = Triple(Entity(names[0], Kind.PERSON), "works at", Entity(names[1], Kind.GROUP))
    assert graph.names_both(kept(tx, text), triple) is says


def test_who_says_otherwise_of_the_same_is_found_among_the_same_ears(tx: Tx) -> None:
    here = kept(tx, "Ann lives in Rome", ("Ann", "lives in", "Rome"))
    kept(tx, "Ann lives in Oslo", ("Ann", "lives in", "Oslo"), audience=OWNER)
    said = Triple(Entity("ann", Kind.PERSON), "lives in", Entity("Paris", Kind.PLACE))
    same = Triple(Entity("Ann", Kind.PERSON), "lives in", Entity("Rome", Kind.PLACE))
    assert set(graph.rivals(tx, STAR, (GUILD, Trust.APPROVED), [said])) == {here.id}
    assert graph.rivals(tx, STAR, (GUILD, Trust.APPROVED), [same]) == {}
