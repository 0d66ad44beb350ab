"""Messages to a group in which nobody is at work: they wait for an agent, and people are told once."""

from pathlib import Path

from memory import agents
from memory.agents import Status
from memory.queue import inbox
from memory.store.clock import utc_now
from memory.store.database import Tx
from tests.bot.parts import HALL, OLGA, said
from tests.bot.stage import OWNERS_PLACE, Service, running, until


def let_all(tx: Tx, status: Status) -> None:
    for agent in agents.every_agent(tx):
        agents.set_status(tx, agent.id, status, utc_now())
    inbox.agents_changed(tx)


async def asleep(service: Service) -> None:
    await service.heard(said("hello", 1))
    await service.write(lambda tx: let_all(tx, "hibernated"))


async def test_what_nobody_answers_is_answered_when_an_agent_wakes(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await asleep(service)
        for number in (2, 3):
            await service.heard(said("anybody?", number))
        await service.heard(said("are you there?", 4, OWNERS_PLACE, OLGA))
        assert len(service.model.requests) == 1
        assert await service.column("SELECT status FROM inbox ORDER BY id") == ["done", *["received"] * 3]
        await service.write(lambda tx: let_all(tx, "active"))
        service.resume()

        async def answered() -> bool:
            return await service.column("SELECT DISTINCT status FROM inbox") == ["done"]

        await until(answered)
        await service.settled()
        assert len(service.model.requests) == 3, "what one person said is answered together"
        assert await service.column("SELECT DISTINCT last_error FROM inbox") in ([""], [None])


async def test_who_asks_is_told_once_and_the_owner_once_a_day(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await asleep(service)
        for number in (2, 3):
            await service.heard(said("anybody?", number))
        for number in (4, 5):
            await service.heard(said("anybody?", number, OWNERS_PLACE, OLGA))
        told = service.platform.texts(OWNERS_PLACE.id)
        assert len(told) == 2, "of the hall, and as who asks"
        assert told[0].startswith(f"Nobody answers in hall ({HALL.id}): ")
        assert told[1].startswith("Nobody answers in ")
        [_answer, kept] = service.platform.texts(HALL.id)
        assert kept.startswith("Nobody answers here at the moment.")
