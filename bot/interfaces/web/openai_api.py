"""The API for OpenAI clients: each agent and each group is a model.

Only the last message of a request counts, because the agent remembers the earlier ones. Settings that would have no
effect are refused.
"""

import base64
import hashlib
import json
import mimetypes
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import JSONResponse, Response

from bot.errors import UserError
from bot.interfaces.web.conversations import Answer, Conversation, PartialAnswer
from bot.interfaces.web.refusals import Refusal
from bot.interfaces.web.request import Context
from memory.people.web_sessions_and_tokens import WebKey
from memory.queue.payloads import Attachment
from memory.store.records import replace
from sources.attachments import received

PREFIX = "carina/"
_USUAL: Mapping[str, Any] = {
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "logprobs": False,
    "store": False,
    "tools": [],
    "response_format": {"type": "text"},
}
"""Values that many clients always send and that have no effect."""
_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,", re.IGNORECASE)
_Tokens = Annotated[int, Field(ge=1, lt=2**31)]
_WHY = {
    "tools": "an agent has tools of its own; tools of a client are not supported",
    "functions": "an agent has tools of its own; functions of a client are not supported",
}

_EXPECTED = {
    "messages": "expected a list with what you say last",
    "model": 'expected a name such as "carina/Carina"',
    "n": "can only be 1: an agent answers once",
    "user": "expected 1 to 64 letters, digits and . @ + - _",
}


class BadRequest(Refusal):
    """A request that cannot be served; `parameter` names the invalid field."""

    def __init__(self, words: str, parameter: str | None = None, status: int = 400, code: str | None = None) -> None:
        super().__init__(status, words)
        self.parameter, self.code = parameter, code


