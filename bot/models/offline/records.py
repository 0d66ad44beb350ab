"""Tool results as typed values. The data comes from elsewhere: what is missing is empty, what is odd is left out."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.models.offline.days import read_time


@dataclass(frozen=True)
class Record:
    """Something found in memory: an entry, a message or a block."""

    id: str
    text: str
    at: datetime | None
    speaker: str
    place: str
    place_kind: str
    """What sort of place it is (`sources.base.PlaceKind`), where the tool knows."""
    kind: str
    role: str
    mine: bool | None
    """Whether the asker said it, where the tool knows; otherwise names are compared."""

    def told_by(self, speaker: str) -> bool:
        if self.mine is not None:
            return self.mine
        return not self.speaker or self.speaker.casefold().strip() == speaker.casefold().strip()


def _text(row: dict[Any, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := row.get(name), str)), "")


def _record(row: object, kind: str) -> Record | None:
    if not isinstance(row, dict):
        return None
    mine = row.get("mine")
    record = Record(
        id=_text(row, "id") or (str(row["id"]) if isinstance(row.get("id"), int) else ""),
        text=_text(row, "text", "content"),
        at=read_time(_text(row, "at")),
        speaker=_text(row, "speaker"),
        place=_text(row, "place"),
        place_kind=_text(row, "place_kind"),
        kind=_text(row, "kind") or kind,
        role=_text(row, "role"),
        mine=mine if isinstance(mine, bool) else None,
    )
    return record if record.text.strip() else None


def read_list(data: object, name: str, kind: str = "") -> tuple[Record, ...] | None:
    """The records under a name; None when the data has no such list."""
    rows = data.get(name) if isinstance(data, dict) else None
    if not isinstance(rows, list):
        return None
    return tuple(record for row in rows if (record := _record(row, kind)) is not None)


def read_one(data: object) -> Record | None:
    """The record that the data itself is."""
    return _record(data, "entry")


def read_flag(data: object, name: str) -> bool:
    return isinstance(data, dict) and data.get(name) is True


def read_number(data: object, name: str) -> int:
    value = data.get(name) if isinstance(data, dict) else None
    return value if isinstance(value, int) else 0


def rows_searched(data: object) -> dict[str, int]:
    """How many rows of each domain a search looked at."""
    listed = data.get("searched") if isinstance(data, dict) else None
    rows = listed if isinstance(listed, list) else []
    return {_text(row, "domain"): read_number(row, "rows") for row in rows if isinstance(row, dict)}
