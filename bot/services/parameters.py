"""What an operation takes, as every interface reads it from the fields of its pydantic model."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NewType, TypeAlias, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from bot.agents.permissions.policy import Action
from bot.errors import CallError
from bot.services.caller import Location, Via
from memory.store.ids import PersonId

Role = NewType("Role", str)
"""A role of a Discord server, as commands name it: "discord:role:1234"."""
Kind: TypeAlias = Literal["text", "integer", "number", "flag", "path", "many", "person", "role", "location", "content"]
_KINDS: Mapping[Any, Kind] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "flag",
    Path: "path",
    PersonId: "person",
    Role: "role",
    Location: "location",
}


class Arguments(BaseModel):
    """What an operation takes: one field for each argument."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


@dataclass(frozen=True)
class Param:
    """What people are told of an argument, and how it is given; the type, the limits and the default say the rest.

    What has no default is positional on the command line, all else an option.
    """

    help: str
    metavar: str = ""
    flag: str = ""
    """Another name on the command line, such as "--from"."""
    short: str = ""
    suggests: str = ""
    """The source of suggestions that are made while somebody types."""
    positional: bool = False
    """Positional although there is a default."""
    content: bool = False
    """A text that is read from a file, which the command line is given the name of; "-" is standard input."""
    piped: bool = False
    """Without it the command line reads standard input."""
    words: bool = False
    """The command line takes as many words as there are, so that nobody has to quote them."""
    via: frozenset[Via] = frozenset(Via)
    """The interfaces that offer it; it needs a default where one does not."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What choices are called where people pick them from a list; without one by their own words."""
    needs: Action | None = None
    """The right that giving it takes, beside that of the operation."""


@dataclass(frozen=True)
class Parameter:
    """One argument, read from its field."""

    name: str
    help: str
    kind: Kind
    required: bool
    default: Any = None
    choices: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    """Of the choices, in the same order."""
    low: float | None = None
    high: float | None = None
    shortest: int | None = None
    longest: int | None = None
    positional: bool = False
    metavar: str = ""
    flags: tuple[str, ...] = field(default=())
    piped: bool = False
    words: bool = False
    suggests: str = ""
    via: tuple[str, ...] = ()
    needs: Action | None = None

    def called(self, via: Via) -> str:
        """As people call it where they give it."""
        if via is not Via.TERMINAL:
            return self.name
        return self.metavar if self.positional else self.flags[-1]


@cache
def parameters(model: type[Arguments]) -> tuple[Parameter, ...]:
    """In the order of the fields. Raises TypeError for a field that no interface could offer."""
    return tuple(_parameter(name, each) for name, each in model.model_fields.items())


def _parameter(name: str, given: FieldInfo) -> Parameter:
    told = next((each for each in given.metadata if isinstance(each, Param)), None)
    if told is None:
        raise TypeError(f"the argument {name} has no Param, which says what it is")
    kind, choices = _kind(given.annotation, name)
    default = None if given.is_required() else given.get_default(call_default_factory=False)
    positional = told.positional or given.is_required()
    flag = told.flag or f"--{name.replace('_', '-')}"
    return Parameter(
        name=name,
        help=told.help,
        kind="content" if told.content else kind,
        required=given.is_required(),
        default=default.value if isinstance(default, StrEnum) else default,
        choices=choices,
        labels=tuple(told.labels.get(each, re.sub("[_-]", " ", each).capitalize()) for each in choices),
        low=_limit(given, annotated_types.Ge, "ge"),
        high=_limit(given, annotated_types.Le, "le"),
        shortest=_limit(given, annotated_types.MinLen, "min_length"),
        longest=_limit(given, annotated_types.MaxLen, "max_length"),
        positional=positional,
        metavar=told.metavar or name.upper(),
        flags=() if positional else tuple(filter(None, (told.short, flag))),
        piped=told.piped,
        words=told.words,
        suggests=told.suggests,
        via=tuple(sorted(told.via)),
        needs=told.needs,
    )


def _kind(annotation: Any, name: str) -> tuple[Kind, tuple[str, ...]]:
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(each for each in get_args(annotation) if each is not type(None))
    if get_origin(annotation) is Literal:
        return "text", get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return "text", tuple(each.value for each in annotation)
    if annotation == tuple[str, ...]:
        return "many", ()
    if annotation not in _KINDS:
        raise TypeError(f"the argument {name} is of a type that no interface offers: {annotation}")
    return _KINDS[annotation], ()


def _limit(given: FieldInfo, kind: type, attribute: str) -> Any:
    return next((getattr(each, attribute) for each in given.metadata if isinstance(each, kind)), None)


def validated(model: type[Arguments], given: Mapping[str, Any], via: Via) -> Arguments:
    """The arguments that were given. Raises CallError, which names each that is wrong and says why."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        shown = {each.name: each.called(via) for each in parameters(model)}
        names = [(shown.get(str(each["loc"][0]), str(each["loc"][0])), each["msg"]) for each in error.errors()]
        raise CallError("; ".join(f"{name}: {why[:1].lower()}{why[1:]}" for name, why in names)) from None
