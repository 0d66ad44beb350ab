"""Finding out, from a channel's history, which of our messages arrived there. Pure."""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.store.ids import OutboxId
from sources.base import Delivery
from sources.outgoing import outgoing
from sources.text import flatten, units

CLOCK_MARGIN = timedelta(seconds=5)
"""How far our clock may be ahead of Discord's."""

MAX_NAME = 32
PREFIX_ROOM = MAX_NAME + len("****: ")


@dataclass(frozen=True)
class Said:
    """A message of ours that stands in the history."""

    id: int
    at: datetime
    text: str
    reply_to: str = ""
    files: int = 0


def prefixed(speaker: str, text: str, limit: int) -> str:
    """The text under an agent's name, where the account itself has to speak for it; without it if it would not fit."""
    name = flatten(speaker, MAX_NAME)
    named = f"**{name}**: {text}"
    return named if name and units(named) <= limit else text


def matched(
    deliveries: Iterable[Delivery], said: Iterable[Said], taken: Container[int], limit: int
) -> dict[OutboxId, str]:
    """Which deliveries stand there: same words, same reference if any, not older; identical ones in order."""
    left = [one for one in sorted(said, key=lambda one: one.id) if one.id not in taken]
    found: dict[OutboxId, str] = {}
    for delivery in deliveries:
        match = next((one for one in left if _same(delivery, one, limit)), None)
        if match is not None:
            left.remove(match)
            found[delivery.id] = str(match.id)
    return found


def _same(delivery: Delivery, said: Said, limit: int) -> bool:
    words = _words(said.text)
    forms = (delivery.text, prefixed(delivery.speaker, delivery.text, limit))
    return (
        said.at >= delivery.created_at - CLOCK_MARGIN
        and words in map(_words, forms)
        and said.reply_to in ("", delivery.reply_to)
        and said.files == len(delivery.files)
    )


def _words(text: str) -> str:
    return " ".join(outgoing(text).split())
