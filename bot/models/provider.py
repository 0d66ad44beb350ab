"""A model of a provider, asked through pydantic-ai: one attempt, streamed, every failure one of ours."""

import json
import mimetypes
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic_ai import exceptions as theirs
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model as TheirModel
from pydantic_ai.models import ModelRequestParameters, infer_model
from pydantic_ai.providers import Provider, infer_provider_class
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from bot.models import normalize
from bot.models.base import (
    Access,
    Answer,
    AssistantMessage,
    Call,
    ContextTooLong,
    Event,
    ModelBusy,
    ModelError,
    ModelGarbage,
    ModelRefused,
    ModelRejected,
    Request,
    TextDelta,
    ToolMessage,
    Trouble,
    Usage,
    UserMessage,
)
from bot.models.http_model import cut_off, late, no_answer, one_line, refusal
from bot.models.normalize import Pieces, clean
from texts import gettext_lazy


def failure(error: Exception, model: str, secret: str) -> ModelError:
    """The error of ours that says what may be done now."""
    match error:
        case theirs.ModelContextWindowExceededError():
            return ContextTooLong(f"{model}: the conversation is too long for it")
        case theirs.ModelQuotaExceededError():
            reason = gettext_lazy("{model} refused access ({code})", model=model, code=type(error).__name__)
            return ModelRefused(reason, trouble=Trouble.QUOTA)
        case theirs.ModelHTTPError(status_code=status, body=body):
            return refusal(status, body, error.retry_after, model, secret)
        case theirs.ModelRequestTimeout() | theirs.ModelTimeoutError():
            return late(model)
        case theirs.ModelConnectionError(phase=phase):
            return cut_off(model, phase or "closed")
        case theirs.ModelRateLimitError() | theirs.ModelUnavailableError() | theirs.ModelServerError():
            return ModelBusy(f"{model} is busy or failing ({type(error).__name__})", error.retry_after)
        case theirs.UserError():
            return ModelRejected(f"{model} cannot be asked that: {one_line(error.message, secret)}")
        case _:
            return no_answer(model, type(error).__name__)


_FINISH: dict[str | None, Literal["stop", "length", "filter"]] = {
    "stop": "stop",
    "tool_call": "stop",
    "length": "length",
    "content_filter": "filter",
}


def to_messages(request: Request, *, images: bool) -> list[ModelMessage]:
    """The conversation as it is sent; images are shown to a model that can see, else named in words."""
    sent: list[ModelMessage] = []
    parts: list[ModelRequestPart] = [SystemPromptPart(clean(request.system))] if request.system.strip() else []
    for message in normalize.mended(request.messages):
        match message:
            case UserMessage():
                parts.append(_user_part(message if images else normalize.in_words(message)))
            case ToolMessage(call_id, name, text, ok):
                outcome: Literal["success", "failed"] = "success" if ok else "failed"
                called, given = normalize.tool_name(name), normalize.call_id(call_id)
                parts.append(ToolReturnPart(called, normalize.shown(text), tool_call_id=given, outcome=outcome))
            case AssistantMessage():
                if parts:
                    sent.append(ModelRequest(parts))
                    parts = []
                sent.append(_response(message))
    return [*sent, ModelRequest(parts)] if parts else sent


def to_parameters(request: Request) -> ModelRequestParameters:
    """The tools, in the order they were given."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=clean(tool.description),
                parameters_json_schema=json.loads(clean(json.dumps(tool.parameters, ensure_ascii=False))),
            )
            for tool in request.tools
        ]
    )


def _user_part(message: UserMessage) -> UserPromptPart:
    text = normalize.shown(message.text)
    images = [_image(clean(url)) for url in message.images]
    return UserPromptPart([text, *images] if images else text)


def _image(url: str) -> ImageUrl:
    """A picture by its address; one whose address does not end in a type is taken for a photograph."""
    kind, _ = mimetypes.guess_type(urlsplit(url).path)
    return ImageUrl(url, media_type=kind if kind and kind.startswith("image/") else "image/jpeg")


def _response(message: AssistantMessage) -> ModelResponse:
    text = [TextPart(clean(message.text))] if message.text.strip() else []
    calls = (
        ToolCallPart(
            normalize.tool_name(call.name), normalize.arguments(call.arguments), tool_call_id=normalize.call_id(call.id)
        )
        for call in message.calls
    )
    return ModelResponse([*text, *calls])


def to_answer(response: ModelResponse, model: str) -> Answer | None:
    """The whole answer, or None when it was not finished."""
    raw = (response.provider_details or {}).get("finish_reason")
    known = "stop" if response.finish_reason is None and raw else response.finish_reason  # a server's own word
    finish = _FINISH.get(known)
    if finish is None or response.state != "complete":
        return None
    calls = tuple(
        Call(normalize.call_id(part.tool_call_id), clean(part.tool_name), clean(_arguments(part)))
        for part in response.tool_calls
    )
    return Answer(
        clean(response.text or ""), calls, _usage(response), model, finish, reasoning=clean(response.thinking or "")
    )


def _arguments(part: ToolCallPart) -> str:
    """As the model wrote them, valid or not."""
    return part.args if isinstance(part.args, str) else json.dumps(part.args or {}, ensure_ascii=False)


def _usage(response: ModelResponse) -> Usage:
    usage = response.usage
    cost = _cost(response)
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cost_usd=None if cost is None else float(cost),
    )


def _cost(response: ModelResponse) -> Decimal | None:
    try:
        return response.cost().total_price
    except (LookupError, ValueError):  # no known price; nothing measured
        return None


_SPOILED = (AgentRunError, UserError, ValueError, TypeError, LookupError, AttributeError)
"""pydantic-ai's own errors, and what it stumbles over when a server sends JSON of another shape than agreed."""


class ProviderModel:
    """`provider` closes the HTTP client of `model` and is entered by whoever opens this."""

    def __init__(
        self,
        access: Access,
        model: TheirModel,
        provider: AbstractAsyncContextManager[Any],
    ) -> None:
        profile = model.profile
        self.name = access.name
        self.context_window = profile.get("context_window") or access.context_window
        self.provider = provider
        self._access = access
        self._model = model
        self._sees = profile.get("supports_image_input", True)
        self._can_force = profile.get("supports_forced_tool_choice", True) and (
            not profile.get("thinking_enabled_by_default", False)
            or profile.get("supports_forced_tool_choice_with_thinking", True)
        )

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        asking = model_request_stream(
            self._model,
            to_messages(request, images=self._sees),
            model_settings=self._settings(request),
            model_request_parameters=to_parameters(request),
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
        answer = to_answer(response, self.name)
        if answer is None:
            raise ModelGarbage(gettext_lazy("{name} stopped in the middle of its answer", name=self.name))
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


def connect(access: Access) -> ProviderModel:
    """Nothing is sent yet."""
    options = {"api_key": access.key, "base_url": access.base_url}
    make: Any = infer_provider_class(access.provider)
    provider: Provider[Any] = make(**{key: value for key, value in options.items() if value})
    return ProviderModel(access, infer_model(access.name, provider_factory=lambda _: provider), provider)
