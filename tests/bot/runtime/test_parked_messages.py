"""Messages to a group in which nobody is at work are given up, and people are told."""

from pathlib import Path

import pytest

from bot.agents.data_source_checks import DataSourceChecks
from bot.agents.rate_limits import Rates
from memory import agents, data_sources
from memory.agents import Status
from memory.data_sources import Subscription
from memory.people.audience import OWNER
from memory.queue import inbox
from memory.store.clock import utc_now
from memory.store.database import Tx
from sources.web import Reader
from tests.bot.parts import ANN, HALL, OLGA, HeldReply, ScriptedModel, direct, said, says, texts, whole
from tests.bot.stage import OWNERS_PLACE, Service, Setting, running


def let_all(tx: Tx, status: Status) -> None:
    for agent in agents.every_agent(tx):
        agents.set_status(tx, agent.id, status, utc_now())


async def asleep(service: Service) -> None:
    await service.heard(said("hello", 1))
    await service.write(lambda tx: let_all(tx, "hibernated"))


async def awake(service: Service) -> None:
    """Agents wake, and what was given up is retried."""

    def work(tx: Tx) -> None:
        let_all(tx, "active")
        for row in inbox.listing(tx, inbox.Status.DEAD, 10):
            inbox.revive(tx, row.id)

    await service.write(work)
    service.resume()
    await service.settled()


async def test_what_nobody_answers_is_given_up_and_people_are_told(service: Service) -> None:
    await asleep(service)
    for number in (2, 3):
        await service.heard(said("anybody?", number))
    await service.heard(said("are you there?", 4, OWNERS_PLACE, OLGA))
    assert len(service.model.requests) == 1
    assert await service.column("SELECT status FROM inbox ORDER BY id") == ["done", *["dead"] * 3]
    told = service.platform.texts(OWNERS_PLACE.id)
    assert len(told) == 2, "of the hall once, and as who asks"
    assert all(each.startswith("No agent is answering in ") for each in told)
    [_answer, refused] = service.platform.texts(HALL.id)
    assert refused.startswith("No agent is answering here at the moment.")
    await awake(service)
    assert await service.column("SELECT DISTINCT status FROM inbox") == ["done"]
    assert len(service.model.requests) == 4


@pytest.mark.parametrize("left", [False, True])
async def test_who_left_a_server_meanwhile_is_answered_without_what_is_known_there(
    service: Service, left: bool
) -> None:
    await asleep(service)
    await service.heard(said("what is new?", 2, direct(ANN, "guild")))
    service.clock.forward(3_600)
    service.platform.parted = {HALL.audience} if left else set()
    await awake(service)
    assert "what is new?" in texts(service.model.requests[-1])
    assert ("Carina replied in hall" in whole(service.model.requests[-1])) is not left


@pytest.mark.parametrize("left", [False, True])
async def test_who_left_a_server_while_the_service_was_down_is_answered_without_it(tmp_path: Path, left: bool) -> None:
    held = HeldReply(says("never said"))
    async with running(tmp_path, Setting(ScriptedModel(says("Hi."), held))) as service:
        await service.heard(said("hello", 1))
        service.hear(said("what is new?", 2, direct(ANN, "guild")))
        await held.begun.wait()
        assert "Carina replied in hall" in whole(service.model.requests[-1])
        service.crash()
    service.clock.forward(3_600)
    service.platform.parted = {HALL.audience} if left else set()
    async with running(tmp_path, Setting(clock=service.clock, platform=service.platform)) as service:
        await service.settled()
        assert "what is new?" in whole(service.model.requests[-1])
        assert ("Carina replied in hall" in whole(service.model.requests[-1])) is not left


async def deliver(service: Service) -> None:
    """A webhook gets something, of which every agent is told."""
    alarm, now = data_sources.DataSource("alarm", "webhook", "secret", 0, OWNER), service.clock()

    def subscribe(tx: Tx) -> None:
        data_sources.add(tx, alarm, now)
        for agent in agents.agents(tx):
            data_sources.subscribe(tx, Subscription(agent.id, alarm.id, ""), now)

    await service.write(subscribe)
    assert await DataSourceChecks(Reader(), OLGA.id).deliver(service.database, alarm, "1", "smoke", now) == 1


async def test_of_news_that_nobody_answers_the_owner_is_told(service: Service) -> None:
    await service.heard(said("hello", 1))
    await deliver(service)
    await service.write(lambda tx: let_all(tx, "hibernated"))
    service.resume()
    await service.settled()
    (told,) = service.platform.texts(OWNERS_PLACE.id)
    assert told.startswith("No agent is answering in the news from alarm: ")
    assert await service.column("SELECT place_id FROM outbox WHERE source = 'patrol'") == []


async def test_news_over_the_limit_wait_without_a_word_to_nobody(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(model=ScriptedModel(), rates=Rates(everybody=1))) as service:
        await service.heard(said("hello", 1))
        await deliver(service)
        service.resume()
        await service.settled()
        assert len(service.model.requests) == 1
        assert await service.column("SELECT status FROM inbox ORDER BY id") == ["done", "received"]
        assert await service.column("SELECT place_id FROM outbox WHERE source = 'patrol'") == []
