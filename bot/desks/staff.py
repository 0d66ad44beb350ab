"""Agents by command: listed, shown, made, changed, archived, carried from one constellation to another as TOML.

The configuration's file seeds agents that the database does not know; afterwards the database is the truth. So what is
changed here wins over the file and lasts; `agent list` says where the two differ, and `agent import` with `replace`
takes a file's word for an agent that exists. A change holds from the agent's next turn on. An archived agent never
answers; its memory stays. A hibernated one is asked nothing until it is woken, and ends what it is at.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from bot import patrolling, policy
from bot.config import Agent as Section
from bot.config import Config
from bot.config.exchange import read_agent, read_exchange, write_exchange
from bot.desks.approving import Approvals
from bot.desks.community import Moved
from bot.errors import ConfigError, UserError
from bot.houses import Answering, agent_row, agent_section, require_standing
from bot.policy import Action, Approver
from bot.seeding import ensure_own_blocks, seed_agent
from memory import agents, groups, inbox, outbox, requests, turns
from memory.agents import Agent, Status
from memory.database import Database, Rows, Tx
from memory.faults import commit_point
from memory.ids import TurnId

T = TypeVar("T")

_SAVE = commit_point("staff.save")
_ARCHIVE = commit_point("staff.archive")
_SLEEP = commit_point("staff.sleep")

_HOW = {"archived": "; `carina agent restore` brings it back", "hibernated": "; `carina agent wake` wakes it"}

Listing: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True)
class Staff:
    """The agents of one constellation. `moved` tells running turns to look again."""

    config: Config
    approvals: Approvals
    answering: Answering
    moved: Moved

    def handlers(self) -> dict[str, Callable[..., Awaitable[Any]]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "agent.list": self.listing,
            "agent.show": self.show,
            "agent.create": self.create,
            "agent.edit": self.edit,
            "agent.archive": self.archive,
            "agent.restore": self.restore,
            "agent.hibernate": self.hibernate,
            "agent.wake": self.wake,
            "agent.export": self.export,
            "agent.import": self.take_in,
        }

    async def listing(self) -> Listing:
        """Every agent, the archived ones too, and how each stands to the file."""
        found = await self._read(agents.every_agent)
        return [
            {
                "agent": agent.name,
                "status": agent.status,
                "model": agent.model or self.config.model.default,
                "description": agent.description,
                "file": self.beside_file(agent),
            }
            for agent in found
        ]

    async def show(self, name: str) -> dict[str, Any]:
        """One agent with all its settings."""
        agent = await self._read(lambda rows: find_agent(rows, name))
        member_of = await self._read(lambda rows: [each.name for each in agents.groups_of(rows, agent.id)])
        section = agent_section(agent)
        return {
            "agent": agent.name,
            "status": agent.status,
            "groups": member_of,
            "file": self.beside_file(agent),
            "tools": list(agent.tools),
            "settings": section,
            "toml": write_exchange([section]),
        }

    async def create(self, settings: Mapping[str, Any]) -> Listing:
        """Make an agent of a table's keys."""
        return await self._save([_section(settings)], replacing=False)

    async def edit(self, name: str, changes: Mapping[str, Any]) -> Listing:
        """Let keys of an agent's table have other values; those that are None have their default again."""
        if "name" in changes:
            raise UserError("an agent's name cannot be changed: the file, groups and memory know it by that name")
        agent = await self._read(lambda rows: find_agent(rows, name))
        merged = {**agent_section(agent), **changes}
        return await self._save([_section({key: value for key, value in merged.items() if value is not None})])

    async def take_in(self, toml: str, source: str = "the file", replacing: bool = False) -> Listing:
        """Make the agents of a TOML text; of those that are there, only with `replacing` the settings are changed."""
        try:
            found = read_exchange(toml, source).agents
        except ConfigError as error:
            raise UserError(str(error)) from error
        if not found:
            raise UserError(f"{source}: found no [[agents]] in it")
        return await self._save(found, replacing=replacing)

    async def export(self, names: Sequence[str] = ()) -> dict[str, Any]:
        """These agents, or all that are not archived, as TOML and as data."""
        read = await self._read(
            lambda rows: [find_agent(rows, name) for name in names] if names else agents.agents(rows)
        )
        sections = [agent_section(agent) for agent in read]
        return {"agents": sections, "toml": write_exchange(sections)}

    async def archive(self, name: str) -> Listing:
        """Let an agent never answer again, and give up what it was at; its memory stays."""

        def work(tx: Tx) -> tuple[Agent, tuple[TurnId, ...]]:
            agent, now = find_agent(tx, name), self.approvals.clock()
            if agent.status == "archived":
                raise UserError(f"{agent.name} is archived already")
            agents.set_status(tx, agent.id, "archived", now)
            ended = turns.open_of_agent(tx, agent.id)
            for turn in ended:
                self.approvals.broker.withdraw(tx, turn, now)
                groups.end_part(tx, turn, "failed", "", now)  # who asked it for something goes on without
                groups.drop_parts(tx, turn)
                outbox.withdraw_pending(tx, turn)
                inbox.finish(tx, turn, now)
                turns.end(tx, turn, "cancelled", now)
            self._plan(tx, now)
            for turn in requests.waiting_turns(tx, agent.id):  # of turns that ended when they had asked
                self.approvals.broker.withdraw(tx, turn, now)
            return agent, ended

        async with self._open() as database:
            agent, ended = await database.write(_ARCHIVE, work, durable=True)
        self.moved(self.approvals.house, ended)
        return [
            {"agent": agent.name, "did": "archived: it answers nobody; its memory stays", "ended_turns": len(ended)}
        ]

    async def restore(self, name: str) -> Listing:
        """Let an archived agent answer again."""

        def work(tx: Tx) -> Agent:
            agent = find_agent(tx, name)
            if agent.status != "archived":
                raise UserError(f"{agent.name} is not archived{_HOW.get(agent.status, '')}")
            agents.set_status(tx, agent.id, "active", now := self.approvals.clock())
            self._plan(tx, now)
            return agent

        async with self._open() as database:
            agent = await database.write(_ARCHIVE, work, durable=True)
        return [{"agent": agent.name, "did": "answers again"}]

    async def hibernate(self, name: str) -> Listing:
        """Let an agent sleep: it ends what it is at, and is asked nothing more until it is woken."""
        known = await self._let(name, "active", "hibernated")
        return [{"agent": known, "did": "sleeps until it is woken: it ends what it is at, and is asked nothing more"}]

    async def wake(self, name: str) -> Listing:
        """Let a hibernated agent be asked again."""
        return [{"agent": await self._let(name, "hibernated", "active"), "did": "answers again"}]

    async def sleep_by(self, who: Approver, name: str, *, awake: bool) -> str:
        """The same by somebody in charge. Raises UserError."""
        policy.require(self.approvals.people, who, Action.SLEEP)
        (done,) = await (self.wake(name) if awake else self.hibernate(name))
        return f"{done['agent']} {done['did']}."

    async def _let(self, name: str, of: Status, to: Status) -> str:
        """Let an agent of one status have another; gives its name. Raises UserError for one that has a third."""

        def work(tx: Tx) -> str:
            agent, now = find_agent(tx, name), self.approvals.clock()
            if agent.status != of:
                raise UserError(f"{agent.name} is {agent.status}, not {of}{_HOW.get(agent.status, '')}")
            agents.set_status(tx, agent.id, to, now)
            self._plan(tx, now)
            return agent.name

        async with self._open() as database:
            return await database.write(_SLEEP, work, durable=True)

    def beside_file(self, agent: Agent) -> str:
        """How an agent in the database stands to its table in the file."""
        return beside_file(self.config, agent)

    async def _save(self, sections: Sequence[Section], *, replacing: bool = True) -> Listing:
        """Write agents as these tables say, all of them or none."""
        now, shown = self.approvals.clock(), self.config.discord.show_names

        def work(tx: Tx) -> Listing:
            done = []
            for section in sections:
                made, there = agent_row(section, show_name=shown), agents.agent_named(tx, section.name)
                if there is None:
                    seed_agent(tx, made, now)
                elif not replacing:
                    raise UserError(
                        f"there is an agent {section.name} already; `carina agent edit` changes it, and so does "
                        "`carina agent import FILE --replace`"
                    )
                else:
                    changed = replace(made, id=there.id)
                    agents.change_agent(tx, changed, now)
                    ensure_own_blocks(tx, changed, now)
                done.append({"agent": section.name, "did": "made" if there is None else "changed"})
            require_standing(tx, self.config, self.answering)
            self._plan(tx, now)
            return done

        async with self._open() as database:
            try:
                return await database.write(_SAVE, work, durable=True)
            except ConfigError as error:
                raise UserError(str(error)) from error

    def _plan(self, tx: Tx, now: datetime) -> None:
        """Keep the jobs of what agents do at their times; seen by the scheduler within a minute."""
        patrolling.plan(tx, self.config.schedule.zone_name(), now)

    def _open(self) -> AbstractAsyncContextManager[Database]:
        return self.approvals.constellations.use(self.approvals.house)

    async def _read(self, read: Callable[[Rows], T]) -> T:
        async with self._open() as database:
            return await database.read(read)


def find_agent(rows: Rows, name: str) -> Agent:
    """The agent of that name, whatever the case of its letters. Raises UserError, which says whom there is."""
    every = agents.every_agent(rows)
    found = next((each for each in every if each.name.casefold() == name.strip().casefold()), None)
    if found is None:
        raise UserError(f"there is no agent {name[:80]!r}; there are: {', '.join(each.name for each in every)}")
    return found


def beside_file(config: Config, agent: Agent) -> str:
    """How an agent in the database stands to its table in the configuration, in words."""
    table = next((each for each in config.agents if each.name == agent.name), None)
    if table is None:
        return f"not in {config.file.name}"
    keys = differing(agent_section(agent_row(table, show_name=False)), agent_section(agent))
    return f"differs from {config.file.name}: {', '.join(keys)}" if keys else f"as in {config.file.name}"


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> Collection[str]:
    """The keys under which two tables say different things."""
    return [key for key in dict.fromkeys((*one, *other)) if one.get(key) != other.get(key)]


def _section(settings: Mapping[str, Any]) -> Section:
    try:
        return read_agent(settings)
    except ConfigError as error:
        raise UserError(str(error)) from error
