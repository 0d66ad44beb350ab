"""Exceptions at the awaits of tasks: whichever await of a supervised task is meant, it raises there, once or always."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

import pytest

from bot.runtime.supervision import Supervisor, Work


class Injected(Exception):
    """What nobody foresaw."""


class Stepped:
    """Runs a coroutine and raises in it where it awaits for the `at`-th time (from 0); notes how often it awaited."""

    def __init__(self, work: Coroutine[Any, Any, None], at: int, raised: Callable[[], None]) -> None:
        self._work, self._at, self._raised = work, at, raised
        self.awaited = 0

    def __await__(self) -> Generator[Any, Any, None]:
        try:
            waits_for = self._work.send(None)
            while True:
                if self.awaited == self._at:
                    self._raised()
                    self.awaited += 1
                    waits_for = self._work.throw(Injected("injected"))
                    continue
                self.awaited += 1
                try:
                    came = yield waits_for
                except BaseException as error:
                    waits_for = self._work.throw(error)
                else:
                    waits_for = self._work.send(came)
        except StopIteration:
            return


def kind_of(name: str) -> str:
    """The name of a task without the ids in it."""
    return re.sub(r"\s+\S*[:_]\S*|\s+\d+$", "", name)


class Injection:
    """Raises in every supervised task at its `at`-th await; in the first run of each name alone, unless `always`."""

    def __init__(self, at: int, wanted: Callable[[str], bool] = lambda _name: True, *, always: bool = False) -> None:
        self._at, self._wanted, self._always = at, wanted, always
        self.kept = Counter[str]()
        """How often tasks of each kind were begun."""
        self.raised = Counter[str]()

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        keep, injection = Supervisor.keep, self

        def injecting(supervisor: Supervisor, name: str, work: Work) -> Any:
            return keep(supervisor, name, lambda: injection.run(name, work))

        monkeypatch.setattr(Supervisor, "keep", injecting)

    async def run(self, name: str, work: Work) -> None:
        self.kept[kind_of(name)] += 1
        if not self._wanted(name) or (self.raised[kind_of(name)] and not self._always):
            await work()
            return
        await Stepped(_coroutine(work()), self._at, lambda: self.raised.update([kind_of(name)]))


async def _coroutine(awaited: Awaitable[None]) -> None:
    await awaited
