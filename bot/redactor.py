"""Keeps secrets out of everything that is stored or sent: they are replaced by value, wherever they occur.

A secret is recognized by its value, not by the name of its field, so it is found in the middle of a URL, in an
exception's text and in a model's output. Logs, outgoing text, transcripts and memory writes go through one `Redactor`.
"""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

T = TypeVar("T")

MASK = "[secret]"
SHORTEST = 8
"""Characters; a shorter value would also be part of ordinary words."""


def _base64_forms(raw: bytes) -> set[str]:
    """The base64 forms of `raw` inside a longer text ("user:token"), without the ends that depend on it."""
    forms = set()
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + raw).decode("ascii").rstrip("=")
        first = (before * 8 + 5) // 6  # characters mixed with the preceding text
        last = (before + len(raw)) * 8 // 6  # the character after these mixes with the following text
        core = encoded[first:last]
        forms |= {core, core.replace("+", "-").replace("/", "_")}
    return forms


def _lower_escapes(quoted: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quoted)


def _forms(secret: str) -> set[str]:
    """The value and its common encodings, each at least as long as the shortest secret."""
    quoted = {quote(secret, safe=""), quote(secret), quote_plus(secret)}
    quoted |= {_lower_escapes(text) for text in quoted}
    raw = secret.encode("utf-8", "surrogatepass")
    escaped = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], repr(secret)[1:-1]}
    escaped |= {json.dumps(text, ensure_ascii=False)[1:-1] for text in escaped}  # tool arguments in an export
    forms = {secret, *quoted, *escaped, *_base64_forms(raw)}
    return {form for form in forms if len(form) >= SHORTEST}


class Redactor:
    """Replaces the given secrets by "[secret]". Values shorter than 8 characters are ignored."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def text(self, text: str) -> str:
        """The text without secrets."""
        return self._pattern.sub(MASK, text) if self._pattern else text

    def clean(self, value: T) -> T:
        """The value without secrets in any text in dicts (including keys), lists, tuples, sets and bytes; other values
        stay."""
        return self._clean(value) if self._pattern else value

    def _clean(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case bytes():
                cleaned = self.text(value.decode("utf-8", "surrogateescape"))
                return cleaned.encode("utf-8", "surrogateescape")
            case Mapping():
                return {self._clean(key): self._clean(held) for key, held in value.items()}
            case list() | tuple() | set() | frozenset():
                rebuild: Any = getattr(value, "_make", type(value))  # a named tuple takes each value by itself
                return rebuild(map(self._clean, value))
            case _:
                return value
