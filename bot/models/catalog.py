"""All configured models, each created once and loaded at its first call.

A turn gets a chain: the model, its fallbacks, and at the end the offline model, which always answers. Each link
retries, sends a smaller request if necessary, and pauses a provider that keeps failing.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress

from msgspec import Struct

from bot.config import Config
from bot.config.values import KEY_OF_PROVIDER, OFFLINE
from bot.errors import ConfigError
from bot.models.base import Access, Limits, Model, ModelError, Request
from bot.models.calls_written_as_text import LenientModel
from bot.models.health import ModelHealth
from bot.models.offline import OfflineModel
from bot.models.retry_and_fallback import BreakerModel, FallbackModel, LazyModel, RetryingModel
from bot.redactor import Redactor
from memory.agents import Agent
from memory.store.clock import Clock
from memory.store.records import replace
from texts import _, reason_of


class ModelCatalog:
    """The models; `fallback` follows any model in order; `keys` and `base_urls` are by provider, and `images` says
    whether images are sent to such a server. Nothing is loaded yet."""

    def __init__(
        self,
        *,
        fallback: Sequence[str] = (),
        keys: Mapping[str, str],
        base_urls: Mapping[str, str],
        images: bool = False,
        offline: Model,
        limits: Limits,
    ) -> None:
        self._fallback = tuple(name for name in fallback if name != OFFLINE)
        self._keys, self._base_urls, self._images = keys, base_urls, images
        self._offline = offline
        self._limits = limits
        self._lazy: dict[str, LazyModel] = {}
        self._links: dict[str, BreakerModel] = {}
        self._chains: dict[str, Model] = {}
        for name in self._fallback:
            self._link(name)

    def model(self, name: str) -> Model:
        """The chain that begins with this model; it loads at the first call. Raises ConfigError."""
        if name == OFFLINE:
            return self._offline
        if name not in self._chains:
            names = dict.fromkeys((name, *self._fallback))
            self._chains[name] = FallbackModel([*map(self._link, names), self._offline])
        return self._chains[name]

    async def get(self, name: str) -> Model:
        """The chain, with its first model loaded."""
        chain = self.model(name)
        if name in self._lazy:
            await self._lazy[name].open()
        return chain

    def health(self, names: Iterable[str] = ()) -> tuple[ModelHealth, ...]:
        """The health of all models of these names and of the fallbacks, each once; the offline one is always
        included."""
        asked = dict.fromkeys(name for name in (*names, *self._fallback) if name != OFFLINE)
        return tuple(map(self._health, asked))

    async def try_out(self, name: str, request: Request) -> None:
        """Call one model alone, without its fallbacks, which determines its health."""
        with suppress(ModelError, ConfigError):
            async with aclosing(self._link(name).complete(request)) as events:
                async for _event in events:
                    pass

    def _health(self, name: str) -> ModelHealth:
        try:
            return self._link(name).health
        except ConfigError as error:  # of an agent in the database whose model was configured once
            return ModelHealth(name, reason=reason_of(error))

    async def aclose(self) -> None:
        for model in self._lazy.values():
            await model.aclose()

    def _link(self, name: str) -> BreakerModel:
        if name not in self._links:
            access = self._access(name)
            self._lazy[name] = lazy = LazyModel(access)
            asked: Model = LenientModel(lazy) if access.base_url else lazy
            share = self._limits.chain / (1 + len(self._fallback))
            tried = RetryingModel(asked, tries=self._limits.tries, seconds=share)
            self._links[name] = BreakerModel(tried)
        return self._links[name]

    def _access(self, name: str) -> Access:
        provider, _, model = name.partition(":")
        if provider not in KEY_OF_PROVIDER or not model:
            known = ", ".join(KEY_OF_PROVIDER)
            raise ConfigError(
                'model "{name}": expected "offline" or "provider:model", with one of: {known}', name=name, known=known
            )
        key, base_url = self._keys.get(provider, ""), self._base_urls.get(provider, "")
        if not key and not (provider == "openai" and base_url):
            raise ConfigError(
                '{provider}_API_KEY: not set; expected a key for the model "{name}"',
                provider=provider.upper(),
                name=name,
            )
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ConfigError("{name}_API_KEY: expected ASCII characters without spaces", name=provider.upper())
        return Access(name, self._limits, key, base_url, self._images)


class ModelSelection(Struct, frozen=True):
    config: Config
    catalog: ModelCatalog

    async def choose(self, agent: Agent) -> Model:
        return await self.catalog.get(agent.model or self.config.model.default)

    async def load(self, names: Iterable[str]) -> None:
        """Load the models in a thread, so that the first answer is as quick as the next."""
        for name in dict.fromkeys((self.config.model.default, *filter(None, names))):
            with suppress(ConfigError):  # reported by the call
                await self.catalog.get(name)

    def health(self, names: Iterable[str] = ()) -> tuple[ModelHealth, ...]:
        """The health of the models of these names and the fallbacks, in words without secrets."""
        redact = Redactor(self.config.secrets()).text
        return tuple(replace(found, reason=redact(_(found.reason))) for found in self.catalog.health(names))


@asynccontextmanager
async def open_models(config: Config, clock: Clock) -> AsyncIterator[ModelSelection]:
    """Create the models of a configuration; providers are loaded at their first call. Raises ConfigError."""
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
