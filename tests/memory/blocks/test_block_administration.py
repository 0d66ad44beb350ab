"""Blocks as wholes: in and out of context, pinned, shared by agents; every door under the one table of rights."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.blocks import (
    CONSTELLATION_OWNER,
    Author,
    BlockType,
    Decision,
    NewSettings,
    Operation,
    Permission,
    append_block,
    archive_block,
    away_blocks,
    change_block,
    decide,
    delete_block,
    find_block,
    load_block,
    pin_block,
    replace_in_block,
    swap_blocks,
    visible_blocks,
    write_block,
)
from memory.blocks.document import Writer
from memory.blocks.lifecycle import Share, share_block, share_by_agent, shares_of, unshare_by_agent
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust, may_write_down
from memory.requests import ApprovalNeeded, Permit
from memory.store.database import Tx
from memory.store.errors import BlockNotFound, BlockRefused, Refused
from memory.store.ids import AgentId
from tests.memory.blocks.block_parts import ADA, BEA, DM, GUILD, IN_DM, IN_GUILD, NOW, author, blocks_store, made, new


def in_context(tx: Tx, agent: AgentId = ADA) -> list[str]:
    return [block.label for block in visible_blocks(tx, agent, IN_GUILD, referred=())]


# ---------------------------------------------------------------- rights


def act(tx: Tx, who: Author, operation: Operation, label: str) -> None:
    """Do it by the operation's own door."""
    doors: dict[Operation, Callable[[], object]] = {
        Operation.READ: lambda: find_block(tx, who.agent, label, who.scope),
        Operation.APPEND: lambda: append_block(tx, who, label, "x"),
        Operation.OVERWRITE: lambda: write_block(tx, who, label, "other"),
        Operation.DELETE: lambda: delete_block(tx, who, label),
        Operation.CHANGE: lambda: change_block(tx, who, label, NewSettings(description="Other words")),
        Operation.PIN: lambda: pin_block(tx, who, label, pinned=True),
        Operation.UNPIN: lambda: pin_block(tx, who, label, pinned=False),
        Operation.ARCHIVE: lambda: archive_block(tx, who, label),
        Operation.LOAD: lambda: load_block(tx, who, label),
        Operation.SWAP: lambda: swap_blocks(tx, who, label, "away"),
        Operation.SHARE: lambda: share_by_agent(tx, who, label, "Bea", Permission.APPEND),
    }
    doors[operation]()


DOORS = [
    each
    for each in Operation
    if each not in (Operation.ROLLBACK, Operation.UNDO, Operation.REVERT, Operation.WIDEN)  # have no door here
]
ROWS = {  # as in the specification: read, append, overwrite, delete
    Permission.READ_ONLY: "yes no no no",
    Permission.PARTNER: "yes ask ask no",
    Permission.HUMAN: "yes ask ask no",
    Permission.APPEND: "yes yes no no",
    Permission.READ_WRITE: "yes yes yes no",
    Permission.ADMIN: "yes yes yes yes",
}
COLUMN = {
    **dict.fromkeys((Operation.READ,), 0),
    **dict.fromkeys((Operation.APPEND, Operation.PIN, Operation.UNPIN, Operation.ARCHIVE, Operation.LOAD), 1),
    **dict.fromkeys((Operation.OVERWRITE, Operation.SWAP, Operation.ROLLBACK, Operation.UNDO, Operation.REVERT), 2),
    **dict.fromkeys((Operation.DELETE, Operation.CHANGE, Operation.WIDEN), 3),
}
SHARES = dict.fromkeys(Permission, "no") | {Permission.READ_WRITE: "yes", Permission.ADMIN: "yes"}


def expected_of(permission: Permission, operation: Operation) -> str:
    return SHARES[permission] if operation is Operation.SHARE else ROWS[permission].split()[COLUMN[operation]]


