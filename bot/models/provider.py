"""A model of a provider, asked through pydantic-ai: one attempt, streamed, every failure one of ours."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Any

from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import ModelResponseStreamEvent, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import Model as TheirModel
from pydantic_ai.settings import ModelSettings

from bot.models import convert
from bot.models.access import Access
from bot.models.base import Event, ModelGarbage, Request, TextDelta
from bot.models.failures import failure
from bot.models.text import Pieces

_SPOILED = (AgentRunError, UserError, ValueError, TypeError, LookupError, AttributeError)
"""pydantic-ai's own errors, and what it stumbles over when a server sends JSON of another shape than agreed."""


class ProviderModel:
    """`provider` closes the HTTP client of `model` and is entered by whoever opens this."""

    def __init__(
        self,
        access: Access,
        model: TheirModel,
        provider: AbstractAsyncContextManager[Any],
        *,
        sees: bool | None = None,
    ) -> None:
        profile = model.profile
        self.name = access.name
        self.context_window = profile.get("context_window") or access.context_window
        self.provider = provider
        self._access = access
        self._model = model
        self._sees = profile.get("supports_image_input", True) if sees is None else sees
        self._can_force = profile.get("supports_forced_tool_choice", True) and (
            not profile.get("thinking_enabled_by_default", False)
            or profile.get("supports_forced_tool_choice_with_thinking", True)
        )

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        asking = model_request_stream(
            self._model,
            convert.to_messages(request, images=self._sees),
            model_settings=self._settings(request),
            model_request_parameters=convert.to_parameters(request),
        )
        pieces = Pieces()
        try:
            async with asking as stream:
                async for event in stream:
                    if text := pieces.add(_text_of(event)):
                        yield TextDelta(text)
                response = stream.get()
        except _SPOILED as error:
            # Without its cause: the library's error quotes the response, which may quote the key.
            raise failure(error, self.name, self._access.key) from None
        answer = convert.to_answer(response, self.name)
        if answer is None:
            raise ModelGarbage(f"{self.name} stopped in the middle of its answer")
        yield answer

    def _settings(self, request: Request) -> ModelSettings:
        limits = self._access.limits
        settings = ModelSettings(max_retries=0, timeout=limits.silence, request_timeout=limits.attempt, cache=True)
        if request.temperature is not None:
            settings["temperature"] = request.temperature
        if request.max_tokens is not None:
            settings["max_tokens"] = request.max_tokens
        if self._can_force and any(tool.name == request.force_tool for tool in request.tools):
            settings["tool_choice"] = [request.force_tool]
        return settings


def _text_of(event: ModelResponseStreamEvent) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            return text
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
    return ""
