"""The operations as the command line knows them, from `operations.json`."""

import functools
import importlib.resources
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct


class ParameterEntry(Struct, frozen=True, omit_defaults=True):
    """See `bot.services.registry.Parameter`."""

    name: str
    kind: str
    help: str
    metavar: str
    required: bool = False
    positional: bool = False
    piped: bool = False
    words: bool = False
    flags: tuple[str, ...] = ()
    default: bool | int | float | str | tuple[str, ...] | None = None
    choices: tuple[str, ...] = ()
    typed: str = ""
    low: float | None = None
    high: float | None = None
    suggests: str = ""


class Entry(Struct, frozen=True, omit_defaults=True):
    name: str
    summary: str
    where: Literal["service", "idle", "alone", "any"]
    """Where a command runs: "service" (a running one), "idle" and "alone" (this process; "idle" only if no service
    runs), or "any" (a service, running or opened here)."""
    parameters: tuple[ParameterEntry, ...] = ()
    by: str = ""
    """The class for calls without a service, if there is one."""
    seconds: float | None = None
    asks: bool = False
    also: tuple[str, ...] = ()
    """Its former names."""
    example: str = ""
    """Example arguments."""
    default: bool = False
    renamed: bool = False
    """Listed under a former name."""


class Manifest(Struct, frozen=True):
    """Handwritten commands with their help, the titles of groups, and the operations."""

    by_hand: Mapping[str, str]
    titles: Mapping[str, str]
    operations: tuple[Entry, ...]


Tree: TypeAlias = dict[str, "Tree | Entry"]
"""Operations by the words of their names."""


@functools.cache
def manifest() -> Manifest:
    """The manifest as written by `python -m bot.interfaces.cli.generate`."""
    return msgspec.json.decode(
        importlib.resources.files("bot.interfaces").joinpath("operations.json").read_bytes(), type=Manifest
    )


def operation_entry(name: str) -> Entry:
    return next(each for each in manifest().operations if each.name == name)


def constellation_after(words: Sequence[str]) -> list[str]:
    """`--constellation NAME COMMAND …` as `COMMAND --constellation NAME …`: it can be typed before any of the words."""
    named, others = list[str](), list(words)
    while others[1:] and others[0].partition("=")[0] == "--constellation":
        size = 1 + (others[0] == "--constellation")
        named, others = [*named, *others[:size]], others[size:]
    return [*others[:1], *named, *others[1:]]


def place(tree: Tree, name: str, entry: Entry) -> None:
    """Add an operation to a tree, by the words of its name."""
    word, _dot, rest = name.partition(".")
    if not rest:
        tree[word] = entry
    elif isinstance(below := tree.setdefault(word, {}), dict):
        place(below, rest, entry)
