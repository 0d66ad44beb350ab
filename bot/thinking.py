"""Which model answers for an agent: its own or the service's, with the fallbacks and the offline model behind it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from bot.config import Config
from bot.models.access import Limits
from bot.models.base import Model
from bot.models.catalog import OFFLINE, build_models
from bot.models.offline import OfflineModel
from memory.agents import Agent
from memory.clock import Clock

ChooseModel: TypeAlias = Callable[[Agent], Awaitable[Model]]


@asynccontextmanager
async def open_models(config: Config, clock: Clock) -> AsyncIterator[ChooseModel]:
    """Make the models of a configuration; providers are loaded when they are first asked. Raises ConfigError."""
    configured = config.model.default if config.model.default != OFFLINE else ""
    catalog = build_models(
        fallback=config.model.fallback,
        keys={provider: key.get_secret_value() for provider, key in config.keys.items()},
        base_urls={"openai": config.openai_base_url} if config.openai_base_url else {},
        offline=OfflineModel(clock, unreachable=configured),
        limits=Limits(
            attempt=config.model.timeout_seconds,
            silence=config.model.stall_seconds,
            chain=config.limits.turn_seconds * 0.9,
            tries=1 + config.model.retries,
        ),
    )

    async def choose(agent: Agent) -> Model:
        return await catalog.get(agent.model or config.model.default)

    try:
        yield choose
    finally:
        await catalog.aclose()