class StreamOptions(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    include_usage: bool | None = None


class ChatRequest(BaseModel):
    """A request for an answer."""

    model_config = ConfigDict(strict=True, extra="allow", hide_input_in_errors=True)

    model: Annotated[str, Field(min_length=1)]
    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    user: Annotated[str, Field(pattern=r"^[\w.@+-]{1,64}$")] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_completion_tokens: _Tokens | None = None
    max_tokens: _Tokens | None = None

    @property
    def name(self) -> str:
        return self.model.removeprefix(PREFIX)

    @property
    def usage(self) -> bool:
        return self.stream_options is not None and bool(self.stream_options.include_usage)


async def models(ctx: Context) -> Response:
    """List the agents and groups as models."""
    names = await _names(ctx)
    return JSONResponse({"object": "list", "data": [_model(name) for name in names]})


async def model(ctx: Context) -> Response:
    """Show one agent or group as a model."""
    name, names = ctx.request.path_params["name"].removeprefix(PREFIX), await _names(ctx)
    found = next((each for each in names if each.casefold() == name.casefold()), None)
    if found is None:
        raise _not_there(name, names)
    return JSONResponse(_model(found))


async def completions(ctx: Context) -> Response:
    """Send the last message of the request to an agent or group, and return the answer, whole or as a stream."""
    asked = _asked(await ctx.json())
    to, said = await _begun(ctx, asked)
    head = {"id": f"chatcmpl-{said}", "created": int(time.time()), "model": f"{PREFIX}{to.to.name}"}
    if asked.stream:
        return ctx.stream(_streamed(ctx, to, said, head, asked.usage))
    text = await _whole(ctx, to, said)
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    usage = await _usage(ctx, said)
    return JSONResponse({**head, "object": "chat.completion", "choices": [choice], "usage": usage})


async def _begun(ctx: Context, asked: ChatRequest) -> tuple[Conversation, str]:
    """Send the message; returns the conversation and its id. Raises BadRequest, UserError."""
    key: WebKey = ctx.request.state.key
    text, files = _said(asked.messages[-1].get("content"))
    to = await _conversation(ctx, key, asked.name, asked.user or "")
    identifier = _identifier(ctx, key, asked.user or "", files)
    if identifier and await ctx.web.talk.said_otherwise(to, text, identifier):
        raise BadRequest("This Idempotency-Key was used for another request.", status=422)
    to = replace(to, temperature=asked.temperature, max_tokens=asked.max_completion_tokens or asked.max_tokens)
    return to, await ctx.web.talk.say(to, text, identifier, files)


async def _whole(ctx: Context, to: Conversation, said: str) -> str:
    """The answer when it is complete. Raises BadRequest."""
    answer = Answer(())
    async for each in ctx.web.talk.follow(to.place.id, said):
        answer = each if isinstance(each, Answer) else answer
    if answer.error:
        raise BadRequest(answer.error, status=500)
    return "\n\n".join(answer.texts)


async def _pieces(ctx: Context, to: Conversation, said: str) -> AsyncIterator[str]:
    """The answer in pieces, as it is written. Raises BadRequest."""
    sent, last = "", ""
    async for each in ctx.web.talk.follow(to.place.id, said):
        text = each.text if isinstance(each, PartialAnswer) else ""
        if isinstance(each, Answer):
            if each.error:
                raise BadRequest(each.error, status=500)
            text = "\n\n".join(each.texts)
        if more := _more(sent, last, text):
            sent, last = sent + more, text
            yield more


async def _streamed(ctx: Context, to: Conversation, said: str, head: dict[str, Any], usage: bool) -> AsyncIterator[str]:
    shape = {**head, "object": "chat.completion.chunk"}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return _event({**shape, "choices": [choice], **({"usage": None} if usage else {})})

    yield chunk({"role": "assistant", "content": ""})
    try:
        async for piece in _pieces(ctx, to, said):
            yield chunk({"content": piece})
    except BadRequest as error:
        yield _event({"error": {"message": str(error), "type": "server_error", "param": None, "code": None}})
        return
    yield chunk({}, "stop")
    if usage:
        yield _event({**shape, "choices": [], "usage": await _usage(ctx, said)})
    yield "data: [DONE]\n\n"


def _more(sent: str, last: str, text: str) -> str:
    """The unsent rest of a text; a text that starts over, as after a tool call, is set off from the one before."""
    if not text or sent.endswith(text):
        return ""
    if text.startswith(last):
        return text[len(last) :]
    return f"\n\n{text}"


def _asked(given: dict[str, Any]) -> ChatRequest:
    """The parsed request. Raises BadRequest."""
    try:
        asked = ChatRequest.model_validate(given)
    except ValidationError as error:
        first, *_rest = error.errors()
        name = str(first["loc"][0])
        raise BadRequest(f"{name}: {_EXPECTED.get(name, first['msg'])}.", name) from None
    for name, value in (asked.model_extra or {}).items():
        if value is not None and (name not in _USUAL or value != _USUAL[name]):
            raise BadRequest(f"{name} cannot be given: {_WHY.get(name, 'it would change nothing here')}.", name)
    if any(each.get("role") in ("system", "developer") for each in asked.messages):
        raise BadRequest("System messages are not supported: an agent has instructions of its own.", "messages")
    last = asked.messages[-1]
    if last.get("role") != "user":
        raise BadRequest('The last message must have the role "user".', "messages")
    if ignored := [name for name in last if name not in ("role", "content") and last[name] is not None]:
        raise BadRequest(f"The last message can only have role and content, not {ignored[0]}.", "messages")
    return asked


def _said(content: Any) -> tuple[str, tuple[Attachment, ...]]:
    """The text of a message and its files. Raises BadRequest."""
    texts, files = list[str](), list[Attachment]()
    for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        match part:
            case {"type": "text", "text": str() as text}:
                texts.append(text)
            case {"type": "image_url", "image_url": {"url": str() as url, **more}}:
                files.append(_offered(url, f"image {len(files) + 1}", more))
            case {"type": "file", "file": {"file_data": str() as data, **more}}:
                files.append(_offered(data, more.pop("filename", None) or f"file {len(files) + 1}", more))
            case {"type": "file" | "input_image"}:
                raise BadRequest(
                    "A file is sent with its content, as file_data: nothing is uploaded or loaded.", "messages"
                )
            case _:
                raise BadRequest("A message has text, images and files; nothing else is supported.", "messages")
    text, taken = "\n\n".join(texts), received(files)
    if refused := next((each for each in taken if each.skipped), None):
        raise BadRequest(f"{refused.name} cannot be taken: {refused.skipped}.", "messages")
    if not text.strip() and not taken:
        raise BadRequest("The last message has no text.", "messages")
    return text, taken


def _offered(data: str, name: object, more: Mapping[object, object]) -> Attachment:
    """A file that a message contains as a data URL or as plain base64. Raises BadRequest."""
    if ignored := [each for each, value in more.items() if value not in (None, "auto")]:
        raise BadRequest(f"{ignored[0]} cannot be given: it would change nothing here.", "messages")
    found = _DATA.match(data)
    if found is None and re.match(r"[a-z]+:", data, re.IGNORECASE):
        raise BadRequest(f"{name} is not loaded from another server: send it as a data: URL with base64.", "messages")
    try:
        content = base64.b64decode(data[found.end() if found else 0 :], validate=True)
    except ValueError:
        raise BadRequest(f"{name} is not valid base64.", "messages") from None
    kind = (found[1] or "") if found else mimetypes.guess_type(str(name))[0] or ""
    return Attachment(str(name), kind, len(content), content=content)


async def _names(ctx: Context) -> list[str]:
    return await ctx.web.talk.names(ctx.key.agent if ctx.key is not None else None)


def _not_there(name: str, names: list[str]) -> BadRequest:
    there = ", ".join(f"{PREFIX}{each}" for each in names) or "none"
    return BadRequest(f"There is no model {PREFIX}{name}; available: {there}.", "model", 404, "model_not_found")


async def _conversation(ctx: Context, key: WebKey, name: str, user: str) -> Conversation:
    names = await _names(ctx)
    if key.agent is not None and name.casefold() not in map(str.casefold, names):
        raise _not_there(name, names)
    try:
        return await ctx.web.talk.conversation(key.name, name, user)
    except UserError as error:
        raise _not_there(name, names) from error


def _identifier(ctx: Context, key: WebKey, user: str, files: Sequence[Attachment]) -> str:
    """The message's id with a digest of its files; the same idempotency key sends a message only once."""
    if not (given := ctx.request.headers.get("idempotency-key", "")):
        return ""
    said, held = hashlib.sha256(f"{key.id} {user} {given}".encode()).hexdigest()[:32], hashlib.sha256()
    for each in files:
        held.update(f"{each.name}\n{each.content_type}\n{each.size}\n{each.text}\n".encode() + each.content)
    return f"api-{said}.{held.hexdigest()[:16]}" if files else f"api-{said}"


async def _usage(ctx: Context, said: str) -> dict[str, int]:
    taken, written = await ctx.web.talk.tokens(said)
    return {"prompt_tokens": taken, "completion_tokens": written, "total_tokens": taken + written}


def _model(name: str) -> dict[str, Any]:
    return {"id": f"{PREFIX}{name}", "object": "model", "created": 0, "owned_by": "carina"}


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


ROUTES = (
    ("GET", "/v1/models", models),
    ("GET", "/v1/models/{name:path}", model),
    ("POST", "/v1/chat/completions", completions),
)
