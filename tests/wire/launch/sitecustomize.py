"""Points discord.py at a test server, notes each fault point, and shortens pauses, in modules as they are imported.

Put this folder on PYTHONPATH and set the DISCORD_TEST_* variables (DiscordServer.environment() gives both), or these.
It runs in every Python process with that environment, so it imports next to nothing, and nothing of the program:

KILL_TEST_TRACE          file to which each reached point is appended, one "name:side" a line, and "name:side killed"
                         by the one at which the process kills itself; other threads may still add theirs behind it
KILL_TEST_NONCE_SECONDS  how long Discord's endpoint relies on nonces
KILL_TEST_PREVIEW        seconds until an answer is shown while it is written or worked on, and between edits
KILL_TEST_LOOK           seconds between looks for requests whose time is over
KILL_TEST_PAUSES         seconds between tries that ended with the process, by their number
KILL_TEST_HEALTHY        the same for what had all its tries
KILL_TEST_WINDOW         seconds of the hour for which people's limits hold
KILL_TEST_STUMBLE        the first turn fails by an error in the program itself
KILL_TEST_RAISE          an exception is raised in every task of the program, once in each kind of task, at
                         the first place where it awaits of which the trace has no line "raised" yet
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Coroutine
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType, SimpleNamespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_PAUSE = os.environ.get("DISCORD_TEST_PAUSE", "")
_NONCE = os.environ.get("KILL_TEST_NONCE_SECONDS", "")
_PREVIEW = os.environ.get("KILL_TEST_PREVIEW", "")
_LOOK = os.environ.get("KILL_TEST_LOOK", "")


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


def _note_points(module: Any) -> None:
    reach = module.Faults.reach
    trace = os.open(os.environ["KILL_TEST_TRACE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def noted(self: object, side: str, *points: Any) -> None:
        for point in points:
            os.write(trace, f"{point.name}:{side}\n".encode())
            reach(self, side, point)

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
        module.BEGIN_SECONDS = module.RUN_BEGIN_SECONDS = module.EDIT_SECONDS = float(_PREVIEW)


def _look_often(module: Any) -> None:
    if _LOOK:
        module._LOOK_SECONDS = float(_LOOK)


def _hurry_tries(module: Any) -> None:
    if "KILL_TEST_PAUSES" in os.environ:
        module.PAUSES = tuple(map(float, os.environ["KILL_TEST_PAUSES"].split()))
        module.HEALTHY = tuple(
            module.timedelta(seconds=float(each)) for each in os.environ["KILL_TEST_HEALTHY"].split()
        )


def _shorten_window(module: Any) -> None:
    if "KILL_TEST_WINDOW" in os.environ:
        module.WINDOW = module.timedelta(seconds=float(os.environ["KILL_TEST_WINDOW"]))


def _stumble_once(module: Any) -> None:
    if "KILL_TEST_STUMBLE" not in os.environ:
        return
    render = module.render

    def stumble(*arguments: Any, **options: Any) -> None:
        module.render = render
        raise RuntimeError("stumbled, as the test wants it")

    module.render = stumble


class Injected(Exception):
    """What nobody foresaw."""


_OURS = re.compile(r"/(bot|memory|scheduler|sources)/(?!.*site-packages)")


class _Stepped(Coroutine["Any", "Any", "Any"]):
    """Runs a coroutine, and raises in it where it awaits and `raises` says so of the place."""

    def __init__(self, work: Any, raises: Callable[[str], bool]) -> None:
        self._work, self._raises = work, raises

    def send(self, value: Any) -> Any:
        return self._awaited(self._work.send(value))

    def throw(self, *error: Any) -> Any:
        return self._awaited(self._work.throw(*error))

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Any:
        return self

    def _awaited(self, waits_for: Any) -> Any:
        place, waiting = "", self._work
        while (frame := getattr(waiting, "cr_frame", None)) is not None:
            if _OURS.search(frame.f_code.co_filename):
                place += f" {frame.f_code.co_qualname}:{frame.f_lineno}"
            waiting = waiting.cr_await
        return self._work.throw(Injected("injected")) if self._raises(place) else waits_for


def _raise_in_tasks(module: Any) -> None:
    """Tasks are told apart by the function that they run, and those of the supervisor by their names without ids."""
    if "KILL_TEST_RAISE" not in os.environ:
        return
    create, ids = module.BaseEventLoop.create_task, re.compile(r"\s+\S*[:_\d]\S*")
    trace = os.open(os.environ["KILL_TEST_TRACE"], os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    before = set(os.read(trace, os.fstat(trace).st_size).decode().splitlines())
    """Where lives before this one raised."""
    hit = {"Database._flush"}  # the writer hands every exception of its thread to who waits for it

    def create_task(loop: Any, work: Any, **options: Any) -> Any:
        code = getattr(work, "cr_code", None)
        if code is None or not _OURS.search(code.co_filename) or module.tasks.current_task(loop) is None:
            return create(loop, work, **options)  # of a library, or the program itself
        name = ids.sub("", str(work.cr_frame.f_locals.get("name", "")))
        what = f"{code.co_qualname} {name}".rstrip()

        def raises(place: str) -> bool:
            line = f"raised in {what} at{place}"
            if what in hit or line in before:
                return False
            hit.add(what)
            os.write(trace, f"{line}\n".encode())
            return True

        return create(loop, _Stepped(work, raises), **options)

    module.BaseEventLoop.create_task = create_task


_CHANGES: dict[str, Callable[[Any], None]] = {}
if "DISCORD_TEST_REST" in os.environ:
    _CHANGES |= {
        "discord.http": _point_http,
        "discord.gateway": _point_gateway,
        "discord.asset": _point_asset,
        "discord.state": _hurry_state,
        "discord.client": _hurry_client,
        "discord.backoff": _hurry_backoff,
    }
if "KILL_TEST_TRACE" in os.environ:
    _CHANGES |= {
        "asyncio.base_events": _raise_in_tasks,
        "bot.agents.context.prompt": _stumble_once,
        "bot.agents.rate_limits": _shorten_window,
        "memory.queue.turns": _hurry_tries,
        "memory.store.faults": _note_points,
        "sources.discord.message_sender": _forget_nonces,
        "bot.runtime.previews": _hurry_previews,
        "bot.services.people.approvals": _look_often,
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


sys.meta_path.insert(0, _Finder())
for name in _CHANGES.keys() & sys.modules.keys():  # in a fork of a process that has loaded them
    _CHANGES[name](sys.modules[name])
