"""The tables [mcp.<name>]: what they take, and what is said of what they do not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.config import Config, load_config
from bot.errors import ConfigError
from tests.mcp.stage import KEY, ROOT

AGENT = '[[agents]]\nname = "Carina"\n'


def read(folder: Path, toml: str, **environ: str) -> Config:
    (folder / "carina.toml").write_text(toml, "utf-8")
    return load_config({"CARINA_HOME": str(folder / "data"), **environ}, folder)


def test_secrets_come_from_the_environment_and_are_redacted(tmp_path: Path) -> None:
    toml = '[mcp.weather]\ncommand = "weather"\nenv = { API_KEY = "WEATHER_KEY" }\n'
    config = read(tmp_path, toml, WEATHER_KEY=KEY)
    assert config.mcp["weather"].ask == "always"
    assert KEY in config.secrets()
    assert KEY not in repr(config)


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("[mcp.weather]\n", "either a command to run or the url of a server"),
        ('[mcp.weather]\ncommand = "a"\nurl = "http://b.test"\n', "either a command to run or the url of a server"),
        ('[mcp.weather]\nurl = "b.test"\n', "expected a URL with http:// or https:// at the beginning"),
        ('[mcp.weather]\nurl = "http://b.test"\nargs = ["-x"]\n', "no args together with a url"),
        ('[mcp.weather]\ncommand = "a"\nheaders = { X = "Y" }\n', "no headers together with a command"),
        ('[mcp.my_weather]\ncommand = "a"\n', "a name of at most 24 lowercase letters"),
        (
            '[mcp.weather]\ncommand = "a"\nenv = { KEY = "WEATHER_KEY" }\n',
            '"WEATHER_KEY"; expected a variable that is set',
        ),
        ('[mcp.weather]\ncommand = "a"\nseconds = 61\n', "expected at most limits.tool_seconds, which is 60"),
        (
            '[mcp.weather]\ncommand = "a"\ntools = ["b"]\nread_only = ["c"]\n',
            'with names that are also in tools, not "c"',
        ),
        ('[mcp.weather]\ncommand = "a"\nask = "sometimes"\n', "ask"),
        (f'{AGENT}tools = ["mcp:weather"]\n', "has no table [mcp.weather]"),
        (f'{AGENT}tools = ["mcp:wether"]\n[mcp.weather]\ncommand = "a"\n', 'did you mean "weather"?'),
        (f'{AGENT}tools = ["weather_forecast"]\n[mcp.weather]\ncommand = "a"\n', 'or "mcp:<server>"'),
        (
            f'{AGENT}tools = ["recall"]\nrules = [{{ rule = "max_calls", tool = "weather_forecast", count = 1 }}]\n',
            "rules that name this agent's tools",
        ),
    ],
)
def test_what_cannot_be(tmp_path: Path, toml: str, words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, toml)
    assert words in str(raised.value)


LOOK = """
import asyncio, sys
from pathlib import Path
import bot.interfaces.cli.long_running_commands, bot.interfaces.discord.frontend
from bot.app import build
from bot.config import load_config

async def main():
    async with build(load_config({"EMBEDDING_MODEL": "none"}, Path.cwd())):
        unused = "mcp", "mcp_types", "jsonschema", "starlette", "httpx2", "atproto_client"
        print([name for name in unused if name in sys.modules])

asyncio.run(main())
"""


def test_no_library_is_loaded_where_neither_a_server_nor_bluesky_is_configured(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_a_key_in_the_place_of_a_variable_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, f'[mcp.weather]\ncommand = "a"\nenv = {{ KEY = "{KEY}" }}\n')
    assert KEY not in str(raised.value)
    assert "the name of an environment variable, not its value" in str(raised.value)
