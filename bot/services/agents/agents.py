"""Commands for agents: list, show, create, change, archive, and move between constellations as TOML.

The configuration file seeds agents that the database does not know; afterward the database is authoritative. So changes
made here override the file and last; `config diff` shows where the two differ, and `agent import` with `replace`
applies a file's table to an existing agent. A change applies from the agent's next turn on. An archived agent never
answers; its memory stays. A hibernated one gets no new work until it is woken, and finishes its current turn.
"""

import shlex
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import Field

from bot.agents import patrols
from bot.agents.permissions import roles_and_rights
from bot.agents.permissions.approval_requests import Broker
from bot.agents.permissions.roles_and_rights import Action
from bot.agents.tool_rules import Rules
from bot.agents.tools.base import Toolset
from bot.agents.turn_end import abandon
from bot.config import Config
from bot.config.agent_files import Exchange, read_agent, write_exchange
from bot.errors import CallError, UserError
from bot.runtime.configured_constellation import agent_section
from bot.services.agents.toml_tables import (
    Changes,
    Difference,
    ExportedTables,
    ExportTables,
    ImportTables,
    Settings,
    Tables,
    TomlFile,
    read_settings,
)
from bot.services.caller import Caller
from bot.services.names import find_agent, require_name
from bot.services.registry import AT_TERMINAL, CHANGES_AT_TERMINAL, Options, Param, Suggestions, operation, suggestions
from bot.services.results import ActionReport, Lines, Listing, Markup, Row, report
from bot.services.transactions import MemoryService, commit
from memory import agent_groups, agents, permission_requests
from memory.agents import Agent, Status
from memory.queue import turns
from memory.store.database import Rows, Tx
from memory.store.ids import TurnId
from texts import _, gettext_noop, ngettext

_IS = {
    "active": gettext_noop("{agent} is active"),
    "archived": gettext_noop("{agent} is archived"),
    "hibernated": gettext_noop("{agent} is hibernated"),
}
_HOW = {
    "archived": gettext_noop("; `carina agent restore` restores it"),
    "hibernated": gettext_noop("; wake it with `carina agent wake`"),
}

MovedHere: TypeAlias = Callable[[Sequence[TurnId]], None]
"""Makes running turns of this constellation reload."""

_Prompt = Annotated[
    str | None,
    Param("File with its system prompt; use - for standard input", content=True, flag="--prompt-file", metavar="FILE"),
]
_Agent = Annotated[str, Param("Name of the agent", example="Carina", metavar="AGENT", suggests="every agent")]
_Active = Annotated[str, Param("Name of the agent", example="Carina", metavar="AGENT", suggests="active agents")]
_Hibernated = Annotated[
    str, Param("Name of the agent", example="Carina", metavar="AGENT", suggests="hibernated agents")
]
_Name = Annotated[str, Param("Name of the agent", example="Nova", metavar="AGENT")]
_Unset = Annotated[tuple[str, ...], Param("Setting to reset to its default", metavar="KEY")]


def _require_status(agent: Agent, status: Status) -> None:
    """Raise UserError for an agent of another status, naming the command that changes it."""
    if agent.status != status:
        raise UserError(f"{_(_IS[agent.status], agent=agent.name)}{_(_HOW.get(agent.status, ''))}.")


def _now(agent: str, status: Status, more: str = "", **values: str) -> ActionReport:
    return report(f"{_(_IS[status])}{_(_HOW.get(status, ''))}.{more}", agent=agent, status=status, **values)


class AgentRow(Row):
    """An agent in a list; its settings are only for those who may see the status."""

    agent: str = Field(validation_alias="name")
    status: str
    model: str
    description: str

    def line(self, markup: Markup) -> str:
        asleep = {"hibernated": _(" (hibernated)"), "archived": _(" (archived)")}.get(self.status, "")
        about = f": {markup.text(self.description)}" if self.description else ""
        more = f"; {_('model {model}', model=markup.text(self.model))}" if self.model else ""
        return f"{markup.text(self.agent)}{asleep}{about}{more}"


