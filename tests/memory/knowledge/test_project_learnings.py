"""What projects teach: reviews, wishes and ratings, as they are counted, kept, shown and forgotten."""

from datetime import timedelta

import pytest

from memory.knowledge import project_learnings
from memory.knowledge.items import By
from memory.people.audience import OWNER, Audience, Scope, Trust, person_audience
from memory.store.database import Tx
from memory.store.errors import Refused
from memory.store.ids import MessageId
from tests.memory.parts import ANN, BOB, GUILD, NOON, lessons, taken

HERS = By(Scope(GUILD), Trust.APPROVED, NOON, person=ANN)
HERE = Scope(GUILD)
FAIL = "**VERDICT: FAIL**\n1. No test for the empty list\n2. The README is out of date\n3. meh"


def by(message: int | None = None, audience: Audience = GUILD, minutes: int = 0) -> By:
    told = None if message is None else MessageId(message)
    return By(Scope(audience), Trust.APPROVED, NOON + timedelta(minutes=minutes), person=ANN, message=told)


@pytest.mark.parametrize(
    ("review", "issues"),
    [
        (FAIL, ["No test for the empty list", "The README is out of date"]),
        ("VERDICT: FAIL\n- **No test** for the empty list\n- no", ["No test for the empty list"]),
        ("Verdict: PASS\n1. No test for the empty list", []),
        ("The colours are hard to read", ["The colours are hard to read"]),
        ("meh!", []),
        ("1. No tests\n2. Bad names", ["No tests", "Bad names"]),
        ("1. No tests here 2. Bad names 3) Slow", ["No tests here", "Bad names"]),
        ("VERDICT: FAIL 1. No tests here 2. Bad names", ["No tests here", "Bad names"]),
        ("1) The list is\n   empty\n2) Version 2. is missing", ["The list is empty", "Version 2. is missing"]),
        ("x" * 200, []),
        ("1. 空のリストのテストがありません、追加してください", ["空のリストのテストがありません、追加してください"]),
        ("a line without a number\nand another one without", []),
        (
            "1. **Rename `the_code`** to _their_code_\n2. 2 * 3 is wrong",
            ["Rename the_code to their_code", "2 * 3 is wrong"],
        ),
        ("1. The same issue again\n2. The same issue again", ["The same issue again"]),
    ],
)
def test_the_numbered_issues_of_a_review_that_fails_are_found(review: str, issues: list[str]) -> None:
    assert list(project_learnings.read_review(review).issues) == issues


@pytest.mark.parametrize(
    ("review", "left"),
    [
        (FAIL, ["meh"]),
        (
            "1. No tests here\n2. " + "x" * 200 + "\nAnd something else\n\nBye.",
            ["x" * 200, "And something else", "Bye."],
        ),
        ("\n".join(f"{n}. Finding number {n}" for n in range(1, 23)), ["Finding number 21", "Finding number 22"]),
        ("VERDICT: PASS\nNothing to say", []),
    ],
)
def test_what_of_a_review_is_not_kept_is_known(review: str, left: list[str]) -> None:
    assert list(project_learnings.read_review(review).left) == left


def test_a_review_that_fails_gives_each_of_its_issues(tx: Tx) -> None:
    assert [each.text for each in project_learnings.note_review(tx, HERS, FAIL)] == list(
        project_learnings.read_review(FAIL).issues
    )
    with pytest.raises(Refused, match="no finding"):
        project_learnings.note_review(tx, HERS, "VERDICT: PASS")


def test_an_issue_counts_once_for_each_message_and_is_shown_from_the_second_time_on(tx: Tx) -> None:
    project_learnings.note_review(tx, by(1), "No test for the empty list!")
    project_learnings.note_review(tx, by(1), "no test for the EMPTY list")
    assert lessons(tx, HERE, NOON).issues == ()
    (counted,) = project_learnings.note_review(tx, by(2), "No test for the empty list")
    assert counted.strength == 2
    assert [each.text for each in lessons(tx, HERE, NOON).issues] == ["No test for the empty list!"]
    for number in range(7):
        for _ in range(2):
            project_learnings.note_review(tx, by(), f"Issue of the number {number} again")
    assert len(lessons(tx, HERE, NOON).issues) == 5


