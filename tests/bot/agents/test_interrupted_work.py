"""Work that was cut off: what the agent is told when it goes on, or comes to the same place again."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.agents.context.interrupted_work import HEAD, TOKENS, recovery_text, state_of
from bot.agents.context.quotes import estimate_tokens
from memory.knowledge.sessions import Session
from memory.people.audience import Trust
from memory.queue.steps import CallDone, CallStarted, MessagesJoined, ModelAnswer, Step, StepBody, ToolCall, WorkState
from memory.store.ids import AgentId, MessageId, PlaceId, SessionId
from tests.bot.agents.context.test_context import newest
from tests.bot.parts import HALL, NOON, HeldReply, ScriptedModel, call, deleted, edited, said, says
from tests.bot.runtime.test_conversation import Bell
from tests.bot.stage import Service, Setting, crashed, running

WORKED = (
    "Redesigned the bar.\n- used tokens instead of colours\nTODO: add tests\nCommitted `ad8ed51` in web/src/Pane.tsx"
)


def step(seq: int, body: StepBody) -> Step:
    return Step(seq, body, NOON + timedelta(seconds=seq))


def answer(seq: int, text: str, *calls: tuple[str, str, str]) -> Step:
    return step(seq, ModelAnswer(text, tuple(ToolCall(*call) for call in calls)))


def given(seq: int, number: str, name: str, text: str = "", *, ok: bool = True) -> Step:
    return step(seq, CallDone(number, name, text, ok, None, Trust.SYSTEM))


def told(service: Service, number: int = -1) -> str:
    _, _, rest = newest(service.model.requests[number]).partition(f'<quoted from="{HEAD}">\n')
    return rest.partition("\n</quoted>")[0]


SESSION = Session(
    SessionId(1), AgentId("agt_1"), PlaceId("discord:1"), "drew the fence", (), (), (), (), 1, 1, HALL.audience,
    Trust.APPROVED, NOON, NOON,
)  # fmt: skip
STATE = state_of(
    "Optimize the pagination",
    [
        step(1, MessagesJoined(((MessageId(1), 1),))),
        answer(2, WORKED, ("a", "file", '{"operation": "read", "path": "docs/plan.md"}'), ("b", "bell", "{}")),
        given(3, "a", "file", "commit 0123456789abcdef"),
        step(4, CallStarted("b", "bell", effect=True)),
    ],
    "interrupted",
    NOON,
)


def test_a_work_state_is_what_the_steps_of_a_turn_say() -> None:
    assert STATE.summary == "Redesigned the bar.; used file (read)"
    assert STATE.unfinished == ("bell had begun, and nobody saw how it ended", "add tests")
    assert STATE.files == ("web/src/Pane.tsx", "docs/plan.md")
    assert STATE.commits == ("ad8ed51", "0123456789ab")
    assert (STATE.last_activity, STATE.at) == ("bell", NOON + timedelta(seconds=4))


@pytest.mark.parametrize("words", ["word " * 200, "緑茶を買う。" * 80, "x" * 900])
def test_the_text_stays_within_its_tokens_and_keeps_task_and_work(words: str) -> None:
    many = (words,) * 5
    state = WorkState("failed", words, words, many, many, many, many, many, words, NOON)
    text = recovery_text(state, SESSION)
    assert estimate_tokens(text) <= TOKENS
    assert [line.partition(":")[0] for line in text.splitlines()[1:3]] == ["- Task", "- Did"]
    assert text.endswith("ask when you are unsure of a detail.")


async def test_a_death_in_the_very_first_task_is_told_with_it(tmp_path: Path) -> None:
    held = HeldReply(says("lost"))
    platform = await crashed(tmp_path, Setting(ScriptedModel(held)), held.begun, "draw the fence")
    async with running(tmp_path, Setting(platform=platform)) as service:
        await service.settled()
        assert told(service).startswith("Your work here was interrupted")
        assert "- Task: draw the fence" in told(service)


async def test_what_was_taken_back_is_not_repeated(tmp_path: Path) -> None:
    held, bell = HeldReply(says("lost")), Bell()
    model = ScriptedModel(says("The diamond.", call("bell", word="diamond")), held, says("hm"))
    async with running(tmp_path, Setting(model, tools=[bell])) as service:
        service.hear(said("buy the diamond", 1))
        await held.begun.wait()
        await service.heard(deleted(1))
        await service.heard(said("hello", 2))
        text = told(service)
    assert "diamond" not in text
    assert "Your work here was canceled" in text
    assert "- Task: it was taken back\n- Did: used bell" in text


async def test_a_turn_that_goes_on_is_not_told_words_that_were_changed_since(tmp_path: Path) -> None:
    held, again, bell = HeldReply(says("lost")), HeldReply(says("lost")), Bell()
    first = ScriptedModel(says("", call("bell", word="one")), held)
    platform = await crashed(tmp_path, Setting(first, tools=[bell]), held.begun, "buy the diamond")
    second = ScriptedModel(again, says("A stone, then."))
    async with running(tmp_path, Setting(second, platform=platform, tools=[bell])) as service:
        await again.begun.wait()
        assert "- Task: buy the diamond" in told(service)
        await service.heard(edited("buy a stone", 1))
        assert "diamond" not in repr(second.requests[-1])
        assert platform.texts() == ["A stone, then."]
