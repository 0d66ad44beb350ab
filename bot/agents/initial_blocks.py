"""Creates agents with their initial blocks from the configuration.

`bot.runtime.configured_constellation` does so at startup. Afterward the database is authoritative: agents and blocks
that exist by name stay unchanged, missing ones are added.
"""

from collections.abc import Sequence
from datetime import datetime

from bot.config.block_templates import full_description
from memory import agents, blocks
from memory.agents import Agent, InitialBlock
from memory.blocks import CONSTELLATION_OWNER, BlockType, NewBlock, Permission, shares
from memory.blocks.document import SYSTEM
from memory.blocks.lifecycle import set_block_settings
from memory.blocks.schemas import TEXT, parse_schema
from memory.blocks.shares import Common
from memory.blocks.visibility import blocks_described, own_block
from memory.people.audience import OWNER, PUBLIC, Audience, Trust
from memory.store.database import Tx
from memory.store.ids import AgentId, BlockId, PersonId


def seed_agent(tx: Tx, agent: Agent, now: datetime) -> Agent:
    """Add an agent with its initial blocks, unless one of that name exists."""
    stored = agents.seed_agent(tx, agent, now)
    if stored is agent:
        ensure_own_blocks(tx, agent, now)
    return stored


def ensure_own_blocks(tx: Tx, agent: Agent, now: datetime) -> None:
    """Create the agent's missing blocks, except those with one instance per audience."""
    for seed in agent.config.blocks:
        if seed.audience != "each":
            audience = PUBLIC if seed.audience == "public" else OWNER
            if own_block(tx, agent.id, seed.label, audience) is None:
                blocks.create_block(tx, new_block(agent.id, seed, audience), SYSTEM, now)


def describe_blocks(tx: Tx, before: Agent, agent: Agent, now: datetime) -> None:
    """Update the descriptions of the agent's blocks from its changed table, except those that somebody rewrote."""
    old, new = _descriptions(before), _descriptions(agent)
    for label in old.keys() & new.keys():
        for block in blocks_described(tx, agent.id, label, old[label]) if old[label] != new[label] else ():
            set_block_settings(tx, block, blocks.NewSettings(description=new[label]), SYSTEM, now)


def _descriptions(agent: Agent) -> dict[str, str]:
    return {seed.label: new_block(agent.id, seed, OWNER).description for seed in agent.config.blocks}


def ensure_blocks(
    tx: Tx, agent: Agent, audience: Audience, person: PersonId | None, now: datetime, brought: Sequence[NewBlock] = ()
) -> tuple[BlockId, ...]:
    """Create missing per-audience blocks of the agent and the constellation for this audience, and update those that
    come with a notification (`brought`); returns their ids, each once, in order."""
    about = person if audience.startswith("person:") else None
    common = [each for each in shares.common_blocks(tx) if each.seed.audience == "each"]
    own = [seed for seed in agent.config.blocks if seed.audience == "each"]
    wanted = [new_block(CONSTELLATION_OWNER, each.seed, audience, about) for each in common]
    wanted += [new_block(agent.id, seed, audience, about) for seed in own]
    made = blocks.ensure_blocks(tx, agent.id, audience, [*wanted, *brought], now)
    for each, (block, new) in zip(common, made, strict=False):
        if new:
            shares.give_rights(tx, each, block, now)
    return tuple(dict.fromkeys(block.id for block, _ in made[len(wanted) :]))


def new_block(owner: AgentId, seed: InitialBlock, audience: Audience, about: PersonId | None = None) -> NewBlock:
    schema = parse_schema(seed.schema) if seed.schema else TEXT
    return NewBlock(
        owner=owner,
        label=seed.label,
        description=full_description(seed.description, schema),
        audience=audience,
        trust=Trust.SYSTEM,
        type=BlockType(seed.type),
        permission=Permission(seed.permission),
        char_limit=seed.char_limit,
        pinned=seed.pinned,
        about=about,
        content=seed.content,
        schema=schema,
        values=seed.values,
    )


def seed_common(tx: Tx, wanted: Sequence[Common], now: datetime) -> None:
    """Set the constellation's blocks, and create those that do not have one instance per audience."""
    shares.configure(tx, wanted, now)
    for common in wanted:
        if common.seed.audience != "each":
            audience = PUBLIC if common.seed.audience == "public" else OWNER
            new = new_block(CONSTELLATION_OWNER, common.seed, audience)
            ((block, made),) = blocks.ensure_blocks(tx, CONSTELLATION_OWNER, audience, [new], now)
            if made:
                shares.give_rights(tx, common, block, now)
