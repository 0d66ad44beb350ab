"""How a service says that it stands: what is configured, what is not, and what each model came to."""

from datetime import UTC, datetime
from pathlib import Path

from bot.app import build
from bot.config import load_config
from bot.desks.desk import ServiceStatus
from bot.discord_ui.commands import status_text
from bot.models.base import Trouble
from bot.models.standing import Standing, State

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
KEY = "canary-7f3b9c2e5d81"


async def lines(folder: Path, **environ: str) -> list[str]:
    config = load_config({"CARINA_HOME": str(folder / "data"), "EMBEDDING_MODEL": "none", **environ}, folder)
    async with build(config, fronts=False) as app:
        status = await app.desks.desk.status()
        assert KEY not in repr(status)
        return status.lines()


async def test_what_is_not_configured_is_said_with_the_setting(tmp_path: Path) -> None:
    assert await lines(tmp_path) == [
        "language model: not configured (set CARINA_MODEL)",
        "discord: not configured (set DISCORD_TOKEN)",
        "bluesky: not configured (set BLUESKY_HANDLE and BLUESKY_APP_PASSWORD)",
        "reading the web: not configured (set [web] fetch)",
        "searching the web: not configured (set [web] search)",
        "embedding: switched off by EMBEDDING_MODEL; searching goes by words alone",
        "agent Carina: offline",
        "0 waiting for an answer, 0 to be sent, 0 given up",
    ]


async def test_models_and_front_ends_that_wait_to_be_used_are_there(tmp_path: Path) -> None:
    asked = {"CARINA_MODEL": "openai:a", "CARINA_FALLBACK_MODELS": "openai:b,offline", "OPENAI_API_KEY": KEY}
    assert await lines(tmp_path, DISCORD_TOKEN=KEY, **asked) == [
        "discord: not connected: only a chat is running; `carina run` connects it",
        "owner on Discord: not configured (set DISCORD_OWNER_ID)",
        "bluesky: not configured (set BLUESKY_HANDLE and BLUESKY_APP_PASSWORD)",
        "reading the web: not configured (set [web] fetch)",
        "searching the web: not configured (set [web] search)",
        "model openai:a: not asked yet",
        "model openai:b: not asked yet",
        "embedding: switched off by EMBEDDING_MODEL; searching goes by words alone",
        "agent Carina: openai:a",
        "0 waiting for an answer, 0 to be sent, 0 given up",
    ]


def test_the_owner_on_discord_and_a_program_are_told_the_same() -> None:
    refused = Standing("openai:a", State.REFUSED, NOON, Trouble.KEY, "openai:a refused us (HTTP 401)", 40.2)
    status = ServiceStatus(
        constellation="home",
        agents=(("Ca*ri*na", "openai:a"),),
        waiting=1,
        dead=2,
        unsent=3,
        started="2026-11-22T09:00:00.000Z",
        models=(refused,),
        unset={"discord": "DISCORD_TOKEN"},
        unstored="takes no writes since noon",
    )
    told = status_text(status).replace("\\", "").splitlines()
    assert told[0] == "**home**"
    assert [line.removeprefix("- ") for line in told[1:-1]] == status.lines()
    assert "model openai:a: refused since 2026-11-22 12:00 UTC: refused us (HTTP 401); set a key in OPENAI_API_KEY" in (
        "\n".join(told)
    )
    assert "it rests: not asked again for 40 s" in "\n".join(told)
    found = status.data()
    assert (found["unstored"], "takes no writes since" in told[1]) == (status.unstored, True)
    assert found["models"] == [{"model": "openai:a", "state": "refused", "words": refused.words}]
    assert (found["running"], found["waiting"], found["dead"], found["unsent"]) == (True, 1, 2, 3)
