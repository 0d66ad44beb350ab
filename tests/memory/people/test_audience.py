"""Who may know what: the whole table of audiences against scopes, and the same in SQL."""

import json
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.people.audience import (
    OWNER,
    PUBLIC,
    Audience,
    Scope,
    channel_audience,
    guild_audience,
    may_write_down,
    parse_audience,
    person_audience,
)
from memory.store.ids import GuildId, PersonId, PlaceId
from memory.store.sqlite import driver

G1, G2 = guild_audience(GuildId("discord:1")), guild_audience(GuildId("discord:2"))
C1, C2 = channel_audience(PlaceId("discord:10")), channel_audience(PlaceId("discord:20"))
ANN, BOB = person_audience(PersonId("discord:ann")), person_audience(PersonId("discord:bob"))
EVERY = [PUBLIC, OWNER, G1, G2, C1, C2, ANN, BOB]

RULES: list[tuple[Scope, set[Audience]]] = [
    (Scope(PUBLIC), {PUBLIC}),
    (Scope(G1), {PUBLIC, G1}),
    (Scope(C1, frozenset({G1})), {PUBLIC, G1, C1}),
    (Scope(C1), {PUBLIC, C1}),  # a group conversation, or a foreign guild
    (Scope(C2, frozenset({C1, G1})), {PUBLIC, G1, C1, C2}),  # a private thread of a private channel
    (Scope(ANN), {PUBLIC, ANN}),
    (Scope(ANN, frozenset({G1})), {PUBLIC, ANN, G1}),
    (Scope(OWNER), {PUBLIC, OWNER, G1, G2, C1, C2}),
    (Scope(OWNER, frozenset({G1})), {PUBLIC, OWNER, G1, G2, C1, C2}),
    (Scope(OWNER, frozenset({BOB})), {PUBLIC, OWNER, G1, G2, C1, C2, BOB}),  # another account of the owner
    (Scope(ANN, frozenset({G1, BOB})), {PUBLIC, ANN, G1, BOB}),
]


@pytest.mark.parametrize(("scope", "usable"), RULES)
def test_a_row_is_used_only_where_everybody_may_know_it_in_python_and_in_sql(
    scope: Scope, usable: set[Audience]
) -> None:
    assert {audience for audience in EVERY if scope.may_use(audience)} == usable
    either = "SELECT value FROM json_each(?) WHERE KNOWN(value) AND value > ? OR KNOWN(json_each.value) AND value <= ?"
    with closing(driver.connect(":memory:")) as raw:
        found = raw.execute(*scope.bind(either, json.dumps(EVERY), "guild", "guild")).fetchall()
    assert {row[0] for row in found} == usable


def test_what_asks_for_no_audience_or_hides_a_question_mark_is_not_bound() -> None:
    with pytest.raises(ValueError, match="no audience is asked for"):
        Scope(G1).bind("SELECT * FROM items WHERE id = ?", 1)
    with pytest.raises(ValueError, match="1 parameters for 2 question marks"):
        Scope(G1).bind("SELECT * FROM items WHERE text <> '?' AND KNOWN(audience) AND id = ?", 1)


@given(st.sampled_from(EVERY), st.frozensets(st.sampled_from([G1, G2, C1, C2])), st.sampled_from([ANN, BOB]))
def test_nobody_elses_direct_messages_are_ever_used(
    audience: Audience, within: frozenset[Audience], other: Audience
) -> None:
    scope = Scope(audience, within)
    assert scope.may_use(other) == (audience == other)


WRITING = [
    (Scope(G1), G1, True),
    (Scope(G1), PUBLIC, False),
    (Scope(G1), G2, False),
    (Scope(G1), C1, False),  # those of the channel are in the guild, but nobody says so here
    (Scope(C1, frozenset({G1})), G1, False),
    (Scope(C1, frozenset({G1})), C1, True),
    (Scope(ANN, frozenset({G1})), G1, False),
    (Scope(ANN), ANN, True),
    (Scope(ANN), OWNER, False),
    (Scope(ANN), BOB, False),
    (Scope(PUBLIC), G1, True),
    (Scope(G1), OWNER, True),
    (Scope(OWNER), G1, False),
    (Scope(OWNER), PUBLIC, False),
    (Scope(OWNER), OWNER, True),
]


@pytest.mark.parametrize(("turn", "readers", "may"), WRITING)
def test_something_is_written_down_only_where_every_reader_may_know_the_turn(
    turn: Scope, readers: Audience, may: bool
) -> None:
    assert may_write_down(turn, readers) is may


@given(st.sampled_from(EVERY), st.sampled_from(EVERY), st.sampled_from(EVERY))
def test_writing_down_never_carries_words_further_than_the_turn_could(
    turn: Audience, block: Audience, reader: Audience
) -> None:
    """If a turn may write into a block, whoever reads that block in their own place could have heard the turn's row."""
    if may_write_down(Scope(turn), block) and Scope(reader).may_use(block):
        assert Scope(reader).may_use(turn)


@pytest.mark.parametrize("audience", EVERY)
def test_an_audience_is_read_back(audience: Audience) -> None:
    assert parse_audience(audience) == audience


@pytest.mark.parametrize("text", ["", "all", "guild", "guild:", "person:", "public:1", "owner:", "GUILD:1", "role:1"])
def test_what_is_no_audience_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an audience"):
        parse_audience(text)
