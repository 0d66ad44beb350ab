"""What a turn used, and keeping words to a narrower audience, as a store."""

from pathlib import Path

import pytest

from memory import blocks, why
from memory.blocks import NewBlock
from memory.blocks.document import SYSTEM, agent_writer
from memory.erasure import byte_search
from memory.erasure.edited_or_deleted_messages import forget_derived, narrow_entry, narrow_message
from memory.erasure.forgotten_entries import forget_entry
from memory.erasure.person_in_one_constellation import compact, empty_log
from memory.knowledge import entries, entry_changes
from memory.knowledge.entries import NewEntry, Origin
from memory.people.audience import OWNER, Audience, Scope, Trust, channel_audience, person_audience
from memory.queue import messages, outbox, turns
from memory.queue.outbox import NewRow
from memory.queue.turns import Turn
from memory.store.database import Tx
from memory.store.ids import AgentId, MessageId, PlaceId
from memory.store.migrations import Kind, prepare
from memory.store.sqlite import connect
from tests.memory.parts import ANN, BOB, GUILD, HALL, NOON, STAR, begun, delete_message, keep, spoken, store, taken

HERE, ANNS = Scope(GUILD), person_audience(ANN)
ELSEWHERE = Audience("guild:discord:2")
DEN = channel_audience(PlaceId("discord:11"))
_AGENT_COLUMNS = ("name", "model", "system_prompt", "enabled_tools", "created_at", "updated_at")


def say(tx: Tx, turn: Turn, text: str, call: str | None = None, role: messages.Role = "assistant") -> MessageId:
    named = "recall" if call else None
    args = '{"content": "the quagga"}' if call and role == "assistant" else None
    return messages.add(tx, spoken(turn, text, role=role, tool_call_id=call, tool_name=named, tool_args=args))


def send(tx: Tx, turn: Turn, key: str, external_id: str) -> None:
    new = NewRow(key, turn.place, "text", turn.scope.audience, turn=turn.id)
    row = outbox.add(tx, new, NOON)
    assert row is not None
    outbox.mark_sent(tx, row, external_id, NOON)


def text_of(tx: Tx, message: MessageId) -> str:
    row = tx.one("SELECT content || coalesce(tool_args, '') AS text FROM messages WHERE id = ?", (message,))
    assert row is not None
    return str(row["text"])


def audience_of(tx: Tx, message: MessageId) -> Audience:
    row = tx.one("SELECT audience FROM messages WHERE id = ?", (message,))
    assert row is not None
    return Audience(row["audience"])


def test_an_account_shows_what_may_be_known_and_counts_the_rest(tx: Tx) -> None:
    row = taken(tx, 1, "the quagga is in the barn")
    turn = begun(tx, row)
    seen, hidden, forgotten = (
        keep(tx, "a quagga", message=row.message),
        keep(tx, "elsewhere", audience=ELSEWHERE),
        keep(tx, "gone"),
    )
    for each in (seen, hidden, forgotten):
        turns.note_use(tx, turn, "entry", each.id)
    heard, deleted = taken(tx, 2, "an okapi", person=BOB, speaker="Bob"), taken(tx, 3, "a heron")
    for said in (heard, deleted):
        turns.note_use(tx, turn, "message", str(said.message))
    entry_changes.remove(tx, [forgotten.id])
    delete_message(tx, "3", NOON)
    say(tx, turn, "stored", "c1", "tool")

    found = why.account(tx, turn.id, HERE)
    assert [(memory.kind, memory.text, memory.speaker) for memory in found.memories] == [
        ("entry", "a quagga", "Ann"),
        ("message", "an okapi", "Bob"),
    ]
    assert [memory.external_id for memory in found.memories] == ["1", "2"]
    assert found.memories[0].place == HALL
    assert (found.hidden, found.gone, found.tools, found.recorded) == (1, 2, ("recall",), True)


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


