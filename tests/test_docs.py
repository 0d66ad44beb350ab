"""The documentation's examples run, and it names every command."""

import os
import re
import shlex
from pathlib import Path

import pytest

from bot.interfaces.cli.long_running import commands
from docs import settings_reference
from tests.processes import run

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


EXAMPLES = README + (ROOT / "docs" / "memory.md").read_text(encoding="utf-8")


def _example(name: str) -> list[tuple[str, str]]:
    """Commands of the marked block with what they print."""
    block = re.search(rf"<!-- test: {name} -->\n```console\n(.*?)```", EXAMPLES, re.DOTALL)
    assert block is not None
    found: list[tuple[str, str]] = []
    for line in block[1].splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        else:
            command, printed = found[-1]
            found[-1] = (command, f"{printed}{line}\n")
    return found


def _timeless(text: str) -> str:
    return re.sub(r"on \d+ \w+ \d{4} at \d\d:\d\d UTC", "on DATE", text)


@pytest.mark.parametrize("name", re.findall(r"<!-- test: (\w+) -->", EXAMPLES))
def test_what_the_documentation_shows_is_real(tmp_path: Path, name: str) -> None:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "SYSTEMROOT")}
    environment = {**kept, "PYTHONPATH": str(ROOT), "CARINA_HOME": str(tmp_path / "data")}
    for command, printed in _example(name):
        words = shlex.split(command)
        assert words[0] == "carina"
        done = run(tuple(words[1:]), environment, tmp_path)
        assert done.returncode == 0, done.stderr
        assert _timeless(done.stderr + done.stdout) == _timeless(printed)


def test_the_readme_names_every_command() -> None:
    names = _names(commands, ())
    table = README[README.index("## Commands") : README.index("Exit codes")].replace("\\|", "|")
    for words in names:
        assert _documented(words, table), f"the README's table of commands lacks {' '.join(words)}"


def _names(command: object, before: tuple[str, ...]) -> list[tuple[str, ...]]:
    subcommands = getattr(command, "commands", None)
    if subcommands is None:
        return [before]
    return [name for word, sub in subcommands.items() for name in _names(sub, (*before, word))]


def _documented(words: tuple[str, ...], table: str) -> bool:
    rows = [line for line in table.splitlines() if line.startswith(f"| `carina {words[0]}")]
    return any(all(re.search(rf"\b{re.escape(word)}\b", row) for word in words) for row in rows)


def test_every_link_in_the_documentation_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_reference_of_settings_is_current_and_explains_each() -> None:
    written = settings_reference.REFERENCE.read_text("utf-8")
    assert written == settings_reference.reference_text(), "write it again: make generate"
