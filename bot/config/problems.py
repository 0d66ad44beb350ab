"""Texts for problems of the configuration: the key, the value found, the expected one."""

import difflib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from texts import _, gettext_noop, ngettext

_LONGEST_SHOWN = 60
_LOOKS_SECRET = re.compile(r"(?i)\bsk-|[A-Za-z0-9_.+/-]{32,}|://[^/@]*:[^/@]*@")
_A_LIST, _A_TABLE, _A_NUMBER = gettext_noop("a list"), gettext_noop("a table"), gettext_noop("a number")
_AN_INTEGER, _YES_OR_NO = gettext_noop("an integer"), gettext_noop("true or false")
_EXPECTED = {
    **dict.fromkeys(("tuple_type", "list_type", "set_type", "frozen_set_type"), _A_LIST),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), _A_TABLE),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), _A_NUMBER),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), _AN_INTEGER),
    **dict.fromkeys(("bool_type", "bool_parsing"), _YES_OR_NO),
    "string_type": gettext_noop("a string"),
    "greater_than": gettext_noop("a number greater than {gt:g}"),
    "greater_than_equal": gettext_noop("a number of at least {ge:g}"),
    "less_than": gettext_noop("a number less than {lt:g}"),
    "less_than_equal": gettext_noop("a number of at most {le:g}"),
    "string_too_short": gettext_noop("{min_length} or more characters"),
    "string_too_long": gettext_noop("{max_length} or fewer characters"),
    "too_short": gettext_noop("{min_length} or more entries"),
    "too_long": gettext_noop("{max_length} or fewer entries"),
    **dict.fromkeys(("literal_error", "enum"), gettext_noop("one of {expected}")),
    "pattern": "{expected}",
}
"""The expected value, by pydantic's type of error, with values of its context."""
_MOVED = {"bluesky.apology": "model.apology", "dreams.model": "model.upkeep"}
"""The new places of settings that an earlier version had elsewhere."""
_GIVEN = re.compile(r"mcp\.[^.]+\.(env|headers)\b")
"""Keys for which people may write a secret instead of the name of its variable."""
_REMOVED = frozenset(
    (
        *("web.server.hooks", "terminal", "bluesky.direct_dids", "budgets.cheaper_at", "budgets.short_at"),
        *("bluesky.withdraw_answers", "dreams.sessions", "dreams.expand", "mcp.ask_tools"),
    )
)
"""Keys that earlier versions had, without the names of tables."""
_SECRET_NAMES = re.compile(r"(?i)token|key|secret|password")


