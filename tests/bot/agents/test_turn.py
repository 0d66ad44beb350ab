"""Turns whose words change, and turns that a death interrupted."""

import asyncio
import time
from pathlib import Path

import pytest

from bot.agents.budgets import Budgets
from bot.agents.context.quotes import say
from bot.agents.mcp import Servers
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.tools.base import Arguments, Outcome, StoreTool, ToolContext
from bot.agents.turn_deps import Limits
from bot.agents.turn_events import TextChunk
from bot.config.values import OFFLINE
from bot.models import normalization
from bot.models.base import Answer, AssistantMessage, Call, Request, Trouble, UserMessage
from bot.runtime.turn_retries import GIVEN_UP
from memory.agents import Agent
from memory.queue.inbox import Status
from memory.queue.notifications import Place
from memory.store.database import Tx
from memory.store.records import replace
from tests.bot.agents.context.test_context import newest
from tests.bot.parts import (
    ANN,
    HALL,
    OLGA,
    HeldReply,
    MovableClock,
    Platform,
    ScriptedModel,
    call,
    deleted,
    direct,
    edited,
    results,
    said,
    says,
    texts,
    thread_in_public,
)
from tests.bot.runtime.test_conversation import Bell, states, steps
from tests.bot.stage import Setting, crashed, private_place, running, talked, until

PUT_OFF = "SELECT 1 FROM inbox WHERE status = 'received' AND next_attempt_at IS NOT NULL"


def notes(request: Request) -> list[str]:
    """What the system told the model in passing."""
    told = [message.text for message in request.messages if isinstance(message, UserMessage) and not message.said]
    return [text.removeprefix("[system] ") for text in told if text.startswith("[system] ")]


def edited_to(words: str) -> str:
    quoted = f'<quoted from="Ann">\n{words}\n</quoted>'
    return f"Ann edited a message of this turn meanwhile. It now says:\n{quoted}"


# ----------------------------------------------------------------------------------------------- edits and deletions


async def test_a_turn_begins_again_twice_at_most_and_then_the_edit_is_told(tmp_path: Path) -> None:
    held = [HeldReply(says(f"to {n}")) for n in range(3)]
    model = ScriptedModel(*held, says("To the last words."))
    async with running(tmp_path, Setting(model)) as service:
        service.hear(said("0", 1))
        for number, each in enumerate(held, 1):
            await each.begun.wait()
            service.hear(edited(str(number), 1, after=number))
        await service.settled()
        assert service.platform.texts() == ["To the last words."]
        assert await service.column("SELECT restarts FROM turns") == [2]
    assert notes(model.requests[3]) == [edited_to("3")]


async def test_somebody_who_goes_on_editing_does_not_have_the_model_called_without_end(tmp_path: Path) -> None:
    held = [HeldReply(says(f"to {n}")) for n in range(7)]
    model = ScriptedModel(*held)
    async with running(tmp_path, Setting(model)) as service:
        service.hear(said("0", 1))
        for number in range(1, 10):
            await held[min(number, 6) - 1].begun.wait()
            service.hear(edited(str(number), 1, after=number))
            await service.stored()
        held[5].free.set()
        await service.settled()
        assert service.platform.texts() == ["to 5"]
    assert len(model.requests) == 6


async def test_an_edit_after_a_tool_had_its_effect_is_told_and_not_done_again(tmp_path: Path) -> None:
    bell, held = Bell(), HeldReply(says("To the old words."))
    model = ScriptedModel(says("", call("bell", word="x")), held, says("I rang for the old words."))
    async with running(tmp_path, Setting(model, tools=[bell])) as service:
        service.hear(said("old", 1))
        await held.begun.wait()
        await service.heard(edited("new", 1))
        assert service.platform.texts() == ["I rang for the old words."]
    assert bell.rung == ["x"]
    assert notes(model.requests[2]) == [edited_to("new")]


async def test_lines_that_only_the_platform_writes_are_neither_shown_nor_sent(tmp_path: Path) -> None:
    model = ScriptedModel(says("[now in #general; your answer is heard by: everybody]\nHello!"))
    async with talked(tmp_path, Setting(model), "hi") as service:
        assert service.platform.texts() == ["Hello!"]
        assert [event.text for event in service.events if isinstance(event, TextChunk)] == ["Hello!"]


