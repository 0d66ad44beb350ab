"""Anthropic's models. Imported on first use: it costs seconds and megabytes."""

from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from bot.models.access import Access
from bot.models.provider import ProviderModel

_OFFICIAL = "https://api.anthropic.com"


def connect(access: Access) -> ProviderModel:
    """Nothing is sent yet. The address is given, or the library would look in the environment."""
    provider = AnthropicProvider(api_key=access.key, base_url=access.base_url or _OFFICIAL)
    return ProviderModel(access, AnthropicModel(access.model, provider=provider), provider)
