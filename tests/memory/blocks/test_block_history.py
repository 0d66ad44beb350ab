"""Taking changes back in a real database: rights, limits, writers that take turns, restarts, and what is refused."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory.blocks import Author, Block, BlockType, Permission, append_block, replace_in_block, write_block
from memory.blocks.changes import SYSTEM, ChangeKind, Splice, Writer, person_writer
from memory.blocks.containers import make
from memory.blocks.form_edits import write
from memory.blocks.history import blame
from memory.blocks.repair import verify_block
from memory.blocks.revert import Editor, by_agent, by_hand, redo, revert, roll_back, undo
from memory.blocks.schema_paths import PLAIN
from memory.blocks.store import block_history
from memory.people.audience import OWNER, PUBLIC, Scope, Trust, person_audience
from memory.permission_requests import ApprovalNeeded
from memory.store.database import Tx
from memory.store.errors import BlockChanged, BlockRefused, BlockTooLong, Refused
from memory.store.ids import PersonId, TurnId
from memory.store.records import replace
from tests.memory.blocks import block_parts
from tests.memory.blocks.block_parts import AGENT, GUILD, JOB, NOW, SHORT, blocks_store, new, row
from tests.memory.blocks.block_parts import PERSON as MIA

OWNER_ID = PersonId("terminal:owner")


def author(writer: Writer = AGENT, **more: Any) -> Author:
    return block_parts.author(writer=writer, **{"turn": None, "policy": SHORT} | more)


def made(tx: Tx, content: str = "", **more: Any) -> Block:
    return block_parts.made(tx, new(content=content, **more))


def content(tx: Tx) -> str:
    return row(tx).content


def hand(person: PersonId = OWNER_ID, *, owner: bool = True, trust: Trust = Trust.OWNER) -> Editor:
    return Editor(person, (person,), owner, Scope(OWNER) if owner else Scope(GUILD), trust, NOW, SHORT)


def by_writing(tx: Tx, who: Editor, block: Block, text: str, seen: int | None = None) -> Block:
    return write(by_hand(tx, who, block), block, text, seen=seen)


# ---------------------------------------------------------------- going back


def test_a_text_that_is_too_long_to_compare_by_words_is_written_all_the_same(tx: Tx) -> None:
    made(tx, "a b " * 200, char_limit=10**5)
    wanted = "b a c " * 300
    assert write_block(tx, author(MIA), "notes", wanted).content == wanted


# ---------------------------------------------------------------- undo and redo


def test_each_undoes_their_own_while_others_write(tx: Tx) -> None:
    made(tx, "tea\n")
    replace_in_block(tx, author(), "notes", "tea", "coffee")
    append_block(tx, author(MIA), "notes", "cake\n")
    edit = by_agent(tx, author(), "notes")
    done = undo(edit, AGENT)
    assert (content(tx), [each.seq for each in done.changes]) == ("tea\ncake\n", [2])
    with pytest.raises(Refused, match="you have nothing left to undo"):
        undo(edit, AGENT)
    redo(edit, AGENT)
    assert content(tx) == "coffee\ncake\n"
    with pytest.raises(Refused, match="nothing to redo"):
        redo(edit, AGENT)
    undo(edit, AGENT)
    append_block(tx, author(), "notes", "more\n")
    with pytest.raises(Refused, match="nothing to redo"):  # it edited past that
        redo(edit, AGENT)
    undo(by_agent(tx, author(MIA), "notes"), MIA)
    assert content(tx) == "tea\nmore\n"


def test_undo_says_what_it_could_not_do_and_passes_by_what_is_gone(tx: Tx) -> None:
    made(tx, "a tea b")
    replace_in_block(tx, author(), "notes", "tea", "coffee")
    replace_in_block(tx, author(MIA), "notes", " b", "")
    append_block(tx, author(MIA), "notes", "house b")
    done = undo(by_agent(tx, author(), "notes"), AGENT)
    assert (content(tx), done.plan.lost) == ("a \nhouse b", ("tea",))
    write_block(tx, author(), "notes", "mine")
    write_block(tx, author(MIA), "notes", "zzz")
    with pytest.raises(Refused, match="you have nothing left to undo here: others have changed what your change 6"):
        undo(by_agent(tx, author(), "notes"), AGENT)


def test_a_word_comes_back_behind_what_others_wrote_before_its_successor(tx: Tx) -> None:
    made(tx, "a tea b")
    replace_in_block(tx, author(), "notes", "tea", "coffee")
    replace_in_block(tx, author(MIA), "notes", "coffee", "hot coffee")
    assert undo(by_agent(tx, author(), "notes"), AGENT).block.content == "a hot tea b"


def test_of_the_same_words_that_were_removed_the_last_come_back(tx: Tx) -> None:
    block = made(tx, "a b")
    for who in (AGENT, MIA):
        write_block(tx, author(who), "notes", "a tea b")
        write_block(tx, author(JOB), "notes", "a b")
    undo(by_agent(tx, author(JOB), "notes"), JOB)
    blamed = [each.change and each.change.writer for each in blame(block_history(tx, block.id))]
    assert (content(tx), blamed) == ("a tea b", [SYSTEM, MIA, SYSTEM])


def test_a_word_before_which_only_the_space_changed_stays_its_writers(tx: Tx) -> None:
    block = made(tx, "Ana likes tea.")
    write_block(tx, author(MIA), "notes", "Ana likes\ntea.")
    blamed = [(each.text, each.change and each.change.writer) for each in blame(block_history(tx, block.id))]
    assert blamed == [("Ana likes", SYSTEM), ("\n", MIA), ("tea.", SYSTEM)]


def test_what_was_undone_is_done_again_beside_what_others_wrote_there(tx: Tx) -> None:
    block = made(tx, "Base\n")
    append_block(tx, author(MIA), "notes", "Mia writes\n")
    mias = by_agent(tx, author(MIA), "notes")
    undo(mias, MIA)
    append_block(tx, author(), "notes", "the agent writes")
    done = redo(mias, MIA)
    assert (content(tx), done.plan.lost) == ("Base\nMia writes\nthe agent writes", ())
    blamed = [(each.text, each.change.seq) for each in blame(block_history(tx, block.id)) if each.change]
    assert blamed[1:] == [("Mia writes\n", 2), ("the agent writes", 4)]
    undo(mias, MIA)
    assert content(tx) == "Base\nthe agent writes"
    redo(mias, MIA)
    revert(by_agent(tx, author(JOB), "notes"), block_history(tx, block.id), MIA, 1)
    assert content(tx) == "Base\nthe agent writes"
    undo(by_agent(tx, author(JOB), "notes"), JOB)
    assert content(tx) == "Base\nMia writes\nthe agent writes"
    with pytest.raises(Refused, match="nothing to redo"):
        redo(mias, MIA)


Place = tuple[int, int, int]
PLACES = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 4), st.integers(0, 3)), max_size=6)


@settings(max_examples=30)
@example(before=[], mine=(0, 3, 1), meanwhile=[(3, 0, 1)])
@given(before=PLACES, mine=st.tuples(st.integers(0, 50), st.integers(0, 4), st.integers(1, 3)), meanwhile=PLACES)
def test_what_others_add_meanwhile_ends_no_redo(before: list[Place], mine: Place, meanwhile: list[Place]) -> None:
    """Over restarts: all comes back, still its first writer's, and all that others added stays."""
    policy = replace(SHORT, limits=replace(SHORT.limits, changes=500))
    with blocks_store() as tx:
        block, marks = made(tx, "ab\n"), iter(range(0x4E00, 0x9FFF))  # each written character is another one

        def edited(edit: Place, writer: Writer = AGENT) -> str:
            place, size, count = edit
            text, new = content(tx), "".join(chr(next(marks)) for _ in range(count))
            at = place % (len(text) + 1)
            cut = Splice(at, min(size, len(text) - at), new)
            by_agent(tx, author(writer, policy=policy), "notes")(
                lambda opened: opened.document.change(lambda loro: make(loro, PLAIN.name, [cut]))
            )
            return new

        for each in before:
            edited(each)
        changed = row(tx).version
        written = edited(mine, MIA)
        wanted, others = content(tx), ""
        undo(by_agent(tx, author(MIA, policy=policy), "notes"), MIA)
        for place, _, count in meanwhile:
            others += edited((place, 0, count))
        done = redo(by_agent(tx, author(MIA, policy=policy), "notes"), MIA)
        again = content(tx)
        assert done.plan.lost == ()
        assert "".join(char for char in again if char not in f"{others}\n") == wanted.replace("\n", "")
        assert set(others) <= set(again)
        blamed = blame(block_history(tx, block.id))
        first = {char: piece.change.seq for piece in blamed if piece.change for char in piece.text}
        assert {first[char] for char in written} == {changed + 1}
        assert verify_block(tx, block.id) == []


