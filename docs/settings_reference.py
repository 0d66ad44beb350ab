"""Writes docs/settings.md: names, types and defaults from the models of the configuration, meanings from the examples.

`make generate` runs it; a test says when it has to.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel, SecretStr, TypeAdapter
from pydantic.fields import FieldInfo

from bot.config.file_settings import FileSettings
from bot.config.loader import Environment

_ROOT = Path(__file__).parents[1]
REFERENCE = _ROOT / "docs" / "settings.md"
_HEAD = """# Settings

Generated from the code, `.env.example` and `carina.example.toml` by `make generate`. [Configuration](configuration.md)
says how settings are read and changed.

## Environment and `.env`
"""


def reference_text() -> str:
    return "\n".join([_HEAD, *_environment(), "\n## The TOML file", *_file(), ""])


def _environment() -> Iterator[str]:
    known = {str(field.alias): field for field in Environment.model_fields.values()}
    rows = {name: (known[name], meaning) for _table, name, meaning in _explained(".env.example")}
    yield from _table("name", rows)


def _file() -> Iterator[str]:
    """One table for each in the example, in its order. What a second table of the same name shows again, or one takes
    over from another table, stands there without an explanation and is left out."""
    shown: dict[str, dict[str, tuple[FieldInfo, str]]] = {}
    about: dict[str, str] = {}
    for table, key, meaning in _explained("carina.example.toml"):
        model, path = _resolved(table.strip("[]"))
        head = table.replace(table.strip("[]"), path)
        rows = shown.setdefault(head, {})
        if key and meaning:
            field = next(each for name, each in model.model_fields.items() if (each.alias or name) == key)
            rows.setdefault(key, (field, meaning))
        elif not key:
            about.setdefault(head, meaning)
    for head, rows in shown.items():
        yield f"\n### `{head}`\n"
        yield from filter(None, [about[head] and f"{about[head]}\n"])
        yield from _table("key", rows)


def _explained(example: str) -> Iterator[tuple[str, str, str]]:
    """Table, key and the comment above, for each line of an example that sets something; key "": the table itself."""
    table, above = "", []
    for line in (_ROOT / example).read_text("utf-8").splitlines():
        found = re.match(r"#(?:(\[+[a-z._]+\]+)|(\w+) ?=)", line)
        if line.startswith("# "):
            above.append(line[2:])
            continue
        if found:
            table = found[1] or table
            yield table, found[2] or "", _linked(" ".join(above))
        above = []


def _linked(text: str) -> str:
    return re.sub(r"docs/([a-z-]+\.md)(#[a-z-]+)?", r"[\1](\1\2)", text)


def _resolved(path: str) -> tuple[type[BaseModel], str]:
    """The model of a table, and its path with <name> where each has a name of its own."""
    model: type[BaseModel] = FileSettings
    parts, said = iter(path.split(".")), []
    for part in parts:
        annotation = model.model_fields[part].annotation
        said.append(part)
        if get_origin(annotation) is Mapping and next(parts):
            said.append("<name>")
        model = next(_models(annotation))
    return model, ".".join(said)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _models(each)


def _table(head: str, rows: Mapping[str, tuple[FieldInfo, str]]) -> Iterator[str]:
    yield f"| {head} | type | default | meaning |\n|---|---|---|---|"
    for name, (field, meaning) in rows.items():
        told = (f"`{name}`", _kind(field.annotation, field.metadata), _default(field), meaning)
        yield f"| {' | '.join(each.replace('|', chr(92) + '|') for each in told)} |"


def _kind(annotation: Any, limits: Sequence[object] = ()) -> str:
    """What may stand there, as a reader of TOML says it."""
    origin, inner = get_origin(annotation), [each for each in get_args(annotation) if each is not type(None)]
    if origin is Annotated:
        return _kind(inner[0], inner[1:])
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in inner if each)
    if origin in (Union, UnionType):
        return ", ".join(dict.fromkeys(filter(None, (_kind(each, limits) for each in inner))))
    if annotation is bool:
        return "`true`, `false`"
    if annotation in (int, float):
        return f"number{_bounds(limits)}"
    plain = {str: "text", Path: "path", SecretStr: "secret", tuple: "list", frozenset: "list", Mapping: "table"}
    return plain.get(origin or annotation, "table")


def _bounds(limits: Sequence[object]) -> str:
    least = next((f"{each.ge:,}" for each in limits if isinstance(each, Ge)), "")
    above = next((f"above {each.gt:,}" for each in limits if isinstance(each, Gt)), "")
    most = next((f"{each.le:,}" for each in limits if isinstance(each, Le)), "")
    if least and most:
        return f" {least} to {most}"
    return "".join(f", {each}" for each in (least and f"{least} or more", above, most and f"at most {most}") if each)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = TypeAdapter(Any).dump_python(field.default, mode="json", exclude_none=True)
    return "" if value in (None, "") else f"`{json.dumps(value, ensure_ascii=False)}`"


if __name__ == "__main__":
    REFERENCE.write_text(reference_text(), "utf-8")