def test_the_newest_project_is_rated_and_weak_axes_of_the_last_three_are_named(tx: Tx) -> None:
    with pytest.raises(Refused, match="no finished project"):
        project_learnings.rate(tx, HERS, {"visual": 2})
    for number in range(5):
        project_learnings.finish(tx, HERS, f"project {number}")
        project_learnings.rate(tx, HERS, {"visual": 1 if number == 0 else 4})
    project_learnings.rate(tx, HERS, {"engagement": 2})
    found = lessons(tx, HERE, NOON)
    assert [each.text for each in found.rated] == ["project 4", "project 3", "project 2"]
    assert project_learnings.ratings_of(found.rated[0]) == {"visual": 4, "engagement": 2}
    assert found.weak == ["engagement"], "project 0 is too long ago"


@pytest.mark.parametrize("ratings", [{}, {"visual": 0}, {"visual": 6}, {"speed": 3}])
def test_a_rating_is_of_one_to_five_on_one_of_five_axes(tx: Tx, ratings: dict[str, int]) -> None:
    project_learnings.finish(tx, HERS, "A game of snake")
    with pytest.raises(Refused, match="give 1 to 5 points"):
        project_learnings.rate(tx, HERS, ratings)


def test_what_goes_for_room_is_the_least_found_and_oldest_never_the_newest(tx: Tx) -> None:
    for number in range(20):
        project_learnings.note_review(tx, by(minutes=number), f"Issue of the number {number}")
    project_learnings.note_review(tx, by(minutes=30), "Issue of the number 0")
    project_learnings.note_review(tx, By(Scope(GUILD), Trust.APPROVED, NOON, person=BOB), "What Bob's review found")
    project_learnings.note_review(tx, by(minutes=31), "The newest issue of all")
    texts = {each.text for each in project_learnings.listing(tx, HERE)}
    assert len(texts) == 21
    assert "Issue of the number 1" not in texts
    assert {"Issue of the number 0", "The newest issue of all", "What Bob's review found"} <= texts


def test_nothing_passes_from_one_audience_to_another_nor_from_strangers_to_prompts(tx: Tx) -> None:
    own = person_audience(ANN)
    project_learnings.prefer(tx, by(audience=own), "a secret wish")
    project_learnings.prefer(tx, By(Scope(GUILD), Trust.STRANGER, NOON, person=BOB), "a stranger's wish")
    assert lessons(tx, HERE, NOON) == project_learnings.ProjectLearnings()
    assert [each.text for each in project_learnings.listing(tx, HERE)] == ["a stranger's wish"]
    assert [each.text for each in lessons(tx, Scope(own), NOON).wishes] == ["a secret wish"]
    assert lessons(tx, Scope(OWNER), NOON).wishes == ()
    with pytest.raises(Refused):
        project_learnings.rate(tx, by(audience=own), {"visual": 3})


@pytest.mark.parametrize(
    "how",
    [
        "UPDATE messages SET content = 'other' WHERE id = ?",
        "UPDATE messages SET deleted_at = '2026' WHERE id = ?",
        "UPDATE messages SET audience = 'owner' WHERE id = ?",
        "DELETE FROM messages WHERE id = ?",
    ],
)
def test_what_was_learned_goes_with_the_words_it_came_of(tx: Tx, how: str) -> None:
    message = taken(tx, 1, "three.js please").message
    assert message is not None
    project_learnings.prefer(tx, by(int(message)), "three.js")
    project_learnings.prefer(tx, by(), "by hand")
    tx.run(how, (message,))
    assert [each.text for each in project_learnings.listing(tx, HERE)] == ["by hand"]


def test_a_wish_in_other_letters_is_the_same_wish_and_the_newest_are_shown(tx: Tx) -> None:
    project_learnings.prefer(tx, by(), "Three.js")
    project_learnings.prefer(tx, by(minutes=1), "three.js")
    assert [each.text for each in project_learnings.listing(tx, HERE)] == ["Three.js"]
    for number in range(4):
        project_learnings.prefer(tx, by(minutes=2 + number), f"wish {number}")
    assert (
        lessons(tx, HERE, NOON - timedelta(days=1)) == project_learnings.ProjectLearnings()
    )  # a turn that began before
    assert [each.text for each in lessons(tx, HERE, NOON + timedelta(days=1)).wishes] == [
        "wish 3", "wish 2", "wish 1"
    ]  # fmt: skip
