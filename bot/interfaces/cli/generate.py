"""Writes what is generated from the registry: `operations.json` for the command line, and docs/commands.md.

`make generate` runs it; a test fails if the files are outdated.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bot.interfaces.cli import long_running
from bot.interfaces.cli.backup_files import BackupFiles
from bot.interfaces.cli.bluesky import BlueskyAccount
from bot.interfaces.cli.database_files import DatabaseFiles
from bot.interfaces.cli.doctor import Installation
from bot.interfaces.cli.portability import CarFiles
from bot.interfaces.cli.service import Removal, SystemService
from bot.interfaces.cli.status import IdleService
from bot.interfaces.cli.wizard.init import Beginning
from bot.services import services, titles
from bot.services.caller import Via
from bot.services.registry import Operation, Parameter, operations_of
from bot.services.slash_names import names_of
from memory.store.records import asdict, replace

LOCAL = (
    SystemService,
    Removal,
    BackupFiles,
    Beginning,
    BlueskyAccount,
    CarFiles,
    DatabaseFiles,
    IdleService,
    Installation,
)
_ROOT = Path(__file__).parents[3]
MANIFEST = Path(__file__).parents[1] / "operations.json"
REFERENCE = _ROOT / "docs" / "commands.md"
_HEAD = """# Commands

Made from the services by `make generate`; change the declarations in `bot/services` instead. Every command of the
command line takes `--json` and `--help`, and has a form in the dashboard. The README names the commands that are not
listed here.
"""


def main() -> None:
    MANIFEST.write_text(manifest_text(), "utf-8")
    REFERENCE.write_text(reference_text(), "utf-8")


def manifest_text() -> str:
    """What the command line needs to know, with an operation on each line."""
    told = found()
    lines = ",\n".join(map(json.dumps, told["operations"]))
    head, titles = json.dumps(told["by_hand"]), json.dumps(told["titles"])
    return f'{{"by_hand": {head},\n"titles": {titles},\n"operations": [\n{lines}\n]}}\n'


def found() -> dict[str, Any]:
    """Operations, titles, and the help of handwritten commands."""
    return {
        "titles": _titles(),
        "operations": [_entry(each) for each in _operations() if Via.TERMINAL in each.via],
        "by_hand": {
            name: each.get_short_help_str(100) for name, each in sorted(long_running.commands.commands.items())
        },
    }


def reference_text() -> str:
    return "\n".join([_HEAD, *_reference()])


def _titles() -> dict[str, str]:
    own = (vars(local).get("titles", {}) for local in LOCAL)
    return {**{name: title for each in own for name, title in each.items()}, **titles()}


def _operations() -> list[Operation]:
    """Each name once, even if the operation exists with and without a service."""
    found = operations_of(LOCAL)
    for each in operations_of(services()).values():
        other = found.get(each.name, each)
        found[each.name] = replace(each, via=each.via | other.via)
    return sorted((each for each in found.values() if each.offered), key=lambda each: each.words[0])


def _where(declared: Operation) -> str:
    """Where a command runs: "service" (a running one), "idle" and "alone" (this process; "idle" only if no service
    runs), or "any" (a service, running or opened here)."""
    local = operations_of(LOCAL).get(declared.name)
    served = operations_of(services()).get(declared.name)
    if local is not None:
        alone = local.running or served is None or Via.TERMINAL not in served.via
        return "alone" if alone else "idle"
    return "service" if declared.running else "any"


def _by(name: str) -> str:
    """The class that does it without a service, where there is one."""
    return next((f"{each.__module__}:{each.__name__}" for each in LOCAL if name in operations_of([each])), "")


def _entry(declared: Operation) -> dict[str, Any]:
    return {
        "name": declared.name,
        "summary": declared.summary,
        "parameters": [_told(each) for each in declared.parameters if Via.TERMINAL in each.via],
        "where": _where(declared),
        "by": _by(declared.name),
        "streams": declared.streams,
        "seconds": declared.seconds,
        "asks": declared.asks,
        "formerly": list(declared.formerly),
        "default": declared.default,
    }


_NOT_TOLD = {"content", "flag", "labels", "needs", "short", "via"}


def _told(declared: Parameter) -> dict[str, Any]:
    told = {name: [*value] if isinstance(value, tuple) else value for name, value in asdict(declared).items()}
    return {name: value for name, value in told.items() if name not in _NOT_TOLD}


def _reference() -> Iterator[str]:
    told, group = _titles(), None
    slash = names_of(_operations())
    for declared in _operations():
        if (head := declared.words[0]) != group:
            group = head
            about = f"{told[head]}." if head in told else ""
            yield f"\n## {head}\n\n{about}\n\n| command | what it does | where | who |\n|---|---|---|---|"
        where = ", ".join(_shown(declared, each, slash) for each in Via if each in declared.via)
        via = Via.TERMINAL if Via.TERMINAL in declared.via else Via.DISCORD
        usage = f"`{_usage(declared)}`" if via is Via.TERMINAL else _shown(declared, Via.DISCORD, slash)
        yield f"| {usage} | {declared.summary} | {where} | {declared.needs.least.value} |"
        for each in declared.parameters:
            about = "; ".join(filter(None, (each.help, ", ".join(each.choices))))
            name = each.called(via if via in each.via else Via.DISCORD)
            yield f"| &nbsp;&nbsp;`{name}` | {about.replace('|', chr(92) + '|')} | | |"


def _shown(declared: Operation, via: Via, slash: Mapping[str, str]) -> str:
    return f"`/{slash[' '.join(declared.words)]}`" if via is Via.DISCORD else via.value


def _usage(declared: Operation) -> str:
    *groups, name = declared.words
    words = [each.metavar if each.positional else "" for each in declared.parameters]
    return " ".join(filter(None, ["carina", *groups, f"[{name}]" if declared.default else name, *words]))


if __name__ == "__main__":
    main()
