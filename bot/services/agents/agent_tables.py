"""Tables of agents and groups as commands read and write them: settings as key=value, TOML files, and changes."""

import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile
from typing import Annotated, Any, Literal, TypeAlias

from bot.config.agent_files import read_exchange
from bot.errors import CallError, UserError
from bot.services.caller import TERMINAL_ONLY
from bot.services.registry import Arguments, Output, Param
from bot.services.results import Lines, Markup, Result, Row, WrittenFile
from sources.text import one_line
from texts import _, gettext_noop

_DONE = {
    "created": gettext_noop("Created {kind} {name}."),
    "changed": gettext_noop("Changed {kind} {name}."),
    "unchanged": gettext_noop("Left {kind} {name} unchanged."),
}
_SHOWN = 60  # characters of a value; `--json` shows all of it

Settings = Annotated[
    tuple[str, ...],
    Param("Setting to change, named as in carina.toml", flag="--set", metavar="KEY=VALUE", via=TERMINAL_ONLY),
]


class ImportTables(Arguments):
    file: Annotated[
        str, Param("TOML file; use - for standard input", example="agents.toml", content=True, metavar="FILE")
    ]
    replace: Annotated[bool, Param("Replace those that already exist")] = False
    dry_run: Annotated[bool, Param("Only show what would change")] = False


class ExportTables(Arguments):
    names: Annotated[tuple[str, ...], Param("What to export (default: all)", metavar="NAME...", positional=True)] = ()
    output: Output = None


class TableChange(Row):
    kind: str
    name: str
    did: str

    @classmethod
    def of(cls, kind: str, name: str, before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> "TableChange":
        did = "created" if before is None else "unchanged" if before == after else "changed"
        return cls(kind=kind, name=name, did=did)

    def line(self, markup: Markup) -> str:
        return self.told(markup, _DONE[self.did], kind=_(self.kind))


Changes: TypeAlias = Lines[TableChange]


def read_tables(toml: str, kind: Literal["agents", "groups"]) -> Sequence[Any]:
    """The tables of one kind in a file. Raises UserError or ConfigError."""
    found: Sequence[Any] = getattr(read_exchange(toml, _("the file")), kind)
    if not found:
        raise UserError("There is no [[{kind}]] in the file.", kind=kind)
    return found


class TomlFile(Result):
    """Something that Discord hands over as a TOML file."""

    toml: str

    @property
    def document(self) -> str:
        return self.toml


class ExportedTables(TomlFile, WrittenFile):
    kind: str
    tables: tuple[dict[str, Any], ...]

    phrase = gettext_noop("`carina {kind} import` reads this file.")

    def data(self) -> dict[str, Any]:
        return {"file": self.file} if self.file else {f"{self.kind}s": list(self.tables)}

    def terminal(self, _markup: Markup) -> str:
        return _("Written to {file}.", file=self.file) if self.file else self.toml.rstrip("\n")


def read_settings(given: Sequence[str]) -> dict[str, Any]:
    """Parse "key=value" settings: a value is TOML, or else a plain text.

    Raises CallError.
    """
    found = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not equals or not key.strip():
            example = 'description="Keeps the calendar"'
            raise CallError("--set: expected KEY=VALUE, such as {example}; found {given}", example=example, given=each)
        try:
            found[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except (tomllib.TOMLDecodeError, KeyError):
            found[key.strip()] = value
    return found


class Difference(Row):
    """A key that differs between file and database; without a key, something that is in only one of them."""

    kind: str
    name: str
    key: str = ""
    database: Any = None
    file: Any = None
    only: str = "file"
    """In what it is, if it is in only one: "file" or "database"."""

    @classmethod
    def between(
        cls, kind: str, name: str, own: Mapping[str, Any] | None, table: Mapping[str, Any]
    ) -> "list[Difference]":
        """One for each key that differs; one without a key for what the database does not know."""
        if own is None:
            return [cls(kind=kind, name=name)]
        keys = differing(own, table)
        return [cls(kind=kind, name=name, key=key, database=own.get(key), file=table.get(key)) for key in keys]

    def line(self, markup: Markup) -> str:
        if not self.key:
            there = gettext_noop("{kind} {name}: only in the database")
            created = gettext_noop("{kind} {name}: only in the file; it would be created")
            return self.told(markup, there if self.only == "database" else created, kind=_(self.kind))
        values = {
            "kind": _(self.kind),
            "database": markup.text(_short(self.database, self.file)),
            "file": markup.text(_short(self.file, self.database)),
        }
        return self.told(
            markup, gettext_noop("{kind} {name}, {key}: {database} in the database, {file} in the file"), **values
        )


def _short(value: Any, other: Any) -> str:
    """The value as JSON; of a long one, the part from shortly before the first difference."""
    if value is None:
        return _("nothing")
    text, beside = (json.dumps(each, ensure_ascii=False, default=sorted) for each in (value, other))
    if len(text) <= _SHOWN:
        return text
    same = takewhile(lambda pair: pair[0] == pair[1], zip(text, beside, strict=False))
    start = max(len([*same]) - 20, 0)
    return one_line(f"…{text[start:]}" if start else text, _SHOWN)


def would_change(found: Sequence[Difference]) -> Lines[Difference]:
    return Lines.of(found, _("Nothing would change."))


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> Collection[str]:
    return [key for key in dict.fromkeys((*one, *other)) if one.get(key) != other.get(key)]
