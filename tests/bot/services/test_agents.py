"""Agents, groups, jobs and permits by command: what is shown to whom, through the registry of a whole service."""

import functools
import tomllib
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.app import App, build
from bot.config import load_config
from bot.errors import CallError, UserError
from bot.services.caller import Caller, PlaceScope, owner_at_terminal
from bot.services.results import Markdown, Plain
from memory import jobs
from memory.agenda import reminders
from memory.people.audience import PUBLIC, Scope, Trust, guild_audience
from memory.store.clock import from_text, to_text, utc_now
from memory.store.database import Tx
from memory.store.faults import commit_point
from memory.store.ids import GuildId, PersonId, PlaceId
from memory.store.records import replace
from scheduler import triggers
from tests.bot.services.calling import somebody
from texts import TextError

NOTE = commit_point("test_agents.note")
ANN, EVA, OLGA = (somebody(PersonId(f"discord:{number}")) for number in (11, 12, 13))
PROMPT = "You keep the recipe of the pie."
TOML = f"""
[discord.admins]
persons = ["12"]
[[agents]]
name = "Star"
description = "Shines"
system_prompt = "{PROMPT}"
rules = [{{ rule = "requires_consent", tool = "recall" }}]
[[groups]]
name = "Main"
members = ["Star"]
default = true
"""


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    (tmp_path / "carina.toml").write_text(TOML, "utf-8")
    environment = {"CARINA_HOME": str(tmp_path / "data"), "DISCORD_TOKEN": "x", "DISCORD_OWNER_ID": "13"}
    async with build(load_config(environment, tmp_path), fronts=False) as made:
        yield made


async def told(app: App, name: str, caller: Caller, /, **given: Any) -> tuple[str, Any]:
    """What a call gives to a person on Discord, the file included, and to a program."""
    found = await app.services.registry.call(name, caller, given)
    return "\n".join([*found.lines(Markdown()), found.document]), found.data()


async def test_everybody_sees_who_there_is_and_only_those_in_charge_how_they_are_set_up(app: App) -> None:
    words, (row,) = await told(app, "agent.list", ANN)
    assert words == "- Star: Shines\n"
    assert row["model"] == ""
    _, (row,) = await told(app, "agent.list", EVA)
    assert row["model"] == "offline"
    assert (await told(app, "group.list", ANN))[0] == "- Main (taking turns): Star\n"
    assert (await told(app, "group.list", EVA))[1][0]["answers_in"] == "everywhere else"


async def test_prompts_are_taken_away_by_the_owner_alone(app: App) -> None:
    for name, given in (("agent.show", {"agent": "star"}), ("group.show", {"group": "main"})):
        with pytest.raises(UserError, match="Only an admin may"):
            await app.services.registry.call(name, ANN, given)
    words, data = await told(app, "agent.show", EVA, agent="star")
    assert "- Groups: Main" in words
    assert "- Rule, as the agent reads it: “`recall` needs somebody's approval" in words, "it speaks to the agent"
    assert PROMPT not in words + str(data)
    assert PROMPT in (await told(app, "agent.show", OLGA, agent="star"))[0]
    for name in ("agent.export", "group.export"):
        with pytest.raises(UserError, match="Only the owner may export agents"):
            await app.services.registry.call(name, EVA, {})
    words, data = await told(app, "agent.export", OLGA)
    head, toml = words.split("\n", 1)
    assert "`carina agent import`" in head.replace("\\", "")
    assert tomllib.loads(toml)["agents"][0]["system_prompt"] == data["agents"][0]["system_prompt"] == PROMPT


async def test_agents_are_made_at_the_terminal_alone(app: App) -> None:
    given = {"name": "Nova", "settings": ["model=offline"]}
    with pytest.raises(CallError, match="There is no operation"):
        await app.services.registry.call("agent.create", OLGA, given)
    assert (await told(app, "agent.create", owner_at_terminal(), **given))[1] == [
        {"kind": "agent", "name": "Nova", "did": "created"}
    ]
    for name, values in (("agent.create", {}), ("agent.edit", {"agent": "Nova"}), ("group.create", {"name": "Day"})):
        with pytest.raises(CallError, match=r"give a name|Give the group a name|say what|AGENT: field required"):
            await app.services.registry.call(name, owner_at_terminal(), values)


async def test_who_sleeps_is_suggested_for_waking(app: App) -> None:
    registry = app.services.registry
    assert list(await registry.suggest("agent.hibernate", "agent", EVA, {})) == [("Star", "Star")]
    assert (await told(app, "agent.hibernate", EVA, agent="star"))[0].startswith(
        "Star is hibernated; wake it with `carina agent wake`."
    )
    assert list(await registry.suggest("agent.hibernate", "agent", EVA, {})) == []
    assert list(await registry.suggest("agent.wake", "agent", EVA, {})) == [("Star", "Star")]
    with pytest.raises(UserError, match="Only an admin may"):
        await registry.suggest("agent.wake", "agent", ANN, {})
    await told(app, "agent.wake", EVA, agent="star")
    assert list(await registry.suggest("agent.wake", "agent", EVA, {})) == []


