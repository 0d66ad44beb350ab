"""What is loaded for what: a module brings no library that it does not need to be there."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bot.config import Config, load_config
from bot.interfaces.cli import long_running_commands
from bot.models import prices

HEAVY = (
    *("aiohttp", "apscheduler", "discord", "httpx", "loro", "numpy", "onnxruntime", "openai", "prompt_toolkit"),
    *("pydantic_ai", "pygments", "rich", "segno"),
)
LISTED = "import json, sys; print(json.dumps(sorted(sys.modules)))"


def loaded(module: str) -> set[str]:
    """The modules that are there in a process that imported this one."""
    command = [sys.executable, "-c", f"import {module}; {LISTED}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


SMALL = """
bot.agents.context.quotes bot.agents.permissions.roles_and_rights bot.interfaces.cli.local_operations
bot.services.served_folder memory.blocks memory.knowledge.facts memory.people.privacy_choices memory.queue.inbox
memory.queue.outbox memory.search memory.search.embedding.choice memory.store.constellations memory.store.database
sources.base sources.terminal
"""


def test_modules_and_a_command_that_opens_the_services_bring_no_library_that_rows_can_do_without() -> None:
    found = loaded(", ".join(SMALL.split()))
    assert found >= set(SMALL.split())
    assert [name for name in (*HEAVY, "httpcore") if name in found] == []


def test_the_price_of_a_model_is_found_without_a_client_of_its_own() -> None:
    found = loaded("bot.models.prices; assert bot.models.prices.context_window('openai:gpt-4o')")
    assert "genai_prices" in found
    assert not {"httpx2", "genai_prices.data"} & found


@pytest.mark.parametrize(("model", "before"), [("openai:gpt-4o", ["openai:gpt-4o"]), ("offline", [])])
def test_the_prices_of_the_model_are_looked_up_before_the_service_is_loaded(
    model: str, before: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = list[str]()

    async def serve(_config: Config) -> None:
        order.append("served")

    def serving() -> SimpleNamespace:
        order.append("loaded")
        return SimpleNamespace(serve=serve)

    config = load_config({"CARINA_MODEL": model, "OPENAI_API_KEY": "sk-x"}, tmp_path)
    monkeypatch.setattr(long_running_commands, "load_settings", lambda: config)
    monkeypatch.setattr(long_running_commands, "log_to", lambda _config, **_how: None)
    monkeypatch.setattr(long_running_commands, "_serving", serving)
    monkeypatch.setattr(prices, "context_window", order.append)
    long_running_commands.main(["run"])
    assert order == [*before, "loaded", "served"]


def test_there_is_one_sqlite_in_memory() -> None:
    pytest.importorskip("pysqlite3")
    found = loaded("memory.store.database, sqlite3; assert sqlite3.__name__ == 'pysqlite3'")
    assert "aiosqlite" in found
    assert "_sqlite3" not in found


def test_patterns_are_compiled_when_they_are_used() -> None:
    begin = "from memory.knowledge.fact_extraction import BEGINS, OF_SELF\n"
    show = "print('compiled' in vars(BEGINS), BEGINS.search('x'), "
    command = [
        sys.executable,
        "-c",
        begin + show + "'compiled' in vars(BEGINS), 'compiled' in vars(OF_SELF[0].pattern))",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "None", "True", "False"]


def test_a_chat_loads_a_service_only_where_none_runs_and_the_line_editor_where_somebody_types() -> None:
    found = loaded("bot.interfaces.cli.chat.chat, bot.interfaces.cli.long_running_commands")
    assert "bot.interfaces.cli.chat.chat" in found
    assert found.isdisjoint({"bot.app", "bot.runtime", "bot.interfaces.web"})
    assert found.isdisjoint({"prompt_toolkit", "segno", "rich.markdown"})


def test_what_needs_no_service_loads_none() -> None:
    parts = ("local_operations", "automatic_startup", "idle_status", "export_and_import", "wizard.init")
    found = loaded(", ".join(f"bot.interfaces.cli.{part}" for part in parts))
    services = {"bot.services.composition", "bot.agents.turn", "bot.runtime.constellation"}
    assert not found & {*services, "discord", "atproto", "numpy"}


def test_the_service_loads_nothing_of_the_terminal_or_of_what_answers_need_later() -> None:
    found = loaded(
        "bot.interfaces.cli.long_running_commands, bot.interfaces.cli.serve, bot.interfaces.discord.frontend"
    )
    rest = {*HEAVY, "atproto_client", "babel", "genai_prices", "httpcore", "jinja2", "starlette"}
    assert found.isdisjoint(rest - {"aiohttp", "discord"})
    assert found.isdisjoint({"cryptography", "feedparser", "libipld", "markdown_it", "mcp", "tomlkit"})
    assert found.isdisjoint({"dateutil.rrule", "dotenv", "simpleeval"})
    rare = [
        "bot.interfaces.cli.commands",
        "bot.interfaces.cli.database_files",
        "bot.interfaces.cli.wizard",
        "bot.interfaces.cli.doctor",
        "bot.interfaces.mcp_server",
        "bot.interfaces.web.application",
        "memory.portability.exports",
        "memory.portability.imports",
        "sources.bluesky.lookups",
        "sources.feeds",
    ]
    assert [name for name in found if name.startswith(tuple(rare))] == []
