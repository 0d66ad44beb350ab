"""What projects teach agents: kept by the tool, shown in later turns within the bound of facts, changed by people."""

from pathlib import Path

import pytest

from bot.agents.context.recalled_knowledge import PROJECTS_HEAD
from bot.errors import UserError
from bot.services.memory.projects import Projects
from bot.services.registry import Registry
from bot.services.results import Plain
from memory.people.audience import Trust
from memory.store.records import replace
from tests.bot.agents.context.test_context import newest
from tests.bot.agents.test_facts import shown
from tests.bot.parts import ANN, BOB, NOON, ScriptedModel, call, deleted, direct, results, said, says
from tests.bot.services.calling import registry, somebody
from tests.bot.stage import Service, Setting, talked

ISSUE = "No test for the empty list"
DONE = call("projects", "d", operation="done", text="A game of snake", tech="Three.js")
RATED = call("projects", "r", operation="rate", ratings={"visual": 2, "creativity": 5})
HERS = somebody(ANN.id, Trust.APPROVED)


FAILED = tuple(call("projects", name, operation="review", text=f"VERDICT: FAIL\n1. {ISSUE}") for name in "12")


def door(service: Service, ignored: bool = False) -> Registry:
    projects = Projects(service.database, service.approvals.people, service.clock)
    return registry(projects, people=service.approvals.people, ignored=ignored)


async def test_what_comes_up_again_is_shown_where_it_was_said_and_used_by_the_answer(tmp_path: Path) -> None:
    model = ScriptedModel(
        says("", FAILED[0], DONE, RATED), says("kept"), says("", FAILED[1]), says("again"), otherwise=says("ok")
    )
    async with talked(tmp_path, Setting(model), "the review failed; the game is done, visual is 2") as service:
        await service.heard(said("failed again", 2))
        await service.heard(said("let us begin another", 3, speaker=BOB))
        await service.heard(said("hello", 4, direct(BOB)))
        lines = [shown(newest(request), PROJECTS_HEAD) for request in service.model.requests]
        used = await service.column("SELECT DISTINCT row_id FROM turn_uses WHERE kind = 'message'")
        first = await service.column("SELECT id FROM messages WHERE content LIKE 'the review failed%'")
        assert str(first[0]) in used
    assert lines[0] == []
    assert lines[2] == [
        "- weak in the last projects, do better: visual",
        "- project rated creativity 5/5, visual 2/5: A game of snake (Three.js)",
    ]
    assert f"- found in 2 reviews: {ISSUE}" in lines[4]
    assert lines[5] == [], "who may not read the channel"


async def test_what_was_learned_goes_with_its_message(tmp_path: Path) -> None:
    model = ScriptedModel(says("", DONE, RATED), says("kept"), otherwise=says("ok"))
    async with talked(tmp_path, Setting(model), "the game is done") as service:
        assert await service.column("SELECT text FROM items") == ["A game of snake"]
        await service.heard(deleted(1))
        assert await service.column("SELECT text FROM items") == []


async def test_the_tool_refuses_what_says_nothing_and_lists_what_it_kept(tmp_path: Path) -> None:
    calls = (
        call("projects", "1", operation="rate", ratings={"visual": 9}),
        call("projects", "2", operation="prefer", text="dark colours"),
        call("projects", "3", operation="list"),
    )
    model = ScriptedModel(says("", *calls), says("ok"))
    async with talked(tmp_path, Setting(model), "colours") as service:
        (refused, ok), (kept, _), (listed, _) = results(service.model.requests[-1])
    assert not ok
    assert "give 1 to 5 points" in refused
    assert kept == "kept:\n- preferred for projects: dark colours"
    assert listed == "- preferred for projects: dark colours"


async def test_strangers_teach_nothing(tmp_path: Path) -> None:
    model = ScriptedModel(says("", DONE), says("ok"))
    async with talked(tmp_path, Setting(model), said("done", 1, speaker=replace(ANN, trust=Trust.STRANGER))) as service:
        assert await service.column("SELECT text FROM items WHERE kind = 'project'") == []
        with pytest.raises(UserError, match="approved"):
            await door(service).call("project.prefer", somebody(ANN.id), {"text": "three.js"})


async def test_people_tell_rate_and_forget_by_hand_what_is_theirs(service: Service) -> None:
    own, bobs = door(service), somebody(BOB.id, Trust.APPROVED)
    await own.call("project.done", HERS, {"text": "A game of snake"})
    (rated,) = (await own.call("project.rate", HERS, {"engagement": 4})).data()
    assert rated["ratings"] == {"engagement": 4}
    assert (await own.call("project.list", bobs, {})).data() == []
    with pytest.raises(UserError, match="There is no lesson"):
        await own.call("project.forget", bobs, {"which": rated["id"]})
    with pytest.raises(UserError, match="no finished project"):
        await own.call("project.rate", bobs, {"visual": 3})
    gone = await own.call("project.forget", HERS, {"which": rated["id"]})
    assert gone.data() == {"text": "Forgotten: A game of snake"}
    assert (await own.call("project.list", HERS, {})).data() == []
    with pytest.raises(UserError, match="You chose to have me neither keep nor answer what you say"):
        await door(service, ignored=True).call("project.prefer", HERS, {"text": "three.js"})


async def test_what_of_a_review_is_not_kept_is_said(tmp_path: Path) -> None:
    review = "1. No tests here\n2. meh"
    model = ScriptedModel(says("", call("projects", operation="review", text=review)), says("ok"))
    async with talked(tmp_path, Setting(model), said(review, 1)) as service:
        ((told, _),) = results(service.model.requests[-1])
        by_hand = await door(service).call("project.review", HERS, {"text": review})
    assert told.startswith("kept:\n- found in 1 review: No tests here\nnot kept: each finding must be numbered")
    assert told.endswith("\n- meh")
    lines = by_hand.terminal(Plain("UTC", NOON)).splitlines()
    assert [line.partition(" (")[0] for line in lines[:1] + lines[2:]] == ["Saved:", "Not saved", "- meh"]
    assert by_hand.aside(Plain("UTC", NOON)) == "", "it is said once"
