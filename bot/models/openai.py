"""OpenAI and every server that speaks Chat Completions. Imported on first use: it costs seconds and megabytes."""

from urllib.parse import urlsplit

from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider

from bot.models.access import Access
from bot.models.provider import ProviderModel

_OFFICIAL = "https://api.openai.com/v1"
_NO_KEY = "none"  # the client sends some key, also to a server that needs none


def connect(access: Access) -> ProviderModel:
    """Nothing is sent yet. Both the address and the key are given, or the library would look in the environment."""
    provider = OpenAIProvider(base_url=access.base_url or _OFFICIAL, api_key=access.key or _NO_KEY)
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    official = urlsplit(access.base_url or _OFFICIAL).hostname == urlsplit(_OFFICIAL).hostname
    if not official:
        profile["openai_chat_supports_max_completion_tokens"] = False  # older servers know max_tokens only
    model = OpenAIChatModel(access.model, provider=provider, profile=profile)
    return ProviderModel(access, model, provider, sees=None if official else False)
