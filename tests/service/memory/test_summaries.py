"""`/summary` and `carina summary` over sockets: scoped, once after any death, and a night that is undone by command."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.service.live_service import Live, first_of, one_day, refused, started, until
from tests.wire.model import Answer, Call, Calls, Reply, Request

AGENTS = """
[schedule]
summaries = true
zone = "UTC"
[[agents]]
name = "Carina"
[[agents]]
name = "Anchor"
[[agents.blocks]]
label = "notes"
description = "Notes"
type = "working"
pinned = true
audience = "owner"
[[groups]]
name = "Main"
members = ["Carina"]
default = true
[[groups]]
name = "Night"
pattern = "sleeptime"
members = ["Anchor"]
mention = false
[groups.sleeptime]
check_minutes = 20
place = "terminal:local"
[[groups.sleeptime.triggers]]
name = "sync"
on = "constellation_activity"
messages = 1
"""
SECRET = "Quetzalcoatl"


def tells(request: Request) -> Reply:
    """Answers people with a word; of what is to be told in short, which secret words it was shown."""
    everything = str(request.messages)
    if any(each in str(request.messages[0]) for each in ("Summarize", "Tell other agents")):
        words = "They spoke of the secret." if SECRET in everything else "They spoke of the fence."
        return Answer(json.dumps({"summary": words}))
    if "You look after" in str(request.messages[-1]["content"]) and not request.results:
        return Calls(Call("context", {"operation": "append", "label": "notes", "content": "The fence matters."}))
    return Answer("Yes.")


@pytest.fixture
async def t(tmp_path: Path) -> AsyncIterator[Live]:
    async with started(tmp_path, toml=AGENTS) as made:
        made.model.default = tells
        await one_day()
        yield made


LAST_WEEK = "UPDATE messages SET created_at = strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-7 days')"
SPANS = ["day", "week"]
"""What is told in short of what was said seven days ago: both are over, whatever day and hour it is now."""
IDLE = "UPDATE agent_presence SET active = 0"


DAYS, AGENTS_JOB = "summary.constellation", "summary.agents"


def job(t: Live, identifier: str) -> tuple[object, object]:
    """When a job ran last, and what came of it."""
    found = {row[0]: row[1:] for row in t.rows("SELECT id, last_run_at, last_detail FROM jobs")}
    return found[identifier][0], found[identifier][1]


async def ran(t: Live, identifier: str) -> str:
    """Run a job now; what came of it."""
    before, _ = job(t, identifier)
    await t.service.said("jobs", "run", identifier)
    await until(lambda: job(t, identifier)[0] != before, 30, what=identifier)
    return str(job(t, identifier)[1])


async def test_summaries_are_shown_to_those_who_may_know_them(t: Live) -> None:
    await t.ask(t.ana, t.general, "<@bot> the fence is broken", within=45)
    await t.ask(t.ana, t.ana.direct, f"my secret is {SECRET}")
    await t.service.stop()
    t.change(LAST_WEEK)
    t.change(IDLE)
    await t.service.start()
    assert f"{2 * len(SPANS)} created" in await ran(t, DAYS)
    edited = (await t.ana.command("summary constellation", None, t.general)).text
    assert "They spoke of the fence." in edited
    assert not re.search(r"\d{4}-\d\d-\d\d", edited), "dates are in words"
    assert "They spoke of the secret." in (await t.ana.command("summary constellation")).text
    for place in (t.olga.direct, t.general):
        assert "secret" not in (await t.olga.command("summary constellation", None, place)).text
    refused(await t.olga.command("summary agent", {"agent": "Moon"}), "no agent “Moon”")
    names = await t.olga.autocomplete("summary agent", "agent", "anc", t.general)
    assert [each.value for each in names] == ["Anchor"]
    found = sorted(await t.service.data("summary", "constellation"), key=lambda row: row["of"])
    told = "They spoke of the fence.", "openai:scripted"
    assert [(row["of"], row["text"], row["by"]) for row in found] == [(span, *told) for span in SPANS]
    assert sorted(row["of"] for row in await t.service.data("summary")) == SPANS


async def dies_and_goes_on(t: Live, due: str, name: str, fault: str) -> None:
    """Something is said and due to be told; the service dies at its job, and runs it at the next start."""
    await t.ask(t.ana, t.general, "<@bot> the fence is broken", within=45)
    await t.service.stop()
    t.change(due)
    async with t.service.dying(fault):
        await t.service.run("jobs", "run", name)
    t.change("UPDATE jobs SET held_until = '2020-01-01T00:00:00.000Z' WHERE holder IS NOT NULL")  # its lease is over
    await t.service.start()
    await until(lambda: job(t, name)[0], 30, what="the job")


@pytest.mark.parametrize("fault", first_of(1, "summaries.day:after", "summaries.day:before", "summaries.model:after"))
async def test_a_death_while_a_day_is_told_loses_and_repeats_nothing(t: Live, fault: str) -> None:
    await dies_and_goes_on(t, LAST_WEEK, DAYS, fault)
    told = t.rows("SELECT kind, text FROM items WHERE kind IN ('day', 'week') ORDER BY kind")
    assert told == [(span, "They spoke of the fence.") for span in SPANS]
    asked = t.rows("SELECT count(*) FROM model_usage WHERE agent_id = '_constellation_'")
    assert asked == [(2 if fault == "summaries.day:before" else 1,)], "a week of one day is that day's words"


@pytest.mark.parametrize("fault", first_of(1, "summaries.agent:after", "summaries.agent:before"))
async def test_a_death_while_an_agent_is_told_loses_and_repeats_nothing(t: Live, fault: str) -> None:
    await dies_and_goes_on(t, IDLE, AGENTS_JOB, fault)
    assert t.rows("SELECT text FROM items WHERE kind = 'agent'") == [("They spoke of the fence.",)]