@pytest.mark.parametrize("operation", DOORS)
@pytest.mark.parametrize("permission", Permission)
def test_every_door_does_what_the_table_says(tx: Tx, permission: Permission, operation: Operation) -> None:
    kind = BlockType.ARCHIVAL if operation is Operation.LOAD else BlockType.WORKING
    made(tx, new(permission=permission, type=kind))
    made(tx, new("away", type=BlockType.ARCHIVAL))
    expected = expected_of(permission, operation)
    if expected == "yes":
        act(tx, author(), operation, "notes")
        return
    error = BlockRefused if expected == "no" else ApprovalNeeded
    before = [tuple(row) for row in tx.all("SELECT * FROM memory_blocks")]
    with pytest.raises(error):
        act(tx, author(), operation, "notes")
    assert [tuple(row) for row in tx.all("SELECT * FROM memory_blocks")] == before


@pytest.mark.parametrize("operation", Operation)
def test_every_operation_counts_as_one_column_of_the_table(operation: Operation) -> None:
    for permission in Permission:
        word = {Decision.ALLOW: "yes", Decision.DENY: "no"}.get(decide(permission, operation), "ask")
        assert word == expected_of(permission, operation)


def test_an_admin_right_over_the_block_of_another_does_not_share_it() -> None:
    for operation in (Operation.SHARE, Operation.WIDEN):
        assert decide(Permission.ADMIN, operation, own=False) is Decision.DENY


def test_a_job_has_nobody_to_ask(tx: Tx) -> None:
    made(tx, new(permission=Permission.HUMAN))
    with pytest.raises(BlockRefused, match="needs approval, and no turn can ask for it"):
        append_block(tx, author(writer=Writer("job:sleep"), turn=None), "notes", "x")


@pytest.mark.parametrize(
    ("before", "after"), [(BlockType.CORE, BlockType.WORKING), (BlockType.WORKING, BlockType.CORE)]
)
def test_foreign_words_make_no_core_block_another_and_none_core(tx: Tx, before: BlockType, after: BlockType) -> None:
    made(tx, new(type=before, permission=Permission.ADMIN))
    with pytest.raises(ApprovalNeeded, match="always in context"):
        change_block(tx, author(trust=Trust.WEB), "notes", NewSettings(type=after))
    assert find_block(tx, ADA, "notes", IN_GUILD).type is before


# ---------------------------------------------------------------- in and out of context


def test_a_block_is_archived_loaded_and_pinned(tx: Tx) -> None:
    made(tx, new(pinned=True, content="kept"))
    assert in_context(tx) == ["notes"]
    assert archive_block(tx, author(), "notes").type is BlockType.ARCHIVAL
    assert in_context(tx) == []
    assert find_block(tx, ADA, "notes", IN_GUILD).content == "kept"
    loaded = load_block(tx, author(), "notes")
    assert loaded == find_block(tx, ADA, "notes", IN_GUILD)
    assert (loaded.type, loaded.pinned, loaded.content) == (BlockType.WORKING, True, "kept")
    assert in_context(tx) == ["notes"]
    assert not pin_block(tx, author(), "notes", pinned=False).pinned
    assert in_context(tx) == []
    pin_block(tx, author(), "notes", pinned=True)
    assert in_context(tx) == ["notes"]


def test_a_swap_is_one_step_and_all_or_nothing(tx: Tx) -> None:
    made(tx, new("old", pinned=True))
    made(tx, new("next", type=BlockType.ARCHIVAL))
    gone, came = swap_blocks(tx, author(), "old", "next")
    assert (gone.type, came.type) == (BlockType.ARCHIVAL, BlockType.WORKING)
    assert in_context(tx) == ["next"]
    with pytest.raises(BlockRefused, match="next is not a archival block, so no swap: it is a working block already"):
        swap_blocks(tx, author(), "next", "next")
    assert in_context(tx) == ["next"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (BlockType.CORE, "always in context"),
        (BlockType.LOG, "a log keeps its entries"),
        (BlockType.ARCHIVAL, "load it"),
    ],
)
def test_only_working_blocks_are_pinned_and_archived(tx: Tx, kind: BlockType, words: str) -> None:
    made(tx, new(type=kind))
    with pytest.raises(BlockRefused, match=words):
        archive_block(tx, author(), "notes")
    with pytest.raises(BlockRefused, match=words):
        pin_block(tx, author(), "notes", pinned=True)


