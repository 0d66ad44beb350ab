"""Vectors: what is embedded, when a vector goes, and that a search finds what the scope may use and nothing else."""

import random
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import create_autospec

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import blocks
from memory.blocks import Author, NewBlock
from memory.blocks.document import SYSTEM, agent_writer
from memory.erasure import edited_or_deleted_messages
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust, guild_audience, person_audience
from memory.queue import messages
from memory.search import vectors
from memory.search.embedding.base import Embedding, to_vector
from memory.search.vectors import EmbeddedRow, similarities
from memory.store import sqlite
from memory.store.clock import to_text
from memory.store.database import Tx
from memory.store.errors import Refused
from memory.store.ids import AgentId, GuildId, PlaceId
from memory.store.sqlite import of_digits, to_digits
from tests.memory.parts import ANN, GUILD, NOON, STAR, delete_message, edit_message, keep, opened
from tests.memory.search.vector_parts import (
    DIMENSION,
    MODEL,
    STORED,
    Asking,
    Near,
    asking,
    cosine,
    embed,
    embed_all,
    held,
    nearest,
    question,
    say,
)

MOON = AgentId("agt_moon")
HERE = Scope(GUILD)
ELSEWHERE = PlaceId("discord:20")


@pytest.fixture
def tx(tmp_path: Path) -> Iterator[Tx]:
    found = opened(tmp_path, STAR, MOON)
    yield found
    found._raw.close()


def block(tx: Tx, label: str, text: str, audience: Audience = GUILD, owner: AgentId = STAR) -> str:
    made = blocks.create_block(tx, NewBlock(owner, label, "Notes", audience, Trust.AGENT, profile=text), SYSTEM, NOON)
    return str(made.id)


def ids(found: list[Near]) -> list[tuple[str, int]]:
    return [(near.kind, near.row) for near in found]


# ------------------------------------------------------------------------------------------------- what is embedded


def test_a_long_row_is_embedded_in_parts_and_found_once(tx: Tx) -> None:
    filler = "grass grows and the sun shines on it all day long. " * 60
    said = say(tx, f"{filler} The tortoise is called Fred. {filler}")
    embed_all(tx)
    assert len(held(tx)) > 5
    found = nearest(tx, asking("tortoise called Fred"), HERE)
    assert [each.row for each in found] == [said]


def test_a_long_entry_is_found_by_its_passages_alone(tx: Tx) -> None:
    filler = "grass grows and the sun shines on it all day long. " * 60
    keep(tx, f"{filler} The tortoise is called Fred. {filler}")
    embed_all(tx)
    whole = {row["n"] for row in tx.all("SELECT n FROM archival_entries WHERE parent_entry_id IS NULL")}
    assert len(whole) == 1
    assert whole.isdisjoint(row for _kind, row in held(tx))
    assert vectors.missing(tx, 8) == []


# ----------------------------------------------------------------------------------------------- when a vector goes


def test_an_edit_takes_the_vectors_and_queues_the_row(tx: Tx) -> None:
    first, second = say(tx, "one"), say(tx, "two")
    embed_all(tx)
    edit_message(tx, "0", "uno", NOON)
    assert held(tx) == [("message", second)]
    assert [each.row for each in vectors.missing(tx, 8)] == [first]
    embed_all(tx)
    (best, *_others) = nearest(tx, asking("uno"), HERE)
    assert best.row == first


def test_a_deletion_takes_the_vectors_for_good(tx: Tx) -> None:
    first, second = say(tx, "one"), say(tx, "two")
    embed_all(tx)
    delete_message(tx, "0", NOON)
    assert held(tx) == [("message", second)]
    assert first not in {near.row for near in nearest(tx, asking("one"), HERE)}


