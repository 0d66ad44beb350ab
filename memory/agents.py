"""Agents as rows; `memory.agent_groups` has their groups, and `bot.services.agents` the commands.

The configuration seeds them; after that, the database decides. Seeding again changes only what the configuration owns
and nobody has edited since: existing agents keep their rows, new ones are added, none is removed.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from memory.store.database import Rows, Tx, Value
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
    change_row(tx, "agents", _agent.values(agent), now)


def renew_agent(tx: Tx, agent: Agent, now: datetime) -> None:
    """Change an agent's tools and shown name; settings that only a newer version knows stay."""
    sql = """UPDATE agents SET enabled_tools = :enabled_tools, usual_tools = :usual_tools, updated_at = :now,
             config = json_set(config, '$.show_name', :show_name) WHERE id = :id"""
    tx.run(sql, {**_agent.values(agent), "show_name": agent.config.show_name, "now": now})


def change_row(tx: Tx, table: str, values: Mapping[str, Value], now: datetime) -> None:
    """Update the columns of an existing row, except its name and status."""
    settings = ", ".join(f"{name} = :{name}" for name in values if name not in ("id", "name", "status"))
    tx.run(f"UPDATE {table} SET {settings}, updated_at = :now WHERE id = :id", {**values, "now": now})


def set_status(tx: Tx, identifier: AgentId, status: Status, now: datetime) -> None:
    tx.run("UPDATE agents SET status = ?, updated_at = ? WHERE id = ?", (status, now, identifier))


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


def statuses(rows: Rows, identifiers: Sequence[AgentId]) -> dict[AgentId, str]:
    """The status of each of these agents: active, hibernated or archived."""
    sql = "SELECT id, status FROM agents WHERE id IN (SELECT value FROM json_each(?))"
    return {AgentId(row["id"]): row["status"] for row in rows.all(sql, (list(identifiers),))}


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
