"""Points discord.py at a test server, when it is imported and only then.

Put this folder on PYTHONPATH and set the DISCORD_TEST_* variables (DiscordServer.environment() gives both).
Runs in every Python process with that environment, so it imports next to nothing and hands over to the
sitecustomize it stands in front of.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def _point_http(module: Any) -> None:
    module.Route.BASE = os.environ["DISCORD_TEST_REST"]


def _point_gateway(module: Any) -> None:
    module.DiscordWebSocket.DEFAULT_GATEWAY = module.yarl.URL(os.environ["DISCORD_TEST_GATEWAY"])


def _point_asset(module: Any) -> None:
    module.Asset.BASE = os.environ["DISCORD_TEST_CDN"]


def _hurry_state(module: Any) -> None:
    """Wait less for guilds to arrive before `on_ready`."""
    if not _PAUSE:
        return
    before = module.ConnectionState.__init__
    seconds = float(_PAUSE)

    def hurried(self: object, **options: Any) -> None:
        options["guild_ready_timeout"] = seconds
        before(self, **options)

    module.ConnectionState.__init__ = hurried


def _hurry_client(module: Any) -> None:
    """Wait less between one IDENTIFY and the next (5 s otherwise)."""
    if _PAUSE:

        async def hurried(*_: object, **__: object) -> None:
            return

        module.Client.before_identify_hook = hurried


def _hurry_backoff(module: Any) -> None:
    """Wait less before connecting anew."""
    if _PAUSE:
        before = module.ExponentialBackoff.delay
        seconds = float(_PAUSE)
        module.ExponentialBackoff.delay = lambda backoff: min(before(backoff), seconds)


_PAUSE = os.environ.get("DISCORD_TEST_PAUSE", "")
_CHANGES = {
    "discord.http": _point_http,
    "discord.gateway": _point_gateway,
    "discord.asset": _point_asset,
    "discord.state": _hurry_state,
    "discord.client": _hurry_client,
    "discord.backoff": _hurry_backoff,
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


def _run_next() -> None:
    """Run the sitecustomize that this one hides, if there is one."""
    here = __file__.rpartition(os.sep)[0]
    others = [entry for entry in sys.path if entry.rstrip(os.sep) != here]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.origin is not None:
        SourceFileLoader("sitecustomize", spec.origin).exec_module(ModuleType("sitecustomize"))


if "DISCORD_TEST_REST" in os.environ:
    sys.meta_path.insert(0, _Finder())
    for name in _CHANGES.keys() & sys.modules.keys():  # in a fork of a process that has loaded them
        _CHANGES[name](sys.modules[name])
_run_next()