def test_what_cannot_be_done_again_is_told_with_its_words(tx: Tx) -> None:
    made(tx, "Ana likes tea.\n")
    replace_in_block(tx, author(), "notes", "tea", "coffee with milk")
    edit = by_agent(tx, author(), "notes")
    append_block(tx, author(), "notes", "Her cat is old.\n")
    undo(edit, AGENT)
    undo(edit, AGENT)
    replace_in_block(tx, author(MIA), "notes", "tea", "juice")
    done = redo(edit, AGENT)
    assert (content(tx), done.plan.lost) == ("Ana likes juice.\nHer cat is old.\n", ("coffee with milk",))
    with pytest.raises(Refused, match="nothing to redo here: others have changed what your change") as refused:
        redo(edit, AGENT)
    assert "not restored, because of later changes by others: “coffee with milk”" in str(refused.value)


ACTS = st.lists(st.tuples(st.sampled_from(["edit", "edit", "undo", "redo"]), st.text("ab", max_size=4)))


@example(acts=[("edit", "a"), ("edit", "b"), ("undo", ""), ("undo", ""), ("redo", ""), ("redo", ""), ("undo", "")])
@given(acts=ACTS)
def test_one_writer_alone_walks_a_plain_stack(acts: list[tuple[str, str]]) -> None:
    with blocks_store() as tx:
        made(tx)
        who = author(policy=replace(SHORT, limits=replace(SHORT.limits, changes=500)))
        edit = by_agent(tx, who, "notes")
        back, forth, text = list[str](), list[str](), ""
        for act, part in acts:
            try:
                if act == "edit":
                    if part:
                        append_block(tx, who, "notes", f"{part}\n")
                        back, forth, text = [*back, text], [], f"{text}{part}\n"
                elif act == "undo":
                    undo(edit, AGENT)
                    forth, text = [*forth, text], back.pop()
                else:
                    redo(edit, AGENT)
                    back, text = [*back, text], forth.pop()
            except Refused:
                assert not (back if act == "undo" else forth)
            assert content(tx) == text


