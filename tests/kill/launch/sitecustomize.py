"""Notes every fault point a process reaches, and shortens the pauses that the kill matrix would wait for.

Put this folder on PYTHONPATH behind tests/wire/launch, whose sitecustomize hands over to this one. It changes
modules as they are imported and imports nothing of the program itself:

KILL_TEST_TRACE          file to which each reached point is appended, one "name:side" a line, and "name:side killed"
                         by the one at which the process kills itself; other threads may still add theirs behind it
KILL_TEST_NONCE_SECONDS  how long Discord's endpoint relies on nonces
KILL_TEST_PREVIEW        seconds until an answer is shown while it is written or worked on, and between edits
KILL_TEST_LOOK           seconds between looks for requests whose time is over
KILL_TEST_STUMBLE        the first turn fails by an error in the program itself
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType, SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_NONCE = os.environ.get("KILL_TEST_NONCE_SECONDS", "")
_PREVIEW = os.environ.get("KILL_TEST_PREVIEW", "")
_LOOK = os.environ.get("KILL_TEST_LOOK", "")


def _note_points(module: Any) -> None:
    reach = module.Faults.reach
    trace = os.open(os.environ["KILL_TEST_TRACE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def noted(self: object, point: Any, side: str) -> None:
        os.write(trace, f"{point.name}:{side}\n".encode())
        reach(self, point, side)

    def kill(pid: int, number: int) -> None:
        os.write(trace, f"{module.faults._armed} killed\n".encode())
        os.kill(pid, number)

    module.Faults.reach = noted
    module.os = SimpleNamespace(getpid=os.getpid, kill=kill)


def _forget_nonces(module: Any) -> None:
    if _NONCE:
        module.DiscordEndpoint.nonce_seconds = float(_NONCE)


def _hurry_previews(module: Any) -> None:
    if _PREVIEW:
        module.BEGIN_SECONDS = module.EDIT_SECONDS = float(_PREVIEW)


def _look_often(module: Any) -> None:
    if _LOOK:
        module._LOOK_SECONDS = float(_LOOK)


def _stumble_once(module: Any) -> None:
    if "KILL_TEST_STUMBLE" not in os.environ:
        return
    render = module.render

    def stumble(*arguments: Any, **options: Any) -> None:
        module.render = render
        raise RuntimeError("stumbled, as the test wants it")

    module.render = stumble


_CHANGES = {
    "bot.turns.context": _stumble_once,
    "memory.faults": _note_points,
    "sources.discord.speaking": _forget_nonces,
    "bot.preview": _hurry_previews,
    "bot.progress": _hurry_previews,
    "bot.desks.approving": _look_often,
}


class _Changed(SourceFileLoader):
    """Loads a module as usual, then changes it."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _CHANGES[module.__name__](module)


class _Finder:
    """Finds the modules to change where everyone finds them."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _CHANGES:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Changed(name, spec.origin)
        return spec


if "KILL_TEST_TRACE" in os.environ:
    sys.meta_path.insert(0, _Finder())
