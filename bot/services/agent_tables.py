"""Tables of agents and groups as commands take and give them: keys with values, TOML files, what was changed."""

import os
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from bot.errors import CallError, UserError
from bot.services.caller import Via
from bot.services.parameters import Arguments, Param
from bot.services.registry import Told
from bot.services.results import Ink, Result, Row
from texts import _

HERE = frozenset({Via.TERMINAL})
CHANGES = Told(via=HERE, changes=True)

Name = Annotated[str, Field(min_length=1, max_length=64), Param("Name of the agent", metavar="NAME", suggests="agents")]
Settings = Annotated[
    tuple[str, ...], Param("Setting to change, named as in carina.toml", flag="--set", metavar="KEY=VALUE", via=HERE)
]
File = Annotated[
    str | None,
    Param("TOML file to read instead; use - for standard input", flag="--from", content=True, metavar="FILE"),
]


class ImportTables(Arguments):
    file: Annotated[str, Param("TOML file; use - for standard input", content=True, metavar="FILE")]
    replace: Annotated[bool, Param("Replace those that already exist")] = False


class AgentChange(Row):
    """What was done with an agent."""

    agent: str
    did: str

    def line(self, ink: Ink) -> str:
        return ink.text(f"{self.agent}: {self.did}")


class GroupChange(Row):
    """What was done with a group."""

    group: str
    did: str

    def line(self, ink: Ink) -> str:
        return ink.text(f"{self.group}: {self.did}")


class Exported(Result):
    """Tables that `import` takes."""

    kind: str
    tables: tuple[dict[str, Any], ...]
    toml: str
    file: str
    """Where they were written; empty: nowhere."""

    def lines(self, ink: Ink) -> list[str]:
        return [ink.text(_("`carina {kind} import` reads this file.", kind=self.kind))]

    def data(self) -> dict[str, Any]:
        return {"file": self.file} if self.file else {f"{self.kind}s": list(self.tables)}

    @property
    def document(self) -> str:
        return self.toml

    def terminal(self, ink: Ink, width: int | None) -> str:
        del ink, width
        return _("Written to {file}.", file=self.file) if self.file else self.toml.rstrip("\n")

    def written(self, path: Path | None) -> "Exported":
        """Written into a file that is not there yet, where one is wanted. Raises UserError."""
        if path is None:
            return self
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(self.toml)
        except FileExistsError:
            raise UserError(_("{path} already exists; nothing was written", path=path)) from None
        except OSError as error:
            raise UserError(_("{path} cannot be written: {strerror}", path=path, strerror=error.strerror)) from error
        return self.model_copy(update={"file": str(path)})


def read_settings(given: Sequence[str]) -> dict[str, Any]:
    """Keys with their values, each "key=value": a value as TOML writes it, and what is none is a text by itself.

    Raises CallError.
    """
    found = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not equals or not key.strip():
            raise CallError(f'--set: found {each!r}; expected KEY=VALUE, such as description="Keeps the calendar"')
        try:
            found[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except (tomllib.TOMLDecodeError, KeyError):
            found[key.strip()] = value
    return found


def require_alone(*others: object) -> None:
    """Raise CallError where other settings are given beside a file."""
    if any(others):
        raise CallError("--from: found other settings beside it; expected it alone")


def beside(name: str, own: Mapping[str, Any], table: Mapping[str, Any] | None) -> str:
    """How something in the database stands to its table in the file of that name."""
    if table is None:
        return f"not in {name}"
    keys = differing(own, table)
    return f"differs from {name}: {', '.join(keys)}" if keys else f"as in {name}"


@dataclass(frozen=True)
class Difference:
    """What the database and a file say of one key; without a key, of something that the database does not know."""

    name: str
    key: str = ""
    database: Any = None
    file: Any = None

    @classmethod
    def between(cls, name: str, own: Mapping[str, Any], table: Mapping[str, Any]) -> "list[Difference]":
        """One for each key that differs."""
        return [cls(name, key, own.get(key), table.get(key)) for key in differing(own, table)]


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> Collection[str]:
    """The keys under which two tables say different things."""
    return [key for key in dict.fromkeys((*one, *other)) if one.get(key) != other.get(key)]
