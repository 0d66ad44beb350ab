"""Late interaction: words of a question against words of messages, in their windows, by signs of vectors."""

from collections.abc import Mapping

from memory.people.audience import Audience, Scope
from memory.search import ranking, vectors
from memory.search.embedding.base import Embedding, Tokens, to_vector
from memory.search.surrounding_messages import Stretch
from memory.search.vector_similarity import MOST_WORDS, SIMILAR, Closeness, Meaning, RowWindows, interact
from memory.search.vectors import EmbeddedRow, Question, RowSet, tokens_of
from memory.store.database import Rows, Tx
from tests.memory.search.search_world import ATTIC, HERE, World, ids, look
from tests.memory.search.vector_parts import STORED

MODEL = "test:words"
ZEROS, ONES, HALF = b"\x00" * 8, b"\xff" * 8, b"\xff" * 4 + b"\x00" * 4
VECTOR = to_vector([1.0] * 64)
ABROAD = Audience("guild:2")


# ------------------------------------------------------------------------------------------------- the arithmetic


def test_each_word_takes_the_nearest_of_the_window_and_the_mean_counts() -> None:
    told = {1: ZEROS, 2: ONES + HALF, 3: HALF}
    found = interact([ZEROS, ONES], told, {1: ((1,), (1, 2), (1, 2, 3)), 3: ((3,), (2, 3), (1, 2, 3))})
    assert found == {1: ((SIMILAR - 1) / 2, 1.0, 1.0), 3: (0.0, 0.5, 1.0)}


def test_in_the_message_itself_the_same_word_counts_no_more_than_a_similar_one() -> None:
    similar = b"\xff" * 6 + b"\x00" * 2  # a cosine of 0.5
    found = interact([ONES], {1: ONES, 2: similar, 3: HALF}, {number: ((number,), (number,)) for number in (1, 2, 3)})
    assert found == {1: (SIMILAR, 1.0), 2: (SIMILAR, 0.5), 3: (0.0, 0.0)}


def test_rows_of_which_nothing_is_told_are_passed_over() -> None:
    windows = {1: ((1,), (1, 2)), 2: ((2,), (1, 2))}
    assert interact([ONES], {1: ONES}, windows) == {1: (SIMILAR, 1.0)}
    assert interact([ONES], {1: ONES, 2: b""}, windows) == {1: (SIMILAR, 1.0)}
    assert interact([ONES], {}, windows) == {}
    assert interact([], {1: ONES}, windows) == {}


def test_a_long_question_is_compared_by_its_first_words() -> None:
    windows = {1: ((1,),)}
    assert interact([ONES] * MOST_WORDS + [ZEROS] * 100, {1: ONES}, windows) == {1: (SIMILAR,)}


# ------------------------------------------------------------------------------------------------------ the store


def tell(world: World, words: dict[str, bytes], parts: bytes = b"") -> None:
    """Give every message that has one of these words in it the signs of that word; all have the same vector."""
    vectors.choose(world.tx, MODEL, 64)
    for each in vectors.missing(world.tx, 1_000):
        made = []
        for text in each.texts:
            signs = b"".join(signs for word, signs in words.items() if word in text)
            made.append(Embedding(VECTOR, Tokens(("word",) * (len(signs) // 8), signs)))
        vectors.store(world.tx, MODEL, [EmbeddedRow(each, tuple(made))])


def told(tx: Tx, numbers: list[int], scope: Scope) -> dict[int, bytes]:
    return tokens_of(tx, Question(MODEL, VECTOR, RowSet("message", None, scope, None)), numbers)


def test_words_of_messages_are_kept_beside_their_vectors_and_go_with_them(world: World) -> None:
    first, second = (int(world.hear(text)) for text in ("a puppy", "and so on"))
    world.keep("a puppy")
    tell(world, {"puppy": ONES})
    assert told(world.tx, [first, second], HERE) == {first: ONES, second: b""}
    kept = world.tx.all(f"SELECT s.kind {STORED} WHERE n.tokens IS NOT NULL")
    assert [row["kind"] for row in kept] == ["message", "message"], "of messages alone, once each"
    world.tx.run("UPDATE messages SET content = 'x', search_text = 'x' WHERE id = ?", (first,))
    assert told(world.tx, [first, second], HERE) == {second: b""}


def test_words_that_a_scope_may_not_know_are_not_read(world: World) -> None:
    here, abroad = int(world.hear("a puppy")), int(world.hear("a puppy", place=ATTIC, audience=ABROAD))
    tell(world, {"puppy": ONES})
    assert told(world.tx, [here, abroad], HERE) == {here: ONES}
    assert told(world.tx, [here, abroad], Scope(ABROAD)) == {abroad: ONES}


def test_of_a_long_message_the_first_parts_are_told(world: World) -> None:
    number = int(world.hear("A puppy barks. " * 500))
    tell(world, {"puppy": ONES})
    assert told(world.tx, [number], HERE) == {number: ONES * vectors._TOKEN_PARTS}


# ------------------------------------------------------------------------------------------------------ the order


def asked(words: tuple[str, ...], signs: bytes) -> Meaning:
    return Meaning(MODEL, VECTOR, Tokens(words, signs))


def test_the_message_whose_words_are_near_to_those_of_the_question_goes_first(world: World) -> None:
    puppy, kitten = world.hear("the puppy barks"), world.hear("the kitten purrs", place=ATTIC)
    tell(world, {"puppy": ONES, "kitten": ZEROS})
    for signs, first, last in ((ONES, puppy, kitten), (ZEROS, kitten, puppy)):
        found = look(world, "which animal is it?", meaning=asked(("animal",), signs))
        assert ids(found) == [first, last]


def test_words_that_are_names_of_speakers_are_not_compared(world: World) -> None:
    seen: list[frozenset[str]] = []

    class Watched(Meaning, frozen=True):
        def close(
            self, rows: Rows, among: RowSet, around: Mapping[int, RowWindows], without: frozenset[str]
        ) -> Mapping[int, Closeness]:
            seen.append(without)
            return super().close(rows, among, around, without)

    world.hear("the puppy barks")
    tell(world, {"puppy": ONES})
    look(world, "does Ann have a puppy?", meaning=Watched(MODEL, VECTOR, Tokens(("ann", "puppy"), ZEROS + ONES)))
    assert seen == [frozenset({"ann"})]


def test_without_words_of_the_question_or_of_messages_the_signs_alone_decide(world: World) -> None:
    world.hear("the puppy barks")
    tell(world, {})
    text, plain = "which puppy?", Meaning(MODEL, VECTOR)
    for compared in (asked(("puppy",), ONES), asked((), b"")):
        assert look(world, text, meaning=compared) == look(world, text, meaning=plain)


def test_windows_end_with_what_is_known_around() -> None:
    stretch = Stretch([3, 5, 8, 9], [1] * 4)
    assert ranking._beside((stretch, 0), 2) == [3, 5, 8]
    assert ranking._beside((stretch, 2), 1) == [5, 8, 9]
    assert ranking._beside((stretch, 3), 2) == [5, 8, 9]