@pytest.mark.parametrize("column", ["archived_at", "superseded_by"])
def test_an_entry_that_is_put_away_has_no_vector(tx: Tx, column: str) -> None:
    keep(tx, "tortoise")
    embed_all(tx)
    tx.run(" ".join(["UPDATE archival_entries SET", column, "= 'x'"]))
    assert (held(tx), vectors.missing(tx, 8)) == ([], [])
    tx.run(" ".join(["UPDATE archival_entries SET", column, "= NULL"]))
    assert len(vectors.missing(tx, 8)) == 1


def test_a_block_that_changes_is_embedded_anew_and_one_that_is_deleted_is_not(tx: Tx) -> None:
    block(tx, "pets", "tortoise")
    embed_all(tx)
    author = Author(STAR, HERE, agent_writer(STAR), Trust.AGENT, NOON)
    blocks.append_block(tx, author, "pets", "hamster")
    assert held(tx) == []
    embed_all(tx)
    assert len(nearest(tx, asking("hamster"), HERE)) == 1
    tx.run("UPDATE memory_blocks SET deleted_at = ?", (to_text(NOON),))
    assert (held(tx), vectors.missing(tx, 8)) == ([], [])


def test_a_row_that_changes_while_it_is_embedded_gets_no_vector_of_what_it_was(tx: Tx) -> None:
    first = say(tx, "one")
    vectors.choose(tx, MODEL, DIMENSION)
    before = embed(vectors.missing(tx, 8))
    edit_message(tx, "0", "uno", NOON)
    assert vectors.store(tx, MODEL, before) == 0
    assert (held(tx), [each.row for each in vectors.missing(tx, 8)]) == ([], [first])
    embed_all(tx)
    delete_message(tx, "0", NOON)
    assert vectors.store(tx, MODEL, before) == 0
    assert held(tx) == []


def test_a_narrowed_message_leaves_the_wider_audience_at_once_and_follows(tx: Tx) -> None:
    message = say(tx, "tortoise")
    embed_all(tx)
    (narrowed,) = messages.by_ids(tx, [message], HERE)
    edited_or_deleted_messages.narrow_message(tx, narrowed, person_audience(ANN), NOON)
    assert nearest(tx, asking("tortoise"), HERE) == []
    embed_all(tx)
    assert nearest(tx, asking("tortoise"), HERE) == []
    assert ids(nearest(tx, asking("tortoise"), Scope(person_audience(ANN)))) == [("message", message)]


# ---------------------------------------------------------------------------------------------------- who finds what


def test_conditions_narrow_before_anything_is_taken(tx: Tx) -> None:
    for number in range(30):
        say(tx, f"tortoise {number}")
    wanted = say(tx, "hamster", place=ELSEWHERE)
    embed_all(tx)
    where = ("t.place_id = ?", (ELSEWHERE,))
    assert ids(nearest(tx, asking("tortoise", limit=1, where=where), HERE)) == [("message", wanted)]


def test_similarities_are_of_the_rows_that_may_be_used(tx: Tx) -> None:
    here, secret = say(tx, "tortoise"), say(tx, "tortoise", audience=person_audience(ANN))
    embed_all(tx)
    found = similarities(tx, question(asking("tortoise"), "message", HERE), [here, secret, 5])
    assert found.keys() == {here}
    assert found[here] == pytest.approx(nearest(tx, asking("tortoise"), HERE)[0].cosine)


AUDIENCES = [PUBLIC, OWNER, GUILD, guild_audience(GuildId("discord:2")), person_audience(ANN)]
ROWS = st.lists(
    st.tuples(st.sampled_from(["message", "entry", "block"]), st.sampled_from(AUDIENCES), st.integers(0, 12)),
    max_size=25,
)


def fill(tx: Tx, rows: list[tuple[str, Audience, int]]) -> None:
    for number, (kind, audience, word) in enumerate(rows):
        match kind:
            case "message":
                say(tx, f"word{word} is number {number}", audience=audience)
            case "entry":
                keep(tx, f"word{word} is number {number}", audience=audience)
            case _:
                block(tx, f"label{number}", f"word{word}", audience)