# ---------------------------------------------------------------- reverting one writer


def test_what_the_job_wrote_goes_and_what_i_typed_stays(tx: Tx) -> None:
    block = made(tx, "Ana likes tea.\n")
    replace_in_block(tx, author(JOB, now=NOW + timedelta(hours=1)), "notes", "tea", "coffee")
    append_block(tx, author(MIA, now=NOW + timedelta(hours=2)), "notes", "She has a cat.\n")
    append_block(tx, author(JOB, now=NOW + timedelta(hours=3)), "notes", "She is tired.\n")
    past = block_history(tx, block.id)
    done = revert(by_hand(tx, hand(), block), past, JOB, past.since(NOW + timedelta(minutes=30)))
    assert done.block.content == content(tx) == "Ana likes tea.\nShe has a cat.\n"
    assert ([each.seq for each in done.changes], done.plan.lost) == ([2, 4], ())
    change = block_history(tx, block.id).change(5)
    assert (change.writer, change.note.kind, change.note.whose) == (person_writer(OWNER_ID), ChangeKind.REVERT, JOB)
    with pytest.raises(Refused, match="none of what job:sleep changed is left"):
        revert(by_hand(tx, hand(), block), block_history(tx, block.id), JOB, 0)
    with pytest.raises(Refused, match="job:other has changed nothing here since version 0"):
        revert(by_hand(tx, hand(), block), past, Writer("job:other"), 0)
    with pytest.raises(Refused, match="it is at version 5 now"):
        revert(by_hand(tx, hand(), block), past, JOB, 0)


Edits = list[tuple[int, int, int, str]]
TURNS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 50), st.integers(0, 5), st.text("xyz", max_size=4)), max_size=24
)


@given(edits=TURNS, since=st.integers(0, 24))
def test_a_revert_leaves_nothing_of_the_writer_and_loses_nothing_of_others(edits: Edits, since: int) -> None:
    """Over archives: every character that others wrote and did not remove stands, in order, and no other of the job."""
    with blocks_store() as tx:
        block, marks = made(tx), iter(range(0x4E00, 0x9FFF))  # each written character is another one
        text, theirs, after = "", set[str](), since
        for number, place, size, part in edits:
            new = "".join(chr(next(marks)) for _ in part)
            at = place % (len(text) + 1)
            wanted = text[:at] + new + text[at + size :]
            if wanted != text:
                write_block(tx, author((AGENT, JOB)[number]), "notes", wanted)
                if number and row(tx).version > after:
                    theirs |= set(new)
            text = wanted
        past = block_history(tx, block.id)
        try:
            revert(by_hand(tx, hand(), block), past, JOB, min(after, past.version))
        except Refused:
            assert not set(text) & theirs
            return
        now = content(tx)
        assert not set(now) & theirs
        stays = [char for char in text if char not in theirs]
        assert [char for char in now if char in stays] == stays
        assert verify_block(tx, block.id) == []


def test_what_others_wrote_does_not_run_into_the_line_before_what_goes(tx: Tx) -> None:
    block = made(tx, "Ana")
    append_block(tx, author(JOB), "notes", "likes tea\n")
    append_block(tx, author(MIA), "notes", "has a cat\n")
    revert(by_hand(tx, hand(), block), block_history(tx, block.id), JOB, 1)
    assert content(tx) == "Ana\nhas a cat\n"


# ---------------------------------------------------------------- whole values


