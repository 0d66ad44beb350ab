"""Columns with more than one value: typed JSON, and many rows fetched as one."""

import functools
import json
import operator
from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any, Generic, TypeVar

from msgspec import Struct
from pydantic import Field, TypeAdapter, ValidationError

from memory.store.database import Parameters, Rows
from memory.store.errors import RowUnreadable

T = TypeVar("T")


class UnreadableRow(Struct, frozen=True):
    """Stands for the content of a row that is damaged or of a newer version: whoever works on the row gives it up."""

    why: str


class Codec(Generic[T]):
    """Writes values of one type (a frozen dataclass, or a union of some) as JSON and reads them.

    Unless `whole`, fields with default values are left out.
    """

    def __init__(self, of: Any, *, whole: bool = False) -> None:
        self._of = of
        self._short = not whole

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:  # created on first use: it takes a few milliseconds
        return TypeAdapter(self._of)

    def dump(self, value: T) -> str:
        return self._adapter.dump_json(value, by_alias=True, exclude_defaults=self._short).decode()

    def load(self, text: str) -> T:
        """Parse a value. Raises RowUnreadable, without the row's content."""
        try:
            return self._adapter.validate_json(text)
        except ValidationError as error:
            found = {".".join(map(str, each["loc"])) or each["type"] for each in error.errors(include_input=False)}
            raise RowUnreadable(f"A stored row cannot be read ({', '.join(sorted(found))}).") from None

    def read(self, text: str) -> T | UnreadableRow:
        """Like `load`, for rows that are read together: one unreadable row does not affect the others."""
        try:
            return self.load(text)
        except RowUnreadable as error:
            return UnreadableRow(str(error))

    def require(self, value: T | UnreadableRow) -> T:
        """The result of `read`, for whoever works on that row. Raises RowUnreadable."""
        if isinstance(value, UnreadableRow):
            raise RowUnreadable(value.why)
        return value


def one_of(*types: type) -> Any:
    """The first of these types whose fields match a stored value."""
    one, *others = types
    return Annotated[functools.reduce(operator.or_, types), Field(union_mode="left_to_right")] if others else one


def many(
    rows: Rows, columns: str, source: str, parameters: Parameters = (), read: Callable[[str], Any] = json.loads
) -> list[Any]:
    """The result of `read` for the JSON list of the columns (numbers and texts) of each row of `source`, in no fixed
    order.

    Python's lock changes hands for each row that SQLite fetches, and between two cores that costs more than parsing
    JSON: a prompt reads a hundred rows, and twenty places are answered at once.
    """
    found = rows.one(f"SELECT group_concat(json_array({columns}), char(10)) AS found FROM ({source})", parameters)
    return [] if found is None or found["found"] is None else [*map(read, found["found"].split("\n"))]
