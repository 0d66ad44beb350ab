from pathlib import Path

from tests.bot.parts import HALL, said
from tests.bot.stage import running


async def test_a_message_is_answered_where_it_was_said(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await service.heard(said("Hello?", 1))
        assert service.platform.texts(HALL.id) == ["Yes."]
