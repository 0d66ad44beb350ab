"""Models behind Chat Completions servers, which differ wherever the protocol leaves something open."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from bot.models import normalization
from bot.models.base import Access, AssistantMessage, Call, Message, Request, ToolMessage, ToolSpec, UserMessage
from bot.models.http_model import DONE, Assembly, EncodedPart, Finish, HttpModel, PartialCall, as_json
from memory.store.recent_values import MadeOf

SERVERS = {
    "openai": "https://api.openai.com/v1",
    "google": "https://generativelanguage.googleapis.com/v1beta/openai",
    "groq": "https://api.groq.com/openai/v1",
    "mistral": "https://api.mistral.ai/v1",
}
_UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""Google requires a signature on every returned call, or this value (https://ai.google.dev/gemini-api/docs/openai)."""
_KEPT_PARTS, _KEPT_PROMPTS = 1_500, 100
_FINISH: dict[str, Finish] = {"length": "length", "max_tokens": "length", "content_filter": "filter"}


def connect(access: Access) -> HttpModel:
    base = (access.base_url or SERVERS[access.provider]).rstrip("/")
    key = {"Authorization": f"Bearer {access.key}"} if access.key else {}
    # Some of the others do not know the newer name.
    limit = "max_completion_tokens" if access.provider == "openai" and not access.base_url else "max_tokens"
    dialect = ChatCompletions(access.model, limit, access.provider, sees=access.images or not access.base_url)
    return HttpModel(access, f"{base}/chat/completions", key, dialect)


@dataclass(frozen=True)
class ChatCompletions:
    model: str
    limit: str
    provider: str
    sees: bool

    def document(self, request: Request) -> dict[str, Any]:
        found: dict[str, Any] = {
            "model": self.model,
            "messages": self._messages(request),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            found["tools"] = _listed(map(self._encoded, request.tools))
            forced = any(tool.name == request.force_tool for tool in request.tools)
            chosen = {"type": "function", "function": {"name": request.force_tool}}
            found["tool_choice"] = chosen if forced else "auto"
        if request.temperature is not None:
            found["temperature"] = request.temperature
        if request.max_tokens is not None:
            found[self.limit] = request.max_tokens
        if request.form is not None:
            schema = {"name": "answer", "strict": True, "schema": self._shape(request.form)}
            found["response_format"] = {"type": "json_schema", "json_schema": schema}
        return found

    def read(self, event: Any, answer: Assembly) -> str:
        if event == DONE:
            answer.end()
            return ""
        if not isinstance(event, dict):
            raise answer.garbage()
        if event.get("error"):
            raise answer.failed(event)
        if isinstance(usage := event.get("usage"), dict):
            answer.counts = usage
        match event.get("choices"):
            case [dict() as choice, *_]:
                return _choice(choice, answer)
            case None | []:
                return ""
        raise answer.garbage()

    @cached_property
    def _encoded(self) -> MadeOf[Message | ToolSpec, EncodedPart]:
        """Cached as the same object for the next request, which repeats most of the conversation and the tools."""
        return MadeOf(self._part, _KEPT_PARTS)

    def _messages(self, request: Request) -> EncodedPart:
        every = [_said("system", request.system)] if request.system.strip() else []
        before: Message | None = None
        for message in normalization.repair_calls(request.messages):
            if self.provider == "mistral" and isinstance(before, ToolMessage) and isinstance(message, UserMessage):
                every.append(_said("assistant", "OK."))  # it accepts no user message right after a result
            match message:
                case UserMessage(images=()) | AssistantMessage(calls=()) | ToolMessage(data=None):
                    every.append(self._encoded(message))
                case _:
                    every.append(self._part(message))
            before = message
        return _listed(every)

    def _part(self, message: Message | ToolSpec) -> EncodedPart:
        match message:
            case ToolSpec():
                about = {"description": message.description, "parameters": self._shape(message.parameters)}
                return EncodedPart(as_json({"type": "function", "function": {"name": message.name, **about}}))
            case ToolMessage(call_id, _, text):
                return _said("tool", normalization.shown(text), self._id(call_id))
            case AssistantMessage(text, ()):
                return _said("assistant", text)
            case AssistantMessage(text, calls):
                said = text if text.strip() else None
                made = [{"id": self._id(call.id), **_call(call), **self._signed()} for call in calls]
                return EncodedPart(as_json({"role": "assistant", "content": said, "tool_calls": made}))
        if not (message.images and self.sees):
            return _said("user", normalization.shown(normalization.in_words(message).text))
        pictures = [{"type": "image_url", "image_url": {"url": url}} for url in message.images]
        content = [{"type": "text", "text": normalization.shown(message.text)}, *pictures]
        return EncodedPart(as_json({"role": "user", "content": content}))

    def _id(self, given: str) -> str:
        """A call's id in the provider's format, even if another model made the call: Mistral refuses others."""
        return normalization.short_call_id(given) if self.provider == "mistral" else normalization.call_id(given)

    def _shape(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        return normalization.plain_schema(schema) if self.provider == "google" else schema

    def _signed(self) -> dict[str, Any]:
        return {"extra_content": _UNSIGNED} if self.provider == "google" else {}


def _choice(choice: dict[str, Any], answer: Assembly) -> str:
    delta = choice.get("delta") or choice.get("message") or {}
    if not isinstance(delta, dict):
        raise answer.garbage()
    if isinstance(finish := choice.get("finish_reason"), str):
        answer.finish = _FINISH.get(finish, "stop")
    thought = delta.get("reasoning_content") or delta.get("reasoning")
    answer.reasoning += thought if isinstance(thought, str) else ""
    for piece in delta.get("tool_calls") or ():
        _add_call(piece, answer)
    return answer.say(_text(delta.get("content"), answer) or _text(delta.get("refusal"), answer))


def _text(content: object, answer: Assembly) -> str:
    """The text. Some servers send a list of parts; those with thinking are skipped."""
    match content:
        case None:
            return ""
        case str():
            return content
        case [*parts]:
            return "".join(_part(part) for part in parts)
    raise answer.garbage()


def _part(part: object) -> str:
    match part:
        case {"text": str() as text}:
            return text
    return ""


def _add_call(piece: object, answer: Assembly) -> None:
    """Add a call, whole or in pieces, which are joined by index; a new id always begins a new one."""
    if not isinstance(piece, dict) or not isinstance(function := piece.get("function") or {}, dict):
        raise answer.garbage()
    index, found = piece.get("index"), piece.get("id")
    known = next((call for call in answer.calls if index is not None and call.index == index), None)
    if known is None and index is None and not found and answer.calls:
        known = answer.calls[-1]
    if known is None or (found and known.id and found != known.id):
        known = PartialCall(index)
        answer.calls.append(known)
    known.add(found, function.get("name"), function.get("arguments"))


def _listed(parts: Iterable[EncodedPart]) -> EncodedPart:
    return EncodedPart(b"[" + b",".join(parts) + b"]")


@lru_cache(maxsize=_KEPT_PROMPTS)  # for system prompts, which are long
def _said(role: str, text: str, call: str = "") -> EncodedPart:
    """A message that is only text."""
    answers = {"tool_call_id": call} if call else {}
    return EncodedPart(as_json({"role": role, **answers, "content": text}))


def _call(call: Call) -> dict[str, Any]:
    function = {"name": normalization.tool_name(call.name), "arguments": normalization.arguments(call.arguments)}
    return {"type": "function", "function": function}
