"""Long conversations: what leaves a model's view, when, and what is told of it; real stores, scripted summaries."""

from collections.abc import Awaitable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bot.agents.budgets import Budgets, BudgetThresholds
from bot.errors import ConfigError
from bot.models.base import Answer, AssistantMessage, ContextTooLong, ModelBusy, Request, ToolMessage, Usage
from bot.upkeep.compaction_strategies import STORED, Importance, View, important
from memory.knowledge import summaries
from memory.knowledge.summaries import Compaction
from memory.people.audience import Scope, Trust
from memory.queue.messages import Message
from memory.spending import Limit
from memory.store.database import Rows
from memory.store.ids import MessageId, TurnId
from tests.bot.agents.context.test_context import kinds
from tests.bot.parts import (
    ANN,
    BOB,
    HALL,
    NOON,
    HeldReply,
    ScriptedModel,
    call,
    deleted,
    direct,
    edited,
    said,
    says,
    texts,
    told,
)
from tests.bot.stage import Service, Setting, running, until

ANNS = direct(ANN, "guild")
SUMMARY = "Before, Ann counted"


def toml(**compaction: Any) -> str:
    pairs = ", ".join(f"{name} = {value!r}" for name, value in compaction.items()).replace("'", '"')
    return f'[[agents]]\nname = "Carina"\nsystem_prompt = "You are Carina."\nblocks = []\ncompaction = {{ {pairs} }}\n'


RECURSIVE = toml(strategy="recursive_summarization", max_messages=6, keep_recent=2, chunk_messages=20)


def summarises(request: Request) -> bool:
    return request.system.startswith("Summarize for an agent")


class SummaryJob(ScriptedModel):
    """Answers with the newest line, and summaries with how many there were before and the numbers in it."""

    def __init__(self, **more: Any) -> None:
        super().__init__(otherwise=self._reply, **more)
        self.summaries = 0

    def _reply(self, request: Request) -> Answer:
        if not summarises(request):
            return says("yes")
        self.summaries += 1
        return Answer(f"{SUMMARY} ({self.summaries}).", (), Usage(7, 3, cost_usd=0.5), "scripted:one")

    def spoken(self) -> list[Request]:
        return [request for request in self.requests if not summarises(request)]

    def summarised(self) -> list[Request]:
        return [request for request in self.requests if summarises(request)]


def holding(held: HeldReply) -> ScriptedModel:
    """Answers at once, and summarizes when it is let go."""

    def reply(request: Request) -> Answer | Awaitable[Answer]:
        return held(request) if summarises(request) else says("yes")

    return ScriptedModel(otherwise=reply)


async def count(service: Service, first: int, last: int, **more: Any) -> None:
    for number in range(first, last + 1):
        await service.heard(said(f"number {number}", number, **more))


MADE = "SELECT count(*) FROM items WHERE kind = 'conversation'"


async def compactions(service: Service) -> list[Compaction]:
    def read(rows: Rows) -> list[Compaction]:
        sql = "SELECT DISTINCT agent_id, place_id, audience FROM items WHERE kind = 'conversation' ORDER BY place_id"
        found = rows.all(sql)
        return [one for row in found if (one := summaries.newest(rows, row[0], row[1], row[2]))]

    return await service.read(read)


async def test_older_talk_is_told_in_short_once_and_every_later_prompt_begins_with_it(tmp_path: Path) -> None:
    model = SummaryJob()
    async with running(tmp_path, Setting(model, toml=RECURSIVE)) as service:
        await count(service, 1, 4)  # 8 messages: more than 6
        (made,) = await compactions(service)
        await count(service, 5, 6)
        assert len(model.summarised()) == 1, "a summary is kept, not made again for each request"
    first, second = model.spoken()[4:6]
    assert "number 1" in told(model.summarised()[0])
    assert "number 3" in told(model.summarised()[0])
    assert (made.messages, made.strategy, made.trust) == (6, "recursive_summarization", Trust.APPROVED)
    assert first.messages[0].text == (
        "[system] Before this, 6 messages of this conversation, told in short:\n"
        f'<quoted from="a summary of earlier talk here">\n{SUMMARY} (1).\n</quoted>'
    )
    assert texts(first) == ["number 4", "number 5"]
    assert second.messages[: len(first.messages) - 1] == first.messages[:-1], "the beginning stays the same"
    assert second.system == first.system


