"""Agents and groups as rows; `bot.services.agents` has the commands.

The configuration seeds them; after that, the database decides. Seeding again changes only what the configuration owns
and nobody has edited since: existing agents keep their rows, new ones are added, none is removed.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from memory.store.database import Row, Rows, Tx, Value
from memory.store.ids import AgentId, GroupId
from memory.store.migrations import unreadable_tables
from memory.store.row_mapper import RowMapper
from memory.store.sqlite import connect, driver

Status: TypeAlias = Literal["active", "hibernated", "archived"]
NAME = r"(?!\s)[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]{1,64}(?<!\s)"
"""A name of an agent, a group or a constellation: one line, without codes that a terminal would obey."""


class InitialBlock(Struct, frozen=True, omit_defaults=True):
    """A block that exists from the start. `audience` is public, owner or each: one for every audience."""

    label: str
    description: str
    type: str
    content: str
    char_limit: int
    permission: str
    audience: str
    pinned: bool
    schema: str = ""
    """As JSON; empty for a plain text."""
    values: Mapping[str, Any] = {}


class AgentConfig(Struct, frozen=True, omit_defaults=True):
    """Settings that have no column of their own. Compaction and patrols are checked where they are used."""

    avatar: str = ""
    """The URL of its picture."""
    temperature: float | None = None
    max_tokens: int | None = None
    context_budget: int | None = None
    """In tokens."""
    compaction: Mapping[str, Any] | None = None
    patrols: tuple[Mapping[str, Any], ...] = ()
    blocks: tuple[InitialBlock, ...] = ()
    show_name: str = ""
    """The display name; empty if the account itself speaks."""


class Agent(Struct, frozen=True):
    id: AgentId
    name: str
    description: str
    model: str
    """"provider:name", or empty for the service's default."""
    system_prompt: str
    tools: tuple[str, ...]
    config: AgentConfig = AgentConfig()
    rules: tuple[Mapping[str, Any], ...] = ()
    """Tool rules as configured, each {"rule", "tool", ...}."""
    status: Status = "active"
    """An archived agent never answers; its memory stays."""
    usual_tools: bool = False
    """Whether `tools` is every tool: those of a later version are added at that version's first start."""
    files: Literal["", "read", "read_write"] = ""
    """The most that it may do in any of its folders."""

    @property
    def consent(self) -> frozenset[str]:
        """The tools that may be used only with approval."""
        return frozenset(rule["tool"] for rule in self.rules if rule["rule"] == "requires_consent")


class Member(Struct, frozen=True):
    """One agent in a group. `role` is regular, supervisor, observer or specialist; a specialist has a `domain`."""

    agent: AgentId
    role: str = "regular"
    domain: str = ""
    capabilities: tuple[str, ...] = ()
    model: str = ""
    """The model that it uses in this group; empty for its own."""


class Group(Struct, frozen=True):
    """Agents that answer together. `config` holds the pattern's options, with agents by id."""

    id: GroupId
    name: str
    members: tuple[Member, ...]
    pattern: str = "round_robin"
    config: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    keywords: tuple[str, ...] = ()
    """Words that route a message to this group, wherever it was written."""
    states: tuple[Mapping[str, Any], ...] = ()
    """The states of a person for whom the group answers, each {"said"} or {"block", "field", ...}."""
    mention: bool = True
    """Whether a message that begins with the group's name is routed to it."""

    def speaks(self, agent: AgentId) -> bool:
        """Whether an agent is a member that does not only listen."""
        return any(member.agent == agent and member.role != "observer" for member in self.members)

    def member(self, agent: AgentId) -> Member | None:
        return next((member for member in self.members if member.agent == agent), None)


def plain_name(name: str) -> str:
    """A name of an agent or group as it is compared: without "@", in lower case."""
    return name.strip().removeprefix("@").casefold()


def seed_agent(tx: Tx, agent: Agent, now: datetime) -> Agent:
    """Add the agent unless there is one of that name; returns the stored one."""
    found = agent_named(tx, agent.name)
    if found is not None:
        return found
    tx.insert("agents", {**_agent.values(agent), "created_at": now, "updated_at": now})
    return agent


def change_agent(tx: Tx, agent: Agent, now: datetime) -> None:
    """Change an agent's settings; its name, status and memory stay."""
    _change(tx, "agents", _agent.values(agent), now)


def renew_agent(tx: Tx, agent: Agent, now: datetime) -> None:
    """Change an agent's tools and shown name; settings that only a newer version knows stay."""
    sql = """UPDATE agents SET enabled_tools = :enabled_tools, usual_tools = :usual_tools, updated_at = :now,
             config = json_set(config, '$.show_name', :show_name) WHERE id = :id"""
    tx.run(sql, {**_agent.values(agent), "show_name": agent.config.show_name, "now": now})


def _change(tx: Tx, table: str, values: Mapping[str, Value], now: datetime) -> None:
    """Update the columns of an existing row, except its name and status."""
    settings = ", ".join(f"{name} = :{name}" for name in values if name not in ("id", "name", "status"))
    tx.run(f"UPDATE {table} SET {settings}, updated_at = :now WHERE id = :id", {**values, "now": now})


