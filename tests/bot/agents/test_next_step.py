"""What a turn does next, as a pure function: a table of cases, and rules that hold whatever happens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agents.context.prompt import PromptInputs, PromptMessage
from bot.agents.next_step import CallModel, CallTool, Cancel, Finish, NextStep, Restart, next_step, wordings
from bot.models.base import Call
from memory.agents import Agent
from memory.people.audience import Scope, Trust, guild_audience
from memory.queue.payloads import Extras
from memory.queue.steps import (
    CallDone,
    CallEnded,
    CallStarted,
    MessagesJoined,
    ModelAnswer,
    Note,
    Step,
    StepBody,
    ToolCall,
)
from memory.queue.turns import Turn
from memory.store.ids import AgentId, GuildId, MessageId, PlaceId, TurnId
from memory.store.records import replace
from tests.bot.parts import ANN, NOON
from tests.memory.parts import a_message

GUILD = guild_audience(GuildId("discord:guild"))
AGENT = Agent(AgentId("agt"), "Carina", "", "", "", ())
TURN = Turn(TurnId(1), AGENT.id, None, PlaceId("discord:hall"), ANN.id, Scope(GUILD), Trust.APPROVED, (), 0, NOON)
MOST = 4


def message(number: int = 1, revision: int = 0, *, gone: bool = False) -> PromptMessage:
    text, deleted = ("", NOON) if gone else (f"words {revision}", None)
    found = a_message(number, place=TURN.place, audience=GUILD, text=text, revision=revision, deleted_at=deleted)
    return PromptMessage(found, Extras())


def step(body: StepBody) -> Step:
    return Step(0, body, NOON)


JOINED = step(MessagesJoined(((MessageId(1), 0),)))


def answer(text: str = "", *calls: str) -> Step:
    return step(ModelAnswer(text, tuple(ToolCall(each, "bell", "{}") for each in calls), "m", "stop"))


def result(call: str, *, effect: bool = False) -> Step:
    return step(CallDone(call, "bell", "rang", True, None, Trust.SYSTEM, effect))


def material(*steps: Step, asked: tuple[PromptMessage, ...] = (message(),), restarts: int = 0) -> PromptInputs:
    numbered = tuple(replace(each, seq=number) for number, each in enumerate(steps, 1))
    turn = replace(TURN, restarts=restarts)
    return PromptInputs(turn, AGENT, asked, numbered)


def move(
    *steps: Step, said: bool = False, asked: tuple[PromptMessage, ...] = (message(),), restarts: int = 0
) -> NextStep:
    return next_step(material(*steps, asked=asked, restarts=restarts), said=said, max_steps=MOST)


def use(call: str, *, begun: bool = False) -> CallTool:
    return CallTool(Call(call, "bell", "{}"), begun)


def noted(text: str) -> Note:
    return Note(text, ((MessageId(1), 1),))


EDITED = (message(revision=1),)
GONE = (message(revision=1, gone=True),)
BEGUN = step(CallStarted("a", "bell", effect=True))
TOLD = 'Ann edited a message of this turn meanwhile. It now says:\n<quoted from="Ann">\nwords 1\n</quoted>'
TAKEN_BACK = "Ann deleted a message of this turn meanwhile: do not use or repeat it."


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (move(JOINED), CallModel(last=False)),
        (move(JOINED, answer("hi")), Finish("hi")),
        (move(JOINED, answer("")), Finish("")),
        (move(JOINED, answer("", "a", "b")), use("a")),
        (move(JOINED, answer("", "a", "b"), result("a")), use("b")),
        (move(JOINED, answer("", "a"), BEGUN), use("a", begun=True)),
        (move(JOINED, answer("", "a"), BEGUN, result("a")), CallModel(last=False)),
        (move(JOINED, answer("hi"), JOINED), CallModel(last=False)),
        (move(JOINED, *[answer("", "a"), result("a")] * (MOST - 2)), CallModel(last=False)),
        (move(JOINED, *[answer("", "a"), result("a")] * (MOST - 1)), CallModel(last=True)),
        (move(JOINED, *[answer("so far", "a"), result("a")] * MOST), Finish("so far")),
    ],
)
def test_a_turn_thinks_uses_its_tools_in_order_and_finishes(found: NextStep, expected: NextStep) -> None:
    assert found == expected


def test_a_turn_that_never_answers_says_so_in_the_end() -> None:
    found = move(JOINED, *[answer("", "a"), result("a")] * MOST)
    assert isinstance(found, Finish)
    assert found.text.startswith(f"I reached my limit on steps ({MOST})")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (move(JOINED, asked=EDITED), Restart()),
        (move(JOINED, answer("hi"), asked=EDITED), Restart()),
        (move(JOINED, answer("", "a"), result("a"), asked=EDITED, restarts=1), Restart()),
        (move(JOINED, asked=EDITED, restarts=2), noted(TOLD)),
        (move(JOINED, asked=EDITED, said=True), noted(TOLD)),
        (move(JOINED, answer("", "a"), result("a", effect=True), asked=EDITED), noted(TOLD)),
        (move(JOINED, answer("", "a"), BEGUN, result("a"), asked=EDITED), noted(TOLD)),
        (move(JOINED, answer("", "a", "b"), result("a", effect=True), asked=EDITED), use("b")),
        (move(JOINED, asked=GONE), Cancel()),
        (move(JOINED, answer("", "a"), result("a", effect=True), asked=GONE), Cancel()),
        (move(JOINED, answer("hi"), asked=GONE, said=True), noted(TAKEN_BACK)),
        (move(JOINED, asked=(*GONE, message(2))), Restart()),
    ],
)
def test_words_that_change_begin_it_again_or_are_told_or_end_it(found: NextStep, expected: NextStep) -> None:
    assert found == expected


events = st.lists(
    st.tuples(st.sampled_from(["", "", "", "edit", "delete", "join", "crash"]), st.integers(0, 3), st.booleans()),
    max_size=30,
)


@given(events, st.integers(1, MOST))
def test_whatever_happens_a_turn_ends_and_every_call_has_its_result_before_the_next_request(
    script: list[tuple[str, int, bool]], most: int
) -> None:
    """Play a turn: the model calls some tools, words change and more arrive, tools are interrupted."""
    asked, steps, restarts, thought = [message()], [JOINED], 0, 0
    script = [*script, *[("", 0, False)] * 40]
    for what, calls, effect in script:
        if what == "edit":
            asked[-1] = message(asked[-1].message.id, asked[-1].message.revision + 1)
        if what == "delete" and len(asked) > 1:
            asked[-1] = message(asked[-1].message.id, asked[-1].message.revision + 1, gone=True)
        found = material(*steps, asked=tuple(asked), restarts=restarts)
        match next_step(found, said=False, max_steps=most):
            case CallModel(last):
                thought += 1
                answers = [each.body for each in steps if isinstance(each.body, ModelAnswer)]
                open_calls = {call.id for each in answers for call in each.calls}
                assert open_calls <= {each.body.call for each in steps if isinstance(each.body, CallEnded)}
                assert last == (len(answers) == most - 1)
                names = [] if last else [f"{thought}.{n}" for n in range(calls)]
                steps.append(answer("" if names else "done", *names))
            case CallTool(call, begun):
                if what == "crash" and not begun:
                    steps.append(step(CallStarted(call.id, "bell", effect)))
                else:
                    steps.append(result(call.id, effect=effect))
            case Restart():
                restarts += 1
                steps = [step(MessagesJoined(wordings(found)))]
            case Note() as note:
                steps.append(step(note))
            case Finish() if what == "join" and len(asked) < 4:
                if sum(isinstance(each.body, ModelAnswer) for each in steps) >= most:
                    return
                asked.append(message(len(asked) + 1))
                steps.append(step(MessagesJoined(((MessageId(len(asked)), 0),))))
            case Finish() | Cancel():
                assert restarts <= 2
                return
    raise AssertionError("the turn never ended")