async def test_a_call_is_never_parted_from_its_result(tmp_path: Path) -> None:
    for strategy in ("truncate", "recursive_summarization", "importance", "time_decay"):
        model = SummaryJob()
        settings = toml(strategy=strategy, max_messages=7, keep_recent=5)
        async with running(tmp_path / strategy, Setting(model, toml=settings)) as service:
            for number in range(1, 9):
                model.replies.extend([says("a look", call("search", query="x"), call("recall", operation="read"))])
                service.clock.forward(3600)
                await service.heard(said(f"number {number}", number))
            assert await compactions(service)
        for request in model.spoken():
            calls = [c.id for m in request.messages if isinstance(m, AssistantMessage) for c in m.calls]
            given = [m.call_id for m in request.messages if isinstance(m, ToolMessage)]
            assert calls == given
            assert kinds(request)[0] == "U"


async def test_what_is_old_leaves_by_tens(tmp_path: Path) -> None:
    model = SummaryJob()
    settings = toml(strategy="time_decay", max_messages=100, keep_recent=2, after_hours=24)
    async with running(tmp_path, Setting(model, toml=settings)) as service:
        await count(service, 1, 8)
        service.clock.forward(25 * 3600)
        await count(service, 9, 10)
    assert texts(model.requests[8])[0] == "number 1"
    assert texts(model.requests[9])[0] == "number 9"


# ------------------------------------------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize(
    "trouble",
    [
        ModelBusy("overloaded"),
        Answer("I am only rules.", (), Usage(), "offline"),
        Answer("", (), Usage(), "scripted:one"),
        Answer("no", (), Usage(), "scripted:one", finish="filter"),
        TimeoutError(),
        ConfigError("no such model"),
    ],
    ids=lambda trouble: type(trouble).__name__,
)
async def test_a_summariser_that_fails_changes_nothing_and_the_log_says_so(tmp_path: Path, trouble: Any) -> None:
    def reply(request: Request) -> Answer:
        if summarises(request):
            if isinstance(trouble, Exception):
                raise trouble
            assert isinstance(trouble, Answer)
            return trouble
        return says("yes")

    model = ScriptedModel(otherwise=reply)
    async with running(tmp_path, Setting(model, toml=RECURSIVE)) as service:
        await count(service, 1, 5)
        assert await compactions(service) == []
        assert [row["agent"] for row in service.logs if row["event"] == "summary_failed"] == ["Carina", "Carina"]
    spoken = [request for request in model.requests if not summarises(request)]
    assert texts(spoken[-1]) == [f"number {number}" for number in range(1, 6)]


async def test_a_message_that_changes_while_it_is_summarised_is_not_told(tmp_path: Path) -> None:
    held = HeldReply(says("number 1 was said"))
    async with running(tmp_path, Setting(holding(held), toml=RECURSIVE)) as service:
        await count(service, 1, 3)
        service.hear(said("number 4", 4))
        await held.begun.wait()
        service.hear(edited("forty-two", 1))
        await service.router.taken_in(30)
        held.free.set()
        await service.settled()
        assert await compactions(service) == []
        assert any(row["event"] == "summary_outdated" for row in service.logs)
        await service.heard(said("number 5", 5))
        (made,) = await compactions(service)
        assert made.messages == 8


async def test_answers_do_not_wait_for_summaries(tmp_path: Path) -> None:
    held = HeldReply(says("in short"))
    async with running(tmp_path, Setting(holding(held), toml=RECURSIVE)) as service:
        await count(service, 1, 3)
        service.hear(said("number 4", 4))
        await until(lambda: len(service.platform.texts()) == 4)
        service.hear(said("number 5", 5))
        await until(lambda: len(service.platform.texts()) == 5)
        held.free.set()
        await service.settled()
        assert len(await compactions(service)) == 1


