"""Upkeep that thinks: what a model may bring about, what it costs, and what stays when it fails or means harm."""

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.agents.budgets import Budgets, BudgetThresholds
from bot.config.file_settings import Dreams as Settings
from bot.errors import UserError
from bot.models.base import Answer, ModelBusy, Request, Usage
from bot.services.caller import Caller
from bot.services.memory.dreams import Dreams
from bot.services.results import Plain, Result
from bot.upkeep.background_calls import Background, UpkeepDeps
from bot.upkeep.dream_run import DreamRun, Outcome
from memory import agents, jobs
from memory.jobs import NewJob
from memory.knowledge import entries, entry_changes
from memory.knowledge.entries import Entry, NewEntry, Origin
from memory.people.audience import OWNER, Audience, Scope, Trust, person_audience
from memory.spending import Limit
from memory.store.database import Tx
from memory.store.ids import AgentId, EntryId, new_id
from memory.store.records import replace
from scheduler.job_kinds import DueJob
from tests.bot.parts import ANN, BOB, OLGA, HeldReply, ScriptedModel, guild, said, says, told
from tests.bot.scheduled_service import tidied
from tests.bot.services.calling import registry, somebody
from tests.bot.stage import Service, Setting, running

MODEL = "scripted:one"
GUILD = guild("guild")
OLGA_HERSELF = replace(somebody(OLGA.id), scope=Scope(OWNER))


def answers(**answer: Any) -> Answer:
    return Answer(json.dumps(answer), (), Usage(100, 20, cost_usd=0.25), MODEL)


class Harness:
    """The real service with upkeep of its own model."""

    def __init__(self, service: Service, model: ScriptedModel, deps: UpkeepDeps) -> None:
        self.service = service
        self.model = model
        self.deps = deps
        self.dreaming = DreamRun(service.database, deps, lambda: False)
        people = service.approvals.people
        self._registry = registry(
            Dreams(service.database, people, service.clock, self.dreaming, lambda: None), people=people
        )

    async def run(self) -> Outcome:
        return await self.dreaming.run()

    async def call(self, name: str, caller: Caller, **given: str) -> Result:
        return await self._registry.call(f"dream.{name}", caller, given)

    async def told(self, name: str, caller: Caller) -> str:
        return "\n".join((await self.call(name, caller)).lines(Plain("UTC", self.service.clock())))

    async def report(self, caller: Caller | None = None) -> str:
        return await self.told("report", caller or OLGA_HERSELF)

    async def agent(self) -> AgentId:
        return await self.service.read(lambda rows: agents.every_agent(rows)[0].id)

    async def keep(self, *texts: str, audience: Audience = GUILD, person: Any = ANN, **more: Any) -> list[Entry]:
        agent, clock = await self.agent(), self.service.clock

        def work(tx: Tx) -> list[Entry]:
            origin = Origin(Scope(audience), more.get("trust", Trust.APPROVED), person.id)
            return [entry_changes.insert(tx, agent, NewEntry(text, origin), clock()) for text in texts]

        return await self.service.write(work)

    async def standing(self, audience: Audience = GUILD) -> set[str]:
        agent = await self.agent()
        found = await self.service.read(lambda rows: entries.latest(rows, agent, Scope(audience), limit=100_000))
        return {entry.content for entry in found if entry.audience == audience}

    async def state(self) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self.service.rows("SELECT * FROM archival_entries ORDER BY n")]

    async def marks(self) -> list[tuple[str, str]]:
        rows = await self.service.rows("SELECT pass, audience FROM dream_marks ORDER BY 1, 2")
        return [(row[0], row[1]) for row in rows]


@asynccontextmanager
async def ground(
    folder: Path, *replies: Any, budgets: Budgets | None = None, otherwise: Any = None, **settings: Any
) -> AsyncIterator[Harness]:
    """A service; without replies there is no language model for upkeep."""
    model = ScriptedModel(*replies, otherwise=otherwise or answers())
    offline = not replies and otherwise is None
    kept = budgets or Budgets(default_model="offline" if offline else MODEL)
    async with running(folder, Setting(ScriptedModel())) as service:

        async def choose(_agent: agents.Agent) -> ScriptedModel:
            return model

        given = Settings(**{"preferences": False, "graph": False, "contradictions": False, **settings})
        deps = UpkeepDeps(Background(choose, kept, service.clock, str, 180), given, folder / "directives")
        yield Harness(service, model, deps)


