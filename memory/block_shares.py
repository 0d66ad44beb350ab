"""Sharing a block: what other agents than its owner may do with it, where its audience lets them see it at all."""

from datetime import datetime

from memory.blocks import Block, Permission
from memory.clock import to_text
from memory.database import Tx
from memory.errors import Refused
from memory.ids import AgentId, BlockId


def share_block(tx: Tx, block: Block, agent: AgentId, permission: Permission, now: datetime) -> None:
    """Let another agent see a block, where its audience allows, at read_only, append or read_write; again to change.

    Who may share is the caller's question (the owner, or an admin right). Raises Refused.
    """
    if permission not in (Permission.READ_ONLY, Permission.APPEND, Permission.READ_WRITE):
        raise Refused(f"a block is shared at read_only, append or read_write, not {permission}")
    if agent == block.owner:
        raise Refused(f"block {block.label} is that agent's own")
    if tx.one("SELECT 1 FROM agents WHERE id = ?", (agent,)) is None:
        raise Refused(f"there is no agent {agent!r}")
    tx.run(
        "INSERT INTO shared_block_agents (block_id, agent_id, permission, attached_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET permission = excluded.permission",
        (block.id, agent, permission, to_text(now)),
    )


def unshare_block(tx: Tx, block: BlockId, agent: AgentId) -> bool:
    """Take the share back; False when there was none."""
    return tx.run("DELETE FROM shared_block_agents WHERE block_id = ? AND agent_id = ?", (block, agent)) == 1
