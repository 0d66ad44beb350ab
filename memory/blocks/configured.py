"""The blocks of the constellation as they are configured: seen by every agent, at its own permission or the block's."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory import blocks
from memory.blocks import CONSTELLATION_OWNER, Block, NewBlock, Permission
from memory.blocks.lookup import own_block
from memory.blocks.shares import share_block
from memory.people.audience import Audience
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId

_STANDING = "agent_id = ? AND label = ? AND deleted_at IS NULL"


@dataclass(frozen=True)
class Common:
    """One of them; `seed` is as an agent's row keeps its own, `permissions` are those that differ from the block's."""

    seed: Mapping[str, Any]
    permissions: Mapping[AgentId, str]

    @property
    def label(self) -> str:
        return str(self.seed["label"])


def configured(rows: Rows) -> list[Common]:
    """Those that are wanted now."""
    found = rows.all("SELECT seed, permissions FROM constellation_blocks ORDER BY label")
    return [Common(json.loads(row["seed"]), json.loads(row["permissions"])) for row in found]


def configure(tx: Tx, wanted: Sequence[Common], now: datetime) -> None:
    """Let these be wanted. What stands stays; permissions that are others than before hold for it at once."""
    before = {each.label: each for each in configured(tx)}
    tx.run("DELETE FROM constellation_blocks")
    for each in wanted:
        kept = {"seed": json.dumps(dict(each.seed)), "permissions": json.dumps(dict(each.permissions))}
        tx.insert("constellation_blocks", {"label": each.label, **kept})
        if each.label in before and _rights(before[each.label]) != _rights(each):
            _renew_rights(tx, each, now)


def ensure(tx: Tx, common: Common, new: NewBlock, now: datetime) -> None:
    """Make one for one audience where it is missing, with its permissions; one that stands keeps what it has."""
    ((block, made),) = blocks.ensure_blocks(tx, CONSTELLATION_OWNER, new.audience, [new], now)
    if made:
        give_rights(tx, common, block, now)


def _rights(common: Common) -> tuple[str, dict[AgentId, str]]:
    return common.seed["permission"], dict(common.permissions)


def _renew_rights(tx: Tx, common: Common, now: datetime) -> None:
    named = (CONSTELLATION_OWNER, common.label)
    tx.run(f"UPDATE memory_blocks SET permission = ? WHERE {_STANDING}", (common.seed["permission"], *named))
    standing = f"SELECT id FROM memory_blocks WHERE {_STANDING}"
    tx.run(f"DELETE FROM shared_block_agents WHERE block_id IN ({standing})", named)
    for row in tx.all(f"SELECT audience FROM memory_blocks WHERE {_STANDING}", named):
        block = own_block(tx, CONSTELLATION_OWNER, common.label, Audience(row["audience"]))
        if block is not None:
            give_rights(tx, common, block, now)


def give_rights(tx: Tx, common: Common, block: Block, now: datetime) -> None:
    """Share a new one with the agents that it is for."""
    for agent, permission in common.permissions.items():
        share_block(tx, block, agent, Permission(permission), now)
