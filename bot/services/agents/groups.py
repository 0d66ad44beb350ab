"""Commands for groups: list, show, create, change members, and move between constellations as TOML.

As with agents, the file seeds groups that the database does not know, and afterward the database is authoritative. The
file also decides where a group answers, unless a command has set it: here with its table, or by `/admin route`.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar

import msgspec
from pydantic import Field

from bot.agents.permissions import roles_and_rights
from bot.agents.permissions.roles_and_rights import Action, Approver
from bot.config import Config
from bot.config.agent_files import Exchange, read_group, write_exchange
from bot.errors import CallError, UserError
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
from bot.services.names import find_group
from bot.services.registry import CHANGES_AT_TERMINAL, Arguments, Options, Param, operation, suggestions
from bot.services.results import Lines, Listing, Markup, Result, Row
from bot.services.transactions import MemoryService
from memory import agents, group_runs
from memory.agent_groups import Member
from memory.agents import Agent
from memory.store.database import Rows
from sources.terminal import PERSON
from texts import _, gettext_noop

_OWNER = Approver(PERSON, interface="command line")

_Group = Annotated[str, Param("Name of the group", example="Main", metavar="GROUP", suggests="groups")]
_Agent = Annotated[str, Param("Name of the agent", example="Carina", metavar="AGENT", suggests="every agent")]
_Name = Annotated[str, Param("Name of the group", example="Planning", metavar="GROUP", positional=True)]
_Member = Annotated[tuple[str, ...], Param("Agent to include", metavar="AGENT")]


_PATTERNS = {
    "round_robin": gettext_noop("taking turns"),
    "dynamic": gettext_noop("chosen for each message"),
    "supervisor": gettext_noop("led by a supervisor"),
    "pipeline": gettext_noop("one after the other"),
    "voting": gettext_noop("by vote"),
    "sleeptime": gettext_noop("in the background"),
}
_ROLES = {
    "regular": gettext_noop("regular member"),
    "supervisor": gettext_noop("supervisor"),
    "observer": gettext_noop("observer"),
    "specialist": gettext_noop("specialist"),
}


def pattern_text(pattern: str) -> str:
    """How its members work together, in words."""
    return _(_PATTERNS[pattern])


def role_text(role: str) -> str:
    name, _colon, domain = role.partition(": ")
    return f"{_(_ROLES[name])}{f': {domain}' if domain else ''}"


class AddMember(Arguments):
    group: _Group
    agent: _Agent
    role: Annotated[str, Param("Role: regular, supervisor, observer or specialist", metavar="ROLE")] = ""
    domain: Annotated[str, Param("What a specialist is responsible for", metavar="TEXT")] = ""
    settings: Settings = ()


class GroupRow(Row):
    """A group in a list; the places where it answers are only for those who may see the status."""

    group: str = Field(validation_alias="name")
    pattern: str
    members: str
    answers_in: str

    def line(self, markup: Markup) -> str:
        return markup.text(f"{self.group} ({pattern_text(self.pattern)}): {self.members}")


class GroupDetails(TomlFile):
    """One group with all its settings; the table is only for those who may export it."""

    group: str
    settings: dict[str, Any]

    def lines(self, markup: Markup) -> list[str]:
        read = read_group(self.settings)
        head = f"{self.group}: {pattern_text(read.pattern)}", _("Members: {names}", names=", ".join(read.names))
        others = {key: value for key, value in self.settings.items() if key not in ("name", "pattern", "members")}
        keys = (f"- {key}: {value}" for key, value in others.items() if value not in ("", None, [], {}))
        return [*map(markup.text, head), *([] if self.toml else map(markup.text, keys))]

    def terminal(self, _markup: Markup) -> str:
        return self.toml.rstrip()


class MemberRow(Row):
    agent: str = Field(validation_alias="name")
    status: str
    role: str
    model: str

    @classmethod
    def of(cls, agent: Agent, member: Member, usual: str) -> "MemberRow":
        role = f"{member.role}: {member.domain}" if member.domain else member.role
        return cls.from_record(agent, role=role, model=member.model or agent.model or usual)

    def line(self, markup: Markup) -> str:
        told = {"status": _(self.status), "role": role_text(self.role)}
        return self.told(markup, gettext_noop("{agent}: {status}, {role}, model {model}"), **told)


class GroupStatus(Result):
    group: str = Field(validation_alias="name")
    pattern: str
    members: tuple[MemberRow, ...]
    state: dict[str, Any]
    began: datetime | None = None
    """Start of the members' last joint work; `ended` is empty while it runs."""
    ended: datetime | None = None
    stopped: str = ""
    """The pipeline stage at which it ended."""
    speaking: tuple[str, ...] = Field(exclude=True)
    """The members that take turns, in order."""

    def lines(self, markup: Markup) -> list[str]:
        head = markup.text(f"{self.group}: {pattern_text(self.pattern)}")
        return [head, *(f"- {row.line(markup)}" for row in self.members), *self._kept(markup)]

    def _kept(self, markup: Markup) -> Iterator[str]:
        kept = msgspec.convert(self.state, group_runs.GroupState)
        if self.began is not None:
            stopped = self.told(markup, gettext_noop("; stopped at the stage {stopped}")) if self.stopped else ""
            began = (
                gettext_noop("Last asked together: {began}") if self.ended else gettext_noop("Working since {began}")
            )
            yield self.told(markup, began) + stopped
        if self.speaking and kept.index is not None:
            following = self.speaking[kept.index % len(self.speaking)]
            yield markup.text(_("Next in turn: {agent}", agent=following))
        for times, words in ((kept.used, _("Last asked")), (kept.fired, _("Last fired"))):
            moments = sorted(times.items(), key=lambda each: each[1], reverse=True)
            if told := ", ".join(f"{markup.text(name)} {markup.time(at)}" for name, at in moments):
                yield f"{words}: {told}"
        for at, words in ((kept.checked, _("Last checked")), (kept.since, _("The next check looks back to"))):
            if at is not None:
                yield f"{words}: {markup.time(at)}"
        if kept.above:
            yield markup.text(_("Triggers above their threshold: {names}", names=", ".join(kept.above)))


