"""What is said in one direct message changes nothing that is found by meaning elsewhere: not what, nor its order."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.people.audience import Scope
from memory.search import vectors
from memory.search.embedding.base import Embedding
from memory.search.embedding.choice import missing
from memory.search.embedding.packaged import PackagedEmbedder
from memory.store.database import Value
from memory.store.records import replace
from tests.obedient_model import ORDERS
from tests.worlds import (
    ANNS,
    SECRETS,
    Harness,
    Line,
    World,
    around,
    compared,
    everything_known,
    lines,
    random_worlds,
    secrets,
    telling,
    tellings,
)

pytestmark = pytest.mark.skipif(bool(missing()), reason="the packaged embedder is not installed")


@pytest.fixture(scope="module")
def ground() -> Harness:
    return Harness(embedder=PackagedEmbedder())


def telling_more() -> st.SearchStrategy[tuple[Line, ...]]:
    """Some secrets, or none. The owner is told of each message that fails, so that none of them does."""
    orders = st.sampled_from([order for order in ORDERS if order != "fail"])
    each = st.builds(lambda order, secret: telling(ANNS, secret, [order]), orders, secrets)
    return st.lists(each, max_size=5).map(lambda told: tuple(line for one in told for line in one))


@random_worlds(2)
@given(world=st.builds(World, lines(4), tellings(ANNS), lines(6)))
def test_what_is_said_to_one_person_alone_changes_nothing_that_is_found_elsewhere(
    ground: Harness, world: World
) -> None:
    one, other = compared(world, ground)
    assert one.elsewhere == other.elsewhere


@random_worlds(2)
@given(world=st.builds(World, lines(4), st.tuples(telling_more(), telling_more()), lines(6)))
def test_nor_does_how_much_is_said(ground: Harness, world: World) -> None:
    one, other = compared(world, ground)
    assert one.elsewhere == other.elsewhere


def world() -> World:
    """Five secrets, or one; the same questions everywhere else."""
    orders = ["remember", "note", "find", "remember", "label"]
    told = telling(ANNS, SECRETS[0], orders), telling(ANNS, SECRETS[1], orders[:1])
    return World(around("remember")[::3], told, around("find")[::3])


@pytest.fixture
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few rows are taken as near that those of others would push them out."""
    monkeypatch.setattr("memory.search.vectors._CANDIDATES", 3)
    monkeypatch.setattr("memory.search.vectors._PER_HIT", 1)
    monkeypatch.setattr("memory.search.ranking._NEAR", 3)
    monkeypatch.setattr("memory.search.vectors._SAMPLED", 6)


@pytest.mark.usefixtures("_narrow")
def test_rows_of_others_take_nobodys_place_among_the_nearest(ground: Harness) -> None:
    one, other = compared(world(), ground)
    assert one.elsewhere == other.elsewhere
    assert one.secret != other.secret
    assert any("; distance 0." in seen for seen in one.elsewhere), "vectors were compared"


# ------------------------------------------------------------------------------------- the test is able to fail


class _Everything(Scope, frozen=True):
    def bind(self, sql: str, *parameters: Value) -> tuple[str, tuple[Value, ...]]:
        return everything_known(self, sql, *parameters)


class _Remembering(PackagedEmbedder):
    """Its vectors tell what was embedded before."""

    before = ""

    async def embed(self, texts: Sequence[str], seconds: float) -> list[Embedding]:
        mixed = [f"{text} {self.before}" for text in texts]
        self.before = texts[-1]
        return await super().embed(mixed, seconds)


@pytest.mark.usefixtures("_narrow")
def test_candidates_of_other_audiences_are_noticed(ground: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = vectors._allowed

    def unscoped(question: vectors.Question) -> tuple[str, tuple[Value, ...]]:
        everything = _Everything(question.among.scope.audience)
        return allowed(replace(question, among=question.among._replace(scope=everything)))

    monkeypatch.setattr(vectors, "_allowed", unscoped)
    one, other = compared(world(), ground)
    assert one.elsewhere != other.elsewhere


def test_vectors_that_tell_of_other_texts_are_noticed() -> None:
    one, other = compared(world(), Harness(embedder=_Remembering()))
    assert one.elsewhere != other.elsewhere
