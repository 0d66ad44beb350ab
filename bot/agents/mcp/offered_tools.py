"""Makes a server's list of tools fit for a model. Pure.

All of it is foreign text: it is flattened, shortened, and cannot take the name of another tool. A schema is reduced to
what providers accept, since a rejected one would make every request with it fail.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError
from msgspec import Struct

from bot.agents.context.quotes import line
from bot.models.normalization import plain_schema
from sources.text import one_line
from texts import gettext_lazy, gettext_noop

MOST_TOOLS = 64
"""Tools of one server; every prompt pays for them."""
_LONGEST_NAME = 64  # providers accept no longer function names
_DESCRIPTION = 1_000
_NOTE = 300  # characters of an argument's description
_LONGEST_SCHEMA = 8_000  # characters of JSON
_LONGEST_GIVEN = 40_000  # before it is reduced; to check these takes a second
_ARGUMENT = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # argument names that providers accept
_DIGEST = 24  # hexadecimal digits: 96 bits, so that no other description can be made to match


class ListedTool(Struct, frozen=True):
    """A tool as the server lists it. `schema` is of its arguments; `hints` is other information about it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    hints: Mapping[str, Any]

    @property
    def destructive(self) -> bool:
        """Whether the server calls it destructive; a denial would not be trusted."""
        return self.hints.get("destructiveHint") is True


class Offer(Struct, frozen=True):
    """A tool as offered to agents: `tool` is the server's name for it, `edition` a digest of its whole description."""

    name: str
    tool: str
    description: str
    schema: Mapping[str, Any]
    edition: str
    destructive: bool = False


def offers(
    server: str, target: str, listed: Iterable[ListedTool], wanted: Collection[str], reserved: Collection[str]
) -> tuple[tuple[Offer, ...], tuple[str, ...]]:
    """The wanted tools of a server that can be offered, and the reasons why others cannot.

    `target` identifies the server (a URL, a command); `wanted` names the tools, empty means all.
    """
    found: dict[str, Offer] = {}
    problems = []
    every = list(listed)
    for each in every:
        if wanted and each.name not in wanted:
            continue
        shown = one_line(each.name, _LONGEST_NAME)
        if len(found) == MOST_TOOLS:
            too_many = gettext_noop("{tool}: the server has more than {most} tools; list the ones you want in `tools`")
            problems.append(gettext_lazy(too_many, tool=shown, most=MOST_TOOLS))
            continue
        try:
            offer = _offer(server, target, each, {*reserved, *found})
        except ValueError as error:
            problems.append(gettext_lazy("{tool}: {error}", tool=shown, error=error))
        else:
            found[offer.name] = offer
    names = {each.name for each in every}
    missing = (one_line(tool, _LONGEST_NAME) for tool in wanted if tool not in names)
    problems += [gettext_lazy("{tool}: the server has no such tool", tool=tool) for tool in missing]
    return tuple(found.values()), tuple(problems)


def _offer(server: str, target: str, listed: ListedTool, taken: Collection[str]) -> Offer:
    """Convert one tool. Raises ValueError with a text that contains nothing from the server."""
    name = f"{server}_{re.sub(r'[^A-Za-z0-9_-]', '_', listed.name)}"
    if not listed.name or len(name) > _LONGEST_NAME:
        too_long = gettext_noop("its name and the server's together have more than {most} characters")
        raise ValueError(gettext_lazy(too_long, most=_LONGEST_NAME))
    if name in taken:
        raise ValueError(gettext_lazy("another tool is called “{name}”", name=name))
    said = line(one_line(listed.description, _DESCRIPTION)) or "It does not say what it does."
    description = f"A tool of the MCP server {server}. Its own description: {said}"
    schema = _schema(listed.schema)
    return Offer(name, listed.name, description, schema, _digest(target, listed), listed.destructive)


def _digest(target: str, listed: ListedTool) -> str:
    said = [target, listed.name, listed.description, listed.schema, listed.hints]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:_DIGEST]


def _schema(given: Mapping[str, Any]) -> dict[str, Any]:
    """The schema for a model. Raises ValueError if providers would reject it."""
    if given.get("type", "object") != "object":
        raise ValueError(gettext_lazy("its arguments are not an object"))
    try:
        _require_size(given, _LONGEST_GIVEN)
        Draft202012Validator.check_schema(given, FormatChecker(()))  # patterns may be of another language
        plain = plain_schema(given, lambda text: line(one_line(text, _NOTE)))
    except (SchemaError, RecursionError) as error:
        raise ValueError(gettext_lazy("the schema of its arguments is not valid JSON Schema")) from error
    shown: dict[str, Any] = {"type": "object", "properties": plain.get("properties", {})}
    if not all(map(_ARGUMENT.fullmatch, shown["properties"])):
        raise ValueError(gettext_lazy("an argument has a name that models cannot use"))
    if "required" in plain:
        shown["required"] = plain["required"]
    if given.get("additionalProperties") is False:
        shown["additionalProperties"] = False
    _require_size(shown, _LONGEST_SCHEMA)
    return shown


def _require_size(schema: Mapping[str, Any], most: int) -> None:
    if (size := len(json.dumps(schema))) > most:
        too_large = gettext_noop("the schema of its arguments has {size:,} characters; the limit is {most:,}")
        raise ValueError(gettext_lazy(too_large, size=size, most=most))
