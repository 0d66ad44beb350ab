"""Any other provider that pydantic-ai knows by name; its client library comes with an extra."""

from typing import Any

from pydantic_ai.models import infer_model
from pydantic_ai.providers import Provider, infer_provider_class

from bot.models.access import Access
from bot.models.provider import ProviderModel


def connect(access: Access) -> ProviderModel:
    """Nothing is sent yet."""
    options = {"api_key": access.key, "base_url": access.base_url}
    make: Any = infer_provider_class(access.provider)
    provider: Provider[Any] = make(**{key: value for key, value in options.items() if value})
    return ProviderModel(access, infer_model(access.name, provider_factory=lambda _: provider), provider)
