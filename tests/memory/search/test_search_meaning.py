"""Search with vectors: rows are found by what they mean, under every condition that holds for words too."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from msgspec import field

from memory.agenda import tasks
from memory.agenda.tasks import Task
from memory.people.audience import OWNER, Audience, Scope, Trust
from memory.search.vector_similarity import Baseline, Meaning
from memory.search.vectors import RowSet
from memory.store.database import Rows
from tests.memory.parts import ANN, BOB, NOON, delete_message
from tests.memory.search.search_world import HERE, MODEL, MOON, World, embed, ids, in_plane, look

ABROAD = Audience("guild:2")
DOGS, WEATHER = (1.0, 0.0), (0.0, 1.0)
HALF = (0.55, 0.835)


ABOUT_DOGS = Meaning(MODEL, in_plane(*DOGS))


class Liar(Meaning, frozen=True):
    """Vectors that keep to nothing: every row is near."""

    numbers: Sequence[int] = ()
    asked: list[RowSet] = field(default_factory=list)

    def nearest(self, rows: Rows, among: RowSet, limit: int) -> Mapping[int, float]:
        self.asked.append(among)
        return dict.fromkeys(self.numbers, 0.9)

    def of(self, rows: Rows, among: RowSet, numbers: Iterable[int]) -> Mapping[int, float]:
        return dict.fromkeys(numbers, 0.9)

    def usual(self, rows: Rows, among: RowSet, count: int) -> Baseline:
        return Baseline(0.0, 0.1, 3.0)


def task(world: World, title: str, audience: Audience = HERE.audience) -> Task:
    return tasks.add(world.tx, Task(title, ANN, audience, Trust.APPROVED, NOON, notes="at noon"))


def test_tasks_are_found_by_what_they_mean_where_they_may_be_known_and_only_by_name(world: World) -> None:
    walk = task(world, "walk the puppy")
    task(world, "puppy food", audience=ABROAD)
    task(world, "mend the gate when it rains")
    embed(world.tx, {"puppy": DOGS, "rains": WEATHER})
    found = look(world, "hounds", meaning=ABOUT_DOGS, domains=frozenset({"tasks"}))
    assert [(hit.kind, hit.id, hit.text, hit.label) for hit in found.hits] == [
        ("task", str(walk.id), "walk the puppy\nat noon", "open")
    ]
    assert look(world, "hounds", meaning=ABOUT_DOGS).hits == []
    tasks.change(world.tx, walk, {"title": "water the Bäume"}, HERE, NOON)
    assert look(world, "hounds", meaning=ABOUT_DOGS, domains=frozenset({"tasks"})).hits == [], "its vector is gone"
    assert ids(look(world, "baume", domains=frozenset({"tasks"}))) == [str(walk.id)]
    world.tx.run("DELETE FROM tasks")
    assert [
        row["kind"] for row in world.tx.all("SELECT kind FROM vector_spaces UNION SELECT kind FROM vector_queue")
    ] == []


def test_what_is_not_near_enough_is_not_found_without_a_word(world: World) -> None:
    world.hear("the cat purrs")
    embed(world.tx, {"cat": (0.25, 0.968)})
    assert look(world, "hounds", meaning=ABOUT_DOGS).hits == []
    (guess,) = look(world, "hounds", meaning=ABOUT_DOGS, guesses=True).hits
    assert (guess.perhaps, guess.matched) == (True, ())
    (hit,) = look(world, "cat", meaning=ABOUT_DOGS, guesses=True).hits
    assert not hit.perhaps
    assert hit.distance == pytest.approx(0.75, abs=0.01), "a vector is kept in digits"


def test_what_stands_out_of_the_usual_is_found_however_far_it_is(world: World) -> None:
    cats = world.keep("Minka purrs")
    for number in range(30):
        world.keep(f"it rains on day {number}")
    embed(world.tx, {"purrs": (0.3, 0.954), "rains": (-0.05, 0.999)})
    (hit,) = look(world, "pets", meaning=ABOUT_DOGS).hits
    assert (hit.id, hit.perhaps) == (cats, False)


def test_guesses_come_last_and_are_few_and_only_for_those_who_want_them(world: World) -> None:
    found = world.keep("hounds and cats")
    for number in range(4):
        world.keep(f"it rains on day {number}")
        world.hear(f"it snows on day {number}")
    for number in range(20):
        world.keep(f"nothing happened on day {number}")
        world.hear(f"nothing happened on day {number}")
    embed(world.tx, {"hounds": WEATHER, "rains": (0.2, 0.98), "snows": (0.19, 0.982), "nothing": WEATHER})
    assert ids(look(world, "hounds barking", meaning=ABOUT_DOGS, limit=20)) == [found]
    hits = look(world, "hounds barking", meaning=ABOUT_DOGS, limit=20, guesses=True).hits
    assert [hit.perhaps for hit in hits] == [False, True, True, True]
    assert look(world, "barking", meaning=ABOUT_DOGS).hits == []
    whole = look(world, "hounds", meaning=ABOUT_DOGS, domains=frozenset({"archival"}), guesses=True).hits
    assert [hit.perhaps for hit in whole] == [False], "who finds what they wrote needs no guess"


def test_a_message_only_somewhat_near_is_no_guess_where_it_ranks_above_one_with_words(world: World) -> None:
    cat = world.hear("the cat is asleep in the sun again", at=NOON - timedelta(days=2))
    purring = world.hear("they purr softly", person=BOB, speaker="Bob", at=NOON - timedelta(days=1))
    night = world.hear("good night", person=BOB, speaker="Bob")
    embed(world.tx, {"cat": (0.25, 0.968), "they": WEATHER, "night": WEATHER})
    assert ids(look(world, "did Ann hear why they purr softly at night?", meaning=ABOUT_DOGS)) == [purring, cat, night]
    assert ids(look(world, "did you hear why they purr softly at night?", meaning=ABOUT_DOGS)) == [purring, night]


def test_words_and_meaning_add_up(world: World) -> None:
    words = world.keep("hounds, they say, and much else that was said there")
    meaning = world.keep("the puppy barks")
    both = world.keep("hounds are puppies, they say, and much else")
    embed(world.tx, {"pupp": DOGS, "hounds": WEATHER})
    assert ids(look(world, "hounds", meaning=ABOUT_DOGS))[0] == both
    assert sorted(ids(look(world, "hounds", meaning=ABOUT_DOGS))) == sorted([words, meaning, both])


def test_a_message_without_a_vector_is_not_put_behind_for_that(world: World) -> None:
    old = world.hear("hounds everywhere", at=NOON - timedelta(days=3))
    embed(world.tx, {"hounds": HALF})
    new = world.hear("hounds everywhere", at=NOON)
    assert ids(look(world, "hounds", meaning=ABOUT_DOGS)) == [new, old]


@pytest.mark.parametrize("scope", [HERE, Scope(ABROAD), Scope(OWNER), Scope(Audience("person:discord:bob"))], ids=str)
def test_what_others_were_told_changes_neither_what_is_found_nor_how_well(world: World, scope: Scope) -> None:
    theirs = [ABROAD, Audience("guild:1"), Audience("person:discord:ann"), Audience("public")]
    shown = []
    for everything in (True, False):
        world.tx.run("DELETE FROM messages")
        for number in range(12):
            audience = theirs[number % 4]
            if everything or scope.may_use(audience):
                text = f"{'puppy' if number % 3 else 'hounds'} {number}"
                world.hear(text, audience=audience, at=NOON + timedelta(minutes=number), place=f"place:{audience}")
        embed(world.tx, {"puppy": DOGS, "hounds": HALF})
        hits = look(world, "what about the hounds?", scope, meaning=ABOUT_DOGS, limit=50).hits
        shown.append([(hit.text, hit.score, hit.distance, hit.matched, hit.around) for hit in hits])
    assert shown[0] == shown[1] != []


def test_a_row_that_may_not_be_used_is_not_found_whatever_the_vectors_say(world: World) -> None:
    allowed = world.hear("it rains")
    hidden = world.hear("it rains", audience=ABROAD)
    bob = world.hear("it rains", person=BOB, speaker="Bob")
    gone = world.hear("it rains", external_id="gone")
    delete_message(world.tx, "gone", NOON)
    liar = Liar(MODEL, ABOUT_DOGS.vector, numbers=[int(number) for number in (allowed, hidden, bob, gone)])
    found = look(world, "hounds", meaning=liar, author="Ann", domains=frozenset({"messages"}))
    assert ids(found) == [allowed]
    (among,) = liar.asked
    assert (among.kind, among.scope) == ("message", HERE)
    assert among.narrowed is not None
    assert "Ann" in among.narrowed[1]
    theirs = world.keep("it rains", agent=MOON)
    row = world.tx.one("SELECT n FROM archival_entries WHERE id = ?", (theirs,))
    assert row is not None
    assert (
        look(
            world, "hounds", meaning=Liar(MODEL, ABOUT_DOGS.vector, numbers=[row["n"]]), domains=frozenset({"archival"})
        ).hits
        == []
    )


def test_words_expected_in_the_answer_find_it_and_wrong_ones_leave_what_the_question_finds(world: World) -> None:
    said = world.hear("I went to the pottery class again")
    hobby = world.keep("My favorite hobby is chess")
    for number in range(5):
        world.hear(f"it rains on day {number}", at=NOON + timedelta(days=number + 1))
    assert ids(look(world, "which hobbies do I have?")) == [hobby]
    assert set(ids(look(world, "which hobbies do I have?", expected="hiking, pottery"))) == {said, hobby}
    wrong = look(world, "which hobbies do I have?", expected="day of rains", limit=4).hits
    assert hobby in [hit.id for hit in wrong]
    (found,) = (hit for hit in look(world, "chess", expected="pottery").hits if hit.id == said)
    assert found.matched == ("pottery",)
    assert look(world, "chess", Scope(ABROAD), expected="pottery").hits == []


def test_a_row_that_either_search_is_sure_of_is_no_guess(world: World) -> None:
    cat, sun = world.keep("the cat purrs"), world.keep("the sun shines")
    embed(world.tx, {"cat": (0.25, 0.968), "sun": (0.0, 1.0)})
    asked: dict[str, Any] = {"meaning": ABOUT_DOGS, "expected_meaning": ABOUT_DOGS, "guesses": True}
    assert [hit.perhaps for hit in look(world, "hounds", **asked, expected="wolves").hits if hit.id == cat] == [True]
    found = look(world, "hounds", **asked, expected="purrs").hits
    assert [(hit.id, hit.perhaps) for hit in found if hit.id != sun] == [(cat, False)]
    assert found[0].id == cat


def test_the_meaning_of_what_is_expected_finds_rows_that_the_meaning_of_the_question_does_not(world: World) -> None:
    dog, rain = world.keep("the puppy plays"), world.keep("it rains again")
    embed(world.tx, {"puppy": DOGS, "rains": WEATHER})
    asked: dict[str, Any] = {"meaning": ABOUT_DOGS, "expected_meaning": Meaning(MODEL, in_plane(*WEATHER))}
    assert ids(look(world, "hounds", **asked)) == [dog]
    assert ids(look(world, "hounds", **asked, expected="umbrella")) == [rain, dog]
