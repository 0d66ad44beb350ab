"""Entries of the logs among blocks, in their Loro documents: each with its moment and whoever made it."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from loro import LoroDoc

from memory.clock import to_text
from memory.documents.schemas import LogSchema, checked_item
from memory.documents.targets import Target
from memory.errors import Refused


def add_entry(loro: LoroDoc, target: Target, value: Any, at: datetime, by: str) -> None:
    """Add an entry to a log, whose oldest then go."""
    shape = target.shape
    if not isinstance(shape, LogSchema):
        raise Refused(f"this is a {shape.type}, not a log")
    kept = checked_item(shape.fields, value, "the log")
    entry = {"at": to_text(at), "by": by} | (kept if isinstance(kept, dict) else {"text": kept})
    log = loro.get_list(target.name)
    log.push(entry)
    if len(log) > shape.max_entries:
        log.delete(0, len(log) - shape.max_entries)


def drop_entries(loro: LoroDoc, target: Target, gone: Callable[[Mapping[str, Any]], bool]) -> None:
    """Take entries out of a log: for what is to be forgotten. By others they stay as they are."""
    log = loro.get_list(target.name)
    entries: Any = log.get_deep_value()
    for place in reversed([place for place, entry in enumerate(entries) if gone(entry)]):
        log.delete(place, 1)
