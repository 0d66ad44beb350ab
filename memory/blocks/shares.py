"""Sharing a block: what other agents than its owner may do with it, where its audience lets them see it at all."""

from dataclasses import dataclass
from datetime import datetime

from memory.blocks import CONSTELLATION_OWNER, Author, Block, BlockType, Operation, Permission
from memory.blocks.guard import require_yes, standing_block
from memory.blocks.lookup import access_at
from memory.store.clock import to_text
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.ids import AgentId
from texts import gettext_lazy

SHARED_AT = (Permission.READ_ONLY, Permission.APPEND, Permission.READ_WRITE)


@dataclass(frozen=True)
class Share:
    """An agent that a block is shared with, by name: what it was given, what it may do, and why that is less."""

    agent: str
    given: Permission
    access: Permission
    why: str = ""

    def __str__(self) -> str:
        return f"{self.agent} ({self.given}{f', in effect {self.access}: {self.why}' if self.why else ''})"


def share_block(tx: Tx, block: Block, name: str, permission: Permission, now: datetime) -> None:
    """Let another agent see a block, where its audience allows, at read_only, append or read_write; again to change.

    `name` is the agent's name or id. Who may share is the caller's question: the owner of the constellation, or
    `share_by_agent`. Raises Refused.
    """
    agent = _recipient(tx, block, name, permission)
    tx.run(
        "INSERT INTO shared_block_agents (block_id, agent_id, permission, attached_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET permission = excluded.permission",
        (block.id, agent, permission, to_text(now)),
    )


def unshare_block(tx: Tx, block: Block, name: str) -> None:
    """Take a share back, at once. Raises Refused when there is none."""
    sql = "DELETE FROM shared_block_agents WHERE block_id = ? AND agent_id = ?"
    if not tx.run(sql, (block.id, _agent(tx, name))):
        raise Refused(
            "block {label} is not shared with {name!r}; {shared_with}",
            label=block.label,
            name=name[:80],
            shared_with=_shared_with(tx, block),
        )


def share_by_agent(tx: Tx, author: Author, label: str, name: str, permission: Permission) -> Block:
    """An agent shares a block of its own, by its right to write it; for a stranger's words it takes a yes.

    Raises BlockNotFound, BlockRefused, Refused, ApprovalNeeded.
    """
    block, decision = standing_block(tx, author, label, Operation.SHARE)
    _recipient(tx, block, name, permission)
    require_yes(tx, author, block, Operation.SHARE, decision)  # not for what would be refused anyway
    share_block(tx, block, name, permission, author.now)
    return block


def unshare_by_agent(tx: Tx, author: Author, label: str, name: str) -> Block:
    """An agent takes a share of its block back. Raises as `share_by_agent`, and Refused when there is none."""
    block, _ = standing_block(tx, author, label, Operation.SHARE)
    unshare_block(tx, block, name)
    return block


def shares_of(rows: Rows, block: Block) -> list[Share]:
    """Whom a block is shared with, and what they may do to it."""
    sql = """SELECT a.name, s.permission FROM shared_block_agents s JOIN agents a ON a.id = s.agent_id
             WHERE s.block_id = ? ORDER BY a.name"""
    return [_share(block, row["name"], Permission(row["permission"])) for row in rows.all(sql, (block.id,))]


def _share(block: Block, agent: str, given: Permission) -> Share:
    access = access_at(block.type, block.permission, given, shared=block.owner != CONSTELLATION_OWNER)
    if access is given:
        return Share(agent, given, access)
    if block.type is BlockType.LOG:
        return Share(agent, given, access, "entries of a log stay as they are")
    return Share(agent, given, access, f"the block is {block.permission} to its own agent, who can give no more")


def _shared_with(rows: Rows, block: Block) -> str:
    names = ", ".join(share.agent for share in shares_of(rows, block))
    return gettext_lazy("it is shared with {names}", names=names) if names else gettext_lazy("it is shared with nobody")


def _recipient(rows: Rows, block: Block, name: str, permission: Permission) -> AgentId:
    if permission not in SHARED_AT:
        raise Refused("a block is shared at read_only, append or read_write, not {permission}", permission=permission)
    if (agent := _agent(rows, name)) == block.owner:
        raise Refused("block {label} is that agent's own", label=block.label)
    return agent


def _agent(rows: Rows, name: str) -> AgentId:
    row = rows.one(
        "SELECT id FROM agents WHERE name = ? COLLATE NOCASE OR id = ? ORDER BY id = ? DESC LIMIT 1", (name,) * 3
    )
    if row is None:
        known = ", ".join(each["name"] for each in rows.all("SELECT name FROM agents ORDER BY name"))
        raise Refused("There is no agent {name}. There are: {known}.", name=repr(name[:80]), known=known)
    return AgentId(row["id"])
