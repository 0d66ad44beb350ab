"""Tables of the configuration as commands take and give them: from options, from a file, from questions, to a file."""

import os
import sys
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel

from bot.cli import streams
from bot.cli.printing import print_found
from bot.config.exchange import problem_with, read_exchange
from bot.errors import CallError, UserError

STANDARD = "-"
"""In place of a file's name: standard input."""


def read_text(name: str) -> str:
    """The text of a file, or what is piped in. Raises CallError."""
    if name == STANDARD:
        if streams.typed():
            raise CallError("-: found nobody who pipes anything in; expected a file")
        return sys.stdin.read()
    try:
        return Path(name).expanduser().read_text("utf-8")
    except UnicodeDecodeError:
        raise CallError(f"{name}: not a text in UTF-8; expected a TOML file") from None
    except (OSError, RuntimeError) as error:
        raise CallError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def read_tables(name: str) -> str:
    """The text of a file with agents or groups, known to be sound by itself. Raises CallError, ConfigError."""
    text = read_text(name)
    read_exchange(text, name)
    return text


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


def write_tables(found: Mapping[str, Any], path: str, *, as_json: bool) -> None:
    """Print exported tables, or write them into a file that is not there yet. Raises UserError."""
    if not path:
        data = {key: value for key, value in found.items() if key != "toml"}
        print_found(data, [found["toml"].rstrip("\n")], as_json=as_json)
        return
    try:
        with os.fdopen(os.open(Path(path).expanduser(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(found["toml"])
    except FileExistsError:
        raise UserError(f"{path} is there already; nothing was written") from None
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from error
    print_found({"file": path}, [f"Written to {path}."], as_json=as_json)


def asked(question: str, default: str = "", problem: Callable[[str], str] = lambda _said: "") -> str:
    """What somebody at the terminal answers; nothing where they only press return and there is no default.

    They are asked again until `problem`, which says what is wrong with an answer, has nothing to say.
    """
    while True:
        said = str(typer.prompt(question, default=default, show_default=bool(default))).strip()
        if not (wrong := problem(said)):
            return said
        typer.echo(f"  {wrong}", err=True)


def new_name(section: type[BaseModel], what: str, taken: Collection[str]) -> Callable[[str], str]:
    """Says what is wrong with a name for something new of that kind."""
    known = {each.casefold(): each for each in taken}

    def problem(said: str) -> str:
        there = known.get(said.casefold())
        return f"there is {what} {there} already" if there else problem_with(section, name=said)

    return problem


def require_somebody(command: str, instead: str) -> None:
    """Raise CallError where nobody sits who could be asked."""
    if not streams.attended():
        raise CallError(f"{command}: nobody can be asked here; expected {instead}")


def listed(text: str) -> list[str]:
    """Names with commas between them."""
    return [part.strip() for part in text.split(",") if part.strip()]
