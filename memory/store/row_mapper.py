"""Maps rows to records: structs, dataclasses or named tuples whose fields are columns of the same names.

A column with more than one value is typed JSON (`Codec`).
"""

import functools
import json
import operator
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum
from functools import cached_property
from inspect import isclass
from types import NoneType
from typing import Annotated, Any, Generic, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct
from pydantic import (
    BeforeValidator,
    Discriminator,
    SerializerFunctionWrapHandler,
    Tag,
    TypeAdapter,
    ValidationError,
    WrapSerializer,
)

from memory.store.clock import from_text
from memory.store.database import Parameters, Row, Rows, Value
from memory.store.errors import RowUnreadable
from memory.store.ids import LARGEST, SHORTEST

T = TypeVar("T")
_Convert: TypeAlias = Callable[[Any], Any]
_WHOLE = ""  # in place of a column: a field computed from the whole row


class RowMapper(Generic[T]):
    """Converts rows to records of one type, and records to the values of rows.

    A field takes the column of its name; if its type is an id, such as `agent`, the column `agent_id`. `columns` names
    other columns, or computes a field from the whole row: another mapper makes a record of several columns. The field's
    type decides how its column is read: datetimes and JSON are parsed, and NULL becomes an empty text where text is
    required.
    """

    def __init__(self, of: type[T], /, **columns: str | Callable[[Row], Any]) -> None:
        self._of = of
        self._columns = columns

    def __call__(self, row: Row) -> T:
        values = []
        for column, convert, optional in self._fields:
            value = row[column] if column else row
            if convert is not None and not (optional and value is None):
                value = value or "" if convert is str else convert(value)
            values.append(value)
        return self._of(*values)

    def first(self, rows: Rows, sql: str, parameters: Parameters = ()) -> T | None:
        """The record of a statement's first row; None if there is none."""
        row = rows.one(sql, parameters)
        return None if row is None else self(row)

    def one(self, rows: Rows, sql: str, parameters: Parameters = ()) -> T:
        """The same for a row that must exist. Raises KeyError otherwise."""
        found = self.first(rows, sql, parameters)
        if found is None:
            raise KeyError(f"there is no row for {self._of.__name__}")
        return found

    def all(self, rows: Rows, sql: str, parameters: Parameters = ()) -> list[T]:
        """The records of all rows of a statement, in order."""
        return list(map(self, rows.all(sql, parameters)))

    def values(self, record: T) -> dict[str, Value]:
        """The columns of a record in stored form; without fields computed from the whole row."""
        found: dict[str, Value] = {}
        for name, column in self._named:
            value = getattr(record, name)
            found[column] = value if isinstance(value, _BOUND) else _stored(value)
        for name, made in self._columns.items():
            if isinstance(made, RowMapper):
                found |= made.values(getattr(record, name))
        return found

    @cached_property
    def _named(self) -> list[tuple[str, str]]:
        names = get_type_hints(self._of)
        return [(name, column) for name, (column, *_) in zip(names, self._fields, strict=True) if column]

    @cached_property
    def _fields(self) -> list[tuple[str, _Convert | None, bool]]:  # on first use: inspecting types takes a while
        return [self._field(name, hint) for name, hint in get_type_hints(self._of).items()]

    def _field(self, name: str, hint: Any) -> tuple[str, _Convert | None, bool]:
        """The column, its conversion, and whether NULL stays None."""
        required = [each for each in get_args(hint) if each is not NoneType] if NoneType in get_args(hint) else [hint]
        usual = f"{name}_id" if name != "id" and _name(required[0]).endswith("Id") else name
        column = self._columns.get(name, usual)
        if callable(column):
            return _WHOLE, column, False
        return column, _conversion(required[0]), required != [hint]


def _conversion(hint: Any) -> _Convert | None:
    """The function that converts a column's value to this type; None if none is needed."""
    kind = get_origin(hint) or hint
    if kind is datetime:
        return from_text
    if kind is str:
        return str
    if kind in (Mapping, dict):
        return json.loads
    if isclass(kind) and issubclass(kind, bool | Enum):
        return kind
    if isclass(kind) and issubclass(kind, Struct):
        return lambda text: msgspec.json.decode(text, type=kind)
    if isclass(kind) and issubclass(kind, tuple | frozenset):
        pairs = get_origin(get_args(hint)[0]) is tuple
        return lambda text: kind(map(tuple, json.loads(text)) if pairs else json.loads(text))
    return None


_BOUND = (str, int, float, bytes, datetime, NoneType)
"""What the driver binds as it is; so are flags, and enumerations of texts and numbers."""


def _stored(value: Any) -> Value:
    match value:
        case Enum():
            bound: str | int = value.value
            return bound
        case Mapping():
            return json.dumps(dict(value), ensure_ascii=False)
        case frozenset():
            return json.dumps(sorted(value), ensure_ascii=False)
        case Struct():
            return msgspec.json.encode(value).decode()
        case tuple() | list():
            return json.dumps(value, ensure_ascii=False)
    raise TypeError(f"a column holds no {type(value).__name__}")


def _name(hint: Any) -> str:
    return getattr(hint, "__name__", "")


def ending(rows: Rows, table: str, which: str) -> int:
    """The id in a table that equals `which` or, if it is the only one, ends in these digits; else 0."""
    digits = which.strip().lstrip("#")
    if not digits.isdecimal() or len(digits) < SHORTEST:
        return int(digits) if digits.isdecimal() else 0
    number, power = min(int(digits), LARGEST), min(10 ** len(digits), LARGEST)
    found = [row["id"] for row in rows.all(f"SELECT id FROM {table} WHERE id % ? = ? LIMIT 2", (power, number))]
    return found[0] if len(found) == 1 else number


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


def tagged(plain: type, **others: type) -> Any:
    """A union for a `Codec`: what is stored of the others names its type; what names none is of the plain type."""
    if not others:
        return plain
    names = {of: name for name, of in others.items()} | {plain: ""}
    every = [Annotated[plain, Tag("")], *(_named(name, of) for name, of in others.items())]

    def name_of(value: Any) -> Any:
        return value.get(_TYPE, "") if isinstance(value, dict) else names.get(type(value))

    return Annotated[functools.reduce(operator.or_, every), Discriminator(name_of)]


_TYPE = "type"


def _named(name: str, of: type) -> Any:
    def fields(stored: Any) -> Any:
        return {key: each for key, each in stored.items() if key != _TYPE} if isinstance(stored, dict) else stored

    def stored(value: Any, dump: SerializerFunctionWrapHandler) -> Any:
        return {_TYPE: name, **dump(value)}

    return Annotated[of, BeforeValidator(fields), WrapSerializer(stored), Tag(name)]


def json_rows(
    rows: Rows, columns: str, source: str, parameters: Parameters = (), read: Callable[[str], Any] = json.loads
) -> list[Any]:
    """The result of `read` for the JSON list of the columns (numbers and texts) of each row of `source`, in no fixed
    order.

    Python's lock changes hands for each row that SQLite fetches, and between two cores that costs more than parsing
    JSON: a prompt reads a hundred rows, and twenty places are answered at once.
    """
    found = rows.one(f"SELECT group_concat(json_array({columns}), char(10)) AS found FROM ({source})", parameters)
    return [] if found is None or found["found"] is None else [*map(read, found["found"].split("\n"))]
