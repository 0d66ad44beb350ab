"""Small servers as real processes, and the tables of the configuration that name them."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.agents.mcp import Servers
from bot.agents.mcp.servers import connecting
from bot.config import load_config
from bot.models.base import Call, ToolSpec
from bot.redactor import Redactor
from memory.queue.notifications import Place, Speaker
from tests.bot.parts import HALL, OLGA, call, results, said, says
from tests.bot.stage import Service, Setting, running, until
from tests.mcp.behaviour import Behaviour

ROOT = Path(__file__).parents[2]
KEY = "s3cret-key-of-the-server"
"""What the server is given in confidence, under WEATHER_KEY here and API_KEY there."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"town": {"type": "string", "description": "Its name."}, "days": {"type": "integer"}},
    "required": ["town"],
}
FORECAST = {"name": "forecast", "description": "The weather of a town.", "inputSchema": SCHEMA}


class Small:
    """One server: what it does, and what it was called for."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self._behaviour = Behaviour(folder)
        self.does()

    def does(self, *tools: Mapping[str, Any], start: str = "", **faults: str) -> None:
        """It lists these tools from now on (none: the forecast); faults are by tool."""
        found = {"tools": tools or [FORECAST], "start": start, "faults": faults}
        new = self._behaviour.file.with_suffix(".new")
        new.write_text(json.dumps(found), "utf-8")
        new.replace(self._behaviour.file)

    @property
    def called(self) -> list[dict[str, Any]]:
        """Every call that reached it, in order."""
        file = self._behaviour.calls
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []

    @property
    def process(self) -> int:
        return int((self.folder / "pid").read_text("utf-8"))

    @property
    def towns(self) -> list[str]:
        return [call["arguments"]["town"] for call in self.called]

    def stdio(self, more: str = "", name: str = "weather") -> str:
        """The table of the configuration for it as a command."""
        command = ["-m", "tests.mcp.stdio_server", str(self.folder)]
        return "\n".join(
            [
                f"[mcp.{name}]",
                f"command = {json.dumps(sys.executable)}",
                f"args = {json.dumps(command)}",
                f"cwd = {json.dumps(str(ROOT))}",
                'env = { API_KEY = "WEATHER_KEY" }',
                more,
                "",
            ]
        )

    def http(self, port: int, more: str = "") -> str:
        url, headers = f"http://127.0.0.1:{port}/mcp", 'headers = { Authorization = "WEATHER_KEY" }'
        return f'[mcp.weather]\nurl = "{url}"\n{headers}\n{more}\n'


@asynccontextmanager
async def serving(small: Small, port: int = 0, *, answers: str = "json") -> AsyncIterator[int]:
    """It running as an HTTP server; gives its port."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.mcp.http_server", str(small.folder), str(port), answers),
        env={"API_KEY": KEY},
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            bound = int(await process.stdout.readline())
        yield bound
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


# ------------------------------------------------------------------------------------------------------ in real turns


@dataclass
class Stage:
    """The service of `tests.bot.stage` with an agent that has the tools of such a server."""

    service: Service
    servers: Servers

    @property
    def words(self) -> str:
        """How the server stands."""
        return self.servers.states()["weather"]

    async def asked(self, *calls: Call, place: Place = HALL, speaker: Speaker = OLGA) -> list[tuple[str, bool]]:
        """Have the agent make the calls one after the other; what came of them."""
        model = self.service.model
        model.replies.extend([*(says("", each) for each in calls), says("Done.")])
        await self.service.heard(said("how is the weather?", len(model.requests) + 1, place, speaker))
        return results(model.requests[-1])[-len(calls) :]

    async def works(self, *calls: Call) -> bool:
        """Whether each of the calls, made one after the other, did what was wanted."""
        return all(ok for _text, ok in await self.asked(*calls))

    async def refused(self, call: Call) -> str:
        """Why a call did not do what was wanted."""
        ((text, ok),) = await self.asked(call)
        assert not ok
        return text

    async def offered(self) -> dict[str, ToolSpec]:
        """The tools of the server as a model is shown them."""
        self.service.model.replies.append(says("Yes."))
        await self.service.heard(said("are you there?", 1_000 + len(self.service.model.requests), HALL, OLGA))
        return {tool.name: tool for tool in self.service.model.requests[-1].tools if tool.name.startswith("weather_")}

    async def until(self, true: Callable[[str], bool], seconds: float = 20) -> None:
        """Wait until the server stands so."""

        async def stands() -> bool:
            return true(self.words)

        await until(stands, seconds)


@asynccontextmanager
async def weather(folder: Path, table: str, *, tools: str = '"mcp:weather", "recall"') -> AsyncIterator[Stage]:
    (folder / ".env").write_text(f"WEATHER_KEY={KEY}\n", "utf-8")
    toml = f'{table}\n[[agents]]\nname = "Carina"\ntools = [{tools}]\n'
    (folder / "carina.toml").write_text(toml, "utf-8")
    config = load_config({"CARINA_HOME": str(folder)}, folder)
    redact = Redactor(config.secrets()).text
    servers = connecting(config, redact)
    keeping = asyncio.create_task(servers.run())
    try:
        async with running(folder, Setting(toml=toml, mcp=servers, redact=redact)) as service:
            yield Stage(service, servers)
    finally:
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping


def forecast(town: str = "Linz", **more: Any) -> Call:
    return call("weather_forecast", town=town, **more)
