"""Writes the files generated from the registry: `operations.json` for the command line, and docs/commands.md.

`make generate` runs it; a test fails if the files are outdated.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from bot.interfaces.cli import long_running_commands
from bot.interfaces.cli.automatic_startup import Removal, SystemService
from bot.interfaces.cli.bluesky import BlueskyAccount
from bot.interfaces.cli.database_files import DatabaseFiles
from bot.interfaces.cli.doctor import Installation
from bot.interfaces.cli.export_and_import import CarFiles
from bot.interfaces.cli.idle_status import IdleService
from bot.interfaces.cli.manifest import Entry, Manifest, ParameterEntry
from bot.interfaces.cli.restart import RunningService
from bot.interfaces.cli.restore import Restore
from bot.interfaces.cli.wizard.init import Setup
from bot.services import services, titles
from bot.services.caller import Via
from bot.services.registry import Operation, Parameter, operations_of
from bot.services.slash_names import names_of
from memory.store.records import replace
from texts import FOLDER

LOCAL = (
    SystemService,
    Removal,
    Restore,
    Setup,
    BlueskyAccount,
    CarFiles,
    DatabaseFiles,
    IdleService,
    Installation,
    RunningService,
)
_ROOT = Path(__file__).parents[3]
MANIFEST = Path(__file__).parents[1] / "operations.json"
REFERENCE = _ROOT / "docs" / "commands.md"
SLASH_COMMANDS = FOLDER / "slash_commands.json"
_HEAD = """# Commands

Every command takes `--json` and `--help` at the terminal, and has a form in the dashboard. On Discord, there are also
`/help` and `/settings`. The README lists the commands that are missing here, such as `carina run`. This page is written
by `make generate` from the declarations in `bot/services`."""


def main() -> None:
    MANIFEST.write_text(manifest_text(), "utf-8")
    SLASH_COMMANDS.write_text(slash_commands_text(), "utf-8")
    REFERENCE.write_text(reference_text(), "utf-8")


def slash_commands_text() -> str:
    """The operations for texts that are read on Discord."""
    names = names_of(operations_of(services()).values())
    return f"{msgspec.json.format(msgspec.json.encode(names), indent=1).decode()}\n"


def manifest_text() -> str:
    """The operations for the command line, one per line."""
    told = found()
    parts = (told.by_hand, told.titles, *told.operations)
    hand, titles, *each = (msgspec.json.encode(part).decode() for part in parts)
    operations = ",\n".join(each)
    head = f'"by_hand": {hand},\n"titles": {titles},\n'
    return f'{{{head}"operations": [\n{operations}\n]}}\n'


def found() -> Manifest:
    by_hand = sorted(long_running_commands.commands.commands.items())
    return Manifest(
        {name: each.get_short_help_str(100) for name, each in by_hand},
        _titles(),
        tuple(_entry(each) for each in _operations() if Via.TERMINAL in each.via),
    )


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


def _where(declared: Operation) -> Literal["service", "idle", "alone", "any"]:
    local = operations_of(LOCAL).get(declared.name)
    served = operations_of(services()).get(declared.name)
    if local is not None:
        alone = local.running or served is None or Via.TERMINAL not in served.via
        return "alone" if alone else "idle"
    return "service" if declared.running else "any"


def _by(name: str) -> str:
    return next((f"{each.__module__}:{each.__name__}" for each in LOCAL if name in operations_of([each])), "")


def _entry(declared: Operation) -> Entry:
    return Entry(
        name=declared.name,
        summary=declared.summary,
        where=_where(declared),
        parameters=tuple(map(_told, declared.taken(Via.TERMINAL))),
        by=_by(declared.name),
        seconds=declared.seconds,
        asks=declared.asks,
        also=declared.formerly,
        example=declared.example or " ".join(each.sample for each in declared.parameters if each.required),
        default=declared.default,
    )


def _told(declared: Parameter) -> ParameterEntry:
    return ParameterEntry(**{name: getattr(declared, name) for name in ParameterEntry.__struct_fields__})


def _reference() -> Iterator[str]:
    titled, group = _titles(), None
    slash = names_of(_operations())
    for declared in _operations():
        if (head := declared.words[0]) != group:
            group = head
            about = titled.get(head, declared.summary)
            yield f"\n## {head}\n\n{about}.\n\n| command | what it does | where | who |\n|---|---|---|---|"
        where = ", ".join(_shown(declared, each, slash) for each in (Via.TERMINAL, Via.DISCORD) if each in declared.via)
        via = Via.TERMINAL if Via.TERMINAL in declared.via else Via.DISCORD
        usage = f"`{_usage(declared)}`" if via is Via.TERMINAL else _shown(declared, Via.DISCORD, slash)
        yield f"| {usage} | {declared.summary} | {where} | {declared.needs.least.value} |"
        for each in filter(lambda each: each.help, declared.parameters):
            told = all(re.search(rf"\b{re.escape(choice)}\b", each.help) for choice in each.choices)
            about = each.help if told else f"{each.help}; choices: {', '.join(each.choices)}"
            about = f"{about}: {each.typed}" if each.typed else about
            name = each.called(via if via in each.via else Via.DISCORD)
            yield f"| &nbsp;&nbsp;`{name}` | {about.replace('|', chr(92) + '|')} | | |"


def _shown(declared: Operation, via: Via, slash: Mapping[str, str]) -> str:
    return f"`/{slash[' '.join(declared.words)]}`" if via is Via.DISCORD else via.value


def _usage(declared: Operation) -> str:
    *groups, name = declared.words
    given = [each for each in declared.parameters if each.positional]
    words = [each.metavar if each.required else f"[{each.metavar}]" for each in given]
    return " ".join(filter(None, ["carina", *groups, f"[{name}]" if declared.default else name, *words]))


if __name__ == "__main__":
    main()
