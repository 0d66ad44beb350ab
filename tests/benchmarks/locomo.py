"""The conversations of LoCoMo as messages in stores of the product, and their questions.

One store for each conversation, a message for each turn with its speaker, a minute after the one before it; sessions
begin at their own dates. Questions whose evidence is not among the turns are left out.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memory.people.audience import PUBLIC, Trust
from memory.queue import messages
from memory.store.database import Tx
from memory.store.ids import MessageId, PersonId, PlaceId

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}


@dataclass(frozen=True)
class Turn:
    id: str
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True)
class Question:
    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True)
class Conversation:
    """`skipped` questions have no usable evidence."""

    turns: list[Turn]
    questions: list[Question]
    skipped: int


def conversations(path: Path) -> list[Conversation]:
    """What a file like locomo-dev.json holds; raises ValueError for one that does not."""
    try:
        return [_conversation(given) for given in json.loads(path.read_text("utf-8"))]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} does not hold conversations as locomo-dev.json does: {error!r}") from error


def _conversation(given: dict[str, Any]) -> Conversation:
    turns = list(turns_of(given))
    questions = list(questions_of(given, {turn.id for turn in turns}))
    return Conversation(turns, questions, len(given["questions"]) - len(questions))


def evidence(given: Sequence[str]) -> frozenset[str]:
    """Ids of turns, out of strings of which some are malformed ("D8:6; D9:17", "D:11:26", "D30:05")."""
    found = (re.search(r"D:?(\d+):(\d+)", part) for text in given for part in re.split(r"[;,\s]+", text))
    return frozenset(f"D{int(match[1])}:{int(match[2])}" for match in found if match)


def turns_of(conversation: dict[str, Any]) -> Iterator[Turn]:
    for session in conversation["sessions"]:
        begin = datetime.strptime(session["date"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for number, turn in enumerate(session["turns"]):
            caption = f" [shares image: {turn['caption']}]" if turn.get("caption") else ""
            yield Turn(turn["id"], turn["speaker"], turn["text"] + caption, begin + timedelta(minutes=number))


def questions_of(conversation: dict[str, Any], known: set[str]) -> Iterator[Question]:
    for given in conversation["questions"]:
        needed = evidence(given["evidence"]) & known
        if needed:
            yield Question(given["question"], given["category"], needed)


def hear(tx: Tx, who: str, text: str, name: str, at: datetime, where: str = "talk") -> MessageId:
    """A message that everybody heard, with that external ID."""
    place, person = PlaceId(f"bench:{where}"), PersonId(f"bench:{who}")
    said = messages.NewMessage(place, person, who, text, "bench", name, PUBLIC, Trust.APPROVED, at)
    return messages.add(tx, said)


def store(tx: Tx, turns: Sequence[Turn]) -> None:
    """All turns as messages in one place."""
    for turn in turns:
        hear(tx, turn.speaker, turn.text, turn.id, turn.at)
