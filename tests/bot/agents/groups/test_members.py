"""What members of a group learn from what people say, and are told of their own work that was cut off."""

from pathlib import Path
from typing import Any

import pytest

from bot.agents.context.interrupted_work import HEAD
from tests.bot.agents.groups.parts import LED, Cast, delegates, stages, told
from tests.bot.parts import HeldReply, call, said, says
from tests.bot.stage import Setting, crashed, running, talked

KNOWN = """SELECT a.name || ': ' || f.fact || ' ' || f.reinforcements FROM facts f JOIN agents a ON a.id = f.agent_id
           ORDER BY a.name"""


@pytest.mark.parametrize(
    ("toml", "lines", "knowing"),
    [
        (stages(("a", "Ant", ""), ("b", "Bee Cat", "")), {}, ["Ant", "Bee", "Cat"]),
        (LED, {"Ant": [delegates("Bee", "count"), "Seven."]}, ["Ant", "Bee"]),
    ],
)
async def test_members_that_had_a_part_learn_what_people_said_once(
    tmp_path: Path, toml: str, lines: dict[str, Any], knowing: list[str]
) -> None:
    async with talked(tmp_path, Setting(Cast(**lines), toml=toml), "I love apple cake") as service:
        await service.heard(said("I really love apple cake", 2))
        assert await service.column(KNOWN) == [f"{name}: loves apple cake 1" for name in knowing]
        assert await service.column("SELECT count(*) FROM facts WHERE shared_at IS NOT NULL") == [0]


async def test_a_member_whose_work_was_cut_off_is_told_what_it_was_doing(tmp_path: Path) -> None:
    held = HeldReply(says("lost with the process"))
    noted = says("Drew the outline.", call("calculate", "1", expression="2 + 3"))
    toml = stages(("a", "Ant", ""), ("b", "Bee", "")).replace("tools = []", 'tools = ["calculate"]')
    platform = await crashed(tmp_path, Setting(Cast(Bee=[noted, held]), toml=toml), held.begun)
    second = Cast(Bee=["Done."])
    async with running(tmp_path, Setting(second, platform=platform, toml=toml)) as service:
        await service.settled()
    assert platform.texts() == ["Done."]
    (request,) = second.requests
    text = told(request)
    assert HEAD in text
    assert "Your work here was interrupted" in text
    assert "Did: Drew the outline.; used calculate" in text
    assert "not the whole history" in text
