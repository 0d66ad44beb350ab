"""How a service says that it stands: what is configured, what is not, and what each model came to."""

from contextvars import copy_context
from datetime import UTC, datetime
from pathlib import Path

from bot.app import build
from bot.config import load_config
from bot.interfaces.cli.chat.connection import connect
from bot.models.base import Trouble
from bot.models.health import ModelHealth
from bot.services.results import Markdown, Plain
from bot.services.status_texts import ModelState, ServiceStatus
from tests.bot.requests import status
from texts import read_on

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
KEY = "canary-7f3b9c2e5d81"


async def shown(folder: Path, **environ: str) -> list[str]:
    config = load_config({"CARINA_HOME": str(folder / "data"), "EMBEDDING_MODEL": "none", **environ}, folder)
    async with build(config, fronts=False) as app:
        found = await status(app)
        assert KEY not in repr(found)
        head, *lines = found.lines(Plain("UTC", NOON))
        assert head == "Carina is running (constellation “home”)"
        return lines


async def test_models_and_front_ends_that_wait_to_be_used_are_there(tmp_path: Path) -> None:
    asked = {"CARINA_MODEL": "openai:a", "CARINA_FALLBACK_MODELS": "openai:b,offline", "OPENAI_API_KEY": KEY}
    assert await shown(tmp_path, DISCORD_TOKEN=KEY, **asked) == [
        "Discord: not connected: only a chat is running; `carina run` connects it",
        "Dashboard: starting",
        "Owner on Discord: not configured (set DISCORD_OWNER_ID)",
        "Bluesky: not configured (set BLUESKY_HANDLE and BLUESKY_APP_PASSWORD)",
        "Reading the web: not configured (set [web] fetch)",
        "Searching the web: not configured (set [web] search)",
        "Model openai:a: not used yet",
        "Model openai:b: not used yet",
        "Search by meaning: turned off; search uses words only",
        "Agent “Carina”: answers with openai:a",
        "0 waiting for an answer, 0 to be sent, 0 failed",
    ]


async def test_a_chat_alone_says_that_it_serves_no_dashboard(tmp_path: Path) -> None:
    async with connect(
        load_config({"CARINA_HOME": str(tmp_path / "data"), "EMBEDDING_MODEL": "none"}, tmp_path)
    ) as line:
        told = (await line.data("status"))["fronts"]["dashboard"]
    assert told == "off: only a chat is running; `carina run` starts it"


def test_the_owner_on_discord_and_a_program_are_told_the_same() -> None:
    refused = ModelHealth("openai:a", NOON, Trouble.KEY, "openai:a refused access (HTTP 401)", 40.2)
    status = ServiceStatus(
        constellation="home", started=NOON, halted=NOON, fronts={}, agents={"Ca*ri*na": "openai:a"}, waiting=1,
        dead=2, unsent=3, models=(ModelState.of(refused),), not_configured={"discord": "DISCORD_TOKEN"},
        unstored="The database has not accepted writes since noon.", embedding="", mcp={},
    )  # fmt: skip
    stamp = f"<t:{int(NOON.timestamp())}:f>, <t:{int(NOON.timestamp())}:R>"
    reader = copy_context()
    reader.run(read_on, "discord")
    lines = reader.run(status.lines, Markdown())
    assert lines == [
        "Carina is running (constellation “home”)",
        f"Service: everything has been halted since {stamp}; `/admin halt release` resumes",
        "Database: The database has not accepted writes since noon; free up disk space, or stop the program that is "
        "locking the file",
        "Inbox: failed messages: 2; `/admin inbox list` shows them",
        "Discord: not configured",
        f"Model openai:a: refused since {stamp}: refused access (HTTP 401). Set OPENAI\\_API\\_KEY to a key that works "
        "for this model, and restart. The next attempt is in 40 s.",
        "Agent “Ca\\*ri\\*na”: answers with openai:a",
        "1 waiting for an answer, 3 to be sent, 2 failed",
    ]
    found = status.data()
    assert found["unstored"] == status.unstored
    assert found["models"] == [{"model": "openai:a", "state": "refused", "words": refused.words}]
    assert (found["running"], found["waiting"], found["dead"], found["unsent"]) == (True, 1, 2, 3)
