"""Records and rows: a dataclass or named tuple whose fields are columns of the same names."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum
from functools import cached_property
from inspect import isclass
from types import NoneType
from typing import Any, Generic, TypeAlias, TypeVar, cast, get_args, get_origin, get_type_hints

from memory.store.clock import from_text
from memory.store.database import Parameters, Row, Rows, Value
from memory.store.ids import SHORTEST

T = TypeVar("T")
_Convert: TypeAlias = Callable[[Any], Any]
_LARGEST = 2**63 - 1  # of what SQLite takes as an integer
_WHOLE = ""  # in place of a column: a field that is made of the whole row


class RowMapper(Generic[T]):
    """Makes records of one type out of rows, and the values of a row out of a record.

    A field has the value of the column of its name; one whose type is an id, such as `agent`, that of `agent_id`.
    `columns` names other columns, or makes a field of the whole row: another mapper makes a record of several columns.
    The field's type says how its column is read: moments and JSON are parsed, and NULL is empty where text is required.
    """

    def __init__(self, of: type[T], /, **columns: str | Callable[[Row], Any]) -> None:
        self._of = of
        self._columns = columns

    def __call__(self, row: Row) -> T:
        return self._of(
            *[
                row[column] if convert is None else convert(row[column] if column else row)
                for column, convert in self._fields
            ]
        )

    def first(self, rows: Rows, sql: str, parameters: Parameters = ()) -> T | None:
        """The record of the first row that a statement gives; None where it gives none."""
        row = rows.one(sql, parameters)
        return None if row is None else self(row)

    def one(self, rows: Rows, sql: str, parameters: Parameters = ()) -> T:
        """The same of a row that is there: it was just written, or another one names it. Raises KeyError otherwise."""
        found = self.first(rows, sql, parameters)
        if found is None:
            raise KeyError(f"there is no row for {self._of.__name__}")
        return found

    def all(self, rows: Rows, sql: str, parameters: Parameters = ()) -> list[T]:
        """The records of all rows that a statement gives, in its order."""
        return [self(row) for row in rows.all(sql, parameters)]

    def values(self, record: T) -> dict[str, Value]:
        """The columns of a record, as they are stored; but for fields that a function makes of the whole row."""
        found = {column: _stored(getattr(record, name)) for name, column in self._named}
        for name, made in self._columns.items():
            if isinstance(made, RowMapper):
                found |= made.values(getattr(record, name))
        return found

    @cached_property
    def _named(self) -> list[tuple[str, str]]:
        names = get_type_hints(self._of)
        return [(name, column) for name, (column, _) in zip(names, self._fields, strict=True) if column]

    @cached_property
    def _fields(self) -> list[tuple[str, _Convert | None]]:  # on first use: to look at types takes a while
        return [self._field(name, hint) for name, hint in get_type_hints(self._of).items()]

    def _field(self, name: str, hint: Any) -> tuple[str, _Convert | None]:
        required = [each for each in get_args(hint) if each is not NoneType] if NoneType in get_args(hint) else [hint]
        usual = f"{name}_id" if name != "id" and _name(required[0]).endswith("Id") else name
        column = self._columns.get(name, usual)
        if callable(column):
            return _WHOLE, column
        convert = _conversion(required[0])
        return column, convert if convert is None or required == [hint] else _unless_null(convert)


def _conversion(hint: Any) -> _Convert | None:
    """What makes a value of that type of what a column holds; None where it is that already."""
    kind = get_origin(hint) or hint
    if kind is datetime:
        return from_text
    if kind is str:
        return _text
    if kind in (Mapping, dict):
        return _parsed
    if isclass(kind) and issubclass(kind, bool | Enum):
        return kind
    if isclass(kind) and issubclass(kind, tuple | frozenset):
        pairs = get_origin(get_args(hint)[0]) is tuple
        return lambda text: kind(map(tuple, json.loads(text)) if pairs else json.loads(text))
    return None


_PLAIN = frozenset({str, int, float, bytes, datetime, NoneType})


def _stored(value: Any) -> Value:
    if type(value) in _PLAIN:  # nearly all are
        return cast("Value", value)
    match value:
        case Enum():
            return _stored(value.value)
        case bool():
            return int(value)
        case Mapping():
            return json.dumps(dict(value), ensure_ascii=False)
        case frozenset():
            return json.dumps(sorted(value), ensure_ascii=False)
        case tuple() | list():
            return json.dumps(value, ensure_ascii=False)
        case str() | int():  # ids
            return value
    raise TypeError(f"a column holds no {type(value).__name__}")


def _text(value: str | None) -> str:
    return value or ""


def _parsed(text: str) -> Any:
    return json.loads(text)


def _unless_null(convert: _Convert) -> _Convert:
    return lambda value: None if value is None else convert(value)


def _name(hint: Any) -> str:
    return getattr(hint, "__name__", "")


def ending(rows: Rows, table: str, which: str) -> int:
    """The id of a table that is given whole or, where it is the only one that ends so, by its last digits; else 0."""
    digits = which.strip().lstrip("#")
    if not digits.isdecimal() or len(digits) < SHORTEST:
        return int(digits) if digits.isdecimal() else 0
    number, power = min(int(digits), _LARGEST), min(10 ** len(digits), _LARGEST)
    found = [row["id"] for row in rows.all(f"SELECT id FROM {table} WHERE id % ? = ? LIMIT 2", (power, number))]
    return found[0] if len(found) == 1 else number