DENTIST = ("Ann's dentist is on Elm Street 9", "the dentist of Ann is in Elm Street 9, Ann's dentist")


async def test_without_a_model_the_same_words_become_one_and_the_rest_is_left_and_said(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        await g.keep("Ann's cat, Tom, sleeps", "ann’s cat Tom sleeps", *DENTIST)
        done = await g.run()
        assert done.words == "2 entries retired, 1 created"
        assert await g.standing() == {"Ann's cat, Tom, sleeps", *DENTIST}
        report = await g.report()
        assert "1 group of similar entries, because there is no language model" in report
        assert "merged into" in report
        assert (await g.run()).words == "there is nothing new"
        assert await g.service.column("SELECT count(*) FROM dream_runs") == [1], "a quiet run leaves nothing"


async def test_a_model_merges_refines_and_retires_and_it_is_told_and_paid_for(tmp_path: Path) -> None:
    reply = answers(
        merge=[{"sources": ["e1", "e2"], "content": "Ann's dentist is in Elm Street 9", "tags": ["health"]}],
        retire=["e3"],
        refine=[{"id": "e4", "category": "food/drinks", "tags": ["tea"]}],
    )
    async with ground(tmp_path, reply) as g:
        await g.keep(*DENTIST, "test test", "Ann likes tea")
        before = await g.state()
        done = await g.run()
        assert done.words == "3 entries retired, 1 created, 1 improved"
        assert await g.standing() == {"Ann's dentist is in Elm Street 9", "Ann likes tea"}
        usage = await g.service.rows("SELECT model, turn_id, cost_usd FROM model_usage")
        assert [tuple(row) for row in usage] == [(MODEL, None, 0.25)]
        assert await g.service.column("SELECT count(*) FROM budget_reservations") == [0]
        events = await g.service.rows("SELECT words ->> 0, audience FROM activity_events WHERE event_type = 'notable'")
        assert [tuple(row) for row in events] == [("cleaned up its memory: 3 retired, 1 created, 1 improved", GUILD)]
        report = await g.report()
        assert "retired as noise: “test test”" in report
        assert "no category became food/drinks, tags tea: “Ann likes tea”" in report
        words = await g.told("undo", OLGA_HERSELF)
        assert "was undone: 3 entries retired, 1 created, 1 improved; everything is as it was before." in words
        assert "category and tags corrected: “" in await g.report(), "which it has no more"
        assert await g.state() == before
        assert "undone since" in await g.report()
        told = "cleaned up its memory: 3 retired, 1 created, 1 improved"
        events = await g.service.rows("SELECT words ->> 0, audience FROM activity_events WHERE event_type = 'notable'")
        assert [tuple(row) for row in events] == [
            (told, GUILD),
            ("had a cleanup of its memory undone", GUILD),
        ]


async def test_what_can_be_undone_is_told_also_after_a_run_that_changed_nothing(tmp_path: Path) -> None:
    async with ground(tmp_path, answers(retire=["e1"]), otherwise=says("sure, all gone")) as g:
        await g.keep("test test", "Ann likes tea")
        assert (await g.run()).words == "1 entry retired"
        await g.keep("Ann owns a hound", "Ann owns a boat")
        await g.run()
        lines = (await g.report()).splitlines()
        assert lines[0].endswith(": nothing changed.")
        assert "the model did not answer in JSON" in "\n".join(lines)
        assert any(line.endswith(": 1 entry retired.") for line in lines[1:])
        assert lines[-1].endswith("retired as noise: “test test”")


async def test_one_call_is_of_one_audience_and_trust_and_what_is_said_alone_stays_there(tmp_path: Path) -> None:
    alone = person_audience(ANN.id)
    async with ground(tmp_path, otherwise=answers()) as g:
        await g.keep("Ann likes tea in the hall")
        await g.keep("Ann's secret is a quetzal", audience=alone)
        await g.keep("somebody says he likes tea", trust=Trust.STRANGER)
        await g.run()
    seen = [("quetzal" in told(one), "in the hall" in told(one), "somebody" in told(one)) for one in g.model.requests]
    assert sorted(seen) == [(False, False, True), (False, True, False), (True, False, False)]


async def test_a_report_shows_what_the_asker_may_know_and_counts_the_rest(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        await g.keep("Ann likes tea", "ann likes: tea", audience=person_audience(ANN.id))
        await g.run()
        ours = await g.report()
        hers = await g.report(somebody(ANN.id))
        his = await g.report(replace(somebody(BOB.id), scope=Scope(person_audience(BOB.id), frozenset({GUILD}))))
    assert "tea" not in ours
    assert "3 more changes that you cannot see" in ours
    assert "tea" in hers
    assert his == "Memory has not been cleaned up yet.", "not even that anything was done"


UNFIT = "a merge that would have joined different things, or lost or invented something"
HOSTILE = {
    "names what it was not shown": (answers(retire=["e1", "e99"]), "that it was not shown"),
    "names an entry twice": (answers(retire=["e1", "e1"]), "more than once"),
    "gives garbage": (Answer("Sure! I deleted everything.", (), Usage(), MODEL), "not answer in JSON"),
    "loses a number": (answers(merge=[{"sources": ["e1", "e2"], "content": "Ann's dentist"}]), UNFIT),
    "invents a name": (answers(merge=[{"sources": ["e1", "e2"], "content": f"{DENTIST[1]} with John Doe"}]), UNFIT),
    "gives no words": (answers(merge=[{"sources": ["e1", "e2"], "content": " "}]), UNFIT),
    "joins different people": (answers(merge=[{"sources": ["e1", "e3"], "content": DENTIST[0]}]), UNFIT),
    "deletes everything": (answers(retire=["e1", "e2", "e3", "e4"]), "no more may be retired"),
    "is filtered": (Answer('{"retire": ["e1"]}', (), Usage(), MODEL, finish="filter"), "no language model answered"),
    "is not there": (ModelBusy("later"), "no language model answered"),
    "is the offline one": (Answer('{"retire": ["e1"]}', (), Usage(), "offline"), "no language model answered"),
}


JUDGED = UNFIT, "no more may be retired"
"""What is said of an answer that could be used, but not in this."""


@pytest.mark.parametrize("what", HOSTILE)
async def test_whatever_a_model_does_nothing_is_lost(tmp_path: Path, what: str) -> None:
    reply, note = HOSTILE[what]
    async with ground(tmp_path, reply, otherwise=reply) as g:
        await g.keep(*DENTIST)
        await g.keep("Bob's dentist is on Elm Street 9", person=BOB)
        await g.keep("Ann likes tea")
        before = await g.state()
        await g.run()
        assert await g.state() == before
        found = json.loads((await g.service.column("SELECT notes FROM dream_runs"))[0])
        assert any(note in each for each in found), found
        judged = note in JUDGED
        marks = [of for of, _ in await g.marks()]
        assert ("consolidation" in marks) is judged, "a mark moves only when an answer could be used"


async def test_a_model_that_always_deletes_what_it_may_never_gets_beyond_the_bound(tmp_path: Path) -> None:
    def greedy(request: Request) -> Answer:
        shown = [line.partition(" ")[0] for line in told(request).splitlines() if line.startswith("e")]
        return answers(retire=shown[:5])

    async with ground(tmp_path, otherwise=greedy) as g:
        await g.keep(*(f"thing {number} lies in drawer {number * 7}" for number in range(100)))
        for day in range(7):
            await g.keep(f"a new thing {day} came {day * 31}")
            await g.service.write(lambda tx: tx.run("DELETE FROM dream_marks"))
            await g.run()
            g.service.clock.forward(86_400 - 3_600)
        assert len(await g.standing()) >= 107 - 10


@pytest.mark.slow
async def test_among_fifty_thousand_entries_few_are_looked_at_and_fewer_go(tmp_path: Path) -> None:
    shown = list[int]()

    def greedy(request: Request) -> Answer:
        ids = re.findall(r"(e[0-9]+) \(", told(request))
        shown.append(len(ids))
        return answers(retire=ids[:40])

    drawn = random.Random(7)
    async with ground(tmp_path, otherwise=greedy) as g:
        words = [f"w{number}" for number in range(20_000)]
        first, _ = await g.keep("Tom, the stork, is back", "Tom the stork is back")

        def fill(tx: Tx) -> None:
            for _ in range(50_000):
                content = " ".join(drawn.sample(words, 8))
                entry_changes.put(tx, replace(first, id=EntryId(new_id("ent")), content=content))

        await g.service.write(fill)
        for _ in range(2):
            before = len(await g.standing())
            await g.run()
            gone = before - len(await g.standing())
            assert 0 < gone <= 2_500, "5 % of what stands"
        assert max(shown) <= 40
        assert sum(shown) <= 2 * 40, "a call for each run, as all is of one part"


async def test_what_changes_while_a_model_thinks_is_left(tmp_path: Path) -> None:
    held = HeldReply(answers(merge=[{"sources": ["e1", "e2"], "content": DENTIST[0]}]))
    async with ground(tmp_path, held) as g:
        first, _ = await g.keep(*DENTIST)
        task = asyncio.create_task(g.run())
        await held.begun.wait()
        agent = await g.agent()
        await g.service.write(lambda tx: entry_changes.delete(tx, agent, first.id, Scope(GUILD)))
        held.free.set()
        await task
        assert await g.standing() == {DENTIST[1]}
        assert "changed in the meantime" in await g.report()


def budget_of(tokens: int = 0, **thresholds: Any) -> Budgets:
    limit = Limit("constellation", "day", tokens=tokens)
    return Budgets({("constellation", "day"): limit}, BudgetThresholds(**thresholds), MODEL)


async def test_a_run_that_is_cut_off_sets_nothing_aside(tmp_path: Path) -> None:
    held = HeldReply(answers())
    async with ground(tmp_path, held, budgets=budget_of(1_000_000)) as g:
        await g.keep("Ann takes the tram 71", "Ann goes by tram 71")
        run = asyncio.create_task(g.run())
        await held.begun.wait()
        assert await g.service.column("SELECT count(*) FROM budget_reservations") == [1]
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert await g.service.column("SELECT count(*) FROM budget_reservations") == [0]


async def test_a_run_uses_no_more_than_it_may(tmp_path: Path) -> None:
    async with ground(tmp_path, otherwise=answers(), tokens_per_run=100) as g:
        await g.keep(*DENTIST)
        await g.run()
        assert g.model.requests == []
        assert "dreams.tokens_per_run" in await g.report()


async def fired(g: Harness, *, asked: bool = False) -> str:
    new, now = NewJob("dream", "dream", "{}", g.service.clock()), g.service.clock()

    def work(tx: Tx) -> jobs.Job:
        jobs.put(tx, new, now)
        found = jobs.get(tx, "dream")
        assert found is not None
        return found

    return await g.dreaming.fire(
        g.service.database, DueJob(await g.service.write(work), g.service.home, now, now, asked=asked)
    )


async def test_the_job_waits_for_rest_and_for_twelve_hours(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        await g.service.heard(said("hello", 1))
        await g.keep("Ann likes tea", "Ann likes: tea")
        assert "answered just now" in await fired(g)
        g.service.clock.forward(600)
        g.dreaming.busy = lambda: True
        assert "is being answered" in await fired(g)
        g.dreaming.busy = lambda: False
        assert await fired(g) == "2 entries retired, 1 created"
        await g.keep("Bob likes tea", "Bob likes: tea", person=BOB)
        g.service.clock.forward(3_600)
        assert (await fired(g)).startswith("the last run was on")
        g.service.clock.forward(8 * 86_400)  # 3 in any seven days
        assert await fired(g, asked=True) == "2 entries retired, 1 created"
        g.service.clock.forward(91 * 86_400)
        await tidied(g.service)
        assert await g.service.column("SELECT count(*) FROM archival_entries") == [2], "retired 90 days ago: forgotten"
        assert await g.service.column("SELECT count(*) FROM dream_runs") == [0]


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    async with ground(tmp_path, enabled=False) as g:
        assert "turned off" in await fired(g, asked=True)


async def test_others_than_the_owner_do_not_undo(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        with pytest.raises(UserError):
            await g.call("undo", somebody(BOB.id))
        with pytest.raises(UserError, match="no cleanup to undo"):
            await g.call("undo", OLGA_HERSELF)
