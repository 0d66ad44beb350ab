"""The constellation of the configuration: made or found, with its agents, blocks, groups and who answers where."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.config import Config
from bot.config.sections import Agent as AgentSettings
from bot.config.sections import Block as BlockSettings
from bot.config.sections import Group as GroupSettings
from bot.groups.addressing import addressed, mentioned_words
from bot.groups.settings import with_agents
from bot.seeding import new_agent_id, seed_agent, seed_group
from memory import agents
from memory.agents import Agent, Group, Member
from memory.clock import Clock
from memory.constellation import Constellations
from memory.database import Tx
from memory.faults import commit_point
from memory.ids import AgentId, ConstellationId, GroupId, PersonId
from memory.schemas import TEXT, dump_schema
from sources.base import Place

_SEED = commit_point("constellation.seed")


@dataclass(frozen=True)
class Answering:
    """Which group answers a message: the one that it speaks to by name, else the one that has a keyword of it, else
    that of the first of the place's bindings of which anything is said, else the default.

    What was decided by command wins over what is configured for the same binding; it changes while the service runs.
    """

    places: dict[str, GroupId]
    default: GroupId
    decided: dict[str, GroupId] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    """With the names and keywords that bring messages to them, kept as the store has them (`heed`)."""

    def heed(self, groups: Iterable[Group]) -> None:
        """Take over names and keywords of groups as they are now."""
        self.groups[:] = groups

    def __call__(self, place: Place, text: str) -> GroupId:
        called = self._called(text) if text and len(self.groups) > 1 else None
        if called is not None:
            return called
        said = {**self.places, **self.decided}
        bindings = (str(place.id), *place.bindings)
        return next((said[binding] for binding in bindings if binding in said), self.default)

    def _called(self, text: str) -> GroupId | None:
        names = {group.name: group.id for group in self.groups if group.mention}
        if spoken := addressed(text, list(names), everybody=False):
            return names[spoken[0]]
        return next((group.id for group in self.groups if mentioned_words(text, group.keywords)), None)


async def open_house(
    config: Config, constellations: Constellations, owner: PersonId, clock: Clock
) -> tuple[ConstellationId, Answering]:
    """Make sure that what the configuration names exists."""
    house = await constellations.ensure(config.constellation.name, owner)
    async with constellations.use(house.id) as database:
        answering = await database.write(_SEED, lambda tx: _seed(tx, config, clock))
    for place in answering.places:
        await constellations.bind(place, house.id, "configuration")
    return house.id, answering


def _seed(tx: Tx, config: Config, clock: Clock) -> Answering:
    now = clock()
    ids: dict[str, AgentId] = {}
    for settings in config.agents:
        ids[settings.name] = seed_agent(tx, _agent(settings, show_name=config.discord.show_names), now).id
    groups: dict[str, GroupId] = {}
    places: dict[str, GroupId] = {}
    for group in config.groups:
        groups[group.name] = seed_group(tx, _group(group, ids), now).id
        places |= dict.fromkeys(group.places, groups[group.name])
    answering = Answering(places, groups[config.default_group.name])
    answering.heed(agents.groups(tx))
    return answering


def _group(settings: GroupSettings, ids: Mapping[str, AgentId]) -> Group:
    """A group as its row keeps it: agents by id."""
    members = tuple(
        Member(ids[each.agent], each.role, each.domain, each.capabilities, each.model) for each in settings.members
    )
    return Group(
        id=agents.new_group_id(),
        name=settings.name,
        members=members,
        pattern=settings.pattern,
        config=with_agents(settings.settings.model_dump(mode="json"), ids),
        description=settings.description,
        keywords=settings.keywords,
        mention=settings.mention,
    )


def _agent(settings: AgentSettings, *, show_name: bool) -> Agent:
    chosen = settings.model_dump(
        include={"temperature", "max_tokens", "context_budget", "compaction"}, exclude_none=True
    )
    return Agent(
        id=new_agent_id(),
        name=settings.name,
        description=settings.description,
        model=settings.model,
        system_prompt=settings.system_prompt,
        tools=settings.tools,
        rules=tuple(rule.plain() for rule in settings.rules),
        config={
            **chosen,
            "blocks": [_block(block) for block in settings.blocks],
            "show_name": settings.name if show_name else "",
        },
    )


def _block(block: BlockSettings) -> dict[str, Any]:
    """A block as an agent's row keeps it; one that is a plain text as it always was."""
    kept = block.model_dump(mode="json", exclude={"shape", "template", "values"})
    return kept if block.shape == TEXT else kept | {"schema": dump_schema(block.shape), "values": dict(block.values)}