class Groups(MemoryService, frozen=True):
    titles: ClassVar = {
        "group": "Manage groups of agents and where they answer",
        "group.add": "Add agents to groups",
        "group.remove": "Remove agents from groups",
    }

    config: Config
    tables: Tables

    @operation("group.list", "List groups and their members", Action.HELP)
    @suggestions("groups")
    async def list_groups(self, caller: Caller) -> Listing[GroupRow]:
        whole = roles_and_rights.may(self.people, caller.approver, Action.STATUS)
        rows = [
            GroupRow.from_record(
                section,
                members=", ".join(read_group(section).names),
                answers_in=", ".join(_places(section)) if whole else "",
            )
            for section in await self.tables.groups()
        ]
        return Listing.of(rows, _("There are no groups."))

    @operation("group.show", "Show a group and its settings", Action.STATUS, Options(suffix="toml"))
    async def show(self, caller: Caller, group: _Group) -> GroupDetails:
        section = await self.tables.group(group)
        whole = roles_and_rights.may(self.people, caller.approver, Action.EXPORT)
        toml = write_exchange(groups=[section]) if whole else ""
        return GroupDetails(group=section["name"], settings=section, toml=toml)

    @operation("group.status", "Show a group's members and status", Action.STATUS)
    def status(self, rows: Rows, _caller: Caller, group: _Group) -> GroupStatus:
        found = find_group(rows, group)
        names = {str(each.id): each.name for each in agents.every_agent(rows)}
        usual, run = self.config.model.default, group_runs.latest(rows, found.id)
        return GroupStatus.from_record(
            found,
            began=run and run.started_at,
            ended=run and run.ended_at,
            stopped=run.outcome.aborted if run else "",
            members=tuple(MemberRow.of(agents.agent(rows, each.agent), each, usual) for each in found.members),
            state=_with_names(msgspec.to_builtins(group_runs.state(rows, found.id)), names),
            speaking=tuple(names[each.agent] for each in found.members if each.role != "observer"),
        )

    @operation("group.create", "Create a group", Action.AGENTS, CHANGES_AT_TERMINAL)
    async def create(self, _caller: Caller, name: _Name = "", member: _Member = (), settings: Settings = ()) -> Changes:
        given = read_settings(settings)
        members = {"members": list(member)} if member else {}
        wanted = {"name": name, **given, **members}
        if not name or not wanted.get("members"):
            raise CallError("Give the group a name, and at least one member with --member.")
        return await self.tables.save(Exchange(groups=(read_group(wanted),)), replacing=False)

    @operation("group.import", "Import groups from a file, all or none", Action.AGENTS, CHANGES_AT_TERMINAL)
    async def take_in(self, _caller: Caller, arguments: ImportTables) -> Changes | Lines[Difference]:
        return await self.tables.take_in("groups", arguments)

    @operation("group.export", "Export groups with all their settings", Action.EXPORT, Options(suffix="toml"))
    async def export(self, _caller: Caller, arguments: ExportTables) -> ExportedTables:
        wanted = await self.database.read(lambda rows: [find_group(rows, name).name for name in arguments.names])
        sections = tuple(each for each in await self.tables.groups() if not wanted or each["name"] in wanted)
        exported = ExportedTables(kind="group", tables=sections, toml=write_exchange(groups=sections))
        return exported.written(arguments.output)

    @operation("group.add.member", "Add an agent to a group", Action.AGENTS, CHANGES_AT_TERMINAL)
    async def add_member(self, _caller: Caller, arguments: AddMember) -> Changes:
        section, agent = await self.tables.group(arguments.group), arguments.agent
        if _is_in(agent, section):
            raise UserError("{agent} is already in {group}.", agent=agent, group=section["name"])
        known = {each.name.casefold(): each.name for each in await self.database.read(agents.every_agent)}
        said = {key: value for key, value in (("role", arguments.role), ("domain", arguments.domain)) if value}
        own = {**read_settings(arguments.settings), **said}
        member = {"agent": known.get(agent.strip().casefold(), agent), **own}
        changed = read_group({**section, "members": [*section["members"], member]})
        return await self.tables.save(Exchange(groups=(changed,)))

    @operation(
        "group.remove.member", "Remove an agent from a group; its memory stays", Action.AGENTS, CHANGES_AT_TERMINAL
    )
    async def remove_member(self, _caller: Caller, group: _Group, agent: _Agent) -> Changes:
        section = await self.tables.group(group)
        if not _is_in(agent, section):
            there = ", ".join(read_group(section).names)
            raise UserError(
                "{agent} is not in {group}. Its members are: {there}.", group=section["name"], there=there, agent=agent
            )
        left = [each for each in section["members"] if _named(each) != agent.strip().casefold()]
        if not left:
            raise UserError(
                "{agent} is the only member of {group}, and a group needs one.", agent=agent, group=section["name"]
            )
        return await self.tables.save(Exchange(groups=(read_group({**section, "members": left}),)))


def _with_names(kept: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A pattern's state, with agents by name."""
    return {
        names.get(key, key): _with_names(value, names) if isinstance(value, Mapping) else value
        for key, value in kept.items()
    }


def _places(section: Mapping[str, Any]) -> list[str]:
    return [*section["places"], *([_("everywhere else")] if section["default"] else [])]


def _is_in(agent: str, section: Mapping[str, Any]) -> bool:
    return agent.strip().casefold() in map(_named, section["members"])


def _named(member: Mapping[str, Any] | str) -> str:
    return (member if isinstance(member, str) else str(member["agent"])).casefold()