def test_a_private_turn_moves_no_block_that_others_see(tx: Tx) -> None:
    made(tx, new(permission=Permission.ADMIN))
    made(tx, new("away", type=BlockType.ARCHIVAL, permission=Permission.ADMIN))
    made(tx, new("private", DM, type=BlockType.ARCHIVAL))
    for operation in (each for each in DOORS if each is not Operation.READ):
        label = "away" if operation is Operation.LOAD else "notes"
        with pytest.raises(BlockRefused, match="who cannot read this"):
            act(tx, author(IN_DM), operation, label)
    assert load_block(tx, author(IN_DM), "private").pinned


# ---------------------------------------------------------------- sharing


def test_an_agent_shares_its_own_block_by_its_admin_right_and_takes_it_back_at_once(tx: Tx) -> None:
    made(tx, new(permission=Permission.ADMIN, content="one", pinned=True))
    block = share_by_agent(tx, author(), "notes", "Bea", Permission.READ_WRITE)
    assert shares_of(tx, block) == [Share("Bea", Permission.READ_WRITE, Permission.READ_WRITE)]
    assert in_context(tx, BEA) == ["notes"]
    assert replace_in_block(tx, author(agent=BEA), "notes", "one", "two").id == block.id
    assert find_block(tx, ADA, "notes", IN_GUILD).content == "two"
    with pytest.raises(BlockRefused, match="no share"):
        share_by_agent(tx, author(agent=BEA), "notes", "Ada", Permission.APPEND)
    unshare_by_agent(tx, author(), "notes", str(BEA))
    assert in_context(tx, BEA) == []
    with pytest.raises(BlockNotFound):
        append_block(tx, author(agent=BEA), "notes", "x")
    with pytest.raises(Refused, match="it is shared with nobody"):
        unshare_by_agent(tx, author(), "notes", "Bea")


@pytest.mark.parametrize("kind", [kind for kind in BlockType if kind is not BlockType.LOG])
def test_what_a_stranger_says_shares_no_block_without_a_yes(tx: Tx, kind: BlockType) -> None:
    block = made(tx, new(permission=Permission.ADMIN, type=kind))
    asks = author(trust=Trust.STRANGER)
    with pytest.raises(
        ApprovalNeeded, match="shared with another agent, and this turn uses a stranger's words"
    ) as asked:
        share_by_agent(tx, asks, "notes", "Bea", Permission.READ_WRITE)
    assert shares_of(tx, block) == []
    with pytest.raises(Refused, match="There is no agent"):
        share_by_agent(tx, asks, "notes", "Zoe", Permission.READ_WRITE)
    share_by_agent(
        tx,
        author(trust=Trust.STRANGER, permit=Permit(frozenset({asked.value.need.mark}))),
        "notes",
        "Bea",
        Permission.READ_WRITE,
    )
    assert [share.agent for share in shares_of(tx, block)] == ["Bea"]


def test_shares_with_oneself_or_nobody_are_refused(tx: Tx) -> None:
    made(tx, new(permission=Permission.ADMIN))
    with pytest.raises(Refused, match="that agent's own"):
        share_by_agent(tx, author(), "notes", "Ada", Permission.APPEND)
    with pytest.raises(Refused, match=r"There is no agent 'Zoe'\. Choose from: Ada, Bea"):
        share_by_agent(tx, author(), "notes", "Zoe", Permission.APPEND)


def test_a_recipient_moves_a_shared_block_no_further_than_its_right(tx: Tx) -> None:
    block = made(tx, new(permission=Permission.ADMIN))
    share_block(tx, block, BEA, Permission.READ_ONLY, NOW)
    with pytest.raises(BlockRefused, match="Ada/notes is read_only here: no pin"):
        pin_block(tx, author(agent=BEA), "notes", pinned=True)
    share_block(tx, block, BEA, Permission.APPEND, NOW)
    assert pin_block(tx, author(agent=BEA), "notes", pinned=True).pinned
    with pytest.raises(BlockRefused, match="no delete"):
        delete_block(tx, author(agent=BEA), "notes")


