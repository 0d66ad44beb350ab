"""Sharing blocks: with single agents, and the constellation's blocks, which an agent sees at the block's or its own
permission."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from memory.agents import InitialBlock
from memory.blocks.records import CONSTELLATION_OWNER, Author, Block, Operation, Permission, access_at
from memory.blocks.rights import existing_block, require_yes
from memory.blocks.visibility import own_block
from memory.people.audience import Audience
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.ids import AgentId
from memory.store.row_mapper import RowMapper
from texts import gettext_lazy

SHARED_AT = (Permission.READ_ONLY, Permission.APPEND, Permission.READ_WRITE)


class Share(Struct, frozen=True):
    """An agent that a block is shared with: the permission given, and the effective one, which may be less."""

    agent: str
    given: Permission
    access: Permission

    def __str__(self) -> str:
        return f"{self.agent} ({self.given}{'' if self.access is self.given else f', in effect {self.access}'})"


def share_block(tx: Tx, block: Block, name: str, permission: Permission, now: datetime) -> None:
    """Let another agent see a block, if its audience allows, at read_only, append or read_write; again to change that.

    `name` is the agent's name or id. The caller checks who may share: the owner of the constellation, or
    `share_by_agent`. Raises Refused.
    """
    agent = _recipient(tx, block, name, permission)
    tx.run(
        "INSERT INTO shared_block_agents (block_id, agent_id, permission, attached_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET permission = excluded.permission",
        (block.id, agent, permission, now),
    )


def unshare_block(tx: Tx, block: Block, name: str) -> None:
    """End a share at once. Raises Refused when there is none."""
    sql = "DELETE FROM shared_block_agents WHERE block_id = ? AND agent_id = ?"
    if not tx.run(sql, (block.id, _agent(tx, name))):
        raise Refused(
            "block “{label}” is not shared with “{name}”; {shared_with}",
            label=block.label,
            name=name[:80],
            shared_with=_shared_with(tx, block),
        )


def share_by_agent(tx: Tx, author: Author, label: str, name: str, permission: Permission) -> Block:
    """Share an agent's own block, by its right to write it; if strangers' words ask for it, approval is needed.

    Raises BlockNotFound, BlockRefused, Refused, ApprovalNeeded.
    """
    block, decision = existing_block(tx, author, label, Operation.SHARE)
    _recipient(tx, block, name, permission)
    require_yes(tx, author, block, Operation.SHARE, decision)  # who may not share does not ask
    share_block(tx, block, name, permission, author.now)
    return block


def unshare_by_agent(tx: Tx, author: Author, label: str, name: str) -> Block:
    """End a share of an agent's own block. Raises as `share_by_agent`, and Refused when there is none."""
    block, _ = existing_block(tx, author, label, Operation.SHARE)
    unshare_block(tx, block, name)
    return block


def shares_of(rows: Rows, block: Block) -> list[Share]:
    """The agents that a block is shared with, and what they may do to it."""
    sql = """SELECT a.name, s.permission FROM shared_block_agents s JOIN agents a ON a.id = s.agent_id
             WHERE s.block_id = ? ORDER BY a.name"""
    shared = block.owner != CONSTELLATION_OWNER
    given = [(row["name"], Permission(row["permission"])) for row in rows.all(sql, (block.id,))]
    return [Share(name, level, access_at(block.type, block.permission, level, shared=shared)) for name, level in given]


def _shared_with(rows: Rows, block: Block) -> str:
    names = ", ".join(share.agent for share in shares_of(rows, block))
    return gettext_lazy("it is shared with {names}", names=names) if names else gettext_lazy("it is shared with nobody")


def _recipient(rows: Rows, block: Block, name: str, permission: Permission) -> AgentId:
    if permission not in SHARED_AT:
        raise Refused(
            "a block can be shared as read_only, append or read_write, not as {permission}", permission=permission
        )
    if (agent := _agent(rows, name)) == block.owner:
        raise Refused("block “{label}” already belongs to that agent", label=block.label)
    return agent


def _agent(rows: Rows, name: str) -> AgentId:
    row = rows.one(
        "SELECT id FROM agents WHERE name = ? COLLATE NOCASE OR id = ? ORDER BY id = ? DESC LIMIT 1", (name,) * 3
    )
    if row is None:
        known = ", ".join(each["name"] for each in rows.all("SELECT name FROM agents ORDER BY name"))
        raise Refused("There is no agent “{name}”. Choose from: {known}.", name=name[:80], known=known)
    return AgentId(row["id"])


# ----------------------------------------------------------------------------------------- blocks of the constellation


_CONFIGURED = "agent_id = ? AND label = ? AND deleted_at IS NULL"


class Common(Struct, frozen=True):
    """A shared block; `permissions` holds those that differ from the block's own."""

    seed: InitialBlock
    permissions: Mapping[AgentId, str]


_common = RowMapper(Common)


def common_blocks(rows: Rows) -> list[Common]:
    sql = "SELECT seed, permissions FROM constellation_blocks ORDER BY label"
    return rows.cached(("constellation_blocks",), "configured blocks", lambda: _common.all(rows, sql))


def configure(tx: Tx, wanted: Sequence[Common], now: datetime) -> None:
    """Take over the wanted shared blocks. Existing ones stay; changed permissions apply to them at once."""
    before = {each.seed.label: each for each in common_blocks(tx)}
    tx.run("DELETE FROM constellation_blocks")
    for each in wanted:
        label = each.seed.label
        tx.insert("constellation_blocks", {"label": label, **_common.values(each)})
        if label in before and _rights(before[label]) != _rights(each):
            _renew_rights(tx, each, now)


def _rights(common: Common) -> tuple[str, dict[AgentId, str]]:
    return common.seed.permission, dict(common.permissions)


def _renew_rights(tx: Tx, common: Common, now: datetime) -> None:
    named = (CONSTELLATION_OWNER, common.seed.label)
    tx.run(f"UPDATE memory_blocks SET permission = ? WHERE {_CONFIGURED}", (common.seed.permission, *named))
    configured = f"SELECT id FROM memory_blocks WHERE {_CONFIGURED}"
    tx.run(f"DELETE FROM shared_block_agents WHERE block_id IN ({configured})", named)
    for row in tx.all(f"SELECT audience FROM memory_blocks WHERE {_CONFIGURED}", named):
        block = own_block(tx, CONSTELLATION_OWNER, common.seed.label, Audience(row["audience"]))
        if block is not None:
            give_rights(tx, common, block, now)


def give_rights(tx: Tx, common: Common, block: Block, now: datetime) -> None:
    """Share a new block with the agents that it is for."""
    for agent, permission in common.permissions.items():
        share_block(tx, block, agent, Permission(permission), now)
