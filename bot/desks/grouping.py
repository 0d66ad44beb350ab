"""Groups by command: listed, shown, made, their members changed, carried from one constellation to another as TOML.

As with agents the file seeds groups that the database does not know, and afterwards the database is the truth. Where a
group answers is what the file says until it is decided by command: here with its table, or by `/route`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bot.config import Config
from bot.config import Group as Section
from bot.config.exchange import read_exchange, read_group, write_exchange
from bot.desks.approving import Approvals
from bot.desks.staff import Listing, differing
from bot.desks.steering import Steering
from bot.errors import ConfigError, UserError
from bot.groups.settings import TABLES
from bot.houses import EVERYWHERE_ELSE, group_section, make_group, require_standing
from bot.policy import Approver
from memory import agents, groups
from memory.agents import Agent, Group, Member
from memory.database import Rows, Tx
from memory.faults import commit_point
from sources.terminal import PERSON

T = TypeVar("T")

_SAVE = commit_point("grouping.save")
_OWNER = Approver(PERSON, door="command line")


@dataclass(frozen=True)
class Grouping:
    """The groups of one constellation."""

    config: Config
    approvals: Approvals
    steering: Steering

    def handlers(self) -> dict[str, Callable[..., Awaitable[Any]]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {
            "group.list": self.listing,
            "group.show": self.show,
            "group.create": self.create,
            "group.add_member": self.add_member,
            "group.remove_member": self.remove_member,
            "group.status": self.status,
            "group.export": self.export,
            "group.import": self.take_in,
        }

    async def listing(self) -> Listing:
        """Every group, where it answers, and how it stands to the file."""
        return [
            {
                "group": section["name"],
                "pattern": section["pattern"],
                "members": ", ".join(read_group(section).names),
                "answers_in": ", ".join([*section["places"], *(["everywhere else"] if section["default"] else [])]),
                "file": self._beside_file(section),
            }
            for section in await self._sections()
        ]

    async def show(self, name: str) -> dict[str, Any]:
        """One group with all its settings."""
        section = await self._read(lambda rows: self._section(rows, find_group(rows, name)))
        return {
            "group": section["name"],
            "file": self._beside_file(section),
            "settings": section,
            "toml": write_exchange(groups=[section]),
        }

    async def status(self, name: str) -> dict[str, Any]:
        """The members of a group, how each stands, and what its pattern keeps between runs."""

        def read(rows: Rows) -> dict[str, Any]:
            group = find_group(rows, name)
            names = {str(each.id): each.name for each in agents.every_agent(rows)}
            kept = _with_names(groups.state(rows, group.id), names)
            speaking = [names[each.agent] for each in group.members if each.role != "observer"]
            return {
                "group": group.name,
                "pattern": group.pattern,
                "members": [self._member(agents.agent(rows, each.agent), each) for each in group.members],
                "state": kept,
                "kept": kept_lines(kept, speaking),
            }

        return await self._read(read)

    def _member(self, agent: Agent, member: Member) -> dict[str, Any]:
        return {
            "agent": agent.name,
            "status": agent.status,
            "role": f"{member.role}: {member.domain}" if member.domain else member.role,
            "model": member.model or agent.model or self.config.model.default,
        }

    async def create(self, settings: Mapping[str, Any]) -> Listing:
        """Make a group of a table's keys."""
        return await self._save([_section(settings)], replacing=False)

    async def take_in(self, toml: str, source: str = "the file", replacing: bool = False) -> Listing:
        """Make the groups of a TOML text; of those that are there, only with `replacing` the settings are changed."""
        try:
            found = read_exchange(toml, source).groups
        except ConfigError as error:
            raise UserError(str(error)) from error
        if not found:
            raise UserError(f"{source}: found no [[groups]] in it")
        return await self._save(found, replacing=replacing)

    async def export(self, names: Sequence[str] = ()) -> dict[str, Any]:
        """These groups, or all of them, as TOML and as data."""
        wanted = await self._read(lambda rows: [find_group(rows, name).name for name in names])
        sections = [each for each in await self._sections() if not wanted or each["name"] in wanted]
        return {"groups": sections, "toml": write_exchange(groups=sections)}

    async def add_member(self, name: str, agent: str, settings: Mapping[str, Any] | None = None) -> Listing:
        """Put an agent into a group, as its last member; `settings` are keys of a member's own table."""
        section = (await self.show(name))["settings"]
        if _is_in(agent, section):
            raise UserError(f"{agent} is in {section['name']} already")
        known = {each.name.casefold(): each.name for each in await self._read(agents.every_agent)}
        member = {"agent": known.get(agent.strip().casefold(), agent), **(settings or {})}
        return await self._save([_section({**section, "members": [*section["members"], member]})])

    async def remove_member(self, name: str, agent: str) -> Listing:
        """Take an agent out of a group; it stays in others, and its memory stays."""
        section = (await self.show(name))["settings"]
        if not _is_in(agent, section):
            there = ", ".join(read_group(section).names)
            raise UserError(f"{agent} is not in {section['name']}; there are: {there}")
        left = [each for each in section["members"] if _named(each) != agent.strip().casefold()]
        if not left:
            raise UserError(f"{agent} is the only one in {section['name']}: a group without members answers nobody")
        return await self._save([_section({**section, "members": left})])

    async def _save(self, sections: Sequence[Section], *, replacing: bool = True) -> Listing:
        """Write groups as these tables say, all of them or none; then where they answer."""

        def work(tx: Tx) -> Listing:
            done = []
            for section in sections:
                there = next((each for each in agents.groups(tx) if each.name == section.name), None)
                if there is not None and not replacing:
                    raise UserError(
                        f"there is a group {section.name} already; `carina group import FILE --replace` changes it"
                    )
                make_group(tx, section, self.approvals.clock())
                done.append({"group": section.name, "did": "made" if there is None else "changed"})
            require_standing(tx, self.config, self.steering.answering, sections)
            return done

        async with self.approvals.constellations.use(self.approvals.house) as database:
            try:
                done = await database.write(_SAVE, work, durable=True)
            except ConfigError as error:
                raise UserError(str(error)) from error
            await database.read(self.steering.answering.heed)
        for section in sections:
            await self._place(section)
        return done

    async def _place(self, section: Section) -> None:
        """Let a group answer where its table says, by command, where that is not so already."""
        now = (await self.show(section.name))["settings"]
        wanted = [place for place in section.places if place not in now["places"]]
        for subject in [*wanted, *([EVERYWHERE_ELSE] if section.default and not now["default"] else [])]:
            await self.steering.route(subject, section.name, _OWNER)

    async def _sections(self) -> list[dict[str, Any]]:
        return await self._read(lambda rows: [self._section(rows, each) for each in agents.groups(rows)])

    def _section(self, rows: Rows, group: Group) -> dict[str, Any]:
        return group_section(rows, group, self.steering.answering)

    def _beside_file(self, section: Mapping[str, Any]) -> str:
        """How a group in the database stands to its table in the configuration, in words."""
        table = next((each for each in self.config.groups if each.name == section["name"]), None)
        if table is None:
            return f"not in {self.config.file.name}"
        keys = differing(_comparable(read_group(section)), _comparable(table))
        return f"differs from {self.config.file.name}: {', '.join(keys)}" if keys else f"as in {self.config.file.name}"

    async def _read(self, read: Callable[[Rows], T]) -> T:
        async with self.approvals.constellations.use(self.approvals.house) as database:
            return await database.read(read)


