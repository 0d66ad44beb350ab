"""Anthropic's models, by its Messages protocol."""

from itertools import groupby
from typing import Any

from msgspec import Struct

from bot.models import normalization
from bot.models.base import Access, AssistantMessage, Message, Request, ToolMessage, UserMessage
from bot.models.http_model import Assembly, Finish, HttpModel, PartialCall

_OFFICIAL = "https://api.anthropic.com"
_VERSION = "2023-06-01"
_MOST_TOKENS = 4_096  # the protocol requires a limit for every answer
_FINISH: dict[str, Finish] = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "filter"}
_CACHED = {"cache_control": {"type": "ephemeral"}}


def connect(access: Access) -> HttpModel:
    base = (access.base_url or _OFFICIAL).rstrip("/")
    headers = {"x-api-key": access.key, "anthropic-version": _VERSION}
    return HttpModel(access, f"{base}/v1/messages", headers, Messages(access.model))


class Messages(Struct, frozen=True):
    model: str

    def document(self, request: Request) -> dict[str, Any]:
        """The request. Parts that stay the same from turn to turn, and the conversation so far, are marked for
        caching."""
        found: dict[str, Any] = {
            "model": self.model,
            "max_tokens": request.max_tokens or _MOST_TOKENS,
            "messages": _messages(request),
            "stream": True,
        }
        if request.system.strip():
            found["system"] = [{"type": "text", "text": request.system, **_CACHED}]
        if request.tools:
            found["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in request.tools
            ]
            if any(tool.name == request.force_tool for tool in request.tools):
                found["tool_choice"] = {"type": "tool", "name": request.force_tool}
        if request.temperature is not None:
            found["temperature"] = request.temperature
        return found

    def read(self, event: Any, answer: Assembly) -> str:
        match event:
            case {"type": "error"}:
                raise answer.failed(event)
            case {"type": "message_start", "message": {"usage": dict() as usage}}:
                answer.counts.update(usage)
            case {"type": "content_block_start", "index": index, "content_block": {"type": "tool_use", **block}}:
                answer.calls.append(PartialCall(index, block.get("id"), block.get("name")))
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str() as text}}:
                return answer.say(text)
            case {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": str() as thought}}:
                answer.reasoning += thought
            case {"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", **delta}}:
                for call in answer.calls:
                    if call.index == index:
                        call.add(None, None, delta.get("partial_json"))
            case {"type": "message_delta", "delta": {"stop_reason": str() as reason}}:
                answer.finish = _FINISH.get(reason, "stop")
                usage = event.get("usage")
                answer.counts.update({k: v for k, v in (usage or {}).items() if v is not None})
            case dict():  # pings, ends of blocks, and new event types
                return ""
            case _:
                raise answer.garbage()
        return ""


def _messages(request: Request) -> list[dict[str, Any]]:
    """The messages alternating between user and assistant, beginning with the user; consecutive ones of a role are
    merged."""
    blocks = [
        ("assistant" if isinstance(message, AssistantMessage) else "user", block)
        for message in normalization.repair_calls(request.messages)
        for block in _blocks(message)
    ]
    if blocks and blocks[0][0] == "assistant":
        blocks.insert(0, ("user", {"type": "text", "text": normalization.EMPTY}))
    if blocks:
        blocks[-1][1].update(_CACHED)
    return [{"role": role, "content": [block for _, block in group]} for role, group in groupby(blocks, lambda b: b[0])]


def _blocks(message: Message) -> list[dict[str, Any]]:
    match message:
        case UserMessage():
            pictures = [{"type": "image", "source": _source(url)} for url in message.images]
            return [{"type": "text", "text": normalization.shown(message.text)}, *pictures]
        case ToolMessage(call_id, _, text, ok):
            given = {
                "tool_use_id": normalization.call_id(call_id),
                "content": normalization.shown(text),
                "is_error": not ok,
            }
            return [{"type": "tool_result", **given}]
    said: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    calls = (
        {
            "type": "tool_use",
            "id": normalization.call_id(call.id),
            "name": normalization.tool_name(call.name),
            "input": normalization.values(call.arguments),
        }
        for call in message.calls
    )
    return [*said, *calls]


def _source(url: str) -> dict[str, str]:
    if (held := normalization.held_image(url)) is None:
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": held[0], "data": held[1]}
