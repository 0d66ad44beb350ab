"""Several members of a group on one message, for those who watch."""

from pathlib import Path
from typing import Any

from bot.agents import events
from memory.queue import inbox
from tests.bot.agents.groups.parts import Cast, group, stages
from tests.bot.parts import (
    said,
)
from tests.bot.stage import Setting, running, until


async def test_those_who_watch_hear_who_works_and_what_it_came_to(tmp_path: Path) -> None:
    model = Cast(Ant=["draft"], Bee=["final"])
    async with running(tmp_path, Setting(model, toml=stages(("a", "Ant", ""), ("b", "Bee", "")))) as service:
        await service.heard(said("go", 1))
        seen = service.events
    names = [type(event).__name__ for event in seen if not isinstance(event, events.OfMember)]
    assert names == [
        "Started", "GroupStarted", "AgentStarted", "AgentCompleted", "AgentStarted", "AgentCompleted",
        "GroupComplete", "Complete",
    ]  # fmt: skip
    inner = [event.event for event in seen if isinstance(event, events.OfMember)]
    assert [event.text for event in inner if isinstance(event, events.TextChunk)] == ["draft", "final"]
    done = next(event for event in seen if isinstance(event, events.GroupComplete))
    assert (done.group, done.pattern, done.responses, done.seconds) == ("Team", "pipeline", 1, 0.0)


async def test_when_nobody_gives_anything_the_message_is_tried_again(tmp_path: Path) -> None:
    model = Cast(Ant=[RuntimeError("down")], Bee=[RuntimeError("down")])
    async with running(tmp_path, Setting(model, toml=group("dynamic", "", '"Ant", "Bee"'))) as service:
        await service.heard(said("@all go", 1))
        assert service.platform.texts() == ["Ant here.", "Bee here."]
        assert [row.status for row in await service.read(lambda rows: inbox.listing(rows, None, 9))] == ["done"]
        await until(lambda: _over(service))


async def _over(service: Any) -> bool:
    return bool(await service.column("SELECT count(*) FROM turns WHERE status = 'running'") == [0])
