"""Blocks over a real database: rights, audiences, limits, sharing."""

from datetime import timedelta
from typing import Any

import pytest

from memory.blocks import (
    CONSTELLATION_OWNER,
    BlockType,
    NewBlock,
    Permission,
    append_block,
    archive_block,
    delete_block,
    ensure_block,
    find_block,
    pin_block,
    replace_in_block,
    visible_blocks,
    write_block,
)
from memory.blocks.document import SYSTEM
from memory.blocks.lifecycle import share_block, unshare_block
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust, guild_audience, person_audience
from memory.requests import ApprovalNeeded, Permit
from memory.store.database import Tx
from memory.store.errors import BlockNotFound, BlockRefused, BlockTooLong, Refused
from memory.store.ids import AgentId, GuildId, PersonId
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
    made,
    new,
)

# ---------------------------------------------------------------- rights


@pytest.mark.parametrize("permission", [Permission.PARTNER, Permission.HUMAN])
def test_what_needs_a_yes_is_done_with_one_for_the_block_as_it_is(tx: Tx, permission: Permission) -> None:
    made(tx, new(permission=permission))
    with pytest.raises(ApprovalNeeded, match=f"notes has the permission {permission}, so append requires") as asked:
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
        (
            BlockType.CORE,
            person_audience(PersonId("discord:ann")),
            Trust.STRANGER,
            False,
        ),  # read by nobody but the stranger
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
        (new(label=""), Refused),
        (new(label="two\nlines"), Refused),
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


def test_only_blocks_that_the_scope_may_use_are_seen(tx: Tx) -> None:
    for audience in (PUBLIC, GUILD, CHANNEL, DM, OWNER):
        made(tx, new(f"in {audience}", audience))
    made(tx, new("elsewhere", guild_audience(GuildId("discord:2"))))

    def seen(scope: Scope) -> set[str]:
        return {block.audience for block in visible_blocks(tx, ADA, scope)}

    assert seen(Scope(PUBLIC)) == {PUBLIC}
    assert seen(IN_GUILD) == {PUBLIC, GUILD}
    assert seen(IN_CHANNEL) == {PUBLIC, GUILD, CHANNEL}
    assert seen(IN_DM) == {PUBLIC, GUILD, DM}
    assert DM not in seen(Scope(OWNER))
    with pytest.raises(BlockNotFound, match=r"there are: in guild:discord:1, in public$"):
        find_block(tx, ADA, "in owner", IN_GUILD)


def test_of_several_instances_the_own_audience_comes_first_then_the_widest(tx: Tx) -> None:
    for audience in (GUILD, CHANNEL, PUBLIC):
        made(tx, new(audience=audience))
    assert find_block(tx, ADA, "notes", IN_CHANNEL).audience == CHANNEL
    assert find_block(tx, ADA, "notes", IN_DM).audience == PUBLIC


# ---------------------------------------------------------------- editing


def test_edits_change_text_search_words_and_trust(tx: Tx) -> None:
    made(tx, new(content="likes tea"))
    assert replace_in_block(tx, author(), "notes", "tea", "coffee").content == "likes coffee"
    block = append_block(tx, author(trust=Trust.STRANGER, now=NOW + timedelta(minutes=1)), "notes", " and cake")
    assert block == find_block(tx, ADA, "notes", IN_GUILD)
    assert (block.content, block.trust, block.updated_at) == (
        "likes coffee and cake",
        Trust.STRANGER,
        NOW + timedelta(minutes=1),
    )
    assert len(tx.all("SELECT 1 FROM block_fts WHERE block_fts MATCH 'cake'")) == 1
    assert tx.all("SELECT 1 FROM block_fts WHERE block_fts MATCH 'tea'") == []
    assert write_block(tx, author(), "notes", "").content == ""


