"""Rate limits: before any model is asked, for a person, a guild and all; the person is told once."""

from pathlib import Path

import pytest

from bot.agents.rate_limits import Rates
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust, person_audience
from memory.queue import inbox
from memory.queue.notifications import Place
from memory.queue.payloads import NewsEvent
from memory.store.ids import AgentId, GroupId, PlaceId
from memory.store.records import replace
from tests.bot.parts import ANN, BOB, HALL, OLGA, SOURCE, ScriptedModel, channel, direct, person, said, says, texts
from tests.bot.stage import Setting, running, talked, until

PORT = channel("port", "elsewhere")


def limited(person: int = 0, guild: int = 0, everybody: int = 0) -> Setting:
    return Setting(model=ScriptedModel(), rates=Rates(person, guild, everybody))


async def test_over_the_limit_no_model_is_asked_and_the_person_is_told_once(tmp_path: Path) -> None:
    async with running(tmp_path, limited(person=2)) as service:
        for number in range(1, 6):
            await service.heard(said(f"line {number}", number))
            service.clock.forward(60)
        assert len(service.model.requests) == 2
        told = (
            "That was a lot at once, and I've reached my limit. I'll answer everything together on "
            "<t:1795352400:f>, <t:1795352400:R>. You don't need to repeat it."
        )
        assert service.platform.texts() == ["Yes.", "Yes.", told]


async def test_what_waits_holds_up_nobody_else_and_is_not_forgotten_over_a_restart(tmp_path: Path) -> None:
    async with talked(tmp_path, limited(person=1), *(f"line {number}" for number in range(1, 5))) as service:
        await service.heard(said("me too", 5, speaker=BOB))
        assert texts(service.model.requests[-1])[-1] == "me too"
        assert await service.column("SELECT status FROM inbox ORDER BY id") == ["done", *["received"] * 3, "done"]
        assert not service.router.supervisor.busy
    later = limited(person=1)
    later.clock.forward(3_601)
    async with running(tmp_path, later) as service:
        await service.settled()
        (request,) = service.model.requests
        assert texts(request)[-3:] == ["line 2", "line 3", "line 4"]
        assert await service.column("SELECT DISTINCT status FROM inbox") == ["done"]


async def test_each_person_is_answered_when_their_own_limit_allows_it(tmp_path: Path) -> None:
    async with talked(tmp_path, limited(person=1), said("hello", 1, speaker=BOB)) as service:
        service.clock.forward(1_800)
        await service.heard(said("hello", 2, speaker=ANN))
        service.clock.forward(1_799.9)
        await service.heard(said("later", 3, speaker=ANN), said("soon", 4, speaker=BOB))
        service.clock.forward(0.2)
        await until(lambda: len(service.model.requests) == 3)
        assert texts(service.model.requests[-1])[-1] == "soon"


async def test_linked_accounts_of_a_person_are_counted_together(tmp_path: Path) -> None:
    async with running(tmp_path, limited(person=2)) as service:
        both = frozenset({ANN.id, BOB.id})
        service.approvals.people.links.update({ANN.id: both, BOB.id: both})
        for number, speaker in enumerate((ANN, BOB, ANN, BOB), 1):
            await service.heard(said("hello", number, speaker=speaker))
        assert len(service.model.requests) == 2
        await service.heard(said("hello", 5, speaker=person("Cara")))
        assert len(service.model.requests) == 3


@pytest.mark.parametrize(("place", "answered"), [(HALL, 1), (PORT, 2), (direct(BOB), 2)])
async def test_a_guild_is_full_by_itself(tmp_path: Path, place: Place, answered: int) -> None:
    async with talked(tmp_path, limited(guild=1), "hello") as service:
        await service.heard(said("hello", 2, place, BOB))
        assert len(service.model.requests) == answered


async def test_news_of_a_source_do_not_wait_for_its_owner(tmp_path: Path) -> None:
    async with talked(tmp_path, limited(person=1), said("hello", 1, direct(OLGA), OLGA)) as service:
        ((agent, group),) = await service.rows("SELECT a.id, g.id FROM agents a, agent_groups g LIMIT 1")
        news = inbox.Event(
            source="source",
            external_id="1",
            place=PlaceId("patrol:source-news"),
            person=OLGA.id,
            group=GroupId(group),
            text="1 new item",
            hearers=Scope(OWNER),
            trust=Trust.WEB,
            payload=NewsEvent(AgentId(agent), "Read it."),
        )
        await service.write(lambda tx: inbox.add_event(tx, news, service.clock()))
        service.resume()
        await service.settled()
        assert len(service.model.requests) == 2


async def test_who_calls_himself_the_owner_is_not(tmp_path: Path) -> None:
    fake = person("Olga the owner", Trust.STRANGER)
    async with talked(tmp_path, limited(person=1), said("hello", 1, speaker=fake)) as service:
        await service.heard(said("hello", 2, speaker=fake))
        assert len(service.model.requests) == 1


@pytest.mark.parametrize(("audience", "answers", "told"), [(PUBLIC, 1, 0), (person_audience(ANN.id), 2, 1)])
async def test_what_a_source_limits_in_public_it_does_not_limit_alone(
    tmp_path: Path, audience: Audience, answers: int, told: int
) -> None:
    rates = Rates(person=2, sources={SOURCE: Rates(person=1)})
    place = replace(HALL, audience=audience, within=())
    async with running(tmp_path, Setting(model=ScriptedModel(), rates=rates)) as service:
        service.model.replies.extend([says("yes")] * 3)
        for number in range(3):
            await service.heard(said("hello", number, place))
        said_there = service.platform.texts()
        assert said_there.count("yes") == answers
        assert sum("That was a lot" in text for text in said_there) == told
        service.clock.forward(3_601)
        await service.heard(said("later", 4, place))
        assert len(await service.rows("SELECT 1 FROM inbox WHERE turn_id IS NOT NULL")) == 4, "none is passed over"