def test_a_constellation_block_is_shared_by_no_agent(tx: Tx) -> None:
    made(tx, new(owner=CONSTELLATION_OWNER, permission=Permission.ADMIN))
    with pytest.raises(BlockRefused, match="no share"):
        share_by_agent(tx, author(), "notes", "Bea", Permission.APPEND)


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "label", ["", " ", "two\nlines", "<block>", 'a" permission="admin', "x" * 300, " a", "a ", "a\x00", "a\u2028b"]
)
def test_labels_that_would_break_a_prompt_are_refused(tx: Tx, label: str) -> None:
    with pytest.raises(Refused, match="a block needs a label"):
        made(tx, new(label))
    with pytest.raises((Refused, BlockNotFound)):
        append_block(tx, author(), label, "x")


# ---------------------------------------------------------------- audiences

AUDIENCES = [PUBLIC, OWNER, GUILD, DM, Audience("guild:discord:2"), Audience("channel:discord:11")]
HEARERS = [*map(Scope, AUDIENCES), IN_DM, Scope(Audience("channel:discord:11"), frozenset({GUILD}))]


@given(
    st.lists(st.tuples(st.sampled_from(AUDIENCES), st.sampled_from(BlockType), st.booleans()), max_size=8),
    st.sampled_from(HEARERS),
    st.sampled_from([ADA, BEA]),
)
def test_no_door_shows_or_changes_a_block_that_the_scope_may_not(
    worlds: list[tuple[Audience, BlockType, bool]], scope: Scope, agent: AgentId
) -> None:
    with blocks_store() as tx:
        for number, (audience, kind, shared) in enumerate(worlds):
            block = made(tx, new(f"b{number}", audience, type=kind, permission=Permission.ADMIN, content="secret"))
            if shared:
                share_block(tx, block, BEA, Permission.READ_WRITE, NOW)
        mine = [n for n, (_, _, shared) in enumerate(worlds) if agent == ADA or shared]
        known = {f"b{n}" for n in mine if scope.may_use(worlds[n][0])}
        assert {block.label for block in visible_blocks(tx, agent, scope, tuple(BlockType))} == known
        ours, theirs = away_blocks(tx, agent, scope, 20)
        away = {label.removeprefix("Ada/") for label in theirs} if agent == BEA else set(ours)
        assert (ours if agent == BEA else theirs) == []
        assert away == {f"b{n}" for n in mine if f"b{n}" in known and worlds[n][1] in ("working", "archival")}
        before = [tuple(row) for row in tx.all("SELECT content, pinned, block_type FROM memory_blocks ORDER BY n")]
        for number, (audience, _, _) in enumerate(worlds):
            if f"b{number}" in known and may_write_down(scope, audience):
                continue
            for operation in (Operation.APPEND, Operation.OVERWRITE, Operation.PIN, Operation.ARCHIVE, Operation.LOAD):
                with pytest.raises((BlockNotFound, BlockRefused)):
                    act(tx, author(scope, agent), operation, f"b{number}")
        after = [tuple(row) for row in tx.all("SELECT content, pinned, block_type FROM memory_blocks ORDER BY n")]
        assert after == before


@pytest.mark.parametrize("own", Permission)
@pytest.mark.parametrize("owner", [ADA, CONSTELLATION_OWNER])
def test_what_is_said_of_a_share_is_what_its_agent_may_do(tx: Tx, own: Permission, owner: AgentId) -> None:
    block = made(tx, new(owner=owner, permission=own))
    for level in (Permission.READ_ONLY, Permission.APPEND, Permission.READ_WRITE):
        share_block(tx, block, BEA, level, NOW)
        (share,) = shares_of(tx, block)
        assert share.access is find_block(tx, BEA, "notes", IN_GUILD).access
        assert share.given is level
