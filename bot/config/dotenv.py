"""The file .env: settings of the environment that stand in the folder where Carina starts."""

import difflib
import logging
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic_settings import BaseSettings, DotEnvSettingsSource

_LIKE = 0.8  # from when on a name is taken for one of ours; DISCORD_BOT_TOKEN and OPENAI_KEY are
_LINE = re.compile(r"could not parse statement starting at line (\d+)")


def read_dotenv(path: Path, problems: list[str]) -> dict[str, str]:
    """What it sets, nothing where there is no such file; what cannot be read of it is added to `problems`."""
    if not path.is_file():
        return {}
    try:
        with _unread_lines(path.name, problems):
            source = DotEnvSettingsSource(BaseSettings, env_file=path, env_file_encoding="utf-8", case_sensitive=True)
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{path.name}: cannot be read ({type(error).__name__}); expected a text file in UTF-8")
        return {}
    found = source.env_vars
    if None in found.values():
        problems.append(f"{path.name}: a line has no value; expected NAME=value on each line")
    return {name: value for name, value in found.items() if value}


def misspelled(given: Collection[str], known: Collection[str], used: Collection[str]) -> list[str]:
    """Problems of names that are nearly a setting's. `used` are those that MCP servers take; CARINA_… is checked too
    where it stands in the environment."""
    others = sorted(name for name in {*given} - {*known} - {*used} if not name.startswith("CARINA_"))
    near = [(name, difflib.get_close_matches(name, known, n=1, cutoff=_LIKE)) for name in others]
    return [f'{name} (.env): unknown setting; did you mean "{meant[0]}"?' for name, meant in near if meant]


@contextmanager
def _unread_lines(name: str, problems: list[str]) -> Iterator[None]:
    """The library only logs the lines that it cannot read, and leaves them out: a typing error would pass unseen."""
    reader = logging.getLogger("dotenv.main")

    def noted(record: logging.LogRecord) -> bool:
        line = _LINE.search(record.getMessage())
        if line is not None:
            problems.append(f"{name}: what begins at line {line[1]} cannot be read; expected NAME=value on each line")
        return line is None

    reader.addFilter(noted)
    try:
        yield
    finally:
        reader.removeFilter(noted)
