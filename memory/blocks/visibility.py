"""The blocks that an agent sees in a scope, and the block that a label refers to."""

import json
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any

from memory.blocks.records import CONSTELLATION_OWNER, IN_CONTEXT, Block, BlockType, Permission, access_at
from memory.blocks.schemas import TEXT, dump_schema, parse_schema
from memory.people.audience import Audience, Scope, Trust
from memory.store.clock import from_text
from memory.store.database import Rows, Value
from memory.store.errors import BlockNotFound
from memory.store.fulltext import require_storable
from memory.store.ids import AgentId, BlockId
from texts import gettext_lazy

_NAMED = 40  # labels listed in an error
_PLAIN = dump_schema(TEXT)
_BY_TYPE = f"CASE b.block_type {' '.join(f'WHEN {each.value!r} THEN {n}' for n, each in enumerate(BlockType))} END"


def visible_blocks(
    rows: Rows,
    agent: AgentId,
    scope: Scope,
    types: Collection[BlockType] = IN_CONTEXT,
    referred: Collection[str] | None = None,
) -> list[Block]:
    """The agent's own, shared and constellation blocks in the scope: core, then working, then the rest; by label.

    With `referred` (ids or labels), working blocks that are neither pinned nor referred to are left out.
    """
    where, given = f"KNOWN(b.audience) AND b.block_type IN ({_marks(types)})", tuple[str, ...](types)
    if referred is not None:
        among = _marks(referred)
        where += f" AND (b.block_type <> 'working' OR b.pinned OR b.label IN ({among}) OR b.id IN ({among}))"
        given += (*referred, *referred)
    where += f" ORDER BY {_BY_TYPE}, b.label, b.agent_id <> ?, b.agent_id, b.audience"
    return _select(rows, agent, *scope.bind(where, *given, agent))


def changed_at(rows: Rows, block: Block, version: int) -> datetime:
    """When an earlier version was made; when the block was made if that is no longer known."""
    sql = "SELECT created_at FROM memory_block_updates WHERE block_id = ? AND seq = ?"
    found = rows.one(sql, (block.id, version))
    return block.created_at if found is None else from_text(found["created_at"])


def away_blocks(rows: Rows, agent: AgentId, scope: Scope, limit: int) -> tuple[list[str], list[str]]:
    """Blocks that are not in context by themselves: labels of the agent's own, and addresses of shared blocks and of
    the constellation's configured ones. Blocks about places and people come with their messages, so they are left out.

    At most `limit` of both together, the most recently changed.
    """
    sql = """SELECT b.label, b.agent_id = ? AS own, coalesce(a.name, b.agent_id) AS owner FROM memory_blocks b
             LEFT JOIN agents a ON a.id = b.agent_id WHERE b.deleted_at IS NULL AND (b.agent_id = ?
               OR (b.agent_id <> '_constellation_'
                 AND b.id IN (SELECT block_id FROM shared_block_agents WHERE agent_id = ?))
               OR (b.agent_id = '_constellation_' AND b.label IN (SELECT label FROM constellation_blocks)))
             AND (b.block_type = 'archival' OR (b.block_type = 'working' AND NOT b.pinned)) AND KNOWN(b.audience)
             GROUP BY b.agent_id, b.label ORDER BY max(b.updated_at) DESC, b.label LIMIT +?"""
    found = rows.cached(
        (*_TABLES, "constellation_blocks"),
        ("away", agent, scope, limit),
        lambda: rows.all(*scope.bind(sql, agent, agent, agent, limit)),
    )
    own = sorted([row["label"] for row in found if row["own"]])
    return own, sorted([f"{row['owner']}/{row['label']}" for row in found if not row["own"]])


def find_block(rows: Rows, agent: AgentId, label: str, scope: Scope) -> Block:
    """The block of that label or address "owner/label"; the agent's own come before others.

    If several audiences have one, the scope's own audience comes first, then the widest. Raises BlockNotFound, naming
    the visible blocks.
    """
    require_storable(label)
    parts = label.split("/", 4)  # a name may contain a slash
    labels = ["/".join(parts[start:]) for start in range(len(parts))]
    found = _select(rows, agent, *scope.bind(f"KNOWN(b.audience) AND b.label IN ({_marks(labels)})", *labels))
    named = [block for block in found if block.label == label]
    instances = [block for block in named if block.owner == agent] or named
    instances = instances or [block for block in found if label in (block.address, f"{block.owner}/{block.label}")]
    if not instances:
        seen = sorted({block.address for block in visible_blocks(rows, agent, scope, tuple(BlockType))})
        more = gettext_lazy(" and {more} more", more=len(seen) - _NAMED) if len(seen) > _NAMED else ""
        raise BlockNotFound(
            "there is no block “{label}” here; available: {seen}{more}",
            label=label[:80],
            seen=", ".join(seen[:_NAMED]) or gettext_lazy("none"),
            more=more,
        )
    if len(addresses := sorted({block.address for block in instances})) > 1:
        raise BlockNotFound(
            "several blocks are called “{label}”; choose one: {names}", label=label, names=", ".join(addresses)
        )
    return min(instances, key=lambda block: (block.audience != scope.audience, _narrowness(block.audience)))


