"""How talks went: judged once when they are over, by a model or by rules, and what comes of it."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.models.base import ModelBusy
from bot.upkeep.evaluations import EVALUATE, EvaluationJob
from memory import jobs
from memory.jobs import NewJob
from memory.knowledge import sessions
from memory.knowledge.sessions import GAP
from memory.people.audience import Scope
from memory.store.records import replace
from scheduler.job_kinds import DueJob
from tests.bot.parts import ANN, BOB, HALL, call, deleted, direct, said, says, told
from tests.bot.services.calling import somebody
from tests.bot.upkeep.test_upkeep import Harness, answers, ground

ALONE = direct(ANN, "guild")


async def over(g: Harness, *texts: str, place: Any = HALL) -> None:
    """A talk that is over since half an hour, and in short."""
    for number, text in enumerate(texts, 1):
        await g.service.heard(said(text, number, place, at=g.service.clock()))
    g.service.clock.forward(GAP.total_seconds() + 1)
    now = g.service.clock()
    for session in await g.service.read(lambda rows: sessions.finished(rows, now)):
        await g.service.write(partial(sessions.summarize, identifier=session))


async def judge(g: Harness) -> str:
    def work(tx: Any) -> Any:
        now = g.service.clock()
        jobs.put(tx, NewJob(EVALUATE, EVALUATE, "{}", now), now)
        return jobs.get(tx, EVALUATE)

    job, now = await g.service.write(work), g.service.clock()
    return await EvaluationJob(g.deps).fire(g.service.database, DueJob(job, g.service.home, now, now))


async def kept(g: Harness) -> list[tuple[Any, ...]]:
    sql = """SELECT detail ->> 'quality', detail ->> 'worked', detail ->> 'failed', detail ->> 'by', audience
             FROM items WHERE kind = 'evaluation' ORDER BY id"""
    return [tuple(row) for row in await g.service.rows(sql)]


async def test_a_talk_that_goes_on_is_not_judged_and_one_that_is_over_once(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        await g.service.heard(said("hello", 1))
        assert await judge(g) == "no conversation has ended"
        await over(g, "hello again")
        assert await judge(g) == "rated: 1 good"
        assert await judge(g) == "no conversation has ended"
        assert await kept(g) == [("good", "[]", "[]", "rules", HALL.audience)]
        assert "Conversations in that week: 1 good." not in await g.report(), "there was no run yet"


async def test_a_model_grades_and_notices_corrections_that_no_rule_knows(tmp_path: Path) -> None:
    reply = answers(quality="poor", worked=[], failed=[], corrections=["m3"])
    async with ground(tmp_path, reply) as g:
        await over(g, "wann ist das Spiel?", "Quatsch, das Spiel ist am Montag")
        (before,) = await g.service.column("SELECT count(*) FROM model_usage")
        assert await judge(g) == "rated: 1 poor"
        assert await kept(g) == [("poor", "[]", "[]", "model", HALL.audience)]
        (request,) = g.model.requests
        assert 'm3 (a person): <quoted from="m3">Quatsch' in told(request)
        rows = await g.service.rows("SELECT i.key, m.content, i.person_id, i.audience FROM items i "
                                    "JOIN item_sources s ON s.item_id = i.id JOIN messages m ON m.id = s.message_id "
                                    "WHERE i.kind = 'signal'")  # fmt: skip
        assert [tuple(row) for row in rows] == [
            ("correction", "Quatsch, das Spiel ist am Montag", ANN.id, HALL.audience)
        ]
        assert await g.service.column("SELECT count(*) FROM model_usage") == [before + 1], "it is in the books"


@pytest.mark.parametrize(
    "wrong",
    [
        answers(quality="awful"),
        answers(quality="poor", corrections=["m2"]),
        answers(quality="poor", corrections=["m9"]),
        says("poor"),
    ],
)
async def test_what_an_answer_may_not_say_counts_for_nothing(tmp_path: Path, wrong: Any) -> None:
    async with ground(tmp_path, wrong) as g:
        await over(g, "hello", "thanks")
        await judge(g)
        assert await kept(g) == [("good", "[]", "[]", "rules", HALL.audience)]
        assert await g.service.column("SELECT count(*) FROM items WHERE kind = 'signal'") == [0]


async def test_names_of_tools_that_were_not_used_are_left_out_of_a_judgement_that_holds(tmp_path: Path) -> None:
    reply = answers(quality="poor", worked=["recall", "rm_rf", "recall"], failed=["calculate", "quetzal"], more=1)
    async with ground(tmp_path, reply) as g:
        bad = call("calculate", "1", expression="1/0")
        g.service.model.replies.extend([says("", bad, call("recall", "2", operation="read")), says("no")])
        await over(g, "what is one by zero?")
        await judge(g)
        assert await kept(g) == [("poor", '["recall"]', '["calculate"]', "model", HALL.audience)]


async def test_a_model_that_fails_leaves_it_for_the_next_time(tmp_path: Path) -> None:
    async with ground(tmp_path, ModelBusy("busy"), answers(quality="fair")) as g:
        await over(g, "hello")
        assert await judge(g) == "1 not rated: no language model answered"
        assert await kept(g) == []
        assert await judge(g) == "rated: 1 fair"
        g.service.clock.forward(3 * 24 * 3_600)
        await over(g, "hello?")
        g.service.clock.forward(3 * 24 * 3_600)
        assert await judge(g) == "no conversation has ended", "what is too long ago is left"


async def test_words_that_go_take_the_judgement_along_and_it_is_made_anew(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        await over(g, "when is the match?", "no, that's wrong", place=ALONE)
        await judge(g)
        assert [row[0] for row in await kept(g)] == ["fair"]
        await g.service.heard(deleted(2, ALONE))
        assert await kept(g) == []


async def test_the_owners_report_counts_conversations_and_nobody_elses_does(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        await over(g, "when is the match?", "no, that's wrong")
        await judge(g)
        await g.keep("Tom, the stork, is back", "Tom the stork is back")
        await g.run()
        assert "Conversations in that week: 1 fair." in await g.report()
        bobs = replace(somebody(BOB.id), scope=Scope(HALL.audience))
        assert "Conversations" not in await g.report(bobs)
