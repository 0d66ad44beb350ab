"""Normalizes a conversation into a form that every provider accepts, before each call. Pure.

Providers refuse a whole conversation because of one odd character, id or unanswered call, and would do so at every
later turn.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from bot.models.base import AssistantMessage, Call, Message, ToolMessage, UserMessage, json_object
from sources.names import flatten
from texts import gettext_lazy

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Pieces:
    """Cleans a text that arrives in pieces; one that ends within a character waits for the rest."""

    def __init__(self) -> None:
        self._half = ""

    def add(self, piece: str) -> str:
        text = self._half + piece
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return clean(text.removesuffix(self._half) if self._half else text)


EMPTY = "(empty)"  # some providers refuse blank text
_UNKNOWN_RESULT = "The result of this call was lost; whether it took effect is not known."


def repair_calls(messages: Sequence[Message]) -> list[Message]:
    """The messages with every call directly followed by its result, no result without its call, and no empty answer."""
    mended: list[Message] = []
    for i, message in enumerate(messages):
        match message:
            case AssistantMessage(text, calls):
                if text.strip() or calls:
                    mended.append(message)
                if calls:  # rare; this runs for each message of each prompt
                    mended += (_result(call, messages[i + 1 :]) for call in calls)
            case UserMessage():
                mended.append(message)
    return mended


def _result(call: Call, later: Iterable[Message]) -> ToolMessage:
    found = (message for message in later if isinstance(message, ToolMessage) and message.call_id == call.id)
    return next(found, ToolMessage(call.id, call.name, _UNKNOWN_RESULT, ok=False))


def call_id(given: str) -> str:
    """An id that every provider accepts; one that some would refuse becomes its hash."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,40}", given):
        return given
    return f"call_{_hash(given)[:24]}"


def short_call_id(given: str) -> str:
    """An id for a provider that accepts only nine letters and digits."""
    return given if re.fullmatch(r"[A-Za-z0-9]{9}", given) else _hash(given)[:9]


def _hash(given: str) -> str:
    return hashlib.sha256(clean(given).encode()).hexdigest()


def tool_name(name: str) -> str:
    """A tool's name as providers accept it; a model may have invented an invalid one."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"


def values(given: str) -> dict[str, Any]:
    """The arguments of a call as an object, even if the model wrote something else."""
    text = clean(given)
    if (found := json_object(text)) is not None:
        return found
    return {"INVALID_JSON": text} if text.strip() else {}


def arguments(given: str) -> str:
    """The arguments as JSON text; valid text from the model stays as it is, so that caches match."""
    text, found = clean(given), values(given)
    return text if text.strip() and "INVALID_JSON" not in found else json.dumps(found, ensure_ascii=False)


_SCHEMA_KEYS = frozenset((
    *("type", "description", "nullable", "enum", "items", "properties", "required", "anyOf", "default"),
    *("minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength"),
))  # fmt: skip
_MOST_PARTS = 1_000


def plain_schema(given: Mapping[str, Any], described: Callable[[str], str] = str) -> dict[str, Any]:
    """The part of a JSON Schema that every provider accepts: few keywords, one type, parts instead of references.

    Google refuses requests with more. Calls are still checked against the rest. Descriptions pass through `described`.
    Raises ValueError if references make it too large.
    """
    named = given.get("$defs") or given.get("definitions") or {}
    left = iter(range(_MOST_PARTS))

    def plain(schema: Any, within: tuple[str, ...] = ()) -> dict[str, Any]:
        if next(left, None) is None:
            raise ValueError(gettext_lazy("the schema of its arguments has too many parts"))
        if not isinstance(schema, dict):
            return {}
        schema = _joined(schema)
        if isinstance(reference := schema.get("$ref"), str):
            name = reference.rpartition("/")[2]
            if name in within or not isinstance(named.get(name), dict):
                return {"type": "object"}
            return plain({**named[name], **{key: schema[key] for key in schema if key != "$ref"}}, (*within, name))
        found = {key: value for key, value in schema.items() if key in _SCHEMA_KEYS}
        choices = [schema["const"]] if "const" in schema else found.pop("enum", ())
        if choices and all(isinstance(each, str) for each in choices):
            found["enum"] = choices
        if isinstance(kinds := found.get("type"), list):
            found |= {"type": next((each for each in kinds if each != "null"), "null"), "nullable": "null" in kinds}
        if several := schema.get("anyOf") or schema.get("oneOf"):
            found["anyOf"] = [plain(each, within) for each in several]
        if "items" in found:
            found["items"] = plain(found["items"], within)
        if "properties" in found:
            found["properties"] = {name: plain(each, within) for name, each in found["properties"].items()}
        if "description" in found:
            found["description"] = described(found["description"])
        return found

    return plain(given)


def _joined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with what its parts in `allOf` say: some libraries write references beside descriptions in this way."""
    parts = (*schema.get("allOf", ()), schema)
    return {key: value for each in parts if isinstance(each, dict) for key, value in each.items() if key != "allOf"}


def shown(text: str) -> str:
    """Text that can be sent: never blank, no lone surrogates."""
    return clean(text) if text.strip() else EMPTY


def held_image(url: str) -> tuple[str, str] | None:
    """The type and base64 text of the image in a `data:` URL; None for any other URL."""
    found = re.match(r"data:([\w/+.-]+);base64,", url)
    return None if found is None else (found[1], url[found.end() :])


def in_words(message: UserMessage) -> UserMessage:
    """The message with its images named instead of shown."""
    if not message.images:
        return message
    held = ((url, held_image(url)) for url in message.images)
    names = (urlsplit(url).path.rpartition("/")[2] if kind is None else kind[0] for url, kind in held)
    lines = (f"[image that you cannot see: {flatten(unquote(name)) or 'unnamed'}]" for name in names)
    return message._replace(text="\n".join((message.text, *lines)), images=())
