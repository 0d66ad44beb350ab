"""Our messages as pydantic-ai's, and its answer as ours. Pure."""

import json
import mimetypes
from decimal import Decimal
from typing import Literal
from urllib.parse import urlsplit

from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from bot.models import normalize
from bot.models.base import Answer, AssistantMessage, Call, Request, ToolMessage, Usage, UserMessage
from bot.models.shorten import in_words
from bot.models.text import clean

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
                parts.append(_user_part(message if images else in_words(message)))
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
    return Answer(clean(response.text or ""), calls, _usage(response), model, finish)


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
