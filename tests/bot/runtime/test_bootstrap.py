"""From configuration to a constellation: what is seeded once, what stays as it was, who answers where."""

from pathlib import Path

from bot.config.tables import TOOLS
from memory import agents, blocks
from memory.agents import Agent
from memory.blocks import BlockType
from memory.people.audience import OWNER, PUBLIC, Scope
from memory.store.database import Rows
from tests.bot.parts import HALL, ScriptedModel, channel, said, says
from tests.bot.stage import Setting, running

TWO = """
[[agents]]
name = "Star"
system_prompt = "You are Star."
[[agents]]
name = "Moon"
system_prompt = "You are Moon."
[[groups]]
name = "Main"
members = ["Star"]
default = true
[[groups]]
name = "Night"
members = ["Moon"]
places = ["discord:7", "discord:guild:9"]
"""


def everybody(rows: Rows) -> list[Agent]:
    return agents.agents(rows)


EARLIER = '["context", "recall", "search", "send_message"]'


async def test_tools_of_a_later_version_reach_agents_that_were_given_no_list_of_their_own(tmp_path: Path) -> None:
    toml = TWO.replace('You are Moon."', 'You are Moon."\ntools = ["context", "search"]')
    async with running(tmp_path, Setting(toml=toml)) as service:
        await service.write(lambda tx: tx.run("UPDATE agents SET enabled_tools = ? WHERE name = 'Star'", (EARLIER,)))
    async with running(tmp_path, Setting(toml=toml)) as service:
        assert {agent.name: agent.tools for agent in await service.read(everybody)} == {
            "Star": TOOLS,
            "Moon": ("context", "search"),
        }


async def test_a_list_in_the_file_is_an_agents_own_also_where_it_was_the_usual_one_once(tmp_path: Path) -> None:
    toml = TWO.replace('You are Star."', f'You are Star."\ntools = {EARLIER}')
    async with running(tmp_path, Setting(toml=toml)) as service:
        await service.write(lambda tx: tx.run("UPDATE agents SET usual_tools = 1"))  # as the migration sees it
    async with running(tmp_path, Setting(toml=toml)) as service:
        star = next(agent for agent in await service.read(everybody) if agent.name == "Star")
        assert (star.tools, star.usual_tools) == (("context", "recall", "search", "send_message"), False)


async def test_blocks_for_each_audience_are_made_when_they_are_first_needed(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        labels = "SELECT label || ' ' || audience FROM memory_blocks WHERE label = 'human' ORDER BY audience"
        assert await service.column(labels) == []
        await service.heard(said("hello", 1))
        await service.heard(said("hello", 2))
        assert await service.column(labels) == [f"human {HALL.audience}"]
        (carina,) = await service.read(everybody)
        owner = Scope(OWNER)
        seen = await service.read(lambda rows: blocks.visible_blocks(rows, carina.id, owner, tuple(BlockType)))
        assert {block.audience for block in seen} == {PUBLIC, HALL.audience}


async def test_a_place_or_the_guild_around_it_names_the_group_that_answers(tmp_path: Path) -> None:
    model = ScriptedModel(*[says(f"answer {n}") for n in range(3)])
    async with running(tmp_path, Setting(model, toml=TWO)) as service:
        await service.heard(said("a", 1, channel("5")))
        await service.heard(said("b", 2, channel("7")))
        await service.heard(said("c", 3, channel("8", of="9")))
    prompts = [request.system.split(".")[0] for request in model.requests]
    assert prompts == ["You are Star", "You are Moon", "You are Moon"]