def nearest(name: str, known: Iterable[str]) -> str:
    """The most similar known name; all of them if none is similar."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    return _('did you mean "{name}"?', name=near[0]) if near else _("known here: {names}", names=", ".join(names))


def shown(value: object) -> str:
    """A found value in a form that may be shown: short, and without anything that looks like a secret."""
    match value:
        case str() if len(value) > _LONGEST_SHOWN or _LOOKS_SECRET.search(value):
            return ngettext("{count} character of text", "{count} characters of text", len(value))
        case str() | bool() | int() | float():
            return json.dumps(value, ensure_ascii=False)
        case dict():
            return _(_A_TABLE)
        case list() | tuple() | set() | frozenset():
            return _(_A_LIST)
        case None:
            return _("nothing")
        case _:
            return _("a date or time")


def expected(item: ErrorDetails) -> str:
    """The expected value, for an error of pydantic."""
    if (words := _EXPECTED.get(item["type"])) is None:
        return re.sub(r"^(Value error, |Input should be |Input should |String should )", "", item["msg"])
    return _(words, **item.get("ctx", {}))


def unfit(item: ErrorDetails) -> str:
    """The problem with an argument, for an error of pydantic."""
    if item["type"] in _EXPECTED:
        return _("expected {expected}", expected=expected(item))
    return item["msg"].removeprefix("Value error, ")


def unmet(key: str, found: str, wanted: str) -> str:
    """A problem as one line: the key, the value found, the expected one."""
    return _("{key}: found {found}; expected {expected}", key=key, found=found, expected=wanted)


def unset(key: str, wanted: str) -> str:
    """The same for a key without a value."""
    return _("{key}: not set; expected {expected}", key=key, expected=wanted)


def environment_problem(item: ErrorDetails, where: str) -> str:
    """A problem of an environment variable; a value that is or may be a secret is not shown."""
    name = str(item["loc"][0])
    hidden = _SECRET_NAMES.search(name) or "@" in str(item["input"])  # as in http://user:password@host
    given = _("a value that is kept secret") if hidden else shown(item["input"])
    return _("{key}: {given} cannot be used; expected {expected}", key=where, given=given, expected=expected(item))


def file_problems(error: ValidationError, data: Any, root: type[BaseModel]) -> list[str]:
    """All problems of the TOML file, without errors about alternatives that nobody used."""
    found = [
        item
        for item in error.errors()
        # If a list is too short only because an entry is invalid, the error of that entry is enough.
        if item.get("ctx", {}).get("expected") != "''" and not (item["type"] == "too_short" and item["input"])
    ]
    return [_file_problem(item, data, root) for item in found]


def _file_problem(item: ErrorDetails, data: Any, root: type[BaseModel]) -> str:
    """A problem of the TOML file with the content `data` and the type `root`."""
    key, model = _walk(item["loc"], data, root)
    if item["type"] == "extra_forbidden":
        name = str(item["loc"][-1])
        if re.sub(r"\[[^]]*]|(?<=^mcp\.)[^.]+\.", "", key) in _REMOVED:
            return _("{key}: this setting was removed; delete it", key=key)
        if _SECRET_NAMES.search(name):
            return _(
                "{key}: unknown key; secrets belong in the environment or in .env, where `carina init` writes them",
                key=key,
            )
        if moved := _MOVED.get(key):
            return _("{key}: moved; write it as {moved}", key=key, moved=moved)
        return _("{key}: unknown key; {hint}", key=key, hint=nearest(name, model.model_fields if model else ()))
    if item["type"] == "union_tag_invalid":
        given, which = item["ctx"], item["ctx"]["discriminator"].strip("'")
        return unmet(
            f"{key}.{which}", shown(given["tag"]), _(_EXPECTED["literal_error"], expected=given["expected_tags"])
        )
    if item["type"] == "missing":
        return _("{key}: missing; this key is required", key=key)
    return unmet(key, _("a value that is kept secret") if _GIVEN.match(key) else shown(item["input"]), expected(item))


def _walk(loc: tuple[int | str, ...], data: Any, root: type[BaseModel]) -> tuple[str, type[BaseModel] | None]:
    """The key in words (`agents["Carina"].temperature`) and the model that knows its last table's keys."""
    key, model, owner = "", root, root
    for step in loc:
        if step == "[key]" or (isinstance(step, str) and not isinstance(data, dict)):
            continue
        if isinstance(data, dict) and step not in data and step in (data.get("type"), data.get("strategy")):
            continue  # which of several tables it is
        if isinstance(step, int):
            data = data[step] if isinstance(data, list) and step < len(data) else None
            key += f"[{_name(data, step)}]"
            continue
        key += f".{step}" if key else step
        data = data.get(step)
        owner = model
        model = _inner(model, step) or model
    return key, owner


def _name(entry: Any, position: int) -> str:
    """The name of one entry of a list: its name, label or agent, else its number counted from 1."""
    keys = ("name", "label", "agent")
    name = next((entry[key] for key in keys if entry.get(key)), None) if isinstance(entry, dict) else None
    return json.dumps(name, ensure_ascii=False) if isinstance(name, str) else str(position + 1)


def _inner(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    field = model.model_fields.get(key)
    candidates = (field.annotation, *get_args(field.annotation)) if field else ()
    return next((each for each in candidates if isinstance(each, type) and issubclass(each, BaseModel)), None)


def located(text: str, cwd: Path) -> Path:
    """A path relative to the current folder. Raises ValueError for the home of an unknown user."""
    try:
        return cwd / Path(text).expanduser()
    except RuntimeError:
        raise ValueError(_("a path; no user of this machine has the name after ~")) from None


def folder_problem(folder: Path) -> str:
    """Why this folder cannot be used or created; empty if no reason is known without trying."""
    try:
        standing = next(path for path in (folder, *folder.parents) if _stands(path))
        if not standing.is_dir():
            return _("{path} is not a folder", path=standing)
        if not os.access(standing, os.R_OK | os.W_OK | os.X_OK):
            return _("you cannot write to {path}", path=standing)
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""


def _stands(path: Path) -> bool:
    """Whether the path exists, even as a broken link. Raises OSError for an invalid name."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
