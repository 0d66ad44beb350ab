"""Our messages as pydantic-ai's, and its answer as ours. Pure.

Providers refuse a whole conversation for one odd character, id or unanswered call, and would go on refusing it
at every later turn; so everything is brought into a form that all of them take.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Literal

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

from bot.models.base import Answer, AssistantMessage, Call, Message, Request, ToolMessage, Usage, UserMessage
from bot.models.shorten import in_words
from bot.models.text import clean

_FINISH: dict[str | None, Literal["stop", "length", "filter"]] = {
    "stop": "stop",
    "tool_call": "stop",
    "length": "length",
    "content_filter": "filter",
}
_EMPTY = "(empty)"  # some providers refuse blank text
_UNKNOWN_RESULT = "The result of this call was lost; whether it took effect is not known."


def to_messages(request: Request, *, images: bool) -> list[ModelMessage]:
    """The conversation as it is sent; images are shown to a model that can see, else named in words."""
    sent: list[ModelMessage] = []
    parts: list[ModelRequestPart] = [SystemPromptPart(clean(request.system))] if request.system.strip() else []
    for message in mended(request.messages):
        match message:
            case UserMessage():
                parts.append(_user_part(message if images else in_words(message)))
            case ToolMessage(call_id, name, text, ok):
                outcome: Literal["success", "failed"] = "success" if ok else "failed"
                shown = clean(text) if text.strip() else _EMPTY
                parts.append(ToolReturnPart(wire_name(name), shown, tool_call_id=wire_id(call_id), outcome=outcome))
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


def mended(messages: Sequence[Message]) -> list[Message]:
    """Every call directly followed by its result, no result without its call, no empty answer."""
    mended: list[Message] = []
    for i, message in enumerate(messages):
        match message:
            case AssistantMessage(text, calls):
                if text.strip() or calls:
                    mended.append(message)
                mended += (_result(call, messages[i + 1 :]) for call in calls)
            case UserMessage():
                mended.append(message)
    return mended


def _result(call: Call, later: Iterable[Message]) -> ToolMessage:
    found = (message for message in later if isinstance(message, ToolMessage) and message.call_id == call.id)
    return next(found, ToolMessage(call.id, call.name, _UNKNOWN_RESULT, ok=False))


def wire_id(call_id: str) -> str:
    """Providers take different characters and lengths; an id that not all of them take becomes its hash."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,40}", call_id):
        return call_id
    return "call_" + hashlib.sha256(clean(call_id).encode()).hexdigest()[:24]


def wire_name(name: str) -> str:
    """A tool's name as providers take it; a model may have invented one they do not."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"


def _wire_arguments(arguments: str) -> str:
    """An object as JSON text, also where the model wrote something else."""
    text = clean(arguments)
    try:
        usable = isinstance(json.loads(text), dict)
    except ValueError:
        usable = False
    return text if usable else json.dumps({"INVALID_JSON": text} if text.strip() else {}, ensure_ascii=False)


def _user_part(message: UserMessage) -> UserPromptPart:
    text = clean(message.text) if message.text.strip() else _EMPTY
    images = [ImageUrl(clean(url)) for url in message.images]
    return UserPromptPart([text, *images] if images else text)


def _response(message: AssistantMessage) -> ModelResponse:
    text = [TextPart(clean(message.text))] if message.text.strip() else []
    calls = (
        ToolCallPart(wire_name(call.name), _wire_arguments(call.arguments), tool_call_id=wire_id(call.id))
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
        Call(wire_id(part.tool_call_id), clean(part.tool_name), clean(_arguments(part))) for part in response.tool_calls
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