async def test_a_deletion_ends_the_turn_without_a_word_if_nothing_was_said(tmp_path: Path) -> None:
    held = HeldReply(says("Too late."))
    async with running(tmp_path, Setting(ScriptedModel(held))) as service:
        service.hear(said("secret words", 1))
        await held.begun.wait()
        await service.heard(deleted(1))
        assert (service.platform.sends, await states(service)) == ([], ["done"])
        assert await service.column("SELECT status FROM turns") == ["cancelled"]
        assert await service.column("SELECT content FROM messages") == [""]
        assert await steps(service) == []


async def test_of_two_messages_one_may_be_deleted_and_the_other_is_answered(tmp_path: Path) -> None:
    held = [HeldReply(says("x")), HeldReply(says("To both."))]
    model = ScriptedModel(*held, says("To the first."))
    async with running(tmp_path, Setting(model)) as service:
        service.hear(said("one", 1))
        await held[0].begun.wait()
        service.hear(said("two", 2))
        await service.router.taken_in(30)
        held[0].free.set()
        await held[1].begun.wait()
        await service.heard(deleted(2))
        assert service.platform.texts() == ["To the first."]
    assert texts(model.requests[2]) == ["one"]


# -------------------------------------------------------------------------------------------------- after a death


@pytest.mark.parametrize("tool", ["recall", "archival_search"], ids=["ours", "an alias"])
async def test_arguments_that_a_model_nests_without_end_are_wrong_and_its_turn_goes_on(
    tmp_path: Path, tool: str
) -> None:
    nested = says("", Call("one", tool, '{"query": ' + "[" * 5_000))
    async with running(tmp_path, Setting(ScriptedModel(nested, says("Here."), says("Still here.")))) as service:
        await service.heard(said("look", 1))
        await service.heard(said("and now?", 2))
        assert service.platform.texts() == ["Here.", "Still here."]
        assert results(service.model.requests[1])[0][0].startswith("The arguments of recall are wrong")
        assert {normalization.arguments(each.arguments) for each in made(service.model.requests[2])}


async def test_of_very_many_calls_in_one_answer_the_first_are_made(tmp_path: Path) -> None:
    many = says("", *(call("send_message", str(n), target_type="person", content="Hello!") for n in range(100)))
    async with running(tmp_path, Setting(ScriptedModel(many, says("Done.")))) as service:
        await service.heard(said("greet me", 1))
        assert service.platform.texts(private_place(ANN.id)) == ["Hello!"] * 64
        assert len(made(service.model.requests[1])) == len(results(service.model.requests[1])) == 64
        assert [each["left_out"] for each in service.logs if each["event"] == "too_many_calls"] == [36]


def made(request: Request) -> list[Call]:
    """The calls that a request shows."""
    return [call for each in request.messages if isinstance(each, AssistantMessage) for call in each.calls]


async def test_a_turn_goes_on_at_its_last_stored_step(tmp_path: Path) -> None:
    bell, held = Bell(), HeldReply(says("lost"))
    first = ScriptedModel(says("", call("bell", word="one")), held)
    platform = await crashed(tmp_path, Setting(first, tools=[bell]), held.begun)
    second = ScriptedModel(says("It rang."))
    async with running(tmp_path, Setting(second, platform=platform, tools=[bell])) as service:
        await service.settled()
        assert service.platform.texts() == ["It rang."]
        assert await service.column("SELECT count(*) FROM turns") == [1]
    assert bell.rung == ["one"]
    assert second.requests[0].messages[1:] == first.requests[1].messages[1:]
    assert "Your work here was interrupted" in newest(second.requests[0])
    assert "was interrupted" not in newest(first.requests[1])
    assert len(second.requests) == 1