async def test_a_summary_that_was_lost_with_the_process_is_made_after_the_next_turn(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(holding(HeldReply(says(""))), toml=RECURSIVE)) as service:
        await count(service, 1, 3)
        service.hear(said("number 4", 4))
        await until(lambda: len(service.platform.texts()) == 4)
        service.crash()
    again = SummaryJob()
    async with running(tmp_path, Setting(again, toml=RECURSIVE)) as service:
        await count(service, 5, 5)
        assert len(await compactions(service)) == 1
    assert len(again.summarised()) == 1


async def test_a_strategy_that_nobody_knows_is_said_in_the_log_and_nothing_is_compacted(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(toml=RECURSIVE)) as service:
        edited_by_hand = "UPDATE agents SET config = json_set(config, '$.compaction.strategy', 'forget')"
        await service.write(lambda tx: tx.run(edited_by_hand))
        await count(service, 1, 5)
        assert await compactions(service) == []
        assert any(row["event"] == "unknown_compaction" for row in service.logs)
        assert len(service.platform.texts()) == 5


# ------------------------------------------------------------------------------------------- a prompt that is too long


async def test_a_prompt_that_is_too_long_is_compacted_and_asked_once_more(tmp_path: Path) -> None:
    model = ScriptedModel(otherwise=says("yes"))
    async with running(tmp_path, Setting(model)) as service:
        await count(service, 1, 6)
        model.replies.extend([ContextTooLong("at most so much"), says("now it fits")])
        await service.heard(said("number 7", 7))
        await service.heard(said("number 8", 8))
        assert service.platform.texts()[6:] == ["now it fits", "yes"]
        (made,) = await compactions(service)
    too_long, second, later = model.requests[6:]
    assert (too_long.compactable, second.compactable) == (True, False)
    assert texts(too_long)[0] == "number 1"
    assert 1 < len(texts(second)) < len(texts(too_long))
    assert texts(second)[-1] == "number 7"
    assert texts(later)[0] == texts(second)[0], "it stays compacted"
    assert (made.strategy, made.summary) == ("truncate", "")


async def test_a_summariser_that_fails_then_leaves_truncation(tmp_path: Path) -> None:
    model = ScriptedModel(otherwise=says("yes"))
    async with running(tmp_path, Setting(model, toml=toml(strategy="recursive_summarization"))) as service:
        await count(service, 1, 6)
        model.replies.extend([ContextTooLong("too much"), ModelBusy("overloaded"), says("fits")])
        await service.heard(said("number 7", 7))
        (made,) = await compactions(service)
        assert service.platform.texts()[-1] == "fits"
        assert [row["compacted"] for row in service.logs if row["event"] == "prompt_too_long"] == [True]
    assert (made.strategy, made.summary) == ("truncate", "")


# --------------------------------------------------------------------------------------------- who may know what


async def test_a_summary_of_a_direct_message_is_for_that_place_alone(tmp_path: Path) -> None:
    model = SummaryJob()
    async with running(tmp_path, Setting(model, toml=RECURSIVE)) as service:
        await count(service, 1, 4, place=ANNS)
        await count(service, 11, 14, speaker=BOB)
        made = {one.place: one for one in await compactions(service)}
        await service.heard(said("hello", 20, speaker=BOB))
        here = await service.read(lambda rows: summaries.of_place(rows, ANNS.id, Scope(HALL.audience), 9))
        alone = await service.read(lambda rows: summaries.of_place(rows, ANNS.id, Scope(ANNS.audience), 9))
    assert (made[ANNS.id].audience, made[HALL.id].audience) == (ANNS.audience, HALL.audience)
    assert "number 1\n" not in told(model.summarised()[1])
    assert (here, len(alone)) == ([], 1)