def exact(tx: Tx, scope: Scope, asked: Asking) -> dict[tuple[str, int], float]:
    """The same by comparing every vector, in Python."""
    found: dict[tuple[str, int], float] = {}
    for kind, row, digits, audience in tx.all(f"SELECT s.kind, v.row, n.digits, s.audience {STORED}"):
        if scope.may_use(audience):
            near = cosine(asked.vector, of_digits(digits))
            found[kind, row] = max(near, found.get((kind, row), -2.0))
    return found


@settings(max_examples=12)
@given(rows=ROWS, audience=st.sampled_from(AUDIENCES), word=st.integers(0, 12))
def test_a_search_finds_what_comparing_everything_finds_and_nothing_out_of_scope(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, Audience, int]], audience: Audience, word: int
) -> None:
    tx, scope = opened(tmp_path_factory.mktemp("store"), STAR, MOON), Scope(audience)
    fill(tx, rows)
    embed_all(tx)
    asked = asking(f"word{word}", limit=100)
    found, wanted = nearest(tx, asked, scope), exact(tx, scope, asked)
    assert {(near.kind, near.row) for near in found} == wanted.keys()
    assert {(near.kind, near.row): pytest.approx(near.cosine, abs=1e-5) for near in found} == wanted
    tx._raw.close()


@settings(max_examples=12)
@given(rows=ROWS, secret=st.lists(st.integers(0, 12), min_size=1, max_size=30), word=st.integers(0, 12))
def test_what_a_scope_may_not_use_changes_nothing_that_is_found_for_it(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, Audience, int]], secret: list[int], word: int
) -> None:
    known = [row for row in rows if HERE.may_use(row[1])]
    found = []
    for hidden in ([], [("message", person_audience(ANN), number) for number in secret]):
        tx = opened(tmp_path_factory.mktemp("store"), STAR, MOON)
        fill(tx, [*known, *hidden])
        embed_all(tx)
        asked = asking(f"word{word}", limit=3)
        found.append([(near.kind, round(near.cosine, 6)) for near in nearest(tx, asked, HERE)])
        tx._raw.close()
    assert found[0] == found[1]