async def test_a_turn_that_an_earlier_version_began_goes_on_and_begins_again_with_an_edit(tmp_path: Path) -> None:
    def as_it_was(tx: Tx) -> None:
        """Its messages were its first step."""
        tx.run("""INSERT INTO turn_steps SELECT id, 1, 'joined', json_object('v', 1, 'messages', json(heard)), audience,
                  started_at FROM turns""")
        tx.run("UPDATE turns SET heard = '[]'")

    lost, held = HeldReply(says("lost")), HeldReply(says("To the old words."))
    async with running(tmp_path, Setting(ScriptedModel(lost))) as service:
        service.hear(said("old words", 1))
        await lost.begun.wait()
        await service.write(as_it_was)
        service.crash()
    model = ScriptedModel(held, says("To the new words."))
    async with running(tmp_path, Setting(model, platform=service.platform)) as service:
        await held.begun.wait()
        assert "Your work here was interrupted" in newest(model.requests[0])
        assert await service.column("SELECT seq FROM turn_steps") == [1, 2]
        await service.heard(edited("new words", 1))
        assert (service.platform.texts(), await steps(service)) == (["To the new words."], [])
        assert await service.column("SELECT restarts FROM turns") == [1]


@pytest.mark.parametrize("idempotent", [False, True])
async def test_a_call_whose_end_nobody_saw_is_made_again_only_if_it_may_be(tmp_path: Path, idempotent: bool) -> None:
    hanging = Bell(hang=True, idempotent=idempotent)
    model = ScriptedModel(says("", call("bell", word="one")))
    platform = await crashed(tmp_path, Setting(model, tools=[hanging]), hanging.begun)
    bell, after = Bell(idempotent=idempotent), ScriptedModel(says("Well."))
    async with running(tmp_path, Setting(after, platform=platform, tools=[bell])) as service:
        await service.settled()
    ((text, ok),) = results(after.requests[0])
    assert (bell.rung, ok) == ((["one"], True) if idempotent else ([], False))
    assert idempotent or text.startswith("The call was interrupted and nobody knows whether it took effect.")


async def test_a_stored_answer_is_sent_without_asking_the_model_again(tmp_path: Path) -> None:
    """The process dies after the turn is over and before anything was sent."""
    sending = asyncio.Event()

    class Dead(Platform):
        async def send(self, delivery: object) -> str:
            sending.set()
            return await asyncio.Future()

    setting = Setting()
    setting.platform = Dead(setting.clock)
    await crashed(tmp_path, setting, sending)
    model = ScriptedModel()
    async with running(tmp_path, Setting(model)) as service:
        await service.settled()
        assert service.platform.texts() == ["Yes."]
    assert model.requests == []


async def test_tries_that_end_with_the_process_count_and_a_deadly_message_is_given_up(tmp_path: Path) -> None:
    """Five tries as ever, and two more after a healthy while each, since it may have been no fault of the message.

    The first life is only a start: that its try came to a model is stored with the answer.
    """
    clock = MovableClock()
    platform = Platform(clock)
    for life in range(8):
        clock.forward(7_200)
        held = HeldReply(says("x"))
        async with running(tmp_path, Setting(ScriptedModel(held), platform=platform, clock=clock)) as service:
            service.hear(said("deadly", 1))
            if life >= 6:
                await until(lambda: service.column(PUT_OFF))
                clock.forward(7_200)
                service.resume()
            await held.begun.wait()
            service.crash()
    model = ScriptedModel()
    clock.forward(7_200)
    async with running(tmp_path, Setting(model, platform=platform, clock=clock)) as service:
        await service.settled()
        assert await states(service) == [Status.DEAD]
        assert service.platform.texts() == [GIVEN_UP]
    assert model.requests == []


async def test_an_orderly_stop_lets_the_turn_reach_a_stored_step_and_no_further(tmp_path: Path) -> None:
    held, bell = HeldReply(says("", call("bell"))), Bell()
    model = ScriptedModel(held)
    async with running(tmp_path, Setting(model, tools=[bell])) as service:
        service.hear(said("ring", 1))
        await held.begun.wait()
        asyncio.get_running_loop().call_later(0.05, held.free.set)
    assert (bell.rung, len(model.requests)) == ([], 1)
    async with running(tmp_path, Setting(ScriptedModel(says("Rang.")), tools=[bell])) as service:
        await service.settled()
        assert service.platform.texts() == ["Rang."]
    assert bell.rung == [""]


class Sluggish(StoreTool[Arguments]):
    """A tool that writes memory, on a slow disk."""

    name = "sluggish"
    description = "Writes."
    arguments: type[Arguments] = Arguments
    caution = Caution()

    def work(self, tx: Tx, _context: ToolContext, _arguments: Arguments) -> Outcome:
        time.sleep(0.15)
        return Outcome(say("written"))