def _narrowness(audience: Audience) -> tuple[int, str]:
    kinds = ("public", "guild", "channel", "person", "owner")
    return kinds.index(audience.partition(":")[0]), audience


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))


_LIVING = """
SELECT b.id, b.agent_id, b.label, b.description, b.block_type, b.char_limit, b.permission, b.pinned, b.person_id,
    b.audience, b.trust, b.profile, b.content, b.updated_at, s.permission AS given, a.name AS owner_name, b.schema,
    b.next_seq - 1 AS version, b.created_at
FROM memory_blocks b
LEFT JOIN shared_block_agents s ON s.block_id = b.id AND s.agent_id = ?
LEFT JOIN agents a ON a.id = b.agent_id
WHERE b.deleted_at IS NULL AND (b.agent_id IN (?, '_constellation_')
    OR b.id IN (SELECT block_id FROM shared_block_agents WHERE agent_id = ?))
"""


_TABLES = ("memory_blocks", "shared_block_agents", "agents")


def _select(rows: Rows, agent: AgentId, where: str, parameters: tuple[Value, ...]) -> list[Block]:
    def read() -> list[Block]:
        found = rows.all(f"{_LIVING} AND {where}", (agent, agent, agent, *parameters))
        return [_block(tuple(row), agent) for row in found]

    return [*rows.cached(_TABLES, (agent, where, parameters), read)]


def own_block(rows: Rows, owner: AgentId, label: str, audience: Audience) -> Block | None:
    found = _select(rows, owner, "b.agent_id = ? AND b.label = ? AND b.audience = ?", (owner, label, audience))
    return found[0] if found else None


def own_blocks(
    rows: Rows, agent: AgentId, labels: Iterable[str], audience: Audience
) -> dict[tuple[AgentId, str], Block]:
    """The agent's blocks and the constellation's of these labels and this audience, by owner and label."""
    where = "b.agent_id IN (?, '_constellation_') AND b.audience = ? AND b.label IN (SELECT value FROM json_each(?))"
    found = _select(rows, agent, where, (agent, audience, json.dumps(list(labels))))
    return {(block.owner, block.label): block for block in found}


def blocks_described(rows: Rows, owner: AgentId, label: str, description: str) -> list[Block]:
    """The owner's blocks of this label, for every audience, that have exactly this description."""
    return _select(rows, owner, "b.agent_id = ? AND b.label = ? AND b.description = ?", (owner, label, description))


def block_by_id(rows: Rows, agent: AgentId, block: BlockId) -> Block:
    return _select(rows, agent, "b.id = ?", (block,))[0]


# A dict lookup is much quicker than calling the Enum, for every block of every prompt.
_KINDS = {kind.value: kind for kind in BlockType}
_LEVELS = {level.value: level for level in Permission}
_TRUST = {level.value: level for level in Trust}


@lru_cache(maxsize=1_000)
def _block(row: tuple[Any, ...], agent: AgentId) -> Block:
    """The block of a row, cached by the row's values, since most blocks are unchanged since the last prompt."""
    # In the order of _LIVING: access by name would take twice the time.
    block, owner, label, description, kind, limit, own, pinned, about, *rest = row
    audience, trust, profile, content, updated_at, given, owner_name, schema, version, created_at = rest
    shared = owner not in (agent, CONSTELLATION_OWNER)
    return Block(
        id=block,
        owner=owner,
        label=label,
        description=description,
        type=_KINDS[kind],
        char_limit=limit,
        permission=_LEVELS[own],
        pinned=bool(pinned),
        about=about,
        audience=audience,
        trust=_TRUST[trust],
        profile=profile,
        content=content,
        created_at=from_text(created_at),
        updated_at=from_text(updated_at),
        shared_from=(owner_name or owner) if shared else None,
        access=access_at(_KINDS[kind], _LEVELS[own], None if given is None else _LEVELS[given], shared=shared),
        schema=TEXT if schema == _PLAIN else parse_schema(schema),
        version=version,
    )