def test_a_job_that_thought_for_long_wipes_nothing(tx: Tx) -> None:
    block = made(tx, "Ana: likes tea\nBea: likes milk\n")
    seen = row(tx).version
    append_block(tx, author(MIA), "notes", "Cem: likes juice\n")
    replace_in_block(tx, author(MIA), "notes", "milk", "oat milk")
    text = "Ana likes tea and cake\nBea: likes milk\n"
    job = by_agent(tx, author(JOB), "notes")
    after = write(job, block, text, seen=seen)
    assert after.content == "Ana likes tea and cake\nBea: likes oat milk\nCem: likes juice\n"
    with pytest.raises(Refused, match="there is no version 77"):
        write(job, block, text, seen=77)
    assert write(job, block, "new", seen=row(tx).version).content == "new"


def test_a_version_that_left_the_document_is_too_old_to_merge_with(tx: Tx) -> None:
    block = made(tx)
    for number in range(30):
        append_block(tx, author(), "notes", f"{number}\n")
    with pytest.raises(BlockChanged, match=r"changed since you read it, so nothing was done\. It is now:\n0\n1\n"):
        write(by_agent(tx, author(JOB), "notes"), block, "x", seen=2)


# ---------------------------------------------------------------- rights, limits, trust


def test_an_agent_goes_back_only_as_far_as_it_may_overwrite(tx: Tx) -> None:
    made(tx, "a\n", permission=Permission.APPEND)
    append_block(tx, author(), "notes", "b\n")
    with pytest.raises(BlockRefused, match="has the permission append here, so overwrite is not possible"):
        roll_back(by_agent(tx, author(), "notes"), 1)
    with pytest.raises(BlockRefused, match="has the permission append here, so overwrite is not possible"):
        undo(by_agent(tx, author(), "notes"), AGENT)
    tx.run("UPDATE memory_blocks SET permission = 'human'")
    with pytest.raises(BlockRefused, match="and only an agent's turn can ask for it"):
        undo(by_agent(tx, author(), "notes"), AGENT)
    with pytest.raises(ApprovalNeeded):
        undo(by_agent(tx, author(turn=TurnId(1)), "notes"), AGENT)
    assert content(tx) == "a\nb\n"


def test_people_act_under_their_own_rights(tx: Tx) -> None:
    mine = made(tx, "a", about=PersonId("discord:7"), permission=Permission.READ_ONLY)
    someone = hand(PersonId("discord:8"), owner=False, trust=Trust.STRANGER)
    me = hand(PersonId("discord:7"), owner=False, trust=Trust.STRANGER)
    with pytest.raises(BlockRefused, match="is not about you"):
        by_writing(tx, someone, mine, "b")
    done = by_writing(tx, me, mine, "b")
    assert (done.content, done.trust) == ("b", Trust.STRANGER)
    undo(by_hand(tx, me, mine), person_writer(me.person))
    by_writing(tx, hand(), mine, "c")
    with pytest.raises(BlockTooLong, match="would hold 6,000 characters, 1,000 more than its limit of 5,000"):
        by_writing(tx, hand(), mine, "x" * 6_000)
    secret = made(tx, audience=person_audience(me.person))
    with pytest.raises(BlockRefused, match="cannot be seen from here"):
        by_writing(tx, hand(), secret, "c")
    log = made(tx, label="log", type=BlockType.LOG)
    with pytest.raises(BlockRefused, match="is a log"):
        by_writing(tx, hand(), log, "c")
    core = made(tx, label="me", type=BlockType.CORE, about=me.person, audience=PUBLIC)
    with pytest.raises(BlockRefused, match="which will ask for approval"):
        by_writing(tx, me, core, "c")


# ---------------------------------------------------------------- changes that Loro keeps as several


def test_rolling_back_is_a_new_change_that_says_so(tx: Tx) -> None:
    block = made(tx, "one\n")
    for word in ("two\n", "three\n"):
        append_block(tx, author(), "notes", word)
    done = roll_back(by_agent(tx, author(JOB), "notes"), 2)
    assert (done.block.content, done.plan.removed, content(tx)) == ("one\ntwo\n", 6, "one\ntwo\n")
    change = block_history(tx, block.id).change(4)
    assert (change.writer, change.note.kind, change.note.of) == (JOB, ChangeKind.ROLLBACK, 2)
    assert block_history(tx, block.id).text_at(3) == "one\ntwo\nthree\n"
    with pytest.raises(Refused, match="it already reads as it did at version 2"):
        roll_back(by_agent(tx, author(), "notes"), 2)
    with pytest.raises(Refused, match="there is no version 9: the history has versions 0 to 4"):
        roll_back(by_agent(tx, author(), "notes"), 9)
    with pytest.raises(Refused, match="there is no version -1"):
        roll_back(by_agent(tx, author(), "notes"), -1)
