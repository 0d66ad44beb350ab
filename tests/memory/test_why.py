"""What a turn used, and keeping words to a narrower audience, as a store."""

import pytest

from memory import archival, blocks, messages, outbox, turns, why
from memory.archival import Entry, NewEntry, Origin
from memory.audience import OWNER, Audience, Scope, Trust, channel_audience, person_audience
from memory.blocks import CONSTELLATION_OWNER, NewBlock
from memory.database import Tx
from memory.documents.document import SYSTEM
from memory.following import forget_derived, narrow_entry, narrow_message
from memory.ids import MessageId, PersonId, PlaceId
from memory.inbox import InRow
from memory.messages import Said
from memory.outbox import NewRow
from memory.turns import Turn
from tests.memory.parts import ANN, BOB, GUILD, HALL, NOON, STAR, begun, store, taken

HERE, ANNS = Scope(GUILD), person_audience(ANN)
ELSEWHERE = Audience("guild:discord:2")
DEN = channel_audience(PlaceId("discord:11"))


@pytest.fixture
def tx() -> Tx:
    return store()


def entry(tx: Tx, text: str, audience: Audience = GUILD, person: PersonId = ANN, row: InRow | None = None) -> Entry:
    origin = Origin(Scope(audience), Trust.APPROVED, person, row.message if row else None)
    return archival.insert(tx, STAR, NewEntry(text, origin), NOON)


def say(tx: Tx, turn: Turn, text: str, call: str | None = None, role: messages.Role = "assistant") -> MessageId:
    named = "recall" if call else None
    said = Said(
        turn.id, 1, turn.place, STAR, turn.person, "Star", role, text, "discord", turn.scope.audience, Trust.AGENT,
        NOON, call, named, '{"content": "the quagga"}' if call and role == "assistant" else None,
    )  # fmt: skip
    return messages.add_said(tx, said)


def send(tx: Tx, turn: Turn, key: str, external_id: str) -> None:
    new = NewRow(key, turn.place, "discord", "text", turn.scope.audience, turn=turn.id)
    row = outbox.add(tx, new, NOON)
    assert row is not None
    outbox.mark_sent(tx, row, external_id, NOON)


def audience_of(tx: Tx, message: MessageId) -> Audience:
    row = tx.one("SELECT audience FROM messages WHERE id = ?", (message,))
    assert row is not None
    return Audience(row["audience"])


def test_an_account_shows_what_may_be_known_and_counts_the_rest(tx: Tx) -> None:
    row = taken(tx, 1, "the quagga is in the barn")
    turn = begun(tx, row)
    seen, hidden, forgotten = entry(tx, "a quagga", row=row), entry(tx, "elsewhere", ELSEWHERE), entry(tx, "gone")
    for each in (seen, hidden, forgotten):
        turns.note_use(tx, turn, "entry", each.id)
    heard, deleted = taken(tx, 2, "an okapi", person=BOB, speaker="Bob"), taken(tx, 3, "a heron")
    for said in (heard, deleted):
        turns.note_use(tx, turn, "message", str(said.message))
    archival.remove(tx, [forgotten.id])
    messages.delete_heard(tx, "discord", "3", NOON)
    say(tx, turn, "stored", "c1", "tool")

    found = why.account(tx, turn.id, HERE)
    assert [(memory.kind, memory.text, memory.speaker) for memory in found.memories] == [
        ("entry", "a quagga", "Ann"),
        ("message", "an okapi", "Bob"),
    ]
    assert [memory.external_id for memory in found.memories] == ["1", "2"]
    assert found.memories[0].place == HALL
    assert (found.hidden, found.gone, found.tools, found.recorded) == (1, 2, ("recall",), True)


def test_blocks_that_were_shown_are_uses_and_empty_ones_are_not_shown(tx: Tx) -> None:
    turn = begun(tx)
    made = [
        blocks.create_block(
            tx, NewBlock(CONSTELLATION_OWNER, label, "n", audience, Trust.SYSTEM, content=text), SYSTEM, NOON
        )
        for label, audience, text in (("a", GUILD, "about us"), ("b", ELSEWHERE, "about them"), ("c", GUILD, ""))
    ]
    for _ in range(2):
        turns.note_shown(tx, turn, [block.id for block in made])
    found = why.account(tx, turn.id, HERE)
    assert [(memory.label, memory.text) for memory in found.memories] == [("a", "about us")]
    assert (found.hidden, found.gone) == (1, 0)


