"""`carina status`: how the running service stands, or what it would start with."""

from typing import Any

import typer

from bot.cli.ending import exit_code
from bot.cli.files import examine, worst
from bot.cli.holder import holder_of
from bot.cli.printing import print_data, print_lines
from bot.config import OFFLINE, Config
from bot.embedding import missing_words
from memory.errors import StoreError
from memory.folder import DataFolder

_IDLE = "configured; the service is not running"


async def show_status(config: Config, *, as_json: bool) -> None:
    """Print it; a service that does not run is no failure, it is what there is to say.

    A database that cannot be opened as it is, is one: the exit code is that of a command that tries to.
    """
    folder = DataFolder(config.home)
    error = None
    if (holder := holder_of(folder)) is not None:
        found = await holder.ask("status")
        state = "running"
    else:
        found, error = _idle(config, folder)
        state = "not running; see to the database first" if error else "not running; `carina run` starts it"
    lines = found.pop("lines")
    if as_json:
        print_data(found)
    else:
        print_lines([f"{found['constellation']}: {state}", *lines])
    if error is not None:
        raise typer.Exit(exit_code(error))


def _idle(config: Config, folder: DataFolder) -> tuple[dict[str, Any], StoreError | None]:
    """What configuration and files say, in the shape of a running service's answer; and what to see to first."""
    unset = config.unset()
    fronts = dict.fromkeys(config.sources, _IDLE)
    agents = {agent.name: config.model_of(agent) for agent in config.agents}
    embedding = f"{config.embedding_model}: {missing_words(config.embedding_model) or _IDLE}"
    names = [name for name in dict.fromkeys((*agents.values(), *config.model.fallback)) if name != OFFLINE]
    files = examine(folder)
    found = {
        "running": False,
        "constellation": config.constellation.name,
        "databases": [file.data(config.home) for file in files],
        "fronts": fronts,
        "not_configured": unset,
        "models": [{"model": name, "state": "not asked yet", "words": _IDLE} for name in names],
        "embedding": embedding,
        "mcp": dict.fromkeys(config.mcp, _IDLE),
        "agents": agents,
        "lines": [
            *(f"database: {file.problem}" for file in files if file.problem),
            *(f"{name}: {words}" for name, words in fronts.items()),
            *(f"{part}: not configured (set {setting})" for part, setting in unset.items()),
            *(f"model {name}: {_IDLE}" for name in names),
            f"embedding: {embedding}",
            *(f"MCP server {name}: {_IDLE}" for name in config.mcp),
            *(f"agent {name}: {model}" for name, model in agents.items()),
        ],
    }
    return found, worst(files)