async def test_a_result_that_comes_in_the_moment_its_call_is_given_up_is_the_only_one(tmp_path: Path) -> None:
    model = ScriptedModel(says("", call("sluggish")), says("Done."))
    limits = Limits(max_steps=6, tool_seconds=0.05)
    async with running(tmp_path, Setting(model, tools=[Sluggish()], limits=limits)) as service:
        await service.heard(said("write", 1))
    assert results(model.requests[1]) == [("written", True)]


# ------------------------------------------------------------------------------- when no language model answers

REFUSED = replace(
    says("Noted. Sorry, only simple answers now."), model=OFFLINE, degraded="a:b: 401", trouble=Trouble.KEY
)
WITHHELD = replace(says(""), finish="filter")


@pytest.mark.parametrize(
    ("answer", "apology", "place", "read"),
    [
        (REFUSED, None, HALL, [REFUSED.text]),
        (REFUSED, None, thread_in_public("square"), []),
        (REFUSED, "", HALL, []),
        (REFUSED, "Not now.", HALL, ["Not now."]),
        (REFUSED, "Not now.", thread_in_public("square"), ["Not now."]),
        (REFUSED, "Not now.", direct(ANN), ["Not now."]),
        (REFUSED, None, direct(ANN), [REFUSED.text]),
        (WITHHELD, None, HALL, ["Sorry, I can't answer this."]),
        (WITHHELD, "", HALL, []),
    ],
)
async def test_others_read_no_more_than_an_apology_and_the_owner_the_reason_once_an_hour(
    tmp_path: Path, answer: Answer, apology: str | None, place: Place, read: list[str]
) -> None:
    async with running(tmp_path, Setting(ScriptedModel(otherwise=answer), apology=apology)) as service:
        for number in range(1, 4):
            await service.heard(said("hello", number, place))
            service.clock.forward(1_500)
        assert service.platform.texts(place.id) == read * 3
        await service.heard(said("hello", 4, place))
        told = await service.column("SELECT content FROM outbox WHERE key LIKE 'notice/trouble/%'")
        assert len(told) == 2
        assert all((answer.degraded or "withheld") in each and REFUSED.text not in each for each in told)


async def test_the_owner_alone_reads_the_answer_itself_with_the_reason_once_a_day_and_no_notice_of_it(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(replace(REFUSED, text="My key for `a:b` is refused."), otherwise=REFUSED)
    async with running(tmp_path, Setting(model, apology="", budgets=Budgets(default_model="a:b"))) as service:
        for number, hours in enumerate((1, 30, 1), 1):  # the first says it itself
            await service.heard(said("hello", number, direct(OLGA), OLGA))
            service.clock.forward(hours * 3_600)
        told = f"{REFUSED.text}\n(No language model answered: a:b: 401.)"
        assert service.platform.texts(direct(OLGA).id) == ["My key for `a:b` is refused.", REFUSED.text, told]
        assert await service.column("SELECT key FROM outbox WHERE key LIKE 'notice/trouble/%'") == []


class LateServers(Servers):
    """Servers whose tools are known only when `go` is set."""

    def __init__(self) -> None:
        self.awaited, self.go = asyncio.Event(), asyncio.Event()
        self.go.set()

    async def ready(self, _agent: Agent, _call: str) -> None:
        self.awaited.set()
        await self.go.wait()


async def test_what_is_deleted_while_tools_are_awaited_is_shown_to_no_model(tmp_path: Path) -> None:
    servers, model = LateServers(), ScriptedModel(says("Kept."), says("Hello."))
    async with talked(tmp_path, Setting(model, mcp=servers), "the code is elm-4711") as service:
        servers.go.clear()
        servers.awaited.clear()
        service.hear(said("hello", 2))
        await servers.awaited.wait()
        service.hear(deleted(1))
        await service.stored()
        assert await service.column("SELECT 1 FROM messages WHERE external_id = '1' AND content = ''")
        servers.go.set()
        await service.settled()
    (asked,) = [str(each) for each in model.requests if "hello" in str(each)]
    assert "elm-4711" not in asked
