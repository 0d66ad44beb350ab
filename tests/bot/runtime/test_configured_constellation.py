"""From configuration to a constellation: what is seeded once, what stays as it was, who answers where."""

from pathlib import Path

from bot.config.values import TOOLS
from memory import agents
from memory.agents import Agent
from memory.store.database import Rows
from tests.bot.parts import two
from tests.bot.stage import Setting, running

TWO = two("Star", "Moon", Star='system_prompt = "You are Star."\n', Moon='system_prompt = "You are Moon."\n')


def everybody(rows: Rows) -> list[Agent]:
    return agents.agents(rows)


EARLIER = '["context", "recall", "search", "send_message"]'


async def test_tools_of_a_later_version_reach_agents_that_were_given_no_list_of_their_own(tmp_path: Path) -> None:
    toml = TWO.replace('You are Moon."', 'You are Moon."\ntools = ["context", "search"]')
    async with running(tmp_path, Setting(toml=toml)) as service:
        later = "UPDATE agents SET enabled_tools = ?, config = json_set(config, '$.later', 7) WHERE name = 'Star'"
        await service.write(lambda tx: tx.run(later, (EARLIER,)))  # with a setting of a newer version
    async with running(tmp_path, Setting(toml=toml)) as service:
        assert {agent.name: agent.tools for agent in await service.read(everybody)} == {
            "Star": TOOLS,
            "Moon": ("context", "search"),
        }
        assert await service.column("SELECT config ->> 'later' FROM agents WHERE name = 'Star'") == [7]


async def test_a_list_in_the_file_is_an_agents_own_also_where_it_was_the_usual_one_once(tmp_path: Path) -> None:
    toml = TWO.replace('You are Star."', f'You are Star."\ntools = {EARLIER}')
    async with running(tmp_path, Setting(toml=toml)) as service:
        await service.write(lambda tx: tx.run("UPDATE agents SET usual_tools = 1"))  # as the migration sees it
    async with running(tmp_path, Setting(toml=toml)) as service:
        star = next(agent for agent in await service.read(everybody) if agent.name == "Star")
        assert (star.tools, star.usual_tools) == (("context", "recall", "search", "send_message"), False)