class AgentDetails(TomlFile):
    """One agent with all its settings; the table is only for those who may export it."""

    agent: str = Field(validation_alias="name")
    status: str
    model: str
    groups: tuple[str, ...]
    tools: tuple[str, ...]
    called: dict[str, str] = Field(exclude=True)
    """What people read in place of the names of the tools that it has now."""
    consent: tuple[str, ...] = Field(exclude=True)
    rules: tuple[str, ...]
    settings: dict[str, Any]

    def lines(self, markup: Markup) -> list[str]:
        known = [(called, name in self.consent) for name, called in self.called.items()]
        tools = [_("{tool} (asks first)", tool=called) if asks else called for called, asks in dict.fromkeys(known)]
        return [
            markup.text(_(_IS[self.status], agent=self.agent)),
            _("- Model: {model}", model=markup.text(self.model)),
            _("- Groups: {groups}", groups=markup.text(", ".join(self.groups) or _("none"))),
            _("- Tools: {tools}", tools=markup.text(", ".join(tools) or _("none"))),
            *(_("- Rule, as the agent reads it: “{rule}”", rule=markup.text(rule)) for rule in self.rules),
        ]

    def terminal(self, _markup: Markup) -> str:
        groups = _("in the groups: {groups}", groups=", ".join(self.groups) or _("none"))
        head = [f"# {_(_IS[self.status], agent=self.agent)}; {groups}"]
        if "tools" not in self.settings:
            every = _("every tool, including those added in later versions: {tools}", tools=", ".join(self.tools))
            head.append(f"# {every}")
        return "\n".join([*head, self.toml.rstrip("\n")])


