"""`save_memory`: stored at once, written out later by a model; whose words it stays, and what becomes of failures."""

import functools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.agents.budgets import Budgets
from bot.agents.tools.recall import RecallTool
from bot.config.file_settings import Dreams as Settings
from bot.models.base import Answer, ModelBusy, Usage
from bot.services.results import Plain
from bot.services.system.jobs import JobRow
from bot.upkeep import entry_expansion
from bot.upkeep.background_calls import Background, UpkeepDeps
from bot.upkeep.entry_expansion import ExpansionJob
from bot.upkeep.prompts import DIRECTIVES, MEMORY_RULES
from memory import agents, jobs
from memory.erasure import edited_or_deleted_messages
from memory.jobs import Job
from memory.knowledge import entries, entry_changes
from memory.knowledge.entries import Entry, NewEntry, Origin
from memory.people.audience import Scope, Trust, person_audience
from memory.store.database import Tx
from memory.store.ids import AgentId, EntryId
from memory.store.records import replace
from scheduler.runner import Runner
from tests.bot.agents.tools.test_tools import Scene, only
from tests.bot.parts import ANN, HeldReply, MovableClock, Platform, ScriptedModel, call, deleted, guild, says, told
from tests.bot.stage import Service, Setting, running
from tests.scheduler.parts import alike

MODEL = "scripted:two"
NOTE = "Ann works at Blue Bakery and her cat Tom is 9."
JOB, CAT = "Ann is employed at Blue Bakery", "Ann has a pet, the cat Tom, who is 9"
STANDING = "SELECT content FROM archival_entries WHERE archived_at IS NULL ORDER BY n"


def entry(content: str, **more: Any) -> dict[str, Any]:
    return {"content": content, **more}


def written(*entries: Any) -> Answer:
    return Answer(json.dumps({"entries": entries}), (), Usage(100, 20, cost_usd=0.25), MODEL)


WRITTEN = written(
    entry(JOB, category="people/work", tags=["job"], importance=0.6), entry(CAT, category="people/pets", tags=["pet"])
)


@dataclass
class Harness:
    """The real service, whose agent saves, with a model of its own for upkeep."""

    service: Service
    scene: Scene
    model: ScriptedModel
    runner: Runner

    async def save(self, content: str = NOTE, name: str = "save_memory", **more: Any) -> str:
        """The agent saves something; what it is told."""
        where = {key: more.pop(key) for key in ("place", "speaker") if key in more}
        text, ok = only(await self.scene.do(call(name, content=content, **more), text="remember it", **where))
        assert ok, text
        return text

    async def run(self, **later: float) -> None:
        self.service.clock.forward(timedelta(**later).total_seconds())
        self.runner.changed(self.service.home)
        await self.runner.tick()
        await self.runner.settled()

    async def standing(self) -> list[str]:
        return await self.service.column(STANDING)

    async def entries(self) -> list[Entry]:
        ids = await self.service.column("SELECT id FROM archival_entries WHERE archived_at IS NULL ORDER BY n")
        found = [await self.service.read(functools.partial(entries.in_use, entry=each)) for each in ids]
        return [each for each in found if each is not None]

    async def job(self) -> Job:
        (name,) = await self.service.column("SELECT id FROM jobs WHERE kind = 'expand'")
        found = await self.service.read(lambda rows: jobs.get(rows, name))
        assert found is not None
        return found

    async def agent(self) -> AgentId:
        return await self.service.read(lambda rows: agents.every_agent(rows)[0].id)

    async def delete(self, identifier: EntryId) -> None:
        agent = await self.agent()
        await self.service.write(lambda tx: entry_changes.delete(tx, agent, identifier, Scope(guild("guild"))))


@asynccontextmanager
async def ground(
    folder: Path, *replies: Any, budgets: Budgets | None = None, otherwise: Any = WRITTEN, **settings: Any
) -> AsyncIterator[Harness]:
    model, given = ScriptedModel(*replies, otherwise=otherwise), Settings(**settings)
    kept = budgets or Budgets(default_model=MODEL)
    clock = MovableClock()
    saving = RecallTool(functools.partial(entry_expansion.plan, given, kept))
    async with running(folder, Setting(ScriptedModel(), clock, Platform(clock), tools=(saving,))) as service:

        async def choose(_agent: agents.Agent) -> ScriptedModel:
            return model

        deps = UpkeepDeps(Background(choose, kept, clock, str, 180), given, folder / "directives")
        kinds = ExpansionJob(deps, lambda: False).kinds()
        runner = Runner(service.constellations, alike(service.constellations, kinds), clock, lambda _id: None, str)
        yield Harness(service, Scene(service), model, runner)