@pytest.mark.parametrize("how", ["delete", "edit", "erase"])
async def test_a_summary_goes_with_words_that_are_taken_back_and_is_made_anew_without_them(
    tmp_path: Path, how: str
) -> None:
    model = SummaryJob()
    async with running(tmp_path, Setting(model, toml=RECURSIVE)) as service:
        await service.heard(said("my word is quetzalcoatl", 1, speaker=BOB))
        await count(service, 2, 4)
        assert len(await compactions(service)) == 1
        assert "quetzalcoatl" in told(model.summarised()[0])
        match how:
            case "delete":
                await service.heard(deleted(1))
            case "edit":
                await service.heard(edited("my word is secret", 1, speaker=BOB))
            case _:
                assert (await service.erase(BOB.id)).receipt["left"] == []
        assert await service.column("SELECT count(*) FROM items WHERE kind = 'conversation'") == [0]
        await service.heard(said("number 5", 5))
        assert len(await compactions(service)) == 1
    assert "quetzalcoatl" not in told(model.summarised()[-1])


async def test_of_a_chain_only_what_held_the_words_goes(tmp_path: Path) -> None:
    model = SummaryJob()
    async with running(tmp_path, Setting(model, toml=RECURSIVE)) as service:
        await count(service, 1, 7)
        assert await service.column(MADE) == [2]
        await service.heard(deleted(5))
        assert await service.column(MADE) == [1]
        await count(service, 8, 8)
        assert await service.column(MADE) == [2]
    assert f"{SUMMARY} (1)." in told(model.summarised()[-1])
    assert "number 5" not in told(model.summarised()[-1])


# ---------------------------------------------------------------------------------------------------- pure parts


def message(number: int, text: str = "x", turn: int | None = None, role: Any = "user", hours: float = 0) -> Message:
    at = NOON - timedelta(hours=hours)
    return Message(
        MessageId(number), HALL.id, None, ANN.id, "Ann", None if turn is None else TurnId(turn), None, role, text, None,
        None, None, "discord", None, "", HALL.audience, Trust.APPROVED, 0, None, None, False, at,
    )  # fmt: skip


def view(*found: Message, budget: int = 1000, size: int = 10) -> View:
    return View(found, budget, lambda _message: size, NOON)


def test_what_is_important_is_never_a_tools_result() -> None:
    strategy = Importance(keep_important=2)
    rows = [message(1, "remember always important", role="tool"), message(2, "a"), message(3, "b?"), message(4, "c")]
    assert important(strategy, rows) == {3, 4}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"strategy": "truncate", "max_messages": 5, "keep_recent": 5}, "keep_recent below max_messages = 5, not 5"),
        ({"strategy": "forget"}, "truncate"),
        ({"strategy": "truncate", "keep_important": 3}, "keep_important"),
        ({}, "strategy"),
    ],
)
def test_a_strategy_that_makes_no_sense_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        STORED.validate_python(given)


async def test_summaries_count_for_the_constellation_and_no_person_and_leave_the_rest_of_a_budget_to_people(
    tmp_path: Path,
) -> None:
    model = SummaryJob()
    day = Limit("constellation", "day", tokens=200_000)
    kept = Budgets({("constellation", "day"): day}, BudgetThresholds(), "openai:nobody-knows")
    async with running(tmp_path, Setting(model, toml=RECURSIVE, budgets=kept)) as service:
        await count(service, 1, 4)
        (cost,) = await service.rows("SELECT agent_id, person_id, place_id FROM model_usage WHERE cost_usd = 0.5")
        assert (bool(cost["agent_id"]), cost["person_id"], cost["place_id"]) == (True, None, None)
        spent = "UPDATE model_usage SET input_tokens = 189000 WHERE cost_usd = 0.5"
        await service.write(lambda tx: tx.run(spent))
        await count(service, 5, 8)
        assert len(await compactions(service)) == len(model.summarised()) == 1, (
            "what is left is reserved for answering people"
        )
        assert len(model.spoken()) == 8
        assert "reserved for answering people" in next(
            row["reason"] for row in service.logs if row["event"] == "summary_failed"
        )
        assert await service.column("SELECT count(*) FROM budget_reservations") == [0]
