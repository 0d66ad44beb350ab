"""Turns from end to end: tools, failures, limits, what arrives meanwhile, and going on after a death."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.agents.context.quotes import say
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.tools.base import Arguments, Outcome, OutsideTool, ToolContext
from bot.agents.turn_deps import Limits
from bot.agents.turn_events import ToolCallCompleted
from bot.errors import ToolError
from bot.models.base import Answer, Call, Request, ToolMessage
from bot.runtime.turn_retries import GIVEN_UP, RetryPolicy
from memory.store import database
from memory.store.database import Database
from memory.store.records import replace
from memory.store.sqlite import Connection
from tests.bot.parts import ANN, BOB, NOON, HeldReply, ScriptedModel, call, results, said, says, texts
from tests.bot.stage import AT_ONCE, OWNERS_PLACE, Service, Setting, running, until
from texts import _, speaking


class Word(Arguments):
    word: str = ""


class Bell(OutsideTool[Word]):
    name = "bell"
    description = "Rings."
    arguments: type[Arguments] = Word
    caution = Caution()

    def __init__(self, *, idempotent: bool = False, hang: bool = False, fails: bool = False) -> None:
        self.idempotent = idempotent
        self.hang = hang
        self.fails = fails
        self.rung: list[str] = []
        self.begun = asyncio.Event()

    async def run(self, _context: ToolContext, arguments: Word) -> Outcome:
        self.rung.append(arguments.word)
        self.begun.set()
        if self.hang:
            await asyncio.Event().wait()
        if self.fails:
            raise ToolError("The bell is broken.")
        return Outcome(say("rang {word}", word=arguments.word), {"word": arguments.word})


async def steps(service: Service) -> list[str]:
    return await service.column("SELECT kind FROM turn_steps ORDER BY turn_id, seq")


async def states(service: Service) -> list[str]:
    return await service.column("SELECT status FROM inbox WHERE kind = 'message' ORDER BY id")


# -------------------------------------------------------------------------------------------------------------- tools


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (Call("x", "whistle", "{}"), "There is no tool 'whistle'. The tools are: bell, bluesky, "),
        (
            Call("x", "bell", '{"wrod": "one"}'),
            "The arguments of bell are wrong: wrod: there is no such argument; there are word.",
        ),
        (Call("x", "bell", '{"word": '), "The arguments of bell are wrong"),
        (Call("x", "bell", "[]"), "The arguments of bell are wrong"),
        (Call("x", "recall", '{"operation": "insert"}'), "insert needs content"),
        (Call("x", "bell", '{"word": "x"}'), "The bell is broken."),
        (Call("x", "context", '{"operation": "append", "label": "nose", "content": "x"}'), "no block “nose” here"),
    ],
)
async def test_a_call_that_cannot_be_made_is_told_to_the_model_and_the_turn_goes_on(
    tmp_path: Path, made: Call, told: str
) -> None:
    model = ScriptedModel(says("", made), says("Sorry."))
    async with running(tmp_path, Setting(model, tools=[Bell(fails=True)])) as service:
        await service.heard(said("ring", 1))
        assert service.platform.texts() == ["Sorry."]
        completed = [event.ok for event in service.events if isinstance(event, ToolCallCompleted)]
    ((text, ok),) = results(model.requests[1])
    assert told in text
    assert not ok
    assert completed == [False]


async def test_a_tool_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    model = ScriptedModel(says("", call("bell")), says("It hangs."))
    limits = Limits(max_steps=6, tool_seconds=0.05)
    async with running(tmp_path, Setting(model, tools=[Bell(hang=True)], limits=limits)) as service:
        await service.heard(said("ring", 1))
    assert results(model.requests[1]) == [("bell took longer than 0.05 seconds and was stopped.", False)]


async def test_a_model_that_loops_on_tools_is_stopped_and_told_before(tmp_path: Path) -> None:
    bell = Bell()
    model = ScriptedModel(otherwise=says("", call("bell", word="again")))
    async with running(tmp_path, Setting(model, tools=[bell], limits=Limits(max_steps=3))) as service:
        await service.heard(said("ring", 1))
        assert service.platform.texts() == [
            "I reached my limit on steps (3) without an answer. Ask me again, perhaps in smaller parts."
        ]
    assert (len(model.requests), len(bell.rung)) == (3, 2)
    assert [bool(request.tools) for request in model.requests] == [True, True, False]


async def test_calls_with_ids_that_repeat_or_are_missing_still_find_their_results(tmp_path: Path) -> None:
    same = says(
        "", Call("same", "bell", '{"word": "1"}'), Call("same", "bell", '{"word": "2"}'), Call("", "bell", "{}")
    )
    model = ScriptedModel(same, says("", Call("same", "bell", '{"word": "3"}')), says("Done."))
    bell = Bell()
    async with running(tmp_path, Setting(model, tools=[bell])) as service:
        await service.heard(said("ring", 1))
    assert bell.rung == ["1", "2", "", "3"]
    ids = [message.call_id for message in model.requests[2].messages if isinstance(message, ToolMessage)]
    assert len(set(ids)) == 4


async def test_a_secret_is_taken_out_of_everything_that_is_stored_or_said(tmp_path: Path) -> None:
    secret = "sk-very-secret-token"
    leaking = says(f"I know {secret}", call("bell", word=secret), call("recall", operation="insert", content=secret))

    class Leaking(Bell):
        async def run(self, _context: ToolContext, arguments: Word) -> Outcome:
            return Outcome(say("it is {secret}", secret=secret), {"key": [secret]})

    held = HeldReply(says(f"Here: {secret}"))
    setting = Setting(
        ScriptedModel(leaking, held), tools=[Leaking()], redact=lambda text: text.replace(secret, "[secret]")
    )
    async with running(tmp_path, setting) as service:
        service.hear(said(f"tell me of {secret}", 1))
        await held.begun.wait()
        assert [body for body in await service.column("SELECT body FROM turn_steps") if secret in body] == []
        held.free.set()
        await service.settled()
        assert service.platform.texts() == ["Here: [secret]"]
        stored = await service.column("SELECT content || coalesce(tool_args, '') FROM messages")
        stored += await service.column("SELECT content FROM archival_entries")
        assert [text for text in stored if secret in text] == []
        assert sum("[secret]" in text for text in stored) == 7


# ----------------------------------------------------------------------------------------------------- failures


async def test_a_row_is_dead_after_five_tries_and_the_owner_is_told_once(tmp_path: Path) -> None:
    model = ScriptedModel(otherwise=RuntimeError("boom"))
    with speaking("de"):
        german = _(GIVEN_UP)
    async with running(tmp_path, Setting(model, languages={ANN.id: "de"})) as service:
        await service.heard(said("hello", 1))
        assert (len(model.requests), await states(service)) == (5, ["dead"])
        assert service.platform.texts() == [german], "who asked is told too, in their language"
        (notice,) = service.platform.texts(OWNERS_PLACE.id)
        assert notice == (
            "I couldn't answer a message in hall after 5 attempts: RuntimeError: boom. "
            "`/admin inbox show` shows it, and `/admin inbox retry` tries again."
        )
        assert await service.column("SELECT status FROM turns") == ["failed"]
        model.otherwise = says("Better now.")
        await service.heard(said("and now?", 2))
        assert service.platform.texts() == [german, "Better now."]
    async with running(tmp_path, Setting(platform=service.platform)) as again:
        await again.settled()
        assert len(again.platform.texts(OWNERS_PLACE.id)) == 1


async def test_joined_rows_run_one_by_one_after_two_failures(tmp_path: Path) -> None:
    def bad(request: Request) -> Answer:
        if any("poison" in text for text in texts(request)[-2:]):
            raise ValueError("poison")
        return says(f"You said: {texts(request)[-1]}")

    held = HeldReply(says("never said"))
    model = ScriptedModel(held, otherwise=bad)
    async with running(tmp_path, Setting(model)) as service:
        service.hear(said("fine", 1))
        await held.begun.wait()
        service.hear(said("poison", 2))
        await service.router.taken_in(30)
        held.free.set()
        await service.settled()
        assert await states(service) == ["done", "dead"]
        assert service.platform.texts() == ["You said: fine", GIVEN_UP]
    alone = [texts(request)[-1] for request in model.requests]
    assert alone.count("fine") == 2  # at first by itself, held; then alone after the two failures
    assert alone.count("poison") == 2 + 4  # the try in which it joined is the other row's


async def test_other_peoples_messages_wait_for_their_own_turn(tmp_path: Path) -> None:
    held = HeldReply(says("To Ann."))
    model = ScriptedModel(held, says("To Bob."))
    async with running(tmp_path, Setting(model)) as service:
        service.hear(said("from Ann", 1))
        await held.begun.wait()
        service.hear(said("from Bob", 2, speaker=BOB))
        await service.router.taken_in(30)
        held.free.set()
        await service.settled()
        assert service.platform.texts() == ["To Ann.", "To Bob."]
    assert texts(model.requests[0]) == ["from Ann"]
    assert texts(model.requests[1]) == ["from Ann", "from Bob"]


async def test_what_a_person_adds_before_the_next_attempt_joins_it_and_others_wait_their_turn(tmp_path: Path) -> None:
    model = ScriptedModel(RuntimeError("down"), says("To Ann."), says("To Bob."))
    async with running(tmp_path, Setting(model, retry_policy=replace(AT_ONCE, waits=(60,)))) as service:
        service.hear(said("one", 1))
        await until(lambda: service.rows("SELECT 1 FROM inbox WHERE next_attempt_at > ?", NOON))
        service.hear(said("other", 2, speaker=BOB), said("two", 3))
        await service.router.taken_in(30)
        assert len(model.requests) == 1
        service.clock.forward(61)
        service.resume()
        await service.settled()
        assert service.platform.texts() == ["To Ann.", "To Bob."]
    assert [texts(request) for request in model.requests] == [["one"], ["one", "two"], ["one", "two", "other"]]


async def test_a_burst_is_answered_as_one(tmp_path: Path) -> None:
    model = ScriptedModel()
    retry_policy = replace(AT_ONCE, merge=0.05)
    async with running(tmp_path, Setting(model, retry_policy=retry_policy)) as service:
        service.hear(said("one", 1), said("two", 2), said("other", 3, speaker=BOB))
        await service.router.taken_in(30)
        service.clock.forward(1)
        await service.settled()
        assert service.platform.texts() == ["Yes.", "Yes."]
    assert [texts(request)[-1] for request in model.requests] == ["two", "other"]


# ------------------------------------------------------------------------------------------------ what cannot be read


async def damaging(service: Service, what: str, then: str) -> None:
    """Have the database do that after it."""
    await service.write(lambda tx: tx.run(f"CREATE TRIGGER damages AFTER {what} BEGIN {then}; END"))


async def test_a_row_that_cannot_be_read_is_given_up_alone(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(ScriptedModel(says("Yes.")), retry_policy=AT_ONCE)) as service:
        damaged = "UPDATE inbox SET payload = '{\"status\": \"sung\"}' WHERE external_id = '1'"
        await damaging(service, "INSERT ON inbox", damaged)
        await service.heard(said("one", 1), said("two", 2, speaker=BOB))
        assert await states(service) == ["dead", "done"]
        assert service.platform.texts() == [GIVEN_UP, "Yes."]


async def test_a_turn_whose_steps_cannot_be_read_is_given_up(tmp_path: Path) -> None:
    model = ScriptedModel(says("", call("bell", word="one")), says("Rung."), says("Yes."))
    async with running(tmp_path, Setting(model, retry_policy=AT_ONCE, tools=[Bell()])) as service:
        damaged = "UPDATE turn_steps SET body = '{\"v\": 2}' WHERE turn_id = NEW.turn_id AND seq = NEW.seq"
        await damaging(service, "INSERT ON turn_steps WHEN NEW.kind = 'tool_started'", damaged)
        await service.heard(said("one", 1))
        assert await states(service) == ["dead"]
        await service.write(lambda tx: tx.run("DROP TRIGGER damages"))
        assert await steps(service) == []
        await service.heard(said("two", 2))
        assert service.platform.texts()[-1] in ("Rung.", "Yes.")


@pytest.mark.parametrize(
    ("begins", "begun"),
    [
        pytest.param(NOON, [["inbox.accept", "turn.begin"]], id="said now"),
        pytest.param(
            NOON + timedelta(days=1),
            [["inbox.accept"], ["turn.begin"], ["turn.attempt"], ["turn.begin"]],
            id="said before",
        ),
    ],
)
async def test_an_answer_takes_three_commits_unless_it_may_have_ended_the_process_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begins: datetime, begun: list[list[str]]
) -> None:
    commits, really = list[list[str]](), Database._commit

    def commit(self: Database, raw: Connection, units: Sequence[database._Unit[Any]]) -> list[Any]:
        commits.append([unit.point.name for unit in units])
        return really(self, raw, units)

    async with running(tmp_path, Setting(retry_policy=RetryPolicy(attempts=5, careful_before=begins))) as service:
        await service.heard(said("hello", 1))
        monkeypatch.setattr(Database, "_commit", commit)
        await service.heard(said("hello again", 2))
    # A delivery may look once more, and find nothing.
    assert [points for points in commits if points != ["outbox.sending"]] == [
        *begun,
        ["turn.answer", "outbox.sending"],
        ["outbox.sent"],
    ]
