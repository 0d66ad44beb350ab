"""A chat at the terminal, in the process of a whole service with the offline model."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from bot.app import App, build
from bot.config import load_config
from bot.errors import UserError
from bot.interfaces.chat import Chat
from bot.services.caller import owner_at_terminal
from memory.queue import outbox
from memory.store.sqlite import connect
from sources.terminal import ONCE


def chat_of(app: App) -> Chat:
    return Chat(app.services, app.served.router)


@asynccontextmanager
async def service(folder: Path, toml: str = "") -> AsyncIterator[App]:
    (folder / "carina.toml").write_text(f'[web.server]\nlisten = "127.0.0.1:0"\n{toml}', "utf-8")
    config = load_config({"CARINA_HOME": str(folder / "data")}, folder)
    ended = asyncio.Event()

    async def until_ended() -> None:
        await ended.wait()

    async with build(config, fronts=False) as app, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(app.run(until_ended))
        try:
            yield app
        finally:
            ended.set()
            await running


async def told(app: App, *texts: str, history: int = 0) -> list[list[dict[str, Any]]]:
    """Say these one after the other in one chat; what was shown until each was done."""
    shown: list[list[dict[str, Any]]] = [[]]
    left = list(texts)
    async with aclosing(chat_of(app).chat(history)) as chat, asyncio.timeout(20):
        async for each in chat:
            shown[-1].append(each)
            if each["kind"] in ("Listening", "Idle"):
                if not left:
                    return shown
                shown.append([])
                await chat_of(app).say(left.pop(0), f"terminal-{id(app)}-{len(left)}")
    raise AssertionError("the chat ended by itself")


def answers(shown: list[dict[str, Any]]) -> list[str]:
    return [each["text"] for each in shown if each["kind"] == "Said"]


async def test_the_same_line_passed_on_twice_is_said_once(tmp_path: Path) -> None:
    async with service(tmp_path) as app:
        async with aclosing(chat_of(app).chat()) as chat, asyncio.timeout(10):
            assert (await anext(chat))["kind"] == "Listening"
            for _ in range(2):
                await chat_of(app).say("hello", "terminal-7")
            kinds = [(await anext(chat))["kind"]]
            while kinds[-1] != "Idle":
                kinds.append((await anext(chat))["kind"])
        assert kinds.count("Said") == 1
        assert len((await told(app, history=5))[0]) == 3


async def test_an_answer_that_nobody_has_seen_yet_is_shown_once(tmp_path: Path) -> None:
    async with service(tmp_path) as app:
        await told(app, "remember that my cat is called Bolt")
        await chat_of(app).say("what is my cat called?", "terminal-7")
        async with asyncio.timeout(10):
            while await app.services.database.read(outbox.open_places) == []:
                await asyncio.sleep(0.01)
        async with aclosing(chat_of(app).chat(10)) as chat, asyncio.timeout(10):
            shown = [await anext(chat)]
            while shown[-1]["kind"] != "Said":
                shown.append(await anext(chat))
    assert [each["text"] for each in shown if each["kind"] == "History"][2:] == ["what is my cat called?"]
    assert "Bolt" in shown[-1]["text"]


async def test_while_everything_is_halted_a_line_is_kept_and_says_so(tmp_path: Path) -> None:
    async with service(tmp_path) as app:
        await app.services.registry.call("halt.now", owner_at_terminal(), {})
        said = await chat_of(app).say("remember that my cat is called Bolt", "terminal-1")
        assert "halted since" in said["answer"]
        assert "carina halt release" in said["answer"]
        await app.services.registry.call("halt.release", owner_at_terminal(), {})
        assert "Bolt" in answers((await told(app, "what is my cat called?"))[1])[-1]


async def test_a_request_is_answered_by_the_number_on_its_card(tmp_path: Path) -> None:
    asks = '[[agents]]\n[[agents.rules]]\nrule = "requires_consent"\ntool = "calculate"\n'
    async with service(tmp_path, asks) as app:
        (number,) = re.findall(r"/deny (\d+)", "\n".join(answers((await told(app, "what is 12*12?"))[1])))
        assert len(number) == 6
        said = await chat_of(app).say(f"/approve {number}", "terminal-2")
        assert (said["goes_on"], said["request"][-6:]) == (True, number)


async def test_a_line_that_the_database_does_not_take_says_so_and_is_answered_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.store.sqlite._BUSY_MS", 20)
    monkeypatch.setattr("bot.storage_retry.RETRY_SECONDS", 0.02)
    monkeypatch.setattr("bot.interfaces.chat._STORED_SECONDS", 0.5)
    async with service(tmp_path) as app:
        await told(app, "remember that my cat is called Bolt")
        (file,) = (tmp_path / "data" / "constellations").glob("*/carina.db")
        other = connect(file)
        other.execute("BEGIN IMMEDIATE")
        said = await chat_of(app).say("remember that my dog is called Rex", "terminal-1")
        assert "I will answer this later. The database has not accepted writes since" in said["answer"]
        assert "another program holds the database" in said["answer"]
        monkeypatch.setattr(
            app.services.runtime, "reachable", AsyncMock()
        )  # a full disk takes that: it changes nothing
        with pytest.raises(UserError, match="The database has not accepted writes since"):
            _ = [each async for each in chat_of(app).once("what is my dog called?", f"{ONCE}1")]
        other.execute("ROLLBACK")
        other.close()
        assert "Rex" in answers((await told(app, "what is my dog called?"))[1])[-1]
