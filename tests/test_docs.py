"""The documentation's examples run, and it names every command."""

import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bot.config import load_config
from bot.interfaces.cli.commands import Commands
from bot.interfaces.cli.long_running_commands import commands
from bot.interfaces.cli.manifest import manifest
from bot.services.system.jobs import built_in_jobs
from docs import architecture_picture, settings_reference
from scheduler import triggers
from tests.processes import run

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
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
    return re.sub(r"on \w+ \d+, \d{4} at \d+:\d\d [AP]M(?: UTC)?", "on DATE", text)


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


def _blocks() -> Iterator[tuple[str, str, str]]:
    for page in PAGES:
        for language, text in re.findall(r"^```(\w*)\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            yield page.name, language, text


def test_every_command_that_the_documentation_names_exists() -> None:
    everything = Commands(manifest(), lambda *_: None)
    for page in PAGES:
        for named in re.findall(r"`carina ([a-z][^`]*)`", page.read_text("utf-8")):
            command: click.Command | None = everything
            words = iter(named.replace("\\|", "|").split())
            while isinstance(command, click.Group) and re.fullmatch(r"[a-z-]+", word := next(words, "")):
                command = command.get_command(click.Context(command), word)
                assert command is not None or word.startswith("--"), f"{page.name}: carina {named}"


SECRET = "x" * 20
COMMANDS = [
    (page, line)
    for page, language, text in _blocks()
    if language in ("", "sh", "console")
    for line in text.splitlines()
    if re.search(r"(?:^|[ /])carina [a-z-]", line) and not line.startswith((" ", "-"))
]


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=str)
def test_every_command_line_of_the_documentation_is_one_that_is_accepted(page: str, line: str) -> None:
    words = shlex.split(line.partition(" > ")[0], comments=True)
    last = max(at for at, word in enumerate(words) if word.rpartition("/")[2] == "carina")
    name, *rest = words[last + 1 :]
    if name in manifest().by_hand:
        commands.commands[name].make_context(name, rest)
    else:
        Commands(manifest(), lambda *_: None).main([name, *rest], "carina", standalone_mode=False)


TABLES = [(page, text) for page, language, text in _blocks() if language == "toml"]


@pytest.mark.parametrize(("page", "text"), TABLES, ids=[page for page, _text in TABLES])
def test_every_table_of_the_documentation_is_a_configuration(tmp_path: Path, page: str, text: str) -> None:
    (tmp_path / "carina.toml").write_text(text, "utf-8")
    secrets = dict.fromkeys(re.findall(r'"([A-Z]+_[A-Z_]+)"', text), SECRET) | {"OPENAI_API_KEY": SECRET}
    assert load_config(secrets, tmp_path).home == tmp_path / "data", page


def test_the_readme_names_every_command() -> None:
    names = _names(commands, ())
    table = README[README.index("## Commands") : README.index("Exit codes")].replace("\\|", "|")
    for words in names:
        assert _documented(words, table), f"the README's table of commands lacks {' '.join(words)}"


def test_the_documentation_names_the_extras_that_add_something() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    table = (ROOT / "docs" / "installing.md").read_text("utf-8").partition("| extra |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [name for name, needed in extras.items() if needed]


def _names(command: object, before: tuple[str, ...]) -> list[tuple[str, ...]]:
    subcommands = getattr(command, "commands", None)
    if subcommands is None:
        return [before]
    return [name for word, sub in subcommands.items() for name in _names(sub, (*before, word))]


def _documented(words: tuple[str, ...], table: str) -> bool:
    rows = [line for line in table.splitlines() if line.startswith(f"| `carina {words[0]}")]
    return any(all(re.search(rf"\b{re.escape(word)}\b", row) for word in words) for row in rows)


def test_every_link_in_the_documentation_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_reference_of_settings_is_current_and_explains_each() -> None:
    written = settings_reference.REFERENCE.read_text("utf-8")
    assert written == settings_reference.reference_text(), "write it again: make generate"


def test_the_documentation_of_jobs_says_when_each_runs() -> None:
    table = (ROOT / "docs" / "scheduling.md").read_text("utf-8")
    told = dict(re.findall(r"(?m)^\| `([\w.]+)` \| (every [^,|]*[^,| ])", table))
    planned = {job.kind: triggers.words(job.trigger).removesuffix(" (UTC)") for job in built_in_jobs("UTC")}
    assert told == planned, "say so in the column `when`"


def test_the_picture_of_the_packages_is_what_the_code_imports() -> None:
    picture = architecture_picture.draw(architecture_picture.imports())
    assert architecture_picture.PICTURE.read_text("utf-8") == picture, "draw it again: make generate"
