"""`search` and `carina search`: which conversations are whose, what is shown of a hit, and where it is looked."""

from pathlib import Path
from typing import Any

import pytest

from bot.desks.archive import Archive
from bot.models.base import Answer
from bot.policy import People
from sources.terminal import PERSON
from tests.bot.groups.parts import Cast
from tests.bot.parts import BOB, call, channel, results, said, says
from tests.bot.stage import Service, Setting, running

TABLES = "".join(
    f'[[agents]]\nname = "{name}"\nsystem_prompt = "You are {name}."\nblocks = []\ntools = ["recall", "search"]\n'
    for name in ("Ant", "Bee")
)
TWO = f'{TABLES}[[groups]]\nname = "Pair"\nmembers = ["Ant", "Bee"]\n'
BOTH = TWO.replace('"Pair"', '"Pair"\npattern = "dynamic"') + '[groups.dynamic]\nselector = "load_balancing"\n'
PORT = channel("port")


def looking(tool: str, **arguments: Any) -> Answer:
    return says("", call(tool, **arguments))


def desk(service: Service) -> Archive:
    """As the owner's command line has it, who hears what is said in guilds."""
    return Archive(service.constellations, service.house, People((PERSON,)), service.clock)


@pytest.mark.parametrize(
    ("tool", "arguments", "finds"),
    [
        ("search", {"query": "ferry", "domain": "conversations"}, False),
        ("search", {"query": "", "domain": "conversations"}, False),
        ("recall", {"operation": "query", "query": "ferry"}, False),
        ("search", {"query": "ferry", "domain": "constellation_messages"}, True),
        ("search", {"query": "ferry"}, True),
    ],
)
async def test_an_agent_s_conversations_are_those_it_took_part_in(
    tmp_path: Path, tool: str, arguments: dict[str, str], finds: bool
) -> None:
    model = Cast(Ant=["The ferry leaves at noon.", looking(tool, **arguments), "Done."])
    async with running(tmp_path, Setting(model, toml=TWO)) as service:
        await service.heard(said("Bee: the red ferry was late", 1, speaker=BOB))
        await service.heard(said("Bee: the red ferry was late", 2, PORT, speaker=BOB))
        await service.heard(said("Ant: when is the last boat?", 3))
        await service.heard(said("Ant: look it up", 4))
        ((told, ok),) = results(model.requests[-1])[-1:]
        assert ok
        assert ("the red ferry was late" in told) is finds
        if tool == "recall" or arguments["query"] == "":
            assert "leaves at noon" in told or "last boat" in told


async def test_what_a_group_talked_about_is_a_conversation_of_each_of_its_members(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(Cast(Ant=["The ferry is red."], Bee=["I like boats."]), toml=BOTH)) as service:
        await service.heard(said("@all what of the ferry?", 1))
        for name in ("Ant", "Bee"):
            found = (await desk(service).owner_search("ferry", agent=name))["hits"]
            assert {hit["text"] for hit in found} == {"@all what of the ferry?", "The ferry is red."}


async def test_a_person_who_names_an_agent_is_shown_its_conversations_alone(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(Cast(), toml=TWO)) as service:
        await service.heard(said("Ant: the ferry is red", 1, speaker=BOB))
        found = {
            name: [hit["text"] for hit in (await desk(service).owner_search("ferry", agent=name))["hits"]]
            for name in ("", "Ant", "Bee")
        }
        assert found == {"": ["Ant: the ferry is red"], "Ant": ["Ant: the ferry is red"], "Bee": []}
        assert (await desk(service).owner_search("ferry", agent="Bee"))["searched"]["messages"] == 0
