"""What a person adds before the answer is shown: the model is asked again with all of it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.agents import turn_deps
from bot.models.base import Access, Event, Limits, Model, Request
from bot.models.chat_completions import connect
from memory.queue import inbox
from tests.bot.models.test_streams import DONE, called, chunk
from tests.bot.parts import ANN, BOB, HALL, HeldReply, ScriptedModel, call, said, says, texts
from tests.bot.runtime.test_conversation import Bell
from tests.bot.stage import Service, Setting, running, until
from tests.wire import PATIENCE

TOLD = says("").usage


class Relayed(ScriptedModel):
    """Another model, in a service that is made with a scripted one."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._model = model

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        async with aclosing(self._model.complete(request)) as events:
            async for event in events:
                yield event


async def begun(held: HeldReply) -> None:
    async with asyncio.timeout(PATIENCE):
        await held.begun.wait()


async def booked(service: Service) -> list[int]:
    """How many tokens each call that was booked took in, in order."""
    return await service.column("SELECT input_tokens FROM model_usage ORDER BY id")


async def turns(service: Service) -> list[str]:
    return await service.column("SELECT status FROM turns ORDER BY id")


async def test_what_is_added_while_the_model_writes_is_asked_with_at_once(tmp_path: Path) -> None:
    held = HeldReply(says("never said"))
    model = ScriptedModel(held, says("Both."))
    async with running(tmp_path, Setting(model)) as service:
        service.hear(said("one", 1))
        await begun(held)
        await service.heard(said("two", 2))  # the first call never ends by itself
        assert service.platform.texts() == ["Both."]
        assert [texts(request) for request in model.requests] == [["one"], ["one", "two"]]
        assert await turns(service) == ["done"]
        estimated, exact = await booked(service)
        assert estimated > exact == TOLD.input_tokens


async def test_a_call_that_is_cut_off_between_any_two_bytes_shows_nothing_runs_nothing_and_is_paid_once(
    tmp_path: Path,
) -> None:
    """Over a socket: the server has sent so much of an answer with a call when the person adds something."""
    whole = (
        chunk(content="Half") + called(0, "c1", "bell", '{"word": ') + called(0, None, None, '"one"}') + chunk("stop")
    )
    places, sent = [*range(0, len(whole) - 2, 23), len(whole) - 2], asyncio.Event()
    cuts, count = iter(places), len(places)

    async def respond(http: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(http)
        if "two" in str((await http.json())["messages"][-1]):
            await response.write(chunk(content="Both.") + chunk("stop") + DONE)
            return response
        await response.write(whole[: next(cuts)])
        sent.set()
        await asyncio.Event().wait()
        return response

    app, bell = web.Application(), Bell()
    app.router.add_post("/chat/completions", respond)
    async with TestServer(app) as server:
        model = connect(Access("openai:local", Limits(), "key", str(server.make_url("/"))))
        async with model.provider, running(tmp_path, Setting(Relayed(model), tools=[bell])) as service:
            for turn in range(count):
                sent.clear()
                service.hear(said("one", 2 * turn))
                async with asyncio.timeout(PATIENCE):
                    await sent.wait()
                await service.heard(said("two", 2 * turn + 1))
            assert (bell.rung, service.platform.texts()) == ([], ["Both."] * count)
            paid = await booked(service)
            assert (len(paid), all(paid)) == (2 * count, True), "this server counts nothing"


async def test_what_comes_after_two_interruptions_joins_at_the_next_step(tmp_path: Path) -> None:
    held = [HeldReply(says(f"answer {number}")) for number in range(3)]
    model = ScriptedModel(*held, says("All four."))
    async with running(tmp_path, Setting(model)) as service:
        for number, each in enumerate(held):
            service.hear(said(f"part {number}", number))
            await begun(each)
        service.hear(said("part 3", 3))
        await service.router.taken_in(30)
        assert len(model.requests) == 3
        held[2].free.set()
        await service.settled()
        assert service.platform.texts() == ["All four."]
        assert texts(model.requests[3]) == ["part 0", "part 1", "part 2", "part 3"]
        assert await turns(service) == ["done"]


async def test_a_turn_that_did_something_outside_is_not_begun_anew(tmp_path: Path) -> None:
    bell, held = Bell(), HeldReply(says("Rung once."))
    model = ScriptedModel(says("", call("bell", word="one")), held, says("Both."))
    async with running(tmp_path, Setting(model, tools=[bell])) as service:
        service.hear(said("ring", 1))
        await begun(held)
        service.hear(said("and tell me", 2))
        await service.router.taken_in(30)
        held.free.set()
        await service.settled()
        assert (bell.rung, service.platform.texts()) == (["one"], ["Both."])


async def test_an_answer_waits_a_moment_for_who_is_typing(tmp_path: Path) -> None:
    model = ScriptedModel(says("Too early."), says("Both."))
    setting = Setting(model)
    async with running(tmp_path, setting) as service:
        setting.typing.types(HALL.id, ANN.id)
        service.hear(said("one", 1))
        await until(lambda: model.requests)
        await asyncio.sleep(0.1)
        assert service.platform.texts() == []
        setting.typing.spoke(HALL.id, ANN.id)
        await service.heard(said("two", 2))
        assert service.platform.texts() == ["Both."]
        assert await booked(service) == [TOLD.input_tokens] * 2


async def test_a_death_while_the_model_is_asked_anew_loses_nothing(tmp_path: Path) -> None:
    first, second = HeldReply(says("never said")), HeldReply(says("never said either"))
    async with running(tmp_path, Setting(ScriptedModel(first, second))) as service:
        service.hear(said("one", 1))
        await begun(first)
        service.hear(said("two", 2))
        await begun(second)
        service.crash()
    model = ScriptedModel(says("Both."))
    async with running(tmp_path, Setting(model)) as service:
        await service.settled()
        assert service.platform.texts() == ["Both."]
        assert texts(model.requests[0]) == ["one", "two"]
        assert await service.column("SELECT status FROM inbox ORDER BY id") == [inbox.Status.DONE] * 2


def test_what_was_sent_is_expected_until_it_is_taken_up() -> None:
    people = turn_deps.TypingPeople()
    people.spoke(HALL.id, ANN.id)
    assert not people.is_typing(HALL.id, ANN.id)  # nothing was reported of them
    people.types(HALL.id, ANN.id)
    assert people.is_typing(HALL.id, ANN.id)
    assert not people.is_typing(HALL.id, BOB.id)
    assert not people.is_typing(HALL.id, None)
    people.spoke(HALL.id, ANN.id)
    assert people.is_typing(HALL.id, ANN.id)
    people.took(HALL.id, ANN.id)
    assert not people.is_typing(HALL.id, ANN.id)


def test_only_so_many_people_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_deps, "_MOST_PEOPLE", 1)
    people = turn_deps.TypingPeople()
    people.types(HALL.id, ANN.id)
    people.types(HALL.id, BOB.id)
    assert [people.is_typing(HALL.id, each.id) for each in (ANN, BOB)] == [False, True]
