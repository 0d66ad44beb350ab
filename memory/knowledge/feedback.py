"""Feedback on our answers, and failures in making them: signals that upkeep learns from.

No words are stored here: a correction refers to its message and is deleted with it. Signals have the audience of the
place and the trust of the person.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from memory.knowledge.items import By, Kind
from memory.people.audience import Audience, Trust
from memory.people.hidden_people import heeded
from memory.store.clock import to_text
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, MessageId, PersonId, PlaceId, TurnId
from memory.store.lazy import UnicodePattern
from memory.store.row_mapper import RowMapper


class Signal(StrEnum):
    CORRECTION = "correction"
    UP = "thumbs_up"
    DOWN = "thumbs_down"
    FAILURE = "tool_failure"


ORDERS = (
    r"(?:mind|worry|know|think|bother|care|(?:let\s+(?:me|us)\s+)?forget|(?:the\s+|my\s+|all\s+)*(?:timer|alarm)s?)\b"
)
"""What follows "don't", "never" or "stop" where nothing is said against an answer."""
_CORRECTS = UnicodePattern(
    rf"""^\W*(?:
    no[,.!]\s | nope\b | wrong[,.!] | actually, | i\s+(?:meant|said)\b | try\s+again\b
    | (?:no,?\s+)?(?:that|this|it)(?:['’]s|\s+is|\s+was)\s+(?:wrong|incorrect|not\s+(?:right|correct|true|what))
    | (?:you['’]re|you\s+are|you\s+were)\s+(?:wrong|mistaken) | that\s+did(?:n['’]t|\s+not)\s+work
    | (?:please\s+)?(?:don['’]t|do\s+not|never|stop)\s(?!{ORDERS})
    | nein[,.!]\s | nee[,.!]\s | falsch[,.!] | eigentlich,?\s | ich\s+(?:meinte|sagte|habe\s+gesagt)\b
    | (?:das|es)\s+(?:stimmt|passt|geht)\s+(?:so\s+)?nicht | du\s+(?:irrst|liegst\s+falsch)
    | (?:das|es)\s+(?:ist|war)\s+(?:falsch|nicht\s+richtig|nicht\s+korrekt)
    | das\s+hat\s+nicht\s+(?:funktioniert|geklappt) | versuch['’]?s?\s+(?:es\s+)?noch
    | (?:hör\s+auf|lass\s+das|nie\s+wieder|niemals\s|bitte\s+(?:nicht|nie|kein))
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_UP = ("👍", "❤", "💯", "🙏", ":+1:", ":thumbsup:", ":thumbs_up:")
_DOWN = ("👎", ":-1:", ":thumbsdown:", ":thumbs_down:")


def corrects(text: str) -> bool:
    """Whether a reply corrects the answer before it, by how it begins; English and German."""
    return _CORRECTS.match(unquoted(text)) is not None


def thumb(emoji: str) -> Signal | None:
    """What a reaction says about an answer, in any skin tone; None if it says nothing clear."""
    if emoji.startswith(_UP):
        return Signal.UP
    return Signal.DOWN if emoji.startswith(_DOWN) else None


def unquoted(text: str) -> str:
    """A text without quoted lines and code: what the person says themselves."""
    lines = re.sub(r"```.*?(?:```|\Z)", " ", text, flags=re.DOTALL).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith((">", "|"))).strip()


class _Detail(Struct, frozen=True, omit_defaults=True):
    tool: str = ""


def note(tx: Tx, signal: Signal, by: By, tool: str = "") -> None:
    """Store a signal: the message is what a person said, `tool` what failed."""
    by.put(tx, Kind.SIGNAL, "", signal, _Detail(tool))


def newest_answer(rows: Rows, place: PlaceId, since: datetime) -> tuple[AgentId, TurnId] | None:
    """The agent and turn of the newest message in a place; None if a person spoke last, or if it is old."""
    row = rows.one(
        """SELECT agent_id, batch_id, created_at FROM messages WHERE place_id = ? AND role = 'assistant'
           AND tool_name IS NULL AND deleted_at IS NULL ORDER BY id DESC LIMIT 1""",
        (place,),
    )
    if row is None or row["batch_id"] is None or row["agent_id"] is None or row["created_at"] < to_text(since):
        return None
    return AgentId(row["agent_id"]), TurnId(row["batch_id"])


class Correction(Struct, frozen=True):
    """A correction with its text and the same person's message before it."""

    id: int
    agent: AgentId
    person: PersonId
    message: MessageId
    text: str
    before: str
    audience: Audience
    trust: Trust


def corrections_among(rows: Rows, messages: Sequence[MessageId]) -> set[MessageId]:
    sql = """SELECT s.message_id FROM item_sources s JOIN items i ON i.id = s.item_id
             WHERE i.kind = 'signal' AND i.key = 'correction' AND s.message_id IN (SELECT value FROM json_each(?))"""
    return {MessageId(row["message_id"]) for row in rows.all(sql, (list(messages),))}


def corrections(rows: Rows, agent: AgentId, limit: int) -> list[Correction]:
    """Corrections of an agent that no pass has processed, oldest first, without those taken back."""
    return _given.all(
        rows,
        f"""SELECT f.id, f.agent_id, f.person_id, s.message_id, f.audience, f.trust, m.content,
             (SELECT b.content FROM messages b WHERE b.place_id = m.place_id AND b.id < m.id AND b.role = 'user'
                AND b.person_id = m.person_id AND b.audience = m.audience AND b.deleted_at IS NULL
                ORDER BY b.id DESC LIMIT 1) AS before
           FROM items f JOIN item_sources s ON s.item_id = f.id JOIN messages m ON m.id = s.message_id
           LEFT JOIN dream_marks k ON k.pass = 'lessons' AND k.agent_id = f.agent_id AND k.audience = f.audience
             AND k.trust = f.trust
           WHERE f.agent_id = ? AND f.kind = 'signal' AND f.key = 'correction' AND f.id > coalesce(k.mark, 0)
             AND m.deleted_at IS NULL AND m.audience = f.audience AND f.person_id IS NOT NULL AND {heeded("m")}
           ORDER BY f.id LIMIT +?""",
        (agent, limit),
    )


_given = RowMapper(
    Correction, text=lambda row: unquoted(row["content"]), before=lambda row: unquoted(row["before"] or "")
)


def tallied(rows: Rows, agents: Sequence[AgentId], since: datetime) -> dict[Signal, int]:
    """How many signals of each kind agents got since then."""
    sql = """SELECT key, count(*) AS n FROM items WHERE kind = 'signal' AND created_at >= ?
             AND agent_id IN (SELECT value FROM json_each(?)) GROUP BY key"""
    return {Signal(row["key"]): row["n"] for row in rows.all(sql, (since, list(agents)))}
