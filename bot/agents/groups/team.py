"""A group with its agents, as patterns see it: members, availability, leader."""

from collections.abc import Mapping

from msgspec import Struct

from bot.agents.groups.dynamic_selectors import Candidate
from bot.agents.groups.settings import Dynamic, Pipeline, Sleeptime, Supervisor, Table, Voting, stored
from memory import agent_groups, agents, group_runs
from memory.agent_groups import Group
from memory.agents import Agent
from memory.group_runs import Part
from memory.queue import place_settings
from memory.queue.turns import Turn
from memory.store.database import Rows
from memory.store.ids import AgentId, GroupId
from memory.store.records import replace

_ASKED_BY_TOOL = {"ballot": "cast_ballot", "choice": "choose_members"}
DELEGATE = "delegate"
_SPEAKS = "send_message"
_SECONDS = 300.0
"""Seconds for a part, if the settings do not say."""


class Team(Struct, frozen=True):
    """`candidates` are the active members that speak, in the group's order."""

    group: Group
    settings: Table
    candidates: tuple[Candidate, ...]
    agents: Mapping[AgentId, Agent]
    speakers: tuple[AgentId, ...]
    """All members but observers, active or not."""
    observers: tuple[AgentId, ...] = ()
    """The active observers."""

    @property
    def names(self) -> dict[AgentId, str]:
        return {agent.id: agent.name for agent in self.agents.values()}

    @property
    def leader(self) -> AgentId:
        """Who speaks for the group: as configured, else its supervisor, else its first member."""
        named = ""
        match self.settings:
            case Supervisor(leader=agent) | Dynamic(supervisor=agent) | Sleeptime(intervention_agent=agent):
                named = agent
            case _:
                pass
        active = [each.agent for each in self.candidates]
        supervisors = [each.agent for each in self.candidates if each.member.role == "supervisor"]
        order = [AgentId(named), *supervisors, *active]
        return next((agent for agent in order if agent in active), self.speakers[0])

    def seconds(self, settings: Table, part: Part) -> float:
        """Seconds that a member may take for its part."""
        match settings:
            case Pipeline(stages=stages) if part.kind == "stage" and part.stage < len(stages):
                return stages[part.stage].timeout
            case Dynamic(timeout=seconds) | Supervisor(timeout=seconds) | Voting(timeout=seconds):
                return seconds
            case _:
                return _SECONDS

    def acting(self, agent_id: AgentId) -> Agent:
        """A member as it acts in the group; see `acting`."""
        return _as_member(self.agents[agent_id], self.group, leads=self.leader == agent_id)

    def able(self, agent: str) -> bool:
        """Whether that member can be asked now."""
        return any(each.agent == agent for each in self.candidates)


def team(rows: Rows, group_id: GroupId) -> Team:
    """Read a team. Raises KeyError if the group is gone, ValueError if its row is invalid."""
    return rows.cached(agents.TABLES, ("team", group_id), lambda: _team(rows, group_id))


def _team(rows: Rows, group_id: GroupId) -> Team:
    group = agent_groups.group(rows, group_id)
    members = [member for member in group.members if member.role != "observer"]
    if not members:
        raise ValueError(f'the group "{group.name}" has no member who speaks')
    found = agents.members(rows, group_id)
    candidates = tuple(
        Candidate(member, found[member.agent].name, found[member.agent].description)
        for member in members
        if found[member.agent].status == "active"
    )
    silent = (each.agent for each in group.members if each.role == "observer")
    return Team(
        group=group,
        settings=stored(group.pattern, group.config),
        candidates=candidates,
        agents=found,
        speakers=tuple(each.agent for each in members),
        observers=tuple(agent for agent in silent if found[agent].status == "active"),
    )


def acting(rows: Rows, turn: Turn) -> Agent:
    """An agent as it acts in the turn's place: with the place's or group's model, its name on messages next to others',
    and the tools for its part in the group."""
    agent = _acting(rows, turn)
    return replace(agent, model=place_settings.at_place(rows, turn.place).model or agent.model)


def _acting(rows: Rows, turn: Turn) -> Agent:
    agent = agents.agent(rows, turn.agent)
    if turn.group is None:
        return agent
    group = agent_groups.group(rows, turn.group)
    part = None if turn.parent is None else group_runs.part(rows, turn.id)
    if part is not None and part.kind in _ASKED_BY_TOOL:
        tool = _ASKED_BY_TOOL[part.kind]
        rules = ({"rule": "required_before_exit", "tool": tool}, {"rule": "exit_loop", "tool": tool})
        return replace(_as_member(agent, group), tools=(tool,), rules=rules)
    leads = group.pattern == "supervisor" and group.speaks(agent.id) and team(rows, group.id).leader == agent.id
    return _as_member(agent, group, leads=leads)


def _as_member(agent: Agent, group: Group, *, leads: bool = False) -> Agent:
    if (member := group.member(agent.id)) is None:
        return agent
    if sum(each.role != "observer" for each in group.members) > 1:
        agent = replace(agent, config=replace(agent.config, show_name=agent.name))
    agent = replace(agent, model=member.model or agent.model)
    if member.role == "observer":  # in a part, and after a decision on a request that it made there
        return replace(agent, tools=tuple(tool for tool in agent.tools if tool != _SPEAKS))
    if group.pattern == "supervisor" and (leads or member.role == "supervisor"):
        return replace(agent, tools=(*agent.tools, DELEGATE))
    return agent


def is_observer(rows: Rows, turn: Turn) -> bool:
    """Whether a turn belongs to a member that listens and never speaks."""
    member = None if turn.group is None else agent_groups.group(rows, turn.group).member(turn.agent)
    return member is not None and member.role == "observer"