async def test_jobs_are_told_on_the_readers_clock_without_crontab_lines(app: App) -> None:
    await app.services.schedule.prepare()
    words, rows = await told(app, "jobs.list", EVA)
    assert any(row["when"].startswith("20 4 * * *") for row in rows), "programs get the rule"
    assert "* * *" not in words.replace("\\", "")
    assert "- Back up everything (active): every day at 4:20 AM" in words
    assert "“Back up everything” is paused" in (await told(app, "jobs.pause", EVA, job="backup"))[0]
    words, row = await told(app, "jobs.resume", EVA, job="backup")
    assert words.startswith("Resumed: Back up everything (active): every day at 4:20 AM")
    assert row["state"] == "active"
    first, second = (f"reminder:{number}00123456" for number in (1, 2))
    for job in (first, second):
        new = jobs.NewJob(
            job, "reminder", triggers.dump(triggers.IntervalTrigger(timedelta(days=1), utc_now())), utc_now()
        )
        await app.services.database.write(NOTE, functools.partial(jobs.put, new=new, now=utc_now()))
    with pytest.raises(UserError, match="There is no job “reminder:123456”"):  # there are two
        await app.services.registry.call("jobs.pause", EVA, {"job": "reminder:123456"})
    await app.services.database.write(NOTE, lambda tx: jobs.drop(tx, second))
    await told(app, "jobs.pause", EVA, job="reminder:123456")
    snoozed = replace(new, id=f"{first}:later")
    await app.services.database.write(NOTE, lambda tx: jobs.put(tx, snoozed, utc_now()))
    shown = await app.services.registry.call("jobs.list", owner_at_terminal(), {})
    assert "(reminder:123456:later, active)" in "\n".join(shown.lines(Plain("UTC", utc_now())))
    words, row = await told(app, "jobs.resume", EVA, job="reminder:123456")
    assert (row["id"], row["state"]) == (first, "active")
    for job in ("backup", first):
        await told(app, "jobs.pause", EVA, job=job)
    imported = "UPDATE jobs SET last_detail = ? WHERE id = ?"
    await app.services.database.write(NOTE, lambda tx: tx.run(imported, (jobs.IMPORTED, first)))
    stays = "Paused on purpose, and still paused: Back up everything."
    assert (await told(app, "jobs.resume", EVA))[0] == f"1 job or reminder resumed. {stays}\n"
    assert (await told(app, "jobs.resume", EVA))[0] == f"{stays}\n"
    await told(app, "jobs.resume", EVA, job="backup")
    assert {row["state"] for row in (await told(app, "jobs.list", EVA))[1]} == {"active"}
    assert (await told(app, "jobs.resume", EVA))[0] == "No job is paused.\n"
    with pytest.raises(UserError, match="There is no job “tea”"):
        await app.services.registry.call("jobs.run", EVA, {"job": "tea"})


@pytest.mark.parametrize("given", [{"job": "reminder:1"}, {}])
async def test_what_is_resumed_before_it_is_due_keeps_its_time_and_else_gets_the_next(
    app: App, given: dict[str, str]
) -> None:
    now = utc_now()
    trigger = triggers.dump(triggers.IntervalTrigger(timedelta(days=7), now - timedelta(days=4)))
    for planned, kept in ((now + timedelta(days=10),) * 2, (now - timedelta(days=4), now + timedelta(days=3))):
        new = jobs.NewJob("reminder:1", "reminder", trigger, planned)

        def imported(tx: Tx, new: jobs.NewJob = new) -> None:
            jobs.put(tx, new, now)
            tx.run("UPDATE jobs SET status = 'paused', last_detail = ?", (jobs.IMPORTED,))

        await app.services.database.write(NOTE, imported)
        await told(app, "jobs.resume", EVA, **given)
        found = await app.services.database.read(lambda rows: jobs.get(rows, "reminder:1"))
        assert found is not None
        assert (found.status, found.next_at) == (jobs.Status.ACTIVE, from_text(to_text(kept)))


