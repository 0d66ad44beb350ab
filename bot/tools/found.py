"""Rows that were found, as plain data and as lines for the model."""

from collections.abc import Iterable, Mapping
from typing import Any

from memory import inbox, messages
from memory.archival import Entry
from memory.clock import to_text
from memory.database import Rows
from memory.ids import PlaceId
from memory.turns import Turn


def entry_data(rows: Rows, entry: Entry, turn: Turn) -> dict[str, Any]:
    """An entry with who said it and where, as far as the turn may know; `mine`: the turn's person said it."""
    said = messages.by_ids(rows, entry.messages[:1], turn.scope)
    return {
        "id": entry.id,
        "content": entry.content,
        "at": to_text(entry.created_at),
        "speaker": said[0].speaker if said else "",
        "place": place_name(rows, said[0].place) if said else "",
        "category": entry.category,
        "mine": turn.person in entry.people,
    }


def place_name(rows: Rows, place: PlaceId) -> str:
    """What people call a place; its id when it was never named."""
    found = inbox.place(rows, place)
    return found.name if found is not None and found.name else str(place)


def lines_of(found: Iterable[Mapping[str, Any]]) -> str:
    """One quoted line for each row: id, when, who, where, words."""
    lines = []
    for row in found:
        who = f" {row['speaker']}" if row.get("speaker") else ""
        where = f" in {row['place']}" if row.get("place") else ""
        text = row.get("content") or row.get("text", "")
        lines.append(f"- {row['id']} ({row['at'][:16].replace('T', ' ')} UTC,{who}{where}): {text}")
    return "\n".join(lines)