def _with_names(kept: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """What a pattern keeps, with agents by name."""
    return {
        names.get(key, key): _with_names(value, names) if isinstance(value, Mapping) else value
        for key, value in kept.items()
    }


def kept_lines(kept: Mapping[str, Any], speaking: Sequence[str]) -> list[str]:
    """What a pattern keeps between runs, in words; `speaking` are those who take turns, in order."""
    lines = []
    if speaking and "index" in kept:
        lines.append(f"next in turn: {speaking[int(kept['index']) % len(speaking)]}")
    for key, words in (("used", "last asked"), ("fired", "last fired")):
        if kept.get(key):
            moments = sorted(kept[key].items(), key=lambda each: str(each[1]), reverse=True)
            lines.append(f"{words}: {', '.join(f'{name} ({_minute(at)})' for name, at in moments)}")
    lines += [f"{words}: {_minute(kept[key])}" for key, words in _MOMENTS if kept.get(key)]
    return [*lines, *([f"above its threshold: {', '.join(kept['above'])}"] if kept.get("above") else [])]


_MOMENTS = (("checked", "last looked"), ("since", "looks at what happened since"))


def _minute(moment: str) -> str:
    return f"{moment[:16].replace('T', ' ')} UTC"


def _comparable(section: Section) -> dict[str, Any]:
    """A group's table without what makes no difference: the order of places, a pattern's table that is the usual."""
    said = section.model_dump(exclude={*map(str, TABLES)})
    return {**said, "places": set(section.places), section.pattern: section.settings.model_dump()}


def _is_in(agent: str, section: Mapping[str, Any]) -> bool:
    return agent.strip().casefold() in map(_named, section["members"])


def _named(member: Mapping[str, Any] | str) -> str:
    return (member if isinstance(member, str) else str(member["agent"])).casefold()


def find_group(rows: Rows, name: str) -> Group:
    """The group of that name, whatever the case of its letters. Raises UserError, which says which there are."""
    every = agents.groups(rows)
    found = next((each for each in every if each.name.casefold() == name.strip().casefold()), None)
    if found is None:
        raise UserError(f"there is no group {name[:80]!r}; there are: {', '.join(each.name for each in every)}")
    return found


def _section(settings: Mapping[str, Any]) -> Section:
    try:
        return read_group(settings)
    except ConfigError as error:
        raise UserError(str(error)) from error
