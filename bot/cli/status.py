"""`carina status`: how the running service stands, or what it would start with."""

import json
from typing import Any

from rich.console import Console

from bot import control
from bot.config import OFFLINE, Config
from bot.embedding import missing_words
from memory.folder import DataFolder

_IDLE = "configured; the service is not running"


async def show_status(config: Config, *, as_json: bool) -> None:
    """Print it; a service that does not run is no failure, it is what there is to say."""
    folder = DataFolder(config.home)
    running = config.home.is_dir() and folder.holder() is not None
    found = await control.ask(folder, "status") if running else _idle(config)
    lines = found.pop("lines")
    console = Console(highlight=False, soft_wrap=True)
    if as_json:
        console.print(json.dumps(found, ensure_ascii=False, indent=2), markup=False)
        return
    state = "running" if found["running"] else "not running; `carina run` starts it"
    for line in (f"{found['constellation']}: {state}", *lines):
        console.print(line, markup=False)


def _idle(config: Config) -> dict[str, Any]:
    """What the configuration says, in the shape of a running service's answer."""
    unset = config.unset()
    fronts = {} if config.discord_token is None else {"discord": _IDLE}
    agents = {agent.name: config.model_of(agent) for agent in config.agents}
    embedding = f"{config.embedding_model}: {missing_words(config.embedding_model) or _IDLE}"
    names = [name for name in dict.fromkeys((*agents.values(), *config.model.fallback)) if name != OFFLINE]
    return {
        "running": False,
        "constellation": config.constellation.name,
        "fronts": fronts,
        "not_configured": unset,
        "models": [{"model": name, "state": "not asked yet", "words": _IDLE} for name in names],
        "embedding": embedding,
        "agents": agents,
        "lines": [
            *(f"{name}: {words}" for name, words in fronts.items()),
            *(f"{part}: not configured (set {setting})" for part, setting in unset.items()),
            *(f"model {name}: {_IDLE}" for name in names),
            f"embedding: {embedding}",
            *(f"agent {name}: {model}" for name, model in agents.items()),
        ],
    }
