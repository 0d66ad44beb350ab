"""Patrols over the real scheduler with a moved clock: when they run, what they are shown, and when they speak."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.agents import patrols
from bot.agents.agenda.quiet_hours import owners_quiet
from bot.agents.budgets import Budgets, BudgetThresholds
from bot.agents.groups.loop_guard import budget_left
from bot.agents.patrols import Patrols
from bot.models.base import Answer, UserMessage
from bot.models.offline import OfflineModel
from bot.services.system.jobs import Schedule
from memory import agents
from memory.people import person_settings as hours
from memory.people.audience import OWNER, Trust
from memory.queue import turns
from memory.spending import Limit
from memory.store.ids import PlaceId
from memory.store.records import replace
from scheduler.runner import Runner
from sources.terminal import PERSON
from tests.bot.agents.context.test_working_memory import keep
from tests.bot.parts import HALL, NOON, OLGA, MovableClock, ScriptedModel, call, results, said, says
from tests.bot.runtime.test_parked_messages import deliver
from tests.bot.stage import OWNERS_PLACE, Service, Setting, running, until
from texts import unpacked

TOML = """
[[agents]]
name = "Carina"
[[agents.patrols]]
name = "heartbeat"
cron = "*/30 * * * *"
task = "Is anything on fire?"
"""
TWO = TOML + '[[agents]]\nname = "Bee"\n[[groups]]\nname = "Main"\nmembers = ["Bee", "Carina"]\ndefault = true\n'
PLACE = PlaceId("patrol:heartbeat")
JOB = "patrol:heartbeat"


@dataclass
class Watch:
    """A running service with its scheduler."""

    service: Service
    runner: Runner
    schedule: Schedule

    @property
    def model(self) -> ScriptedModel:
        return self.service.model

    async def after(self, minutes: float) -> None:
        """Let so much time go by, and all that is due be done."""
        self.service.clock.forward(minutes * 60)
        await self.tick()

    async def tick(self) -> None:
        await self.runner.tick()
        await self.service.settled()

    async def queued(self, minutes: float = 30) -> None:
        """Let so much time go by in a halt, in which nothing that is due is done."""
        self.service.halt.begin("a test")
        self.service.clock.forward(minutes * 60)
        await self.runner.tick()

    async def released(self) -> None:
        await self.service.halt.end()
        self.service.router.release()

    async def job(self) -> tuple[str, str]:
        """How the job stands, and what it says of its last run."""
        ((status, detail),) = await self.service.rows("SELECT status, last_detail FROM jobs WHERE id = ?", JOB)
        return str(status), unpacked(str(detail))

    def told(self) -> list[str]:
        return self.service.platform.texts(OWNERS_PLACE.id)


@asynccontextmanager
async def watch(folder: Path, toml: str = TOML, **more: Any) -> AsyncIterator[Watch]:
    async with running(folder, Setting(toml=toml, **more)) as service:
        people = replace(service.approvals.people, owner=(OLGA.id, PERSON))  # the terminal is the owner's
        runner = service.runner(Patrols(folder, OLGA.id, owners_quiet(people, "UTC")).kinds())
        schedule = service.schedule(runner, plan=lambda tx, now: patrols.plan(tx, "UTC", now))
        await schedule.prepare()
        yield Watch(service, runner, schedule)


async def test_it_runs_at_its_times_and_what_it_says_reaches_the_owner(tmp_path: Path) -> None:
    async with watch(tmp_path) as it:
        it.model.replies.append(says("The kitchen is on fire."))
        await it.after(29)
        assert it.model.requests == []
        await it.after(1)
        assert it.told() == ["The kitchen is on fire."]
        assert await it.job() == ("active", "had something to say")
        (turn,) = await it.service.rows("SELECT * FROM turns")
        assert (turn["place_id"], turn["audience"], turn["person_id"]) == (PLACE, OWNER, OLGA.id)
        assert turn["trust"] == Trust.AGENT
        (row,) = await it.service.outbox()
        assert (row.place, row.audience) == (OWNERS_PLACE.id, OWNER)


async def test_the_agent_knows_in_the_owners_talk_what_it_said_on_patrol(tmp_path: Path) -> None:
    async with watch(tmp_path) as it:
        it.model.replies.extend([says("The kitchen is on fire."), says("I called them.")])
        await it.after(30)
        await it.service.heard(said("then do something", 1, OWNERS_PLACE, OLGA))
        shown = [each.text for each in it.model.requests[-1].messages]
        why = "[system] From the patrol “heartbeat”, which is not shown here, you said this of your own accord:"
        assert shown[:2] == [why, "The kitchen is on fire."]
        assert not any("checklist" in each for each in shown), "of the patrol itself nothing is in the owner's talk"


@pytest.mark.parametrize("answer", ["", "  \n", "SILENT", "silent.", "**SILENT**"])
async def test_with_nothing_to_say_nothing_is_said_and_the_record_says_so(tmp_path: Path, answer: str) -> None:
    async with watch(tmp_path) as it:
        it.model.replies.append(says(answer))
        await it.after(30)
        assert it.service.platform.sends == []
        assert await it.service.outbox() == []
        assert await it.job() == ("active", "had nothing to say")
        assert await it.service.column("SELECT count(*) FROM messages WHERE role = 'assistant'") == [0]


async def test_one_that_is_not_over_is_not_begun_again(tmp_path: Path) -> None:
    async with watch(tmp_path) as it:
        for minutes in (0, 30, 30, 30):
            await it.queued(minutes)
        assert await it.job() == ("active", "not run: the previous run has not finished")
        assert it.model.requests == [], "nothing runs while everything is halted"
        await it.released()
        await it.service.settled()
        assert len(it.model.requests) == 1


async def quiet(it: Watch, begin: str, until: str) -> None:
    times = hours.Times("UTC", begin, until)
    await it.service.write(lambda tx: hours.put(tx, (OLGA.id,), times, NOON))


async def test_quiet_hours_hold_it_back_until_they_end(tmp_path: Path) -> None:
    async with watch(tmp_path) as it:
        await quiet(it, "12:15", "14:10")
        await it.after(30)
        assert await it.job() == ("active", "waiting for quiet hours to end")
        await it.after(60)
        assert it.model.requests == []
        await it.after(40)  # 14:10
        assert len(it.model.requests) == 1
        await it.after(20)
        assert len(it.model.requests) == 2


async def test_one_that_was_queued_before_does_not_speak_in_quiet_hours(tmp_path: Path) -> None:
    async with watch(tmp_path) as it:
        await it.queued()
        await quiet(it, "12:31", "14:00")
        it.service.clock.forward(5 * 60)
        await it.released()
        await until(lambda: it.service.column("SELECT 1 FROM inbox WHERE next_attempt_at IS NOT NULL"))
        assert await it.service.column("SELECT next_attempt_at FROM inbox") == ["2026-11-22T14:00:00.000Z"]
        assert it.model.requests == []
        it.service.crash()
    clock = MovableClock(datetime(2026, 11, 22, 14, 0, tzinfo=UTC))
    async with watch(tmp_path, clock=clock) as it:
        await it.service.settled()
        assert len(it.model.requests) == 1


async def test_it_is_shown_its_checklist_and_what_it_kept_and_nothing_of_talk(tmp_path: Path) -> None:
    async with watch(tmp_path) as it:
        await it.service.heard(said("my cat is ill", 1, OWNERS_PLACE, OLGA))
        save = call("working_memory", operation="save", key="stove", content="it is off", ttl_minutes=60)
        it.model.replies.extend([says("", save), says("")])
        await it.after(30)
        request = it.model.requests[-1]
        (event,) = [each for each in request.messages if isinstance(each, UserMessage)]
        assert '\n\n[system] The patrol "heartbeat" is due. Go through this checklist now' in event.text
        assert "\n\nIs anything on fire?\n\n[system] Your final text is sent to the owner" in event.text
        assert "SILENT" in event.text
        assert "[now in the patrol “heartbeat”; your answer is heard by: the owner]" in event.text
        assert "cat" not in str(request.messages)
        assert results(request) == [("saved as patrol/heartbeat/stove, expires in 60 min", True)]
        for namespace, key in (("patrol/other", "found"), ("subagent/7", "found-index"), ("shared/all", "notes")):
            await it.service.write(keep(namespace, key, OWNER))
        it.model.replies.append(says(""))
        await it.after(30)
        (event,) = [each for each in it.model.requests[-1].messages if isinstance(each, UserMessage)]
        assert "shared/all/notes" in event.text
        assert "found" not in event.text, "of what other patrols and members keep nothing is listed"
        own = '<quoted from="your working memory, patrol/heartbeat">\n- stove: expires in 30 min\n</quoted>'
        assert own in event.text


async def test_the_owner_s_turns_list_what_patrols_found_and_patrols_nothing_of_people(tmp_path: Path) -> None:
    async with watch(tmp_path) as it:
        keep = call("working_memory", operation="save", key="plan", content="ours", ttl_minutes=600)
        it.model.replies.extend([says("", keep), says("kept")])
        await it.service.heard(said("keep the plan", 1, OWNERS_PLACE, OLGA))
        save = call("working_memory", operation="save", key="stove", content="it is on", ttl_minutes=600)
        it.model.replies.extend([says("", save), says("")])
        await it.after(30)
        assert "plan" not in str(it.model.requests[-1].messages)
        await it.service.heard(said("anything new?", 2, OWNERS_PLACE, OLGA))
        assert "- patrol/heartbeat/stove: expires in 10 h 0 min" in str(it.model.requests[-1].messages)
        await it.service.heard(said("anything new?", 3, HALL))
        assert "stove" not in str(it.model.requests[-1].messages), "what is the owner's is not listed before others"
        dismiss = call("working_memory", operation="delete", key="patrol/heartbeat/stove")
        it.model.replies.extend([says("", dismiss), says("gone")])
        await it.service.heard(said("dismiss it", 4, OWNERS_PLACE, OLGA))
        assert results(it.model.requests[-1])[-1] == ("deleted: patrol/heartbeat/stove", True)


async def test_a_checklist_can_be_a_file_that_is_read_at_every_patrol(tmp_path: Path) -> None:
    toml = TOML.replace('task = "Is anything on fire?"', 'file = "fire.md"')
    async with watch(tmp_path, toml) as it:
        await it.after(30)
        assert it.model.requests == []
        missing = "not run: patrols/fire.md is missing from the data folder or is not a text file"
        assert await it.job() == ("active", missing)
        (tmp_path / "patrols").mkdir()
        for number, words in enumerate(["# Look at the stove", "# Look at the oven"], 1):
            (tmp_path / "patrols" / "fire.md").write_text(words)
            await it.after(30)
            assert len(it.model.requests) == number
            assert words in str(it.model.requests[-1].messages)
        (tmp_path / "patrols" / "fire.md").write_text("Look. " * 2_000)
        await it.queued()
        assert (await it.job())[1] == "started with the first 8,000 of 11,999 characters of its file"


async def test_an_archived_agent_has_no_patrol_and_none_that_waits_is_done_by_another(tmp_path: Path) -> None:
    async with watch(tmp_path, TWO) as it:
        await it.after(30)
        (mine,) = await it.service.column("SELECT id FROM agents WHERE name = 'Carina'")
        assert [agent.id for agent in it.service.setting.asked] == [mine]
        await it.queued()
        await it.service.write(lambda tx: agents.set_status(tx, mine, "archived", it.service.clock()))
        await it.released()
        await it.service.settled()
        assert len(it.service.setting.asked) == 1
        assert await it.service.column("SELECT last_error FROM inbox WHERE status = 'done' AND last_error <> ''") == [
            "its agent is not active"
        ]
        await it.schedule.prepare()
        assert await it.service.column("SELECT count(*) FROM jobs WHERE id = ?", JOB) == [0]


async def test_who_is_only_an_observer_goes_on_no_patrol_and_observers_hear_of_none(tmp_path: Path) -> None:
    observed = TWO.replace('"Carina"]', '{ agent = "Carina", role = "observer" }]')
    async with watch(tmp_path, observed) as it:
        await it.after(30)
        assert await it.job() == ("active", "not run: Carina does not speak in any group")
    other = observed.replace('"Bee", { agent = "Carina", role', '"Carina", { agent = "Bee", role')
    async with watch(tmp_path / "other", other) as it:
        await it.after(30)
        assert len(it.model.requests) == 1


async def test_agents_that_are_stopped_on_patrol_send_no_note_to_a_place_without_readers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.agents.groups.loop_guard.TURN_BUDGET", 0)
    async with watch(tmp_path) as it:
        await it.after(30)
        (identifier,) = await it.service.column("SELECT id FROM turns")
        turn = await it.service.read(lambda rows: turns.get(rows, identifier))
        assert turn is not None
        assert not await it.service.write(lambda tx: budget_left(tx, turn, it.service.clock()))
        assert {row.place for row in await it.service.outbox()} <= {OWNERS_PLACE.id}


def spent(when_spent: Any, subject: str = "constellation") -> Budgets:
    limit = Limit(subject, "day", 0.0)
    return Budgets({(subject, "day"): limit}, BudgetThresholds(when_spent=when_spent), default_model="scripted:one")


@pytest.mark.parametrize("subject", ["constellation", "jobs"])
@pytest.mark.parametrize("when_spent", ["offline", "refuse"])
async def test_with_a_spent_budget_no_model_is_asked_and_nobody_is_told_what_was_not_found(
    tmp_path: Path, when_spent: Any, subject: str
) -> None:
    async with watch(tmp_path, budgets=spent(when_spent, subject)) as it:
        await it.after(30)
        asked = [agent.model for agent in it.service.setting.asked]
        assert asked == (["offline"] if when_spent == "offline" else [])
        if when_spent == "refuse":
            assert it.service.platform.sends == []
            assert await it.job() == ("active", "not run: the budget for models is used up")


@pytest.mark.parametrize(("when_spent", "told"), [("offline", "I answer only from memory"), ("refuse", "Ask me again")])
async def test_of_news_that_a_spent_budget_leaves_unread_the_owner_is_told(
    tmp_path: Path, when_spent: Any, told: str
) -> None:
    async with watch(tmp_path, budgets=spent(when_spent)) as it:
        it.model.replies.append(says(""))  # of the rules that answer without a model
        await deliver(it.service)
        it.service.resume()
        await it.service.settled()
        assert any(told in text for text in it.told())


async def test_news_that_a_spent_budget_for_jobs_leaves_unread_ask_no_model_and_say_nothing_of_answers(
    tmp_path: Path,
) -> None:
    async with watch(tmp_path, budgets=spent("refuse", "jobs")) as it:
        await deliver(it.service)
        it.service.resume()
        await it.service.settled()
        assert (it.service.setting.asked, it.told()) == ([], [])


async def test_without_a_language_model_nothing_is_said_and_the_job_says_why(tmp_path: Path) -> None:
    clock = MovableClock()
    offline = OfflineModel(clock)

    async def answer(request: Any) -> Answer:
        events = [event async for event in offline.complete(request)]
        assert isinstance(events[-1], Answer)
        return events[-1]

    async with watch(tmp_path, model=ScriptedModel(otherwise=answer), clock=clock) as it:
        await it.after(30)
        assert it.told() == []
        assert await it.job() == ("active", "had nothing to say; no language model answered, so nothing was checked")


async def test_how_it_looked_around_is_not_told_to_others_as_what_happened(tmp_path: Path) -> None:
    async with watch(tmp_path, TWO) as it:
        save = call("working_memory", operation="save", key="stove", content="it is on", ttl_minutes=60)
        it.model.replies.extend([says("", save), says("The stove is on.")])
        await it.after(30)
        tools = "SELECT count(*) FROM activity_events WHERE event_type = 'tool_executed'"
        assert await it.service.column(tools) == [1], "it stands in the activity all the same"
        await it.service.heard(said("Bee, what is new?", 1, OWNERS_PLACE, OLGA))
        shown = str(it.model.requests[-1].messages)
        assert "Carina replied in the patrol “heartbeat”" in shown
        assert "short-term memory" not in shown