def test_a_restart_forgets_what_was_used(tx: Tx) -> None:
    turn = begun(tx)
    turns.note_use(tx, turn, "entry", entry(tx, "a quagga").id)
    turns.restart(tx, turn)
    assert why.account(tx, turn.id, HERE).memories == ()


def test_the_newest_answer_is_one_that_was_said_and_may_be_known(tx: Tx) -> None:
    said, private, unsaid = begun(tx), begun(tx, scope=Scope(OWNER)), begun(tx)
    for number, turn in enumerate((said, private, unsaid)):
        say(tx, turn, "text")
        if turn is not unsaid:
            send(tx, turn, f"turn/{turn.id}/0", f"90{number}")
    assert why.newest_answer(tx, HALL.id, HERE) == said.id
    assert why.newest_answer(tx, HALL.id, Scope(OWNER)) == private.id
    assert why.newest_answer(tx, PlaceId("discord:11"), HERE) is None


def test_an_answer_is_explained_only_where_it_was_heard(tx: Tx) -> None:
    turn = begun(tx)
    send(tx, turn, f"turn/{turn.id}/0", "900")
    send(tx, turn, f"tool/{turn.id}/7/0", "901")
    answer, passed_on = (outbox.said_by_us(tx, "discord", each) for each in ("900", "901"))
    assert why.answer(tx, answer, HALL.id, HERE) == turn.id
    assert why.answer(tx, answer, PlaceId("discord:11"), HERE) is None
    assert why.answer(tx, answer, HALL.id, Scope(ELSEWHERE)) is None
    assert why.answer(tx, passed_on, HALL.id, HERE) is None
    assert why.answer(tx, None, HALL.id, HERE) is None


@pytest.mark.parametrize("identifier", ["", "ent_nothing", "-1", "9" * 30, "1 OR 1", "١"])
def test_what_is_not_there_is_not_found(tx: Tx, identifier: str) -> None:
    assert [why.find(tx, kind, identifier, HERE) for kind in ("entry", "message", "block")] == [None] * 3


def test_a_narrowed_entry_takes_along_what_was_said_with_it_and_nothing_of_others(tx: Tx) -> None:
    row = taken(tx, 1, "the quagga is mine")
    mine = begun(tx, row)
    kept = archival.insert(
        tx, STAR, NewEntry("a quagga", Origin(HERE, Trust.APPROVED, ANN, row.message, mine.id), label="pet"), NOON
    )
    assert row.message is not None
    messages.join_batch(tx, [row.message], mine.id)
    call, result = say(tx, mine, "", "c1"), say(tx, mine, "stored", "c1", "tool")
    echo, other = say(tx, mine, "your quagga!"), say(tx, mine, "hi")
    bobs, den = begun(tx, person=BOB), begun(tx, scope=Scope(DEN, frozenset({GUILD})))
    elsewhere = []
    for turn in (bobs, den):
        turns.note_use(tx, turn, "entry", kept.id)
        elsewhere.append(say(tx, turn, "that quagga"))
    archival.insert(tx, STAR, NewEntry("another", Origin(Scope(ANNS), Trust.APPROVED, ANN), label="pet"), NOON)

    narrowed = narrow_entry(tx, kept, ANNS)
    assert (narrowed.audience, narrowed.label, narrowed.content) == (ANNS, None, "a quagga")
    assert {audience_of(tx, each) for each in (row.message, call, result, echo)} == {ANNS}
    assert audience_of(tx, other) == GUILD
    assert [audience_of(tx, each) for each in elsewhere] == [GUILD, DEN]


def test_a_narrowed_message_takes_along_what_was_learned_from_it_alone(tx: Tx) -> None:
    row = taken(tx, 1, "the quagga is mine")
    alone, mixed = entry(tx, "a quagga", row=row), entry(tx, "two quaggas", row=row)
    archival.append(tx, STAR, mixed.id, "and Bob's", Origin(HERE, Trust.APPROVED, BOB), NOON)
    assert row.message is not None
    (message,) = messages.by_ids(tx, [row.message], HERE)
    assert narrow_message(tx, message, ANNS, NOON) == 1
    assert audience_of(tx, row.message) == ANNS
    assert archival.read(tx, STAR, alone.id, Scope(ANNS)).audience == ANNS
    assert archival.read(tx, STAR, mixed.id, HERE).audience == GUILD
    assert forget_derived(tx, row.message, NOON) == 2