def test_candidates_are_taken_among_the_allowed_alone(tx: Tx, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_CANDIDATES", 2)
    for _ in range(20):
        say(tx, "tortoise", audience=person_audience(ANN))
    message = say(tx, "something else altogether", place=ELSEWHERE)
    embed_all(tx)
    assert ids(nearest(tx, asking("tortoise", limit=0), HERE)) == []
    assert ids(nearest(tx, asking("tortoise", limit=1), HERE)) == [("message", message)]


@pytest.mark.parametrize("dimension", [384, 385])
@pytest.mark.parametrize("distances", [sqlite.distances, sqlite.PYTHON])
def test_a_stored_vector_takes_half_the_bytes_and_is_nearly_as_near(
    tx: Tx, distances: sqlite.Distances, dimension: int
) -> None:
    drawn = random.Random(dimension)
    vector, other = (to_vector([drawn.gauss(0, 1) for _ in range(dimension)]) for _ in range(2))
    stored = to_digits(vector)
    assert len(stored) == 192 + dimension % 2
    sql = f"SELECT 1 - {distances.cosine.format('?')}"
    found = [tx.all(sql, (stored, *sqlite.comparable(question)))[0][0] for question in (vector, other)]
    assert found == pytest.approx([1.0, cosine(other, vector)], abs=0.03)


# -------------------------------------------------------------------------------------------------- without extension


def test_without_the_extension_the_same_is_found(tx: Tx, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random.Random(7)
    for _ in range(60):
        say(tx, f"word{drawn.randrange(9)} word{drawn.randrange(9)}")
    embed_all(tx)
    native = nearest(tx, asking("word1 word2", limit=60), HERE)
    monkeypatch.setattr(sqlite, "distances", sqlite.PYTHON)
    slow = nearest(tx, asking("word1 word2", limit=60), HERE)
    assert {near.row: near.cosine for near in slow} == pytest.approx(
        {near.row: near.cosine for near in native}, abs=1e-6
    )
    assert len(slow) == 60


def test_an_extension_that_cannot_be_loaded_is_named(tx: Tx) -> None:
    without = "json"  # a package without an extension in it
    reason = sqlite.provide_distances(tx._raw, sqlite.driver.OperationalError, without)
    assert reason.startswith("json does not load: ")
    assert sqlite.provide_distances(tx._raw, sqlite.driver.OperationalError, "no_such_extension") == (
        "no-such-extension is not installed"
    )

    bare = create_autospec(sqlite.Connection, instance=True)  # it has nothing to load extensions with
    assert sqlite.provide_distances(bare, ValueError) == "this Python's SQLite loads no extensions"


def test_sql_itself_loads_no_code(tx: Tx) -> None:
    with pytest.raises(sqlite.driver.OperationalError, match="not authorized"):
        tx.all("SELECT load_extension('vec0')")


# --------------------------------------------------------------------------------------------------- another model


def test_another_model_embeds_everything_again_instead_of_the_old_vectors(tx: Tx) -> None:
    say(tx, "tortoise")
    keep(tx, "tortoise")
    embed_all(tx)
    say(tx, "a hamster")
    assert vectors.choose(tx, "other", DIMENSION)
    assert not vectors.choose(tx, "other", DIMENSION)
    assert nearest(tx, asking("tortoise", model="other"), HERE) == []
    first = vectors.missing(tx, 1)
    assert vectors.store(tx, "other", embed(first)) == len(first) == 2
    assert len(held(tx)) == 3  # the message and the entry of before are still there, or embedded again
    assert embed_all(tx, "other") == 1
    models = tx.all(
        "SELECT m.name FROM vectors v, vector_spaces s, vector_models m WHERE s.id = space_id AND m.id = model_id"
    )
    assert {row["name"] for row in models} == {"other"}
    assert len(nearest(tx, asking("tortoise", model="other"), HERE)) == 3
    assert nearest(tx, asking("tortoise"), HERE) == []


def test_vectors_of_a_model_that_is_not_current_are_not_kept(tx: Tx) -> None:
    say(tx, "tortoise")
    vectors.choose(tx, MODEL, DIMENSION)
    found = embed(vectors.missing(tx, 8))
    vectors.choose(tx, "other", DIMENSION)
    assert vectors.store(tx, MODEL, found) == 0


def test_a_model_whose_vectors_became_longer_starts_anew(tx: Tx) -> None:
    say(tx, "tortoise")
    embed_all(tx)
    assert vectors.choose(tx, MODEL, 2 * DIMENSION)
    assert held(tx) == []
    assert len(vectors.missing(tx, 8)) == 1


def test_a_vector_of_the_wrong_length_is_refused(tx: Tx) -> None:
    say(tx, "tortoise")
    vectors.choose(tx, MODEL, DIMENSION)
    (of,) = vectors.missing(tx, 8)
    with pytest.raises(Refused, match="has 3 numbers, and those of its model have 64"):
        vectors.store(tx, MODEL, [EmbeddedRow(of, (Embedding(to_vector([1, 2, 3])),))])


def test_a_text_that_is_refused_three_times_is_left_alone_until_it_changes(tx: Tx) -> None:
    say(tx, "tortoise")
    vectors.choose(tx, MODEL, DIMENSION)
    for _ in range(3):
        vectors.refuse(tx, vectors.missing(tx, 8))
    assert vectors.missing(tx, 8) == []
    assert vectors.progress(tx) == vectors.Progress(waiting=0, refused=1)
    edit_message(tx, "0", "hamster", NOON)
    assert len(vectors.missing(tx, 8)) == 1


def test_a_person_finds_what_every_agent_keeps(tx: Tx) -> None:
    keep(tx, "tortoise")
    block(tx, "mine", "tortoise")
    embed_all(tx)
    assert len(nearest(tx, asking("tortoise", agent=None), HERE)) == 2
    assert nearest(tx, asking("tortoise", agent=MOON), HERE) == []
