"""How far a group has come, in words; and when the message that says so goes."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.agents.turn_events import AgentStarted, OfMember, TextChunk, TurnStarted
from bot.runtime import previews as shown
from bot.runtime.previews import Previews, Progress, progress_words
from memory.group_runs import Part, Run
from memory.store.ids import AgentId, GroupId, TurnId
from memory.store.records import asdict
from tests.bot.agents.groups.parts import Cast, group, stages
from tests.bot.parts import ANN, HALL, HeldReply, said, says
from tests.bot.stage import Setting, running, until
from texts import speaking

NAMES = {AgentId(name.lower()): name for name in ("Ant", "Bee", "Cat")}
TWO_STAGES = {"stages": [{"name": "draft", "agents": ["ant"]}, {"name": "final", "agents": ["bee"]}]}


def part(agent: str, kind: str, status: str, *, stage: int = 0, attempt: int = 1) -> Part:
    made = Part(TurnId(len(agent)), TurnId(1), TurnId(1), AgentId(agent), "answer", stage, attempt)
    return Part(**{**asdict(made), "kind": kind, "status": status, "output": "a secret"})


def words(pattern: str, settings: Mapping[str, object], *parts: Part) -> list[str]:
    run = Run(TurnId(1), GroupId("team"), pattern, settings, conducted=True)
    return progress_words(run, "Team", parts, NAMES, {each.turn: "words" for each in parts}).splitlines()


def test_stages_are_counted_and_named_and_a_second_try_is_said() -> None:
    first = part("ant", "stage", "late")
    again = part("ant", "stage", "done", attempt=2)
    final = part("bee", "stage", "running", stage=1)
    assert words("pipeline", TWO_STAGES, first, again, final) == [
        "Team is working on this: stage 2 of 2.",
        "✗ Ant: draft",
        "✓ Ant: draft (attempt 2)",
        "… Bee: final",
        "> words",  # the last stage's words are the answer; those of the stages before are not for people
    ]


def test_of_stages_side_by_side_those_are_counted_that_are_over() -> None:
    together = {**TWO_STAGES, "parallel_stages": True}
    draft, final = part("ant", "stage", "running"), part("bee", "stage", "done", stage=1)
    assert words("pipeline", together, draft, final) == [
        "Team is working on this: 1 of 2 stages done.",
        "… Ant: draft",
        "> words",  # all of them are the answer
        "✓ Bee: final",
    ]


def test_who_chose_is_not_counted_with_those_who_answer_nor_is_who_only_listens() -> None:
    parts = part("ant", "choice", "done"), part("bee", "answer", "running"), part("cat", "observe", "running")
    assert words("dynamic", {}, parts[0]) == ["Team is working on this: choosing who answers.", "✓ Ant"]
    assert words("dynamic", {}, *parts) == ["Team is working on this: 0 of 1 answer done.", "✓ Ant", "… Bee", "> words"]
    assert words("dynamic", {}, parts[2]) == []
    with speaking("de"):
        assert words("dynamic", {}, *parts)[0] == "Team arbeitet daran: 0 von 1 Antwort fertig."


GONE = "SELECT 1 FROM outbox WHERE kind = 'preview' AND status = 'withdrawn'"


async def test_the_message_goes_after_the_answer_also_under_agents_names(tmp_path: Path) -> None:
    held = HeldReply(says("a draft"))
    cast = Cast(Bee=["the answer"])
    cast.replies.append(held)
    table = stages(("draft", "Ant", ""), ("final", "Bee", ""))
    async with running(tmp_path, Setting(cast, toml=table)) as service:
        service.hear(said("hello", 1))
        await held.begun.wait()
        (turn,) = await service.column("SELECT turn_id FROM group_runs")
        shown = await service.runtime.preview(turn, HALL.id, "Team is working", progress=True)
        assert await service.runtime.preview(turn, HALL.id, "other words", progress=True) == shown
        assert service.platform.texts() == ["Team is working"]
        held.free.set()
        await service.settled()
        await until(lambda: service.column(GONE))
        assert service.platform.texts() == ["the answer"]
        assert await service.runtime.preview(turn, HALL.id, "too late", progress=True) == ""


async def test_a_named_member_is_shown_as_it_writes_in_a_message_that_goes_after_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "BEGIN_SECONDS", 0.0)
    held = HeldReply(says("the whole answer"))
    cast = Cast()
    cast.replies.append(held)
    async with running(tmp_path, Setting(cast, toml=group("round_robin", ""))) as service:
        service.hear(said("hello", 1))
        await held.begun.wait()
        (turn,) = await service.column("SELECT turn_id FROM group_runs")
        previews = Previews(service.runtime, service.runtime._supervisor)
        previews(TextChunk(turn, HALL.id, "the whole"))
        await until(lambda: service.platform.texts() == ["Ant: the whole …"])
        held.free.set()
        await service.settled()
        await until(lambda: service.column(GONE))
        assert service.platform.texts() == ["the whole answer"]


async def test_of_words_that_are_too_long_for_one_message_the_beginning_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "RUN_BEGIN_SECONDS", 0.0)
    held = HeldReply(says("the whole answer"))
    cast = Cast()
    cast.replies.append(held)
    setting = Setting(cast, toml=stages(("whole", "Ant", "")), languages={ANN.id: "de"})
    async with running(tmp_path, setting) as service:
        service.hear(said("hello", 1))
        await held.begun.wait()
        (turn,) = await service.column("SELECT turn_id FROM group_runs")
        (member,) = await service.column("SELECT id FROM turns WHERE parent_id IS NOT NULL")
        service.platform.max_length = 60
        progress = Progress(service.runtime, service.runtime._supervisor)
        progress(TurnStarted(turn, HALL.id))
        progress(OfMember(member, HALL.id, TextChunk(member, HALL.id, "word " * 50)))
        progress(AgentStarted(turn, HALL.id, "Ant"))
        await until(lambda: any(len(text) == 60 and "Stufe 1" in text for text in service.platform.texts()))
        held.free.set()
        await service.settled()