class Agents(MemoryService, frozen=True):
    """The agents of one constellation. `moved` makes running turns reload, `announce` handles queued messages."""

    titles: ClassVar = {"agent": "Manage agents: their models, prompts and tools"}

    broker: Broker
    config: Config
    moved: MovedHere
    announce: Callable[[], None]
    tables: Tables
    tools: Callable[[Agent], Toolset]

    @operation("agent.list", "List the agents", Action.HELP)
    def list_agents(self, rows: Rows, caller: Caller) -> Listing[AgentRow]:
        whole = roles_and_rights.may(self.people, caller.approver, Action.STATUS)
        listed = (
            AgentRow.from_record(agent, model=(agent.model or self.config.model.default) if whole else "")
            for agent in (agents.every_agent if whole else agents.agents)(rows)
        )
        return Listing.of(listed, _("All agents are archived. `carina agent restore` restores one."))

    @operation("agent.show", "Show an agent and its settings", Action.STATUS, Options(suffix="toml"))
    def show(self, rows: Rows, caller: Caller, agent: _Agent) -> AgentDetails:
        found = find_agent(rows, agent)
        member_of = [each.name for each in agent_groups.groups_of(rows, found.id)]
        tools = self.tools(found)
        section = agent_section(found) if roles_and_rights.may(self.people, caller.approver, Action.EXPORT) else {}
        return AgentDetails.from_record(
            found,
            model=found.model or self.config.model.default,
            groups=tuple(member_of),
            called={name: tools.called(name) for name in found.tools if name in tools.tools},
            rules=tuple(Rules.of(found).sentences()),
            settings=section,
            toml=write_exchange([section]) if section else "",
        )

    @operation("agent.create", "Create an agent", Action.AGENTS, CHANGES_AT_TERMINAL)
    async def create(self, _caller: Caller, name: _Name, settings: Settings = (), prompt: _Prompt = None) -> Changes:
        section = read_agent({"name": name, **_given(settings, prompt)})
        require_name(section.name)
        return await self.tables.save(Exchange(agents=(section,)), replacing=False)

    @operation("agent.edit", "Change an agent's settings", Action.AGENTS, CHANGES_AT_TERMINAL)
    async def edit(
        self, _caller: Caller, agent: _Agent, settings: Settings = (), prompt: _Prompt = None, unset: _Unset = ()
    ) -> Changes:
        changes = {**_given(settings, prompt), **dict.fromkeys(unset)}
        if not changes:
            raise CallError("agent edit: say what to change, such as --set model=offline")
        if "name" in changes:
            raise UserError("An agent's name cannot be changed: carina.toml, groups and memory refer to it.")
        found = await self.database.read(lambda rows: find_agent(rows, agent))
        merged = {**agent_section(found), **changes}
        section = read_agent({key: value for key, value in merged.items() if value is not None})
        return await self.tables.save(Exchange(agents=(section,)))

    @operation("agent.import", "Import agents from a file, all or none", Action.AGENTS, CHANGES_AT_TERMINAL)
    async def take_in(self, _caller: Caller, arguments: ImportTables) -> Changes | Lines[Difference]:
        return await self.tables.take_in("agents", arguments)

    @operation("agent.export", "Export agents with all their settings", Action.EXPORT, Options(suffix="toml"))
    def export(self, rows: Rows, _caller: Caller, arguments: ExportTables) -> ExportedTables:
        names = arguments.names
        read = [find_agent(rows, name) for name in names] if names else agents.agents(rows)
        sections = tuple(agent_section(agent) for agent in read)
        exported = ExportedTables(kind="agent", tables=sections, toml=write_exchange(sections))
        return exported.written(arguments.output)

    @operation(
        "agent.archive", "Archive an agent; it stops answering but keeps its memory", Action.AGENTS, CHANGES_AT_TERMINAL
    )
    async def archive(self, _caller: Caller, agent: _Agent) -> ActionReport:
        def work(tx: Tx) -> tuple[Agent, tuple[TurnId, ...], list[str]]:
            found, now = find_agent(tx, agent), self.clock()
            if found.status == "archived":
                raise UserError("{agent} is already archived.", agent=found.name)
            agents.set_status(tx, found.id, "archived", now)
            ended = turns.unfinished(tx, found.id)
            for turn in ended:
                abandon(tx, self.broker, turn, now)
            self._plan(tx, now)
            for turn in permission_requests.waiting_turns(tx, found.id):  # of turns that ended after the request
                self.broker.withdraw(tx, turn, now)
            silent = [
                each.name for each in agent_groups.groups_of(tx, found.id) if not agent_groups.answering(tx, each)
            ]
            return found, ended, silent

        found, ended, silent = await commit(self.database, work)
        self.moved(ended)
        stopped = ngettext("{count} answer was stopped.", "{count} answers were stopped.", len(ended))
        more, back = f" {stopped}" if ended else "", f"carina agent restore {shlex.quote(found.name)}"
        if not silent:
            return _now(found.name, "archived", more)
        more += f" {_('No agent is answering in {groups} now. `{command}` changes that.')}"
        return _now(found.name, "archived", more, groups=", ".join(silent), command=back)

    @operation("agent.restore", "Restore an archived agent", Action.AGENTS, AT_TERMINAL)
    def restore(self, tx: Tx, _caller: Caller, agent: _Agent) -> ActionReport:
        return self._let(tx, agent, "archived", "active")

    @operation("agent.hibernate", "Put an agent to sleep once it finishes its current answers", Action.SLEEP)
    def hibernate(self, tx: Tx, _caller: Caller, agent: _Active) -> ActionReport:
        return self._let(tx, agent, "active", "hibernated")

    @operation("agent.wake", "Wake a hibernated agent", Action.SLEEP)
    def wake(self, tx: Tx, _caller: Caller, agent: _Hibernated) -> ActionReport:
        return self._let(tx, agent, "hibernated", "active")

    @suggestions("every agent")
    def suggest(self, rows: Rows, _caller: Caller) -> Suggestions:
        return [agent.name for agent in agents.every_agent(rows)]

    @suggestions("active agents")
    def suggest_active(self, rows: Rows, _caller: Caller) -> Suggestions:
        return [agent.name for agent in agents.every_agent(rows) if agent.status == "active"]

    @suggestions("hibernated agents")
    def suggest_hibernated(self, rows: Rows, _caller: Caller) -> Suggestions:
        return [agent.name for agent in agents.every_agent(rows) if agent.status == "hibernated"]

    def _let(self, tx: Tx, name: str, of: Status, to: Status) -> ActionReport:
        """Change an agent's status from `of` to `to`. Raises UserError if it has another status."""
        agent, now = find_agent(tx, name), self.clock()
        _require_status(agent, of)
        agents.set_status(tx, agent.id, to, now)
        self._plan(tx, now)
        return _now(agent.name, to)

    def _plan(self, tx: Tx, now: datetime) -> None:
        """Update the jobs of agents' schedules; the scheduler sees them within a minute."""
        patrols.plan(tx, self.config.schedule.zone_name(), now)


def _given(settings: Sequence[str], prompt: str | None) -> dict[str, Any]:
    """The keys of a table. Raises CallError."""
    given = read_settings(settings)
    if prompt is None:
        return given
    if "system_prompt" in given:
        raise CallError("--prompt-file: system_prompt is also given; use only one of them")
    return {**given, "system_prompt": prompt}
