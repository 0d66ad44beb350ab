"""Agents and groups as commands set, export and compare them; `bot.config.agent_files` reads and writes the TOML."""

import json
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Annotated, Any, Literal, TypeAlias

from bot.agents import patrols
from bot.agents.groups import sleeptime_triggers
from bot.agents.groups.settings import TABLES
from bot.agents.initial_blocks import describe_blocks, ensure_own_blocks, seed_agent
from bot.agents.permissions.roles_and_rights import Approver
from bot.config import Agent, Config, Group
from bot.config.agent_files import Exchange, read_exchange, read_group
from bot.errors import CallError, UserError
from bot.runtime.configured_constellation import agent_row, agent_section, group_section, make_group, require_stored
from bot.runtime.group_routing import EVERYWHERE_ELSE
from bot.services.caller import TERMINAL_ONLY
from bot.services.names import find_group
from bot.services.people.place_settings import Places
from bot.services.registry import Arguments, Output, Param
from bot.services.results import Lines, Markup, Result, Row, WrittenFile
from bot.services.transactions import MemoryService, commit, reads, tried
from memory import agent_groups, agents
from memory.agent_groups import Group as StoredGroup
from memory.store.database import Rows, Tx
from memory.store.records import replace
from sources.terminal import PERSON
from sources.text import one_line
from texts import _, gettext_noop

_DONE = {
    "created": gettext_noop("Created {kind} {name}."),
    "changed": gettext_noop("Changed {kind} {name}."),
    "unchanged": gettext_noop("Left {kind} {name} unchanged."),
}
_OWNER = Approver(PERSON, interface="command line")
_SHOWN = 60  # length of a value; `--json` shows all of it

Settings = Annotated[
    tuple[str, ...],
    Param("Setting to change, named as in carina.toml", flag="--set", metavar="KEY=VALUE", via=TERMINAL_ONLY),
]


class ImportTables(Arguments):
    file: Annotated[
        str, Param("TOML file; use - for standard input", example="agents.toml", content=True, metavar="FILE")
    ]
    replace: Annotated[bool, Param("Replace those that already exist")] = False
    dry_run: Annotated[bool, Param("Only show what would change")] = False


class ExportTables(Arguments):
    names: Annotated[tuple[str, ...], Param("What to export (default: all)", metavar="NAME...", positional=True)] = ()
    output: Output = None