@pytest.mark.parametrize("agent", [STAR, AgentId("agt_other")])
def test_a_narrowed_entry_takes_along_what_was_said_with_it_and_nothing_of_others(agent: AgentId) -> None:
    tx = store(agt_other="Other")
    row = taken(tx, 1, "the quagga is mine")
    mine = begun(tx, row)
    kept = entry_changes.insert(
        tx, STAR, NewEntry("a quagga", Origin(HERE, Trust.APPROVED, ANN, row.message, mine.id), label="pet"), NOON
    )
    assert row.message is not None
    messages.join_batch(tx, [row.message], mine.id)
    call, result = say(tx, mine, "", "c1"), say(tx, mine, "stored", "c1", "tool")
    echo, other = say(tx, mine, "your quagga!"), say(tx, mine, "what an animal")
    bobs, den = begun(tx, person=BOB), begun(tx, scope=Scope(DEN, frozenset({GUILD})))
    elsewhere = []
    for turn in (bobs, den):
        turns.note_use(tx, turn, "entry", kept.id)
        elsewhere.append(say(tx, turn, "that quagga"))
    entry_changes.insert(tx, agent, NewEntry("another", Origin(Scope(ANNS), Trust.APPROVED, ANN), label="pet"), NOON)
    more, owners, gone = keep(tx, "extinct"), keep(tx, "striped", audience=OWNER), keep(tx, "outdated")
    for each in (more, owners, gone):
        tx.insert("entry_expansions", {"entry_id": each.id, "source_id": kept.id})
    tx.run("UPDATE archival_entries SET superseded_by = ? WHERE id = ?", (more.id, gone.id))

    narrowed = narrow_entry(tx, kept, ANNS, NOON)
    label = None if agent == STAR else "pet"  # a label is there once per agent and audience
    assert (narrowed.audience, narrowed.label, narrowed.content) == (ANNS, label, "a quagga")
    expanded = [entries.in_use(tx, each.id) for each in (more, owners, gone)]
    assert [each and each.audience for each in expanded] == [ANNS, OWNER, None]
    assert {audience_of(tx, each) for each in (row.message, call, result, echo, other)} == {ANNS}
    assert [audience_of(tx, each) for each in elsewhere] == [GUILD, DEN]


def test_a_narrowed_message_takes_along_its_echo_and_what_was_learned_from_it_alone(tx: Tx) -> None:
    row = taken(tx, 1, "the quagga is mine")
    alone, mixed = (keep(tx, text, message=row.message) for text in ("a quagga", "two quaggas"))
    entry_changes.append(tx, STAR, mixed.id, "and Bob's", Origin(HERE, Trust.APPROVED, BOB), NOON)
    assert row.message is not None
    mine = begun(tx, row)
    messages.join_batch(tx, [row.message], mine.id)
    echo = say(tx, mine, "your quagga!")
    (message,) = messages.by_ids(tx, [row.message], HERE)
    assert narrow_message(tx, message, ANNS, NOON) == 1
    assert (audience_of(tx, row.message), audience_of(tx, echo)) == (ANNS, ANNS)
    assert entries.read(tx, STAR, alone.id, Scope(ANNS)).audience == ANNS
    assert entries.read(tx, STAR, mixed.id, HERE).audience == GUILD
    assert forget_derived(tx, row.message, NOON) == 2


def test_what_was_said_with_a_forgotten_entry_goes_by_record_and_leaves_no_byte(tmp_path: Path) -> None:
    """In words of its own, too; what others were answered, and turns that never had it, keep what they say."""
    path = tmp_path / "carina.db"
    prepare(path, Kind.CONSTELLATION)
    tx = Tx(connect(path))
    tx.insert("agents", dict.fromkeys(_AGENT_COLUMNS, "[]") | {"id": STAR})
    heard = taken(tx, 1, "okapi: they fired me yesterday")
    mine, asked = begun(tx, heard), begun(tx, taken(tx, 2, "what do you know?"))
    bobs = begun(tx, taken(tx, 3, "and Ann?", person=BOB), person=BOB)
    other = begun(tx, taken(tx, 4, "hello again"))
    origin = Origin(HERE, Trust.APPROVED, ANN, heard.message, mine.id)
    kept = entry_changes.insert(tx, STAR, NewEntry("lost a position", origin), NOON)
    blocks.create_block(tx, NewBlock(STAR, "notes", "Notes.", GUILD, Trust.AGENT), SYSTEM, NOON)
    by = blocks.Author(STAR, HERE, agent_writer(STAR), Trust.AGENT, NOON, mine.id)
    blocks.append_block(tx, by, "notes", "needs zebrawork")
    for turn in (asked, bobs):
        turns.note_use(tx, turn, "entry", kept.id)
    gone = [
        say(tx, mine, "sorry about the tapirdom"),
        say(tx, asked, "let me look for it"),
        say(tx, asked, "gnudismissal, I believe"),
        say(tx, bobs, "kudulost a position", "c1", "tool"),
    ]
    stays = [say(tx, bobs, "ask the lynxlady"), say(tx, other, "a position is a puffinplace")]
    words = ["okapi", "tapirdom", "gnudismissal", "kudulost"]
    assert empty_log(tx._raw)
    assert len(words) == byte_search.search(tmp_path, words).left[0].samples

    assert forget_entry(tx, kept, ANN, NOON) == 3
    assert [text_of(tx, each) for each in gone] == [""] * 4
    assert [text_of(tx, each) for each in stays] == ["ask the lynxlady", "a position is a puffinplace"]
    assert blocks.find_block(tx, STAR, "notes", HERE).content == ""
    assert compact(tx._raw)
    assert byte_search.search(tmp_path, words).left == ()
    assert byte_search.search(tmp_path, ["lynxlady", "puffinplace"]).left[0].samples == 2
    tx._raw.close()
