"""What a person reads on Discord, wherever in a message it stands."""

from collections.abc import Iterator
from typing import Any

from simcord.components import walk_components


def text_of(result: Any) -> str:
    """The words of all answers to an interaction."""
    shown = [result.response, *result.followups]
    return "\n".join(words for message in shown if message is not None for words in words_of(message))


def words_of(message: Any) -> Iterator[str]:
    """Content, and what stands in containers."""
    if message.content:
        yield message.content
    parts = [each if isinstance(each, dict) else each.to_dict() for each in message.components]
    yield from (part["content"] for part in walk_components(parts) if part["type"] == 10)
