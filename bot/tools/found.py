"""Rows that were found, as plain data and as lines for the model."""

from collections.abc import Iterable, Mapping
from typing import Any

from bot.tools.base import UseKind
from memory import inbox, messages
from memory.archival import Entry
from memory.clock import to_text
from memory.database import Rows
from memory.ids import PlaceId
from memory.search import Hit
from memory.turns import Turn


def uses_of(hits: Iterable[Hit]) -> tuple[tuple[UseKind, str], ...]:
    """The memories among hits that an answer can be explained by."""
    return tuple(
        (hit.kind, hit.id) for hit in hits if hit.kind == "entry" or hit.kind == "message" or hit.kind == "block"
    )


def entry_data(rows: Rows, entry: Entry, turn: Turn) -> dict[str, Any]:
    """An entry with who said it and where, as far as the turn may know; `mine`: the turn's person said it."""
    said = messages.by_ids(rows, entry.messages[:1], turn.scope)
    return {
        "id": entry.id,
        "content": entry.content,
        "at": to_text(entry.created_at),
        "speaker": said[0].speaker if said else "",
        **place_data(rows, said[0].place if said else None),
        "category": entry.category,
        "mine": turn.person in entry.people,
    }


def place_data(rows: Rows, place: PlaceId | None) -> dict[str, str]:
    """What people call a place (its id when it was never named), and what sort of place it is."""
    found = inbox.place(rows, place) if place is not None else None
    return {"place": (found and found.name) or str(place or ""), "place_kind": str(found.kind) if found else ""}


def lines_of(found: Iterable[Mapping[str, Any]]) -> str:
    """One quoted line for each row: id, when, who, where, words."""
    lines = []
    for row in found:
        who = f" {row['speaker']}" if row.get("speaker") else ""
        where = f" in {row['place']}" if row.get("place") else ""
        text = row.get("content") or row.get("text", "")
        comma = "," if who or where else ""
        lines.append(f"- {row['id']} ({row['at'][:16].replace('T', ' ')} UTC{comma}{who}{where}): {text}")
    return "\n".join(lines)