async def test_only_who_set_a_reminder_sees_its_words_among_the_jobs(app: App) -> None:
    new = reminders.Reminder("feed the axolotl", EVA.person, PlaceId("discord:1"), PUBLIC, Trust.APPROVED)

    def work(tx: Tx) -> None:
        job = reminders.job_id(reminders.add(tx, new, utc_now()).id)
        trigger = triggers.dump(triggers.IntervalTrigger(timedelta(days=1), utc_now()))
        jobs.put(tx, jobs.NewJob(job, "reminder", trigger, utc_now()), utc_now())

    await app.services.database.write(NOTE, work)
    assert "Reminder “feed the axolotl” " in (await told(app, "jobs.list", EVA))[0]
    words = (await told(app, "jobs.list", OLGA))[0]
    assert ("Remind somebody " in words, "axolotl" in words) == (True, False)
    own, other = [dict(await app.services.registry.suggest("jobs.pause", "job", each, {})) for each in (EVA, OLGA)]
    (job,) = [each for each in own if each.startswith("reminder:")]
    assert (own[job][:28], other[job][:15]) == ("Reminder “feed the axolotl”,", "Remind somebody")
    stays = "Paused on purpose, and still paused: "
    for caller, called, title in (
        (EVA, "feed the axolotl", "Reminder “feed the axolotl” "),
        (OLGA, *("Remind somebody",) * 2),
    ):
        assert (await told(app, "jobs.pause", caller, job=job))[0] == f"“{called}” is paused until you resume it.\n"
        assert (await told(app, "jobs.resume", caller))[0] == f"{stays}{called}.\n"
        assert (await told(app, "jobs.resume", caller, job=job))[0].startswith(f"Resumed: {title}")
    trigger = triggers.dump(triggers.DateTrigger(utc_now()))
    again = jobs.NewJob(f"{job}:again", "escalate", trigger, utc_now())
    await app.services.database.write(NOTE, lambda tx: jobs.put(tx, again, utc_now()))
    assert "Reminder “feed the axolotl”, once more (" in (await told(app, "jobs.list", EVA))[0]
    assert "Repeat a reminder that is not done yet (" in (await told(app, "jobs.list", OLGA))[0]


async def test_only_who_set_an_event_sees_its_title_among_the_jobs(app: App) -> None:
    private = {"when": "tomorrow at 9:00"}
    await app.services.registry.call("events.add", EVA, {"title": "feed the axolotl", **private})
    assert "Event “feed the axolotl” (active)" in (await told(app, "jobs.list", EVA))[0]
    words = (await told(app, "jobs.list", OLGA))[0]
    assert ("Announce an event " in words, "axolotl" in words) == (True, False)


async def test_who_is_asked_now_and_then_sees_no_lasting_permissions(app: App) -> None:
    given: dict[str, Any] = {"agent": "star", "what": "recall", "audience": "public"}
    with pytest.raises(UserError, match="Only the owner may give a lasting permission"):
        await app.services.registry.call("permits.grant", EVA, given)
    for wrong, refusal in (
        ({"agent": "Moon"}, "no agent “Moon”"),
        ({"what": "bell"}, "no tool “bell”"),
        ({"arguments": "{insert}"}, "are not valid JSON"),
        ({"arguments": "[]"}, "JSON object"),
        ({"arguments": '{"x": 1}'}, "does not accept x"),
    ):
        with pytest.raises(TextError, match=refusal):
            await app.services.registry.call("permits.grant", owner_at_terminal(), {**given, **wrong})
    there = replace(
        owner_at_terminal(), here=PlaceScope(PlaceId("discord:1"), Scope(guild_audience(GuildId("discord:2"))))
    )
    bound: dict[str, Any] = {"agent": "star", "what": "recall", "arguments": '{"operation": "insert"}', "hours": 2}
    words, grant = await told(app, "permits.grant", there, **bound)
    assert "long-term memory (operation: “insert”), until <t:" in words
    assert (", for a server; allowed by " in words, "discord:2" in words) == (True, False)
    await told(app, "permits.revoke", EVA, permit=grant["id"])
    words, grant = await told(app, "permits.grant", OLGA, **given)
    assert (grant["subject"], grant["audience"], grant["id"] in words) == ("recall", "public", False)
    assert (", for all places; allowed by " in words, "all places" in str(grant)) == (True, False)
    assert (await told(app, "permits.list", ANN))[1] == {"requests": [], "grants": []}
    assert [row["id"] for row in (await told(app, "permits.list", EVA))[1]["grants"]] == [grant["id"]]
    assert [value for value, _words in await app.services.registry.suggest("permits.revoke", "permit", EVA, {})] == [
        grant["id"]
    ]
    assert (await told(app, "permits.revoke", EVA, permit=grant["id"]))[0].startswith("Revoked: Star: long-term memory")
    events = (await told(app, "permits.audit", owner_at_terminal()))[1]
    assert [(line["event"], len(line["at"])) for line in events] == [("revoked", 24), ("granted", 24)] * 2
    offered = await app.services.registry.suggest("permits.grant", "what", OLGA, {"agent": "star"})
    assert offered
    for what, _shown in offered:
        await told(app, "permits.grant", OLGA, agent="star", what=what, audience="owner", hours=1)
