"""Working memory: what is kept until its time is over, for whom, and how much."""

from datetime import timedelta

import pytest

from memory.knowledge import working_memory
from memory.knowledge.items import sweep
from memory.knowledge.working_memory import By, NewEntry, delete, get, listing, ranked, save
from memory.people.audience import OWNER, Audience, Scope, Trust, person_audience
from memory.store.database import Tx
from memory.store.errors import Refused
from memory.store.ids import TurnId
from memory.store.records import replace
from tests.memory.parts import ANN, GUILD, NOON, begun, delete_message, store, taken

ABROAD = Audience("guild:discord:2")
HERE = "session/discord:10"
BY = By(Scope(GUILD), Trust.APPROVED, NOON, person=ANN, namespace=HERE)
MINUTE = timedelta(minutes=1)


def by(scope: Scope, namespace: str = HERE, minutes: float = 0) -> By:
    return By(scope, Trust.APPROVED, NOON + minutes * MINUTE, namespace=namespace)


def read(tx: Tx, key: str, scope: Scope = BY.scope, minutes: float = 0) -> list[str]:
    return [each.content for each in get(tx, key, scope, NOON + minutes * MINUTE)]


# -------------------------------------------------------------------------------------------------------- time


def test_what_expired_is_swept_in_slices_and_nothing_else(tx: Tx) -> None:
    for number in range(7):
        save(tx, BY, NewEntry(f"old/{number}", "x"))
    save(tx, BY, NewEntry("new", "x", timedelta(hours=1)))
    later = NOON + 5 * MINUTE
    assert [sweep(tx, NOON, 5), sweep(tx, later, 5), sweep(tx, later, 5), sweep(tx, later, 5)] == [0, 5, 2, 0]
    assert [each.key for each in listing(tx, "session", BY.scope, later)] == [f"{HERE}/new"]


@pytest.mark.parametrize("ttl", [timedelta(), timedelta(minutes=-1), timedelta(days=7, seconds=1)])
def test_a_time_that_makes_no_sense_is_refused(ttl: timedelta) -> None:
    with pytest.raises(Refused, match="up to 7 days"):
        save(store(), BY, NewEntry("a", "x", ttl))


# -------------------------------------------------------------------------------------------------------- room


def test_the_fifty_first_entry_is_refused_with_what_to_do_and_overwriting_never_is(tx: Tx) -> None:
    for number in range(50):
        save(tx, BY, NewEntry(f"n{number}", "x"))
    with pytest.raises(Refused, match=r"full \(50 entries\), so nothing was saved: delete"):
        save(tx, BY, NewEntry("one-more", "x"))
    assert read(tx, f"{HERE}/one-more") == []
    save(tx, BY, NewEntry("n7", "anew"))
    assert read(tx, f"{HERE}/n7") == ["anew"]
    delete(tx, BY, f"{HERE}/n8")
    save(tx, BY, NewEntry("one-more", "x"))
    save(tx, replace(BY, namespace="session/other"), NewEntry("a", "x"))  # each namespace has room of its own


def test_nobody_can_tell_from_the_room_what_others_keep_in_the_same_namespace(tx: Tx) -> None:
    alone = Scope(person_audience(ANN))
    for number in range(50):
        save(tx, by(alone), NewEntry(f"shared/all/n{number}", "x"))
    save(tx, BY, NewEntry("shared/all/n1", "theirs"))
    assert read(tx, "shared/all/n1") == ["theirs"]
    assert read(tx, "shared/all/n1", alone) == ["x"]


# ---------------------------------------------------------------------------------------------------- namespaces


def test_a_key_stands_in_the_own_namespace_and_is_never_doubled(tx: Tx) -> None:
    assert save(tx, BY, NewEntry("web/page", "x")).key == f"{HERE}/web/page"
    assert save(tx, BY, NewEntry(f"{HERE}/web/page", "y")).key == f"{HERE}/web/page"
    assert read(tx, f"{HERE}/web/page") == ["y"]