def set_status(tx: Tx, identifier: AgentId, status: Status, now: datetime) -> None:
    tx.run("UPDATE agents SET status = ?, updated_at = ? WHERE id = ?", (status, now, identifier))


def seed_group(tx: Tx, group_: Group, now: datetime) -> Group:
    """Add the group unless there is one of that name; returns the stored one."""
    row = tx.one("SELECT id FROM agent_groups WHERE name = ?", (group_.name,))
    if row is not None:
        return group(tx, GroupId(row["id"]))
    tx.insert("agent_groups", {**_group.values(group_), "created_at": now, "updated_at": now})
    _set_members(tx, group_, now)
    return group_


def change_group(tx: Tx, group_: Group, now: datetime) -> None:
    """Change a group's settings and members; its name and its pattern's state stay."""
    _change(tx, "agent_groups", _group.values(group_), now)
    _set_members(tx, group_, now)


def _set_members(tx: Tx, group_: Group, now: datetime) -> None:
    tx.run("DELETE FROM group_members WHERE group_id = ?", (group_.id,))
    for position, member in enumerate(group_.members):
        place: dict[str, Value] = {"group_id": group_.id, "position": position, "joined_at": now}
        tx.insert("group_members", _member.values(member) | place)


TABLES = ("agents", "agent_groups", "group_members", "folder_attachments")
"""From which agents and groups are read."""
_AGENTS = """SELECT *, (SELECT max(access) FROM folder_attachments f WHERE f.agent_id = agents.id) AS files
             FROM agents WHERE """  # 'read_write' is the greater of the two


def agent(rows: Rows, identifier: AgentId) -> Agent:
    """The agent with that id; raises KeyError if there is none."""
    return _agent.one(rows, f"{_AGENTS} id = ?", (identifier,))


def members(rows: Rows, identifier: GroupId) -> dict[AgentId, Agent]:
    sql = f"{_AGENTS} id IN (SELECT agent_id FROM group_members WHERE group_id = ?)"
    return {each.id: each for each in _agent.all(rows, sql, (identifier,))}


def agent_named(rows: Rows, name: str) -> Agent | None:
    return _agent.first(rows, f"{_AGENTS} name = ?", (name,))


def agents(rows: Rows) -> list[Agent]:
    """The agents that are not archived, by name."""
    return _agent.all(rows, f"{_AGENTS} status <> 'archived' ORDER BY name")


def every_agent(rows: Rows) -> list[Agent]:
    """All agents, including archived ones, by name."""
    return _agent.all(rows, f"{_AGENTS} 1 ORDER BY name")


_GROUPS = """SELECT *, (SELECT json_group_array(json_array(agent_id, role, domain, json(capabilities), model)) FROM
               (SELECT * FROM group_members WHERE group_id = g.id ORDER BY position)) AS members FROM agent_groups g"""


def _members(row: Row) -> tuple[Member, ...]:
    found = json.loads(row["members"])
    return tuple([Member(agent, role, domain, tuple(able), model) for agent, role, domain, able, model in found])


def group(rows: Rows, identifier: GroupId) -> Group:
    """The group with that id, its members in order; raises KeyError if there is none."""
    return _group.one(rows, f"{_GROUPS} WHERE g.id = ?", (identifier,))


def pattern(rows: Rows, identifier: GroupId) -> str:
    """A group's pattern; empty if there is no such group."""
    return rows.value("SELECT pattern_type FROM agent_groups WHERE id = ?", (identifier,), str) or ""


_member = RowMapper(Member)


def statuses(rows: Rows, identifiers: Sequence[AgentId]) -> dict[AgentId, str]:
    """The status of each of these agents: active, hibernated or archived."""
    sql = "SELECT id, status FROM agents WHERE id IN (SELECT value FROM json_each(?))"
    return {AgentId(row["id"]): row["status"] for row in rows.all(sql, (list(identifiers),))}


def answering(rows: Rows, of: Group) -> list[AgentId]:
    """The members of a group that may answer, in order: those that are active."""
    found = statuses(rows, [member.agent for member in of.members])
    return [member.agent for member in of.members if found[member.agent] == "active"]


def groups(rows: Rows) -> list[Group]:
    return _group.all(rows, f"{_GROUPS} ORDER BY g.name")


def groups_of(rows: Rows, identifier: AgentId) -> list[Group]:
    return [each for each in groups(rows) if identifier in (member.agent for member in each.members)]


_group = RowMapper(Group, members=_members, pattern="pattern_type", config="pattern_config")
_agent = RowMapper(Agent, tools="enabled_tools", rules="tool_rules", files=lambda row: row["files"] or "")


def models_named(path: Path) -> list[tuple[str, str]]:
    """Model (empty: the service's) and name of every agent that is not archived; also the models of memberships.

    For commands, which do not open the file; it must be of this version. Raises StoreError.
    """
    sql = """SELECT model, name FROM agents WHERE status <> 'archived'
             UNION SELECT m.model, a.name FROM group_members m JOIN agents a ON a.id = m.agent_id
             WHERE m.model <> '' AND a.status <> 'archived' ORDER BY 2, 1"""
    try:
        with closing(connect(path, read_only=True)) as raw:
            return [(row["model"], row["name"]) for row in Rows(raw).all(sql)]
    except driver.DatabaseError as error:
        raise unreadable_tables(path, error) from error
