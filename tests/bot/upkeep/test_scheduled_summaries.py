"""Summaries of agents, days and weeks: made when something happened, once, of one audience, with a moved clock."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.models.base import Answer, ModelBusy, Usage
from bot.models.offline import OfflineModel
from bot.services.memory.summaries_of_nights import night_named, night_of
from bot.upkeep.background_calls import Background
from bot.upkeep.scheduled_summaries import OF_AGENTS, OF_DAYS, SummaryJob
from memory.knowledge import summaries
from memory.knowledge.summaries import AgentSummary, ConstellationSummary
from memory.people.audience import OWNER, PUBLIC, Scope
from memory.store.records import replace
from scheduler.zones import instant, zone_of
from tests.bot.parts import ANN, BOB, HALL, NOON, OLGA, channel, deleted, direct, edited, private, thread_in_public
from tests.bot.scheduled_service import (
    ScheduledService,
    SummaryModel,
    of_agent,
    of_day,
    of_week,
    scheduled_service,
    setting,
    shown,
    tells,
)

PORT = channel("port", of="abroad")
ATTIC = private("attic")
ANNS, OLGAS = direct(ANN, "guild"), direct(OLGA)
SQUARE = thread_in_public("square")


async def of_agents(live: ScheduledService) -> list[AgentSummary]:
    found = await live.service.column("SELECT DISTINCT audience FROM items WHERE kind = 'agent' ORDER BY audience")
    return [one for each in found for one in await live.service.read(_exactly(each))]


def _exactly(audience: Any) -> Any:
    def read(rows: Any) -> list[AgentSummary]:
        return [each for each in summaries.agent_summaries(rows, Scope(audience)) if each.audience == audience]

    return read


async def of_days(live: ScheduledService, span: str = "day") -> list[ConstellationSummary]:
    def read(rows: Any) -> list[ConstellationSummary]:
        return [each for each in summaries.constellation_summaries(rows, Scope(OWNER), 100) if each.span == span]

    return (await live.service.read(read))[::-1]


async def test_an_agent_is_told_of_when_it_is_not_active_any_more_and_not_again_until_something_new_happens(
    tmp_path: Path,
) -> None:
    model = SummaryModel()
    async with scheduled_service(tmp_path, setting(model)) as live:
        await live.say("the boat is called Ada")
        await live.pass_by(minutes=29)
        assert await of_agents(live) == []
        await live.pass_by(minutes=2)
        (made,) = await of_agents(live)
        assert (made.agent_name, made.summary, made.messages, made.model) == ("Carina", "Did 1.", 2, "scripted:one")
        assert (made.audience, made.trust) == (HALL.audience, ANN.trust)
        assert "the boat is called Ada" in shown(model.told[0])
        await live.pass_by(hours=5)
        assert [of_agent(request) for request in model.told] == [True], "nothing new, so nothing is asked or written"
        assert "nothing new" in (await live.job(OF_AGENTS)).last_detail


async def test_no_summary_mixes_audiences_and_none_is_seen_where_its_words_may_not_be(tmp_path: Path) -> None:
    model = SummaryModel()
    places = {HALL: ANN, PORT: BOB, ATTIC: BOB, ANNS: ANN, OLGAS: OLGA, SQUARE: BOB}
    async with scheduled_service(tmp_path, setting(model, NOON - timedelta(hours=9))) as live:
        for place, speaker in places.items():
            await live.say(f"a word for {place.id}", place, speaker)
        await live.pass_by(hours=26)
        told = {each.audience for each in await of_agents(live)}
        assert told == {place.audience for place in places}
        for request in model.told:
            assert sum(f"a word for {place.id}" in shown(request) for place in places) == 1
        assert len(await live.service.rows("SELECT * FROM items WHERE kind = 'agent'")) == len(places)
        assert len(await live.service.rows("SELECT * FROM items WHERE kind = 'day'")) == len(places)
        seen = await live.service.read(lambda rows: summaries.agent_summaries(rows, Scope(HALL.audience)))
        assert {each.audience for each in seen} == {HALL.audience, PUBLIC}
        owner = await live.service.read(lambda rows: summaries.constellation_summaries(rows, Scope(OWNER), 100))
        assert ANNS.audience not in {each.audience for each in owner}


@pytest.mark.parametrize("how", ["edited", "deleted"])
async def test_words_that_are_taken_back_take_the_summary_away_and_it_is_made_again_without_them(
    tmp_path: Path, how: str
) -> None:
    model = SummaryModel()
    async with scheduled_service(tmp_path, setting(model)) as live:
        number = await live.say("the code is 4711")
        await live.say("good morning")
        await live.pass_by(hours=17)
        assert "4711" in shown(model.told[0])
        assert len(await of_agents(live)) == len(await of_days(live)) == 1
        change = edited("the code is gone", number) if how == "edited" else deleted(number)
        await live.service.heard(change)
        assert not await of_agents(live)
        assert not await of_days(live)
        before = len(model.told)
        await live.pass_by(hours=24)
        assert not any("4711" in shown(request) for request in model.told[before:])
        assert len(await of_days(live)) == 1


@pytest.mark.parametrize(
    "trouble",
    [
        ModelBusy("overloaded"),
        TimeoutError(),
        Answer("Sure! Here is a summary of what they did.", (), Usage(), "scripted:one"),
        Answer('{"summary": "", "extra": "Ada"}', (), Usage(), "scripted:one"),
        Answer('{"summary": "They sailed."}', (), Usage(), "offline"),
        Answer("", (), Usage(), "scripted:one", finish="filter"),
    ],
    ids=["busy", "late", "prose", "wrong", "offline", "withheld"],
)
async def test_what_a_model_does_not_give_changes_nothing_and_the_job_says_so(tmp_path: Path, trouble: Any) -> None:
    model = SummaryModel()
    async with scheduled_service(tmp_path, setting(model)) as live:
        await live.say("the boat is called Ada")
        await live.pass_by(hours=17)
        before = await of_agents(live), await of_days(live)
        await live.say("and the dog Ben")
        model.instead, asked = trouble, len(model.told)
        await live.pass_by(hours=24)
        assert (await of_agents(live), await of_days(live)) == before
        detail = (await live.job(OF_DAYS)).last_detail
        assert detail.startswith("1 not created: ")
        assert "Ada" not in detail
        repairs = [request for request in model.told[asked:] if len(request.messages) > 1]
        assert bool(repairs) is (isinstance(trouble, Answer) and bool(trouble.text) and trouble.model != "offline")
        model.instead = None
        await live.pass_by(hours=24)
        assert len(await of_days(live)) == 2, "it is made when a model answers again"


async def test_a_message_that_changes_while_it_is_told_is_not_kept(tmp_path: Path) -> None:
    model, begun, free = SummaryModel(), asyncio.Event(), asyncio.Event()

    async def slowly(_request: Any) -> Answer:
        begun.set()
        await free.wait()
        return tells("The code is 4711.")

    model.instead = slowly
    async with scheduled_service(tmp_path, setting(model, NOON - timedelta(minutes=28))) as live:
        number = await live.say("the code is 4711")
        live.service.clock.forward(31 * 60)  # not yet five past twelve
        looking = asyncio.create_task(live.look())
        await begun.wait()
        await live.service.heard(edited("the code is gone", number))
        free.set()
        await looking
        assert await of_agents(live) == []
        assert "1 not kept" in (await live.job(OF_AGENTS)).last_detail


class Offline(SummaryModel):
    """What the offline model is to those who ask."""

    name = "offline"


async def test_without_a_language_model_there_is_an_extract_that_says_so(tmp_path: Path) -> None:
    assert OfflineModel.name == Offline.name
    model = Offline()
    async with scheduled_service(tmp_path, setting(model)) as live:
        await live.say("the boat is called Ada")
        await live.say("it is red", speaker=replace(ANN, name="Annie"))
        await live.say("where is it?", speaker=BOB)
        await live.pass_by(hours=17)
        (did,), (day,) = await of_agents(live), await of_days(live)
        assert did.summary == "Gave 3 answers to 3 messages from Annie, Bob. Newest: “where is it?”."
        assert day.summary == (
            "3 messages from Annie, Bob in hall. Carina gave 3 answers. First: “the boat is called Ada”. "
            "Last: “where is it?”."
        )
        assert (did.model, day.model, day.decisions, day.threads) == ("offline", "offline", (), ())
        assert model.told == [], "no model is asked to pretend"


async def test_a_day_is_told_at_four_and_one_in_which_nothing_happened_is_not(tmp_path: Path) -> None:
    model = SummaryModel()
    async with scheduled_service(tmp_path, setting(model, NOON.replace(day=16))) as live:  # a Monday
        await live.say("let us paint the gate")
        await live.pass_by(hours=26)  # until Tuesday, 14:00
        (day,) = await of_days(live)
        assert (day.summary, day.decisions, day.threads) == ("Day 2.", ("decided 2",), ("the gate",))
        assert (day.start, day.end) == (NOON.replace(day=16, hour=4), NOON.replace(day=17, hour=4))
        assert (day.messages, day.audience, day.trust) == (2, HALL.audience, ANN.trust)
        await live.pass_by(hours=24)
        assert len(await of_days(live)) == 1
        await live.say("the gate is green")
        await live.pass_by(days=5)
        first, second = await of_days(live)
        (week,) = await of_days(live, "week")
        assert (week.start, week.end) == (NOON.replace(day=16, hour=4), NOON.replace(day=23, hour=4))
        assert (week.covers, week.messages) == ((first.covers[0], second.covers[1]), 4)
        (asked,) = [request for request in model.told if of_week(request)]
        assert "decided 2" in shown(asked)
        assert "let us paint" not in shown(asked), "a week is made of its days"
        assert sum(map(of_day, model.told)) == 2


@pytest.mark.parametrize("kind", ["agent", "day"])
async def test_a_summary_that_could_not_be_stored_is_made_later_and_once(tmp_path: Path, kind: str) -> None:
    model = SummaryModel()
    made = setting(model, NOON.replace(day=16))
    async with scheduled_service(tmp_path, made) as live:
        await live.say("let us paint the gate")
        await live.pass_by(hours=15)
        sql = f"""CREATE TEMP TRIGGER broken BEFORE INSERT ON items WHEN new.kind = '{kind}'
                  BEGIN SELECT raise(ABORT, 'disk gone'); END"""
        await live.service.write(lambda tx: tx.run(sql))
        made.clock.forward(3600 * 2)
        await live.look()
        live.service.crash()
    async with scheduled_service(tmp_path, made) as live:
        await live.pass_by(hours=3)
        assert len(await of_agents(live)) == len(await of_days(live)) == 1


async def test_people_are_answered_before_anything_is_told(tmp_path: Path) -> None:
    model, busy = SummaryModel(), [True, True, False]
    async with scheduled_service(tmp_path, setting(model)) as live:
        await live.say("the boat is called Ada")
        turn_deps = live.service.runtime.turn_deps
        asked: list[bool] = []

        def is_busy() -> bool:
            asked.append(bool(model.told))
            return busy.pop(0) if busy else False

        telling = SummaryJob(Background.of(turn_deps), "UTC", is_busy)
        await live.service.write(lambda tx: tx.run("UPDATE agent_presence SET active = 0"))
        assert await telling.agents(live.service.database, live.service.clock()) == "1 created (Carina)"
        assert asked == [False] * 3
        switched_off = SummaryJob(Background.of(turn_deps), "UTC", is_busy, enabled=False)
        assert "turned off" in await switched_off.days(live.service.database, live.service.clock())


BERLIN = "Europe/Berlin"


def there(text: str) -> datetime:
    """A time on the clocks of Berlin."""
    return instant(datetime.fromisoformat(text), zone_of(BERLIN))


@pytest.mark.parametrize(
    ("moment", "name"),
    [
        ("2026-11-22 12:00", "2026-11-22"),
        ("2026-11-22 23:59", "2026-11-22"),
        ("2026-11-23 00:01", "2026-11-22"),
        ("2026-11-23 11:59", "2026-11-22"),
        ("2026-11-23 12:00", "2026-11-23"),
        ("2026-03-29 11:30", "2026-03-28"),
        ("2026-03-29 12:30", "2026-03-29"),
        ("2026-10-25 11:30", "2026-10-24"),
        ("2026-10-25 12:30", "2026-10-25"),
    ],
)
def test_a_night_is_from_noon_to_noon(moment: str, name: str) -> None:
    found = night_of(there(moment), BERLIN)
    assert found.name == name
    assert found.start <= there(moment) < found.end
    assert found == night_named(name, BERLIN)