async def test_what_is_saved_stands_at_once_and_is_written_out_later(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        await g.save("Ann lives in Ghent", "archival_insert", category="people/home")
        text = await g.save(category="people", tags=["friend"])
        assert text.startswith("stored as ent_")
        assert text.endswith("; it is written out as focused entries in the background")
        assert (await g.standing())[1:] == [NOTE], "before anybody was asked"
        await g.run(seconds=1)
        (request,) = g.model.requests
        assert request.system.startswith(DIRECTIVES[MEMORY_RULES])
        assert f'category people, tags friend): <quoted from="note">{NOTE}</quoted>' in told(request)
        assert "Said by: Ann" in told(request)
        assert "Categories there are: people, people/home" in told(request)
        _first, saved, job, cat = await g.entries()
        assert (saved.content, job.content, cat.content) == (NOTE, JOB, CAT)
        for made in (job, cat):
            assert (made.audience, made.trust, made.people) == (saved.audience, saved.trust, saved.people)
            assert (made.messages, made.turn, made.label) == (saved.messages, saved.turn, None)
        assert (job.category, job.tags, job.importance) == ("people/work", ("job",), 0.6)
        assert (await g.job()).last_detail == "2 entries created"
        usage = await g.service.rows("SELECT model, turn_id, guild_id FROM model_usage WHERE model = ?", MODEL)
        assert [tuple(row) for row in usage] == [(MODEL, None, guild("guild"))]
        await g.run(hours=100)
        assert len(g.model.requests) == 1, "once"


@pytest.mark.parametrize("how", [{"budgets": Budgets()}, {"tokens_per_run": 0}])
async def test_without_a_model_it_is_stored_and_that_is_all_that_is_said(tmp_path: Path, how: dict[str, Any]) -> None:
    async with ground(tmp_path, **how) as g:
        text = await g.save()
        (identifier,) = await g.service.column("SELECT id FROM archival_entries")
        assert text == f"stored as {identifier}"
        await g.run(hours=1)
        assert (await g.standing(), g.model.requests) == ([NOTE], [])
        assert await g.service.column("SELECT count(*) FROM jobs") == [0]


async def test_what_the_note_does_not_say_is_left_and_so_is_what_it_says_already(tmp_path: Path) -> None:
    answer = written(
        entry("Ann works at Red Bakery"),
        entry("Ann's cat is 12"),
        entry(f"{NOTE}!"),
        entry("Ann has a cat", importance=1, category="anti-patterns/cats", tags=["pet ", "<@1>", "a\nb"]),
        entry("Ann has a job", category="not a category"),
        {"content": ""},
        "Ann",
    )
    async with ground(tmp_path, answer) as g:
        await g.save(category="people")
        await g.run()
        assert await g.standing() == [NOTE, "Ann has a cat", "Ann has a job"]
        made = (await g.entries())[1:]
        assert made[0].tags == ("pet",)
        assert [(each.category, each.importance) for each in made] == [("people", 0.7), ("people", 0.5)]
        assert "2 entries created; 3 dropped" in (await g.job()).last_detail


async def test_it_goes_with_the_message_that_it_was_learned_from(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        await g.save()
        await g.run()
        assert len(await g.standing()) == 3
        await g.service.heard(deleted(1))
        assert await g.standing() == []


async def test_it_goes_with_the_note_also_when_it_was_merged_and_the_other_stands_again(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        await g.save()
        await g.run()
        note, job, _cat = await g.entries()
        agent, now = await g.agent(), g.service.clock()

        def merge(tx: Tx) -> None:
            origin = Origin(Scope(guild("guild")), Trust.APPROVED, ANN.id)
            other = entry_changes.insert(tx, agent, NewEntry("Ann bakes", origin), now)
            both = entry_changes.insert(tx, agent, NewEntry("Employed at Blue Bakery, Ann bakes", origin), now)
            entry_changes.retire(tx, [other.id, job.id], both.id, now)

        await g.service.write(merge)
        await g.delete(note.id)
        assert await g.standing() == ["Ann bakes"]


async def test_what_was_made_of_a_note_that_was_merged_goes_with_what_it_became(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        await g.save()
        await g.run()
        note, *_ = await g.entries()
        agent, now = await g.agent(), g.service.clock()

        def merge(tx: Tx) -> Entry:
            origin = Origin(Scope(guild("guild")), Trust.APPROVED, ANN.id)
            both = entry_changes.insert(tx, agent, NewEntry("Tom is the cat of Ann of Blue Bakery", origin), now)
            entry_changes.retire(tx, [note.id], both.id, now)
            entry_changes.purge(tx, now + timedelta(days=1))
            return both

        both = await g.service.write(merge)
        assert await g.standing() == [JOB, CAT, both.content]
        await g.delete(both.id)
        assert await g.standing() == []


async def test_it_is_kept_to_fewer_people_with_the_note(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        await g.save()
        await g.run()
        note, *_ = await g.entries()
        now, alone = g.service.clock(), person_audience(ANN.id)
        await g.service.write(lambda tx: edited_or_deleted_messages.narrow_entry(tx, note, alone, now))
        assert {each.audience for each in await g.entries()} == {person_audience(ANN.id)}


async def test_what_fails_is_tried_again_ever_later_and_given_up_after_two_days(tmp_path: Path) -> None:
    async with ground(tmp_path, otherwise=ModelBusy("later")) as g:
        await g.save()
        await g.run()
        waiting = await g.job()
        assert waiting.last_detail == "not yet, because no language model answered"
        shown, again = JobRow.of(waiting), g.service.clock() + timedelta(minutes=1)
        assert (shown.state, shown.next) == ("active", again), "not when it was due first"
        running = JobRow.of(replace(waiting, holder="a process"))
        assert running.next == g.service.clock(), "the end of its lease is no time of a run"
        plain, late = Plain("UTC", again), again + timedelta(minutes=2)
        assert "; next run " in JobRow.of(waiting, "", again).line(plain)
        assert "; overdue since " in JobRow.of(waiting, "", late).line(plain)
        assert "overdue" not in JobRow.of(replace(waiting, holder="a process"), "", late).line(plain)
        for _ in range(12 * 60):
            await g.run(minutes=5)
        assert (await g.job()).status is jobs.Status.DONE
        assert "left as it is after two days of trying, because no language model" in (await g.job()).last_detail
        assert 6 <= len(g.model.requests) <= 10
        assert await g.standing() == [NOTE]
        g.model.otherwise = WRITTEN
        await g.save()
        await g.run()
        assert await g.standing() == [NOTE, JOB, CAT], "saved again, it is tried again"


@pytest.mark.parametrize("first", [ModelBusy("later"), says("Sure! Saved it all."), Answer("[1]", (), Usage(), MODEL)])
async def test_one_failure_is_made_good(tmp_path: Path, first: Any) -> None:
    async with ground(tmp_path, first) as g:
        await g.save()
        await g.run()
        assert await g.standing() == [NOTE]
        await g.run(seconds=59)
        assert len(g.model.requests) == 1
        await g.run(seconds=1)
        assert await g.standing() == [NOTE, JOB, CAT]


async def test_saved_again_it_is_not_written_out_again_and_once_it_goes_on_it_is(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        await g.save()
        await g.run()
        assert (await g.save()).startswith("it was known already and is stronger now as ent_")
        await g.run(hours=1)
        assert len(g.model.requests) == 1
        assert (await g.save(f"{NOTE} He is grey.")).endswith("in the background")
        await g.run()
        assert len(g.model.requests) == 2
        assert len(await g.standing()) == 3


@pytest.mark.parametrize("change", ["delete", "append"])
async def test_what_changed_while_the_model_thought_is_not_written_out_from_its_old_words(
    tmp_path: Path, change: str
) -> None:
    held = HeldReply(WRITTEN)
    async with ground(tmp_path, held) as g:
        await g.save()
        (identifier,) = await g.service.column("SELECT id FROM archival_entries")
        g.runner.changed(g.service.home)
        await g.runner.tick()
        await held.begun.wait()
        if change == "delete":
            await g.delete(identifier)
        else:
            more = call("recall", operation="append", label=identifier, content="He is grey.")
            assert only(await g.scene.do(more))[1]
        held.free.set()
        await g.runner.settled()
        assert await g.standing() == ([] if change == "delete" else [f"{NOTE}\nHe is grey."])
        await g.run(minutes=2)
        assert len(await g.standing()) == (0 if change == "delete" else 3)


async def test_it_is_not_listed_as_a_job_of_somebody_who_was_forgotten(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        await g.save()
        (identifier,) = await g.service.column("SELECT id FROM archival_entries")
        await g.delete(identifier)
        assert await g.service.column("SELECT count(*) FROM jobs") == [0]
        await g.run(hours=1)
        assert g.model.requests == []
