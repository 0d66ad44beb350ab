"""Blocks over a real database: every door under the one table of rights, audiences, limits, context and sharing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.blocks import (
    CONSTELLATION_OWNER,
    Author,
    BlockType,
    NewBlock,
    NewSettings,
    Operation,
    Permission,
    append_block,
    away_blocks,
    change_block,
    delete_block,
    ensure_block,
    find_block,
    move_block,
    replace_in_block,
    swap_blocks,
    visible_blocks,
    write_block,
)
from memory.blocks.changes import SYSTEM
from memory.blocks.lifecycle import deleted_blocks
from memory.blocks.shares import Share, share_block, share_by_agent, shares_of, unshare_block, unshare_by_agent
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust, may_write_down
from memory.permission_requests import ApprovalNeeded, Permit
from memory.store.database import Tx
from memory.store.errors import BlockNotFound, BlockRefused, BlockTooLong, Refused
from memory.store.ids import AgentId
from memory.store.records import replace
from tests.memory.blocks.block_parts import (
    ADA,
    BEA,
    CHANNEL,
    DM,
    GUILD,
    IN_CHANNEL,
    IN_DM,
    IN_GUILD,
    MIA,
    NOW,
    author,
    blocks_store,
    made,
    new,
    row,
)


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
        Operation.PIN: lambda: move_block(tx, who, label, Operation.PIN),
        Operation.UNPIN: lambda: move_block(tx, who, label, Operation.UNPIN),
        Operation.ARCHIVE: lambda: move_block(tx, who, label, Operation.ARCHIVE),
        Operation.LOAD: lambda: move_block(tx, who, label, Operation.LOAD),
        Operation.SWAP: lambda: swap_blocks(tx, who, label, "away"),
        Operation.SHARE: lambda: share_by_agent(tx, who, label, "Bea", Permission.APPEND),
    }
    doors[operation]()


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
    **dict.fromkeys((Operation.OVERWRITE, Operation.SWAP), 2),
    **dict.fromkeys((Operation.DELETE, Operation.CHANGE), 3),
}
SHARES = dict.fromkeys(Permission, "no") | {Permission.READ_WRITE: "yes", Permission.ADMIN: "yes"}


def expected_of(permission: Permission, operation: Operation) -> str:
    return SHARES[permission] if operation is Operation.SHARE else ROWS[permission].split()[COLUMN[operation]]


@pytest.mark.parametrize("operation", Operation)
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


@pytest.mark.parametrize(
    ("before", "after"), [(BlockType.CORE, BlockType.WORKING), (BlockType.WORKING, BlockType.CORE)]
)
def test_foreign_words_make_no_core_block_another_and_none_core(tx: Tx, before: BlockType, after: BlockType) -> None:
    made(tx, new(type=before, permission=Permission.ADMIN))
    with pytest.raises(ApprovalNeeded, match="always in context"):
        change_block(tx, author(trust=Trust.WEB), "notes", NewSettings(type=after))
    assert row(tx).type is before


@pytest.mark.parametrize("permission", [Permission.PARTNER, Permission.HUMAN])
def test_what_needs_a_yes_is_done_with_one_for_the_block_as_it_is(tx: Tx, permission: Permission) -> None:
    made(tx, new(permission=permission))
    with pytest.raises(ApprovalNeeded, match=f"notes” has the permission {permission}, so append needs") as asked:
        append_block(tx, author(), "notes", "x")
    permit = Permit(frozenset({asked.value.need.mark}))
    assert append_block(tx, replace(author(), permit=permit), "notes", "x").content == "x"
    assert "again" not in asked.value.need.reason
    with pytest.raises(ApprovalNeeded) as again:
        append_block(tx, replace(author(), permit=permit), "notes", "x")
    why = " (again, because the block has changed: version 0 then, 1 now)"
    assert again.value.need.reason == f"{asked.value.need.reason}{why}"


@pytest.mark.parametrize(
    ("kind", "audience", "trust", "asks"),
    [
        (BlockType.CORE, GUILD, Trust.STRANGER, True),
        (BlockType.CORE, GUILD, Trust.APPROVED, False),
        (BlockType.WORKING, GUILD, Trust.STRANGER, False),
        (BlockType.CORE, DM, Trust.STRANGER, False),  # read by nobody but the stranger
    ],
)
def test_a_strangers_words_enter_a_core_block_that_others_read_only_with_a_yes(
    tx: Tx, kind: BlockType, audience: Audience, trust: Trust, asks: bool
) -> None:
    made(tx, new(audience=audience, type=kind))
    writer = replace(author(), scope=Scope(audience), trust=trust)
    if not asks:
        assert append_block(tx, writer, "notes", "x").content == "x"
        return
    with pytest.raises(ApprovalNeeded, match="a stranger's words"):
        append_block(tx, writer, "notes", "x")


def test_logs_of_the_system_are_appended_by_the_system_only(tx: Tx) -> None:
    made(tx, new("event_log", type=BlockType.LOG, permission=Permission.READ_ONLY))
    with pytest.raises(BlockRefused, match="read_only"):
        append_block(tx, author(), "event_log", "x")
    assert append_block(tx, author(writer=SYSTEM), "event_log", "it rained").content == "it rained"


# ---------------------------------------------------------------- making and finding


@pytest.mark.parametrize(
    ("block", "error"),
    [
        (new(description="  "), Refused),
        (new(profile="a\x00"), Refused),
        (new(content="\udc00"), Refused),
        (new(char_limit=3, content="four"), BlockTooLong),
    ],
)
def test_a_block_that_makes_no_sense_is_refused(tx: Tx, block: NewBlock, error: type[Exception]) -> None:
    with pytest.raises(error):
        made(tx, block)


def test_blocks_come_core_first_then_working_by_label_and_others_only_when_asked(tx: Tx) -> None:
    for label, kind in (("b", "working"), ("z", "core"), ("a", "working"), ("old", "archival"), ("log", "log")):
        made(tx, new(label, type=BlockType(kind)))
    assert [block.label for block in visible_blocks(tx, ADA, IN_GUILD)] == ["z", "a", "b"]
    everything = visible_blocks(tx, ADA, IN_GUILD, tuple(BlockType))
    assert [block.label for block in everything] == ["z", "a", "b", "old", "log"]


def test_working_blocks_can_be_narrowed_to_the_pinned_and_those_referred_to(tx: Tx) -> None:
    made(tx, new("core", type=BlockType.CORE))
    made(tx, new("pinned", pinned=True))
    by_id = made(tx, new("by id"))
    for label in ("by label", "neither"):
        made(tx, new(label))
    seen = visible_blocks(tx, ADA, IN_GUILD, referred=["by label", by_id.id])
    assert [block.label for block in seen] == ["core", "by id", "by label", "pinned"]


def test_a_block_that_is_not_found_is_told_by_those_that_the_scope_may_use(tx: Tx) -> None:
    for audience in (PUBLIC, GUILD, CHANNEL, DM, OWNER):
        made(tx, new(f"in {audience}", audience))
    with pytest.raises(BlockNotFound, match=r"available: in guild:discord:1, in public$"):
        find_block(tx, ADA, "in owner", IN_GUILD)


def test_of_several_instances_the_own_audience_comes_first_then_the_widest(tx: Tx) -> None:
    for audience in (GUILD, CHANNEL, PUBLIC):
        made(tx, new(audience=audience))
    assert find_block(tx, ADA, "notes", IN_CHANNEL).audience == CHANNEL
    assert find_block(tx, ADA, "notes", IN_DM).audience == PUBLIC


@pytest.mark.parametrize(
    "label", ["", " ", "two\nlines", "<block>", 'a" permission="admin', "x" * 300, " a", "a ", "a\x00", "a\u2028b"]
)
def test_labels_that_would_break_a_prompt_are_refused(tx: Tx, label: str) -> None:
    with pytest.raises(Refused, match="a block needs a name"):
        made(tx, new(label))
    with pytest.raises((Refused, BlockNotFound)):
        append_block(tx, author(), label, "x")


# ---------------------------------------------------------------- editing


def test_edits_change_text_search_words_and_trust(tx: Tx) -> None:
    made(tx, new(content="likes tea"))
    assert replace_in_block(tx, author(), "notes", "tea", "coffee").content == "likes coffee"
    block = append_block(tx, author(trust=Trust.STRANGER, now=NOW + timedelta(minutes=1)), "notes", "and cake")
    assert block == row(tx)
    assert (block.content, block.trust, block.updated_at) == (
        "likes coffee\nand cake",
        Trust.STRANGER,
        NOW + timedelta(minutes=1),
    )
    assert len(tx.all("SELECT 1 FROM block_fts WHERE block_fts MATCH 'cake'")) == 1
    assert tx.all("SELECT 1 FROM block_fts WHERE block_fts MATCH 'tea'") == []
    assert write_block(tx, author(), "notes", "").content == ""


def test_a_write_over_the_limit_is_refused_with_the_numbers_and_nothing_is_cut(tx: Tx) -> None:
    made(tx, new("persona", type=BlockType.CORE, content="x" * 1_990))
    with pytest.raises(
        BlockTooLong, match="block “persona” would hold 2,036 characters, 36 more than its limit of 2,000"
    ):
        append_block(tx, author(), "persona", "y" * 45)
    assert row(tx, "persona").content == "x" * 1_990
    tx.run("UPDATE memory_blocks SET char_limit = 10")
    assert len(write_block(tx, author(), "persona", "x" * 1_000).content) == 1_000


def test_an_edit_that_changes_nothing_stores_nothing(tx: Tx) -> None:
    block = made(tx, new(content="same"))
    assert write_block(tx, author(now=NOW + timedelta(days=1)), "notes", "same") == block
    assert tx.all("SELECT seq FROM memory_block_updates")[0]["seq"] == 1


# ---------------------------------------------------------------- in and out of context


def test_a_block_is_archived_loaded_and_pinned(tx: Tx) -> None:
    made(tx, new(pinned=True, content="kept"))
    assert in_context(tx) == ["notes"]
    assert move_block(tx, author(), "notes", Operation.ARCHIVE).type is BlockType.ARCHIVAL
    assert in_context(tx) == []
    assert row(tx).content == "kept"
    loaded = move_block(tx, author(), "notes", Operation.LOAD)
    assert loaded == row(tx)
    assert (loaded.type, loaded.pinned, loaded.content) == (BlockType.WORKING, True, "kept")
    assert in_context(tx) == ["notes"]
    assert not move_block(tx, author(), "notes", Operation.UNPIN).pinned
    assert in_context(tx) == []
    move_block(tx, author(), "notes", Operation.PIN)
    assert in_context(tx) == ["notes"]


def test_a_swap_is_one_step_and_all_or_nothing(tx: Tx) -> None:
    made(tx, new("old", pinned=True))
    made(tx, new("next", type=BlockType.ARCHIVAL))
    gone, came = swap_blocks(tx, author(), "old", "next")
    assert (gone.type, came.type) == (BlockType.ARCHIVAL, BlockType.WORKING)
    assert in_context(tx) == ["next"]
    with pytest.raises(BlockRefused, match="block “next” is not archived, so it cannot be loaded; pin it to use it"):
        swap_blocks(tx, author(), "next", "next")
    assert in_context(tx) == ["next"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (BlockType.CORE, "always in context"),
        (BlockType.LOG, "is a log and stays as it is"),
        (BlockType.ARCHIVAL, "load it"),
    ],
)
def test_only_working_blocks_are_pinned_and_archived(tx: Tx, kind: BlockType, words: str) -> None:
    made(tx, new(type=kind))
    with pytest.raises(BlockRefused, match=words):
        move_block(tx, author(), "notes", Operation.ARCHIVE)
    with pytest.raises(BlockRefused, match=words):
        move_block(tx, author(), "notes", Operation.PIN)


def test_a_private_turn_moves_no_block_that_others_see(tx: Tx) -> None:
    made(tx, new(permission=Permission.ADMIN))
    made(tx, new("away", type=BlockType.ARCHIVAL, permission=Permission.ADMIN))
    made(tx, new("private", DM, type=BlockType.ARCHIVAL))
    for operation in (each for each in Operation if each is not Operation.READ):
        label = "away" if operation is Operation.LOAD else "notes"
        with pytest.raises(BlockRefused, match="who cannot read this"):
            act(tx, author(IN_DM), operation, label)
    assert move_block(tx, author(IN_DM), "private", Operation.LOAD).pinned


# ---------------------------------------------------------------- audience and instances


def test_what_was_said_in_private_is_not_written_where_others_read_and_the_right_block_is_named(tx: Tx) -> None:
    made(tx, new("persona", PUBLIC))
    with pytest.raises(
        BlockRefused, match=r"read by people \(public\) who cannot read this; there is no block here to write to"
    ):
        append_block(tx, author(IN_CHANNEL), "persona", "x")
    made(tx, new("rules", CHANNEL, permission=Permission.READ_ONLY))
    made(tx, new("channel_notes", CHANNEL))
    with pytest.raises(BlockRefused, match="write to channel_notes instead"):
        append_block(tx, author(IN_CHANNEL), "persona", "x")
    assert find_block(tx, ADA, "persona", IN_CHANNEL).content == ""


@pytest.mark.parametrize(
    ("move", "named"),
    [
        (lambda tx, by, label: move_block(tx, by, label, Operation.ARCHIVE), "archive"),
        (delete_block, "delete"),
        (lambda tx, by, label: move_block(tx, by, label, Operation.PIN), "pin"),
    ],
)
def test_what_cannot_be_done_to_a_block_from_here_names_no_other_block(tx: Tx, move: Any, named: str) -> None:
    made(tx, new("rules", PUBLIC, type=BlockType.WORKING, permission=Permission.ADMIN))
    made(tx, new("channel_notes", CHANNEL))
    with pytest.raises(
        BlockRefused,
        match=rf"who cannot read this, so {named} is not possible here: do it where all of them can see it",
    ):
        move(tx, author(IN_CHANNEL), "rules")


def test_a_template_makes_the_instance_of_the_turns_audience(tx: Tx) -> None:
    made(tx, new(content="for the guild"))
    template = new(about=MIA)
    block = append_block(tx, author(IN_DM, template=template), "notes", "for Mia")
    assert (block.audience, block.content, block.about) == (DM, "for Mia", MIA)
    assert append_block(tx, author(IN_DM, template=template), "notes", " alone").id == block.id
    assert row(tx).content == "for the guild"


def test_a_template_of_another_label_or_owner_is_no_help(tx: Tx) -> None:
    made(tx)
    for template in (new("other"), new(owner=BEA)):
        with pytest.raises(BlockRefused):
            append_block(tx, author(IN_DM, template=template), "notes", "x")
    assert len(visible_blocks(tx, ADA, IN_DM)) == 1


def test_ensuring_makes_a_block_once_and_then_renews_only_profile_and_description(tx: Tx) -> None:
    first = ensure_block(tx, new(profile="Mia, member", content="begin"), NOW)
    append_block(tx, author(), "notes", "more")
    again = ensure_block(tx, new(profile="Mia, moderator", description="People.", content="other", pinned=True), NOW)
    assert again.id == first.id
    assert (again.profile, again.description, again.content) == ("Mia, moderator", "People.", "begin\nmore")
    assert not again.pinned
    assert ensure_block(tx, new(audience=DM), NOW).id != first.id


AUDIENCES = [PUBLIC, OWNER, GUILD, DM, Audience("guild:discord:2"), CHANNEL]
HEARERS = [*map(Scope, AUDIENCES), IN_DM, IN_CHANNEL]


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
        tx.run("UPDATE memory_blocks SET deleted_at = '2026'")
        found = [deleted_blocks(tx, scope, f"b{number}") for number in range(len(worlds))]
        assert found == [[(ADA, audience)] if scope.may_use(audience) else [] for audience, _, _ in worlds]


@pytest.mark.parametrize("own", Permission)
@pytest.mark.parametrize("owner", [ADA, CONSTELLATION_OWNER])
def test_what_is_said_of_a_share_is_what_its_agent_may_do(tx: Tx, own: Permission, owner: AgentId) -> None:
    block = made(tx, new(owner=owner, permission=own))
    for level in (Permission.READ_ONLY, Permission.APPEND, Permission.READ_WRITE):
        share_block(tx, block, BEA, level, NOW)
        (share,) = shares_of(tx, block)
        assert share.access is find_block(tx, BEA, "notes", IN_GUILD).access
        assert share.given is level


# ---------------------------------------------------------------- sharing


def test_a_shared_block_is_seen_edited_as_far_as_allowed_and_lost_again(tx: Tx) -> None:
    block = made(tx, new(content="one"))
    share_block(tx, block, BEA, Permission.READ_ONLY, NOW)
    shared = find_block(tx, BEA, "notes", IN_GUILD)
    assert (shared.shared_from, shared.access, shared.permission) == ("Ada", "read_only", "read_write")
    with pytest.raises(BlockRefused):
        append_block(tx, author(agent=BEA), "notes", "x")
    share_block(tx, block, BEA, Permission.APPEND, NOW)
    append_block(tx, author(agent=BEA), "notes", "two")
    assert row(tx).content == "one\ntwo"
    assert visible_blocks(tx, BEA, Scope(PUBLIC)) == []
    unshare_block(tx, block, BEA)
    with pytest.raises(Refused, match="is not shared with “agt_bea”; it is shared with nobody"):
        unshare_block(tx, block, BEA)
    assert visible_blocks(tx, BEA, IN_GUILD) == []


def test_a_label_that_two_others_use_must_be_given_with_its_owner(tx: Tx) -> None:
    share_block(tx, made(tx), BEA, Permission.READ_ONLY, NOW)
    made(tx, new(owner=CONSTELLATION_OWNER))
    with pytest.raises(BlockNotFound, match="Ada/notes, _constellation_/notes"):
        find_block(tx, BEA, "notes", IN_GUILD)
    assert find_block(tx, BEA, "_constellation_/notes", IN_GUILD).owner == CONSTELLATION_OWNER


def test_a_share_gives_no_more_than_the_block_allows_its_owner(tx: Tx) -> None:
    share_block(tx, made(tx, new(permission=Permission.PARTNER)), BEA, Permission.READ_WRITE, NOW)
    assert find_block(tx, BEA, "notes", IN_GUILD).access is Permission.PARTNER


def test_a_block_of_the_constellation_has_a_level_for_each_agent(tx: Tx) -> None:
    block = made(tx, new("partner_profile", owner=CONSTELLATION_OWNER, permission=Permission.READ_ONLY))
    share_block(tx, block, BEA, Permission.READ_WRITE, NOW)
    with pytest.raises(BlockRefused):
        append_block(tx, author(), "partner_profile", "x")
    assert append_block(tx, author(agent=BEA), "partner_profile", "x").shared_from is None


def test_an_agent_shares_its_own_block_by_its_admin_right_and_takes_it_back_at_once(tx: Tx) -> None:
    made(tx, new(permission=Permission.ADMIN, content="one", pinned=True))
    block = share_by_agent(tx, author(), "notes", "Bea", Permission.READ_WRITE)
    assert shares_of(tx, block) == [Share("Bea", Permission.READ_WRITE, Permission.READ_WRITE)]
    assert in_context(tx, BEA) == ["notes"]
    assert replace_in_block(tx, author(agent=BEA), "notes", "one", "two").id == block.id
    assert row(tx).content == "two"
    with pytest.raises(BlockRefused, match="share is not possible"):
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


def test_shares_that_make_no_sense_are_refused(tx: Tx) -> None:
    made(tx, new(permission=Permission.ADMIN))
    with pytest.raises(Refused, match="not as admin"):
        share_by_agent(tx, author(), "notes", "Bea", Permission.ADMIN)
    with pytest.raises(Refused, match="already belongs to that agent"):
        share_by_agent(tx, author(), "notes", "Ada", Permission.APPEND)
    with pytest.raises(Refused, match=r"There is no agent “Zoe”\. Choose from: Ada, Bea"):
        share_by_agent(tx, author(), "notes", "Zoe", Permission.APPEND)


def test_a_recipient_moves_a_shared_block_no_further_than_its_right(tx: Tx) -> None:
    block = made(tx, new(permission=Permission.ADMIN))
    share_block(tx, block, BEA, Permission.READ_ONLY, NOW)
    with pytest.raises(BlockRefused, match="Ada/notes” has the permission read_only here, so pin is not possible"):
        move_block(tx, author(agent=BEA), "notes", Operation.PIN)
    share_block(tx, block, BEA, Permission.APPEND, NOW)
    assert move_block(tx, author(agent=BEA), "notes", Operation.PIN).pinned
    with pytest.raises(BlockRefused, match="delete is not possible"):
        delete_block(tx, author(agent=BEA), "notes")
