"""Groups of agents as rows; `memory.agents` has the agents."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from memory.agents import change_row, statuses
from memory.store.database import Row, Rows, Tx, Value
from memory.store.ids import AgentId, GroupId
from memory.store.row_mapper import RowMapper


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
    change_row(tx, "agent_groups", _group.values(group_), now)
    _set_members(tx, group_, now)


def _set_members(tx: Tx, group_: Group, now: datetime) -> None:
    tx.run("DELETE FROM group_members WHERE group_id = ?", (group_.id,))
    for position, member in enumerate(group_.members):
        place: dict[str, Value] = {"group_id": group_.id, "position": position, "joined_at": now}
        tx.insert("group_members", _member.values(member) | place)


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


def answering(rows: Rows, of: Group) -> list[AgentId]:
    """The members of a group that may answer, in order: those that are active."""
    found = statuses(rows, [member.agent for member in of.members])
    return [member.agent for member in of.members if found[member.agent] == "active"]


def groups(rows: Rows) -> list[Group]:
    return _group.all(rows, f"{_GROUPS} ORDER BY g.name")


def groups_of(rows: Rows, identifier: AgentId) -> list[Group]:
    return [each for each in groups(rows) if identifier in (member.agent for member in each.members)]


_member = RowMapper(Member)
_group = RowMapper(Group, members=_members, pattern="pattern_type", config="pattern_config")
