"""Words for what is wrong with the configuration: the key, what was found there, what is expected."""

import difflib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

_LONGEST_SHOWN = 60
_LOOKS_SECRET = re.compile(r"(?i)\bsk-|[A-Za-z0-9_.+/-]{32,}|://[^/@]*:[^/@]*@")
_WORDS = (
    (r"^(greater|less) than", r"a number \1 than"),
    (r"^(?:Tuple|Frozenset|List|Set|Value) should have (at (?:least|most) \d+ items?) after validation.*", r"\1"),
    (r"^a valid (tuple|frozenset|list)", "a list"),
    (r"^a valid dictionary( or instance of \w+)?", "a table"),
    (r"^(a valid \w+), (unable to|got) .*", r"\1"),
    (r"^a valid (?=\w)", "a "),
    (r"^a (?=[aeioAEIO])", "an "),
)
"""Python's words, and TOML's for the same."""
_GIVEN = re.compile(r"mcp\.[^.]+\.(env|headers)\b")
"""Keys where somebody may write a secret instead of the name of the variable that holds it."""
_SECRET_NAMES = re.compile(r"(?i)token|key|secret|password")


def nearest(name: str, known: Iterable[str]) -> str:
    """Which known name was probably meant; all of them when none is near."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f'did you mean "{near[0]}"?' if near else f"known here: {', '.join(names)}"


def shown(value: object) -> str:
    """A found value as far as it may be shown: short, and nothing that looks like a secret."""
    match value:
        case str() if len(value) > _LONGEST_SHOWN or _LOOKS_SECRET.search(value):
            return f"a text of {len(value)} characters"
        case str() | bool() | int() | float():
            return json.dumps(value, ensure_ascii=False)
        case dict():
            return "a table"
        case list() | tuple() | set() | frozenset():
            return "a list"
        case None:
            return "nothing"
        case _:
            return f"a {type(value).__name__}"


def expected(item: ErrorDetails) -> str:
    """What pydantic's finding says should stand there."""
    text = re.sub(r"^(Value error, |Input should be |Input should |String should )", "", item["msg"])
    for pattern, words in _WORDS:
        text = re.sub(pattern, words, text)
    return f"expected {text}"


def environment_problem(item: ErrorDetails, where: str) -> str:
    """A finding about an environment variable; the value of one that holds a secret, or may, is not shown."""
    name = str(item["loc"][0])
    hidden = _SECRET_NAMES.search(name) or "@" in str(item["input"])  # as in http://user:password@host
    return f"{where}: found {'another value' if hidden else shown(item['input'])}; {expected(item)}"


def file_problems(error: ValidationError, data: Any, root: type[BaseModel]) -> list[str]:
    """All findings about the TOML file; that a key might have been left empty as well is none."""
    found = [
        item
        for item in error.errors()
        # What is too short only since an entry of it is wrong is told of by that entry.
        if item.get("ctx", {}).get("expected") != "''" and not (item["type"] == "too_short" and item["input"])
    ]
    return [_file_problem(item, data, root) for item in found]


def _file_problem(item: ErrorDetails, data: Any, root: type[BaseModel]) -> str:
    """A finding about the TOML file whose content is `data` and whose type is `root`."""
    key, model = _walk(item["loc"], data, root)
    if item["type"] == "extra_forbidden":
        name = str(item["loc"][-1])
        if _SECRET_NAMES.search(name):
            return f"{key}: unknown key; secrets stand in the environment or in .env, see .env.example"
        return f"{key}: unknown key; {nearest(name, model.model_fields if model else ())}"
    if item["type"] == "union_tag_invalid":
        given, which = item["ctx"], item["ctx"]["discriminator"].strip("'")
        return f"{key}.{which}: found {shown(given['tag'])}; expected one of {given['expected_tags']}"
    if item["type"] == "missing":
        return f"{key}: missing; this key is needed"
    if _GIVEN.match(key):
        return f"{key}: found another value; {expected(item)}"
    return f"{key}: found {shown(item['input'])}; {expected(item)}"


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
    """How to point at one entry of a list: its name or label, else its number counted from 1."""
    name = (entry.get("name") or entry.get("label")) if isinstance(entry, dict) else None
    return json.dumps(name, ensure_ascii=False) if isinstance(name, str) else str(position + 1)


def _inner(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    field = model.model_fields.get(key)
    candidates = (field.annotation, *get_args(field.annotation)) if field else ()
    return next((each for each in candidates if isinstance(each, type) and issubclass(each, BaseModel)), None)


def located(text: str, cwd: Path) -> Path:
    """A path from where the program was started. Raises ValueError for the home of somebody who is not there."""
    try:
        return cwd / Path(text).expanduser()
    except RuntimeError:
        raise ValueError("a path; what begins with ~ names no user of this machine") from None


def folder_problem(folder: Path) -> str:
    """Why this folder cannot be used or made; empty when it can, as far as one can tell without trying."""
    try:
        standing = next(path for path in (folder, *folder.parents) if _stands(path))
        named = "it" if standing == folder else str(standing)
        if not standing.is_dir():
            return f"{named} is not a folder"
        if not os.access(standing, os.R_OK | os.W_OK | os.X_OK):
            return f"{named} cannot be written by you"
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""


def _stands(path: Path) -> bool:
    """Whether there is anything of that name, be it a link that leads nowhere. Raises OSError for what is no name."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
