"""Which model answers for an agent: its own or the service's, with the fallbacks and the offline model behind it."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

from bot.config import Config
from bot.errors import ConfigError
from bot.models.base import Limits, Model
from bot.models.catalog import ModelCatalog
from bot.models.health import ModelHealth
from bot.models.offline import OfflineModel
from bot.secrets import Redactor
from memory.agents import Agent
from memory.store.clock import Clock
from texts import _


@dataclass(frozen=True)
class ModelSelection:
    config: Config
    catalog: ModelCatalog

    async def choose(self, agent: Agent) -> Model:
        return await self.catalog.get(agent.model or self.config.model.default)

    async def load(self, names: Iterable[str]) -> None:
        """Load what these models need, in a thread, so that the first answer is as quick as the next."""
        for name in dict.fromkeys((self.config.model.default, *filter(None, names))):
            with suppress(ConfigError):  # said where it is asked
                await self.catalog.get(name)

    def health(self, names: Iterable[str] = ()) -> tuple[ModelHealth, ...]:
        """How the models of these names and the fallbacks stand, in words without secrets."""
        redact = Redactor(self.config.secrets()).text
        return tuple(replace(found, reason=redact(_(found.reason))) for found in self.catalog.health(names))


@asynccontextmanager
async def open_models(config: Config, clock: Clock) -> AsyncIterator[ModelSelection]:
    """Make the models of a configuration; providers are loaded when they are first asked. Raises ConfigError."""
    catalog = ModelCatalog(
        fallback=config.model.fallback,
        keys={provider: key.get_secret_value() for provider, key in config.keys.items()},
        base_urls={"openai": config.openai_base_url} if config.openai_base_url else {},
        images=config.model.base_url_images,
        offline=OfflineModel(clock, zone=config.schedule.zone_name()),
        limits=Limits(
            attempt=config.model.timeout_seconds,
            silence=config.model.stall_seconds,
            chain=config.limits.turn_seconds * 0.9,
            tries=1 + config.model.retries,
        ),
    )
    try:
        yield ModelSelection(config, catalog)
    finally:
        await catalog.aclose()
