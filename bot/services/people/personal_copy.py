"""A person's export of the data stored about them: a ZIP archive with a readable text, all data as JSON, and a schema.

`memory.erasure.personal_tables` decides what an export contains.
"""

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from bot.services.results import Markdown
from memory.store.clock import from_text
from scheduler.times_in_words import clock_words
from scheduler.zones import zone_of
from texts import _

_TEXTS = ("text", "content", "fact", "title", "words", "state")
_TIMES = ("at", "said_at", "starts_at", "due_at", "created_at", "received_at", "uploaded_at")
_NAMES = ("speaker", "label", "name", "file", "status")
_LONGEST = 5_000
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def packed(everything: Mapping[str, Any], titles: Mapping[str, str], zone: str, clean: Callable[[str], str]) -> bytes:
    """The archive; `titles` name the stores, and `clean` removes what may not be shown.

    Times in the readable text are in `zone`.
    """
    data = clean(json.dumps(everything, ensure_ascii=False, indent=1))
    shown = json.loads(data)
    files = {
        "README.md": "\n".join(readable(shown, titles, zone)),
        "data.json": data,
        "schema.json": json.dumps({"$schema": _DRAFT, **schema([shown])}, ensure_ascii=False, indent=1),
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text.encode("utf-8", "replace"))
    return made.getvalue()


def readable(everything: Mapping[str, Any], titles: Mapping[str, str], zone: str) -> Iterator[str]:
    """What was said and remembered, as Markdown; numbers and records are only in the JSON."""
    yield f"# {_('Everything kept about you')}"
    yield ""
    at = _clock(everything["exported_at"], zone)
    yield _("As of {at}. `data.json` has all of it, and `schema.json` describes that file.", at=at)
    for constellation, stores in everything["constellations"].items():
        for store, rows in stores.items():
            lines = [line for row in rows if (line := _line(row, zone))]
            if lines:
                yield f"\n## {constellation}: {titles.get(store, store)} ({len(lines)})\n"
                yield from lines


def _line(row: Mapping[str, Any], zone: str) -> str:
    """A row of text as a list item; empty for any other row, such as a tool's result."""
    if row.get("role") == "tool":
        return ""
    text = next((row[name] for name in _TEXTS if isinstance(row.get(name), str) and row[name]), "")
    if not text:
        return ""
    at = next((_clock(row[name], zone) for name in _TIMES if row.get(name)), "")
    told = [each for each in (at, *map(row.get, _NAMES)) if isinstance(each, str) and each]
    said = Markdown().text(text[:_LONGEST] + ("…" if len(text) > _LONGEST else "")).replace("\n", "\n  ")
    return f"- {', '.join(map(Markdown().text, told))}\n  {said}"


def _clock(stored: str, zone: str) -> str:
    return f"{clock_words(moment := from_text(stored), zone)} {moment.astimezone(zone_of(zone)):%Z}"


def schema(values: Iterable[Any]) -> dict[str, Any]:
    """The JSON Schema that describes these values."""
    found = list(values)
    types = sorted({"object" if isinstance(each, Mapping) else _TYPES.get(type(each), "array") for each in found})
    made: dict[str, Any] = {"type": types[0] if len(types) == 1 else types} if types else {}
    objects = [each for each in found if isinstance(each, Mapping)]
    if objects:
        names = dict.fromkeys(name for each in objects for name in each)
        made["properties"] = {name: schema(each[name] for each in objects if name in each) for name in names}
        made["required"] = [name for name in names if all(name in each for each in objects)]
    if any(isinstance(each, list) for each in found):
        made["items"] = schema(item for each in found if isinstance(each, list) for item in each)
    return made
