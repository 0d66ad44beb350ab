"""Messages to a group in which everybody is archived: set aside, and said to whoever can change that."""

from pathlib import Path

from memory import agents
from memory.store.clock import utc_now
from memory.store.database import Tx
from tests.bot.parts import HALL, OLGA, said
from tests.bot.stage import OWNERS_PLACE, running


def archive_all(tx: Tx) -> None:
    for agent in agents.agents(tx):
        agents.set_status(tx, agent.id, "archived", utc_now())


async def test_the_owner_is_told_once_a_day_and_who_asks_there_each_time(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await service.heard(said("hello", 1))
        await service.write(archive_all)
        for number in (2, 3):
            await service.heard(said("anybody?", number))
        assert len(service.platform.texts(OWNERS_PLACE.id)) == 1
        for number in (4, 5):
            await service.heard(said("anybody?", number, OWNERS_PLACE, OLGA))
        told = service.platform.texts(OWNERS_PLACE.id)
        assert len(told) == 3
        assert all(text.startswith("Nobody answers in") for text in told)
        assert len(service.platform.texts(HALL.id)) == 1, "only what was said before"
        assert len(service.model.requests) == 1
