"""What only looks changes nothing, also where the folder was made by another configuration."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from bot.config import load_config
from bot.errors import CallError, UserError
from bot.interfaces.control.client import View
from bot.interfaces.control.operations import printed
from bot.services import services
from bot.services.caller import Via, owner_at_terminal
from bot.services.registry import operations_of
from bot.services.served_folder import open_registry
from memory.store.errors import StoreError
from memory.store.records import replace
from tests.bot.parts import OLGA, ScriptedModel, call, said, says
from tests.bot.stage import Setting, running, talked

LOOKS = [each for each in operations_of(services()).values() if not each.changes and Via.TERMINAL in each.via]
OTHER = """
[constellation]
name = "{}"
[[agents]]
name = "Stranger"
[[groups]]
name = "Strangers"
members = ["Stranger"]
default = true
"""


def dumped(folder: Path) -> dict[str, list[str]]:
    """Everything that stands in every database."""
    found = {}
    for path in sorted(folder.rglob("*.db")):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as raw:
            names = [str(name) for (name,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            rows = (row for name in names for row in raw.execute(" ".join(("SELECT * FROM", name))))
            found[path.name] = [*names, *map(str, rows)]
    return found


@pytest.mark.parametrize("constellation", ["home", "elsewhere"])
async def test_what_only_looks_adds_nothing_to_a_folder_of_another_configuration(
    tmp_path: Path, constellation: str
) -> None:
    async with running(tmp_path) as service:
        await service.heard(said("hello", 1))
    before, file = dumped(tmp_path), tmp_path / "other.toml"
    file.write_text(OTHER.format(constellation))
    config = load_config({"CARINA_HOME": str(tmp_path), "CARINA_CONFIG": str(file)}, tmp_path)
    answered = 0
    for declared in LOOKS:
        arguments = {each.name: "1" for each in declared.parameters if each.required}
        with suppress(UserError, CallError):
            async with open_registry(config) as registry:
                await registry.call(declared.name, owner_at_terminal(), arguments)
                answered += 1
        assert dumped(tmp_path) == before, declared.name
    assert (answered > 0) is (constellation == "home")


UNSEEN = "the quagga \u202egnp.exe\u202c is \x1b[31mred\x1b[0m\x07 and zero\u200bwidth"


@pytest.mark.parametrize("attended", [True, False])
async def test_what_is_printed_has_no_marks_that_a_terminal_obeys_and_nobody_sees(
    tmp_path: Path, attended: bool
) -> None:
    keep = ("recall", {"operation": "insert", "content": UNSEEN}), ("facts", {"operation": "add", "fact": UNSEEN})
    calls = tuple(call(name, str(number), **given) for number, (name, given) in enumerate(keep))
    model = ScriptedModel(says("", *calls), says(UNSEEN), otherwise=says("Well."))
    async with talked(tmp_path, Setting(model), said(UNSEEN, 1, speaker=replace(OLGA, name=UNSEEN))) as service:
        message = str((await service.column("SELECT id FROM inbox"))[0])
    config = load_config({"CARINA_HOME": str(tmp_path), "CARINA_CONFIG": str(tmp_path / "home.toml")}, tmp_path)
    shown = list[str]()
    async with open_registry(config) as registry:
        for declared in LOOKS:
            for value in ("quagga", "human", message):
                arguments = {each.name: value for each in declared.parameters if each.required}
                with suppress(UserError, CallError, StoreError):
                    result = await registry.call(declared.name, owner_at_terminal(), arguments)
                    shown.append(printed(result, await registry.plain(owner_at_terminal()), View(attended=attended)))
    assert sum("quagga" in each for each in shown) > 5
    assert [each for each in shown if any(mark in each for mark in "\u202e\u202c\x1b\x07\u200b")] == []