class TableChange(Row):
    kind: str
    name: str
    did: str

    @classmethod
    def of(cls, kind: str, name: str, before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> "TableChange":
        did = "created" if before is None else "unchanged" if before == after else "changed"
        return cls(kind=kind, name=name, did=did)

    def line(self, markup: Markup) -> str:
        return self.told(markup, _DONE[self.did], kind=_(self.kind))


Changes: TypeAlias = Lines[TableChange]


class TomlFile(Result):
    """An uploaded TOML file."""

    toml: str

    @property
    def document(self) -> str:
        return self.toml


class ExportedTables(TomlFile, WrittenFile):
    kind: str
    tables: tuple[dict[str, Any], ...]

    phrase = gettext_noop("`carina {kind} import` reads this file.")

    def data(self) -> dict[str, Any]:
        return {"file": self.file} if self.file else {f"{self.kind}s": list(self.tables)}

    def terminal(self, _markup: Markup) -> str:
        return _("Written to {file}.", file=self.file) if self.file else self.toml.rstrip("\n")


def read_settings(given: Sequence[str]) -> dict[str, Any]:
    """Parse "key=value" settings: a value is TOML, or else plain text.

    Raises CallError.
    """
    found = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not equals or not key.strip():
            example = 'description="Keeps the calendar"'
            raise CallError("--set: expected KEY=VALUE, such as {example}; found {given}", example=example, given=each)
        try:
            found[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except (tomllib.TOMLDecodeError, KeyError):
            found[key.strip()] = value
    return found


class Difference(Row):
    """A key that differs between file and database; without a key, something that is in only one of them."""

    kind: str
    name: str
    key: str = ""
    database: Any = None
    file: Any = None
    only: str = "file"
    """The side that has it, if only one does: "file" or "database"."""

    @classmethod
    def between(
        cls, kind: str, name: str, own: Mapping[str, Any] | None, table: Mapping[str, Any]
    ) -> "list[Difference]":
        """One difference for each key that differs; one without a key if the database lacks the whole table."""
        if own is None:
            return [cls(kind=kind, name=name)]
        keys = differing(own, table)
        return [cls(kind=kind, name=name, key=key, database=own.get(key), file=table.get(key)) for key in keys]

    def line(self, markup: Markup) -> str:
        if not self.key:
            there = gettext_noop("{kind} {name}: only in the database")
            created = gettext_noop("{kind} {name}: only in the file; it would be created")
            return self.told(markup, there if self.only == "database" else created, kind=_(self.kind))
        values = {
            "kind": _(self.kind),
            "database": markup.text(_short(self.database, self.file)),
            "file": markup.text(_short(self.file, self.database)),
        }
        return self.told(
            markup, gettext_noop("{kind} {name}, {key}: {database} in the database, {file} in the file"), **values
        )


def _short(value: Any, other: Any) -> str:
    """The value as JSON; if it is long, the part around the first difference."""
    if value is None:
        return _("nothing")
    text, beside = (json.dumps(each, ensure_ascii=False, default=sorted) for each in (value, other))
    if len(text) <= _SHOWN:
        return text
    same = takewhile(lambda pair: pair[0] == pair[1], zip(text, beside, strict=False))
    start = max(len([*same]) - 20, 0)
    return one_line(f"…{text[start:]}" if start else text, _SHOWN)


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> Collection[str]:
    return [key for key in dict.fromkeys((*one, *other)) if one.get(key) != other.get(key)]


class Tables(MemoryService, frozen=True):
    """The stored agents and groups as tables: compared with those of a file, and created or changed from them.

    `announce` handles messages that waited for an agent.
    """

    config: Config
    places: Places
    announce: Callable[[], None]

    async def take_in(self, kind: Literal["agents", "groups"], arguments: ImportTables) -> Changes | Lines[Difference]:
        """Import the tables of one kind from a file. Raises UserError or ConfigError."""
        file = read_exchange(arguments.file, _("the file"))
        wanted = Exchange(agents=file.agents) if kind == "agents" else Exchange(groups=file.groups)
        if wanted == Exchange():
            raise UserError("There is no [[{kind}]] in the file.", kind=kind)
        if not arguments.dry_run:
            return await self.save(wanted, replacing=arguments.replace)
        await tried(self.database, lambda tx: self._store(tx, wanted, arguments.replace))
        return Lines.of(await self.differences(wanted), _("Nothing would change."))

    async def save(self, wanted: Exchange, *, replacing: bool = True) -> Changes:
        """Create or change all of these agents and groups, or none; then set where the groups answer.

        Raises UserError or ConfigError.
        """
        done = await commit(self.database, lambda tx: self._store(tx, wanted, replacing))
        if wanted.groups:
            await self._place(wanted.groups)
        self.announce()
        return Lines.of(done)

    @reads
    def differences(self, rows: Rows, wanted: Exchange) -> list[Difference]:
        """How these agents and groups differ from the stored ones; a single group is the default."""
        found: list[Difference] = []
        known = {each.name: agent_section(each) for each in agents.every_agent(rows)}
        for agent in wanted.agents:
            usual = agent_section(agent_row(agent, show_name=False))
            found += Difference.between("agent", agent.name, known.get(agent.name), usual)
        known = {each.name: _comparable(read_group(self._section(rows, each))) for each in agent_groups.groups(rows)}
        for group in wanted.groups:
            usual = _comparable(group.model_copy(update={"default": group.default or len(wanted.groups) == 1}))
            found += Difference.between("group", group.name, known.get(group.name), usual)
        return found

    @reads
    def groups(self, rows: Rows) -> list[dict[str, Any]]:
        """The tables of all groups."""
        return [self._section(rows, each) for each in agent_groups.groups(rows)]

    @reads
    def group(self, rows: Rows, name: str) -> dict[str, Any]:
        """The table of a group. Raises UserError."""
        return self._section(rows, find_group(rows, name))

    def _section(self, rows: Rows, group: StoredGroup) -> dict[str, Any]:
        return group_section(rows, group, self.places.answering)

    def _store(self, tx: Tx, wanted: Exchange, replacing: bool) -> list[TableChange]:
        now = self.clock()
        done = [self._store_agent(tx, each, replacing, now) for each in wanted.agents]
        done += [self._store_group(tx, each, replacing, now) for each in wanted.groups]
        require_stored(tx, self.config, self.places.answering, wanted.groups, moves=replacing)
        zone = self.config.schedule.zone_name()
        patrols.plan(tx, zone, now)
        sleeptime_triggers.plan(tx, zone, now)
        return done

    def _store_agent(self, tx: Tx, section: Agent, replacing: bool, now: datetime) -> TableChange:
        made = agent_row(section, show_name=self.config.discord.show_names)
        there = agents.agent_named(tx, section.name)
        if there is None:
            seed_agent(tx, made, now)
        elif not replacing:
            raise UserError(
                "There is already an agent “{agent}”. `carina agent edit` changes it, and so does `carina "
                "agent import FILE --replace`.",
                agent=section.name,
            )
        else:
            changed = replace(made, id=there.id)
            agents.change_agent(tx, changed, now)
            describe_blocks(tx, there, changed, now)
            ensure_own_blocks(tx, changed, now)
        before = None if there is None else agent_section(there)
        return TableChange.of("agent", section.name, before, agent_section(made))

    def _store_group(self, tx: Tx, section: Group, replacing: bool, now: datetime) -> TableChange:
        there = next((each for each in agent_groups.groups(tx) if each.name == section.name), None)
        if there is not None and not replacing:
            raise UserError(
                "There is already a group “{group}”. `carina group import FILE --replace` changes it.",
                group=section.name,
            )
        before = None if there is None else _comparable(read_group(self._section(tx, there)))
        make_group(tx, section, now)
        wanted = _comparable(section)
        if before is not None and not section.default:  # the table does not mention it
            wanted["default"] = before["default"]
        return TableChange.of("group", section.name, before, wanted)

    async def _place(self, sections: Sequence[Group]) -> None:
        """Set where stored groups answer, by their tables."""
        await self.database.read(self.places.answering.heed)
        for section in sections:
            now = await self.group(section.name)
            wanted = [place for place in section.places if place not in now["places"]]
            for subject in [*wanted, *([EVERYWHERE_ELSE] if section.default and not now["default"] else [])]:
                await self.places.bind(subject, section.name, _OWNER)


def _comparable(section: Group) -> dict[str, Any]:
    """A group's table without irrelevant differences: the order of places, and a pattern's default table."""
    said = section.model_dump(exclude={*map(str, TABLES)})
    return {**said, "places": set(section.places), section.pattern: section.settings.model_dump()}