@pytest.mark.parametrize("key", ["session/discord:11/a", "patrol/heartbeat/a", "subagent/1/a"])
def test_only_the_own_namespace_and_shared_are_written(tx: Tx, key: str) -> None:
    with pytest.raises(Refused, match="you can write only to session/discord:10 and shared/"):
        save(tx, BY, NewEntry(key, "x"))
    assert save(tx, BY, NewEntry("shared/move/list", "x")).namespace == "shared/move"


@pytest.mark.parametrize("key", ["shared/move", HERE, "a//b", "a b", "..", "a/../b", "näh'", "x" * 200])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(Refused):
        save(store(), BY, NewEntry(key, "x"))


# ------------------------------------------------------------------------------------------------------ audiences


def test_the_same_key_of_two_audiences_is_two_entries_and_the_own_one_comes_first(tx: Tx) -> None:
    save(tx, by(Scope(OWNER)), NewEntry("shared/x/a", "the owner's"))
    save(tx, BY, NewEntry("shared/x/a", "the guild's"))
    assert read(tx, "shared/x/a", Scope(OWNER)) == ["the owner's", "the guild's"]
    assert read(tx, "shared/x/a") == ["the guild's"]


def test_what_others_can_see_is_deleted_only_where_they_may_know_of_it(tx: Tx) -> None:
    save(tx, BY, NewEntry("a", "x"))
    with pytest.raises(Refused, match="people who are not here can see"):
        delete(tx, by(Scope(OWNER)), f"{HERE}/a")
    with pytest.raises(Refused, match="nothing is kept as"):
        delete(tx, by(Scope(ABROAD)), f"{HERE}/a")
    assert delete(tx, by(Scope(GUILD), "session/other"), f"{HERE}/a") == [f"{HERE}/a"]  # a finding can be dismissed
    assert read(tx, f"{HERE}/a") == []


# ------------------------------------------------------------------------------------------- with what it came from


def test_it_goes_with_the_words_it_came_from(tx: Tx) -> None:
    row = taken(tx, 1, "my code is 1234")
    turn = begun(tx, row)
    made = By.in_turn(tx, turn, row.message, NOON)
    save(tx, made, NewEntry("code", "1234"))
    save(tx, BY, NewEntry("other", "stays"))
    delete_message(tx, "1", NOON)
    assert [each.key for each in listing(tx, HERE, BY.scope, NOON)] == [f"{HERE}/other"]


def test_a_turn_is_forgotten_alone(tx: Tx) -> None:
    save(tx, replace(BY, turn=TurnId(1)), NewEntry("a", "x"))
    save(tx, replace(BY, turn=TurnId(2)), NewEntry("b", "x"))
    working_memory.forget_turn(tx, TurnId(1))
    assert [each.key for each in listing(tx, HERE, BY.scope, NOON)] == [f"{HERE}/b"]


# ------------------------------------------------------------------------------------------------------- searching


def test_search_ranks_by_key_category_tags_and_words(tx: Tx) -> None:
    save(tx, BY, NewEntry("emails/inbox", "three letters of the bank"))
    save(tx, BY, NewEntry("b", "the bank, the bank and once more the bank"))
    save(tx, BY, NewEntry("c", "nothing of it", category="travel/trains", tags=("Köln",)))
    save(tx, BY, NewEntry("d", "東京の天気は晴れ"))
    found = listing(tx, HERE, BY.scope, NOON)

    def keys(query: str) -> list[str]:
        return [each.key.removeprefix(f"{HERE}/") for each in ranked(found, query)]

    assert keys("bank") == ["b", "emails/inbox"]
    assert keys("email") == ["emails/inbox"]
    assert keys("koln trains") == ["c"]
    assert keys("東京") == ["d"]
    assert keys("giraffe") == keys("") == []


def test_whole_segments_count_under_a_path(tx: Tx) -> None:
    for namespace in ("subagent/1", "subagent/10"):
        save(tx, by(BY.scope, namespace), NewEntry("result", namespace))
    assert [each.content for each in listing(tx, "subagent/1", BY.scope, NOON)] == ["subagent/1"]
    assert len(listing(tx, "subagent", BY.scope, NOON)) == 2
