"""Asking for less: a request that is too long, or whose images are not taken, is sent once more without them."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from bot.models.base import (
    AssistantMessage,
    ContextTooLong,
    Event,
    Message,
    ModelError,
    ModelRejected,
    Request,
    UserMessage,
)
from bot.models.events import ModelWrapper, Relay
from sources.text import flatten


class ShorteningModel(ModelWrapper):
    """One second try with a smaller request, where there is one."""

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        relay = Relay()
        try:
            async with aclosing(relay.listen(self._model, request)) as events:
                async for event in events:
                    yield event
            return
        except (ContextTooLong, ModelRejected) as error:
            smaller = smaller_request(request, error)
            if smaller is None or (request.compactable and isinstance(error, ContextTooLong)):
                raise
        async with aclosing(relay.listen(self._model, smaller)) as events:
            async for event in events:
                yield event


def smaller_request(request: Request, error: ModelError) -> Request | None:
    """What to ask instead, or None when nothing can be left out."""
    match error:
        case ContextTooLong():
            return without_older_half(request)
        case ModelRejected():
            return without_images(request)
    return None


def without_older_half(request: Request) -> Request | None:
    """Cut before a person's message, so that no call loses its result; the newest message of a person stays."""
    starts = [i for i, message in enumerate(request.messages) if isinstance(message, UserMessage)]
    spoken = [i for i in starts if _said(request.messages[i])]
    newest = (spoken or starts or [0])[-1]
    half = sum(map(_size, request.messages)) / 2
    fitting = (i for i in starts if 0 < i < newest and sum(map(_size, request.messages[i:])) <= half)
    cut = next(fitting, newest)
    return replace(request, messages=request.messages[cut:]) if cut else None


def _said(message: Message) -> bool:
    return isinstance(message, UserMessage) and bool(message.said or message.images)


def _size(message: Message) -> int:
    calls: Sequence[str] = [c.arguments for c in message.calls] if isinstance(message, AssistantMessage) else ()
    return len(message.text) + sum(map(len, calls))


def without_images(request: Request) -> Request | None:
    """The same with the images named in words."""
    if not any(isinstance(message, UserMessage) and message.images for message in request.messages):
        return None
    messages = (in_words(message) if isinstance(message, UserMessage) else message for message in request.messages)
    return replace(request, messages=tuple(messages))


def in_words(message: UserMessage) -> UserMessage:
    """The message naming its images instead of showing them."""
    if not message.images:
        return message
    names = (urlsplit(url).path.rpartition("/")[2] for url in message.images)
    lines = (f"[image that you cannot see: {flatten(unquote(name)) or 'unnamed'}]" for name in names)
    return message._replace(text="\n".join((message.text, *lines)), images=())