def test_a_write_over_the_limit_is_refused_with_the_numbers_and_nothing_is_cut(tx: Tx) -> None:
    made(tx, new("persona", type=BlockType.CORE, content="x" * 1_990))
    with pytest.raises(BlockTooLong, match="block persona is at 1,990 of 2,000 characters; this adds 45"):
        append_block(tx, author(), "persona", "y" * 45)
    assert find_block(tx, ADA, "persona", IN_GUILD).content == "x" * 1_990
    tx.run("UPDATE memory_blocks SET char_limit = 10")
    assert len(write_block(tx, author(), "persona", "x" * 1_000).content) == 1_000


def test_an_edit_that_changes_nothing_stores_nothing(tx: Tx) -> None:
    block = made(tx, new(content="same"))
    assert write_block(tx, author(now=NOW + timedelta(days=1)), "notes", "same") == block
    assert tx.all("SELECT seq FROM memory_block_updates")[0]["seq"] == 1


# ---------------------------------------------------------------- audience and instances


def test_what_was_said_in_private_is_not_written_where_others_read_and_the_right_block_is_named(tx: Tx) -> None:
    made(tx, new("persona", PUBLIC))
    with pytest.raises(
        BlockRefused, match=r"read by people \(public\) who cannot read this; no block here may be written"
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
        (archive_block, "archive"),
        (delete_block, "delete"),
        (lambda tx, by, label: pin_block(tx, by, label, pinned=True), "pin"),
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
    assert find_block(tx, ADA, "notes", IN_GUILD).content == "for the guild"


def test_a_template_of_another_label_or_owner_is_no_help(tx: Tx) -> None:
    made(tx)
    for template in (new("other"), new(owner=BEA)):
        with pytest.raises(BlockRefused):
            append_block(tx, author(IN_DM, template=template), "notes", "x")
    assert len(visible_blocks(tx, ADA, IN_DM)) == 1


def test_ensuring_makes_a_block_once_and_then_renews_only_profile_and_description(tx: Tx) -> None:
    first = ensure_block(tx, new(profile="Mia, member", content="begin"), SYSTEM, NOW)
    append_block(tx, author(), "notes", " more")
    again = ensure_block(
        tx, new(profile="Mia, moderator", description="People.", content="other", pinned=True), SYSTEM, NOW
    )
    assert again.id == first.id
    assert (again.profile, again.description, again.content) == ("Mia, moderator", "People.", "begin more")
    assert not again.pinned
    assert ensure_block(tx, new(audience=DM), SYSTEM, NOW).id != first.id


# ---------------------------------------------------------------- sharing


def test_a_shared_block_is_seen_edited_as_far_as_allowed_and_lost_again(tx: Tx) -> None:
    block = made(tx, new(content="one"))
    share_block(tx, block, BEA, Permission.READ_ONLY, NOW)
    shared = find_block(tx, BEA, "notes", IN_GUILD)
    assert (shared.shared_from, shared.access, shared.permission) == ("Ada", "read_only", "read_write")
    with pytest.raises(BlockRefused):
        append_block(tx, author(agent=BEA), "notes", "x")
    share_block(tx, block, BEA, Permission.APPEND, NOW)
    append_block(tx, author(agent=BEA), "notes", " two")
    assert find_block(tx, ADA, "notes", IN_GUILD).content == "one two"
    assert visible_blocks(tx, BEA, Scope(PUBLIC)) == []
    unshare_block(tx, block, BEA)
    with pytest.raises(Refused, match="is not shared with 'agt_bea'; it is shared with nobody"):
        unshare_block(tx, block, BEA)
    assert visible_blocks(tx, BEA, IN_GUILD) == []


def test_a_label_that_two_others_use_must_be_given_with_its_owner(tx: Tx) -> None:
    share_block(tx, made(tx), BEA, Permission.READ_ONLY, NOW)
    made(tx, new(owner=CONSTELLATION_OWNER))
    with pytest.raises(BlockNotFound, match="Ada/notes or _constellation_/notes"):
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


def test_shares_that_make_no_sense_are_refused(tx: Tx) -> None:
    block = made(tx)
    for agent, permission in ((BEA, "admin"), (ADA, "append"), (AgentId("nobody"), "append")):
        with pytest.raises(Refused):
            share_block(tx, block, agent, Permission(permission), NOW)
