"""Messages to a group in which nobody is at work: they wait for an agent, and people are told once."""

from pathlib import Path

import pytest

from bot.agents.data_source_checks import DataSourceChecks
from bot.agents.owner_notices import Notices
from bot.agents.rate_limits import Rates
from bot.runtime.configured_constellation import agents_changed
from memory import agent_groups, agents, data_sources
from memory.agents import Status
from memory.data_sources import Subscription
from memory.people.audience import OWNER
from memory.queue import inbox
from memory.store.clock import utc_now
from memory.store.database import Tx
from sources.base import DeliveryFailed
from sources.web import Reader
from tests.bot.parts import ANN, HALL, OLGA, HeldReply, ScriptedModel, direct, said, says, texts, whole
from tests.bot.stage import OWNERS_PLACE, Service, Setting, running, until


def let_all(tx: Tx, status: Status) -> None:
    for agent in agents.every_agent(tx):
        agents.set_status(tx, agent.id, status, utc_now())
    inbox.agents_changed(tx)


async def asleep(service: Service) -> None:
    await service.heard(said("hello", 1))
    await service.write(lambda tx: let_all(tx, "hibernated"))


async def test_what_nobody_answers_is_answered_when_an_agent_wakes(service: Service) -> None:
    await asleep(service)
    for number in (2, 3):
        await service.heard(said("anybody?", number))
    await service.heard(said("are you there?", 4, OWNERS_PLACE, OLGA))
    assert len(service.model.requests) == 1
    assert await service.column("SELECT status FROM inbox ORDER BY id") == ["done", *["received"] * 3]
    await service.write(lambda tx: let_all(tx, "active"))
    service.resume()
    await until(lambda: service.column("SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE status <> 'done')"))
    await service.settled()
    assert len(service.model.requests) == 3, "what one person said is answered together"
    assert await service.column("SELECT DISTINCT last_error FROM inbox") in ([""], [None])


@pytest.mark.parametrize("left", [False, True])
async def test_who_left_a_server_meanwhile_is_answered_without_what_is_known_there(
    service: Service, left: bool
) -> None:
    await asleep(service)
    await service.heard(said("what is new?", 2, direct(ANN, "guild")))
    service.clock.forward(3_600)
    service.platform.parted = {HALL.audience} if left else set()
    await service.write(lambda tx: let_all(tx, "active"))
    service.resume()
    await until(lambda: service.column("SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE status <> 'done')"))
    await service.settled()
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


async def test_who_asks_is_told_once_and_the_owner_once_a_day(service: Service) -> None:
    await asleep(service)
    for number in (2, 3):
        await service.heard(said("anybody?", number))
    for number in (4, 5):
        await service.heard(said("anybody?", number, OWNERS_PLACE, OLGA))
    told = service.platform.texts(OWNERS_PLACE.id)
    assert len(told) == 2, "of the hall, and as who asks"
    assert told[0].startswith("No agent is answering in hall: ")
    assert told[1].startswith("No agent is answering in ")
    [_answer, kept] = service.platform.texts(HALL.id)
    assert kept.startswith("No agent is answering here at the moment.")


async def test_an_unsent_notice_that_nobody_answers_is_withdrawn_when_somebody_does(service: Service) -> None:
    await service.heard(said("hello", 1))
    (group,) = await service.read(agent_groups.groups)

    def parked(tx: Tx) -> None:
        let_all(tx, "archived")
        for key in (f"{group.id}/discord:1/2026-11-22", "grp_another/1"):
            Notices(OWNERS_PLACE.id).tell_owner(tx, f"unattended/{key}", "Nobody answers", service.clock())
        agents_changed(tx)

    async def unsent() -> int:
        return len(await service.column("SELECT 1 FROM outbox WHERE key GLOB '*unattended/*' AND status = 'pending'"))

    async def all_wait() -> bool:
        tried = "SELECT place_id FROM outbox WHERE key GLOB '*unattended/*' AND next_attempt_at IS NOT NULL"
        return await unsent() == 4 and len(await service.column(tried)) == 2

    down = DeliveryFailed("not connected", retry_after=120.0, reached=False)
    service.platform.refuses |= {HALL.id: down, OWNERS_PLACE.id: down}
    await service.write(parked)
    assert await unsent() == 2, "still nobody answers"
    service.hear(said("anybody?", 2))
    await until(all_wait)

    def restored(tx: Tx) -> None:
        let_all(tx, "active")
        agents_changed(tx)

    await service.write(restored)
    assert await unsent() == 1, "only what is said of the other group"


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
