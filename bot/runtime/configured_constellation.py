"""Creates or finds the configured constellation with its agents, blocks, groups and routing."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import convert, to_builtins

from bot.agents.groups.settings import with_agents
from bot.agents.initial_blocks import seed_agent, seed_common
from bot.config import Config
from bot.config.agent_files import read_agent, read_group, require_sound
from bot.config.blocks import Block as BlockSettings
from bot.config.blocks import CommonBlock
from bot.config.file_settings import Agent as AgentSettings
from bot.config.file_settings import Group as GroupSettings
from bot.config.problems import nearest
from bot.config.values import TOOLS
from bot.errors import ConfigError
from bot.runtime.group_routing import EVERYWHERE_ELSE, GroupRouting
from memory import agent_groups, agents
from memory.agent_groups import Group, Member
from memory.agents import Agent, AgentConfig, InitialBlock
from memory.blocks.schemas import TEXT, dump_schema
from memory.blocks.shares import Common
from memory.store.clock import Clock
from memory.store.constellations import Constellation, Constellations
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import AgentId, GroupId, PersonId, new_id
from memory.store.records import replace

_SEED = commit_point("constellation.seed")


async def configured_constellation(config: Config, constellations: Constellations, owner: PersonId) -> Constellation:
    """The configured constellation, created if missing, with the places that the file assigns to it."""
    found = await constellations.ensure(config.constellation.name, owner)
    await constellations.configure(sorted({place for group in config.groups for place in group.places}), found.id)
    return found


async def seed_routing(config: Config, database: Database, clock: Clock) -> GroupRouting:
    """Create missing agents and groups of the configuration; returns the routing."""
    return await database.write(_SEED, lambda tx: _seed(tx, config, clock))


def load_routing(rows: Rows, config: Config) -> GroupRouting:
    """The routing from the database and the configuration."""
    groups = {group.name: group.id for group in agent_groups.groups(rows)}
    places = {place: groups[each.name] for each in config.groups if each.name in groups for place in each.places}
    usual = groups.get(config.default_group.name, next(iter(groups.values()), GroupId("")))
    answering = GroupRouting(places, usual)
    answering.heed(rows)
    return answering


def _seed(tx: Tx, config: Config, clock: Clock) -> GroupRouting:
    now = clock()
    for settings in config.agents:
        seed_agent(tx, agent_row(settings, show_name=config.discord.show_names), now)
    seed_common(tx, [_common(tx, block) for block in config.constellation.blocks], now)
    _renew(tx, config, now)
    groups: dict[str, GroupId] = {}
    places: dict[str, GroupId] = {}
    for group in config.groups:
        there = next((each for each in agent_groups.groups(tx) if each.name == group.name), None)
        groups[group.name] = make_group(tx, group, now) if there is None else there.id
        places |= dict.fromkeys(group.places, groups[group.name])
    answering = GroupRouting(places, groups[config.default_group.name])
    answering.heed(tx)
    return answering


def _common(rows: Rows, block: CommonBlock) -> Common:
    """A block of the constellation in stored form, with agents by id. Raises ConfigError."""
    known = _require_agents(rows, block.permissions, f'constellation.blocks["{block.label}"].permissions')
    return Common(_block(block), {known[name]: permission for name, permission in block.permissions.items()})


def _require_agents(rows: Rows, names: Iterable[str], key: str) -> dict[str, AgentId]:
    """The ids of all agents, by name. Raises ConfigError if one of these is missing."""
    known = {agent.name: agent.id for agent in agents.every_agent(rows)}
    if missing := [name for name in names if name not in known]:
        hint = nearest(missing[0], known)
        raise ConfigError('{key}: found "{name}", which is not an agent; {hint}', key=key, name=missing[0], hint=hint)
    return known


def make_group(tx: Tx, settings: GroupSettings, now: datetime) -> GroupId:
    """Create a group from its table in the configuration, or update the one of that name. Raises ConfigError."""
    known = _require_agents(tx, settings.names, f'groups["{settings.name}"].members')
    wanted = _group(settings, known)
    group = agent_groups.seed_group(tx, wanted, now)
    if replace(wanted, id=group.id) != group:
        agent_groups.change_group(tx, replace(wanted, id=group.id), now)
    return group.id


def _group(settings: GroupSettings, ids: Mapping[str, AgentId]) -> Group:
    """A group in stored form, with agents by id."""
    members = tuple(
        Member(ids[each.agent], each.role, each.domain, each.capabilities, each.model) for each in settings.members
    )
    return Group(
        id=GroupId(new_id("grp")),
        name=settings.name,
        members=members,
        pattern=settings.pattern,
        config=with_agents(settings.settings.model_dump(mode="json"), ids),
        description=settings.description,
        keywords=settings.keywords,
        states=tuple(state.model_dump(exclude_defaults=True) for state in settings.states),
        mention=settings.mention,
    )


def group_section(rows: Rows, group: Group, answering: GroupRouting) -> dict[str, Any]:
    """The configuration table that would create a stored group, with its places from file and commands."""
    said = {**answering.places, **answering.decided}
    elsewhere = answering.decided.get(EVERYWHERE_ELSE, answering.default)
    names = {agent.id: agent.name for agent in agents.every_agent(rows)}
    return {
        "name": group.name,
        **({"description": group.description} if group.description else {}),
        "members": [_member_section(names[member.agent], member) for member in group.members],
        "places": sorted(place for place, of in said.items() if of == group.id and place != EVERYWHERE_ELSE),
        "keywords": list(group.keywords),
        **({"states": [state.get("said", dict(state)) for state in group.states]} if group.states else {}),
        "mention": group.mention,
        "default": elsewhere == group.id,
        "pattern": group.pattern,
        group.pattern: with_agents(group.config, {str(key): name for key, name in names.items()}),
    }


def _member_section(name: str, member: Member) -> dict[str, Any] | str:
    """A member as its table, or just its name if that is enough."""
    said = {"role": member.role, "domain": member.domain, "capabilities": member.capabilities, "model": member.model}
    others = {key: value for key, value in said.items() if value and (key, value) != ("role", "regular")}
    return {"agent": name, **others} if others else name


def require_stored(
    rows: Rows, config: Config, answering: GroupRouting, wanted: Sequence[GroupSettings] = (), *, moves: bool = True
) -> None:
    """Raise ConfigError if the stored agents and groups do not fit the configuration.

    Groups in `wanted` count with their new tables; their places are written afterward. With `moves`, they take them
    from other groups.
    """
    named = {group.name: group for group in wanted}
    default = next((group.name for group in wanted if group.default), None)
    groups = [
        named.get(group.name) or read_group(group_section(rows, group, answering))
        for group in agent_groups.groups(rows)
    ]
    if default is not None:
        groups = [group.model_copy(update={"default": group.name == default}) for group in groups]
    taken = {place for group in wanted for place in group.places if moves}
    groups = [
        group if group.name in named else group.model_copy(update={"places": tuple(set(group.places) - taken)})
        for group in groups
    ]
    require_sound(config, [_checked(agent) for agent in agents.every_agent(rows)], groups)


def _checked(agent: Agent) -> AgentSettings:
    section = read_agent(agent_section(agent))
    return section if agent.status == "active" else section.model_copy(update={"model": "", "tools": ()})


def _renew(tx: Tx, config: Config, now: datetime) -> None:
    """Apply `show_names` to every agent, and give those with all tools the ones that this version adds.

    A list in the file is the agent's own, even if it equals the default of an earlier version.
    """
    own = {each.name: each.tools for each in config.agents if "tools" in each.model_fields_set}
    for agent in agents.every_agent(tx):
        usual = agent.usual_tools and own.get(agent.name) != agent.tools
        shown = replace(agent.config, show_name=agent.name if config.discord.show_names else "")
        renewed = replace(agent, usual_tools=usual, tools=TOOLS if usual else agent.tools, config=shown)
        if renewed != agent:
            agents.renew_agent(tx, renewed, now)


def agent_row(settings: AgentSettings, *, show_name: bool) -> Agent:
    """An agent from its table in the configuration; settings without a column of their own go into `config`."""
    others = {"blocks": tuple(map(_block, settings.blocks)), "show_name": settings.name if show_name else ""}
    return Agent(
        id=AgentId(new_id("agt")),
        name=settings.name,
        description=settings.description,
        model=settings.model,
        system_prompt=settings.system_prompt,
        tools=settings.tools,
        usual_tools="tools" not in settings.model_fields_set,
        rules=tuple(rule.plain() for rule in settings.rules),
        config=convert(settings.model_dump(mode="json") | others, AgentConfig),
    )


def agent_section(agent: Agent) -> dict[str, Any]:
    """The inverse: the configuration table that would create such an agent, as plain data."""
    said = {"description": agent.description, "model": agent.model}
    return {
        "name": agent.name,
        **{key: value for key, value in said.items() if value},
        "system_prompt": agent.system_prompt,
        **to_builtins(replace(agent.config, blocks=(), show_name="")),
        **({} if agent.usual_tools else {"tools": list(agent.tools)}),
        "rules": [dict(rule) for rule in agent.rules],
        "blocks": [_without_defaults(block) for block in agent.config.blocks],
    }


def _without_defaults(block: InitialBlock) -> dict[str, Any]:
    usual = {"content": "", "pinned": False}
    said = {key: value for key, value in to_builtins(block).items() if key not in usual or usual[key] != value}
    return said | {"schema": json.loads(block.schema)} if block.schema else said


def _block(block: BlockSettings) -> InitialBlock:
    schema = "" if block.shape == TEXT else dump_schema(block.shape)
    return convert(block.model_dump(mode="json") | {"schema": schema}, InitialBlock)
