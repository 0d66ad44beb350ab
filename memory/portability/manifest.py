"""What an export says of itself: in its first block what it is, and in its last, the root, all that is in it.

about       {carina, kind, id, name, schema, thin}
chunk       {table, rows}: some rows of one table; what is large in them stands in parts before it
part        bytes: a piece of a large value, to which the row links
list        {chunks}: links to the chunks of one table
manifest    about, and {tables: {name: {columns, rows, lists}}}
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from memory.portability.car import CarError

FORMAT = 1
"""Of the blocks; `schema` is the version of the tables."""
Kind: TypeAlias = Literal["constellation", "group", "agent"]


@dataclass(frozen=True)
class About:
    """What a file is an export of."""

    kind: Kind
    id: str
    name: str
    schema: int
    thin: bool

    def data(self) -> dict[str, Any]:
        return {"carina": FORMAT, **vars(self)}


@dataclass(frozen=True)
class TableManifest:
    """What a file holds of one table. `lists` are the CIDs of blocks that name its chunks."""

    columns: tuple[str, ...]
    rows: int
    lists: tuple[bytes, ...]


@dataclass(frozen=True)
class Manifest:
    """All that is in a file."""

    about: About
    tables: Mapping[str, TableManifest]

    def data(self) -> dict[str, Any]:
        return {**self.about.data(), "tables": {name: _plain(held) for name, held in self.tables.items()}}


def _plain(held: TableManifest) -> dict[str, Any]:
    return {"columns": list(held.columns), "rows": held.rows, "lists": list(held.lists)}


def read_about(content: Any, known: int) -> About:
    """What the first block says. Raises CarError for another program's file and for one of a newer Carina."""
    if not isinstance(content, dict) or not isinstance(content.get("carina"), int):
        raise CarError("this CAR file was not made by Carina: its first block does not say what it is")
    if content["carina"] > FORMAT or (isinstance(content.get("schema"), int) and content["schema"] > known):
        raise CarError(
            f"this file was made by a newer Carina (format {content['carina']}, schema {content.get('schema')}); this "
            f"one knows format {FORMAT} and schema {known}: install the newer one"
        )
    match content:
        case {"kind": str(kind), "id": str(known_as), "name": str(name), "schema": int(schema), "thin": bool(thin)}:
            for each in get_args(Kind):
                if each == kind:
                    return About(each, known_as, name, schema, thin)
    raise CarError("this CAR file does not say what it is an export of")


def read_manifest(content: Any, about: About) -> Manifest:
    """What the last block says. Raises CarError where it is none, or of another export."""
    match content:
        case {"tables": dict(tables), **rest} if rest == about.data():
            return Manifest(about, {name: _held(name, each) for name, each in tables.items()})
    raise CarError("the last block of the file is not the manifest of this export: it is cut off or put together")


def _held(name: str, told: Any) -> TableManifest:
    match told:
        case {"columns": list(columns), "rows": int(rows), "lists": list(lists)} if all(
            isinstance(each, str) for each in columns
        ) and all(isinstance(each, bytes) for each in lists):
            return TableManifest(tuple(columns), rows, tuple(lists))
    raise CarError(f"the manifest does not say what the file holds of the table {name[:80]!r}")
