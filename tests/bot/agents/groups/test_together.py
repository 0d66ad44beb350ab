"""Several members of a group on one message, for those who watch."""

from pathlib import Path
from typing import Any

from memory.queue import inbox
from tests.bot.agents.groups.parts import Cast, group
from tests.bot.parts import (
    said,
)
from tests.bot.stage import Setting, running, until


async def test_when_nobody_gives_anything_the_message_is_tried_again(tmp_path: Path) -> None:
    model = Cast(Ant=[RuntimeError("down")], Bee=[RuntimeError("down")])
    async with running(tmp_path, Setting(model, toml=group("dynamic", "", '"Ant", "Bee"'))) as service:
        await service.heard(said("@all go", 1))
        assert service.platform.texts() == ["Ant here.", "Bee here."]
        assert [row.status for row in await service.read(lambda rows: inbox.listing(rows, None, 9))] == ["done"]
        await until(lambda: _over(service))


async def _over(service: Any) -> bool:
    return bool(await service.column("SELECT count(*) FROM turns WHERE status = 'running'") == [0])
